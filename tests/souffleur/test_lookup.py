"""What a host reads and undoes by plain arguments, and the ids by which it finds its messages."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.client import AsyncClient
from souffleur.errors import InputError, NotFoundError, UndoError
from souffleur.knowledge.memory import Evidence, Kind, Memory, MemoryState
from souffleur.knowledge.operation import ActorKind, Add, LedgerEntry
from souffleur.knowledge.search.query import Scope
from souffleur.settings import Settings
from tests.build import NOW, days, keep, memory as made, verdict
from tests.place import where
from tests.scripted import Scripted, add, answer, by_name
from tests.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")
Host = Souffleur | AsyncClient

TEA = answer(add("Ann likes green tea.", "I like green tea"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store in which Ann has told one thing in session s1, and Ben and a persona others."""
    chosen = Settings(**where(tmp_path_factory.mktemp("store")), embedder="hash:64", idle_minutes=0)
    chat = Scripted(by_name(monitor=TEA))
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as opened:
        said: dict[str, Any] = {"user": "I like green tea.", "assistant": "Noted."}
        opened.observe(user_id="ann", session_id="s1", turn_id="msg-17", **said, at=NOW - days(1))
        await opened.flush()
        await opened.introduce_persona(agent_id="luna", knows="own")
        await opened.remember("Ann fears dogs.", user_id="ann", agent_id="luna")
        await opened.remember("Ann calls her aunt.", user_id="ann", kind=Kind.TODO)
        await opened.remember("Ben likes tea.", user_id="ben")
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["here", "served"])
async def memory(opened: Souffleur, request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    """The same store: in this process, and by the client of a server."""
    if request.param == "here":
        yield opened
        return
    async with served(opened) as url, AsyncClient(url) as client:
        yield client


async def test_search(memory: Host) -> None:
    """A search is by a text, within a scope, for a persona; it finds nothing of another user."""
    best = (await memory.search("what tea", user_id="ann"))[0]
    assert best.memory.content == "Ann likes green tea."
    assert "Ben" not in "".join(hit.text for hit in await memory.search("tea", user_id="ann"))
    assert len(await memory.search("Ann", user_id="ann", limit=1)) == 1
    (turn,) = await memory.search("green tea", user_id="ann", scope="turns")
    assert turn.scope is Scope.TURNS
    both = await memory.search("tea", user_id="ann", scope=["turns", Scope.MEMORIES])
    assert {hit.scope for hit in both} == {Scope.TURNS, Scope.MEMORIES}
    hers = await memory.search("dogs tea", user_id="ann", agent_id="luna")
    assert [hit.text for hit in hers] == ["Ann fears dogs."]


async def test_list(memory: Host) -> None:
    """A list is of a kind, category, state and persona; a kind may be given by its name."""

    async def listed(**wanted: Any) -> list[str]:
        return [one.content for one in await memory.list(user_id="ann", **wanted)]

    assert len(await listed()) == len(await listed(state=None)) == 3
    assert await listed(kind="todo") == await listed(kind=Kind.TODO) == ["Ann calls her aunt."]
    assert await listed(category="core") == await listed(state="forgotten") == []
    assert await listed(agent_id="luna") == ["Ann fears dogs."]
    assert "Ann fears dogs." not in await listed(agent_id="mo")


async def test_what_has_expired(memory: Host, opened: Souffleur) -> None:
    """It is listed only where any state is asked for, also before a run lets it go."""
    over = Add(reason="r", quote="", content="Exam.", kind=Kind.TODO, expires_at=NOW - days(1))
    await opened.knowledge.apply(verdict(over, who=ActorKind.HOST, user_id="kim", name="over"))
    assert await memory.list(user_id="kim") == []
    assert len(await memory.list(user_id="kim", state=None)) == 1


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"kind": "bogus"}, "there is no kind 'bogus': choose one of preference, "),
        ({"state": "gone"}, "there is no state 'gone': choose one of active, "),
        ({"category": 7}, "there is no category 7: choose one of system, "),
    ],
    ids=str,
)
async def test_what_cannot_be_listed(memory: Host, wanted: Any, why: str) -> None:
    """The error names what there is."""
    with pytest.raises(InputError, match=why):
        await memory.list(user_id="ann", **wanted)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"scope": "words"}, "there is no scope 'words': choose one of memories, episodes, turns"),
        ({"limit": 0}, "limit must be a whole number from 1 to 10,000, not 0"),
        ({"limit": True}, "limit must be a whole number"),
    ],
    ids=str,
)
async def test_what_cannot_be_searched(memory: Host, wanted: Any, why: str) -> None:
    """The error names what there is; a text that is none is a InputError."""
    with pytest.raises(InputError, match=why):
        await memory.search("tea", user_id="ann", **wanted)
    with pytest.raises(InputError, match="must be a text, not NoneType"):
        await memory.search(None, user_id="ann")  # type: ignore[arg-type]


async def test_history_and_undo(memory: Host) -> None:
    """A change is found by its memory, undone by its entry, once, and for its own user alone."""
    (entry,) = await memory.remember("Zoe has a blue car.", user_id="zoe")
    (id,) = entry.memory_ids
    assert [one.op for one in await memory.history(id, user_id="zoe")] == ["ADD"]
    for owner, wanted in (("ben", entry.id), ("zoe", "no id"), ("zoe", 7)):
        with pytest.raises(NotFoundError):
            await memory.undo(wanted, user_id=owner)  # type: ignore[arg-type]
    undone = await memory.undo(entry.id, user_id="zoe")
    assert (undone.op, undone.undoes) == ("UNDO", entry.id)
    assert (await memory.get(id, user_id="zoe")).state is MemoryState.FORGOTTEN
    for state, there in (("forgotten", True), (None, True), ("active", False)):
        listed = [one.id for one in await memory.list(user_id="zoe", state=state)]
        assert (id in listed) is there
    with pytest.raises(UndoError):
        await memory.undo(entry.id, user_id="zoe")
    with pytest.raises(NotFoundError):
        await memory.get(id, user_id="ben")


async def test_episodes_and_portrait(memory: Host, opened: Souffleur) -> None:
    """None yet: an empty list, and no portrait; each is of one persona if it is named."""
    await opened.knowledge.apply(
        verdict(
            Add(reason="r", quote="", content="They talked about tea.", category="episode"),
            Add(reason="r", quote="", content="Ann, who likes tea.", category="profile"),
            who=ActorKind.HOST,
            user_id="eve",
        )
    )
    (episode,) = await memory.episodes(user_id="eve")
    assert episode.content == "They talked about tea."
    assert await memory.episodes(user_id="eve", agent_id="luna") == []
    portrait = await memory.portrait(user_id="eve")
    assert portrait
    assert portrait.content == "Ann, who likes tea."
    assert await memory.portrait(user_id="eve", agent_id="luna") is None
    assert await memory.portrait(user_id="ann") is None


async def test_a_question_at_no_time(memory: Host) -> None:
    """It is refused, and the error does not say that another time was taken."""
    with pytest.raises(InputError, match=r"'soon' is no time: .* milliseconds since 1970$"):
        await memory.ask("yesterday", user_id="ann", at="soon")


async def test_a_host_finds_its_message(memory: Host) -> None:
    """By session and its own id: in evidence, history, search, what was asked, and a recall."""
    (known,) = await memory.list(user_id="ann", kind="fact", agent_id="default")
    (evidence,) = known.evidence
    assert (evidence.session_id, evidence.host_turn_id) == ("s1", "msg-17")
    (entry,) = await memory.history(known.id, user_id="ann")
    assert (entry.session_id, entry.host_turn_ids) == ("s1", ("msg-17",))
    (past,) = (await memory.ask("yesterday", user_id="ann")).found
    (turn,) = await memory.search("green tea", user_id="ann", scope="turns")
    for hit in (past, turn):
        assert (hit.item.session_id, hit.item.turn_id) == ("s1", "msg-17")  # type: ignore[union-attr]
    asked: Any = {
        "user_id": "ann",
        "session_id": "s2",
        "text": "What did I say about tea yesterday?",
    }
    assert (await memory.recall(**asked)).host_turn_ids == ("msg-17",)


async def test_an_undone_change_names_the_message(tmp_path: Path) -> None:
    """The UNDO entry points at the same message as the change."""
    chosen = Settings(**where(tmp_path), embedder="hash:64")
    async with Souffleur.open(chosen, chat=Scripted([TEA]), clock=lambda: NOW) as opened:
        said = [("user", "I like green tea.")]
        (entry,) = await opened.remember(said, user_id="ann", session_id="s1")
        undone = await opened.undo(entry.id, user_id="ann")
        assert entry.host_turn_ids == undone.host_turn_ids != ()
        assert undone.session_id == "s1"


async def test_records_of_earlier_versions_are_read() -> None:
    """They name no message of the host; all else is there."""
    known = made(evidence=[{"turn_id": "t", "speaker": "user", "quote": "tea"}])
    stored = known.model_dump(mode="json")
    for key in ("host_turn_id", "session_id"):
        del stored["evidence"][0][key]
    assert Memory.model_validate(stored) == known
    assert Evidence(turn_id="t", speaker="user", quote="q").host_turn_id == ""
    fields = LedgerEntry.model_fields
    assert not fields["host_turn_ids"].is_required()
    assert not fields["session_id"].is_required()


async def test_stats_users_and_restoring(memory: Host) -> None:
    """Counted by kind, category and state; what was forgotten is restored for its user alone."""
    (entry,) = await memory.remember("Max sails.", user_id="max", kind=Kind.SKILL)
    (id,) = entry.memory_ids
    await memory.forget(id, user_id="max")
    assert (await memory.stats(user_id="max")).total == 0
    with pytest.raises(NotFoundError):
        await memory.restore_memory(id, user_id="ben")
    restored = await memory.restore_memory(id, user_id="max", reason="he does")
    assert (restored.op, restored.reason) == ("RESTORE", "he does")
    stats = await memory.stats(user_id="max")
    assert (stats.total, stats.kinds, stats.categories) == (1, {"skill": 1}, {"skill": 1})
    assert stats.states["active"] == 1
    (known,) = [one for one in await memory.users() if one.user_id == "max"]
    assert known.memories == 1
    await memory.erase_user(user_id="max")


async def test_what_a_host_found_is_its_own(opened: Souffleur) -> None:
    """A host that changes the dictionaries of what it found changes no later search."""
    kept = await keep(opened.knowledge, "Ann rows on lakes.", data={"lakes": ["Como"]})
    for _ in range(3):
        found = (await opened.search("Who rows on lakes?", user_id="ann"))[0]
        assert found.memory.data == {"lakes": ["Como"]}
        found.memory.data["lakes"].append("Garda")
        found.memory.data["boat"] = "red"
    await opened.forget(kept.id, user_id="ann")
