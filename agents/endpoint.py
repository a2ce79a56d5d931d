"""A model behind any OpenAI-compatible endpoint, over langchain-openai."""

import asyncio
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from souffleur.agents.chat import Message, Reply, Request, Usage
from souffleur.agents.failures import Address, translate
from souffleur.errors import AnswerError, SettingsError
from souffleur.knowledge.plain_text import mend

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

_MILLION = 1_000_000

_heard: ContextVar[list[Any]] = ContextVar("heard")
"""The responses of the call under way: what an endpoint said stays known if nobody can read it."""


@dataclass(frozen=True)
class Prices:
    """Dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    """For prompt tokens from the cache; None: as dear as the others."""


class Endpoint:
    """A `Chat`. Calls may overlap, and may come from one event loop after another."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 0,
        temperature: float | None = 0.0,
        max_tokens: int | None = 2048,
        extra_body: Mapping[str, Any] | None = None,
        prices: Prices | None = None,
        trace: bool = False,
    ) -> None:
        """`timeout`: seconds for a whole call, retries included. `temperature`, `max_tokens`:
        None leaves them out, as some models demand. `extra_body`: fields of the provider's own.
        `trace`: let LangSmith see the calls, where the environment asks for it. Raises
        SettingsError if `base_url` is no web address.
        """
        import httpx2
        from langchain_openai.chat_models.base import BaseChatOpenAI
        from pydantic import SecretStr

        bare, host = _split(base_url)
        self._address = Address(bare, model, timeout, api_key or "")
        self._prices = prices or Prices()
        self._trace = trace
        self._extra = {**_limit(host, max_tokens), **(extra_body or {})}
        # A connection kept alive belongs to the event loop that opened it, and kills the next one.
        self._http = httpx2.AsyncClient(
            timeout=timeout,
            limits=httpx2.Limits(max_keepalive_connections=0),
            event_hooks={"response": [_hear]},
        )
        self._model = BaseChatOpenAI(
            base_url=base_url,
            api_key=SecretStr(api_key or "not-needed"),
            model=model,
            timeout=timeout,
            max_retries=max_retries,
            temperature=temperature,
            use_responses_api=False,
            cache=False,
            openai_proxy="",
            http_async_client=self._http,
        )
        # Its advice is for with_structured_output, which is not used here.
        advice = "(This model does not support|Invalid schema for) OpenAI's structured output"
        warnings.filterwarnings("ignore", message=advice, category=UserWarning)

    async def __call__(self, request: Request) -> Reply:
        """One answer. Raises EndpointError; AnswerError if it is cut off, withheld or empty."""
        heard: list[Any] = []
        token = _heard.set(heard)
        try:
            with self._tracing():
                async with asyncio.timeout(self._address.timeout):
                    message = await self._ask(request)
        except Exception as error:
            # The boundary: whatever the libraries raise, now or in their next version, ends here.
            raise translate(error, self._address, heard[-1] if heard else None) from error
        finally:
            _heard.reset(token)
        return self._read(message)

    async def aclose(self) -> None:
        """Closes the connections. May be called twice."""
        await self._http.aclose()

    async def _ask(self, request: Request) -> "AIMessage":
        # Callbacks of a graph we happen to run in would stream these words to its user. (A model
        # after `bind` would drop the empty list, and hear them again.)
        return await self._model.ainvoke(
            [_wire(message) for message in request.messages],
            {"callbacks": []},
            extra_body={**self._extra, **_response_format(request)},
        )

    def _tracing(self) -> AbstractContextManager[None]:
        if self._trace:
            return nullcontext()
        import langsmith

        return langsmith.tracing_context(enabled=False)

    def _read(self, message: "AIMessage") -> Reply:
        text = str(message.text)
        finish = str(message.response_metadata.get("finish_reason") or "")
        refusal = message.additional_kwargs.get("refusal")
        if fault := _fault(text, finish, refusal):
            raise AnswerError(fault, answer=text or str(refusal or ""))
        model = str(message.response_metadata.get("model_name") or self._address.model)
        return Reply(text, finish, self._usage(message), model)

    def _usage(self, message: "AIMessage") -> Usage:
        counts = message.usage_metadata
        if counts is None:
            return Usage(calls=1)
        cached = counts.get("input_token_details", {}).get("cache_read") or 0
        prices = self._prices
        dear, cheap = prices.input, prices.input if prices.cached is None else prices.cached
        cost = (counts["input_tokens"] - cached) * dear + cached * cheap
        cost = (cost + counts["output_tokens"] * prices.output) / _MILLION
        return Usage(1, counts["input_tokens"], cached, counts["output_tokens"], cost)


async def _hear(response: Any) -> None:
    if (heard := _heard.get(None)) is not None:
        await response.aread()
        heard.append(response)


def _wire(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": mend(message.content)}


def _split(base_url: str) -> tuple[str, str]:
    """The address without user name, password and query; and its host.

    >>> _split("https://me:secret@API.openai.com:443/v1?a=b")
    ('https://API.openai.com:443/v1', 'api.openai.com')
    """
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            netloc = parts.netloc.rpartition("@")[2]
            return urlunsplit((parts.scheme, netloc, parts.path, "", "")), parts.hostname
    except ValueError:
        pass
    raise SettingsError(
        f"{base_url!r} is no address of an endpoint: write it like http://localhost:11434/v1."
    )


def _limit(host: str, max_tokens: int | None) -> dict[str, int]:
    """The limit by the name the host has for it.

    >>> _limit("localhost", 99), _limit("api.openai.com", 99), _limit("localhost", None)
    ({'max_tokens': 99}, {'max_completion_tokens': 99}, {})
    """
    if max_tokens is None:
        return {}
    # OpenAI's newer models refuse max_tokens; most other servers know nothing else.
    return {"max_completion_tokens" if host == "api.openai.com" else "max_tokens": max_tokens}


def _response_format(request: Request) -> dict[str, Any]:
    if request.form == "text":
        return {}
    if request.form == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = {"name": request.name, "strict": True, "schema": dict(request.schema or {})}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _fault(text: str, finish: str, refusal: object) -> str:
    """Why an answer cannot be used, as a sentence; "" if it can."""
    if finish == "length":
        return "The answer was cut off at the token limit: raise max_tokens, or give it less to do."
    if finish == "content_filter":
        return "The provider's content filter withheld the answer: take another model for this."
    if refusal and not text:
        return f"The model refused to answer: {refusal}"
    if not text.strip():
        return "The answer was empty: ask again, or take another model."
    return ""
