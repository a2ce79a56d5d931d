"""References: which memories a whisper holds, as a user may be shown them beside the reply."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from souffleur.field_docs import explain_fields
from souffleur.knowledge.language.plain_text import single_line
from souffleur.knowledge.memory import Category, Memory

_UNITS = (("year", 365 * 24), ("month", 30 * 24), ("week", 7 * 24), ("day", 24), ("hour", 1))
"""Units of an age and their hours, the longest first."""
_NOW = {"en": "just now", "zh": "刚才", "ja": "たった今"}
_AGO = {
    "zh": {"year": "年前", "month": "个月前", "week": "周前", "day": "天前", "hour": "小时前"},
    "ja": {"year": "年前", "month": "か月前", "week": "週間前", "day": "日前", "hour": "時間前"},
}
_OWN_WORDS = (Category.FACT, Category.SKILL)
"""Categories whose memories are named by their kind, all others by the category itself."""
_UNSHOWN = (Category.SYSTEM, Category.PROFILE)
"""What a persona is, which is not the user's; and the portrait, which is no single memory."""


@explain_fields
@dataclass(frozen=True)
class Reference:
    """A memory that a reply was whispered."""

    id: str
    """The id of the memory."""
    text: str
    """What it says, on one line."""
    kind: str
    """Its kind if it is a fact or skill, such as preference; else its category, such as episode."""
    age: str
    """How long ago it was told, in the user's language, such as "3 days ago"."""


def references_to(
    memories: Iterable[Memory], now: datetime, language: str
) -> tuple[Reference, ...]:
    """Return references to the memories, without portrait and definitions of a persona."""
    return tuple(
        Reference(
            id=one.id,
            text=single_line(one.content),
            kind=str(one.kind if one.category in _OWN_WORDS else one.category),
            age=tell_age(now - one.created_at, language),
        )
        for one in memories
        if one.category not in _UNSHOWN
    )


def tell_age(age: timedelta, language: str) -> str:
    """Return an age in words, in its longest whole unit.

    >>> tell_age(timedelta(minutes=5), "en"), tell_age(timedelta(hours=1), "en")
    ('just now', '1 hour ago')
    >>> tell_age(timedelta(days=20), "en"), tell_age(timedelta(days=800), "zh")
    ('2 weeks ago', '2年前')
    """
    hours = age // timedelta(hours=1)
    for unit, length in _UNITS:
        if count := max(0, hours) // length:
            if language in _AGO:
                return f"{count}{_AGO[language][unit]}"
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return _NOW.get(language, _NOW["en"])
