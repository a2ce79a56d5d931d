"""CueWriter and the cues run: memories without cues get some, once, and nothing else changes."""

from typing import Any

import pytest

from souffleur.agents.brief import Persona
from souffleur.agents.cue_writer import CueWriter
from souffleur.agents.model.chat import Chat
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.knowledge.search.query import Query
from souffleur.service.model_runs import MAX_AT_ONCE, run_cues
from souffleur.service.run import RunLimits, RunOptions, RunResult
from tests.build import NOW, days, keep
from tests.scripted import Scripted

USER = Actor(who=ActorKind.USER)


def written(**cues: list[str]) -> dict[str, Any]:
    """An answer as a model writes it."""
    named = [{"id": handle, "cues": words} for handle, words in cues.items()]
    return {"reason": "when they matter", "memories": named}


async def run(base: KnowledgeBase, chat: Chat, **fields: Any) -> RunResult:
    """Run over everybody."""
    writer = CueWriter(Context(StructuredChat(chat), base, Persona(user="Ann", assistant="Mo")))
    return await run_cues(base, writer, RunOptions(NOW + days(1), **fields))


async def test_memories_get_cues(base: KnowledgeBase) -> None:
    """They are found by them, and stay as they are; the ledger says who, and it can be undone."""
    nuts = await keep(base, "Ann is allergic to nuts.")
    result = await run(base, Scripted([written(m1=["where shall we eat", "baking for work"])]))
    (after,) = await base.list("ann")
    assert after.cues == ("where shall we eat", "baking for work")
    same = {"cues", "revision", "updated_at", "written_by"}
    assert after.model_dump(exclude=same) == nuts.model_dump(exclude=same)
    assert [(item.op, item.memory.id) for item in result.items] == [("CUE", nuts.id)]
    assert result.calls == 1
    (hit,) = await base.search(Query("ann", "baking for work tomorrow", NOW + days(1)))
    assert hit.relevant
    *_, entry = await base.journal.entries("ann")
    assert (entry.by.who, entry.reason) == (ActorKind.CUE_WRITER, "when they matter")
    await base.undo(entry.id, user_id="ann", by=USER, now=NOW + days(2))
    assert [one.cues for one in await base.list("ann")] == [()]
    (hit,) = await base.search(Query("ann", "baking for work tomorrow", NOW + days(2)))
    assert not hit.relevant


async def test_only_what_has_no_cues_is_asked_about(base: KnowledgeBase) -> None:
    """Neither what has some, nor episodes, portraits, and what a persona is; twice is once."""
    await keep(base, "Ann is allergic to nuts.", cues=("baking",))
    await keep(base, "They talked.", category=Category.EPISODE)
    await keep(base, "Mo is a fox.", category=Category.SYSTEM)
    await keep(base, "Ann rows.")
    chat = Scripted([written(m1=["sore arms"])])
    await run(base, chat)
    question = chat.requests[0].messages[1].content
    assert ("Ann rows." in question, "nuts" in question, "talked" in question) == (1, 0, 0)
    assert (await run(base, Scripted([]))).due == 0


async def test_many_are_asked_about_in_parts(base: KnowledgeBase) -> None:
    """Some at once, each user's apart, and no more calls than allowed."""
    for index in range(MAX_AT_ONCE + 2):
        await keep(base, f"Ann has a toy number {index}.")

    def answer(request: Any) -> dict[str, Any]:
        lines = request.messages[1].content.splitlines()[1:]
        return written(**{line.split()[0]: [f"play {line[-3:]}"] for line in lines})

    chat = Scripted(answer)
    result = await run(base, chat, limits=RunLimits(calls=1))
    assert (len(chat.requests), result.count("CUE")) == (1, MAX_AT_ONCE)
    assert "1 calls" in result.stopped
    assert (await run(base, chat)).count("CUE") == 2


@pytest.mark.parametrize(
    "bad",
    [
        written(m9=["baking"]),
        written(),
        written(m1=[]),
        written(m1=["my password is hunter2024!"]),
        "no JSON",
    ],
    ids=["unknown", "missing", "none", "a secret", "nonsense"],
)
async def test_an_unusable_answer_is_repaired_once(base: KnowledgeBase, bad: Any) -> None:
    """The second answer counts; if that is unusable too, nothing changes and the run says so."""
    nuts = await keep(base, "Ann is allergic to nuts.")
    result = await run(base, Scripted([bad, bad]))
    assert [(item.op, "AnswerError" in item.reason) for item in result.items] == [("FAILED", True)]
    assert await base.list("ann") == [nuts]
    assert (await run(base, Scripted([bad, written(m1=["baking"])]))).count("CUE") == 1


async def test_a_dry_run_changes_nothing(base: KnowledgeBase) -> None:
    """It says what would be done."""
    nuts = await keep(base, "Ann is allergic to nuts.")
    result = await run(base, Scripted([written(m1=["baking"])]), dry_run=True)
    assert result.count("CUE") == 1
    assert await base.list("ann") == [nuts]


async def test_what_changes_meanwhile_is_left(base: KnowledgeBase) -> None:
    """Cues of words that are no longer in force are not written."""
    nuts = await keep(base, "Ann is allergic to nuts.")

    async def chat(request: Any) -> Any:
        await base.memories.merge_payload([nuts.id], {"revision": 2, "recalls": 5})
        return await Scripted([written(m1=["baking"])])(request)

    result = await run(base, chat)
    assert [item.op for item in result.items] == ["CHANGED"]
    assert [one.cues for one in await base.list("ann")] == [()]


async def test_several_users_are_no_group(base: KnowledgeBase) -> None:
    """No request shows the memories of two people."""
    mine: list[Memory] = [await keep(base, "Ann rows.")]
    theirs = mine[0].model_copy(update={"user_id": "bob"})
    writer = CueWriter(Context(StructuredChat(Scripted([])), base, Persona()))
    with pytest.raises(ValueError, match="one user and persona"):
        await writer.run([*mine, theirs], now=NOW)


@pytest.mark.parametrize("error", [EndpointError("down"), AnswerError("cut off")])
async def test_an_error_is_told(base: KnowledgeBase, error: Exception) -> None:
    """What could not be done stays due."""
    await keep(base, "Ann rows.")
    result = await run(base, Scripted(lambda _: error))
    assert result.count("FAILED") == 1
    assert (await run(base, Scripted([written(m1=["sore arms"])]))).count("CUE") == 1
