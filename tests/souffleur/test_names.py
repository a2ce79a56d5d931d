"""Names in messages: what somebody else than the user says is theirs, at every door."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.client.calls import plain_messages
from souffleur.integrations.langchain.middleware import LastTurn, last_turn
from souffleur.messages import to_turns
from souffleur.proxy.talk import read_talk
from souffleur.settings import Settings
from tests.scripted import SKIP, Scripted, add, answer, by_name
from tests.souffleur.integrations.test_import_sillytavern import HEAD, message
from tests.souffleur.proxy.endpoint import whole
from tests.souffleur.proxy.scene import open_scene

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALLERGIC, LOVES = "I am allergic to nuts.", "I love nuts."


def says(name: str | None, content: str, role: str = "user") -> dict[str, Any]:
    """A message of somebody; the companion is called Luna."""
    return {"role": role, "content": content, **({"name": name} if name else {})}


GROUP = [says("ann", ALLERGIC), says("bob", LOVES), says("Luna", "Oh!", "assistant")]


def judged(request: Request) -> dict[str, Any]:
    """Take each of the two sentences for the user's."""
    told = request.messages[-1].content
    ops = [add(f"Ann: {one}", one) for one in (ALLERGIC, LOVES) if one in told]
    return answer(*ops) if ops else SKIP


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store whose judge takes all for the user's."""
    chosen = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:64")
    async with Souffleur.open(chosen, chat=Scripted(by_name(monitor=judged))) as one:
        yield one


async def kept(memory: Souffleur, user_id: str) -> tuple[list[str], list[str]]:
    """What was remembered of a user, and why something was not."""
    entries = await memory.knowledge.journal.entries(user_id)
    refused = [str(one.refused) for one in entries if one.refused]
    return [one.content for one in await memory.list(user_id=user_id)], refused


@pytest.mark.parametrize(
    ("said", "called", "turns"),
    [
        (GROUP, (), [(ALLERGIC, f"bob: {LOVES}\nOh!")]),
        (GROUP, ["u1", "Bob"], [(LOVES, f"ann: {ALLERGIC}\nOh!")]),
        ([says("Ann_Lee", "a"), says("Bob", "b")], ["ann lee"], [("a", "Bob: b")]),
        ([says("ann", "a"), says(None, "b")], (), [("a\nb", "")]),
        ([says(None, "a"), says("Bob", "b"), says("Cy", "c")], (), [("a", "Bob: b\nCy: c")]),
        ([says("bob", "b"), says("ann", "a")], ["ANN"], [("a", "bob: b")]),
        ([*GROUP, says("bob", "b")], (), [(ALLERGIC, f"bob: {LOVES}\nOh!"), ("", "bob: b")]),
        ([says("安", "a"), says("鲍勃", "鲍勃: b")], (), [("a", "鲍勃: b")]),
        ([says("Bob\n\u2028x", "b"), says("ann", "a")], ["ann"], [("a", "Bob x: b")]),
        (
            [says(None, "a"), says("Luna", "ho", "assistant"), says("Nox", "hu", "assistant")],
            (),
            [("a", "Luna: ho\nNox: hu")],
        ),
        ([says("ann", "a"), says("Luna", "ho", "assistant")], ["u1"], [("a", "ho")]),
        ([{**says("ann", "a"), "name": 7}, {**says("bob", "b"), "name": None}], (), [("a\nb", "")]),
    ],
)
async def test_whose_words_they_are(said: Any, called: Any, turns: Any) -> None:
    """The user's are those by a name of the user's, or of the first; others keep their names."""
    assert [(one.user, one.assistant) for one in to_turns(said, called)] == turns
    sent = to_turns(plain_messages(said), called)
    assert [(one.user, one.assistant) for one in sent] == turns


@pytest.mark.parametrize("title", [None, "Ann"])
async def test_another_s_words_are_no_memory(memory: Souffleur, title: str | None) -> None:
    """The judge reads them after their name, and a quote of them is not the user's."""
    user_id = f"remember {title}"
    await memory.introduce(user_id=user_id, title=title or "Mo")
    await memory.remember(GROUP, user_id=user_id)
    assert await kept(memory, user_id) == ([f"Ann: {ALLERGIC}"], ["not_the_user"])


async def test_the_one_who_was_introduced_is_the_user(memory: Souffleur) -> None:
    """Whoever speaks first."""
    await memory.introduce(user_id="u7", title="Bob")
    await memory.remember(GROUP, user_id="u7")
    assert await kept(memory, "u7") == ([f"Ann: {LOVES}"], ["not_the_user"])


@pytest.mark.parametrize("name", ["messages.json", "chat.jsonl"])
async def test_what_is_imported(memory: Souffleur, tmp_path: Path, name: str) -> None:
    """In messages and in chats of SillyTavern, names of those who are not the user stay."""
    file, user_id = tmp_path / name, f"import {name}"
    chat = [
        HEAD,
        message(ALLERGIC, user=True),
        message(LOVES, user=True, name="Bob", minute=1),
        message("Oh!", minute=2),
        message("Bye.", user=True, name="Bob", minute=3),
    ]
    lines = chat if name == "chat.jsonl" else [*GROUP, says("Bob", "Bye.")]
    file.write_text("\n".join(map(json.dumps, lines)))
    done = await memory.import_file(file, user_id=user_id)
    assert (done.new, done.unread) == ({"turn": 2}, ())
    await memory.flush()
    contents, refused = await kept(memory, user_id)  # the turns are judged together or apart
    assert (contents, "not_the_user" in refused) == ([f"Ann: {ALLERGIC}"], True)
    said = [one.assistant for one in await memory.knowledge.journal.turns(user_id=user_id)]
    assert [one.casefold() for one in said] == [f"bob: {LOVES}\nOh!".casefold(), "bob: bye."]
    assert (await memory.import_file(file, user_id=user_id)).known == {"turn": 2}


async def test_for_whom_a_chat_was_made(memory: Souffleur, tmp_path: Path) -> None:
    """Of several personas that is the user, unless the user is called like another."""
    file = tmp_path / "chat.jsonl"
    lines = [
        {**HEAD, "user_name": "Bob"},
        *(message("hi", user=True, name=n) for n in ("Al", "Bob")),
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    for user_id, own in (("x", "Al: hi"), ("AL", "Bob: hi")):
        await memory.import_file(file, user_id=user_id)
        (turn,) = await memory.knowledge.journal.turns(user_id=user_id)
        assert (turn.user, turn.assistant) == ("hi", own)


async def test_what_is_proxied(tmp_path: Path) -> None:
    """A turn is kept whoever speaks last in it; the user's words are the user's alone."""
    async with open_scene(tmp_path) as scene, scene.client("u1", "s1") as client:
        talk = [says("ann", ALLERGIC), says("bob", LOVES)]
        for more in ([], [says("Luna", "Hi!", "assistant"), says("bob", "And you, Luna?")]):
            talk += more
            scene.endpoint.will(whole("Hi!"))
            await client.chat.completions.create(model="m", messages=talk)
        said = await scene.said("u1")
    assert [user for user, _ in said] == [ALLERGIC, ""]
    assert [heard.partition("\n")[0] for _, heard in said] == [
        f"bob: {LOVES}",
        "bob: And you, Luna?",
    ]


async def test_a_talk_that_others_begin() -> None:
    """What they said first is no greeting."""
    begun = [says("bob", "Is Ann here?"), says("Luna", "Not yet.", "assistant")]
    here = says("ann", "Here!")
    found, alone = read_talk([*begun, here], ["ann"]), read_talk([here], ["ann"])
    assert found is not None
    assert alone is not None
    assert (found.user, found.opening) == ("Here!", alone.opening)


async def test_an_agent_of_langchain() -> None:
    """Names of HumanMessages count, also those of turns before."""
    said: list[BaseMessage] = [HumanMessage("a", name="ann"), AIMessage("ho")]
    said += [HumanMessage("b", name="bob"), HumanMessage("c", name="ann", id="7")]
    assert last_turn(said) == LastTurn("7", "c", "bob: b")
    assert last_turn(said[:3]) == LastTurn("", "", "bob: b")
    assert last_turn(said, ["bob"]) == LastTurn("7", "b", "ann: c")
