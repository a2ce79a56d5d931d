"""A campaign: one host whose model answers oddly, after each of which all must be in order."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from loguru import logger

from souffleur.api import Souffleur
from souffleur.demo.dialogue import StageClock
from souffleur.knowledge import undo
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.prompts import LANGUAGES, render
from souffleur.settings import Settings
from tests.build import NOW
from tests.faults.invariants import (
    Contents,
    assert_discreet,
    assert_explained,
    assert_no_secret,
    assert_strangers,
    assert_undone,
    assert_whole,
    read_contents,
)
from tests.faults.mutations import Family, respond
from tests.faults.scene import API_KEY, BOBS, furnish
from tests.place import where
from tests.scripted import SKIP
from tests.stub import Behaviour, Body, Response, Stub, say

NAMES = {"user": "Ann", "assistant": "Mo"}
"""How the two who talk are called."""
Good = Callable[[Body], dict[str, Any]]
"""From a request to the answer of a good model."""
C = TypeVar("C", bound="Campaign")


class Model:
    """An endpoint that answers each request as it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.behave: Behaviour = say(json.dumps(SKIP))
        self.requests: list[Body] = []
        """Since the campaign looked last."""
        self.faults: list[Exception] = []
        """Of a family itself: the stub would only hang up."""

    def __call__(self, body: Body) -> Response:
        self.requests.append(body)
        try:
            return self.behave(body)
        except Exception as error:
            self.faults.append(error)
            raise


class Campaign:
    """One host over one store; a subclass has an agent of it answered, and checks what came."""

    def __init__(self, memory: Souffleur, model: Model, clock: StageClock) -> None:
        self.memory, self.model, self.clock = memory, model, clock
        self.answers = 0
        """Odd ones so far."""
        self.before = Contents({}, [], [])
        """What was in the store when the latest attempt began."""
        self._logged: list[str] = []
        self._loop_faults: list[str] = []
        self._tasks: set[Any] = set()

    async def prepare(self) -> None:
        """Have what is known told before the first odd answer."""

    async def attempt(self, family: Family, name: str, seed: int) -> None:
        """Have an answer of this family given, check what came of it, and take it back."""
        raise NotImplementedError

    def behave(self, odd: str, family: Family, chance: Random, **good: Good) -> None:
        """Answer the requests of one name oddly, and others well, as they would be by name.

        Asked again, the model answers oddly once more, or well; so it does if it is only probed.
        """
        well_in_the_end, probed_well = chance.random() < 0.5, chance.random() < 0.5

        def respond_to(body: Body) -> Response:
            asked = name_of(body)
            if asked not in {odd, "probe"}:
                return say(json.dumps(good[asked](body) if asked in good else SKIP))(body)
            well = probed_well if asked == "probe" else _rounds(body) and well_in_the_end
            usual = good[odd](body)
            self.answers += not well
            return respond(_unchanged if well else family, chance, usual, body)

        self.model.behave = respond_to

    def behave_well(self, **good: Good) -> None:
        """Answer all requests well."""
        self.behave("probe", _unchanged, Random(0), probe=lambda _: SKIP, **good)

    async def look(self, *told: str, private: str) -> Contents:
        """Return what is in the store, if all holds in it that must hold after any answer."""
        after = await read_contents(self.memory.knowledge)
        assert after.entries[: len(self.before.entries)] == self.before.entries
        assert_strangers(self.before, after, self.model.requests)
        assert_no_secret(after)
        assert_explained(after)
        await assert_whole(self.memory.knowledge, after)
        assert_discreet([*self._logged, *told], private)
        return after

    async def take_back(self, now: Contents) -> None:
        """Undo all that is new, newest first: it is as before, and nothing is left running."""
        knowledge, by = self.memory.knowledge, Actor(who=ActorKind.HOST)
        for entry in reversed(now.entries[len(self.before.entries) :]):
            if undo.can_undo(entry):
                await knowledge.undo(entry.id, user_id="ann", by=by, now=self.clock.at)
        after = await read_contents(knowledge)
        assert_undone(self.before, after)
        assert not self.model.faults, self.model.faults
        assert not self._loop_faults, self._loop_faults
        assert not self._left_over(), self._left_over()
        self.before = after
        self._logged.clear()
        self.model.requests.clear()

    def _left_over(self) -> set[Any]:
        """Return tasks that nothing ends; who waited for the endpoint looks once more, and ends."""
        running = {task for task in asyncio.all_tasks() if not task.done()} - self._tasks
        waits = {task for task in running if "_try_stalled" in repr(task.get_coro())}
        return running - waits if len(waits) < 2 else running

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keep what is logged, what the event loop complains of, and which tasks are usual."""
        self._tasks = asyncio.all_tasks()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: self._loop_faults.append(repr(what)))
        logger.enable("souffleur")
        sink = logger.add(self._logged.append, level=0)
        handler = logging.Handler()
        handler.emit = lambda record: self._logged.append(record.getMessage())  # type: ignore[method-assign]
        root, level = logging.getLogger(), logging.getLogger().level
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        try:
            yield
        finally:
            root.setLevel(level)
            root.removeHandler(handler)
            logger.remove(sink)
            logger.disable("souffleur")
            loop.set_exception_handler(None)


@asynccontextmanager
async def running(kind: type[C], folder: Path, at: datetime = NOW) -> AsyncIterator[C]:
    """Open a host over a new store in which something is known; after it, all is on disk."""
    model, clock = Model(), StageClock(at)
    async with AsyncExitStack() as stack:
        endpoint = stack.enter_context(Stub(model))
        settings = Settings(
            **where(folder),
            embedder="hash:64",
            base_url=endpoint.base_url,
            api_key=API_KEY,
            model="stub",
            user_title=NAMES["user"],
            assistant_name=NAMES["assistant"],
            tries=1,
            retry_pause=60.0,
            timeout=20.0,
            window=1000,
            idle_minutes=0,
        )
        memory = await stack.enter_async_context(Souffleur.open(settings, clock=clock))
        await furnish(memory.knowledge)
        memory.observe(user_id="bob", user=f"The {BOBS[1]} is from {BOBS[0]}.", assistant="Is it?")
        assert await memory.flush()
        campaign = kind(memory, model, clock)
        await campaign.prepare()
        campaign.before = await read_contents(memory.knowledge)
        model.requests.clear()
        with campaign.watched():
            yield campaign
        contents = await read_contents(memory.knowledge)
        await memory.close()
        again = await stack.enter_async_context(Souffleur.open(settings, clock=clock))
        assert await read_contents(again.knowledge) == contents


def name_of(body: Body) -> str:
    """Return what a request asks for: the name of its rules, or `probe` for one without."""
    if len(body["messages"]) == 1:
        return "probe"
    rules = body["messages"][0]["content"]
    names = ("monitor", "episode", "portrait", "review", "audit")
    said = ((name, language) for name in names for language in LANGUAGES)
    return next(name for name, language in said if render(name, language, **NAMES) in rules)


def _unchanged(_: Random, good: dict[str, Any]) -> dict[str, Any]:
    return good


def _rounds(body: Body) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])
