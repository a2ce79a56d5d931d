"""Fields that several answers share: each adapts a model's value, or refuses it."""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator

from souffleur.knowledge.memory import Content, Memory
from souffleur.knowledge.people import check_name
from souffleur.knowledge.privacy.groups import EVERYTHING
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.text.plain import is_blank, single_line

Shown = Mapping[str, Memory]
"""Memories by the handles that the model saw."""


def by_handle(memories: Iterable[Memory], letter: str = "m") -> dict[str, Memory]:
    """Return memories by their handles, in this order."""
    return {f"{letter}{place}": memory for place, memory in enumerate(memories, start=1)}


def not_shown(handles: Iterable[str], shown: Shown) -> list[str]:
    """Return a line for each of these handles that the model did not see.

    >>> not_shown(["m7"], {})
    ['- m7 is none of the memories that were shown']
    """
    return [
        f"- {one} is none of the memories that were shown" for one in handles if one not in shown
    ]


T = TypeVar("T")

MAX_QUOTE_LENGTH = 2000
"""Maximum characters of a quotation; finding a longer quotation in the messages takes seconds."""
MAX_REMARK_LENGTH = 1000
"""Maximum characters of a model's reasoning that the ledger keeps; longer texts are cut."""
MAX_NAME_LENGTH = 100
"""Maximum characters of a name or topic; longer names are dropped."""
MAX_NAMES = 20
MAX_CUE_LENGTH = 80
"""Maximum characters of a cue; longer cues are dropped."""
MAX_CUES = 5
MAX_TOPIC_LENGTH = 40
"""Maximum characters of a memory's topic; a longer topic is dropped."""
MAX_ECHO_LENGTH = 2000
"""Maximum characters that are kept of an answer that was too long to be read."""
YEARS = range(1900, 2200)
"""Calendar years in which a memory may become true or cease to be true."""

_MAX_HANDLE_LENGTH = 40
_MONTH = re.compile(r"\d{4}-\d\d")
"""A date without its day."""
_BARE_YEAR = re.compile(r"\d{4}")
"""A date without its month."""
_YEAR = re.compile(r"(\d{4,6})(?:-|\Z)")
_NULLS = {"", "null", "none"}
_TO_HYPHENS = str.maketrans({"/": "-", ".": "-", "年": "-", "月": "-", "日": None})


def shorten(text: str, limit: int) -> str:
    """Return the text, cut to this many characters.

    >>> shorten("a long story", 7), shorten("tea", 7)
    ('a long…', 'tea')
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def starts(day: str | None, zone: ZoneInfo) -> datetime | None:
    """Return when a day begins; for a date without a day or month, when that month or year begins.

    >>> starts("2026-03", ZoneInfo("UTC")).isoformat(), starts(None, ZoneInfo("UTC"))
    ('2026-03-01T00:00:00+00:00', None)
    """
    if day is None:
        return None
    missing = "-01" if _MONTH.fullmatch(day) else "-01-01" if _BARE_YEAR.fullmatch(day) else ""
    moment = datetime.fromisoformat(day + missing)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def last_day(day: str, zone: ZoneInfo) -> datetime | None:
    """Return the day; for a date without a day or month, the last day of that month or year.

    >>> [str(last_day(day, ZoneInfo("UTC")).date()) for day in ("2026-02", "2026")]
    ['2026-02-28', '2026-12-31']
    """
    start = starts(day, zone)
    if start and _BARE_YEAR.fullmatch(day):
        return start.replace(month=12, day=31)
    if start and _MONTH.fullmatch(day):
        return start.replace(day=monthrange(start.year, start.month)[1])
    return start


def _quote(text: str) -> str:
    if len(text) > MAX_QUOTE_LENGTH:
        raise ValueError(
            f"must have at most {MAX_QUOTE_LENGTH} characters: copy as few words as will do"
        )
    return text


def _remark(text: str) -> str:
    return shorten(text, MAX_REMARK_LENGTH)


def _note(text: str | None) -> str | None:
    return None if text is None or is_blank(text) else _remark(text)


def _or_no_words(value: Any) -> Any:
    return None if isinstance(value, str) and is_blank(value) else value


def _one_line(text: str | None) -> str | None:
    return None if text is None else single_line(text)


def _names(names: list[str]) -> list[str]:
    stripped = (name.strip() for name in names)
    fit = [name for name in stripped if not is_blank(name) and len(name) <= MAX_NAME_LENGTH]
    return fit[:MAX_NAMES]


def _cues(cues: list[str]) -> list[str]:
    plain = dict.fromkeys(single_line(cue) for cue in cues)
    fit = [cue for cue in plain if not is_blank(cue) and len(cue) <= MAX_CUE_LENGTH]
    return [cue for cue in fit if find_secret(cue, EVERYTHING) is None][:MAX_CUES]


def _topic(topic: str | None) -> str | None:
    plain = single_line(topic or "")
    unusable = is_blank(plain) or len(plain) > MAX_TOPIC_LENGTH or plain.casefold() in _NULLS
    return None if unusable else plain


def _address(name: str | None) -> str | None:
    r"""Return a name that can be used in a sentence; `None` for any other text.

    >>> _address(" Lin "), _address("two\nlines"), _address("null")
    ('Lin', None, None)
    """
    try:
        called = check_name(name or "")
    except ValueError:
        return None
    return None if called.casefold() in _NULLS or find_secret(called, EVERYTHING) else called


def _handle(value: Any) -> Any:
    """Return the handle, on one line; `[m3]`, `M3` and `m3*` all mean m3."""
    if not isinstance(value, str):
        return value
    return shorten(single_line(value).strip("[]【】*#").casefold(), _MAX_HANDLE_LENGTH)


def _written_out(day: str) -> str:
    """Return a date that begins with the year in ISO 8601; returns any other text unchanged.

    >>> _written_out("2026/3/16"), _written_out("2026年3月"), _written_out("03/16/2026")
    ('2026-03-16', '2026-03', '03/16/2026')
    """
    year, *others = day.translate(_TO_HYPHENS).rstrip("-").split("-")
    if len(year) == 4 and len(others) < 3 and all(part.isdecimal() for part in (year, *others)):
        return "-".join((year, *(part.zfill(2) for part in others)))
    return day


def _since(value: str | None) -> str | None:
    if value is None or value.strip().casefold() in _NULLS:
        return None
    day = _written_out(value.strip())
    try:
        start = starts(day, ZoneInfo("UTC"))
    except ValueError:
        raise ValueError("must be a date such as 2026-03-16 or 2026-03, or null") from None
    if start and start.year not in YEARS:
        raise ValueError(f"must be a date from {YEARS[0]} to {YEARS[-1]}, or null")
    return day


def _until(value: str | None) -> str | None:
    return None if value is not None and _never(value.strip()) else _since(value)


def _never(day: str) -> bool:
    """Return whether a date stands for "no end": 9999-12-31, 10000-01-01, 9999."""
    try:
        start = starts(day, ZoneInfo("UTC"))
        year = start.year if start else 0
    except ValueError:
        found = _YEAR.match(day)
        year = int(found[1]) if found else 0
    return year > YEARS[-1]


def in_capitals(value: Any) -> Any:
    """Return a word in capitals; `[keep]` and `Keep` both mean KEEP."""
    return value.strip().strip(" []【】").upper() if isinstance(value, str) else value


def _or_none_of_it(value: Any) -> Any:
    return [] if value is None else value


def _or_nothing(value: Any) -> Any:
    return "" if value is None else value


Many = Annotated[list[T], BeforeValidator(_or_none_of_it)]
"""A list; null means an empty list."""
Quote = Annotated[str, AfterValidator(_quote)]
"""A quotation of a message."""
Remark = Annotated[str, BeforeValidator(_or_nothing), AfterValidator(_remark)]
"""A model's reasoning, cut to `MAX_REMARK_LENGTH`; null means no reasoning."""
Note = Annotated[str | None, AfterValidator(_note)]
"""A remark that may be left out; `None` if it is blank."""
NewWords = Annotated[Content | None, BeforeValidator(_or_no_words), AfterValidator(_one_line)]
"""The new words of a memory, on one line; `None` if they are blank."""
Names = Annotated[Many[str], AfterValidator(_names)]
"""Names or topics, without unusable values."""
Cues = Annotated[Many[str], AfterValidator(_cues)]
"""Situations in which a memory should come to mind. Unusable cues and cues with a secret are
left out, as cues are no reason to refuse a memory."""
Topic = Annotated[str | None, AfterValidator(_topic)]
"""The part of a person's life that a memory belongs to; `None` if it is not told or unusable."""
Address = Annotated[str | None, AfterValidator(_address)]
"""The name by which the user asks to be called; `None` if it is not told or unusable."""
Handle = Annotated[str, BeforeValidator(_handle)]
"""The handle of a memory that was shown."""
Since = Annotated[str | None, AfterValidator(_since)]
"""A day, month or year from which a memory is true."""
Until = Annotated[str | None, AfterValidator(_until)]
"""A day, month or year until which a memory is true; `None` also for a year that means no end."""
