"""What a persona that knows only its own was told, no other one ever brings, whatever is done."""

import asyncio
import itertools
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from souffleur.api import Souffleur
from souffleur.knowledge.identity import COMMON, SHARED, own_sphere
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Add, Boost, Delete, Op, Share, Update
from souffleur.knowledge.search.query import EVERYWHERE, Query
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, days, verdict
from tests.stores import empty_base

SPHERES = {
    "default": COMMON,
    "sol": COMMON,
    "luna": own_sphere("luna"),
    "@luna": own_sphere("@luna"),
    "*": own_sphere("*"),
    "luna\x1f": own_sphere("luna\x1f"),
}
"""Of each persona; some are called as spheres are, or hold what joins the parts of an id."""
MARKS = {sphere: f"word{index}" for index, sphere in enumerate(dict.fromkeys(SPHERES.values()))}
"""A word that everything of a sphere holds, and nothing else."""
personas = st.sampled_from(list(SPHERES))
texts = st.sampled_from(["likes tea", "likes 绿茶", "has a cat called Tofu", "lives in Lyon"])
categories = st.sampled_from([None, Category.CORE, Category.EPISODE, Category.PROFILE])
generation = itertools.count()


class Personas(RuleBasedStateMachine):
    """One user who tells several personas; each run has another user."""

    loop: asyncio.AbstractEventLoop
    memory: Souffleur

    def __init__(self) -> None:
        super().__init__()
        self.steps = itertools.count()
        self.ids: list[str] = []
        """All memories in the order they were made."""
        self.shared: set[str] = set()
        """Words of the spheres of which something was ever shared."""

    @initialize()
    def begin(self) -> None:
        self.user = f"ann-{next(generation)}"

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def decide(self, agent_id: str, op: Op, who: ActorKind) -> None:
        sphere = SPHERES[agent_id]
        told = verdict(
            op,
            user="likes tea, 绿茶, a cat called Tofu, Lyon; forget it",
            who=who,
            user_id=self.user,
            agent_id=agent_id,
            name=(self.user, next(self.steps)),
        ).model_copy(update={"sphere": sphere})
        outcomes = self.do(self.memory.knowledge.apply(told))
        self.ids += [c.after.id for o in outcomes for c in o.changes if c.before is None]

    @rule(agent_id=personas, text=texts, category=categories)
    def add(self, agent_id: str, text: str, category: Category | None) -> None:
        content = f"{MARKS[SPHERES[agent_id]]} {text}"
        add = Add(reason="r", quote="likes tea", content=content, category=category)
        self.decide(agent_id, add, ActorKind.USER)

    @rule(agent_id=personas, text=texts, over=st.booleans())
    def talk(self, agent_id: str, text: str, over: bool) -> None:
        here: Any = {"user_id": self.user, "session_id": "s", "agent_id": agent_id}
        line = f"{MARKS[SPHERES[agent_id]]} {text}"
        self.memory.observe(**here, user=line, assistant="ok", at=NOW)
        if over:
            self.memory.end_session(**here)
        self.do(self.memory.knowledge.embed_turns(self.user))

    @rule(index=st.integers(0, 99), kind=st.integers(0, 2))
    def change_its_own(self, index: int, kind: int) -> None:
        """A persona changes what it may be shown: what lies in its own sphere."""
        found = self.any(index)
        if found is None or found.sphere == SHARED:
            return
        (agent_id, *_) = [one for one, sphere in SPHERES.items() if sphere == found.sphere]
        words = {"target": found.id, "reason": "r"}
        content = f"{MARKS[found.sphere]} says so {index}"
        ops: list[Op] = [
            Boost(**words),
            Delete(**words, quote="forget it"),
            Update(**words, quote="likes tea", content=content),
        ]
        self.decide(agent_id, ops[kind], ActorKind.MONITOR)

    @rule(index=st.integers(0, 99))
    def share(self, index: int) -> None:
        found = self.any(index)
        if found is not None and found.sphere != SHARED and found.state is MemoryState.ACTIVE:
            self.shared |= {word for word in MARKS.values() if word in found.content}
            self.decide("default", Share(target=found.id, reason="r"), ActorKind.HOST)

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        knowledge = self.memory.knowledge
        if entries := self.do(knowledge.journal.entries(self.user)):
            entry = entries[data.draw(st.integers(0, len(entries) - 1))]
            if not entry.undone_by and not entry.undoes and not entry.refused:
                self.do(_undone(self.memory, entry.id))

    @rule(agent_id=personas, text=texts)
    def look(self, agent_id: str, text: str) -> None:
        """Recall, `ask`, search, window and portrait bring only what the persona may know."""
        sphere, memory = SPHERES[agent_id], self.memory
        query = Query(self.user, text, NOW, scope=EVERYWHERE, sphere=sphere, limit=50)
        seen = [told(hit.item) for hit in self.do(memory.knowledge.search(query))]
        for asked in (text, "what did we talk about today?", " ".join(MARKS.values())):
            here: Any = {"user_id": self.user, "agent_id": agent_id, "text": asked}
            whisper = self.do(memory.recall(**here, session_id="s"))
            assert not whisper.error
            seen += [whisper.text, told(self.do(memory.ask(**here, session_id="s2")))]
        known = self.do(memory.knowledge.most_valuable(self.user, limit=9, now=NOW, sphere=sphere))
        seen += [told(known), told(self.do(memory.knowledge.portraits(self.user, sphere)))]
        strange = set(MARKS.values()) - {MARKS[sphere], *self.shared}
        assert [(word, one) for word in strange for one in seen if word in one] == []

    def any(self, index: int) -> Memory | None:
        """One of the memories of all personas."""
        if not self.ids:
            return None
        id = self.ids[index % len(self.ids)]
        found: Memory = self.do(self.memory.knowledge.get(id, user_id=self.user))
        return found


def told(found: object) -> str:
    """All that is in what was found, but for what a portrait must leave out: the user wanted it."""
    return re.sub(r"data=\{[^}]*\}", "", str(found))


async def _undone(memory: Souffleur, entry_id: str) -> None:
    from souffleur.errors import SouffleurError

    try:
        by = Actor(who=ActorKind.USER)
        await memory.knowledge.undo(entry_id, by=by, now=NOW + days(0.1), user_id=None)
    except SouffleurError:
        return


@pytest.mark.parametrize(
    "examples", [4, pytest.param(500, marks=pytest.mark.soak)], ids=["some", "many"]
)
def test_personas_keep_what_they_are_told(examples: int) -> None:
    """No sequence of operations brings to one persona what another alone was told."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        base = runner.run(empty_base(Path(folder)))
        parts = Parts(base, times=from_clock(lambda: NOW + days(0.01)))
        Personas.loop, Personas.memory = runner.get_loop(), Souffleur(parts, Settings())
        for agent_id, sphere in SPHERES.items():
            if sphere != COMMON:
                runner.run(Personas.memory.introduce_persona(agent_id=agent_id, knows="own"))
        rules = settings(max_examples=examples, stateful_step_count=30, deadline=None)
        try:
            run_state_machine_as_test(Personas, settings=rules)
        finally:
            runner.run(base.close())
