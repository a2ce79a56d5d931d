"""Ids: nobody is everybody, no id imitates another, and each method keeps to its user."""

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as profile, strategies as st

from souffleur.api import Souffleur
from souffleur.errors import InputError, NotFoundError
from souffleur.knowledge.identity import MAX_ID_LENGTH, check_id
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import Actor, ActorKind, Add, derive_id
from souffleur.knowledge.search.query import EVERYWHERE, Query
from souffleur.knowledge.turn import TurnState
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, verdict
from tests.stores import empty_base

NO_IDS = [
    "",
    " ",
    "\t\n",
    "\u200b",
    "\u2060\ufeff",
    "\u3164",
    "cut \ud83d",
    "x" * (MAX_ID_LENGTH + 1),
]
ODD_IDS = [
    "ann",
    "Ann",
    "ａｎｎ",
    "ann ",
    "ann\x00",
    "ann\u200b",
    "\u202eann",
    "ann\x1fs1",
    "ann\x1e1s1",
    "é",
    "e\u0301",
    "None",
    "null",
    "*",
    "%",
    "x" * MAX_ID_LENGTH,
    "../../etc/passwd",
    '{"must": []}',
]
SECRETS = [f"the secret number {index} of its own user" for index in range(len(ODD_IDS))]


@pytest.mark.parametrize("id", [*NO_IDS, None, 7, b"ann"], ids=lambda id: ascii(id)[:12])
def test_what_names_nobody_is_no_id(id: Any) -> None:
    """Blanks, halves of a character, what is too long or no string at all."""
    with pytest.raises(InputError, match="user_id"):
        check_id(id)


parts = st.lists(st.text(alphabet="ab\x1f\x1e01", max_size=5), min_size=1, max_size=4)


@given(parts, parts)
def test_no_parts_imitate_others(one: list[str], other: list[str]) -> None:
    """Ids derived from different parts differ, whatever the parts hold."""
    assert (derive_id(*one) == derive_id(*other)) == (one == other)


def calls(memory: Souffleur, user: Any) -> dict[str, Callable[[], Any]]:
    """Every public method that takes a user, called for this one."""
    base, id = memory.knowledge, derive_id("nobody's")
    by = Actor(who=ActorKind.USER)
    journal, sessions = base.journal, base.sessions
    return {
        "remember": lambda: memory.remember("x", user_id=user),
        "remember messages": lambda: memory.remember(
            [{"role": "user", "content": "x"}], user_id=user
        ),
        "ask": lambda: memory.ask("x", user_id=user),
        "forget": lambda: memory.forget("x", user_id=user),
        "forget, dry": lambda: memory.forget("x", user_id=user, dry_run=True),
        "confirm": lambda: memory.confirm(id, user_id=user),
        "reject": lambda: memory.reject(id, user_id=user),
        "retry": lambda: memory.retry(user_id=user),
        "list": lambda: base.list(user),
        "search": lambda: base.search(Query(user, "x", NOW, scope=EVERYWHERE)),
        "get": lambda: base.get(id, user_id=user),
        "get_many": lambda: base.get_many(user, [id]),
        "find_usable": lambda: base.find_usable(user, [id]),
        "history": lambda: base.history(id, user_id=user),
        "episodes": lambda: base.episodes(user, limit=3, now=NOW),
        "portrait": lambda: base.portrait(user),
        "portraits": lambda: base.portraits(user),
        "most_valuable": lambda: base.most_valuable(user, limit=3, now=NOW),
        "plans_near": lambda: base.plans_near(user, limit=3, now=NOW),
        "due": lambda: base.due(NOW, (), user_id=user, limit=3),
        "count_due": lambda: base.count_due(NOW, (), user_id=user),
        "apply": lambda: base.apply(verdict(Add(reason="", quote="", content="x"), user_id=user)),
        "entries": lambda: journal.entries(user),
        "turns": lambda: journal.turns(user_id=user),
        "unsettled": lambda: journal.unsettled(user),
        "drop_words": lambda: journal.drop_words(NOW, {}, user),
        "waiting": lambda: sessions.waiting_segments(user),
        "segments": lambda: sessions.segments(user),
        "unembedded": lambda: sessions.unembedded(user, limit=3),
        "undo": lambda: base.undo(id, user_id=user, by=by, now=NOW),
    }


async def is_refused(call: Callable[[], Any]) -> bool:
    """Whether the call raises InputError."""
    try:
        await call()
    except InputError:
        return True
    return False


@pytest.mark.parametrize("user", NO_IDS, ids=lambda id: ascii(id)[:12])
async def test_every_method_refuses_what_names_nobody(tmp_path: Path, user: str) -> None:
    """Each raises InputError; `recall` and `observe` tell it; nothing is read or written."""
    base = await empty_base(tmp_path, dimension=16)
    memory = Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings(path=tmp_path))
    memory.observe(user_id="bob", user="bob's secret")
    await memory.flush()
    took = [name for name, call in calls(memory, user).items() if not await is_refused(call)]
    assert took == []
    whisper = await memory.recall(user_id=user, text="secret")
    assert (whisper.text, "user_id" in whisper.error) == ("", True)
    receipt = memory.observe(user_id=user, user="secret of nobody")
    assert (receipt.new, receipt.durable, "user_id" in receipt.error) == (False, False, True)
    assert memory.end_session(user_id=user) is False
    assert [turn.user for turn in await base.journal.turns()] == ["bob's secret"]
    assert [turn.state for turn in await base.journal.turns()] == [TurnState.PENDING]
    await memory.close()


@pytest.mark.parametrize("field", ["session_id", "agent_id", "turn_id"])
async def test_other_ids_are_held_to_the_same(tmp_path: Path, field: str) -> None:
    """A session, persona or turn without a name is told of, and the turn is not kept."""
    memory = Souffleur(
        Parts(await empty_base(tmp_path, dimension=16), times=from_clock(lambda: NOW)), Settings()
    )
    receipt = memory.observe(user_id="ann", user="hi", **{field: "cut \ud83d"})  # type: ignore[arg-type]
    assert (receipt.durable, field in receipt.error) == (False, True)
    assert await memory.knowledge.journal.turns() == []
    await memory.close()


Work = Callable[[Souffleur, KnowledgeBase], Coroutine[Any, Any, None]]


@pytest.fixture(scope="module")
def store() -> Any:
    """One store with a secret of each odd id."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        base = runner.run(empty_base(Path(folder), dimension=64))
        memory = Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings(path=Path(folder)))

        async def fill() -> None:
            for user, secret in zip(ODD_IDS, SECRETS, strict=True):
                assert not memory.observe(user_id=user, session_id="s1", user=secret).error
                (kept,) = await memory.remember(f"Known: {secret}", user_id=user)
                assert kept.refused is None
            await memory.flush()

        runner.run(fill())
        yield runner, memory
        runner.run(memory.close())


pairs = st.sampled_from(list(itertools.permutations(range(len(ODD_IDS)), 2)))


@given(pairs)
@profile(max_examples=120)
def test_no_odd_id_reads_or_touches_another(store: Any, pair: tuple[int, int]) -> None:
    """Look-alikes, joined ids and control characters: each user has what is their own, alone."""
    runner, memory = store
    me, other = ODD_IDS[pair[0]], ODD_IDS[pair[1]]
    mine, theirs = SECRETS[pair[0]], SECRETS[pair[1]]

    async def look() -> None:
        base: KnowledgeBase = memory.knowledge
        hits = await base.search(Query(me, theirs, NOW, scope=EVERYWHERE, limit=50))
        whisper = await memory.recall(user_id=me, session_id="s1", text=theirs)
        past = await memory.ask("what did I say today?", user_id=me, session_id="s1")
        window = await base.sessions.window(me, "s1")
        assert {turn.user for turn in window} == {mine}
        told = [hit.text for hit in (*hits, *past.found)] + [whisper.text]
        assert theirs not in " | ".join(told)
        (kept,) = await base.list(other)
        (entry,) = await base.journal.entries(other)
        for taken in (
            base.get(kept.id, user_id=me),
            base.history(kept.id, user_id=me),
            base.undo(entry.id, user_id=me, by=Actor(who=ActorKind.USER), now=NOW),
        ):
            with pytest.raises(NotFoundError):
                await taken
        assert await base.get_many(me, [kept.id]) == []
        assert (await memory.forget(kept.id, user_id=me)) == []
        assert await base.list(other) == [kept]

    runner.run(look())
