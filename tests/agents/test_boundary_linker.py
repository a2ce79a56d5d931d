"""BoundaryLinker and the boundaries run: boundaries are linked with what they speak of, once."""

from typing import Any

import pytest

from souffleur.agents.boundary_linker import BoundaryLinker
from souffleur.agents.brief import Persona
from souffleur.agents.model.chat import Chat
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.boundary_pairs import MAX_MEMORIES, BoundaryTask
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, Relation
from souffleur.knowledge.operation import Actor, ActorKind, Delete, Edit, Update
from souffleur.service.model_runs import run_boundaries
from souffleur.service.run import RunLimits, RunOptions, RunResult
from tests.build import NOW, by_hand, days, keep
from tests.scripted import Scripted

USER = Actor(who=ActorKind.USER)
NO_CHILD = "Ann does not want her wish for a child to come up."
LOSS = "Ann lost two pregnancies."


def judged(**spoken: list[str]) -> dict[str, Any]:
    """An answer as a model writes it."""
    named = [
        {"id": handle, "reason": f"about {handle}", "memories": memories}
        for handle, memories in spoken.items()
    ]
    return {"reason": "what they protect", "boundaries": named}


def naming(word: str) -> Scripted:
    """A model that finds every boundary to speak of the memories with a word."""

    def answer(request: Any) -> dict[str, Any]:
        lines = [line.split(" ", 1) for line in request.messages[1].content.splitlines() if line]
        spoken = [handle for handle, text in lines if handle[0] == "m" and word in text]
        return judged(**{handle: spoken for handle, _ in lines if handle[0] == "b"})

    return Scripted(answer)


async def run(base: KnowledgeBase, chat: Chat, **fields: Any) -> RunResult:
    """Run over everybody."""
    linker = BoundaryLinker(Context(StructuredChat(chat), base, Persona(user="Ann")))
    return await run_boundaries(base, linker, RunOptions(NOW + days(1), **fields))


async def bound(base: KnowledgeBase) -> Memory:
    """Have a boundary in the store."""
    return await keep(base, NO_CHILD, kind=Kind.BOUNDARY)


async def guarded(base: KnowledgeBase) -> set[str]:
    """Return the contents of what the boundaries speak of."""
    memories = await base.list("ann")
    ids = {id for one in memories for id in one.guarded}
    return {one.content for one in memories if one.id in ids}


async def test_a_boundary_is_linked_with_what_it_speaks_of(base: KnowledgeBase) -> None:
    """Nothing else changes; the ledger says who and why, and it can be undone."""
    boundary, loss = await bound(base), await keep(base, LOSS)
    tea = await keep(base, "Ann likes tea.")
    result = await run(base, naming("pregnancies"))
    after = await base.get(boundary.id, user_id="ann")
    assert after.relations == (Relation(to=loss.id, type="guards", strength=1.0),)
    same = {"relations", "judged", "revision", "updated_at", "written_by"}
    assert after.model_dump(exclude=same) == boundary.model_dump(exclude=same)
    assert [await base.get(one.id, user_id="ann") for one in (loss, tea)] == [loss, tea]
    assert [(item.op, item.memory.id) for item in result.items] == [("GUARD", boundary.id)]
    assert (result.due, result.calls) == (1, 1)
    *_, entry = await base.journal.entries("ann")
    assert (entry.by.who, entry.reason) == (ActorKind.BOUNDARY_LINKER, "about b1")
    assert entry.details["memories"] == [loss.id]
    await base.undo(entry.id, user_id="ann", by=USER, now=NOW + days(2))
    undone = await base.get(boundary.id, user_id="ann")
    assert (undone.relations, undone.judged) == ((), ())


async def test_only_what_was_not_judged_is_asked_about(base: KnowledgeBase) -> None:
    """Neither boundaries, episodes, what a persona is, nor what was judged; twice is once."""
    await bound(base)
    await keep(base, "Ann wants no advice.", kind=Kind.BOUNDARY)
    await keep(base, "They talked.", category=Category.EPISODE)
    await keep(base, "Mo is a fox.", category=Category.SYSTEM)
    assert (await run(base, Scripted([]))).due == 0
    await keep(base, "Ann likes tea.")
    chat = naming("nothing")
    assert (await run(base, chat)).count("GUARD") == 2
    (request,) = chat.requests
    shown = request.messages[1].content
    assert [part in shown for part in ("child", "advice", "tea")] == [True] * 3
    assert [part in shown for part in ("talked", "fox")] == [False] * 2
    assert (await run(base, Scripted([]))).due == 0
    await keep(base, LOSS)
    later = naming("pregnancies")
    assert (await run(base, later)).count("GUARD") == 2
    assert "tea" not in later.requests[0].messages[1].content
    assert await guarded(base) == {LOSS}


@pytest.mark.parametrize("of_boundary", [True, False], ids=["the boundary", "the memory"])
@pytest.mark.parametrize("in_place", [True, False], ids=["EDIT", "UPDATE"])
async def test_what_is_reworded_is_judged_again(
    base: KnowledgeBase, of_boundary: bool, in_place: bool
) -> None:
    """Its links stay until then, and then are what was judged last."""
    boundary, loss = await bound(base), await keep(base, LOSS)
    tea = await keep(base, "Ann likes tea.")
    await run(base, naming("pregnancies"))
    old = boundary if of_boundary else loss
    words = {"target": old.id, "reason": "r", "content": f"{old.content} So she said."}
    op = Edit(**words) if in_place else Update(quote="", **words)
    await by_hand(base, op, at=NOW + days(2))
    (link,) = {id for one in await base.list("ann") for id in one.guarded}
    assert link == loss.id
    chat = naming("tea")
    assert (await run(base, chat)).count("GUARD") == 1
    assert ("tea" in chat.requests[0].messages[1].content) is of_boundary
    assert {id for one in await base.list("ann") for id in one.guarded} == (
        {tea.id} if of_boundary else set()
    )
    assert (await run(base, Scripted([]))).due == 0


async def test_undoing_one_judgement_leaves_the_later_one(base: KnowledgeBase) -> None:
    """What was linked since stays linked, and only what was taken back is judged again."""
    await bound(base)
    loss = await keep(base, LOSS)
    await run(base, naming("pregnancies"))
    *_, first = await base.journal.entries("ann")
    ward = await keep(base, "Ann cannot pass the maternity ward.")
    await run(base, naming("ward"))
    await base.undo(first.id, user_id="ann", by=USER, now=NOW + days(2))
    assert await guarded(base) == {ward.content}
    chat = naming("pregnancies")
    await run(base, chat)
    assert ward.content not in chat.requests[0].messages[1].content
    assert await guarded(base) == {loss.content, ward.content}


async def test_many_are_judged_in_parts(base: KnowledgeBase) -> None:
    """A later part knows what an earlier one did; no more calls than allowed."""
    await bound(base)
    for index in range(MAX_MEMORIES + 2):
        await keep(base, f"Ann has a toy number {index}.")
    first = await run(base, naming("toy number"), limits=RunLimits(calls=1))
    assert (first.due, first.count("GUARD"), "1 calls" in first.stopped) == (2, 1, True)
    assert len(await guarded(base)) == MAX_MEMORIES
    assert (await run(base, naming("toy number"))).count("GUARD") == 1
    assert len(await guarded(base)) == MAX_MEMORIES + 2


async def test_two_parts_of_one_run_add_up(base: KnowledgeBase) -> None:
    """The second is written on what the first made of the boundary."""
    await bound(base)
    for index in range(MAX_MEMORIES + 2):
        await keep(base, f"Ann has a toy number {index}.")
    assert (await run(base, naming("toy number"))).count("GUARD") == 2
    assert len(await guarded(base)) == MAX_MEMORIES + 2


@pytest.mark.parametrize(
    "bad",
    [
        judged(b1=["m9"]),
        judged(b1=["b1"]),
        judged(b1=[], b2=[]),
        judged(),
        {**judged(), "boundaries": judged(b1=[])["boundaries"] * 2},
        "no JSON",
    ],
    ids=["unknown memory", "a boundary", "unknown boundary", "missing", "twice", "nonsense"],
)
async def test_an_unusable_answer_is_repaired_once(base: KnowledgeBase, bad: Any) -> None:
    """The second answer counts; if that is unusable too, nothing changes and the run says so."""
    both = [await bound(base), await keep(base, LOSS)]
    result = await run(base, Scripted([bad, bad]))
    assert [(item.op, "AnswerError" in item.reason) for item in result.items] == [("FAILED", True)]
    assert await base.list("ann") == sorted(both, key=lambda one: one.id)
    assert (await run(base, Scripted([bad, judged(b1=[" [M1] "])]))).count("GUARD") == 1
    assert await guarded(base) == {LOSS}


async def test_a_dry_run_changes_nothing(base: KnowledgeBase) -> None:
    """It says what would be done."""
    boundary = await bound(base)
    await keep(base, LOSS)
    assert (await run(base, naming("pregnancies"), dry_run=True)).count("GUARD") == 1
    assert await base.get(boundary.id, user_id="ann") == boundary


@pytest.mark.parametrize("gone", ["boundary", "memory"])
async def test_what_is_deleted_meanwhile_is_left(base: KnowledgeBase, gone: str) -> None:
    """A boundary that is gone is not linked, and no boundary with a memory that is gone."""
    boundary, loss = await bound(base), await keep(base, LOSS)
    ward = await keep(base, "Ann cannot pass the maternity ward.")

    async def chat(request: Any) -> Any:
        target = boundary if gone == "boundary" else loss
        await by_hand(base, Delete(target=target.id, reason="r", quote=""))
        return await naming("Ann")(request)

    result = await run(base, chat)
    assert [item.op for item in result.items] == ["CHANGED" if gone == "boundary" else "GUARD"]
    after = await base.get(boundary.id, user_id="ann")
    assert after.guarded == (frozenset() if gone == "boundary" else {ward.id})


async def test_what_is_only_used_meanwhile_is_linked(base: KnowledgeBase) -> None:
    """What was judged are the words, and they are the same."""
    boundary, loss = await bound(base), await keep(base, LOSS)

    async def chat(request: Any) -> Any:
        for one in (boundary, loss):
            await base.memories.merge_payload([one.id], {"recalls": 5})
        return await naming("pregnancies")(request)

    await run(base, chat)
    after = await base.get(boundary.id, user_id="ann")
    assert (after.guarded, after.recalls) == (frozenset([loss.id]), 5)


async def test_several_users_are_no_task(base: KnowledgeBase) -> None:
    """No request shows the memories of two people."""
    boundary = await bound(base)
    theirs = (await keep(base, LOSS)).model_copy(update={"user_id": "bob"})
    linker = BoundaryLinker(Context(StructuredChat(Scripted([])), base, Persona()))
    with pytest.raises(ValueError, match="one user"):
        await linker.run(BoundaryTask((boundary,), (theirs,)), now=NOW)


@pytest.mark.parametrize("error", [EndpointError("down"), AnswerError("cut off")])
async def test_an_error_is_told(base: KnowledgeBase, error: Exception) -> None:
    """What could not be done stays due."""
    await bound(base)
    await keep(base, LOSS)
    assert (await run(base, Scripted(lambda _: error))).count("FAILED") == 1
    assert (await run(base, naming("pregnancies"))).count("GUARD") == 1
