"""How long a text is to a model: estimates against real tokenizers' counts, and who counts."""

import importlib.util
import json
import statistics
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from souffleur.errors import SettingsError
from souffleur.whispering.tokens import Count, counter_for, estimate_tokens

DATA = Path(__file__).parent.parent.parent / "data"
COUNTED = json.loads((DATA / "token_counts.json").read_text("utf-8"))
TOKENIZERS: dict[str, dict[str, str]] = COUNTED["tokenizers"]
TEXTS: list[dict[str, Any]] = [one for one in COUNTED["texts"] if len(one["text"]) >= 20]

FAMILIES = [counter_for(model) for model in ("", "llama-3", "qwen3-32b", "deepseek-chat")]
"""Every estimate there is: tiktoken knows none of these."""
ODD = "aBzQX 19_'.@\n\t-é茶橘龘，のㅠ★🎉"
texts = st.text(alphabet=ODD, max_size=40) | st.text(max_size=20)

CL100K, O200K = (
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "fb374d419588a4632f3f557e76b4b70aebbca790",
)
"""What tiktoken calls these tables in its cache."""
BYTES = [b64encode(bytes([byte])) for byte in range(256)]
TEAS = "tea" * 5
"""Five tokens to a table that has the word; six by the estimate."""
TWICE = b"\n".join(byte + b" 7" for byte in BYTES)
"""A table whose ranks are all the same."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where tiktoken would look for its tables; empty."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


def write_ranks(file: Path, *words: bytes) -> Path:
    """A table of every byte and these words."""
    tokens = BYTES + [b64encode(word) for word in words]
    lines = [token + f" {rank}".encode() for rank, token in enumerate(tokens)]
    file.write_bytes(b"\n".join(lines) + b"\n")
    return file


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


@pytest.mark.parametrize(
    ("key", "model"), [(CL100K, "gpt-4"), (O200K, "openai/gpt-4.1"), (O200K, "gpt-oss-20b")]
)
def test_a_cached_table_counts(key: str, model: str, cache: Path) -> None:
    """Where tiktoken has cached the model's table, nothing is estimated and nothing fetched."""
    write_ranks(cache / key, b"te", b"tea")
    count = counter_for(model)
    assert count(TEAS) == 5 != estimate_tokens(TEAS)
    assert count("茶") == 3  # bytes, as the table has no such word
    assert count("\ud800") > 0


@pytest.mark.parametrize("model", ["gpt-4", "some-model"])
def test_another_models_table_does_not_count(model: str, cache: Path) -> None:
    """A table is used for the models that count with it only."""
    write_ranks(cache / O200K, b"te", b"tea")
    assert counter_for(model)(TEAS) == estimate_tokens(TEAS)


@pytest.mark.parametrize("damage", [b"", b"dGVh 0\n", b"no base64 = 1\n", b"dGVh x\n", TWICE])
def test_a_damaged_table_is_left_alone(damage: bytes, cache: Path) -> None:
    """It is neither an error nor removed nor fetched anew: the text is estimated."""
    (cache / CL100K).write_bytes(damage)
    assert counter_for("gpt-4")(TEAS) == estimate_tokens(TEAS)
    assert (cache / CL100K).read_bytes() == damage


def test_no_cache_is_no_table(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty TIKTOKEN_CACHE_DIR turns tiktoken's cache off."""
    write_ranks(cache / CL100K, b"te", b"tea")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.chdir(cache)
    assert counter_for("gpt-4")(TEAS) == estimate_tokens(TEAS)


def test_a_file_of_ranks_counts(tmp_path: Path) -> None:
    """A table that is named counts for any model; digits are taken one by one, as by Qwen."""
    count = counter_for("qwen3-32b", write_ranks(tmp_path / "qwen.tiktoken", b"te", b"tea", b"20"))
    assert (count(TEAS), count("2026")) == (5, 4)


def test_a_file_of_ranks_by_its_encodings_name(tmp_path: Path) -> None:
    """A table with the name of one of tiktoken's encodings is cut as that one cuts."""
    file = write_ranks(tmp_path / "o200k_base.tiktoken", b"20", b"202")
    assert counter_for("gpt-4.1", file)("2026") == 2


@pytest.mark.parametrize("name", ["missing.tiktoken", "damaged.tiktoken", "folder.tiktoken"])
def test_a_file_that_cannot_be_read_is_an_error(name: str, tmp_path: Path) -> None:
    """What was asked for by name is not silently replaced by an estimate."""
    (tmp_path / "damaged.tiktoken").write_bytes(b"dGVh 0\n")
    (tmp_path / "folder.tiktoken").mkdir()
    with pytest.raises(SettingsError, match=f"{name} cannot be read .*: give the path"):
        counter_for("qwen3-32b", tmp_path / name)


@pytest.mark.skipif(importlib.util.find_spec("tokenizers") is not None, reason="it is installed")
def test_a_tokenizer_json_needs_a_package(tmp_path: Path) -> None:
    """The error says what to install."""
    with pytest.raises(SettingsError, match="pip install tokenizers"):
        counter_for("qwen3-32b", tmp_path / "tokenizer.json")


def test_a_tokenizer_json_counts(tmp_path: Path) -> None:
    """It is read as it is, but never cuts a text short; SettingsError where it is no tokenizer."""
    pytest.importorskip("tokenizers")
    file = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "vocab": {"tea": 0, "?": 1}, "unk_token": "?"}
    short = {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    content = {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    file.write_text(json.dumps({**content, "added_tokens": [], "truncation": short}))
    assert counter_for("any", file)("tea tea coffee \ud800") == 4
    for damage in ("", "[]", "{}"):
        file.write_text(damage)
        with pytest.raises(SettingsError, match="give the path"):
            counter_for("any", file)
