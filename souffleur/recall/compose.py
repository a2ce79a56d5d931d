"""The whisper: the memories for a reply, as a block of text for the host's prompt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TypeVar

from souffleur.errors import joined
from souffleur.knowledge.memory import NARRATIVE, Category, Memory
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render
from souffleur.recall.rank import GAP, leading
from souffleur.recall.rendering import (
    Count,
    Part,
    Reference,
    RenderedLine,
    RenderOptions,
    Section,
    clean,
    estimate_tokens,
    references_to,
    tell,
)
from souffleur.settings import WhisperBudget

__all__ = ["Candidates", "Recall", "RenderOptions", "compose"]

Item = Memory | Turn
T = TypeVar("T", bound=Memory | Turn)


@dataclass(frozen=True)
class Parts:
    """How parts are rendered."""

    options: RenderOptions
    count: Count

    def part(self, name: str, room: int) -> Part:
        """Return an empty part with its room in tokens."""
        return Part(name, room, self.options, self.count)

    def length(self, *sections: Section) -> int:
        """Return the tokens of some parts."""
        return sum(self.count(section.text) for section in sections)


@dataclass(frozen=True)
class Recall:
    """The result of `recall`."""

    text: str = ""
    """The block for the system prompt; empty if nothing is known."""
    ids: tuple[str, ...] = ()
    """Ids of the memories, episodes and portrait in the text, in its order."""
    core: tuple[Memory, ...] = ()
    """The core and system memories in the text's first part."""
    portrait: Memory | None = None
    """The portrait whose first sentences are in the text, as not all that is known has room."""
    episodes: tuple[Memory, ...] = ()
    """The latest episodes in the text, newest first."""
    found: tuple[Found, ...] = ()
    """Memories in the text that match the message, with their scores, best first."""
    past: tuple[Found, ...] = ()
    """Episodes and turns from the time that the message asks about, best first."""
    turn_ids: tuple[str, ...] = ()
    """The store's own ids of the raw turns in the text, in its order; `past` has the turns."""
    host_turn_ids: tuple[str, ...] = ()
    """The host's own ids of these turns, in the same order; each is unique in its session."""
    judgeable_ids: tuple[str, ...] = ()
    """`ids` without episodes and portrait: a judge decides which of these memories were used."""
    tokens: int = 0
    """Length of the text in tokens, as counted for the budgets."""
    references: tuple[Reference, ...] = ()
    """The memories and episodes in the text that go with this message, to be shown to the user.
    Empty unless the user (see `set_preferences`) or the setting `show_references` asks for them."""
    error: str = ""
    """Why the text may be incomplete, or why turns cannot be judged; empty if all is well."""

    def with_error(self, more: str) -> "Recall":
        """Return this recall with a further error."""
        if not more:
            return self
        return replace(self, error=joined(self.error, more))


def whispered_lines(text: str) -> list[str]:
    """Return the lines of memories, episodes and raw turns in a whispered block, each once.

    >>> whispered_lines("What you know:\\n- Ann likes tea.\\n")
    ['Ann likes tea.']
    """
    lines = (line[2:] for line in text.splitlines() if line.startswith("- "))
    return list(dict.fromkeys(lines))


CORE_SHARE = 0.5
"""Maximum share of the block for core memories and definitions of the persona."""
KNOWN_SHARE = 0.9
"""Maximum share of what is left for what is known; the rest is for this message."""
PORTRAIT_SHARE = 0.25
"""Maximum share of what is left for the portrait."""
MOMENT_SHARE = 0.25
"""Maximum share of the block for what bears on this message, is due, or was talked about lately."""
KNOWN_SHARE_OF_PAST = 0.5
"""Maximum share of the room for a question for what is known and had no place; the rest is for what
was said."""
MAX_TALK_TOKENS = 80
"""Maximum tokens of a recent talk; a longer one is cut to its first sentences."""


@dataclass(frozen=True)
class Candidates:
    """All items that a whisper may include, before budgets are applied."""

    core: Sequence[Memory] = ()
    """Memories of the categories system and core."""
    portrait: Memory | None = None
    """The portrait of the user in force."""
    known: Sequence[Memory] = ()
    """All other memories in force, those first that matter most for any message."""
    nearest: Sequence[Memory] = ()
    """The same memories, those first that are nearest to the message."""
    talks: Sequence[Memory] = ()
    """The latest episodes, newest first."""
    due: Sequence[Memory] = ()
    """Plans of these days, the earliest first."""
    bearing: Sequence[Memory] = ()
    """Memories that bear on the message, best first."""
    found: Sequence[Found] = ()
    """Memories that match the message, with their scores."""
    past: Sequence[Found] = ()
    """Episodes, raw turns and former memories for a question, best first."""
    looks_back: bool = False
    """Whether the message may want what was said: then `nearest` and `past` have more room."""


@dataclass(frozen=True)
class _Block:
    """The parts of a block, in their order."""

    core: Section
    portrait: Section
    known: Section
    more: Section
    talks: Section
    due: Section
    bearing: Section
    past: Section

    @property
    def sections(self) -> list[Section]:
        return [getattr(self, field.name) for field in fields(self)]

    @property
    def moment(self) -> tuple[Section, ...]:
        """The parts that go with this message; those before are the same for any message."""
        return self.more, self.talks, self.due, self.bearing, self.past


def compose(
    candidates: Candidates,
    *,
    budget: WhisperBudget,
    options: RenderOptions,
    count: Count = estimate_tokens,
    error: str = "",
    shown_at: datetime | None = None,
) -> Recall:
    """Render the block, within its budget by `count`.

    What is known comes first and is in a stable order, so that a provider can cache it; while all
    of it fits, all is there. What goes with this message comes last and repeats some of it. An
    item that does not fit is left out; only portrait, talks and raw turns are cut, after a
    sentence. There are references only if `shown_at` has the time at which they are shown.
    """
    head = render("whisper", options.language, user=options.user)
    head = "\n".join(filter(None, (head, options.formerly)))
    block = _block(candidates, budget, Parts(options, count), budget.tokens - count(head))
    body = "".join(section.text for section in block.sections)
    text = head + body if body else ""
    recall = _recall(candidates, block, text, tokens=count(text), error=error)
    if shown_at is None:
        return recall
    shown = {memory.id: memory for section in block.moment for memory in _memories(section)}
    return replace(recall, references=references_to(shown.values(), shown_at, options.language))


def _block(candidates: Candidates, budget: WhisperBudget, parts: Parts, room: int) -> _Block:
    """Fill the parts: first what is the same for any message, then what this one needs."""
    lasting = _lasting(candidates, parts, max(0, room))
    room = max(0, room) - parts.length(*lasting)
    moment = min(room, int(budget.tokens * MOMENT_SHARE))
    bearing = _by_age(candidates.bearing, parts.part("related", moment))
    others = _rest(candidates.due, bearing)
    due = _by_age(others, parts.part("due", moment - parts.length(bearing)))
    left = moment - parts.length(bearing, due)
    told = [hit.item for hit in candidates.past]
    recent = [talk for talk in candidates.talks if talk not in told]
    talks = _talks(recent, parts.part("episodes", left))
    room -= parts.length(bearing, due, talks)
    asked = budget.past if candidates.looks_back else 0
    nearest = _rest(candidates.nearest, *lasting, due, bearing)
    more = _by_age(nearest, parts.part("more", room + int(asked * KNOWN_SHARE_OF_PAST)))
    part = parts.part("past", min(room + asked - parts.length(more), budget.past))
    past = _by_age(_rest(told, *lasting, more), part, long=True)
    return _Block(*lasting, more, talks, due, bearing, past)


def _lasting(candidates: Candidates, parts: Parts, room: int) -> tuple[Section, Section, Section]:
    """Fill what is the same for any message: core memories, the portrait, and what is known.

    What is known is there in whole, or else a part: the more is left out, the more of the room is
    left to what is nearest to the message.
    """
    core = _core(candidates.core, parts.part("core", int(room * CORE_SHARE)))
    room -= parts.length(core)
    rest, portrait = _rest([*candidates.core, *candidates.known], core), Section()
    part = parts.part("known", room)
    lines = _by_topic(rest, part)
    known = part.section(lines)
    length = parts.length(known)
    if length > room * KNOWN_SHARE:
        if length > 2 * room:  # the portrait tells what has no room
            told = parts.part("portrait", int(room * PORTRAIT_SHARE))
            portrait = _portrait(candidates.portrait, told)
            room -= parts.length(portrait)
        part = parts.part("known", int(room * KNOWN_SHARE * room / length))
        known = part.fill([line] for line in lines)
    return core, portrait, known


def _recall(candidates: Candidates, block: _Block, text: str, *, tokens: int, error: str) -> Recall:
    memories = [memory for section in block.sections for memory in _memories(section)]
    turns = [item for item in block.past.items if isinstance(item, Turn)]
    return Recall(
        text=text,
        ids=_ids(memories),
        core=_memories(block.core),
        portrait=candidates.portrait if block.portrait.items else None,
        episodes=_memories(block.talks),
        found=_standing(candidates.found, memories),
        past=_standing(candidates.past, block.past.items),
        turn_ids=tuple(turn.id for turn in turns),
        host_turn_ids=tuple(turn.turn_id for turn in turns),
        judgeable_ids=_ids(one for one in memories if one.category not in NARRATIVE),
        tokens=tokens,
        error=error,
    )


def _ids(memories: Iterable[Memory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(memory.id for memory in memories))


def _core(memories: Iterable[Memory], part: Part) -> Section:
    """Choose core memories while there is room: by importance, then use, then age."""
    chosen: list[RenderedLine] = []
    each = {memory.id: memory for memory in memories}.values()
    for memory in sorted(each, key=lambda one: (-one.importance, -one.uses, _age(one))):
        line = RenderedLine(
            memory, tell(memory, part.options, part.count, long=False), _age(memory)
        )
        if not line.text or not part.takes([line]):
            continue  # a memory that is too long by itself does not end the part
        if not part.takes([*chosen, line]):
            break
        chosen.append(line)
    return part.section(chosen)


def _portrait(portrait: Memory | None, part: Part) -> Section:
    """Render the portrait whole, or its first paragraphs and sentences."""
    body = leading(clean(portrait.content), part.holds) if portrait else ""
    return Section(part.text(body), (portrait,)) if portrait and body else Section()


def _by_topic(memories: Sequence[Memory], part: Part) -> list[RenderedLine]:
    """Render memories by topic, and those of this quarter of the year at the end.

    So the beginning stays the same for long. Those without a topic come first; under each heading
    the oldest comes first.
    """
    lately = _quarter(part.options.now.astimezone(part.options.zone))
    new = render("whisper_new", part.options.language)

    def line(memory: Memory) -> RenderedLine:
        is_new = memory.created_at >= lately
        topic = new if is_new else single_line(memory.topics[0]) if memory.topics else ""
        text = tell(memory, part.options, part.count, long=False)
        return RenderedLine(memory, text, (float(is_new), topic, *_age(memory)), topic)

    return [line(memory) for memory in memories]


def _quarter(now: datetime) -> datetime:
    """Return the begin of the quarter of the year.

    >>> str(_quarter(datetime(2026, 5, 17, 9, 30)))
    '2026-04-01 00:00:00'
    """
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.replace(month=(now.month - 1) // 3 * 3 + 1, day=1)


def _talks(latest: Sequence[Memory], part: Part) -> Section:
    """Render the latest talks, newest first, each in its first sentences."""

    def short(line: str) -> bool:
        return part.count(line) <= MAX_TALK_TOKENS

    written = []
    for place, talk in enumerate(latest):
        line = tell(talk, part.options, part.count, long=False)
        written.append([RenderedLine(talk, leading(line, short, GAP) or line, (place,))])
    return part.fill(written)


def _by_age(items: Iterable[Item], part: Part, *, long: bool = False) -> Section:
    """Render items, oldest first. They are given best first; if room is short, the best stay."""
    return part.fill(_forms(item, part, _age(item), long) for item in items)


def _forms(
    item: Item, part: Part, order: tuple[float | str, ...], long: bool
) -> list[RenderedLine]:
    """Return the forms of an item, the preferred form first."""
    lengths = (True, False) if long and isinstance(item, Memory) else (False,)
    return [
        RenderedLine(item, tell(item, part.options, part.count, long=length), order)
        for length in lengths
    ]


def _age(item: Item) -> tuple[float, str]:
    if isinstance(item, Turn):
        return item.at.timestamp(), item.id
    talk = item.category is Category.EPISODE  # its age is that of the talk, not of the summary
    begun = item.valid_from if talk and item.valid_from else item.created_at
    return begun.timestamp(), item.id


def _rest(items: Iterable[T], *sections: Section) -> list[T]:
    """Return the items that are not in any section, each once."""
    standing = {item.id for section in sections for item in section.items}
    return list({item.id: item for item in items if item.id not in standing}.values())


def _memories(section: Section) -> tuple[Memory, ...]:
    return tuple(item for item in section.items if isinstance(item, Memory))


def _standing(founds: Iterable[Found], items: Iterable[Item]) -> tuple[Found, ...]:
    ids = {item.id for item in items}
    return tuple({one.item.id: one for one in founds if one.item.id in ids}.values())
