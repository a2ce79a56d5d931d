"""How long a text is to a model: estimates against real tokenizers' counts, and who counts."""

import importlib.util
import json
import statistics
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tiktoken import Encoding
from tiktoken.registry import ENCODINGS
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from souffleur.errors import SettingsError
from souffleur.whispering.tokens import _ADDRESS, _DIGESTS, Count, counter_for, estimate_tokens

DATA = Path(__file__).parent.parent.parent / "data"
COUNTED = json.loads((DATA / "token_counts.json").read_text("utf-8"))
TOKENIZERS: dict[str, dict[str, str]] = COUNTED["tokenizers"]
TEXTS: list[dict[str, Any]] = [one for one in COUNTED["texts"] if len(one["text"]) >= 20]

FAMILIES = [counter_for(model) for model in ("", "llama-3", "qwen3-32b", "deepseek-chat")]
"""Every estimate there is: tiktoken knows none of these."""
ODD = "aBzQX 19_'.@\n\t-é茶橘龘，のㅠ★🎉"
texts = st.text(alphabet=ODD, max_size=40) | st.text(max_size=20)

TEAS = "tea" * 20
"""Twenty tokens to a tokenizer that has the word."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where tiktoken would look for its tables; empty."""
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


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_text_is_undercounted_by_a_tenth(name: str, cache: Path) -> None:
    """Neither the estimate for the model's family nor the one for any model is under 0.9."""
    family = counter_for(TOKENIZERS[name]["model"])
    for one in TEXTS:
        for estimate in (family, estimate_tokens):
            assert 10 * estimate(one["text"]) >= 9 * one["counts"][name], one["text"]


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_budget_is_not_wasted(name: str, language: str, cache: Path) -> None:
    """A sentence is estimated a third too long on the average, a long text a quarter at most."""
    estimate = counter_for(TOKENIZERS[name]["model"])
    chosen = [one for one in TEXTS if one["language"] == language]
    counts = [one["counts"][name] for one in chosen]
    ratios = [estimate(one["text"]) / count for one, count in zip(chosen, counts, strict=True)]
    whole = estimate("\n".join(one["text"] for one in chosen)) / sum(counts)
    assert 1 <= statistics.mean(ratios) <= 1.37
    assert 0.95 <= whole <= 1.25


def test_the_texts_are_of_every_kind() -> None:
    """The proof has some twenty Chinese and English texts, other ones, and nine tokenizers."""
    languages = [one["language"] for one in TEXTS]
    assert len(TOKENIZERS) == 9
    assert min(languages.count("zh"), languages.count("en")) >= 20
    assert {"mixed", "ja", "ko"} < set(languages)


@given(st.sampled_from(FAMILIES), texts, texts)
def test_two_texts_together_are_no_longer_than_both(count: Count, one: str, other: str) -> None:
    """Joined they are no longer than apart, nor shorter than either."""
    assert max(count(one), count(other)) <= count(one + other) <= count(one) + count(other)


def test_nothing_is_no_token() -> None:
    """An empty text has no length, and half a surrogate pair is no error."""
    assert estimate_tokens("") == 0
    assert estimate_tokens("\ud800") > 0


@pytest.mark.parametrize("model", ["", "some-model", "gpt-4", "mistral-large", "llama2:13b"])
def test_an_unknown_model_gets_the_careful_estimate(model: str, cache: Path) -> None:
    """Without a table, and where the name tells no leaner family, it is `estimate_tokens`."""
    for one in TEXTS:
        assert counter_for(model)(one["text"]) == estimate_tokens(one["text"])


@pytest.mark.parametrize(
    ("model", "like"),
    [
        ("openai/gpt-4.1-mini", "llama-3"),
        ("gpt-oss-20b", "llama-3"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3"),
        ("Qwen/Qwen3-32B", "qwen"),
        ("gemini-2.5-flash", "gemma"),
        ("DeepSeek-R1-Distill-Qwen-7B", "qwen"),
        ("deepseek-r1-distill-llama-8b", "some-model"),
    ],
)
def test_a_name_tells_the_family(model: str, like: str, cache: Path) -> None:
    """A vendor's prefix and the case are ignored; of two families it is the one that is run."""
    for one in TEXTS:
        assert counter_for(model)(one["text"]) == counter_for(like)(one["text"])


@pytest.mark.parametrize("model", ["gpt-4", "openai/gpt-4"])
def test_a_loaded_encoding_counts(model: str, loaded: None) -> None:
    """What tiktoken has at hand for the model is what counts, half a surrogate pair included."""
    count = counter_for(model)
    assert (count(TEAS), count("茶"), count("\ud800")) == (20, 3, 3)


def test_another_models_encoding_does_not_count(loaded: None) -> None:
    """An encoding is used for the models that count with it only."""
    assert counter_for("gpt-4.1")(TEAS) == counter_for("llama-3")(TEAS) != 20


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
    assert counter_for("gpt-4.1")(TEAS) == counter_for("llama-3")(TEAS)
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
