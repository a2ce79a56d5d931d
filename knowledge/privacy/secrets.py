"""Finding and masking secrets by patterns, so that no memory holds them."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from functools import cache
from itertools import groupby
from operator import attrgetter

from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.hints import Hint
from souffleur.knowledge.privacy.long_texts import Effort, TooMuchError, mask_coarsely
from souffleur.knowledge.privacy.rule import Rule, rules
from souffleur.knowledge.privacy.surroundings import HIDDEN, SearchedText

MASK = "[secret]"
"""The text shown instead of a secret."""

Span = tuple[int, int]
_RulesByHint = tuple[tuple[Hint | None, tuple[Rule, ...]], ...]
"""Each hint with the rules that share it, in the order of the rules."""


class _Plain(dict[int, str]):
    """Maps each character to its ASCII equivalent, if it has one; indexes stay the same."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = _PLAIN_OF.get(unicodedata.category(char)) or unicodedata.normalize("NFKC", char)
        digit = unicodedata.decimal(char, None)
        self[code] = str(digit) if digit is not None else plain if len(plain) == 1 else char
        return self[code]


_PLAIN_OF = {"Zs": " ", "Zl": "\n", "Zp": "\n", "Pd": "-"}
_PLAIN = _Plain(dict.fromkeys(map(ord, "‘’ʼ`"), "'") | dict.fromkeys(map(ord, "“”„"), '"'))
_PLAIN[ord("−")] = "-"


def find_secret(text: str, groups: AbstractSet[Group] = NEVER_KEPT) -> str | None:
    """Return the kind of sensitive data in the text, in words; `None` if there is no such data.

    `groups` are the groups of data that are looked for.

    >>> find_secret("my key is sk-live-9f8e7d6c5b4a3210")
    'an API key'
    >>> find_secret("我的密码是hunter2024!")
    'a password'
    >>> find_secret("pay with 4111 1111 1111 1111 please")
    'a payment card number'
    >>> find_secret("password = request.form['password']") is None
    True
    >>> find_secret("The password is important. He forgot his 3 keys, 忘了密码") is None
    True
    """
    try:
        found = _find(text, _rules_of(frozenset(groups)), Effort())
        return next((rule.kind for rule, _ in found), None)
    except TooMuchError:
        return "a number or key" if mask_coarsely(text, MASK, groups) != text else None


def mask(text: str, groups: AbstractSet[Group] = NEVER_KEPT) -> str:
    """Return the text with all sensitive data of these groups in it replaced by `MASK`.

    >>> mask("密码是hunter2024!，别告诉别人")
    '密码是[secret]，别告诉别人'
    >>> mask("postgres://ann:tea4two@db.example.org/tea")
    'postgres://ann:[secret]@db.example.org/tea'
    """
    return mask_together(text, groups=groups)[0]


def mask_together(*texts: str, groups: AbstractSet[Group] = NEVER_KEPT) -> tuple[str, ...]:
    """Return consecutive texts with secrets masked, even if the label is in an earlier text.

    `groups` are the groups of data that are masked. In texts that are too long for the rules, all
    values with the form of sensitive data are masked: see `long_texts`.

    >>> mask_together("tell me my wifi password", "tea4two!2024, as always")
    ('tell me my wifi password', '[secret], as always')
    >>> mask_together("write to ann@example.org", groups={Group.CONTACT})
    ('write to [secret]',)
    """
    try:
        return _mask(texts, _rules_of(frozenset(groups)), Effort())
    except TooMuchError:
        return tuple(mask_coarsely(text, MASK, groups) for text in texts)


def _mask(texts: tuple[str, ...], by_hint: _RulesByHint, effort: Effort) -> tuple[str, ...]:
    """Return consecutive texts with the data that these rules find masked. Raises TooMuchError."""
    while spans := sorted(span for _, span in _find("\n".join(texts), by_hint, effort)):
        start, masked = 0, []
        for text in texts:
            masked.append(_cover(text, [(low - start, high - start) for low, high in spans]))
            start += len(text) + 1
        texts = tuple(masked)
    return texts


def without_secret(name: str) -> str:
    """Return an id in a form for storing: unchanged, or a hash if it contains a secret.

    >>> without_secret("turn 7"), without_secret("my password is tea4two!2024")
    ('turn 7', 'redacted-a7e4a437b14589eb')
    """
    if find_secret(name, {Group.SECRET}) is None:
        return name
    return f"redacted-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:16]}"


def _cover(text: str, spans: Sequence[Span]) -> str:
    """Return the text with the ordered spans replaced by `MASK`; adjacent spans become one."""
    kept: list[str] = []
    end = 0
    for low, high in spans:
        if high <= 0 or low >= len(text):
            continue
        if low > end or not kept:
            kept.append(text[end : max(low, 0)])
        end = max(end, high)
    return MASK.join([*kept, text[end:]])


@cache
def _rules_of(groups: frozenset[Group]) -> _RulesByHint:
    return _by_hint(rule for rule in rules() if rule.group in groups)


def _by_hint(some: Iterable[Rule]) -> _RulesByHint:
    return tuple((hint, tuple(same)) for hint, same in groupby(some, attrgetter("hint")))


def _find(text: str, by_hint: _RulesByHint, effort: Effort) -> Iterator[tuple[Rule, Span]]:
    """Yield each rule that finds data in the text, with its span; skips masked parts.

    Raises TooMuchError.
    """
    effort.spend(len(text))
    read = SearchedText(_plain(text.replace(MASK, HIDDEN * len(MASK))), effort)
    true: dict[Hint | None, bool] = {None: True}
    for hint, hinted in by_hint:
        if hint not in true:
            effort.spend(len(text))
            true[hint] = hint is None or bool(hint(read.lowered))
        if not true[hint]:
            continue
        for rule in hinted:
            for match in _matches(rule, read):
                for span in _spans(match):
                    if rule.holds(read, *span):
                        yield rule, span


def _matches(rule: Rule, text: SearchedText) -> Iterable[re.Match[str]]:
    """Return the matches of a rule; no matches if the text lacks the surrounding words."""
    if text.first(rule.pattern) is None or not rule.may_be_in(text):
        return ()
    return text.matches(rule.pattern)


def _plain(text: str) -> str:
    """Return the text in plain ASCII characters; every index stays the same."""
    return text.replace("`", "'") if text.isascii() else text.translate(_PLAIN)


def _spans(match: re.Match[str]) -> list[Span]:
    groups = [match.span(number) for number in range(1, match.re.groups + 1)]
    return [span for span in groups if span[0] >= 0] or [match.span()]
