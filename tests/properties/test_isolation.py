"""Two users never see, nor touch, each other's memories, whatever they do."""

import asyncio
import itertools
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
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

from souffleur.api import Souffleur
from souffleur.errors import NotFoundError, SouffleurError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Boost,
    Delete,
    Edit,
    Forget,
    Op,
    Update,
)
from souffleur.knowledge.search.query import EVERYWHERE, Found, Query
from souffleur.knowledge.turn import Turn
from souffleur.parts import Parts
from souffleur.settings import Settings, WhisperBudget
from souffleur.times import from_clock
from tests.build import NOW, days, turn, verdict
from tests.stores import empty_base

USERS = ("ann", "bob", "cleo")
ODD = {"ann": "ann", "bob": "ann\u200b", "cleo": "ａｎｎ\x1fs"}
"""Ids that look alike, or hold what joins the parts of an id."""
users = st.sampled_from(USERS)
texts = st.sampled_from(["likes tea", "likes 绿茶", "has a cat called Tofu", "lives in Lyon"])
categories = st.sampled_from([None, Category.CORE, Category.EPISODE, Category.PROFILE])
phrases = st.sampled_from(["Likes green tea.", "Likes the green tea", "Likes tea.", "不喜欢绿茶"])
authors = st.sampled_from([ActorKind.USER, ActorKind.MONITOR])
SESSION = "s"
"""Everybody's has the same name."""
Item = Memory | Turn

everything = tuple(MemoryState)
generation = itertools.count()


class Users(RuleBasedStateMachine):
    """Several users of one store, each with a name of this run."""

    loop: asyncio.AbstractEventLoop
    base: KnowledgeBase
    folder: Path
    """Where turns are until a server has them."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Souffleur(
            Parts(self.base, times=from_clock(lambda: NOW)),
            Settings(path=self.folder, whisper=WhisperBudget(tokens=400)),
        )
        self.steps = itertools.count()
        self.ids: list[str] = []
        """All memories in the order they were made: the same one in each run of an example."""

    @initialize()
    def name_them(self) -> None:
        run = next(generation)
        self.names = {user: f"{ODD[user]}-{run}" for user in USERS}
        self.marks = {user: f"{user}-{run}" for user in USERS}
        """Words that each one's memories hold, and nobody else's."""

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        """Close the file of turns that are for a server; the store is used again."""
        if outbox := self.memory._service.intake.outbox:
            outbox.close()

    def own(self, user: str) -> list[Memory]:
        found: list[Memory] = self.do(self.base.list(self.names[user], states=everything))
        return found

    def change(self, user: str, op: Op, who: ActorKind) -> None:
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

    @rule(
        user=users,
        text=texts,
        category=categories,
        who=st.sampled_from([ActorKind.USER, ActorKind.MONITOR]),
    )
    def add(self, user: str, text: str, category: Category | None, who: ActorKind) -> None:
        content = f"{self.marks[user]} {text}"
        add = Add(reason="r", quote="likes tea", content=content, category=category)
        self.change(user, add, who)

    @rule(user=users, text=texts, over=st.booleans())
    def talk(self, user: str, text: str, over: bool) -> None:
        name = self.names[user]
        here: Any = {"user_id": name, "session_id": SESSION}
        self.memory.observe(**here, user=f"{self.marks[user]} {text}", assistant="ok", at=NOW)
        if over:
            self.memory.end_session(**here)
        self.do(self.memory._service.intake.arrived())  # on a server, a moment later
        self.do(self.base.embed_turns(name))

    @rule(user=users, data=st.data(), kind=st.integers(0, 4))
    def change_anything(self, user: str, data: st.DataObject, kind: int) -> None:
        """A target may be anybody's: only the user's own may be hit."""
        if not self.ids:
            return
        target = self.ids[data.draw(st.integers(0, len(self.ids) - 1))]
        words = {"target": target, "reason": "r"}
        content = f"{self.marks[user]} says so"
        ops: list[Op] = [
            Boost(**words),
            Forget(**words),
            Delete(**words, quote="forget it"),
            Edit(**words, content=content),
            Update(**words, quote="likes tea", content=content),
        ]
        self.change(
            user, ops[kind], data.draw(st.sampled_from([ActorKind.USER, ActorKind.MONITOR]))
        )

    @rule(user=users, data=st.data())
    def undo(self, user: str, data: st.DataObject) -> None:
        entries = self.do(self.base.journal.entries(self.names[user]))
        if entries:
            entry = entries[data.draw(st.integers(0, len(entries) - 1))]
            try:
                self.do(
                    self.base.undo(entry.id, by=Actor(who=ActorKind.USER), now=NOW, user_id=None)
                )
            except SouffleurError:
                return

    @rule(user=users, text=texts)
    def look(self, user: str, text: str) -> None:
        """Search, recall, ranking and what is known of portrait and talk: all is the user's own."""
        name, base, do = self.names[user], self.base, self.do
        query = Query(name, text, NOW, scope=EVERYWHERE, limit=50)
        turns = do(base.journal.turns(user_id=name))
        found = [
            *(hit.item for hit in do(base.search(query))),
            *do(base.turns_and_episodes_between(query)),
            *(hit.item for hit in do(base.memories_learned_between(query))),
            *do(base.most_valuable(name, limit=9, now=NOW)),
            *do(base.episodes(name, limit=9, now=NOW)),
            *do(base.portraits(name)),
            *filter(None, [do(base.portrait(name))]),
            *turns,
            *do(base.sessions.window(name, SESSION)),
            *do(base.sessions.segments(name)),
        ]
        assert {one.user_id for one in found} <= {name}
        earlier = [
            said for turn in turns for said in do(base.journal.messages_before(turn, limit=50))
        ]
        assert {said.turn_id for said in earlier} <= {turn.id for turn in turns}
        for asked in (text, f"what did I say about what {text}?", "what did we talk about today?"):
            whisper = do(self.memory.recall(user_id=name, session_id=SESSION, text=asked))
            assert set(whisper.ids) <= {memory.id for memory in self.own(user)}
            assert set(whisper.turn_ids) <= {turn.id for turn in turns}
            others = {other for who, other in self.marks.items() if who != user}
            assert not [other for other in others if other in whisper.text]

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
        assert self.do(self.base.find_usable(name, [id])) == ()

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
        Users.folder = Path(folder)
        Users.base = Users.loop.run_until_complete(empty_base(Users.folder))
        yield Users.base
        Users.loop.run_until_complete(Users.base.close())
    Users.loop.close()


@pytest.mark.parametrize(
    "examples", [8, pytest.param(500, marks=pytest.mark.soak)], ids=["some", "many"]
)
def test_users_are_strangers_to_each_other(base: KnowledgeBase, examples: int) -> None:
    """No sequence of operations shows or changes what belongs to another user."""
    run_state_machine_as_test(
        Users, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )


class Company(RuleBasedStateMachine):
    """Ann in a store with Bob, and in one by herself: whatever both do, she cannot tell which."""

    loop: asyncio.AbstractEventLoop
    shared: KnowledgeBase
    alone: KnowledgeBase

    def __init__(self) -> None:
        super().__init__()
        run = next(generation)
        self.ann, self.bob = f"ann-{run}", f"bob-{run}"
        self.steps = itertools.count()
        self.ids = ["none"]
        """Memories of both, in the order in which they were made."""

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def both(self, ask: Callable[[KnowledgeBase], Awaitable[Any]]) -> Any:
        """What both stores answer, which is the same."""
        shared, alone = self.do(ask(self.shared)), self.do(ask(self.alone))
        assert shared == alone
        return shared

    def decide(self, by_ann: bool, op: Op, who: ActorKind) -> None:
        step = next(self.steps)
        told = verdict(
            op,
            user="green tea, cats, Lyon; forget it",
            who=who,
            name=(self.ann, step),
            user_id=self.ann if by_ann else self.bob,
            injected=frozenset(self.ids[1:]),
        )
        if by_ann:
            outcomes = self.both(lambda base: base.apply(told))
        else:
            outcomes = self.do(self.shared.apply(told))
        self.ids += [c.after.id for o in outcomes for c in o.changes if c.before is None]

    @rule(by_ann=st.booleans(), text=phrases, category=categories, who=authors)
    def add(self, by_ann: bool, text: str, category: Category | None, who: ActorKind) -> None:
        add = Add(reason="r", quote="green tea", content=text, category=category)
        if by_ann and who is ActorKind.MONITOR:
            near = verdict(add, user_id=self.ann)
            self.both(lambda base: base.near_duplicates(near))
        self.decide(by_ann, add, who)

    @rule(by_ann=st.booleans(), index=st.integers(0, 9), kind=st.integers(0, 3), who=authors)
    def change(self, by_ann: bool, index: int, kind: int, who: ActorKind) -> None:
        words = {"target": self.ids[index % len(self.ids)], "reason": "r"}
        ops: list[Op] = [
            Boost(**words),
            Forget(**words),
            Delete(**words, quote="forget it"),
            Update(**words, quote="Lyon", content=f"Lives in Lyon {index}."),
        ]
        self.decide(by_ann, ops[kind], who)

    @rule(by_ann=st.booleans(), text=phrases, over=st.booleans())
    def talk(self, by_ann: bool, text: str, over: bool) -> None:
        name = self.ann if by_ann else self.bob
        said = turn(text, "ok", turn_id=str(next(self.steps)), user_id=name)
        for base in (self.shared, self.alone)[: 1 + by_ann]:
            base.journal.record(said)
            if over:
                base.sessions.end(name, said.session_id)
            self.do(base.embed_turns(name))

    @rule(text=phrases)
    def look(self, text: str) -> None:
        """By words, by time, and as it is whispered; with the same scores."""
        name, rules = self.ann, Settings(timezone="UTC")
        query = Query(name, text, NOW + days(1), scope=EVERYWHERE, limit=50)
        hits = self.do(self.shared.search(query))
        assert [(one.item.id, one.parts) for one in hits] == _about(
            self.do(self.alone.search(query))
        )
        self.both(lambda base: _unnumbered(base.turns_and_episodes_between(query)))
        self.both(lambda base: base.memories_learned_between(query))
        self.both(lambda base: base.list(name, states=everything))
        self.both(lambda base: base.portraits(name))
        self.both(lambda base: base.sessions.segments(name))
        self.both(lambda base: _unnumbered(base.journal.turns(user_id=name)))
        for question in (text, f"what did I say about {text}", "what did we say yesterday?"):

            async def whispered(base: KnowledgeBase, question: str = question) -> str:
                memory = Souffleur(Parts(base, times=from_clock(lambda: query.now)), rules)
                whisper = await memory.recall(user_id=name, session_id="s2", text=question)
                assert not whisper.error
                return whisper.text

            self.both(whispered)


async def _unnumbered(work: Awaitable[Sequence[Item]]) -> list[Item]:
    """Without the number of a turn, which is of the journal and not of a user."""
    found = await work
    return [one.model_copy(update={"seq": 0}) if isinstance(one, Turn) else one for one in found]


def _about(hits: Sequence[Found]) -> list[tuple[str, Any]]:
    """Hits by id and score, as exact as the engine counts: it adds up in any order."""
    return [(hit.item.id, pytest.approx(hit.parts, abs=1e-6)) for hit in hits]


@pytest.mark.parametrize(
    "examples", [5, pytest.param(300, marks=pytest.mark.soak)], ids=["some", "many"]
)
def test_nobody_can_tell_whether_there_are_others(base: KnowledgeBase, examples: int) -> None:
    """What others say, know and want changes no outcome, no score and no whispered word."""
    Company.loop, Company.shared = Users.loop, base
    with tempfile.TemporaryDirectory() as folder:
        Company.alone = Users.loop.run_until_complete(empty_base(Path(folder)))
        rules = settings(max_examples=examples, stateful_step_count=30, deadline=None)
        try:
            run_state_machine_as_test(Company, settings=rules)
        finally:
            Users.loop.run_until_complete(Company.alone.close())


def test_what_others_know_and_say_weighs_nothing(base: KnowledgeBase) -> None:
    """How rare a word is, and so the score of each hit, is counted among the user's own."""

    def known(name: str, *words: str) -> None:
        for word in words:
            text = f"Green {word}."
            for scene in (Category.FACT, Category.EPISODE):
                add = Add(reason="r", quote="", content=f"{scene}: {text}", category=scene)
                told = verdict(add, who=ActorKind.HOST, user_id=name, name=(name, word, scene))
                do(base.apply(told))
            base.journal.record(turn(text, turn_id=word, user_id=name))
        do(base.embed_turns())

    def search() -> list[Found]:
        found: list[Found] = do(base.search(Query("ann", "tea", NOW, scope=EVERYWHERE, limit=50)))
        return found

    do = Users.loop.run_until_complete
    known("ann", "tea", "milk", "grass")
    before = search()
    known("bob", "tea", "cats", "doors", "paint", "leaves", "peas")
    assert [(hit.item.id, hit.parts) for hit in search()] == _about(before)
    assert len(before) == 9
