"""Import of chats: their turns are observed at their own times, and judged."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import pytest_asyncio
from hypothesis import given, settings as examples, strategies as st

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.errors import FileError, MemoryOffError
from souffleur.integrations.importers.chats import (
    NO_QUESTION,
    Chat,
    ChatMessage,
    ChatTurn,
    in_order,
    turns_of,
)
from souffleur.knowledge.memory import Category, MemoryState
from souffleur.recall.rendering import estimate_tokens
from souffleur.settings import Settings
from tests.build import NOW
from tests.place import where
from tests.scripted import SKIP, Scripted, add, answer, by_name, episode, portrait
from tests.souffleur.integrations.test_import_chatgpt import TEA, conversation, node
from tests.souffleur.integrations.test_import_sillytavern import CHAT, at_once, message

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOLD = {"episode": episode("They spoke of tea."), "portrait": portrait("Ann drinks tea.")}
GREETED = {NO_QUESTION: 1}
YEAR_AGO = datetime(2024, 1, 3, 10, tzinfo=UTC)


def judged(request: Request) -> dict[str, Any]:
    """Keep that green tea is drunk, where that is said."""
    told = "I drink green tea." in request.messages[-1].content
    return answer(add("Ann drinks green tea.", "I drink green tea.")) if told else SKIP


def opened(folder: Path, chat: Scripted | None = None, **fields: Any) -> Any:
    """Open a store; without a model nothing is judged."""
    chosen = Settings(**where(folder), embedder="hash:64", **fields)
    return Souffleur.open(chosen, chat=chat, clock=lambda: NOW)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store that judges nothing."""
    async with opened(tmp_path_factory.mktemp("store")) as one:
        yield one


def written(folder: Path, what: Any, name: str = "chat.json") -> Path:
    """Return a file of JSON; of lines if it is called so."""
    file = folder / name
    lines = name.endswith("jsonl")
    file.write_text("\n".join(map(json.dumps, what)) if lines else json.dumps(what))
    return file


async def test_memories_by_judgement(tmp_path: Path) -> None:
    """The judge sees each turn once; memories and episodes have the dates of the talk."""
    chat = Scripted(by_name(monitor=judged, **TOLD))
    file = written(tmp_path, [TEA])
    async with opened(tmp_path / "store", chat) as memory:
        tried = await memory.import_file(file, user_id="ann", dry_run=True)
        assert (tried.new, chat.requests, await memory.users()) == ({"turn": 2}, [], [])
        done = await memory.import_file(file, user_id="ann", agent_id="luna")
        assert done == tried.model_copy(update={"dry_run": False})
        assert done.skipped == {
            "message: of a tool or the system, or not shown": 3,
            "message: of an earlier version of the conversation": 2,
        }
        await memory.flush()
        (kept,) = await memory.list(user_id="ann", category=Category.FACT)
        assert kept.agent_id == "luna"
        assert YEAR_AGO < kept.created_at <= YEAR_AGO + timedelta(minutes=10)
        (told,) = await memory.list(user_id="ann", category=Category.EPISODE, state=None)
        assert told.created_at == YEAR_AGO + timedelta(minutes=10)
        assert kept.anchor_at == told.anchor_at == NOW  # they fade from the import on
        assert (told.state, told.expires_at > NOW) == (MemoryState.ACTIVE, True)
        asked = [request.name for request in chat.requests]
        assert set(asked) == {"monitor", "episode", "portrait"}
        again = await memory.import_file(file, user_id="ann", agent_id="luna")
        assert (again.new, again.known, again.calls) == ({}, {"turn": 2}, 0)
        await memory.flush()
        assert len(chat.requests) == len(asked)


async def test_what_was_added_later(memory: Souffleur, tmp_path: Path) -> None:
    """A longer file adds new turns and a missing reply; other stored turns stay."""
    first = written(tmp_path, CHAT[:5], "a.jsonl")
    assert (await memory.import_file(first, user_id="ben")).new == {"turn": 2}
    swiped = [*CHAT[:3], {**CHAT[3], "mes": "Ah."}, CHAT[4], CHAT[8]]
    more = [message("I sail.", minute=9, user=True), message("Ahoy.", minute=9)]
    second = written(tmp_path, [*swiped, *more], "b.jsonl")
    done = await memory.import_file(second, user_id="ben")
    assert done.new == {"turn": 2}
    assert done.skipped["turn: another version is there"] == 1
    kept = await memory.knowledge.journal.turns(user_id="ben")
    assert [(turn.user, turn.assistant, turn.version) for turn in kept] == [
        ("I drink tea.", "Noted.", 0),
        ("Look!\n[image]", "A cup.", 1),
        ("I sail.", "Ahoy.", 0),
    ]


async def test_times_are_the_user_s(memory: Souffleur, tmp_path: Path) -> None:
    """Times without a zone are in the user's; secrets are masked, and found again."""
    await memory.introduce(user_id="zoe", timezone="Asia/Tokyo")
    told = [CHAT[0], message("My password is tea4two!2024", user=True, minute=5), CHAT[2]]
    file = written(tmp_path, told, "chat.jsonl")
    assert (await memory.import_file(file, user_id="zoe")).new == {"turn": 1}
    (turn,) = await memory.knowledge.journal.turns(user_id="zoe")
    assert turn.at == datetime(2024, 1, 3, 1, 5, tzinfo=UTC)
    assert "tea4two" not in turn.user
    assert (await memory.import_file(file, user_id="zoe")).known == {"turn": 1}


async def test_whose_they_are(memory: Souffleur, tmp_path: Path) -> None:
    """A user must be named, and want a memory."""
    file = written(tmp_path, [TEA])
    with pytest.raises(FileError, match="say whose chats these are"):
        await memory.import_file(file)
    await memory.set_preferences(user_id="cy", memory=False)
    with pytest.raises(MemoryOffError):
        await memory.import_file(file, user_id="cy", dry_run=True)


async def test_chats_at_once() -> None:
    """The turns of several chats are observed in the order of their times."""
    evening = [ChatTurn("a", str(hour), YEAR_AGO + timedelta(hours=hour), "hi") for hour in (1, 5)]
    between = ChatTurn("b", "3", YEAR_AGO + timedelta(hours=3), "ho")
    assert [turn.turn_id for turn in in_order([evening, [between]])] == ["1", "3", "5"]


@pytest.mark.parametrize(
    ("id", "why"), [("s" * 600, "has 600 characters"), (" ", "blank"), ("a\ud800", "half of a")]
)
async def test_an_id_that_no_turn_may_have(
    memory: Souffleur, tmp_path: Path, id: str, why: str
) -> None:
    """Its session is named and left out, in a dry run as well; others are taken."""
    said = [{"role": "user", "content": f"I am {n}.", "session_id": n} for n in ("well", id)]
    file = written(tmp_path, said, "messages.json")
    for dry_run in (True, False):
        done = await memory.import_file(file, user_id=f"ida {why}", dry_run=dry_run)
        assert (done.new, len(done.unread)) == ({"turn": 1}, 1)
        assert why in done.unread[0]
        assert done.skipped == {"conversation: it cannot be read": 1}


async def test_a_number_of_endless_digits(memory: Souffleur, tmp_path: Path) -> None:
    """It is no time, and what was said is taken."""
    file = tmp_path / "messages.json"
    file.write_text(f'[{{"role": "user", "content": "hi", "at": {"9" * 5000}}}]')
    assert (await memory.import_file(file, user_id="noa")).new == {"turn": 1}


async def test_a_file_of_which_nothing_can_be_read(memory: Souffleur, tmp_path: Path) -> None:
    """It is refused, with the names of its first parts."""
    file = written(tmp_path, [{"title": "Tea", "mapping": {}}], "conversations.json")
    with pytest.raises(FileError, match=r"nothing that can be read: conversation 1 'Tea': .* id"):
        await memory.import_file(file, user_id="noa")


async def test_what_is_unpacked_is_bounded(tmp_path: Path) -> None:
    """A file of more than SOUFFLEUR_MAX_IMPORT is refused before it is unpacked."""
    file = tmp_path / "export.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([TEA]) + " " * 10_000)
    plain = written(tmp_path, [TEA, " " * 10_000], "conversations.json")
    memories = written(tmp_path, [{"id": "1", "memory": "a" * 10_000}], "mem0.json")
    assert file.stat().st_size < 5_000
    async with opened(tmp_path / "store", max_import=10_000) as memory:
        for large in (file, plain, memories):
            with pytest.raises(FileError, match="SOUFFLEUR_MAX_IMPORT"):
                await memory.import_file(large, user_id="ann")


async def test_chats_of_one_time(memory: Souffleur, tmp_path: Path) -> None:
    """Each chat is imported once; a continued chat adds its new turns."""

    def taken(texts: list[str], name: str) -> Any:
        chat = at_once(*texts, date="January 3, 2024 10:00am")
        return memory.import_file(written(tmp_path, chat, name), user_id="una")

    first, second = ["hi", "Hello.", "I sail.", "Ahoy."], ["hi", "Hello.", "I ski.", "Snow."]
    assert (await taken(first, "a.jsonl")).new == {"turn": 2}
    again = await taken(second, "b.jsonl")
    assert (again.new, again.known, again.skipped) == ({"turn": 1}, {"turn": 1}, GREETED)
    for texts, name in ((first, "c.jsonl"), (second, "d.jsonl")):
        assert (await taken(texts, name)).known == {"turn": 2}
    assert (await taken([*second, "And you?", "No."], "e.jsonl")).new == {"turn": 1}
    kept = {turn.user for turn in await memory.knowledge.journal.turns(user_id="una")}
    assert kept == {"hi", "I sail.", "I ski.", "And you?"}


async def test_an_import_that_was_cut_off(tmp_path: Path) -> None:
    """It goes on where it was; a part that cannot be read is named, and costs nothing else."""
    talks = [
        conversation(
            *[node(str(n), str(n - 1) if n > 1 else "root", "user", f"I am {n}.") for n in (1, 2)],
            id=str(talk),
        )
        for talk in range(3)
    ]
    async with opened(tmp_path / "store") as memory:
        half = written(tmp_path, talks[:2])
        assert (await memory.import_file(half, user_id="ann")).new == {"turn": 2}
        broken = written(tmp_path, [*talks, {"mapping": {}}])
        whole = await memory.import_file(broken, user_id="ann")
        assert (whole.new, whole.known) == ({"turn": 1}, {"turn": 2})
        assert whole.unread == ("conversation 4: it has no id",)


async def test_the_estimate(tmp_path: Path) -> None:
    """Calls and prompts that were estimated are about those that were made; budgets count."""
    words = "We spoke of the harbour, the boats and what they cost to keep. " * 6
    ids = [str(number) for number in range(1, 61)]
    nodes = [
        node(id, before, "user" if int(id) % 2 else "assistant", f"{id}: {words}")
        for before, id in zip(["root", *ids], ids, strict=False)
    ]
    file = written(tmp_path, [conversation(*nodes)])
    limits: dict[str, Any] = {
        "price_in": 1.0,
        "price_out": 2.0,
        "user_calls_per_day": 4,
        "model": "unknown",
    }
    async with opened(tmp_path / "a", **limits) as memory:
        told = await memory.import_file(file, user_id="ann", dry_run=True)
    assert told.days == -(-told.calls // 4)
    assert told.output_tokens == 30 * 179
    assert told.dollars == pytest.approx((told.input_tokens + 2 * told.output_tokens) / 1e6)
    chat = Scripted(by_name(monitor=SKIP, **TOLD))
    async with opened(tmp_path / "b", chat, model="unknown") as memory:
        await memory.import_file(file, user_id="ann")
        await memory.flush()
    prompts = [estimate_tokens(said.content) for one in chat.requests for said in one.messages]
    assert told.calls == pytest.approx(len(chat.requests), abs=3)
    assert told.input_tokens == pytest.approx(sum(prompts), rel=0.3)


async def test_the_days_within_a_budget_suffice(tmp_path: Path) -> None:
    """A budget of exactly the estimated calls is enough, also if a judge takes the first turn."""
    turns = [("user", "I sail."), ("assistant", "Ahoy.")] * 3
    lines = [{"role": role, "content": said, "at": "2024-01-03"} for role, said in turns]
    file = written(tmp_path, lines)
    three = portrait("Ann sails.", "She is at sea.", "She likes it.")
    chat = Scripted(by_name(monitor=SKIP, episode=episode("They sailed."), portrait=three))
    async with opened(tmp_path / "a") as memory:
        told = await memory.import_file(file, user_id="ann", dry_run=True)
    async with opened(tmp_path / "b", chat, user_calls_per_day=told.calls) as memory:
        assert (await memory.import_file(file, user_id="ann")).days == 1
        await memory.flush()
        assert len(chat.requests) == told.calls
        assert await memory.portrait(user_id="ann")


async def test_turns_of_any_chat() -> None:
    """All texts of the user are in the turns once, in order, and times never go back."""
    line = st.tuples(st.booleans(), st.integers(0, 2000), st.sampled_from("ab "))

    @examples(max_examples=60, deadline=None)
    @given(st.lists(line, max_size=30))
    def told(lines: list[tuple[bool, int, str]]) -> None:
        said = [
            ChatMessage(str(place), by_user, text, YEAR_AGO + timedelta(minutes=minute))
            for place, (by_user, minute, text) in enumerate(lines)
        ]
        turns, _ = turns_of(Chat("s", tuple(said)), zone=UTC, now=YEAR_AGO + timedelta(days=1))
        users = [one.text for one in said if one.by_user and one.text.strip()]
        assert "\n".join(turn.user for turn in turns) == "\n".join(users)
        assert [turn.at for turn in turns] == sorted(turn.at for turn in turns)
        assert len({turn.turn_id for turn in turns}) == len(turns)
        assert len([*in_order([turns, turns])]) == 2 * len(turns)

    told()
