"""Migration: a store copied for another embedder, another policy, or a server."""

from pathlib import Path

import pytest

from souffleur.errors import NotFoundError, StoreMismatchError
from souffleur.knowledge import decay
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import ActorKind, Add, Boost, Update
from souffleur.knowledge.policy import COMPANION, EVERBOT
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.store.records import converted
from souffleur.knowledge.store.transfer import copy_store
from tests.build import NOW, memory, open_base, turn, verdict
from tests.place import located


async def fill(folder: Path) -> None:
    """A store with an active, a superseded and a reinforced memory, and a turn."""
    base = await open_base(folder)
    add = Add(reason="r", quote="", content="Ann uses Vue.")
    (made,) = await base.apply(verdict(add, who=ActorKind.HOST))
    old = made.memory_ids[0]
    change = Update(target=old, reason="r", quote="", content="Ann uses React for the web.")
    (changed,) = await base.apply(verdict(change, who=ActorKind.HOST, name=2))
    boost = Boost(target=changed.memory_ids[0], reason="r")
    await base.apply(verdict(boost, who=ActorKind.HOST, name=3))
    base.journal.record(turn("hello", "hi"))
    await base.embed_turns()
    await base.close()


async def test_everything_comes_along_but_the_vectors(tmp_path: Path) -> None:
    """With an embedder of another dimension, memories, ledger and turns are the same as before."""
    await fill(tmp_path / "old")
    steps: list[tuple[int, int]] = []
    copied = await copy_store(
        located(tmp_path / "old"),
        located(tmp_path / "new"),
        make_embedder("hash:64"),
        COMPANION,
        step=lambda done, total: steps.append((done, total)),
    )
    old = await open_base(tmp_path / "old")
    new = await open_base(tmp_path / "new", dimension=64)
    assert copied == 2
    assert steps[-1][0] == steps[-1][1]
    assert await new.list(None, states=tuple(MemoryState)) == await old.list(
        None, states=tuple(MemoryState)
    )
    assert await new.journal.entries() == await old.journal.entries()
    (said,), (copied_turn,) = await old.journal.turns(), await new.journal.turns()
    assert copied_turn == said.model_copy(update={"embedded": False})
    assert await new.sessions.window("ann", "s1") == [copied_turn]
    await new.embed_turns()
    raw = Query("ann", "hello", NOW, scope=(Scope.TURNS,))
    assert [hit.item for hit in await new.search(raw)] == await old.journal.turns()
    best, *_ = await new.search(Query("ann", "what does Ann use for the web?", NOW))
    assert best.memory.content == "Ann uses React for the web."
    await old.close()
    await new.close()


async def test_a_place_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    """Nothing is copied over another store."""
    await fill(tmp_path / "old")
    await fill(tmp_path / "new")
    with pytest.raises(StoreMismatchError, match="name an empty place"):
        await copy_store(
            located(tmp_path / "old"),
            located(tmp_path / "new"),
            make_embedder("hash:128"),
            COMPANION,
        )


async def test_nothing_to_copy_is_a_plain_error(tmp_path: Path) -> None:
    """A source that is no store is named."""
    with pytest.raises(NotFoundError, match="there is no store at"):
        await copy_store(
            located(tmp_path / "old"),
            located(tmp_path / "new"),
            make_embedder("hash:64"),
            COMPANION,
        )


def test_by_another_policy_importance_is_to_scale_and_due_anew() -> None:
    """1.5 of 3 becomes 0.5 of 1, with the new rule's grace, and is due when the new rule says."""
    before = memory(importance=1.5)
    after = converted(before, COMPANION, EVERBOT)
    assert (after.importance, after.grace_days) == (0.5, 7)
    assert (after.due_at, after.due_for) == decay.due(after, EVERBOT)
    assert converted(before, COMPANION, COMPANION) == before
