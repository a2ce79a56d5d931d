"""Writes the parts of a question: turns, earlier messages and known memories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from souffleur.agents.fields import by_handle
from souffleur.knowledge.memory import Category, Memory, Speaker
from souffleur.knowledge.operation import Add, Said, Verdict
from souffleur.knowledge.people import Person, PersonaCard
from souffleur.knowledge.text.plain import set_in, single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render

_WEEKDAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
    "ja": ("月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"),
}
NONE = {"en": "(none)", "zh": "（无）", "ja": "（なし）"}
_SAYS = {"en": ": ", "zh": "：", "ja": "："}


@dataclass(frozen=True)
class Persona:
    """The names of the user and the persona, and the user's time zone and language."""

    user: str = "user"
    """The user's display name, as used in memories."""
    assistant: str = "assistant"
    """The persona's display name."""
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    """The user's time zone."""
    language: str | None = None
    """The language of the prompts; `None` means the language of the talk."""
    former_users: tuple[str, ...] = ()
    """Former display names of the user, which older memories may use."""
    former_assistants: tuple[str, ...] = ()
    """Former display names of the persona."""

    @property
    def of_user(self) -> tuple[str, ...]:
        """All current and former names of the user."""
        return (self.user, *self.former_users)

    @property
    def called(self) -> tuple[str, ...]:
        """All current and former names of the user and the persona."""
        return (self.user, self.assistant, *self.former_users, *self.former_assistants)


def both_said(turn: Turn, persona: Persona) -> str:
    """Return the words of user and persona in a turn, on one line."""
    both = ((persona.user, turn.user), (persona.assistant, turn.assistant))
    return " / ".join(f"{name}: {single_line(text)}" for name, text in both if text)


def persona_of(usual: Persona, person: Person | None, card: PersonaCard | None) -> Persona:
    """Return the names, zone and language: as introduced, or else the usual values.

    >>> from datetime import UTC
    >>> ann = Person(user_id="ann", title="Ann", since=datetime(2026, 1, 3, tzinfo=UTC))
    >>> persona_of(Persona(assistant="Mo"), ann, None).called
    ('Ann', 'Mo')
    """
    both: dict[str, Any] = {}
    if person:
        both |= {"user": person.title or usual.user, "former_users": person.former}
        both |= {"language": person.language or usual.language}
        both |= {"zone": ZoneInfo(person.timezone) if person.timezone else usual.zone}
    if card:
        both |= {"assistant": card.name or usual.assistant, "former_assistants": card.former}
    return replace(usual, **both)


def formerly(persona: Persona, language: str) -> str:
    """Return the former names of user and persona, a line for each; empty if there are none."""
    both = (
        (persona.user, persona.former_users),
        (persona.assistant, persona.former_assistants),
    )
    return "\n".join(
        render("formerly", language, name=name, former=" / ".join(former))
        for name, former in both
        if former
    )


def clock(moment: datetime, zone: ZoneInfo, language: str) -> str:
    """Return the time as a person in that zone would write it.

    >>> from datetime import timezone
    >>> clock(datetime(2026, 1, 3, 10, 5, tzinfo=timezone.utc), ZoneInfo("Asia/Shanghai"), "en")
    '2026-01-03 18:05 Saturday (Asia/Shanghai)'
    """
    there = moment.astimezone(zone)
    return f"{there:%Y-%m-%d %H:%M} {_WEEKDAYS[language][there.weekday()]} ({zone.key})"


def list_known(
    memories: Sequence[Memory], whispered: set[str], zone: ZoneInfo, language: str
) -> str:
    """List memories, a line for each: handle, a star if whispered, kind, date and content."""
    lines = []
    for handle, memory in by_handle(memories).items():
        star = "*" if memory.id in whispered else ""
        lines.append(f"{handle}{star} {known_line(memory, zone)}")
    return "\n".join(lines) or NONE[language]


def known_line(memory: Memory, zone: ZoneInfo) -> str:
    """Return a memory as a model sees it: kind, day and content."""
    kind = "core" if memory.category is Category.CORE else str(memory.kind)
    return f"[{kind}, {memory.created_at.astimezone(zone):%Y-%m-%d}] {single_line(memory.content)}"


def talk(messages: Sequence[Said], persona: Persona, language: str) -> str:
    """Render messages as a dialogue, a paragraph for each."""
    lines = [_message(said, persona, language) for said in messages]
    return "\n".join(lines) or NONE[language]


def turns_to_judge(turns: Sequence[Turn], persona: Persona, language: str) -> str:
    """Render the turns; if there are several, each with its time."""
    parts = []
    for turn in turns:
        head = f"[{clock(turn.at, persona.zone, language)}]\n" if len(turns) > 1 else ""
        parts.append(head + talk(turn.said(), persona, language))
    return "\n\n".join(parts)


def list_pairs(near: Mapping[int, Memory], verdict: Verdict, shown: Sequence[Memory]) -> str:
    """List each memory to be added, with the known memory that is nearly the same."""
    handles = {memory.id: handle for handle, memory in by_handle(shown).items()}
    lines = []
    for index, memory in near.items():
        op = verdict.ops[index]
        if isinstance(op, Add):
            lines.append(f"- ADD {op.content!r} ~ {handles[memory.id]} {memory.content!r}")
    return "\n".join(lines)


def _message(said: Said, persona: Persona, language: str) -> str:
    name = persona.user if said.speaker is Speaker.USER else persona.assistant
    return f"{name}{_SAYS[language]}{set_in(said.text)}"
