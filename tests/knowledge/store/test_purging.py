"""Purging: what was forgotten a year ago leaves no word behind; all else stays."""

from pathlib import Path

import pytest

from souffleur.errors import NotFoundError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.operation import (
    PURGED,
    ActorKind,
    Add,
    Forget,
    LedgerEntry,
    Op,
    Refusal,
    Skip,
    Update,
)
from souffleur.knowledge.store.erasing import TOMBSTONE_KEPT_FOR, find_purgeable, purge, purge_idle
from souffleur.knowledge.store.runs import run_log
from souffleur.service.rule_runs import run_purge
from souffleur.service.run import RunLimits, RunOptions
from tests.build import NOW, days, open_base, verdict

YEAR_ON = NOW + TOMBSTONE_KEPT_FOR + days(1)


async def decide(base: KnowledgeBase, *ops: Op, day: float = 0) -> list[LedgerEntry]:
    """The host decides on a day after NOW."""
    made = verdict(*ops, who=ActorKind.HOST, name=(day, ops), at=NOW + days(day))
    return await base.apply(made)


async def kept(base: KnowledgeBase, content: str) -> Memory:
    """A memory of that content."""
    (outcome,) = await decide(base, Add(reason="told", quote="", content=content))
    return outcome.changes[0].after


async def on_disk(base: KnowledgeBase, word: str) -> bool:
    """Whether the ledger or a memory holds a word."""
    entries = [entry.model_dump_json() for entry in await base.journal.entries()]
    memories = [one.model_dump_json() for one in await base.list(None, states=tuple(MemoryState))]
    return any(word in text for text in entries + memories)


async def test_a_tombstone_is_erased_after_a_year(tmp_path: Path) -> None:
    """Not a day before; earlier versions go with it, and the ledger keeps only who and when."""
    base = await open_base(tmp_path, dimension=64)
    first = await kept(base, "Ann loves Zanzibar.")
    renamed = Update(target=first.id, reason="Zanzibar!", quote="", content="Ann left Zanzibar.")
    (outcome,) = await decide(base, renamed, day=1)
    second = outcome.changes[0].after
    await decide(base, Forget(target=second.id, reason="no Zanzibar"), day=2)
    await kept(base, "Ann likes tea.")
    assert await find_purgeable(base, NOW + days(2) + TOMBSTONE_KEPT_FOR) == []
    assert (await run_purge(base, RunOptions(NOW + days(366)))).items == []
    assert await on_disk(base, "Zanzibar")

    report = await run_purge(base, RunOptions(NOW + days(368)))
    purged = {(line.memory.id, line.op) for line in report.items}
    assert purged == {(first.id, "PURGE"), (second.id, "PURGE")}
    assert not await on_disk(base, "Zanzibar")
    for gone in (first, second):
        with pytest.raises(NotFoundError):
            await base.get(gone.id, user_id=None)
    ops = [(entry.op, entry.details == PURGED) for entry in await base.journal.entries("ann")]
    assert ops == [("ADD", True), ("UPDATE", True), ("FORGET", True), ("ADD", False)]
    assert (await run_purge(base, RunOptions(NOW + days(368)))).items == []
    await base.close()


async def test_an_earlier_version_that_lives_again_stays(tmp_path: Path) -> None:
    """What was restored from the history of a purged memory is no part of it."""
    base = await open_base(tmp_path, dimension=64)
    first = await kept(base, "Ann lives in Ulm.")
    moved = Update(target=first.id, reason="moved", quote="", content="Ann lives in Bonn.")
    (outcome,) = await decide(base, moved, day=1)
    await base.undo(outcome.id, by=verdict(who=ActorKind.USER).by, now=NOW + days(2), user_id=None)
    report = await run_purge(base, RunOptions(NOW + days(400)))
    assert [line.memory.content for line in report.items] == ["Ann lives in Bonn."]
    assert [one.content for one in await base.list("ann")] == ["Ann lives in Ulm."]
    assert (await base.history(first.id, user_id=None))[0].details != PURGED
    await base.close()


async def test_a_dry_run_erases_nothing_and_a_cap_holds(tmp_path: Path) -> None:
    """What would go is told; with a cap the oldest go first and the rest waits."""
    base = await open_base(tmp_path, dimension=64)
    for name in ("tea", "milk", "rum"):
        memory = await kept(base, f"Ann likes {name}.")
        await decide(base, Forget(target=memory.id, reason="r"), day=len(name))
    await decide(base, Skip(reason="Bob told of Zanzibar"))
    dry = await run_purge(base, RunOptions(YEAR_ON + days(9), dry_run=True))
    assert (len(dry.items), await on_disk(base, "rum")) == (3, True)
    assert await on_disk(base, "Zanzibar")
    capped = await run_purge(base, RunOptions(YEAR_ON + days(9), limits=RunLimits(deletions=2)))
    assert (len(capped.items), capped.stopped) == (2, "it may erase 2")
    assert await on_disk(base, "milk")
    assert not await on_disk(base, "rum")
    await base.close()


async def test_the_words_of_what_changed_nothing_go_after_a_year(tmp_path: Path) -> None:
    """A SKIP and a refusal keep who and when; what changed something keeps its words."""
    base = await open_base(tmp_path, dimension=64)
    await decide(base, Skip(reason="Bob only told of Zanzibar"))
    await decide(base, Update(target="m9", reason="Zanzibar", quote="", content="In Zanzibar."))
    await decide(base, Add(reason="told", quote="", content="Ann likes tea."))
    for day, left in ((364, True), (366, False), (367, False)):
        await run_purge(base, RunOptions(NOW + days(day)))
        assert await on_disk(base, "Zanzibar") is left
    entries = await base.journal.entries("ann")
    assert [(entry.op, entry.refused) for entry in entries] == [
        ("SKIP", None),
        ("UPDATE", Refusal.UNKNOWN_ID),
        ("ADD", None),
    ]
    assert [entry.details == PURGED for entry in entries] == [True, True, False]
    assert entries[2].reason == "told"
    await base.close()


async def test_what_was_emptied_is_not_read_again(tmp_path: Path) -> None:
    """A purge costs what is due, and one user's purge leaves the others' words."""
    base = await open_base(tmp_path, dimension=64)
    await decide(base, Skip(reason="Zanzibar"))
    assert await purge_idle(base, YEAR_ON, user_id="bob") == 0
    assert await purge_idle(base, YEAR_ON, user_id="ann") == 1
    assert await purge_idle(base, YEAR_ON) == 0
    await base.close()


async def test_the_purge_of_one_user_is_of_that_user(tmp_path: Path) -> None:
    """It erases nobody else's memories, nor what is of all: the records of old runs."""
    base = await open_base(tmp_path, dimension=64)
    memory = await kept(base, "Ann loves Zanzibar.")
    await decide(base, Forget(target=memory.id, reason="r"))
    await run_log.keep(base.journal, run_log.RunRecord(name="decay", began=NOW, ended=NOW))
    for user_id, left in (("bob", True), ("ann", False)):
        report = await run_purge(base, RunOptions(YEAR_ON, user_id=user_id))
        assert len(report.items) == (not left)
        assert await on_disk(base, "Zanzibar") is left
        assert len(await run_log.latest(base.journal, limit=9)) == 1
    await run_purge(base, RunOptions(YEAR_ON))
    assert await run_log.latest(base.journal, limit=9) == []
    await base.close()


async def test_only_what_is_forgotten_is_purged(tmp_path: Path) -> None:
    """An active memory is refused, whoever asks."""
    base = await open_base(tmp_path, dimension=64)
    memory = await kept(base, "Ann likes tea.")
    with pytest.raises(ValueError, match="only what is forgotten is purged"):
        await purge(base, memory)
    await base.close()
