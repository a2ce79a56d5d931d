"""Embedding models behind LangChain's interface: hashed n-grams, fastembed, OpenAI-compatible."""

import asyncio
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol
from zlib import crc32

import numpy as np
from pydantic import SecretStr

from souffleur.errors import EmbedderError, SettingsError, is_outage_status, to_install
from souffleur.knowledge.network.connections import connection
from souffleur.knowledge.network.http_failures import (
    causes_of,
    hint_for,
    is_time_out,
    is_unreachable,
)
from souffleur.knowledge.privacy.addresses import api_base, bare_address
from souffleur.knowledge.privacy.redaction import redact
from souffleur.knowledge.search.words import STOP_WORDS, is_spaced, split, stem


class Embeddings(Protocol):
    """Vectors of documents and of queries; a model may embed the two differently."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        ...

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""
        ...

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        ...


OPENAI = "https://api.openai.com/v1"
TEXTS_PER_REQUEST = 64
"""Number of texts per request; some local servers cannot take more."""

_DETAIL = 200
"""Maximum characters of an endpoint's own message in an error."""
_HINTS = {
    400: "check the embedding model's name",
    404: "check the embedding model's name and the address, which usually ends in /v1",
    501: "it does not serve embeddings",
}


def openai_embeddings(
    model: str, base_url: str | None, api_key: str | None, timeout: float
) -> Embeddings:
    """Return a model behind an OpenAI-compatible endpoint. `timeout` is in seconds per request.

    Raises SettingsError if no endpoint is configured or cannot be reached by its address.
    """
    import httpx2
    from langchain_openai import OpenAIEmbeddings

    if not base_url and not api_key:
        raise SettingsError(
            "The embedder openai:… has no endpoint: set SOUFFLEUR_BASE_URL (any OpenAI-compatible "
            "one), or SOUFFLEUR_API_KEY for OpenAI's own."
        )
    url = api_base(base_url or OPENAI)
    try:
        httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise SettingsError(
            f"{bare_address(str(base_url))!r} is no address of an embedder: write it like"
            " http://localhost:11434/v1."
        ) from error
    # The embedder reports invalid numbers in its own words.
    message = "(?s:Pydantic serializer warnings:.*field_name='embedding')"
    warnings.filterwarnings("ignore", message=message, category=UserWarning)
    # A kept-alive connection belongs to the event loop that opened it, and breaks the next one.
    limits = httpx2.Limits(max_keepalive_connections=0)
    way = connection(url)
    http = httpx2.AsyncClient(**way, timeout=timeout, limits=limits)
    return OpenAIEmbeddings(
        model=model,
        openai_api_base=url,
        openai_api_key=SecretStr(api_key or "not-needed"),
        request_timeout=timeout,
        max_retries=1,
        chunk_size=TEXTS_PER_REQUEST,
        # Otherwise texts are sent as token numbers, which few servers except OpenAI's understand.
        check_embedding_ctx_length=False,
        model_kwargs={"encoding_format": "float"},
        openai_proxy="",
        http_async_client=http,
        http_client=httpx2.Client(**way),  # never used; its own would read certificates again
    )


class FastEmbeddings:
    """A local model run by fastembed; it is downloaded if necessary and loaded on first use.

    It runs in a thread when awaited.
    """

    def __init__(self, model: str) -> None:
        try:
            self._make = import_module("fastembed").TextEmbedding
        except ImportError as error:
            raise EmbedderError(
                f"The embedder fastembed:{model} needs a package that is not installed: "
                f"{to_install('local')}."
            ) from error
        self.model = model
        self._loaded: Any = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, embedded as documents."""
        return [vector.tolist() for vector in self._load().passage_embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return [float(x) for vector in self._load().query_embed(text) for x in vector]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the same as `embed_documents`."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the same as `embed_query`."""
        return await asyncio.to_thread(self.embed_query, text)

    def _load(self) -> Any:
        if self._loaded is None:
            self._loaded = self._make(self.model)
        return self._loaded


def translate(
    error: Exception, name: str, embeddings: Embeddings, texts: Sequence[str]
) -> EmbedderError:
    """Return an EmbedderError, in one sentence, for any error that an embedder has raised.

    It contains neither the key nor any of the `texts`.
    """
    address = f"{_address(embeddings)} (embedder {name})" if _address(embeddings) else name
    for cause in causes_of(error):
        if isinstance(status := getattr(cause, "status_code", None), int):
            hint = hint_for(status, _HINTS)
            said = _detail(cause, embeddings, texts)
            return EmbedderError(
                f"{address} answered {status}: {hint}{said}.", outage=is_outage_status(status)
            )
        if is_time_out(cause):
            return EmbedderError(
                f"{address} gave no embeddings in time: raise SOUFFLEUR_TIMEOUT, or take a faster"
                " model.",
                slow=True,
            )
        if is_unreachable(cause):
            return EmbedderError(
                f"{address} cannot be reached: check the address, and that the server runs."
            )
    said = _detail(error, embeddings, texts)
    return EmbedderError(f"{address} gave no usable embeddings: check that it serves them{said}.")


def _address(embeddings: Embeddings) -> str:
    """Return the endpoint's address without user name, password and query; "" if it has none."""
    url = getattr(embeddings, "openai_api_base", None)
    return bare_address(url) if isinstance(url, str) else ""


def _detail(error: BaseException, embeddings: Embeddings, texts: Sequence[str]) -> str:
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict):
        body = body.get("message") or body.get("error") or body.get("detail")
    key = getattr(embeddings, "openai_api_key", None)
    secrets = [key.get_secret_value()] if isinstance(key, SecretStr) else []
    text = redact(str(body or error), texts, secrets)[:_DETAIL].rstrip(".")
    return f" ({type(error).__name__}: {text})" if text else f" ({type(error).__name__})"


_STOPPED = 0.1
"""Weight of a stop word; other words have 1."""
_NGRAM = 0.35
"""Weight of each 3- or 4-gram of a word, before adjusting for their number."""
_CHARACTERS = (0.5, 1.0, 0.6)
"""Weights of 1-, 2- and 3-grams of characters in scripts without spaces."""
_COMMON = frozenset(
    "的了吗呢吧啊呀哦嗯着过得地很就也都是我你他她它在有和这那们不一个" + "のはがをにへともでした"
)
WORDS_KEPT = 2048
"""Number of words whose features are remembered, 1 to 2 KB each."""

Feature = tuple[int, float]
"""The checksum of a word or n-gram, and its weight."""


class HashEmbeddings:
    """Embeddings without a model: signed feature hashing of words and n-grams, of unit length.

    They represent spelling, not meaning: texts that share words or parts of words are near.
    Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009).

    >>> import numpy as np
    >>> tea, again, car = HashEmbeddings(512).embed_documents(["喜欢喝茶", "我喜欢茶", "修汽车"])
    >>> bool(np.dot(tea, again) > 0.4), bool(abs(np.dot(tea, car)) < 0.1)
    (True, True)
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    @property
    def floor(self) -> float:
        """The 95th percentile of the cosine of unrelated sentences: 0.1 at 512 dimensions.

        Measured on English and Chinese talk at 128 and 512 dimensions.
        """
        return 0.02 + 1.8 / math.sqrt(self.dimension)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of unit length per text."""
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the same vector as for a document."""
        return self._embed(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the same as `embed_documents`, which is too fast to need a thread."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the same as `embed_query`."""
        return self._embed(text)

    def _embed(self, text: str) -> list[float]:
        totals: dict[int, float] = defaultdict(float)
        for feature, weight in _features(text):
            totals[feature] += weight
        hashes = np.fromiter(totals, np.uint64, len(totals))
        # CRC is linear: without this step, similar n-grams of the same length would collide.
        hashes = (hashes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        weights = np.array([math.log1p(total) for total in totals.values()])
        signs = np.where(hashes & np.uint64(1), 1.0, -1.0)
        places = (hashes >> np.uint64(1)) % np.uint64(self.dimension)
        vector = np.bincount(places.astype(np.int64), signs * weights, minlength=self.dimension)
        length = float(np.linalg.norm(vector))
        if length == 0:
            vector[0], length = 1.0, 1.0
        unit: list[float] = (vector / length).tolist()
        return unit


def _features(text: str) -> Iterable[Feature]:
    runs = split(text)
    for run in runs:
        if is_spaced(run[0]):
            for word in run:
                yield from _of_word(word)
        else:
            yield from _of_characters("".join(run))
    if not runs:
        shown = (char for char in text if not char.isspace() and char.isprintable())
        yield from ((_number(char), 1.0) for char in shown)


@lru_cache(maxsize=WORDS_KEPT)
def _of_word(word: str) -> tuple[Feature, ...]:
    if word in STOP_WORDS:
        return ((_number(word), _STOPPED),)
    root = stem(word)
    marked = f"<{root}>"
    grams = [marked[at : at + size] for size in (3, 4) for at in range(len(marked) - size + 1)]
    # Long words have more n-grams, but are not more important.
    weight = _NGRAM * min(1.0, 3 / math.sqrt(max(1, len(grams))))
    return (_number(root), 1.0), *((_number(gram), weight) for gram in grams)


def _of_characters(run: str) -> Iterable[Feature]:
    for size, weight in enumerate(_CHARACTERS, start=1):
        for at in range(len(run) - size + 1):
            gram = run[at : at + size]
            common = sum(char in _COMMON for char in gram) / size
            yield _number(gram), weight * (1 - 0.9 * common)


def _number(feature: str) -> int:
    return crc32(feature.encode())
