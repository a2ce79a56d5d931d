"""Pairing: which whisper a turn answers, named by its host or by its session."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as profile, strategies as st

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Category
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.turn import Turn
from souffleur.recall.compose import Recall
from souffleur.service.intake import MAX_WHISPERED_IDS, Pairing
from souffleur.settings import Settings
from tests.build import NOW
from tests.place import at_once, where
from tests.scripted import SKIP, Scripted
from tests.stores import open_empty

ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}
TEA, CAT = derive_id("tea"), derive_id("cat")


def open_memory(folder: Path, chat: Any = None, *, kept: bool = False) -> Any:
    chosen = Settings(**where(folder), embedder="hash:64", retry_pause=0.0)
    return (Souffleur.open if kept else open_empty)(chosen, chat=chat, clock=lambda: NOW)


async def kept(memory: Souffleur, content: str, user_id: str = "ann") -> str:
    """Have a memory, and return its id."""
    (outcome,) = await memory.remember(content, user_id=user_id)
    return outcome.memory_ids[0]


async def turns(memory: Souffleur) -> list[Turn]:
    return await memory.knowledge.journal.turns(user_id="ann")


@at_once
async def test_two_recalls_of_a_session_overlap(tmp_path: Path) -> None:
    """Each turn holds what was whispered before its own reply, in whatever order they end."""
    async with open_memory(tmp_path) as memory:
        tea = await memory.recall(**ME, text="tea?")
        milk_id = await kept(memory, "Ann likes milk.")
        milk = await memory.recall(**ME, text="milk?")
        memory.observe(**ME, user="milk?", assistant="Yes!", whisper=milk)
        memory.observe(**ME, user="tea?", assistant="No?", whisper=tea)
        assert [turn.injected for turn in await turns(memory)] == [(milk_id,), ()]


@at_once
@pytest.mark.parametrize("form", [lambda recall: recall, lambda recall: carried(recall)])
async def test_a_whisper_of_another_process(tmp_path: Path, form: Any) -> None:
    """Given by name or carried as JSON, a whisper makes the turn that pairing makes."""
    async with open_memory(tmp_path, kept=True) as memory:
        tea = await kept(memory, "Ann likes green tea.")
        recall = await memory.recall(**ME, text="green tea?")
        memory.observe(**ME, user="green tea?", assistant="Yes!", turn_id="a")
    async with open_memory(tmp_path, kept=True) as memory:
        memory.observe(**ME, user="green tea?", assistant="Yes!", turn_id="b", whisper=form(recall))
        paired, named = await turns(memory)
        apart = {"id", "turn_id", "seq", "place"}
        assert paired.model_dump(exclude=apart) == named.model_dump(exclude=apart)
        assert named.injected == (tea,)


def carried(recall: Recall) -> Any:
    return json.loads(json.dumps(recall.judgeable_ids))


@at_once
async def test_a_regenerated_reply_keeps_its_whisper(tmp_path: Path) -> None:
    """Observed again under its turn id with the same whisper, the turn holds it as before."""
    async with open_memory(tmp_path) as memory:
        tea = await kept(memory, "Ann likes green tea.")
        recall = await memory.recall(**ME, text="green tea?")
        for reply in ("Yes!", "Indeed!"):
            memory.observe(**ME, user="tea?", assistant=reply, turn_id="t", whisper=recall)
        (turn,) = await turns(memory)
        assert (turn.version, turn.injected) == (1, (tea,))


@at_once
async def test_messages_to_remember_take_no_whisper(tmp_path: Path) -> None:
    """Past talk that is given to `remember` answers nothing: the next turn has the whisper."""
    async with open_memory(tmp_path) as memory:
        tea = await kept(memory, "Ann likes green tea.")
        await memory.recall(**ME, text="green tea?")
        await memory.remember([{"role": "user", "content": "I am 30"}], **ME)
        memory.observe(**ME, user="green tea?", assistant="Yes!")
        assert [turn.injected for turn in await turns(memory)] == [(), (tea,)]


async def test_nobody_elses_memory_is_shown_or_counted(tmp_path: Path) -> None:
    """Ids of another user, and of nothing, change nothing and are not in the question."""
    chat = Scripted(lambda _: SKIP)
    async with open_memory(tmp_path, chat) as memory:
        theirs = await kept(memory, "Bob likes black tea.", "bob")
        memory.observe(**ME, user="tea?", assistant="Yes!", whisper=[theirs, CAT])
        await memory.flush()
        (untouched,) = await memory.knowledge.list("bob")
        assert (untouched.recalls, untouched.uses) == (0, 0)
        assert "Bob" not in chat.requests[0].messages[1].content


async def test_all_ids_of_a_recall_do_no_harm(tmp_path: Path) -> None:
    """Episodes and portrait among the ids are not for the judge: they are not marked as used."""
    chat = Scripted(lambda _: SKIP)
    async with open_memory(tmp_path, chat) as memory:
        tea, told = await kept(memory, "Ann likes tea."), await kept(memory, "Ann had an exam.")
        of_episodes = {"category": Category.EPISODE, "labels": ["category:episode"]}
        await memory.knowledge.memories.merge_payload([told], of_episodes)
        memory.observe(**ME, user="hm?", assistant="Yes!", whisper=[told, tea])
        await memory.flush()
        recalls = {
            id: (await memory.knowledge.get(id, user_id="ann")).recalls for id in (tea, told)
        }
        assert recalls == {tea: 1, told: 0}
        assert "m1* " in chat.requests[0].messages[1].content
        assert "exam" not in chat.requests[0].messages[1].content


def broken() -> Iterator[str]:
    yield TEA
    raise RuntimeError("half of it")


@pytest.mark.parametrize(
    ("whisper", "ids", "odd"),
    [
        ([TEA, TEA, CAT], (TEA, CAT), ""),
        (iter([TEA]), (TEA,), ""),
        ([], (), ""),
        (Recall(), (), ""),
        ([TEA, None, 7, "m1", TEA.upper()], (TEA,), "holds 4 that is no id"),
        (None, (CAT,), ""),
        (TEA, (CAT,), "not str"),
        (7, (CAT,), "not int"),
        (broken(), (CAT,), "RuntimeError"),
        (itertools.repeat(TEA), (TEA,), f"more than {MAX_WHISPERED_IDS}"),
    ],
    ids=["ids", "iterator", "none", "empty", "odd", "None", "str", "int", "broken", "endless"],
)
def test_what_a_whisper_may_be(whisper: Any, ids: tuple[str, ...], odd: str) -> None:
    """Ids are taken, once each; what is none is told; what is no whisper at all is paired."""
    pairing = Pairing()
    pairing.note("ann", "s1", Recall(judgeable_ids=(CAT,)))
    taken, trouble = pairing.take("ann", "s1", whisper)
    assert taken == ids
    assert odd in trouble
    assert bool(odd) == bool(trouble)


def test_a_whisper_is_taken_once() -> None:
    """A turn that names the latest whisper leaves none for the next; one of another leaves it."""
    pairing = Pairing()
    tea, cat = Recall(judgeable_ids=(TEA,)), Recall(judgeable_ids=(CAT,))
    pairing.note("ann", "s1", cat)
    assert pairing.take("ann", "s1", tea) == ((TEA,), "")
    assert pairing.take("ann", "s1", cat) == ((CAT,), "")
    assert pairing.take("ann", "s1") == ((), "")


def test_what_is_remembered_is_bounded() -> None:
    """Of more sessions than it may remember, the longest unused goes; each by its own user."""
    pairing = Pairing(max_sessions=2)
    for user in ("ann", "bob", "ann", "cid"):
        pairing.note(user, "s1", Recall(judgeable_ids=(derive_id(user),)))
    found = [pairing.take(user, "s1")[0] for user in ("ann", "bob", "cid")]
    assert found == [(derive_id("ann"),), (), (derive_id("cid"),)]


def test_no_whisper_makes_observe_raise(tmp_path: Path) -> None:
    """Whatever is given as a whisper, the turn is durable."""
    anything: st.SearchStrategy[Any] = st.recursive(
        st.none() | st.text(max_size=5) | st.integers() | st.binary(max_size=5) | st.uuids(),
        lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one),
        max_leaves=5,
    )
    with asyncio.Runner() as runner:
        memory = runner.run(opened(tmp_path))

        @given(anything, st.sampled_from([lambda one: one, lambda one: Recall(judgeable_ids=one)]))
        @profile(max_examples=100)
        def try_out(whisper: Any, form: Any) -> None:
            assert memory.observe(**ME, user="hi", whisper=form(whisper)).durable

        try_out()
        runner.run(memory.close())


async def opened(folder: Path) -> Souffleur:
    memory: Souffleur = await open_memory(folder)
    return memory
