"""Forgetting on request: what else depends on a memory that the user asks to forget."""

import re
from collections.abc import Iterable, Sequence

from souffleur.knowledge.engine.collection import Collection, Filter, Is, read_all
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.language.lexical import is_spaced, split, terms
from souffleur.knowledge.language.proper_names import HAN
from souffleur.knowledge.language.text_match import normalize_text
from souffleur.knowledge.memory import NARRATIVE, Memory, MemoryState
from souffleur.knowledge.memory_codec import to_memories
from souffleur.knowledge.operation import LedgerEntry, is_id
from souffleur.knowledge.plan import PlanContext, withdrawn
from souffleur.knowledge.sessions import Sessions

TOLD_SHARE = 0.75
"""Minimum share of a memory's terms in a text that is taken to repeat the memory."""

_CLITIC = re.compile(r"^(?:[cdjlmnst]|qu)'(?=.)|(?<=.)'(?:s|d|m|ll|re|ve)$")
"""Clitics, which are written together with a name: Ann's, she'll, d'Anna."""
_SPACE = re.compile(rf"(?<=[{HAN}])[ \u3000](?=[{HAN}])")
"""A space within a Japanese name: 田中 太郎 is 田中太郎."""
_GAP = re.compile(rf"(?<=[{HAN}\uac00-\ud7a3]) (?=[{HAN}\uac00-\ud7a3])")
"""A separator between parts of a name that a text may omit: 爱因斯坦·阿尔伯特, 김 철수."""


def own_names(memory: Memory, others: Iterable[Memory]) -> tuple[str, ...]:
    """Return the names that only this memory mentions, and which are forgotten with it.

    >>> from types import SimpleNamespace as Noted
    >>> one = Noted(id="1", entities=("Tom", "Oslo"))
    >>> own_names(one, [one, Noted(id="2", entities=("Oslo",))])
    ('Tom',)
    """
    return unshared(memory.entities, (other for other in others if other.id != memory.id))


def unshared(names: Iterable[str], others: Iterable[Memory]) -> tuple[str, ...]:
    """Return those names that none of the other memories mentions, in their order."""
    mentioned = {name for one in others for name in one.entities}
    shared = {normalize_text(name) for name in mentioned}
    return tuple(name for name in names if normalize_text(name) not in shared)


def mentions(text: str, content: str, names: Sequence[str] = ()) -> bool:
    """Return whether a text repeats a memory: it has one of the names, or most of its terms.

    >>> [mentions(text, "Jo left.", ["Jo"]) for text in ("Did Jo's train leave?", "I enjoy it")]
    [True, False]
    >>> [mentions("昨天周雯来了", "主人的前任。", [name]) for name in ("周雯", "天")]
    [True, False]
    """
    said = padded_words(text)
    if any(form in said for name in names for form in forms_of(name)):
        return True
    sought = set(terms(content))
    return len(sought) > 2 and len(sought & set(terms(text))) >= TOLD_SHARE * len(sought)


def forms_of(name: str) -> tuple[str, ...]:
    """Return how a name stands among `padded_words`: as whole words or as characters in a run.

    A name must have at least two letters or digits, else it stands nowhere.

    >>> forms_of("Ann"), forms_of("周雯"), forms_of("J")
    ((' ann ',), ('周雯',), ())
    """
    sought = _words(name)
    if len(sought.replace(" ", "")) < 2:
        return ()
    before, after = (" " if is_spaced(char) else "" for char in (sought[0], sought[-1]))
    forms = (sought, _GAP.sub("", sought))
    return tuple(dict.fromkeys(f"{before}{form}{after}" for form in forms))


def padded_words(text: str) -> str:
    """Return the words of a text among which `forms_of` a name may stand.

    >>> padded_words("Ann's tea")
    ' ann tea '
    """
    return f" {_words(text)} "


def _words(text: str) -> str:
    """Return the words of a text for comparing names: normalized, separated by single spaces.

    Characters of a script without spaces are kept together, as in the text.

    >>> _words("Ａｎｎ’s -- cat 和Tom去里昂。"), _words("don't")
    ('ann cat 和 tom 去里昂', "don't")
    """
    runs = (run if is_spaced(run[0]) else ["".join(run)] for run in split(_SPACE.sub("", text)))
    return " ".join(_CLITIC.sub("", word) for run in runs for word in run)


async def _episodes_from(
    turn_ids: Sequence[str], memories: Iterable[Memory], journal: Journal, *, but: set[str]
) -> list[Memory]:
    """Return the episodes written from any of these turns, if they can be written again.

    An episode whose raw turns have expired cannot: it is kept unless its own text repeats the
    memory.
    """
    held = [one for one in await Sessions(journal).segments_with(turn_ids) if not one.expunged]
    ids = {one.episode_id for one in held} - but
    return [memory for memory in memories if memory.id in ids]


async def with_dependents(
    entry: LedgerEntry,
    context: PlanContext,
    touched: frozenset[str],
    memories: Collection,
    journal: Journal,
) -> LedgerEntry:
    """Return a requested deletion extended by the episodes and portraits that repeat the memory.

    `details["resting"]` lists the raw turns to hide and the segments to summarise again.
    """
    memory = entry.changes[0].after
    mine = Filter((Is("user_id", memory.user_id), Is("state", MemoryState.ACTIVE)))
    others = to_memories(await read_all(memories, mine))
    names = own_names(memory, others)
    dependents = [
        other
        for other in others
        if other.category in NARRATIVE
        and other.id not in {*touched, memory.id}
        and mentions(other.searchable, memory.content, names)
    ]
    said = await journal.turns(user_id=memory.user_id)
    raw = {turn.id for turn in said if mentions(turn.clipped().words, memory.content, names)}
    rests = {*raw, *entry.turn_ids, *(item.turn_id for item in memory.evidence)}
    turn_ids = sorted(filter(is_id, rests))  # the evidence of an import may not name a turn
    dependents += await _episodes_from(
        turn_ids, others, journal, but={*touched, *(one.id for one in dependents)}
    )
    resting = {
        "turns": turn_ids,
        "segments": [one.data["segment_id"] for one in dependents if "segment_id" in one.data],
    }
    changes = (*entry.changes, *(withdrawn(one, memory.content, context) for one in dependents))
    details = {**entry.details, "resting": resting}
    return entry.model_copy(update={"changes": changes, "details": details})
