"""The monitor's answer, and the operations that are made from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from souffleur.agents.fields import (
    Address,
    Cues,
    Handle,
    Many,
    Names,
    Quote,
    Remark,
    Since,
    Topic,
    Until,
    last_day,
    starts,
)
from souffleur.knowledge.decay import plan_expiry
from souffleur.knowledge.memory import Content, Kind
from souffleur.knowledge.operation import Add, Boost, Delete, Importance, Op, Skip, Update
from souffleur.knowledge.privacy.groups import SpecialCategory
from souffleur.knowledge.text.dates import carried_dates, date_parts, read_dates
from souffleur.knowledge.text.match import normalize_text


def _fold(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


def _or_no(value: Any) -> Any:
    return False if value is None else value


def _rated(value: Any) -> Any:
    """Return an importance; a fraction counts by the third of 1 in which it lies.

    >>> [_rated(value) for value in (0.2, 0.5, 0.9, 1, 7, "High ")]
    ['low', 'medium', 'high', 1, 7, 'high']
    """
    if isinstance(value, float) and 0 < value < 1:
        return ("low", "medium", "high")[int(value * 3)]
    return _fold(value)


_NO_OPS = {"NOOP", "NO_OP", "NO-OP", "NONE"}
"""Other names that models use for SKIP."""


def _named_in_capitals(ops: Any) -> Any:
    """Return operations with `op` in capitals, so that "add" is also accepted."""
    if ops is None:
        return []
    return [_named(part) for part in ops] if isinstance(ops, list) else ops


def _named(part: Any) -> Any:
    if not isinstance(part, dict) or not isinstance(part.get("op"), str):
        return part
    name = part["op"].strip().upper()
    return {**part, "op": "SKIP" if name in _NO_OPS else name}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class AddAnswer(_Part):
    """A new memory."""

    op: Literal["ADD"]
    reason: Remark
    quote: Quote
    content: Content
    kind: Annotated[Kind, BeforeValidator(_fold)]
    importance: Annotated[Importance, BeforeValidator(_rated)]
    topic: Topic = None
    entities: Names = []
    since: Since = None
    until: Until = None
    cues: Cues = []


class UpdateAnswer(_Part):
    """A known memory that is different now; a kind, importance or topic of null stays as it is."""

    op: Literal["UPDATE"]
    id: Handle
    reason: Remark
    quote: Quote
    content: Content
    kind: Annotated[Kind | None, BeforeValidator(_fold)] = None
    importance: Annotated[Importance | None, BeforeValidator(_rated)] = None
    topic: Topic = None
    entities: Names = []
    since: Since = None
    until: Until = None
    cues: Cues = []


class BoostAnswer(_Part):
    """A known memory that shaped the reply."""

    op: Literal["BOOST"]
    id: Handle
    reason: Remark


class DeleteAnswer(_Part):
    """A known memory that must go."""

    op: Literal["DELETE"]
    id: Handle
    reason: Remark
    quote: Quote


class SkipAnswer(_Part):
    """Nothing to keep."""

    op: Literal["SKIP"]
    reason: Remark = ""


OpAnswer = Annotated[
    AddAnswer | UpdateAnswer | BoostAnswer | DeleteAnswer | SkipAnswer, Field(discriminator="op")
]


class MonitorAnswer(_Part):
    """A whole answer: the argument first, then the operations."""

    reason: Remark
    big: Annotated[bool, BeforeValidator(_or_no)] = False
    """It changes who the user is: the portrait is to be written anew."""
    hide: Many[Quote] = []
    """Words of the exchange that are secret, such as a door code in a story."""
    address: Address = None
    """The name by which the user asks to be called from now on."""
    next: Many[Handle] = []
    """Known memories that the next message will likely need."""
    ops: Annotated[list[OpAnswer], BeforeValidator(_named_in_capitals)]

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        """Accept operations alone as an answer without an argument."""
        if isinstance(given, list):
            return {"reason": "", "ops": given}
        alone = isinstance(given, dict) and "op" in given and "ops" not in given
        return {"reason": "", "ops": [given]} if alone else given


def _category(value: Any) -> Any:
    return SpecialCategory.NONE if value is None else _fold(value)


def _before_the_content(schema: dict[str, Any]) -> None:
    """Put `special` after the reason, so that a model decides on it before it writes content."""
    fields = schema["properties"]
    names = [name for name in fields if name != "special"]
    names.insert(names.index("reason") + 1, "special")
    schema["properties"] = {name: fields[name] for name in names}


_MARKED = ConfigDict(json_schema_extra=_before_the_content)
_Special = Annotated[SpecialCategory, BeforeValidator(_category)]


class MarkedAdd(AddAnswer):
    """A new memory, and the special category that it tells."""

    model_config = _MARKED

    special: _Special


class MarkedUpdate(UpdateAnswer):
    """A memory that is different now, and the special category that it tells."""

    model_config = _MARKED

    special: _Special


MarkedOp = Annotated[
    MarkedAdd | MarkedUpdate | BoostAnswer | DeleteAnswer | SkipAnswer, Field(discriminator="op")
]


class MarkedAnswer(MonitorAnswer):
    """A whole answer where special categories are refused."""

    ops: Annotated[list[MarkedOp], BeforeValidator(_named_in_capitals)]  # type: ignore[assignment]


def handles(answer: MonitorAnswer) -> list[str]:
    """Return the handles that an answer names."""
    return [part.id for part in answer.ops if not isinstance(part, AddAnswer | SkipAnswer)]


@dataclass(frozen=True)
class ParseContext:
    """The time, zone and names for reading an answer."""

    now: datetime
    zone: ZoneInfo
    speakers: tuple[str, ...] = ()
    """Names of user and persona: every memory is about them, so as entities they say nothing."""
    topics: tuple[str, ...] = ()
    """The topics that the user's memories have so far."""
    keep_both: bool = False
    """Whether the judge has seen the near-duplicates and still wants to ADD."""


def to_ops(answer: MonitorAnswer, reading: ParseContext) -> tuple[Op, ...]:
    """Return the operations of an answer; a SKIP only if there is no other operation.

    A memory that was used and is different now is reinforced first: the new one has the use.
    """
    parts = [part for part in answer.ops if not isinstance(part, SkipAnswer)]
    changed = {part.id for part in parts if isinstance(part, UpdateAnswer)}
    parts.sort(key=lambda part: not (isinstance(part, BoostAnswer) and part.id in changed))
    if not parts:
        reasons = [part.reason for part in answer.ops] + [answer.reason]
        return (Skip(reason=next((reason for reason in reasons if reason), "")),)
    return tuple(_to_op(part, reading) for part in parts)


def _to_op(
    part: AddAnswer | UpdateAnswer | BoostAnswer | DeleteAnswer, reading: ParseContext
) -> Op:
    match part:
        case BoostAnswer():
            return Boost(target=part.id, reason=part.reason)
        case DeleteAnswer():
            return Delete(target=part.id, reason=part.reason, quote=part.quote)
    shared: dict[str, Any] = {
        "reason": part.reason,
        "quote": part.quote,
        "content": part.content,
        "kind": part.kind,
        "importance": part.importance,
        "entities": _names(part.entities, reading.speakers),
        "topics": _topics(part.topic, reading.topics),
        "valid_from": _start(part.since, reading),
        "expires_at": _end(part.until, part.content, reading),
        "cues": tuple(part.cues),
        "special": _special(part),
    }
    if isinstance(part, UpdateAnswer):
        return Update(target=part.id, **shared)
    return Add(keep_both=reading.keep_both, **shared)


def _special(part: AddAnswer | UpdateAnswer) -> SpecialCategory:
    return part.special if isinstance(part, MarkedAdd | MarkedUpdate) else SpecialCategory.NONE


def _names(entities: list[str], speakers: tuple[str, ...]) -> tuple[str, ...]:
    ignored = {name.casefold() for name in speakers}
    return tuple(dict.fromkeys(name for name in entities if name.casefold() not in ignored))


def _topics(topic: str | None, so_far: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topic in the spelling that it has so far.

    >>> _topics("Work ", ("health", "work")), _topics("home", ()), _topics(None, ("work",))
    (('work',), ('home',), ())
    """
    if topic is None:
        return ()
    return (next((one for one in so_far if normalize_text(one) == normalize_text(topic)), topic),)


def _start(day: str | None, reading: ParseContext) -> datetime | None:
    """Return when a day begins; `None` for a future day, as the content is known from now on."""
    start = starts(day, reading.zone)
    return start if start is None or start <= reading.now else None


def _end(day: str | None, content: str, reading: ParseContext) -> datetime | None:
    """Return a week after the day, or after the end of its month or year; `None` if that is over.

    A content that names a later day, such as the day of a second offer, ends after that day.
    """
    last = last_day(day, reading.zone) if day else None
    if last is None or last + timedelta(days=1) <= reading.now:
        return None
    return plan_expiry(max([last, *_named_days(content, reading.zone)]))


def _named_days(text: str, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the days that a text names with their year; for a month, its last day."""
    for key in carried_dates(read_dates(text)[0]):
        if all(date_parts(key)[:2]) and (day := last_day(key, zone)):
            yield day
