"""Records that cannot be read: they hide no other, are named, and can be taken out."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from souffleur.api import Souffleur
from souffleur.errors import UnreadableError
from souffleur.knowledge import decay
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.operation import ActorKind, Add, Edit, Merge, Op, Update
from souffleur.knowledge.plan import PlanContext, plan
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.query import Query
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.store.repair import find_broken, take_out
from souffleur.parts import Parts
from souffleur.report.quality import measure
from souffleur.report.report import Status, health
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, memory, open_base, turn, verdict
from tests.command import Run, data, on_disk
from tests.stores import empty_base

BLANKS = ["", " ", "\n\t", "\u200b", "\u3164 \u2060"]


def blank(old: Memory) -> tuple[Memory, Memory]:
    """What an older version wrote for an UPDATE to white space: the new one, and the old one."""
    new = old.model_copy(update={"id": memory("x").id, "content": "", "supersedes": (old.id,)})
    gone = old.model_copy(
        update={"state": MemoryState.SUPERSEDED, "superseded_by": new.id, "revision": 2}
    )
    return new, decay.scheduled(gone, COMPANION)


@pytest.fixture
async def damaged(tmp_path: Path) -> AsyncIterator[KnowledgeBase]:
    """Ann's tea replaced by nothing, her cat beside it, a broken turn; and Bob's dog."""
    base = await empty_base(tmp_path, dimension=16)
    tea = memory("Ann likes tea.")
    new, gone = blank(tea)
    cat, dog = memory("Ann has a cat."), memory("Bob has a dog.", user_id="bob")
    for one in (new, gone, cat, dog):
        vector = (await base.embedder.embed([one.content or "x"]))[0]
        await base.memories.put([to_point(one, vector)])
    base.journal.record(turn("hello"))
    (kept,) = await base.journal.turns()
    await base.journal.collection.put(
        [Point(memory("y").id, {**kept.model_dump(mode="json"), "type": "turn", "at": "soon"})]
    )
    yield base
    await base.close()


@pytest.mark.parametrize("text", BLANKS, ids=ascii)
@pytest.mark.parametrize(
    "make",
    [
        lambda text: Add(reason="r", quote="", content=text),
        lambda text: Update(target="m1", reason="r", quote="", content=text),
        lambda text: Edit(target="m1", reason="r", content=text),
        lambda text: Merge(targets=("m1", "m2"), reason="r", content=text),
    ],
    ids=["ADD", "UPDATE", "EDIT", "MERGE"],
)
def test_no_op_can_say_nothing(make: object, text: str) -> None:
    """Whatever the op, a content that cannot be seen is refused when it is made."""
    with pytest.raises(ValueError, match="must not be blank"):
        make(text)  # type: ignore[operator]


def test_what_is_planned_is_checked() -> None:
    """A change whose memory is not valid cannot be made, however it came to be so."""
    old = memory("Ann likes tea.").model_copy(update={"confidence": 7.0})
    op: Op = Edit(target=old.id, reason="r", content="Ann likes milk.")
    with pytest.raises(ValueError, match="confidence"):
        plan(op, [old], PlanContext(verdict(op, who=ActorKind.USER), 0, COMPANION))


async def test_one_broken_record_hides_no_other(damaged: KnowledgeBase) -> None:
    """Lists, searches, reports and other users' memories are as if it were not there."""
    assert [one.content for one in await damaged.list("ann")] == ["Ann has a cat."]
    everybodys = {one.content for one in await damaged.list(None)}
    assert everybodys == {"Ann has a cat.", "Bob has a dog."}
    hits = await damaged.search(Query("ann", "cat", NOW))
    assert [hit.text for hit in hits if hit.relevant] == ["Ann has a cat."]
    assert [one.user for one in await damaged.journal.turns()] == ["hello"]
    whisper = await Souffleur(Parts(damaged, times=from_clock(lambda: NOW)), Settings()).recall(
        user_id="ann", text="my cat"
    )
    assert ("Ann has a cat." in whisper.text, whisper.error) == (True, "")
    with pytest.raises(UnreadableError, match=r"content: value_error.*souffleur store repair"):
        await damaged.get(memory("x").id, user_id="ann")


async def test_what_is_broken_is_named(damaged: KnowledgeBase) -> None:
    """The report says how many, and which command takes them out; no word of them is shown."""
    quality = await measure(damaged, NOW)
    state, findings = health(quality)
    assert state is Status.BROKEN
    assert "2 records of the store cannot be read" in findings[0]
    assert {one.id for one in quality.failures} == {memory("x").id, memory("y").id}
    assert not any("hello" in one.error for one in quality.failures)


async def test_what_is_taken_out_lies_in_a_file_and_gives_back(
    damaged: KnowledgeBase, tmp_path: Path
) -> None:
    """Both records are lines of the file, the store is well, and the tea holds again."""
    file = tmp_path / "broken.jsonl"
    restored = await take_out(damaged, await find_broken(damaged), file, now=NOW)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["collection"], one["id"]) for one in lines] == [
        ("memories", memory("x").id),
        ("journal", memory("y").id),
    ]
    assert [entry.op for entry in restored] == ["RESTORE"]
    assert await find_broken(damaged) == []
    kept = {one.content for one in await damaged.list("ann")}
    assert kept == {"Ann has a cat.", "Ann likes tea."}


async def test_nothing_is_deleted_if_the_file_cannot_be_written(
    damaged: KnowledgeBase, tmp_path: Path
) -> None:
    """A file that is there already is not overwritten, and the records stay."""
    (tmp_path / "there").write_text("precious")
    with pytest.raises(FileExistsError):
        await take_out(damaged, await find_broken(damaged), tmp_path / "there", now=NOW)
    assert len(await find_broken(damaged)) == 2


async def tea_replaced_by_nothing(folder: Path) -> None:
    """A store in which an older version replaced Ann's tea by nothing."""
    base = await open_base(folder, dimension=64)
    vector = (await base.embedder.embed(["x"]))[0]
    await base.memories.put([to_point(one, vector) for one in blank(memory("Ann likes tea."))])
    await base.close()


@on_disk
def test_the_command_repairs(run: Run, tmp_path: Path) -> None:
    """`doctor` fails, `repair` says what it would do and does it, and the tea is listed again."""
    asyncio.run(tea_replaced_by_nothing(tmp_path / "store"))
    assert run("doctor")[0] == 1
    file = tmp_path / "broken.jsonl"
    assert "1 record" in run("store", "repair", "--out", str(file), "--dry-run")[1]
    assert not file.exists()
    code, out, _ = run("store", "repair", "--out", str(file))
    assert (code, file.exists()) == (0, True)
    assert "1 record" in out
    assert "Ann likes tea." in out
    assert [one["content"] for one in data(run, "list", "--everybody")] == ["Ann likes tea."]
    assert "nothing" in run("store", "repair", "--out", str(tmp_path / "other"))[1]
