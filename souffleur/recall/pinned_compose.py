"""The former block, until the recordings are made anew."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from souffleur.knowledge.memory import NARRATIVE, Category, Memory
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render
from souffleur.recall.compose import Recall
from souffleur.recall.rank import leading
from souffleur.recall.rendering import (
    Count,
    Part,
    RenderedLine,
    RenderOptions,
    Section,
    clean,
    estimate_tokens,
    references_to,
    tell,
)

Item = Memory | Turn


@dataclass(frozen=True)
class OldBudget:
    """The former budget, with which recordings are played."""

    core: int = 200
    portrait: int = 500
    episodes: int = 800
    latest: int = 5
    related: int = 350
    matching: int = 12
    unasked: int = 12
    past: int = 1500


OLD = OldBudget()


@dataclass(frozen=True)
class Candidates:
    """All items that a whisper may include, before budgets are applied."""

    core: Sequence[Memory] = ()
    """Memories of the categories system and core."""
    portrait: Memory | None = None
    """The portrait of the user in force."""
    episodes: Sequence[Memory] = ()
    """The latest episodes, newest first."""
    related: Sequence[Memory] = ()
    """Memories and older episodes for the message, matching it or not, best first."""
    known: Sequence[Memory] = ()
    """Facts and skills in force, the most useful for the message first."""
    bearing: Sequence[Memory] = ()
    """Memories that bear on the message, best first."""
    found: Sequence[Found] = ()
    """Memories that match the message, with their scores."""
    past: Sequence[Found] = ()
    """Episodes and raw turns from the time that the message asks about, best first."""


def compose(
    candidates: Candidates,
    *,
    budget: OldBudget,
    options: RenderOptions,
    count: Count = estimate_tokens,
    error: str = "",
    shown_at: datetime | None = None,
) -> Recall:
    """Render the block, each part within its budget by `count`.

    Parts that stay the same from message to message come first, so that a provider can cache them.
    Items that match this message come last, and items that answer it at the very end. Each memory
    is included once. An item that does not fit is left out; only portrait and raw turns are cut,
    after a sentence. There are references only if `shown_at` has the time at which they are shown.
    """

    def part(name: str, room: int) -> Part:
        return Part(name, room, options, count)

    core = _core(candidates.core, part("core", budget.core))
    rest = _rest(candidates.known, core)
    known = Section()
    told = candidates.portrait if 3 * len(known.items) <= len(rest) else None
    portrait = _portrait(told, part("portrait", budget.portrait))
    asked = [found.item for found in candidates.past]
    past = _by_age(_rest(asked, core, known), part("past", budget.past), long=True)
    episodes = _episodes(_rest(candidates.episodes, core, past), part("episodes", budget.episodes))
    rest = _rest(candidates.related, core, portrait, episodes, past)
    related = _by_age(rest, part("related", budget.related))

    sections = (core, portrait, known, episodes, related, past)
    recall = _recall(candidates, sections, options=options, count=count, error=error)
    if shown_at is None:
        return recall
    shown = {memory.id: memory for section in sections for memory in _memories(section)}
    return replace(recall, references=references_to(shown.values(), shown_at, options.language))


def _recall(
    candidates: Candidates,
    sections: Sequence[Section],
    *,
    options: RenderOptions,
    count: Count,
    error: str,
) -> Recall:
    core, portrait, _, episodes, related, past = sections
    body = "".join(section.text for section in sections)
    head = render("whisper", options.language, user=options.user)
    text = "\n".join(filter(None, (head, options.formerly))) + body if body else ""
    memories = [memory for section in sections for memory in _memories(section)]
    judgeable = [memory for section in (core, related, past) for memory in _memories(section)]
    turns = [item for section in sections for item in section.items if isinstance(item, Turn)]
    return Recall(
        text=text,
        ids=_ids(memories),
        core=_memories(core),
        portrait=candidates.portrait if portrait.items else None,
        episodes=_memories(episodes),
        found=_standing(candidates.found, related),
        past=_standing(candidates.past, past),
        turn_ids=tuple(turn.id for turn in turns),
        host_turn_ids=tuple(turn.turn_id for turn in turns),
        judgeable_ids=_ids(one for one in judgeable if one.category not in NARRATIVE),
        tokens=count(text),
        error=error,
    )


def _ids(memories: Iterable[Memory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(memory.id for memory in memories))


def _core(memories: Iterable[Memory], part: Part) -> Section:
    """Choose core memories while there is room: by importance, then use, then age."""
    chosen: list[RenderedLine] = []
    each = {memory.id: memory for memory in memories}.values()
    for memory in sorted(each, key=lambda one: (-one.importance, -one.uses, _age(one))):
        line = RenderedLine(memory, single_line(memory.content), _age(memory))
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


def _episodes(latest: Sequence[Item], part: Part) -> Section:
    """Render the latest episodes, newest first; the part `past` has those of a question."""
    order = ((float(index), "") for index in range(len(latest)))
    return part.fill(_forms(one, part, at, False) for one, at in zip(latest, order, strict=True))


def _by_age(items: Iterable[Item], part: Part, *, long: bool = False) -> Section:
    """Render items, oldest first. They are given best first; if room is short, the best stay."""
    return part.fill(_forms(item, part, _age(item), long) for item in items)


def _forms(item: Item, part: Part, order: tuple[float, str], long: bool) -> list[RenderedLine]:
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


def _rest(items: Iterable[Item], *sections: Section) -> list[Item]:
    """Return the items that are not in any section, each once."""
    standing = {item.id for section in sections for item in section.items}
    return list({item.id: item for item in items if item.id not in standing}.values())


def _memories(section: Section) -> tuple[Memory, ...]:
    return tuple(item for item in section.items if isinstance(item, Memory))


def _standing(founds: Iterable[Found], section: Section) -> tuple[Found, ...]:
    ids = {item.id for item in section.items}
    return tuple({one.item.id: one for one in founds if one.item.id in ids}.values())
