"""Auditor: what is read together, what is changed and what is not, and when it is due."""

from collections.abc import Sequence
from typing import Any

import pytest

from souffleur.agents.auditor import MAX_READ, Auditor, is_due, select
from souffleur.agents.brief import Persona
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Evidence, Kind, Memory, MemoryState, Speaker
from souffleur.knowledge.operation import ActorKind, Boost, Delete, LedgerEntry, Refusal
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.service.model_runs import run_audit
from souffleur.service.run import RunOptions, RunResult
from tests.build import NOW, by_hand, days, fill, memory
from tests.scripted import Answer, Scripted

LATER = NOW + days(8)
ULM, BONN = "Ann lives in Ulm.", "Ann lives in Bonn since May 2025."
NOTHING: dict[str, Any] = {"reason": "all fits", "findings": [], "closed": []}


def finds(op: str, *memories: str, content: str | None = None) -> dict[str, Any]:
    """A finding as a model writes it."""
    return {"reason": "one home", "op": op, "memories": list(memories), "content": content}


def audit_of(*findings: dict[str, Any], closed: Sequence[str] = ()) -> dict[str, Any]:
    return {"reason": "she moved", "findings": list(findings), "closed": list(closed)}


async def keep(base: KnowledgeBase, content: str, day: float = 0, **fields: Any) -> Memory:
    """Have a memory in the store, as it was told on a day."""
    made = memory(content, created_at=NOW + days(day), **fields)
    await fill(base, made)
    return made


async def audit(base: KnowledgeBase, *answers: Answer) -> tuple[list[LedgerEntry], Scripted]:
    """Audit Ann's memories."""
    chat = Scripted(answers)
    context = Context(StructuredChat(chat), base, Persona(user="Ann", assistant="Mo"))
    return await Auditor(context).run("ann", "", now=LATER), chat


async def contents(base: KnowledgeBase) -> list[str]:
    return [one.content for one in await base.list("ann")]


async def test_one_call_reads_all_by_topic(base: KnowledgeBase) -> None:
    """Core memories too; no portrait, and of the episodes only those with an open matter."""
    await keep(base, ULM, topics=("home",))
    await keep(base, "Ann fears dogs.", category=Category.CORE)
    await keep(base, "Ann is a baker.", category=Category.PROFILE)
    told: dict[str, Any] = {"category": Category.EPISODE, "kind": Kind.MOMENT}
    await keep(base, "Ann talked of tea.", **told)
    await keep(base, "Ann looks for a flat.", data={"unresolved": "which flat"}, **told)
    entries, chat = await audit(base, NOTHING)
    (request,) = chat.requests
    asked = request.messages[1].content
    assert "m1 [core, 2026-01-03] Ann fears dogs.\n### home\nm2 [fact, 2026-01-03] Ann" in asked
    assert "e1 which flat (Ann looks for a flat.)" in asked
    assert ["baker" in asked, "tea" in asked] == [False, False]
    assert [(one.op, one.by.who, one.reason) for one in entries] == [
        ("SKIP", ActorKind.AUDITOR, "all fits")
    ]
    status = await base.sessions.portrait_status("ann")
    assert status.audited_at == LATER


async def test_a_core_memory_is_reworded_and_stays_core(base: KnowledgeBase) -> None:
    """The new words rest on the memories that are named; the evidence stays, and undo works."""
    old = await keep(base, ULM, category=Category.CORE, cues=("her home",))
    await keep(base, BONN, day=1)
    new = "Ann lives in Bonn since May 2025, before that in Ulm."
    entries, chat = await audit(base, audit_of(finds("UPDATE", "m1", "m2", content=new)))
    (entry,) = entries
    after = entry.changes[0].after
    assert (after.content, after.category, after.cues) == (new, Category.CORE, ("her home",))
    assert len(chat.requests) == 1
    assert (await base.get(old.id, user_id="ann")).state is MemoryState.SUPERSEDED
    await base.undo(entry.id, user_id="ann", by=entry.by, now=LATER)
    assert await contents(base) == [ULM, BONN]


async def test_what_was_quoted_may_be_told(base: KnowledgeBase) -> None:
    """Words of the person that a memory rests on are known, and stay with the new memory."""
    said = "I live in Ulm at Frau Kern's"
    await keep(base, ULM, evidence=(Evidence(turn_id="t", speaker=Speaker.USER, quote=said),))
    new = "Ann lives in Ulm with Frau Kern."
    entries, _ = await audit(base, audit_of(finds("UPDATE", "m1", content=new)))
    assert entries[0].refused is None
    assert entries[0].changes[0].after.evidence[0].quote == said


async def test_what_is_lost_or_invented_is_sent_back_once(base: KnowledgeBase) -> None:
    """What is invented all the same is refused; other findings of the answer are carried out."""
    await keep(base, "Ann lives in Ulm with Tom.")
    await keep(base, BONN, day=1)
    odd = audit_of(finds("UPDATE", "m1", "m2", content="Ann lives with Eva in Bonn."))
    entries, chat = await audit(base, odd, odd)
    again = chat.requests[1].messages[-1].content
    assert "'Eva' is in none of these memories" in again
    assert "'Tom' is lost" in again
    assert [one.refused for one in entries] == [Refusal.UNFOUNDED]
    assert await contents(base) == ["Ann lives in Ulm with Tom.", BONN]


async def test_doubles_become_one_and_what_is_wrong_goes(base: KnowledgeBase) -> None:
    """Each by its own verdict; the first has the cost of the call."""
    for place, content in enumerate((ULM, BONN, "Ann has a cat.", "Ann has a black cat.")):
        await keep(base, content, day=place)
    merged = finds("MERGE", "m3", "m4", content="Ann has a black cat.")
    entries, _ = await audit(base, audit_of(finds("DELETE", "m1", "m2"), merged))
    assert [(one.op, one.cost.get("calls")) for one in entries] == [("DELETE", 1), ("MERGE", None)]
    assert sorted(await contents(base)) == ["Ann has a black cat.", BONN]


async def test_what_the_user_confirmed_and_core_memories_are_not_deleted(
    base: KnowledgeBase,
) -> None:
    """Only a person may do that; the audit leaves a refusal in the ledger."""
    await keep(base, ULM, category=Category.CORE)
    await keep(base, "Ann rents.", day=1, verified=True)
    await keep(base, BONN, day=2)
    wrong = [finds("DELETE", handle, "m3") for handle in ("m1", "m2")]
    entries, _ = await audit(base, audit_of(*wrong))
    assert [one.refused for one in entries] == [Refusal.PROTECTED] * 2


async def test_an_open_matter_is_closed(base: KnowledgeBase) -> None:
    """The talk stays as it was told, and the entry can be undone."""
    await keep(base, "Ann took the flat in Bonn.")
    data = {"unresolved": "which flat", "key_facts": ["two flats"]}
    talk = await keep(base, "Ann looks for a flat.", category=Category.EPISODE, data=data)
    (entry,), _ = await audit(base, audit_of(closed=["e1"]))
    assert entry.op == "CLOSE"
    after = await base.get(talk.id, user_id="ann")
    assert after.data == {"unresolved": None, "key_facts": ["two flats"]}
    await base.undo(entry.id, user_id="ann", by=entry.by, now=LATER)
    assert (await base.get(talk.id, user_id="ann")).data == data


@pytest.mark.parametrize(
    "bad",
    [
        audit_of(finds("DELETE", "m1", "m9")),
        audit_of(finds("DELETE", "m1")),
        audit_of(finds("MERGE", "m1", content="Ann.")),
        audit_of(finds("UPDATE", "m1")),
        audit_of(closed=["e1"]),
        audit_of(finds("FORGET", "m1", "m2")),
        "no JSON",
    ],
)
async def test_an_unusable_answer_changes_nothing(base: KnowledgeBase, bad: Answer) -> None:
    """It is sent back once; after a second one the memories count as unread."""
    await keep(base, ULM)
    await keep(base, BONN, day=1)
    with pytest.raises(AnswerError):
        await audit(base, bad, bad)
    assert (await base.sessions.portrait_status("ann")).audited_at is None
    entries, chat = await audit(base, bad, NOTHING)
    assert (len(entries), len(chat.requests)) == (1, 2)


@pytest.mark.parametrize(("meanwhile", "did"), [(Delete, "SKIP"), (Boost, "DELETE")])
async def test_what_changes_meanwhile_is_left_alone(
    base: KnowledgeBase, meanwhile: Any, did: str
) -> None:
    """A finding that rests on a memory that is gone is not carried out; used is not changed."""
    await keep(base, ULM)
    bonn = await keep(base, BONN, day=1)
    quote = {"quote": ""} if meanwhile is Delete else {}

    async def chat(request: Any) -> Any:
        await by_hand(base, meanwhile(target=bonn.id, reason="r", **quote))
        return await Scripted([audit_of(finds("DELETE", "m1", "m2"))])(request)

    context = Context(StructuredChat(chat), base, Persona(user="Ann"))
    assert [one.op for one in await Auditor(context).run("ann", "", now=LATER)] == [did]


def test_it_is_due_a_week_after_the_last_if_something_is_new() -> None:
    """Or a week after the first memory."""
    new, done = [memory(ULM)], PortraitStatus(user_id="ann", audited_at=NOW - days(6))
    never = PortraitStatus(user_id="ann")
    assert [is_due(new, never, NOW + days(at)) for at in (6.9, 7)] == [False, True]
    assert [is_due(new, done, NOW + days(at)) for at in (0.9, 1)] == [False, True]
    read = PortraitStatus(user_id="ann", audited_at=NOW)
    assert [is_due(some, read, NOW + days(99)) for some in (new, [])] == [False, False]


def test_of_too_many_those_of_topics_with_news_are_read() -> None:
    """The rest by importance; all in the order of their topics."""
    old = [memory(f"Fact {n}.", topics=("old",), importance=1 + n / 999) for n in range(MAX_READ)]
    fresh = memory("News.", topics=("new",), created_at=NOW + days(2), importance=0.1)
    same = memory("Of that topic.", topics=("new",), importance=0.1)
    read = select([*old, fresh, same], NOW + days(1))
    assert read[:2] == [same, fresh]
    assert {one.content for one in old} - {one.content for one in read} == {"Fact 0.", "Fact 1."}


async def run(base: KnowledgeBase, chat: Scripted, **fields: Any) -> RunResult:
    auditor = Auditor(Context(StructuredChat(chat), base, Persona(user="Ann")))
    return await run_audit(base, auditor, RunOptions(LATER, **fields))


async def test_a_run_reads_each_user_once(base: KnowledgeBase) -> None:
    """Those with news, each in a request of its own; a dry run changes nothing."""
    await keep(base, ULM)
    await keep(base, BONN, day=1)
    await keep(base, "Bob sings.", user_id="bob")
    moved = audit_of(finds("DELETE", "m1", "m2"))
    chat = Scripted(lambda request: moved if ULM in str(request) else NOTHING)
    dry = await run(base, chat, dry_run=True)
    assert (dry.due, sorted(item.op for item in dry.items)) == (2, ["DELETE", "SKIP"])
    assert await contents(base) == [ULM, BONN]
    done = await run(base, chat)
    assert (done.calls, done.count("DELETE"), await contents(base)) == (2, 1, [BONN])
    assert not [one for one in chat.requests if "Bob" in str(one) and "Ann lives" in str(one)]
    assert (await run(base, chat)).due == 0
