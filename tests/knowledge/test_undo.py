"""Undo: what stands in its way, and all that a turn brought."""

import pytest

from souffleur.errors import UndoError
from souffleur.knowledge.erasure import undo_turn
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind
from souffleur.knowledge.operation import Actor, ActorKind, Boost, Guard, Promote, Update
from tests.build import NOW, an_add, by_hand, turn, verdict

USER = Actor(who=ActorKind.USER)


async def test_a_promotion_stands_in_the_way_of_undo(base: KnowledgeBase) -> None:
    """What has become core since is not taken away with what made it; undone first, it is."""
    made = await by_hand(base, an_add())
    promoted = await by_hand(base, Promote(target=made.memory_ids[0], reason="r"))
    with pytest.raises(UndoError, match="changed again since"):
        await base.undo(made.id, by=USER, now=NOW, user_id=None)
    assert [memory.category for memory in await base.list("ann")] == [Category.CORE]
    await base.undo(promoted.id, by=USER, now=NOW, user_id=None)
    await base.undo(made.id, by=USER, now=NOW, user_id=None)
    assert await base.list("ann") == []


async def test_undo_leaves_the_links_that_came_later(base: KnowledgeBase) -> None:
    """Of links, only those that the entry made or removed are taken back."""
    wish = await by_hand(base, an_add("Ann wants no word of tea.", kind=Kind.BOUNDARY))
    (id,) = wish.memory_ids
    boost = await by_hand(base, Boost(target=id, reason="r"))
    first = await by_hand(base, Guard(target=id, reason="r", memories=("tea",), judged=("a",)))
    last = {"memories": ("milk",), "released": ("tea",), "judged": ("b",)}
    second = await by_hand(base, Guard(target=id, reason="r", **last))

    async def links() -> tuple[set[str], tuple[str, ...]]:
        one = await base.get(id, user_id=None)
        return set(one.guarded), one.judged

    assert await links() == ({"milk"}, ("a", "b"))
    await base.undo(boost.id, by=USER, now=NOW, user_id=None)
    assert await links() == ({"milk"}, ("a", "b"))
    await base.undo(first.id, by=USER, now=NOW, user_id=None)
    assert await links() == ({"milk"}, ("b",))
    await base.undo(second.id, by=USER, now=NOW, user_id=None)
    assert await links() == ({"tea"}, ())


async def test_all_that_a_turn_brought_is_undone_once(base: KnowledgeBase) -> None:
    """Newest first, without what was refused or taken back before; other turns' changes stay."""
    one, other = turn("I use Vue", "ok"), turn("I use Go", "ok", turn_id="2")
    made = []
    for index, (said, op) in enumerate(
        (
            (one, an_add("Ann uses Vue.", quote="use Vue")),
            (one, an_add("Ann uses Ada.", quote="use Ada")),
            (other, an_add("Ann uses Go.", quote="use Go")),
        )
    ):
        base.journal.record(said)
        made += await base.apply(verdict(op, user=said.user, name=index), turns=[said])
    change = {"reason": "r", "quote": "use Vue", "content": "Ann uses Vue daily."}
    update = Update(target=made[0].memory_ids[0], **change)
    made += await base.apply(verdict(update, user=one.user, name="later"), turns=[one])
    undone = await undo_turn(base, one, by=USER, now=NOW)
    assert [entry.undoes for entry in undone] == [made[3].id, made[0].id]
    assert [memory.content for memory in await base.list("ann")] == ["Ann uses Go."]
    assert await undo_turn(base, one, by=USER, now=NOW) == []
