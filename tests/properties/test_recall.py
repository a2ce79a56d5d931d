"""What is remembered between recalls never shows: each is as if all were read anew."""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import replace
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

from souffleur.agents.brief import Persona
from souffleur.errors import UndoError
from souffleur.knowledge.identity import COMMON, own_sphere
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Archive,
    Boost,
    Confirm,
    Cue,
    Edit,
    Forget,
    Op,
    Promote,
    Restore,
    Share,
    Update,
)
from souffleur.knowledge.store.erasing import find_purgeable, purge
from souffleur.knowledge.turn import turn_point_id
from souffleur.parts import Parts
from souffleur.recall.finder import Asked
from souffleur.recall.gather import whisper_for
from souffleur.recall.rendering import estimate_tokens
from souffleur.service.jobs import perform
from souffleur.service.run import RunOptions
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, days, turn, verdict
from tests.stores import empty_base

USERS = ("ann", "bob")
LOOKS = (
    ("ann", False, "So tired of tea", 0),
    ("ann", True, "green tea?", 0),
    ("bob", False, "What did we say about tea yesterday?", 1),
    ("bob", False, "Any green tea?", 400),
)
"""Who is recalled, whether by a persona that knows only its own, what is said, and in how many
days."""
texts = st.sampled_from(["likes tea", "likes 绿茶", "met Tofu the cat", "lives in Lyon"])
categories = st.sampled_from([None, *Category])
kinds = st.sampled_from([Kind.FACT, Kind.BOUNDARY, Kind.TODO])
users = st.sampled_from(USERS)
numbers = st.integers(0, 20)
generation = itertools.count()


class Recalls(RuleBasedStateMachine):
    """Some users of one store, who are recalled again and again."""

    loop: asyncio.AbstractEventLoop
    base: KnowledgeBase

    def __init__(self) -> None:
        super().__init__()
        self.steps = itertools.count(1)
        self.ids: list[str] = []
        self.entries: list[str] = []
        self.turns: list[str] = []

    @initialize()
    def name_them(self) -> None:
        run = next(generation)
        self.names = {user: f"{user}-{run}" for user in USERS}
        self.persona = f"luna-{run}"

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def change(self, user: str, op: Op, who: ActorKind) -> None:
        step = next(self.steps)
        told = verdict(
            op,
            user="likes tea, 绿茶, Tofu the cat, Lyon",
            who=who,
            user_id=self.names[user],
            agent_id=self.persona,
            name=(self.names[user], step),
            at=NOW + days(step / 1000),
        )
        outcomes = self.do(self.base.apply(told))
        self.entries += [one.id for one in outcomes]
        self.ids += [c.after.id for o in outcomes for c in o.changes if c.before is None]

    @rule(user=users, text=texts, category=categories, kind=kinds, plan=st.booleans())
    def add(self, user: str, text: str, category: Category | None, kind: Kind, plan: bool) -> None:
        add = Add(
            reason="r",
            quote="likes tea",
            content=f"{user} {text} {next(self.steps)}",
            category=category,
            kind=kind,
            entities=("Tofu",) if "Tofu" in text else (),
            cues=("What shall I drink?",) if plan else (),
            expires_at=NOW + days(2) if plan else None,
            data={"key_facts": ["tea"]} if category is Category.EPISODE else {},
        )
        self.change(user, add, ActorKind.USER)

    @rule(user=users, which=numbers, kind=st.integers(0, 9))
    def change_one(self, user: str, which: int, kind: int) -> None:
        if not self.ids:
            return
        words = {"target": self.ids[which % len(self.ids)], "reason": "r"}
        told = {**words, "content": f"{user} drinks tea {next(self.steps)}"}
        ops: list[tuple[Op, ActorKind]] = [
            (Boost(**words), ActorKind.MONITOR),
            (Promote(**words), ActorKind.REVIEWER),
            (Forget(**words), ActorKind.USER),
            (Edit(**told), ActorKind.USER),
            (Update(**told, quote="likes tea"), ActorKind.MONITOR),
            (Archive(**words), ActorKind.SCHEDULE),
            (Restore(**words), ActorKind.USER),
            (Share(**words), ActorKind.HOST),
            (Confirm(**words), ActorKind.USER),
            (Cue(**words, cues=("a cup of something",)), ActorKind.CUE_WRITER),
        ]
        self.change(user, *ops[kind])

    @rule(which=numbers)
    def undo(self, which: int) -> None:
        if self.entries:
            by, id = Actor(who=ActorKind.USER), self.entries[which % len(self.entries)]
            try:
                self.do(self.base.undo(id, user_id=None, by=by, now=NOW))
            except UndoError:
                return

    @rule(which=numbers)
    def note_recalled(self, which: int) -> None:
        self.do(self.base.note_recalled(self.ids[which : which + 3]))

    @rule()
    def purge(self) -> None:
        for user_id in self.names.values():
            for memory in self.do(find_purgeable(self.base, NOW + days(500), user_id=user_id)):
                if memory.state is MemoryState.FORGOTTEN:
                    self.do(purge(self.base, memory))

    @rule(later=st.sampled_from([0, 20, 60]))
    def decay(self, later: int) -> None:
        parts = Parts(self.base, times=from_clock(lambda: NOW))
        self.do(perform(parts, "decay", RunOptions(NOW + days(later))))

    @rule(user=users, title=st.sampled_from(["Annie", "主人"]))
    def introduce(self, user: str, title: str) -> None:
        self.base.people.introduce(self.names[user], now=NOW, title=title)

    @rule(knows=st.sampled_from(["all", "own"]))
    def introduce_persona(self, knows: str) -> None:
        self.base.people.introduce_persona(self.persona, now=NOW, knows=knows)

    @rule(user=users, text=texts, over=st.booleans(), embedded=st.booleans())
    def talk(self, user: str, text: str, over: bool, embedded: bool) -> None:
        name, number = self.names[user], str(next(self.steps))
        at = NOW + days(int(number) / 1000)
        said = turn(text, "Tea it is.", turn_id=number, user_id=name, at=at)
        self.base.journal.record(said)
        self.do(self.base.sessions.note_likely(said, self.ids[-2:]))
        self.turns.append(turn_point_id(name, "default", "s1", number))
        if embedded:
            self.do(self.base.embed_turns(name))
        if over:
            self.base.sessions.end(name, said.session_id)

    @rule(which=numbers, hidden=st.booleans())
    def hide(self, which: int, hidden: bool) -> None:
        if self.turns:
            turns = [self.turns[which % len(self.turns)]]
            self.do(self.base.sessions.hide(turns, hidden=hidden))

    @rule(which=numbers)
    def expunge(self, which: int) -> None:
        if self.turns:
            self.do(self.base.sessions.expunge([self.turns[which % len(self.turns)]]))

    @invariant()
    def it_does_not_show(self) -> None:
        if not hasattr(self, "names"):
            return
        hand = self.base.cache
        for name in self.names.values():
            people = self.do(self.base.people.find(name, self.persona))
            assert self.do(hand.people.find(name, self.persona)) == people
        for user, sphere, words, later in LOOKS:
            at, place = NOW + days(later), own_sphere(self.persona) if sphere else COMMON
            asked = Asked(self.names[user], "s1", words, at, Persona(), self.persona, place)
            anew, known = (self.do(self.recalled(one, asked)) for one in (self.base, hand))
            assert known == anew

    async def recalled(self, base: KnowledgeBase, asked: Asked) -> Any:
        recall = await whisper_for(base, Settings(), asked, estimate_tokens)
        found = [(hit.item, round(hit.score, 4), round(hit.relevance, 4)) for hit in recall.found]
        return found, replace(recall, found=())  # engine and memory round in other places


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    """A store for all examples, on a loop of its own."""
    Recalls.loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        Recalls.base = Recalls.loop.run_until_complete(empty_base(Path(folder)))
        yield Recalls.base
        Recalls.loop.run_until_complete(Recalls.base.close())
    Recalls.loop.close()


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(4, 10), pytest.param(300, 30, marks=pytest.mark.soak)],
    ids=["some", "many"],
)
def test_a_recall_is_as_if_all_were_read_anew(
    base: KnowledgeBase, examples: int, steps: int
) -> None:
    """After any sequence of writes, what is remembered whispers what the store itself does."""
    run_state_machine_as_test(
        Recalls,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None),
    )
