"""How a turn, the talk before it and what is known are written into a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from souffleur.knowledge.language.plain_text import set_in, single_line
from souffleur.knowledge.memory import Category, Memory, Speaker
from souffleur.knowledge.operation import Add, Said, Verdict
from souffleur.knowledge.people import Person, PersonaCard
from souffleur.knowledge.talk.turn import Turn
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
    """How the two are called, and where and in which language they live."""

    user: str = "user"
    """The user's title, as it stands in memories."""
    assistant: str = "assistant"
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    language: str | None = None
    """Of the prompts; None: what is spoken."""
    former_users: tuple[str, ...] = ()
    """Titles of the user that older memories may use."""
    former_assistants: tuple[str, ...] = ()

    @property
    def called(self) -> tuple[str, ...]:
        """All that the two are called, or were."""
        return (self.user, self.assistant, *self.former_users, *self.former_assistants)


def persona_of(usual: Persona, person: Person | None, card: PersonaCard | None) -> Persona:
    """Return who talks: as introduced, and else as usual.

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
    """Return what older memories call the two, a line each; empty if what they are called now."""
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
    """The time as a person there would write it.

    >>> from datetime import timezone
    >>> clock(datetime(2026, 1, 3, 10, 5, tzinfo=timezone.utc), ZoneInfo("Asia/Shanghai"), "en")
    '2026-01-03 18:05 Saturday (Asia/Shanghai)'
    """
    there = moment.astimezone(zone)
    return f"{there:%Y-%m-%d %H:%M} {_WEEKDAYS[language][there.weekday()]} ({zone.key})"


def list_known(
    memories: Sequence[Memory], whispered: set[str], zone: ZoneInfo, language: str
) -> str:
    """One line a memory: its handle, a star where it was whispered, kind, date and content."""
    lines = []
    for index, memory in enumerate(memories, start=1):
        star = "*" if memory.id in whispered else ""
        kind = "core" if memory.category is Category.CORE else str(memory.kind)
        day = f"{memory.created_at.astimezone(zone):%Y-%m-%d}"
        lines.append(f"m{index}{star} [{kind}, {day}] {single_line(memory.content)}")
    return "\n".join(lines) or NONE[language]


def talk(messages: Sequence[Said], persona: Persona, language: str) -> str:
    """Messages as a dialogue, one paragraph each."""
    lines = [_message(said, persona, language) for said in messages]
    return "\n".join(lines) or NONE[language]


def turns_to_judge(turns: Sequence[Turn], persona: Persona, language: str) -> str:
    """The turns, with the time of each where there are several."""
    parts = []
    for turn in turns:
        head = f"[{clock(turn.at, persona.zone, language)}]\n" if len(turns) > 1 else ""
        parts.append(head + talk(turn.said(), persona, language))
    return "\n\n".join(parts)


def list_pairs(near: Mapping[int, Memory], verdict: Verdict, shown: Sequence[Memory]) -> str:
    """What would be added beside what is nearly the same."""
    handle = {memory.id: f"m{index}" for index, memory in enumerate(shown, start=1)}
    lines = []
    for index, memory in near.items():
        op = verdict.ops[index]
        if isinstance(op, Add):
            lines.append(f"- ADD {op.content!r} ~ {handle[memory.id]} {memory.content!r}")
    return "\n".join(lines)


def _message(said: Said, persona: Persona, language: str) -> str:
    name = persona.user if said.speaker is Speaker.USER else persona.assistant
    return f"{name}{_SAYS[language]}{set_in(said.text)}"
