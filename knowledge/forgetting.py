"""Forgetting on request: what else rests on a memory that somebody asks to be forgotten."""

from collections.abc import Iterable, Sequence

from souffleur.knowledge.collection import Collection, Filter, Is, read_all
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.lexical import terms
from souffleur.knowledge.memory import Memory, State
from souffleur.knowledge.operation import Outcome, is_id
from souffleur.knowledge.plan import Scene, withdrawn
from souffleur.knowledge.records import to_memories
from souffleur.knowledge.search import NARRATIVE
from souffleur.knowledge.wording import fold

SHARE = 0.75
"""Part of a memory's terms from which a longer text is taken to tell it."""


def own_names(memory: Memory, others: Iterable[Memory]) -> tuple[str, ...]:
    """The names that this memory alone mentions: they go with it.

    >>> from types import SimpleNamespace as Noted
    >>> one = Noted(id="1", entities=("Tom", "Oslo"))
    >>> own_names(one, [one, Noted(id="2", entities=("Oslo",))])
    ('Tom',)
    """
    shared = {fold(name) for other in others if other.id != memory.id for name in other.entities}
    return tuple(name for name in memory.entities if fold(name) not in shared)


def tells(text: str, content: str, names: Sequence[str] = ()) -> bool:
    """Whether a text tells what a memory says: it holds a name of its own, or most of its words."""
    folded = fold(text)
    if any(fold(name) in folded for name in names):
        return True
    sought = set(terms(content))
    return len(sought) > 2 and len(sought & set(terms(text))) >= SHARE * len(sought)


async def with_what_rests_on_it(
    outcome: Outcome,
    scene: Scene,
    touched: frozenset[str],
    memories: Collection,
    journal: Journal,
) -> Outcome:
    """A deletion that was asked for, with the episodes and portrait that tell of it.

    `details["resting"]` names the raw turns to hide, and the segments to summarise anew.
    """
    memory = outcome.changes[0].after
    mine = Filter((Is("user_id", memory.user_id), Is("state", State.ACTIVE)))
    others = to_memories(await read_all(memories, mine))
    names = own_names(memory, others)
    told = [
        other
        for other in others
        if other.category in NARRATIVE
        and other.id not in {*touched, memory.id}
        and tells(other.searchable, memory.content, names)
    ]
    said = await journal.turns(user_id=memory.user_id)
    raw = {turn.id for turn in said if tells(turn.words, memory.content, names)}
    rests = {*raw, *outcome.turn_ids, *(item.turn_id for item in memory.evidence)}
    resting = {
        "turns": sorted(filter(is_id, rests)),  # evidence of an import may name what is no turn
        "segments": [one.data["segment_id"] for one in told if "segment_id" in one.data],
    }
    changes = (*outcome.changes, *(withdrawn(one, memory.content, scene) for one in told))
    details = {**outcome.details, "resting": resting}
    return outcome.model_copy(update={"changes": changes, "details": details})
