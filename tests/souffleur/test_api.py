"""The runtime: recall, observe, remember, forget, flush, close, with a scripted model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Opening, Souffleur
from souffleur.errors import EndpointError, StoreError
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import Refusal
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.turn import TurnState
from souffleur.settings import Settings
from tests.build import NOW, days
from tests.place import at_once, where
from tests.scripted import SKIP, Script, Scripted, add, answer, boost, update
from tests.simulated_time import SimulatedTime
from tests.stores import open_empty
from tests.stub import Stub, say

ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}


def settings(folder: Path, **fields: Any) -> Settings:
    base: dict[str, Any] = {**where(folder), "embedder": "hash:128", "retry_pause": 0.0}
    names = {"user_title": "Ann", "assistant_name": "Mo"}
    return Settings(**{**base, **names, **fields})


@asynccontextmanager
async def opened(
    folder: Path, script: Script | list[Any] | None, *, kept: bool = False, **fields: Any
) -> AsyncIterator[Souffleur]:
    chat = None if script is None else Scripted(script)
    at = Souffleur.open if kept else open_empty
    async with at(settings(folder, **fields), chat=chat, clock=lambda: NOW) as memory:
        yield memory


def keep_all(request: Any) -> dict[str, Any]:
    """A judge that keeps what follows "I " word for word."""
    said = request.messages[1].content.rpartition("Ann: ")[2].partition("\n")[0]
    return answer(add(f"Ann {said.removeprefix('I ')}", said)) if said.startswith("I ") else SKIP


async def test_what_is_told_is_whispered_later(tmp_path: Path) -> None:
    """A fact of one session is in the block for a matching message of another."""
    async with opened(tmp_path, keep_all) as memory:
        memory.observe(**ME, user="I love green tea", assistant="Noted!")
        await memory.flush()
        whisper = await memory.recall(user_id="ann", session_id="s2", text="some green tea?")
        assert "- Ann love green tea" in whisper.text
        assert len(whisper.ids) == 1


async def test_what_was_whispered_is_marked_for_the_judge(tmp_path: Path) -> None:
    """The judge of the next turn sees what the companion was reminded of."""
    chat = Scripted(keep_all)
    async with open_empty(settings(tmp_path), chat=chat, clock=lambda: NOW) as memory:
        memory.observe(**ME, user="I love green tea", assistant="Noted!")
        await memory.flush()
        await memory.recall(**ME, text="green tea?")
        memory.observe(**ME, user="green tea?", assistant="Your favourite!")
        await memory.flush()
        (known,) = await memory.knowledge.list("ann")
        assert "m1* " in chat.requests[-1].messages[1].content
        assert known.recalls == 1


async def test_recall_calls_no_model_and_a_turn_calls_it_once(
    tmp_path: Path, stub: Callable[..., Stub]
) -> None:
    """Over real HTTP: none for recall, one for each of three judged turns."""
    endpoint = stub(say('{"reason": "small talk", "ops": [{"op": "SKIP", "reason": "none"}]}'))
    chosen = settings(tmp_path, base_url=endpoint.base_url, model="stub")
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        for count in range(1, 4):
            await memory.recall(**ME, text="hello")
            memory.observe(**ME, user=f"hello {count}", assistant="hi")
            await memory.flush()
            assert len(endpoint.requests) == count


@at_once
async def test_a_turn_seen_twice_is_one_turn(tmp_path: Path) -> None:
    """The same turn id with the same words is judged once."""
    chat = Scripted([SKIP])
    async with open_empty(settings(tmp_path), chat=chat) as memory:
        assert memory.observe(**ME, user="hi", assistant="ho", turn_id="t").new
        assert not memory.observe(**ME, user="hi", assistant="ho", turn_id="t").new
        await memory.flush()
        assert not memory.observe(**ME, user="hi", assistant="ho", turn_id="t").new
        await memory.flush()


async def test_another_reply_undoes_the_first(tmp_path: Path) -> None:
    """A regenerated turn is judged again, and what its first version brought is taken back."""
    script = [answer(add("Ann likes tea.", "tea")), answer(add("Ann likes milk.", "milk"))]
    async with opened(tmp_path, script) as memory:
        memory.observe(**ME, user="tea or milk", assistant="tea!", turn_id="t")
        await memory.flush()
        memory.observe(**ME, user="tea or milk", assistant="milk!", turn_id="t")
        await memory.flush()
        assert [m.content for m in await memory.knowledge.list("ann")] == ["Ann likes milk."]


async def test_another_reply_leaves_what_the_user_has_changed_since(tmp_path: Path) -> None:
    """A turn of which something was edited is judged again all the same, and the edit stays."""
    async with opened(tmp_path, [answer(add("Ann likes tea.", "tea")), SKIP]) as memory:
        memory.observe(**ME, user="tea or milk", assistant="tea!", turn_id="t")
        await memory.flush()
        (tea,) = await memory.list(user_id="ann")
        await memory.edit(tea.id, "Ann likes green tea.", user_id="ann")
        memory.observe(**ME, user="tea or milk", assistant="milk!", turn_id="t")
        await memory.flush()
        assert (await memory.health()).set_aside == 0
        assert [one.content for one in await memory.list(user_id="ann")] == ["Ann likes green tea."]


async def test_another_reply_leaves_what_other_turns_told(tmp_path: Path) -> None:
    """Of turns that were judged together, only what rests on the replaced one is taken back."""
    both = [add("Ann has a cat.", "a cat"), add("Ann has a dog.", "a dog"), boost("m1")]
    async with opened(tmp_path, [answer(*both), SKIP]) as memory:
        (known,) = await memory.remember("Ann is shy.", user_id="ann", at=NOW - days(1))
        (id,) = known.memory_ids
        memory.observe(**ME, user="I have a cat", assistant="ok", turn_id="1", whisper=[id])
        memory.observe(**ME, user="I have a dog", assistant="ok", turn_id="2")
        await memory.flush()
        memory.observe(**ME, user="I have a dog", assistant="Aw!", turn_id="2")
        await memory.flush()
        left = {one.content: one.uses for one in await memory.list(user_id="ann")}
        assert left == {"Ann has a cat.": 0, "Ann is shy.": 1}


async def test_a_reply_replaced_while_it_is_judged(tmp_path: Path) -> None:
    """The new version is judged after the old one, whose memories are taken back."""
    asked, gate = asyncio.Event(), asyncio.Event()

    async def chat(request: Any) -> Any:
        asked.set()
        await gate.wait()
        milk = "milk!" in request.messages[1].content
        kept = add("Ann likes milk.", "milk") if milk else add("Ann likes tea.", "tea")
        return await Scripted([answer(kept)])(request)

    async with open_empty(settings(tmp_path), chat=chat) as memory:
        memory.observe(**ME, user="tea or milk", assistant="tea!", turn_id="t")
        await asked.wait()
        memory.observe(**ME, user="tea or milk", assistant="milk!", turn_id="t")
        gate.set()
        await memory.flush()
        assert [m.content for m in await memory.knowledge.list("ann")] == ["Ann likes milk."]


async def test_rewound_turns_are_taken_back(tmp_path: Path) -> None:
    """What they said and brought is gone before what stands in their place is judged."""

    def judge(request: Any) -> Any:
        said = request.messages[1].content.rpartition("Ann: ")[2]
        if "berry" in said:
            return answer(update("m1", "Ann likes tea with berries.", "berry"))
        if "milk" in said:
            return answer(add("Ann likes milk.", "milk"))
        return answer(add("Ann likes tea.", "tea")) if "tea" in said else SKIP

    chat = Scripted(judge)
    async with open_empty(settings(tmp_path), chat=chat) as memory:
        memory.observe(**ME, user="hello", assistant="ho", turn_id="t1")
        for id, said in (("t2", "I like tea"), ("t3", "a berry in my tea")):
            memory.observe(**ME, user=said, assistant="ok", turn_id=id)
            await memory.flush()
        asked = len(chat.requests)
        assert "berries" in (await memory.recall(**ME, text="I like milk")).text
        back = await memory.recall(**ME, text="I like milk", rewound=["t2", "t3"])
        assert "berries" not in back.text  # while it is still known
        memory.observe(
            **ME, user="I like milk", assistant="so", turn_id="t2", rewound=["t3", "never"]
        )
        await memory.flush()
        assert [m.content for m in await memory.knowledge.list("ann")] == ["Ann likes milk."]
        assert len(chat.requests) == asked + 1
        turns = await memory.knowledge.journal.turns(user_id="ann")
        assert [turn.user for turn in turns] == ["hello", "I like milk", ""]
        assert not (await memory.recall(**ME, text="berry")).text.count("berry")


async def test_a_rewound_turn_may_come_again(tmp_path: Path) -> None:
    """Said once more, it is judged as any other."""
    async with opened(tmp_path, keep_all) as memory:
        for said in ("I like tea", "I like milk"):
            memory.observe(**ME, user=said, assistant="ok", turn_id=said)
            await memory.flush()
        memory.observe(**ME, user="I like rum", assistant="ok", rewound="I like milk")
        await memory.flush()
        assert len(await memory.knowledge.list("ann")) == 2
        memory.observe(**ME, user="I like milk", assistant="ok", turn_id="I like milk")
        await memory.flush()
        assert len(await memory.knowledge.list("ann")) == 3


async def test_observed_from_another_thread_a_turn_waits_for_flush(tmp_path: Path) -> None:
    """Without an event loop a turn is durable all the same, and judged on the next flush."""
    async with opened(tmp_path, keep_all) as memory:
        await asyncio.to_thread(memory.observe, **ME, user="I like tea", assistant="ok")
        await memory.flush()
        assert len(await memory.knowledge.list("ann")) == 1


@at_once
async def test_waiting_turns_of_a_session_are_judged_together(tmp_path: Path) -> None:
    """Turns that queued up behind a busy judge cost one call, and each is marked judged."""
    chat = Scripted(lambda _: SKIP)
    async with open_empty(settings(tmp_path), chat=chat) as memory:
        for count in range(4):
            memory.observe(**ME, user=f"line {count}", assistant="ok")
        await memory.flush()
        turns = await memory.knowledge.journal.turns(user_id="ann")
        assert [turn.state for turn in turns] == [TurnState.JUDGED] * 4
        assert len(chat.requests) == 1
        assert "line 0" in chat.requests[0].messages[1].content


async def test_turns_wait_for_the_next_start(tmp_path: Path) -> None:
    """What was observed without a model is judged once there is one."""
    async with opened(tmp_path, None, kept=True) as memory:
        memory.observe(**ME, user="I like tea", assistant="ok")
    async with opened(tmp_path, keep_all, kept=True) as memory:
        await memory.flush()
        assert [m.content for m in await memory.knowledge.list("ann")] == ["Ann like tea"]


async def test_the_window_survives_a_restart(tmp_path: Path) -> None:
    """The judge sees the messages before a turn although the process is new."""
    async with opened(tmp_path, lambda _: SKIP, kept=True) as memory:
        memory.observe(**ME, user="my cat is ill", assistant="oh no")
        await memory.flush()
    chat = Scripted(lambda _: SKIP)
    async with Souffleur.open(settings(tmp_path), chat=chat, clock=lambda: NOW) as memory:
        memory.observe(**ME, user="better now", assistant="good")
        await memory.flush()
    earlier = chat.requests[0].messages[1].content.partition("## Earlier")[2].partition("\n")[2]
    assert "my cat is ill" in earlier


async def test_a_long_talk_is_one_talk(tmp_path: Path) -> None:
    """What was told at its beginning is in view to its end, and no reply needs the memory."""
    judge = Scripted([answer(add("Ann likes tea.", "tea")), *[answer(boost("m1"))] * 6])
    async with open_empty(settings(tmp_path), chat=judge, clock=lambda: NOW) as memory:
        for place in range(7):
            at = NOW + days(place / 72)
            memory.observe(**ME, user=f"tea {place}", assistant="ok", at=at)
            await memory.flush()
        entries = await memory.knowledge.journal.entries("ann")
    assert [entry.refused for entry in entries] == [None, *[Refusal.USELESS] * 6]


async def test_incognito_reads_and_writes_nothing(tmp_path: Path) -> None:
    """Neither the journal nor the counters see an incognito turn."""
    async with opened(tmp_path, keep_all) as memory:
        await memory.remember("Ann likes tea.", user_id="ann")
        assert (await memory.recall(**ME, text="tea", incognito=True)).text == ""
        memory.observe(**ME, user="I like milk", assistant="ok", incognito=True)
        await memory.flush()
        assert await memory.knowledge.journal.turns() == []


async def test_remember_keeps_the_very_words(tmp_path: Path) -> None:
    """A sentence told to be kept is there, verified, without a model; a secret is refused."""
    async with opened(tmp_path, None) as memory:
        (kept,) = await memory.remember("Ann likes tea.", user_id="ann")
        assert kept.changes[0].after.verified
        (secret,) = await memory.remember("Ann's password is hunter2000", user_id="ann")
        assert secret.refused is Refusal.SENSITIVE


async def test_forget_by_words_takes_what_is_meant(tmp_path: Path) -> None:
    """The memory that the words name is forgotten, others stay; by id likewise."""
    async with opened(tmp_path, None) as memory:
        (tea,) = await memory.remember("Ann likes green tea.", user_id="ann")
        (cat,) = await memory.remember("Ann has a cat called Tofu.", user_id="ann")
        assert [o.memory_ids for o in await memory.forget("green tea", user_id="ann")] == [
            tea.memory_ids
        ]
        await memory.forget(cat.memory_ids[0], user_id="ann")
        assert await memory.knowledge.list("ann") == []


async def test_nobody_forgets_what_is_anothers(tmp_path: Path) -> None:
    """By its id or by its words, a memory of somebody else is not even shown as meant."""
    async with opened(tmp_path, None) as memory:
        (tea,) = await memory.remember("Ann likes green tea.", user_id="ann")
        for query in (*tea.memory_ids, "green tea"):
            assert await memory.forget(query, user_id="bob", dry_run=True) == []
            assert await memory.forget(query, user_id="bob") == []
        assert len(await memory.forget(tea.memory_ids[0], user_id="ann", dry_run=True)) == 1


async def test_forget_tells_first_what_it_would_forget(tmp_path: Path) -> None:
    """A dry run returns the entries that forgetting then writes, and changes nothing."""
    async with opened(tmp_path, None) as memory:
        (tea,) = await memory.remember("Ann likes green tea.", user_id="ann")
        (shown,) = await memory.forget("green tea", user_id="ann", dry_run=True)
        assert (shown.op, shown.memory_ids, shown.refused) == ("FORGET", tea.memory_ids, None)
        assert [one.content for one in await memory.list(user_id="ann")] == ["Ann likes green tea."]
        (done,) = await memory.forget("green tea", user_id="ann")
        assert (done.op, done.memory_ids) == (shown.op, shown.memory_ids)


async def test_confirm_and_reject(tmp_path: Path) -> None:
    """With extraction off, proposals wait for yes or no."""
    async with opened(tmp_path, keep_all, auto_extract=False) as memory:
        for count, line in enumerate(("I like tea", "I like mud")):
            memory.observe(**ME, user=line, assistant="ok", turn_id=str(count))
            await memory.flush()
        tea, mud = await memory.knowledge.list("ann", states=(MemoryState.PENDING,))
        assert (await memory.recall(**ME, text="tea and mud")).text == ""
        await memory.confirm(tea.id, user_id="ann")
        await memory.reject(mud.id, user_id="ann")
        assert [m.id for m in await memory.knowledge.list("ann")] == [tea.id]


async def test_observe_raises_nothing(tmp_path: Path) -> None:
    """Even a turn that cannot be kept is only reported in the receipt."""
    async with opened(tmp_path, None) as memory:
        receipt = memory.observe(user_id="ann", user=[7])
        assert "user: int is no text" in receipt.error
        assert not receipt.durable


@at_once
async def test_a_broken_store_does_not_fail_a_reply(tmp_path: Path) -> None:
    """Recall on a store that is gone gives an empty block and says why; observe and close too."""
    memory = await open_empty(settings(tmp_path))
    await memory.knowledge.close()
    whisper = await memory.recall(**ME, text="tea")
    assert whisper.text == ""
    assert "StoreError" in whisper.error
    assert memory.observe(**ME, user="tea", assistant="ok").error
    assert not memory.end_session(**ME)
    with pytest.raises(StoreError, match="is lost, turns: 1"):
        await memory.close()


async def test_users_are_judged_side_by_side(tmp_path: Path) -> None:
    """A slow judgement of one user does not hold up another's."""
    gate, quick = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def chat(request: Any) -> Any:
        if "slow" in request.messages[1].content:
            await gate.wait()
            done.append("slow")
        else:
            done.append("quick")
            quick.set()
        return await Scripted([SKIP])(request)

    async with open_empty(settings(tmp_path), chat=chat) as memory:
        memory.observe(user_id="ann", user="slow", assistant="ok")
        memory.observe(user_id="bob", user="quick", assistant="ok")
        await quick.wait()
        gate.set()
        await memory.flush()
    assert done == ["quick", "slow"]


async def test_close_leaves_what_takes_too_long(tmp_path: Path) -> None:
    """Shutdown drains for the time given; the rest is judged after the next start."""

    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    async with Souffleur.open(settings(tmp_path, shutdown_timeout=0.1), chat=never) as memory:
        memory.observe(**ME, user="I like tea", assistant="ok")
        assert not await memory.flush(0.05)
    async with opened(tmp_path, keep_all, kept=True) as memory:
        await memory.flush()
        assert len(await memory.knowledge.list("ann")) == 1


async def test_close_judges_what_was_observed(tmp_path: Path) -> None:
    """Turns that a judge was busy with, or that waited, are judged before the store is closed."""

    async def slow(request: Any) -> Any:
        await asyncio.sleep(0.01)
        return await Scripted(keep_all)(request)

    async with Souffleur.open(settings(tmp_path), chat=slow) as memory:
        memory.observe(**ME, user="I like tea", assistant="ok")
        memory.observe(user_id="bob", user="I like milk", assistant="ok")
    async with opened(tmp_path, None, kept=True) as memory:
        assert len(await memory.knowledge.list(None)) == 2


async def test_a_given_embedder_is_used(tmp_path: Path) -> None:
    """It stands in for the one that the settings name, which is not even made."""
    given = make_embedder("hash:64")
    named = settings(tmp_path, embedder="no such embedder")
    async with open_empty(named, embedder=given) as memory:
        assert memory.knowledge.embedder is given
        memory.observe(**ME, user="I like tea", assistant="ok")
        await memory.flush()
    assert given.dimension == 64


async def test_after_close_nothing_goes_on(tmp_path: Path) -> None:
    """No task of judging, telling or upkeep is left, and none begins in the hours after."""
    chat, time = Scripted(lambda _: EndpointError("busy")), SimulatedTime(NOW)
    begun: list[Any] = []

    def note(loop: Any, work: Any, **more: Any) -> Any:
        begun.append(work)
        return asyncio.Task(work, loop=loop, **more)

    before = asyncio.all_tasks()
    async with Opening(settings(tmp_path, retry_pause=30.0), chat, time.source) as memory:
        for line in ("I like tea", "I like milk"):
            memory.observe(**ME, user=line, assistant="ok")
        memory.end_session(**ME)
        await time.pass_(60.0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    loop = asyncio.get_running_loop()
    loop.set_task_factory(note)
    try:
        await time.pass_(7200.0)
    finally:
        loop.set_task_factory(None)
    assert begun == []


@pytest.mark.parametrize(
    ("failures", "fields"),
    [
        pytest.param([EndpointError("busy", retry_after=9999.0)], {}, id="as the endpoint asks"),
        pytest.param([EndpointError("busy")], {"retry_pause": 9999.0}, id="as it is set"),
        pytest.param(["so?", "so?"], {"retry_pause": 9999.0}, id="after an answer of no use"),
    ],
)
async def test_no_turn_waits_for_more_than_five_minutes(
    tmp_path: Path, failures: list[Any], fields: dict[str, Any]
) -> None:
    """However long an endpoint or a setting wants it to: then the model is asked again."""
    answers = [*failures, answer(add("Ann likes tea.", "tea"))]
    chat, time = Scripted(lambda _: answers.pop(0)), SimulatedTime(NOW)
    async with Opening(settings(tmp_path, **fields), chat, time.source) as memory:
        memory.observe(**ME, user="I like tea", assistant="ok")
        await time.pass_(1.0)
        assert len(answers) == 1  # it was not asked again at once
        await time.pass_(300.0)
        assert answers == []


async def test_core_and_the_most_important_are_always_there(tmp_path: Path) -> None:
    """Without any match the block still holds the core, and what else is known."""
    async with opened(tmp_path, None) as memory:
        (low,) = await memory.remember("Ann has a red bicycle.", user_id="ann")
        await memory.remember("Ann is allergic to peanuts.", user_id="ann")
        await memory.knowledge.memories.merge_payload(
            [low.memory_ids[0]],
            {"category": "core", "labels": ["category:core"], "importance": 3.0},
        )
        whisper = await memory.recall(**ME, text="日本語で話そう")
        assert [line for line in whisper.text.splitlines() if line.startswith("-")] == [
            "- Ann has a red bicycle.",
            "- Ann is allergic to peanuts.",
        ]


async def test_a_plan_comes_to_mind_when_its_day_is_near(tmp_path: Path) -> None:
    """From three days before an exam to two after, it is said to be due."""
    exam = add("Ann has an exam on 2026-01-20.", "exam", kind="todo", until="2026-01-20")
    async with opened(tmp_path, [answer(exam)]) as memory:
        memory.observe(**ME, user="exam on the 20th", assistant="ok")
        await memory.flush()

        async def is_due(day: int) -> bool:
            at = NOW.replace(day=day)
            asked = {**ME, "session_id": "another"}
            return "### Due" in (await memory.recall(**asked, text="well", at=at)).text

        assert [day for day in range(3, 32) if await is_due(day)] == [17, 18, 19, 20, 21, 22]


async def test_a_boost_makes_a_memory_last(tmp_path: Path) -> None:
    """A memory that shaped a reply is worth more at the end of its grace than an unused one."""
    script = [answer(add("Ann likes tea.", "tea")), answer(boost("m1"))]
    async with opened(tmp_path, script) as memory:
        memory.observe(**ME, user="tea", assistant="ok", at=NOW)
        await memory.flush()
        memory.observe(**ME, user="thirsty", assistant="Tea then!", at=NOW + days(6))
        await memory.flush()
        (one,) = await memory.knowledge.list("ann")
        assert (one.uses, one.importance) == (1, 1.3)


async def test_opened_by_hand_it_is_closed_by_hand(tmp_path: Path) -> None:
    """`await Souffleur.open()` and `close()` do what `async with` does."""
    memory = await Souffleur.open(settings(tmp_path), chat=Scripted([]))
    await memory.close()
    again = await Souffleur.open(settings(tmp_path), chat=Scripted([]))
    await again.close()


async def test_what_is_printed_is_short(tmp_path: Path) -> None:
    """A memory, a hit and a ledger entry are a line each, and a refusal is not overlooked."""
    async with opened(tmp_path, None) as memory:
        (kept,) = await memory.remember("Ann likes tea.", user_id="ann")
        (again,) = await memory.remember("Ann likes tea.", user_id="ann")
        (found,) = await memory.search("tea", user_id="ann")
    short = found.memory.id[:8]
    assert repr(found.memory) == f"<Memory {short} fact: 'Ann likes tea.'>"
    assert repr(found).endswith(f" {found.memory!r}>")
    assert repr(kept) == f"<LedgerEntry {kept.id[:8]} ADD: 'Ann likes tea.'>"
    assert repr(again).startswith("<LedgerEntry ADD REFUSED, duplicate: ")
