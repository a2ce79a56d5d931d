"""The writer: one verdict at a time, once, whatever dies or fails meanwhile."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from souffleur.errors import EmbedderError, StoreError
from souffleur.knowledge.erasure import undo_turn
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Boost,
    Delete,
    Op,
    Refusal,
    Said,
    Skip,
    Update,
)
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.engine.collection import Collection, Point
from souffleur.knowledge.store.opening import open_knowledge
from souffleur.knowledge.store.records import put_records
from souffleur.knowledge.turn import verdict_id
from tests.build import NOW, Sulking, an_add, by_hand, keep, turn, verdict, words_of
from tests.counted import Tripped
from tests.place import SERVER, at_once, in_folder, located


async def test_a_verdict_is_paid_for_once(base: KnowledgeBase) -> None:
    """What it took is noted at its first op, so that the entries add up to it."""
    ops = an_add(quote="green tea"), an_add("Ann likes cats.", quote="cats")
    cost = {"calls": 1.0, "input_tokens": 900.0}
    outcomes = await base.apply(verdict(*ops, user="green tea, cats", cost=cost))
    assert [outcome.cost for outcome in outcomes] == [cost, {}]


async def test_what_is_asked_for_is_no_part_of_the_limit(base: KnowledgeBase) -> None:
    """After three deletions that were asked for, three more may be wrong; a fourth is too many."""
    quotes = ["forget the tea"] * 3 + ["I never liked rum"] * 4
    said = [Said(turn_id=q, speaker=Speaker.USER, text=q, at=NOW) for q in dict.fromkeys(quotes)]
    ops = []
    for index, quote in enumerate(quotes):
        one = await keep(base, f"Ann drinks rum {index}.")
        ops.append(Delete(target=one.id, reason="r", quote=quote))
    outcomes = await base.apply(verdict(*ops, said=said))
    assert [one.refused for one in outcomes] == [*[None] * 6, Refusal.TOO_MANY]


async def test_each_turn_of_a_call_has_its_own_limit(base: KnowledgeBase) -> None:
    """Two turns bring eight ops and three deletions each, whatever the other brings."""
    texts = "I like tea, never rum", "I like gin, never ale"
    said = [Said(turn_id=one, speaker=Speaker.USER, text=one, at=NOW) for one in texts]
    ops: list[Op] = []
    for thing, other in (("tea", "rum"), ("gin", "ale")):
        known = [await keep(base, f"Ann drinks {other} {index}.") for index in range(4)]
        ops += [Delete(target=one.id, reason="r", quote=f"never {other}") for one in known]
        ops += [an_add(f"Ann likes {thing} {'very ' * n}much.", quote=thing) for n in range(6)]
    outcomes = await base.apply(verdict(*ops, said=said))
    refused = [one.refused for one in outcomes]
    allowed = [None, None, None, Refusal.TOO_MANY, None, None, None, None]
    assert refused == [*allowed, Refusal.TOO_MANY, Refusal.TOO_MANY] * 2


async def test_what_was_used_and_changed_counts_for_what_holds_now(base: KnowledgeBase) -> None:
    """After BOOST and UPDATE of one memory the new one has the use, and both can be undone."""
    home = await keep(base, "Ann lives in Lyon.")
    new = Update(target=home.id, reason="moved", quote="to Bern", content="Ann lives in Bern.")
    moved = base.journal.record(turn("I moved to Bern"))
    assert moved is not None
    both = verdict(Boost(target=home.id, reason="used"), new, said=moved.said())
    outcomes = await base.apply(both, turns=[moved])
    assert [outcome.refused for outcome in outcomes] == [None, None]
    (now,) = await base.list("ann")
    assert (now.content, now.uses) == ("Ann lives in Bern.", 1)
    await undo_turn(base, moved, by=Actor(who=ActorKind.HOST), now=NOW)
    assert [(one.content, one.uses) for one in await base.list("ann")] == [(home.content, 0)]


async def test_a_secret_told_in_a_story_is_nowhere_once_it_is_judged(base: KnowledgeBase) -> None:
    """Hidden words are masked in the turn, in all that the verdict writes, and for searches."""
    told = base.journal.record(turn("So I punched in Tulip 7 at the gate. I like tea.", "Tulip 7!"))
    assert told is not None
    await base.embed_turns("ann")
    ops = an_add("Ann's gate opens with Tulip 7.", quote="punched in Tulip 7", reason="tulip 7")
    judged = verdict(ops, said=told.said(), hidden=["tulip 7", "roses", "Ann"], reason="Tulip 7")
    (outcome,) = await base.apply(judged, turns=[told])
    assert outcome.refused is None
    after = await base.journal.turn(told.id)
    assert after.user == "So I punched in [secret] at the gate. I like tea."
    assert (after.assistant, after.state, after.embedded) == ("[secret]!", "judged", False)
    (kept,) = await base.list("ann")
    assert kept.evidence[0].quote == "punched in [secret]"
    assert "ulip" not in await words_of(base)


class Full:
    """A collection that takes changes of what it has, and nothing new."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    async def put(self, points: Sequence[Point]) -> None:
        raise StoreError("the disk is full")


async def test_a_crash_leaves_no_judged_turn_with_a_secret(base: KnowledgeBase) -> None:
    """The words are masked before the ledger has the verdict; then the turn is judged anew."""
    told = base.journal.record(turn("the word is tulip"))
    assert told is not None
    collection = base.journal.collection
    base.journal.collection = Full(collection)
    skip = verdict(Skip(reason="a story"), said=told.said(), hidden=["tulip"])
    with pytest.raises(StoreError):
        await base.apply(skip, turns=[told])
    base.journal.collection = collection
    after = await base.journal.turn(told.id)
    assert (after.user, after.state) == ("the word is [secret]", "pending")


async def test_what_another_knows_refuses_nothing(base: KnowledgeBase) -> None:
    """Neither as a duplicate nor as an echo, nor is it shown as nearly the same."""
    texts = ("Ann likes green tea and white cats.", "Ann likes green tea.")
    theirs = await base.apply(verdict(*map(an_add, texts), who=ActorKind.HOST, user_id="bob"))
    assert await base.near_duplicates(verdict(an_add("Ann likes the green tea"))) == {}
    whispered = frozenset(outcome.memory_ids[0] for outcome in theirs)
    ops = [an_add(text, quote="tea") for text in ("Ann likes green tea.", "Ann likes white cats.")]
    outcomes = await base.apply(verdict(*ops, user="tea", injected=whispered, name=2))
    assert [outcome.refused for outcome in outcomes] == [None, None]


@pytest.mark.parametrize(("judged", "state"), [(0, "pending"), (1, "judged")])
async def test_after_a_crash_a_reply_is_judged_by_its_own_verdict(
    base: KnowledgeBase, judged: int, state: str
) -> None:
    """A reply that was replaced waits though the first was judged, and not once it was itself."""
    replies = [base.journal.record(turn("tea or milk", reply)) for reply in ("tea!", "milk!")]
    one = replies[judged]
    assert one is not None
    judged_so = verdict(an_add(quote="tea"), user=one.user, id=verdict_id([one]))
    await base.journal.write(await base.writer.plan(judged_so, [one]))
    assert await base.recover() == 1
    assert (await base.journal.turn(one.id)).state == state


@at_once
async def test_what_was_done_before_a_crash_is_not_done_again(base: KnowledgeBase) -> None:
    """Where only the note is missing that it was, later changes of the memory stay."""
    outcome = await by_hand(base, an_add())
    (memory_id,) = outcome.memory_ids
    await base.note_recalled([memory_id])
    await by_hand(base, Boost(target=memory_id, reason="r"))
    before = await base.get(memory_id, user_id=None)
    await base.journal.collection.merge_payload([outcome.id], {"applied": False})
    assert await base.recover() == 1
    assert await base.get(memory_id, user_id=None) == before
    assert (before.uses, before.recalls) == (1, 1)


async def test_what_was_begun_is_finished_in_order(base: KnowledgeBase) -> None:
    """Verdict by verdict as they were written down, and op by op."""
    written = []
    for name in range(5):
        ops = [an_add(f"Ann likes {drink} {name}.") for drink in ("tea", "milk", "rum")]
        planned = await base.writer.plan(verdict(*ops, who=ActorKind.HOST, name=name), [])
        await base.journal.write(planned)
        written.append(planned)
    assert await base.journal.unsettled() == written
    assert await base.recover() == 5
    assert len(await base.list("ann")) == 15


@in_folder
async def test_whether_all_is_applied_is_read_once(base: KnowledgeBase) -> None:
    """Until a verdict is written that is not applied, be it here or by an import."""
    await by_hand(base, an_add())
    tripped = Tripped(base.journal.collection)
    base.journal.collection = tripped
    other = await by_hand(base, an_add("Ann likes cats."))
    tripped.trips = 0
    assert await base.journal.unsettled("ann") == []
    assert tripped.trips == 0
    third = await base.writer.plan(verdict(an_add("Ann swims."), who=ActorKind.HOST, name=3), [])
    await base.journal.write(third)
    assert await base.journal.unsettled("ann") == [third]
    assert await base.recover("ann") == 1
    assert await base.journal.unsettled("ann") == []
    (point,) = await tripped.get([other.id])
    await put_records(base, [Point(point.id, {**point.payload, "applied": False})])
    assert await base.recover("ann") == 1
    assert await base.recover("ann") == 0


async def test_without_the_embedder_nothing_is_written_down(tmp_path: Path) -> None:
    """A verdict that cannot be embedded leaves no entry, and its turn waits to be judged."""
    embeddings = Sulking()
    embedder = Embedder(embeddings, "sulking", dimension=64, floor=0.2)
    base = await open_knowledge(located(tmp_path), embedder, COMPANION)
    one = turn("I like green tea", "noted")
    base.journal.record(one)
    judged_so = verdict(an_add(quote="green tea"), user=one.user)
    embeddings.well = False
    with pytest.raises(EmbedderError):
        await base.apply(judged_so, turns=[one])
    assert await base.journal.entries("ann") == []
    assert (await base.journal.turn(one.id)).state == "pending"
    embeddings.well = True
    (outcome,) = await base.apply(judged_so, turns=[one])
    assert [memory.id for memory in await base.list("ann")] == [*outcome.memory_ids]
    await base.close()


async def test_the_journal_is_asked_once_before_a_verdict_is_written(base: KnowledgeBase) -> None:
    """What is written of it, its turns and what the user has chosen are one question."""
    said = base.journal.record(turn("I like tea.", "ok"))
    assert said
    await by_hand(base, an_add())
    tripped = base.journal.collection = Tripped(base.journal.collection)
    judged = verdict(an_add("Ann likes tea.", quote="tea"), user="I like tea.")
    assert (await base.writer.apply(judged, [said]))[0].refused is None
    assert tripped.trips == (2 if SERVER else 1)  # and the lease, which names open verdicts
