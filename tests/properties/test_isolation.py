"""Two users never see, nor touch, each other's memories, whatever they do."""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from souffleur.errors import NotFoundError, SouffleurError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, State
from souffleur.knowledge.operation import Add, Boost, By, Delete, Edit, Forget, Op, Update, Who
from souffleur.knowledge.search import Query
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from tests.build import NOW, open_base, verdict

USERS = ("ann", "bob", "cleo")
users = st.sampled_from(USERS)
texts = st.sampled_from(["likes tea", "likes 绿茶", "has a cat called Tofu", "lives in Lyon"])
everything = tuple(State)
generation = itertools.count()


class Users(RuleBasedStateMachine):
    """Several users of one store, each with a name of this run."""

    loop: asyncio.AbstractEventLoop
    base: KnowledgeBase

    def __init__(self) -> None:
        super().__init__()
        self.memory = Souffleur(self.base, None, Settings(related_tokens=400), clock=lambda: NOW)
        self.steps = itertools.count()
        self.ids: list[str] = []
        """All memories in the order they were made: the same one in each run of an example."""

    @initialize()
    def name_them(self) -> None:
        run = next(generation)
        self.names = {user: f"{user}-{run}" for user in USERS}

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def own(self, user: str) -> list[Memory]:
        found: list[Memory] = self.do(self.base.list(self.names[user], states=everything))
        return found

    def change(self, user: str, op: Op, who: Who) -> None:
        """An op of one user leaves every memory of the others as it is."""
        before = {other: self.own(other) for other in USERS if other != user}
        told = verdict(
            op,
            user="likes tea, 绿茶, a cat called Tofu, Lyon; forget it",
            who=who,
            user_id=self.names[user],
            name=(self.names[user], next(self.steps)),
        )
        outcomes = self.do(self.base.apply(told))
        made = [c.after.id for o in outcomes for c in o.changes if c.before is None]
        self.ids += made
        assert {other: self.own(other) for other in before} == before

    @rule(user=users, text=texts, who=st.sampled_from([Who.USER, Who.MONITOR]))
    def add(self, user: str, text: str, who: Who) -> None:
        content = f"{self.names[user]} {text}"
        self.change(user, Add(reason="r", quote="likes tea", content=content), who)

    @rule(user=users, data=st.data(), kind=st.integers(0, 4))
    def change_anything(self, user: str, data: st.DataObject, kind: int) -> None:
        """A target may be anybody's: only the user's own may be hit."""
        if not self.ids:
            return
        target = self.ids[data.draw(st.integers(0, len(self.ids) - 1))]
        words = {"target": target, "reason": "r"}
        content = f"{self.names[user]} says so"
        ops: list[Op] = [
            Boost(**words),
            Forget(**words),
            Delete(**words, quote="forget it"),
            Edit(**words, content=content),
            Update(**words, quote="likes tea", content=content),
        ]
        self.change(user, ops[kind], data.draw(st.sampled_from([Who.USER, Who.MONITOR])))

    @rule(user=users, data=st.data())
    def undo(self, user: str, data: st.DataObject) -> None:
        entries = self.do(self.base.journal.entries(self.names[user]))
        if entries:
            entry = entries[data.draw(st.integers(0, len(entries) - 1))]
            try:
                self.do(self.base.undo(entry.id, by=By(who=Who.USER), now=NOW, user_id=None))
            except SouffleurError:
                return

    @rule(user=users, text=texts)
    def look(self, user: str, text: str) -> None:
        """Search, recall and ranking bring only the user's own."""
        name = self.names[user]
        hits = self.do(self.base.search(Query(name, text, NOW)))
        best = self.do(self.base.most_valuable(name, limit=9, now=NOW))
        assert {m.user_id for m in [*(hit.memory for hit in hits), *best]} <= {name}
        whisper = self.do(self.memory.recall(user_id=name, session_id="s", text=text))
        assert set(whisper.ids) <= {memory.id for memory in self.own(user)}
        assert all(other not in whisper.text for who, other in self.names.items() if who != user)

    @rule(user=users, data=st.data())
    def ask_for_anybodys(self, user: str, data: st.DataObject) -> None:
        """By id, another's memory and its history are as unknown as one that does not exist."""
        if not self.ids:
            return
        id, name = self.ids[data.draw(st.integers(0, len(self.ids) - 1))], self.names[user]
        if id in {memory.id for memory in self.own(user)}:
            assert self.do(self.base.get(id, user_id=name)).user_id == name
            return
        for ask in (self.base.get, self.base.history):
            with pytest.raises(NotFoundError):
                self.do(ask(id, user_id=name))
        assert self.do(self.base.get_many(name, [id])) == []

    @invariant()
    def the_ledger_is_each_ones_own(self) -> None:
        if not hasattr(self, "names"):
            return
        for user in USERS:
            name = self.names[user]
            entries = self.do(self.base.journal.entries(name))
            owners = {change.after.user_id for entry in entries for change in entry.changes}
            assert owners <= {name}


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    """A store for all examples, on a loop of its own, in memory if it can be."""
    Users.loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        Users.base = Users.loop.run_until_complete(open_base(Path(folder)))
        yield Users.base
        Users.loop.run_until_complete(Users.base.close())
    Users.loop.close()


@pytest.mark.parametrize(
    "examples", [25, pytest.param(500, marks=pytest.mark.soak)], ids=["some", "many"]
)
def test_users_are_strangers_to_each_other(base: KnowledgeBase, examples: int) -> None:
    """No sequence of operations shows or changes what belongs to another user."""
    run_state_machine_as_test(
        Users, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )
