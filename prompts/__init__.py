"""The prompts, one Markdown file each, in en/ and zh/; whisper and forgetting also in ja/.

A prompt is text with `${name}` holes. A hole without a value is an error; nothing is filled in
at import.
"""

import hashlib
import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import Literal

from souffleur.errors import PromptError

Language = Literal["en", "zh", "ja"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
"""Languages in which every prompt exists."""
_PARTIAL: tuple[Language, ...] = ("ja",)
"""Languages in which some prompts exist; English is used for the others."""

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


def render(name: str, language: str, /, **values: object) -> str:
    """Return the prompt with its holes filled.

    Raises PromptError for an unknown prompt or language, or a missing value.
    """
    template, holes = _template(name, language)
    missing = sorted(holes - values.keys())
    if missing:
        raise PromptError(f"prompt {name!r} ({language}) needs {', '.join(map(repr, missing))}")
    return template.substitute({key: str(value) for key, value in values.items()})


def spoken_in(text: str) -> Language:
    """Return the language for the whispered block that fits a text.

    Its headings exist in more languages than the other prompts.

    >>> spoken_in("今日は疲れたよ"), spoken_in("今天好累"), spoken_in("so tired")
    ('ja', 'zh', 'en')
    """
    return "ja" if _KANA.search(text) else language_of(text)


def written_in(name: str, language: str) -> str:
    """Return the language itself if the prompt is written in it, and English if it is not.

    >>> written_in("monitor", "zh"), written_in("monitor", "ja")
    ('zh', 'en')
    """
    partial = language in _PARTIAL and not _file(name, language).is_file()
    return "en" if partial else language


def stamp(name: str, language: str) -> str:
    """Return name, language and content hash of a prompt, as noted in the ledger."""
    digest = hashlib.sha256(_read(name, language).encode()).hexdigest()[:8]
    return f"{name}.{language}@{digest}"


def language_of(text: str) -> Language:
    """Return the language of the prompts that fits a text.

    >>> language_of("今天好累 lol"), language_of("so tired 😂"), language_of("今日は疲れたよ")
    ('zh', 'en', 'en')
    """
    if _KANA.search(text):
        return "en"
    han = len(_HAN.findall(text))
    return "zh" if han and han * 3 >= len(re.findall(r"[A-Za-z]+", text)) else "en"


@cache
def _template(name: str, language: str) -> tuple[Template, frozenset[str]]:
    template = Template(_read(name, language))
    return template, frozenset(template.get_identifiers())


@cache
def _read(name: str, language: str) -> str:
    every = (*LANGUAGES, *_PARTIAL)
    if language not in every:
        raise PromptError(f"there are no prompts in {language!r}; choose one of {every}")
    try:
        return _file(name, written_in(name, language)).read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise PromptError(f"there is no prompt {name!r} in {language!r}") from error


def _file(name: str, language: str) -> Traversable:
    return files(__name__) / language / f"{name}.md"
