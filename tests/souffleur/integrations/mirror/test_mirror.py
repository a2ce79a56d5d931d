"""The mirror: what a person writes into the files happens to the memories, and the other way."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from souffleur.api import Souffleur
from souffleur.errors import FileError
from souffleur.integrations.mirror.files import folder_name
from souffleur.integrations.mirror.mirror import Mirror, Synced
from souffleur.knowledge.memory import Kind, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Archive, Verdict
from souffleur.parts import Parts, open_store
from souffleur.settings import Settings
from tests.build import NOW
from tests.shared import until
from tests.souffleur.integrations.mirror.test_markdown import CONTENTS

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A memory without a model."""
    folder = tmp_path_factory.mktemp("store")
    async with Souffleur.open(path=folder, embedder="hash:64", clock=lambda: NOW) as opened:
        yield opened


Make = Callable[[str], Mirror]


@pytest.fixture
def mirror(memory: Souffleur, tmp_path: Path) -> Make:
    """Makes the mirror of a user in the test's folder."""
    policy = memory.knowledge.policy
    return lambda user: Mirror(memory, tmp_path, user_id=user, policy=policy)


def change(file: Path, old: str, new: str) -> None:
    """Edit a file by hand."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def files_in(folder: Path) -> list[Path]:
    """All files below a folder."""
    return [one for one in folder.rglob("*") if one.is_file()]


def is_silent(synced: Synced) -> bool:
    """Whether a synchronisation changed neither files nor memories."""
    return replace(synced, rejected=(), remarks=()) == Synced()


async def contents(memory: Souffleur, user: str) -> list[str]:
    """What is known of a user."""
    return [one.content for one in await memory.list(user_id=user)]


async def come_to_be(memory: Souffleur, user: str, told: list[str]) -> None:
    """Wait until these are the memories of a user."""
    for _ in range(1000):
        if await contents(memory, user) == told:
            break
        await asyncio.sleep(0.02)
    assert await contents(memory, user) == told


class Eager:
    """A memory whose person edits a file, once, as soon as it is there, while its writer works."""

    def __init__(self, memory: Souffleur, file: Path, old: str, new: str) -> None:
        self._memory, self._file, self._words, self._done = memory, file, (old, new), False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    async def list(self, **asked: Any) -> "Sequence[Memory]":
        """Read, after the edit."""
        if not self._done and self._file.exists():
            change(self._file, *self._words)
            self._done = True
        return await self._memory.list(**asked)


async def test_hand_edits_become_changes(memory: Souffleur, mirror: Make, tmp_path: Path) -> None:
    """Other words, a new entry and a missing one are an EDIT, an ADD and a FORGET by the user."""
    for line in ("Ann likes tea.", "Ann has a dog.", "Ann lives in Oslo."):
        await memory.remember(line, user_id="ann")
    file, one = tmp_path / "MEMORY.md", mirror("ann")
    assert (await one.sync()).written == ("MEMORY.md", "LEARNINGS.md")
    assert is_silent(await one.sync())
    change(file, "Ann likes tea.", "Ann likes green tea.\nWith milk.")
    text = file.read_text("utf-8")
    before = {m.content: m.id for m in await memory.list(user_id="ann")}
    lines = text.replace("Ann has a dog.", "").split("\n")
    lines = [line for line in lines if before["Ann has a dog."] not in line]
    lines.insert(lines.index("## Archived"), "### [new] preference\nAnn loves rain.\n")
    file.write_text("\n".join(lines), "utf-8")
    done = await one.sync()
    assert (done.added, done.edited, done.removed, done.rejected) == (1, 1, 1, ())
    told = ["Ann likes green tea.\nWith milk.", "Ann lives in Oslo.", "Ann loves rain."]
    assert sorted(await contents(memory, "ann")) == told
    entries = [one.entry for one in await memory.ledger(user_id="ann")]
    assert [(e.op, e.by.who) for e in entries[3:]] == [
        ("FORGET", "user"),
        ("EDIT", "user"),
        ("ADD", "user"),
    ]
    assert "Ann loves rain." in (tmp_path / "MEMORY.md.bak").read_text("utf-8")
    await memory.undo(entries[3].id, user_id="ann")
    await one.sync()
    assert "Ann has a dog." in file.read_text("utf-8")
    assert is_silent(await one.sync())


async def test_know_how_has_a_file_of_its_own(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """LEARNINGS.md has the skills, MEMORY.md the rest."""
    await memory.record_skill("Release", ["test", "tag"], user_id="bob")
    await memory.remember("Bob likes tea.", user_id="bob")
    await mirror("bob").sync()
    learnings = (tmp_path / "LEARNINGS.md").read_text("utf-8")
    assert "Release: 1. test 2. tag" in learnings
    assert "Release" not in (tmp_path / "MEMORY.md").read_text("utf-8")
    assert "Bob likes tea." not in learnings


async def test_what_cannot_be_taken_over_stays_in_the_file(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """A broken entry, a secret and a conflict are rejected and kept; once corrected, they count."""
    await memory.remember("Cid likes tea.", user_id="cid")
    (known,) = await memory.list(user_id="cid")
    file, one = tmp_path / "MEMORY.md", mirror("cid")
    await one.sync()
    change(file, "Cid likes tea.", "Cid likes rum.")
    change(
        file, "## Archived", f"### hobby\nCid sails.\n\n### fact\nMy key is {KEY}\n\n## Archived"
    )
    await memory.edit(known.id, "Cid likes milk.", user_id="cid")
    done = await one.sync()
    assert (done.added, done.edited, len(done.rejected)) == (0, 0, 3)
    assert await contents(memory, "cid") == ["Cid likes milk."]
    for kept in ("Cid likes rum.", "Cid sails.", KEY, "## Not taken over", "Cid likes milk."):
        assert kept in file.read_text("utf-8")
    first = file.read_text("utf-8")
    await one.sync()
    assert file.read_text("utf-8") == first
    change(file, "### hobby", "### pattern")
    change(file, "conflict fact", "fact")
    done = await one.sync()
    assert (done.added, len(done.rejected)) == (2, 1)
    assert sorted(await contents(memory, "cid")) == [
        "Cid likes milk.",
        "Cid likes rum.",
        "Cid sails.",
    ]


async def test_a_file_that_lost_most_of_it_forgets_nothing(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """It is an error that says what to do; a file that is gone or empty is written anew."""
    for number in range(8):
        await memory.remember(f"Dan owns boat number {number * 37}.", user_id="dan")
    file, one = tmp_path / "MEMORY.md", mirror("dan")
    await one.sync()
    whole = file.read_text("utf-8")
    file.write_text(whole[: len(whole) // 8], "utf-8")
    with pytest.raises(FileError, match=r"entries are gone from MEMORY.md.*--removals"):
        await one.sync()
    assert len(await memory.list(user_id="dan")) == 8
    for empty in (lambda: file.unlink(), lambda: file.write_text("")):
        empty()
        assert (await one.sync()).removed == 0
        assert file.read_text("utf-8") == whole
    file.write_text(whole[: whole.index("###")], "utf-8")
    assert (await one.sync(removals=True)).removed == 8


async def test_archived_ones_come_back_by_hand(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """An entry moved to the active ones is restored; one moved to the archive gets a remark."""
    await memory.remember("Eli likes tea.", user_id="eli")
    await memory.remember("Eli has a horse.", user_id="eli")
    known = {one.content: one.id for one in await memory.list(user_id="eli")}
    verdict = Verdict(
        id="archived",
        user_id="eli",
        by=Actor(who=ActorKind.SCHEDULE),
        at=NOW,
        ops=(Archive(target=known["Eli likes tea."], reason="old"),),
    )
    await memory.knowledge.apply(verdict)
    file, one = tmp_path / "MEMORY.md", mirror("eli")
    await one.sync()
    text = file.read_text("utf-8")
    assert text.index("## Archived") < text.index("Eli likes tea.")
    head = text[: text.index("## Active")]
    moved = text[text.index("### ", text.index("## Archived")) :]
    active = text[text.index("### ") : text.index("## Archived")]
    file.write_text(f"{head}## Active\n\n{moved}\n## Archived\n\n{active}", "utf-8")
    done = await one.sync()
    assert (done.restored, done.removed) == (1, 0)
    assert "moved to Archived stays active" in done.remarks[0]
    assert {m.id for m in await memory.list(user_id="eli")} == set(known.values())


async def test_a_folder_is_one_users(memory: Souffleur, mirror: Make) -> None:
    """Another user's mirror there is refused, and nothing is taken over or written."""
    await memory.remember("Fay likes tea.", user_id="fay")
    await mirror("fay").sync()
    with pytest.raises(FileError, match="mirrors the user 'fay', not 'gus'"):
        await mirror("gus").sync()
    assert await memory.list(user_id="gus") == []


async def test_what_is_erased_is_in_no_copy(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """After erasing a user neither the files nor their copies have a word of it."""
    await memory.remember("Hal owns a yacht.", user_id="hal")
    one = mirror("hal")
    await one.sync()
    await memory.remember("Hal owns a plane.", user_id="hal")
    await one.sync()
    await memory.erase_user(user_id="hal")
    await one.sync()
    assert [one for one in files_in(tmp_path) if b"Hal owns" in one.read_bytes()] == []


async def test_another_store_empties_no_file(tmp_path: Path) -> None:
    """A store without the memories of the files changes nothing, and the error gives advice.

    Without their ids, the entries are taken over as new memories; with `removals`, they go.
    """
    file = tmp_path / "notes" / "MEMORY.md"
    for number, path in enumerate((tmp_path / "first", tmp_path / "second")):
        async with Souffleur.open(path=path, embedder="hash:64", clock=lambda: NOW) as opened:
            one = Mirror(opened, file.parent, user_id="ned", policy=opened.knowledge.policy)
            if number == 0:
                await opened.remember("Ned keeps bees.", user_id="ned")
                await one.sync()
                change(file, "bees.", "bees in Oslo.")
                await one.sync()
                continue
            before = {one.name: one.read_bytes() for one in files_in(file.parent)}
            with pytest.raises(FileError, match=r"has none of the 1 memories .*--removals"):
                await one.sync()
            assert {one.name: one.read_bytes() for one in files_in(file.parent)} == before
            text = file.read_text("utf-8")
            file.write_text(re.sub(r"(?m)^(###.*) <!--.*-->$", r"\1", text), "utf-8")
            (file.parent / ".mirror.json").unlink()
            assert (await one.sync()).added == 1
            assert await contents(opened, "ned") == ["Ned keeps bees in Oslo."]
            file.write_text(text, "utf-8")
            other = Mirror(opened, file.parent, user_id="ned", policy=opened.knowledge.policy)
            assert (await other.sync(removals=True)).removed == 1
            assert "Oslo" not in file.read_text("utf-8")


async def test_what_comes_from_elsewhere_stays_in_the_file(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """An entry copied from another user's file is rejected; on request, it is added."""
    file, one = tmp_path / "MEMORY.md", mirror("liv")
    await memory.remember("Max fears spiders.", user_id="max")
    theirs = Mirror(memory, tmp_path / "max", user_id="max", policy=memory.knowledge.policy)
    await theirs.sync()
    await memory.remember("Liv likes tea.", user_id="liv")
    await one.sync()
    copied = (tmp_path / "max" / "MEMORY.md").read_text("utf-8").split("## Active\n")[1]
    change(file, "## Archived", copied.split("## Archived")[0] + "## Archived")
    for _ in range(2):
        done = await one.sync()
        assert (done.added, len(done.rejected)) == (0, 1)
        assert "no memory has its id" in done.rejected[0]
        assert "Max fears spiders." in file.read_text("utf-8")
    change(file, "] unknown fact", "] fact")
    assert (await one.sync()).added == 1
    assert sorted(await contents(memory, "liv")) == ["Liv likes tea.", "Max fears spiders."]
    assert is_silent(await one.sync())


async def test_a_merge_that_is_not_finished_changes_nothing(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """Markers of a conflict are an error that names the line; a memory may have such lines."""
    marked = "Noa's file said:\n<<<<<<< HEAD\n=======\n>>>>>>> other"
    await memory.remember(marked, user_id="noa")
    file, one = tmp_path / "MEMORY.md", mirror("noa")
    await one.sync()
    assert is_silent(await one.sync())
    change(file, "Noa's file", "<<<<<<< HEAD\nNoa's file")
    before = file.read_bytes()
    with pytest.raises(FileError, match=r"marker of a merge conflict in line 10: decide"):
        await one.sync()
    assert file.read_bytes() == before
    assert await contents(memory, "noa") == [marked]


async def test_erasing_a_user_deletes_the_files(tmp_path: Path) -> None:
    """Whether the host runs or not, nothing of the user's is left; other files stay."""
    settings = Settings(path=tmp_path / "store", mirror=tmp_path / "notes", embedder="hash:64")
    async with Souffleur.open(settings.model_copy(update={"mirror": None})) as host:
        for user in ("ola", "per", "tor"):
            await host.remember(f"{user} likes tea.", user_id=user)
    async with Souffleur.open(settings, clock=lambda: NOW) as host:
        for user in ("ola", "per", "tor"):
            await until((tmp_path / "notes" / user / ".mirror.json").exists)
        (tmp_path / "notes" / "per" / "own.txt").write_text("mine", "utf-8")
        gone = await host.erase_user(user_id="ola")
        assert not (tmp_path / "notes" / "ola").exists()
        assert gone.counts["memory"] == 1
    alone = Souffleur(Parts(await open_store(settings)), settings)
    await alone.erase_user(user_id="per")
    await alone.close()
    left = sorted(str(one.relative_to(tmp_path / "notes")) for one in files_in(tmp_path / "notes"))
    assert left[0] == "per/own.txt"
    assert {one.split("/")[0] for one in left[1:]} == {"tor"}


async def test_what_is_erased_is_gone_from_the_files_at_once(tmp_path: Path) -> None:
    """Whether the host runs or not; what was written by hand is taken over first."""
    settings = Settings(path=tmp_path / "store", mirror=tmp_path / "notes", embedder="hash:64")
    async with Souffleur.open(settings, clock=lambda: NOW) as host:
        for text in ("Uma owns a yacht.", "Uma met Ben in Oslo.", "Uma bakes bread."):
            await host.remember(text, user_id="uma")
        file = tmp_path / "notes" / "uma" / "MEMORY.md"
        await until(lambda: file.exists() and "bakes" in file.read_text("utf-8"))
        (yacht,) = [one for one in await host.list(user_id="uma") if "yacht" in one.content]
        await host.erase_memory(yacht.id, user_id="uma")
        assert [one for one in files_in(tmp_path / "notes") if b"yacht" in one.read_bytes()] == []
    alone = Souffleur(Parts(await open_store(settings)), settings)
    change(file, "Uma bakes bread.", "Uma bakes rolls.")
    preview = await alone.preview_topic("Ben", user_id="uma")
    await alone.forget_topic("Ben", user_id="uma", ids=preview.ids)
    assert [one for one in files_in(tmp_path / "notes") if b"Oslo" in one.read_bytes()] == []
    assert await contents(alone, "uma") == ["Uma bakes rolls."]
    (last,) = await alone.list(user_id="uma")
    change(file, "## Archived", "<<<<<<< HEAD")
    gone = await alone.erase_memory(last.id, user_id="uma")
    assert "merge conflict" in gone.remarks[-1]
    (vic,) = (await alone.remember("Vic likes tea.", user_id="vic"))[0].memory_ids
    await alone.erase_memory(vic, user_id="vic")
    assert not (tmp_path / "notes" / "vic").exists()
    await alone.close()


async def test_erased_words_of_a_memory_that_stays_are_in_no_copy(tmp_path: Path) -> None:
    """The file as it was before an edit goes, too, when the edited words are erased."""
    settings = Settings(path=tmp_path / "store", mirror=tmp_path / "notes", embedder="hash:64")
    file = tmp_path / "notes" / "wim" / "MEMORY.md"
    async with Souffleur.open(settings, clock=lambda: NOW) as host:
        (id,) = (await host.remember("Wim met Ben in Oslo.", user_id="wim"))[0].memory_ids
        await until(lambda: file.exists() and "Oslo" in file.read_text("utf-8"))
        await host.edit(id, "Wim likes travel.", user_id="wim")
        await until(lambda: "travel" in file.read_text("utf-8"))
        assert "Oslo" in file.with_name("MEMORY.md.bak").read_text("utf-8")
        preview = await host.preview_topic("Ben", user_id="wim")
        await host.forget_topic("Ben", user_id="wim", ids=preview.ids)
        assert [one for one in files_in(file.parent) if b"Oslo" in one.read_bytes()] == []
        assert await contents(host, "wim") == ["Wim likes travel."]


async def test_a_heading_with_a_word_that_is_no_kind_forgets_nothing(
    memory: Souffleur, mirror: Make, tmp_path: Path
) -> None:
    """The heading is written as it is in the store, and changed words below it are taken over."""
    file, one = tmp_path / "MEMORY.md", mirror("xia")
    await memory.remember("Xia likes tea.", user_id="xia", kind=Kind.PREFERENCE)
    await one.sync()
    before = file.read_text("utf-8")
    change(file, "] preference |", "] taste |")
    synced = await one.sync()
    assert (synced.removed, synced.rejected) == (0, ())
    assert file.read_text("utf-8") == before
    change(file, "] preference |", "] |")
    change(file, "Xia likes tea.", "Xia likes cocoa.")
    assert (await one.sync()).edited == 1
    (left,) = await memory.list(user_id="xia", state=None)
    assert (left.content, left.kind) == ("Xia likes cocoa.", Kind.PREFERENCE)


@pytest.mark.parametrize("level", ["##", "####", "   ###"])
async def test_a_heading_of_another_level_is_still_that_of_its_entry(
    memory: Souffleur, mirror: Make, tmp_path: Path, level: str
) -> None:
    """Its entry is not taken for more words of the one above it."""
    file, user = tmp_path / "MEMORY.md", f"yan{len(level)}"
    for text in ("Yan likes tea.", "Yan bakes bread."):
        await memory.remember(text, user_id=user)
    one = mirror(user)
    await one.sync()
    before, told = file.read_text("utf-8"), await contents(memory, user)
    file.write_text(before.replace("### [", f"{level} ["), "utf-8")
    synced = await one.sync()
    assert (synced.removed, synced.edited, synced.rejected) == (0, 0, ())
    assert (file.read_text("utf-8"), await contents(memory, user)) == (before, told)


async def test_both_sides_are_watched(memory: Souffleur, mirror: Make, tmp_path: Path) -> None:
    """A change of either side shows on the other within a moment."""
    file = tmp_path / "MEMORY.md"

    watching = asyncio.create_task(mirror("ida").watch(0.02))
    await memory.remember("Ida likes tea.", user_id="ida")
    await until(lambda: file.exists() and "Ida likes tea." in file.read_text("utf-8"))
    change(file, "Ida likes tea.", "Ida likes cocoa.")
    await come_to_be(memory, "ida", ["Ida likes cocoa."])
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


async def test_an_edit_made_while_the_files_are_written_is_taken_over(
    memory: Souffleur, tmp_path: Path
) -> None:
    """An edit by hand is seen although the mirror has not ended writing yet."""
    eager = Eager(memory, tmp_path / "MEMORY.md", "Una likes tea.", "Una likes cocoa.")
    watched = Mirror(eager, tmp_path, user_id="una", policy=memory.knowledge.policy)
    await memory.remember("Una likes tea.", user_id="una")
    watching = asyncio.create_task(watched.watch(0.01))
    await come_to_be(memory, "una", ["Una likes cocoa."])
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_a_host_keeps_a_mirror_of_everybody(tmp_path: Path) -> None:
    """With the setting, each user has files in a folder of their own."""
    chosen = Settings(path=tmp_path / "store", embedder="hash:64", mirror=tmp_path / "mirror")
    async with Souffleur.open(chosen) as memory:
        await memory.remember("Jo likes tea.", user_id="jo")
        await memory.remember("Someone likes rum.", user_id="../JO")
    async with Souffleur.open(chosen) as memory:
        await until(lambda: len(list((tmp_path / "mirror").glob("*/MEMORY.md"))) == 2)
    assert {one.parent.name for one in files_in(tmp_path / "mirror")} == {
        "jo",
        folder_name("../JO"),
    }
    assert "Jo likes tea." in (tmp_path / "mirror" / "jo" / "MEMORY.md").read_text("utf-8")


@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(CONTENTS, st.sampled_from(Kind)), max_size=5), st.uuids().map(str))
async def test_there_and_back_changes_nothing(
    memory: Souffleur,
    tmp_path_factory: pytest.TempPathFactory,
    told: list[tuple[str, Kind]],
    user: str,
) -> None:
    """Whatever memories say, reading the files back is no change of any of them."""
    for content, kind in told:
        await memory.remember(content, user_id=user, kind=kind)
    before = await memory.list(user_id=user, state=None)
    folder = tmp_path_factory.mktemp("mirror")
    one = Mirror(memory, folder, user_id=user, policy=memory.knowledge.policy)
    await one.sync()
    again = await one.sync()
    assert (is_silent(again), again.rejected) == (True, ())
    (folder / ".mirror.json").unlink()
    assert is_silent(await one.sync())
    assert await memory.list(user_id=user, state=None) == before
    shown = [m for m in before if m.state is MemoryState.ACTIVE]
    words = (folder / "MEMORY.md").read_text("utf-8") + (folder / "LEARNINGS.md").read_text("utf-8")
    assert all(m.id in words for m in shown)
