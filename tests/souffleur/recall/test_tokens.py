"""How long a text is to a model: the estimate against real tokenizers' counts, and who counts."""

import importlib.util
import json
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tiktoken import Encoding
from tiktoken.registry import ENCODINGS
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from souffleur.errors import SettingsError
from souffleur.recall.tokens import _ADDRESS, _DIGESTS, counter_for, estimate_tokens

COUNTED = {
    "主人喜欢在周末的下午去河边散步，回家路上总要买一袋糖炒栗子。": (21, 30),
    "昨天加班到十一点，回家的地铁都没了，打车花了八十多块，心疼死我了。": (21, 32),
    "主人喜歡在週末的下午騎腳踏車去淡水，順便買一杯無糖的烏龍茶回來。": (26, 33),
    "ご主人は週末の午後に川沿いを散歩するのが好きで、帰りに焼き栗を買います。": (23, 30),
    "昨日は残業で終電を逃しちゃって、タクシー代が八千円もかかったんだよね…つらい。": (29, 34),
    "Ann has a ginger cat called Biscuit, who is three and afraid of the vacuum cleaner.": (18, 20),
    "omg you still remember that?? lol I haven't touched the guitar since last March": (16, 18),
    "周五下午三点和 Kevin 开 Zoom meeting，讨论 Q3 的 OKR，记得带上 PPT。": (21, 27),
}
"""The fewest and the most tokens by o200k, Llama 3, Qwen 3, Gemma 3 and DeepSeek."""
ODD = "aBzQX 19_'.@\n\t-é茶橘龘，のㅠ★🎉"
texts = st.text(alphabet=ODD, max_size=40) | st.text(max_size=20)
TEAS = "tea" * 20
"""Twenty tokens to a tokenizer that has the word."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where tiktoken would look for its tables; empty."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def loaded(cache: Path) -> Iterator[None]:
    """Give tiktoken an encoding of GPT-4's name that has the word "tea"."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"te": 256, b"tea": 257}
    kept = ENCODINGS.pop("cl100k_base", None)
    ENCODINGS["cl100k_base"] = Encoding(
        "teas", pat_str=r"\p{L}+|\P{L}+", mergeable_ranks=ranks, special_tokens={}
    )
    yield
    del ENCODINGS["cl100k_base"]
    if kept:
        ENCODINGS["cl100k_base"] = kept


@pytest.mark.parametrize("text", COUNTED)
def test_the_estimate_is_on_the_safe_side(text: str) -> None:
    """It is no less than any model of today makes of the text, and not twice as much."""
    fewest, most = COUNTED[text]
    assert most <= estimate_tokens(text) <= 2.2 * fewest


@given(texts, texts)
def test_two_texts_together_are_no_longer_than_both(one: str, other: str) -> None:
    """Joined they are no longer than apart, nor shorter than either."""
    apart = estimate_tokens(one), estimate_tokens(other)
    assert max(apart) <= estimate_tokens(one + other) <= sum(apart)


def test_nothing_is_no_token() -> None:
    """An empty text has no length, and half a surrogate pair is no error."""
    assert estimate_tokens("") == 0
    assert estimate_tokens("\ud800") > 0


@pytest.mark.parametrize("model", ["", "some-model", "qwen3:8b", "gpt-4", "openai/gpt-4.1-mini"])
def test_a_model_without_a_table_gets_the_estimate(model: str, cache: Path) -> None:
    """If tiktoken does not know the model, or would have to fetch its table, it is not asked."""
    for text in COUNTED:
        assert counter_for(model)(text) == estimate_tokens(text)
    assert not list(cache.iterdir())


@pytest.mark.parametrize("model", ["gpt-4", "openai/gpt-4"])
def test_a_loaded_encoding_counts(model: str, loaded: None) -> None:
    """What tiktoken has at hand for the model is what counts, half a surrogate pair included."""
    count = counter_for(model)
    assert (count(TEAS), count("茶"), count("\ud800")) == (20, 3, 3)


def test_another_models_encoding_does_not_count(loaded: None) -> None:
    """An encoding is used for the models that count with it only."""
    assert counter_for("gpt-4.1")(TEAS) == estimate_tokens(TEAS) != 20


@pytest.mark.parametrize("encoding", _DIGESTS)
def test_a_table_is_known_by_tiktokens_own_address_and_digest(encoding: str) -> None:
    """A table that passes here is the one that tiktoken reads without fetching."""
    constants = getattr(openai_public, encoding).__code__.co_consts
    assert {_ADDRESS.format(encoding), _DIGESTS[encoding]} <= {str(one) for one in constants}


@pytest.mark.parametrize("folder", ["here", ""])
def test_a_damaged_table_is_left_alone(
    folder: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither an error nor removed nor fetched anew, nor looked for if the cache is off."""
    table = cache / sha1(_ADDRESS.format("o200k_base").encode()).hexdigest()
    table.write_bytes(b"dGVh 0\n")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder and str(cache))
    monkeypatch.chdir(cache)
    assert counter_for("gpt-4.1")(TEAS) == estimate_tokens(TEAS)
    assert [one.read_bytes() for one in cache.iterdir()] == [b"dGVh 0\n"]


@pytest.mark.skipif(importlib.util.find_spec("tokenizers") is not None, reason="it is installed")
def test_a_tokenizer_json_needs_a_package(tmp_path: Path) -> None:
    """The error says what to install."""
    with pytest.raises(SettingsError, match="pip install tokenizers"):
        counter_for("qwen3-32b", tmp_path / "tokenizer.json")


def test_a_tokenizer_json_counts(tmp_path: Path) -> None:
    """It is read as it is, but never cuts a text short; SettingsError if it is no tokenizer."""
    pytest.importorskip("tokenizers")
    file = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "vocab": {"tea": 0, "?": 1}, "unk_token": "?"}
    short = {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    content = {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    file.write_text(json.dumps({**content, "added_tokens": [], "truncation": short}))
    assert counter_for("any", file)("tea tea coffee \ud800") == 4
    for damage in ("", "[]", "{}", '{"model": 3}'):
        file.write_text(damage)
        with pytest.raises(SettingsError, match="give the path"):
            counter_for("any", file)
    with pytest.raises(SettingsError, match="give the path"):
        counter_for("any", tmp_path / "missing.json")
