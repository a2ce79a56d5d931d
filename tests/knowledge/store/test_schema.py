"""Stores that an older version wrote: what is brought up, how often, and what is refused."""

from contextlib import suppress
from pathlib import Path

import pytest

from souffleur.errors import StoreMismatchError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.store import schema
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.schema import POINTS_PER_PAGE, SCHEMA, STEPS, bring_up
from souffleur.knowledge.turn import TurnState
from tests.build import NOW, days, fill, memory, open_base, turn
from tests.faults.teller import Deadly, Dying, Gone

MANY = [memory(f"Ann likes thing {place}.", importance=2.5) for place in range(300)]


async def make_old(base: KnowledgeBase) -> None:
    """Memories with other due times, turns set aside in an outage, and the metadata of schema 1."""
    await fill(base, *(one.model_copy(update=wrong()) for one in MANY))
    for place, error in enumerate(("EndpointError: 401", "AnswerError: no JSON")):
        base.journal.record(turn(f"turn {place}", turn_id=str(place)))
        (*_, latest) = await base.journal.turns()
        await base.journal.mark([latest], state=TurnState.FAILED, tries=3, error=error)
    old = {"schema": 1, "due_rules": 1}
    await base.journal.note_meta(old)


def wrong() -> dict[str, object]:
    """A due time by former rules."""
    return {"due_at": NOW + days(99), "due_for": Due.REVIEW}


async def right(base: KnowledgeBase) -> bool:
    """Whether all is as this version writes it."""
    kept: list[Memory] = await base.list("ann")
    turns = [(one.state, one.tries) for one in await base.journal.turns()]
    expected = [(TurnState.PENDING, 0), (TurnState.FAILED, 3)]
    both = sorted(kept, key=key) == sorted(MANY, key=key) and turns == expected
    meta = await base.journal.meta() or {}
    return both and meta["schema"] == SCHEMA and not {"due_rules", "bringing_up"} & meta.keys()


def key(one: Memory) -> str:
    return one.id


async def test_an_older_store_is_brought_up_once(tmp_path: Path) -> None:
    """It is read as it is at once; each step changes what it must, and no second time."""
    base = await open_base(tmp_path, dimension=64)
    await make_old(base)
    await base.close()
    base = await open_base(tmp_path, dimension=64)
    assert len(await base.list("ann")) == len(MANY)
    told: list[tuple[int, int]] = []
    done = await base.bring_up(lambda *step: told.append(step))
    assert [one.name for one in done] == [step.name for step in STEPS]
    assert [one.changed for one in done] == [300, 1, 0]
    assert told[:3] == [(128, 300), (256, 300), (300, 300)]
    assert await right(base)
    assert await base.bring_up() == []
    await base.close()


async def test_it_goes_on_where_it_was_killed(base: KnowledgeBase) -> None:
    """Killed before any of its writes, it ends as it would have, and begins no page twice."""
    await make_old(base)
    for writes in (0, 5, POINTS_PER_PAGE, 1, 40, 60, 0, -1):
        count, journal = Dying(writes), Journal(base.journal.collection, last_seq=0)
        journal.collection = Deadly(journal.collection, count)
        told: list[tuple[int, int]] = []
        with suppress(Gone):
            memories = Deadly(base.memories, count)
            await bring_up(
                memories, journal, base.policy, progress=lambda *step, to=told: to.append(step)
            )
    assert await right(base)
    assert told[0] == (2 * POINTS_PER_PAGE, len(MANY))


async def test_a_new_store_lacks_nothing(base: KnowledgeBase) -> None:
    """It is made by this version's schema."""
    assert (await base.journal.meta() or {})["schema"] == SCHEMA
    assert await base.bring_up() == []


@pytest.mark.parametrize("found", [SCHEMA + 1, "2.0", 0])
async def test_a_newer_store_is_refused(tmp_path: Path, found: object) -> None:
    """It is not opened, the error says why, and nothing in it is changed."""
    base = await open_base(tmp_path, dimension=64)
    newer = await base.journal.note_meta({"schema": found, "something": "new"})
    await base.close()
    with pytest.raises(StoreMismatchError, match="newer version of Souffleur"):
        await open_base(tmp_path, dimension=64)
    assert newer["something"] == "new"


def test_steps_are_in_order() -> None:
    """Each leads to the next schema, under a name of its own."""
    assert [step.to for step in STEPS] == list(range(2, SCHEMA + 1))
    assert len({step.name for step in STEPS}) == len(STEPS)
    assert schema.is_current({"schema": SCHEMA})
