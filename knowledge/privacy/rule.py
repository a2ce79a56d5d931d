r"""Rules by which sensitive data is found, read from the files of `rules/`.

A file has sections of rules, and `[parts]` of patterns. In a pattern, `{{link}}` stands for the
part of that name: of the rule itself, of its file, or of `parts.toml`. `{{words pin card}}`,
`{{any is}}`, `{{text about}}`, `{{own about}}` and `{{spell pin | code}}` stand for words: see
`vocabulary`. The line breaks of a long pattern mean nothing.

A section has a `kind`, a `group`, and a `hint`, by which most texts are passed over fast. Each of
its rules has an `example`, and one of these to find a value:

- `value`: the pattern; its groups are masked.
- `exactly`: the pattern of a whole number that is no date and no part of another number.
- `digits`: their number, as "9" or "9-17"; a second item has the signs that may stand between.

Further conditions for the value:

- `near`: its `Surroundings`.
- `named`, `wide`: the words near the number, `wide` in a longer stretch of text.
- `unlike_others`: a pattern near the number, which no word names as that of an order or telephone.
- `check`: a function of `checks`. `stdnum`: modules of python-stdnum, one of which accepts it.
"""

import re
import tomllib
import unicodedata
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from souffleur.knowledge.privacy.checks import CHECKS, Check, valid
from souffleur.knowledge.privacy.groups import Group
from souffleur.knowledge.privacy.hints import Hint, hint_of
from souffleur.knowledge.privacy.surroundings import MEASURE, VALUE, SearchedText, Surroundings
from souffleur.knowledge.privacy.vocabulary import (
    LETTERS,
    alternatives,
    in_text,
    own_in_text,
    spell,
    words,
)

_FOLDER = Path(__file__).parent / "rules"
_ORDER = """
private_keys keys bearers of_providers addressed wallets listed_seed_words web_tokens in_user_info
commands pairs stated_passwords plain_passwords stated_lock_codes stated_seed_phrases passphrases
opening_words security_answers stated_codes
cards check_codes checked_documents stated_documents
long_keys assigned grouped_codes
social_security tax health bank national country_numbers passports_and_licences
phones emails
"""
"""The sections in order: the first rule that finds data names its kind."""
_WORDS: Mapping[str, Callable[..., str]] = {
    "words": words,
    "any": alternatives,
    "text": in_text,
    "own": own_in_text,
}
_BASE = {"letters": LETTERS, "measure": MEASURE, "value": VALUE}
_PLACE = re.compile(r"\{\{([a-z_]+)((?: [^{}]*)?)\}\}")
_SURROUNDINGS = ("before", "after")
_CROSSED = re.compile(r"(?i:x{8}|\*{6})")
"""Characters that replace a removed value, or mark the place for a value."""

Table = Mapping[str, Any]
"""A table of a TOML file."""


@dataclass(frozen=True)
class Rule:
    """How a kind of sensitive data is found."""

    kind: str
    """The name of the kind, in words."""
    group: Group
    """The group of the kind; the settings decide by group."""
    example: str
    """A message with such data between ⟦ and ⟧; empty for keys that commit scanners look for."""
    value: str
    """The pattern of the data. Its groups are masked; without groups, the whole match is masked."""
    near: Surroundings | None = None
    """The words around the data; `None` if the pattern itself proves it."""
    check: Check | None = None
    """A check of the data; `None` if the pattern is enough."""
    hint: Hint | None = None
    """A fast check of the text in lower case; the rule is tried only if the hint is true."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern. Compiling all takes half a second, and most are never tried."""
        return _compiled(self.value)

    def may_be_in(self, text: SearchedText) -> bool:
        """Return whether the text has the words that must stand around this kind of data."""
        return self.near is None or self.near.may_hold(text)

    def holds(self, text: SearchedText, start: int, end: int) -> bool:
        """Return whether the match between these places of the text is this kind of data."""
        if _CROSSED.search(text.plain, start, end):
            return False
        if self.check is not None and not self.check(text.plain[start:end]):
            return False
        return self.near is None or self.near.hold(text, start, end)


@cache
def _compiled(value: str) -> re.Pattern[str]:
    """Return the compiled pattern of a value; rules with the same pattern share one object.

    It also matches letters and kana with separate marks.
    """
    return re.compile(re.sub(r"[^\x00-\x7f]", _composed_or_apart, value), re.ASCII)


def _composed_or_apart(found: re.Match[str]) -> str:
    char, apart = found[0], unicodedata.normalize("NFD", found[0])
    return char if char == apart else f"(?:{char}|{apart})"


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules in the order of trying. The files are read once."""
    files = [tomllib.loads(file.read_text(encoding="utf-8")) for file in _FOLDER.glob("*.toml")]
    shared = next(file for file in files if not file.keys() - {"parts", "near"})
    sections = {}
    for file in files:
        parts = ChainMap(file.get("parts", {}), shared["parts"], _BASE)
        for name in file.keys() - {"parts", "near"}:
            sections[name] = tuple(_rules_of(file[name], parts, shared["near"]))
    return tuple(rule for name in _ORDER.split() for rule in sections[name])


def _rules_of(section: Table, parts: ChainMap[str, Any], nears: Table) -> Iterator[Rule]:
    hint = hint_of(section["hint"]) if "hint" in section else None
    for row in section["rules"]:
        given = {key: row[key] for key in row.keys() - {"value", "example"}}
        own = parts.new_child(given | _form(row))
        yield Rule(
            row.get("kind", section["kind"]),
            Group(section.get("group", Group.SECRET)),
            row.get("example", ""),
            _filled("{{exact_number}}" if "form" in own else row["value"], own),
            _near(row, own, nears),
            _check(row),
            hint,
        )


def _form(row: Table) -> dict[str, str]:
    """Return the part `form` of a rule, which gives only the form of its number."""
    if "exactly" in row:
        return {"form": row["exactly"]}
    if "digits" not in row:
        return {}
    digits = row["digits"]
    number, between = digits if isinstance(digits, list) else (digits, " .-")
    least, _, most = number.partition("-")
    return {"form": f"[0-9](?:[{between}]?[0-9]){{{int(least) - 1},{int(most or least) - 1}}}+"}


def _near(row: Table, parts: ChainMap[str, Any], nears: Table) -> Surroundings | None:
    near = row.get("near")
    if "named" in row:
        near = {"words": spell(row["named"])}
    elif "wide" in row:
        near = {**nears["wide"], "words": spell(row["wide"])}
    elif "unlike_others" in row:
        near = {**nears["unlike_others"], "words": row["unlike_others"]}
    if near is None:
        return None
    own = parts.new_child(near)
    named = near["words"] if isinstance(near["words"], list) else [near["words"]]
    unless = _filled(near["unless"], own) if "unless" in near else None
    sizes = {key: near[key] for key in _SURROUNDINGS if key in near}
    return Surroundings("|".join(_filled(one, own) for one in named), unless=unless, **sizes)


def _check(row: Table) -> Check | None:
    if "stdnum" in row:
        return valid(*row["stdnum"])
    return CHECKS[row["check"]] if "check" in row else None


def _filled(pattern: str, parts: Mapping[str, Any]) -> str:
    """Return a pattern with its parts in their places.

    >>> _filled("{{any is en}} {{digit}}{2}", {"digit": "[0-9]"})
    'is|was|now [0-9]{2}'
    """
    while (filled := _PLACE.sub(lambda place: _part(place, parts), pattern)) != pattern:
        pattern = filled
    return pattern.replace("\n", "")


def _part(place: re.Match[str], parts: Mapping[str, Any]) -> str:
    name, given = place[1], place[2].strip()
    if given:
        return _words(name, given)
    part = parts[name]
    return "|".join(part) if isinstance(part, list) else str(part)


@cache
def _words(name: str, given: str) -> str:
    """Return the pattern of the words of concepts, or of directly given words."""
    return spell(given) if name == "spell" else _WORDS[name](*given.split())
