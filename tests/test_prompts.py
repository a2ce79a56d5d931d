"""Prompts: complete in both languages, strict about holes, short in their fixed part."""

import re
from pathlib import Path
from string import Template

import pytest

from souffleur.errors import PromptError
from souffleur.prompts import LANGUAGES, language_of, render, stamp, written_in
from souffleur.recall.rendering import estimate_tokens

FOLDER = Path(__file__).parent.parent / "prompts"
NAMES = sorted(path.stem for path in (FOLDER / "en").glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_each_prompt_has_the_same_holes_in_each_language(name: str) -> None:
    """What is filled in English is filled in Chinese."""
    holes = [
        set(Template((FOLDER / language / f"{name}.md").read_text()).get_identifiers())
        for language in LANGUAGES
    ]
    assert holes[0] == holes[1]


@pytest.mark.parametrize("file", sorted((FOLDER / "ja").glob("*.md")), ids=lambda file: file.stem)
def test_what_there_is_in_japanese_has_the_same_holes(file: Path) -> None:
    """What is filled in English is filled in Japanese; there is no prompt in Japanese alone."""
    english = FOLDER / "en" / file.name
    holes = [set(Template(one.read_text()).get_identifiers()) for one in (english, file)]
    assert holes[0] == holes[1]


def test_all_that_is_whispered_is_there_in_japanese() -> None:
    """Every heading and note of the whisper, and no word of it is English."""
    whispered = {name for name in NAMES if name.startswith("whisper")} | {"formerly"}
    assert whispered <= {file.stem for file in (FOLDER / "ja").glob("*.md")}
    for name in whispered:
        text = Template((FOLDER / "ja" / f"{name}.md").read_text())
        assert not re.search("[A-Za-z]", text.substitute(dict.fromkeys(text.get_identifiers(), "")))


def test_what_is_not_written_in_japanese_is_in_english() -> None:
    """Prompt by prompt, and the ledger tells in which words a judge was asked."""
    names = {"user": "美咲", "assistant": "ルナ"}
    assert render("monitor", "ja", **names) == render("monitor", "en", **names)
    assert render("whisper", "ja", user="美咲") != render("whisper", "en", user="美咲")
    assert stamp("monitor", written_in("monitor", "ja")) == stamp("monitor", "en")


def test_a_hole_without_a_value_is_an_error() -> None:
    """The error names the prompt and what it needs."""
    with pytest.raises(PromptError, match=r"prompt 'whisper' .* needs 'user'"):
        render("whisper", "en")


def test_an_unknown_prompt_is_an_error() -> None:
    """Neither a made-up prompt nor a made-up language renders."""
    with pytest.raises(PromptError, match="no prompt 'poem'"):
        render("poem", "en")
    with pytest.raises(PromptError, match="no prompts in 'tlh'"):
        render("whisper", "tlh")


def test_what_is_filled_in_is_not_read_again() -> None:
    """A dollar sign in somebody's words fills no hole."""
    assert "${user} $5" in render("whisper", "en", user="${user} $5")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_of_the_monitor_are_short(language: str) -> None:
    """The fixed part of the prompt stays under 1,700 tokens of today's models.

    The estimate is higher than the counts of tokenizers, in Chinese by a fifth.
    """
    rules = render("monitor", language, user="主人", assistant="小祥")
    assert estimate_tokens(rules) < {"en": 1700, "zh": 2040}[language]


def test_a_stamp_changes_with_the_words() -> None:
    """The ledger can tell by which words a judge was asked."""
    assert stamp("monitor", "en").startswith("monitor.en@")
    assert stamp("monitor", "en") != stamp("monitor", "zh")


@pytest.mark.parametrize(
    ("text", "language"),
    [("今天用 Docker 部署", "zh"), ("hello", "en"), ("今日は寒い", "en"), ("", "en"), ("好", "zh")],
)
def test_the_language_is_what_is_spoken(text: str, language: str) -> None:
    """Chinese gets Chinese prompts, all else English ones."""
    assert language_of(text) == language
