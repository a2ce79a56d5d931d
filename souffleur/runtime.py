"""Souffleur: what a companion touches. `recall` before the reply, `observe` after it."""

import asyncio
import logging
import os
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

from loguru import logger
from pydantic import ValidationError

from souffleur.caretaker import Caretaker
from souffleur.endpoints import Endpoints
from souffleur.errors import MessageError, NotFoundError, SettingsError, SouffleurError
from souffleur.health import Health
from souffleur.intake import Intake, Receipt, Said, moment, turn_of, with_trouble
from souffleur.knowledge.breaker import Breaker, Outage
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import (
    Add,
    By,
    Confirm,
    Forget,
    Importance,
    Op,
    Outcome,
    Verdict,
    Who,
    derive_id,
)
from souffleur.knowledge.plain_text import clip, mend
from souffleur.knowledge.search import Found, Query
from souffleur.knowledge.turn import LONGEST, Turn, TurnState, turn_point_id
from souffleur.messages import Messages, to_turns
from souffleur.opening import Opening
from souffleur.recollection import Asked, Past, look_everywhere, whisper_for
from souffleur.settings import Settings, change_settings, load_settings
from souffleur.time_source import Clock, TimeSource, staged
from souffleur.tokens import counter_for
from souffleur.whisper import Recall
from souffleur.worker import Patience, Worker

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.runs.errand import Errand, Report
    from souffleur.schedule import Schedule
    from souffleur.wiring import Agents

T = TypeVar("T")

SURE = 0.45
"""Relevance from which `forget` takes a memory to be meant."""
REMEMBERED = 10_000
"""Sessions of which it is remembered what was whispered last."""


class Souffleur:
    """Memory for a companion.

        async with Souffleur.open() as memory:
            whisper = await memory.recall(user_id="u1", session_id="s1", text=message)
            reply = await my_model(system=persona + whisper.text, user=message)
            memory.observe(user_id="u1", session_id="s1", user=message, assistant=reply)

    `recall` calls no model and never fails a turn. `observe` is durable before it returns, waits
    for no judge and raises nothing. All else raises SouffleurError.
    """

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        agents: "Agents | None",
        settings: Settings,
        *,
        clock: Clock | None = None,
        times: TimeSource | None = None,
        endpoints: Endpoints | None = None,
    ) -> None:
        """`clock` stands for a whole time source."""
        self.knowledge: KnowledgeBase = knowledge
        self.settings = settings
        self._times = times or (staged(clock) if clock else TimeSource())
        self.clock = self._times.now
        self._agents = agents
        self._endpoints = endpoints or Endpoints(
            None,
            Breaker("judging", pause=2.0, steady=self._times.steady, now=self.clock),
            knowledge.embedder,
        )
        self._count = counter_for(settings.model, settings.tokenizer)
        self._whispered: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        self._pid = os.getpid()
        self._home: asyncio.AbstractEventLoop | None = None
        """The event loop that judges."""
        self._let_go: Callable[[], Awaitable[None]] = knowledge.close
        self._worker = Worker(
            self._judge,
            self._tell,
            knowledge.journal,
            finish=lambda user_id: knowledge.recover(user_id),
            patience=Patience(settings.tries, settings.retry_pause),
            parallel=settings.parallel_users,
            every=settings.judge_every,
            endpoints=self._endpoints,
            sleep=self._times.sleep,
            steady=self._times.steady,
        )
        for breaker in self._endpoints.breakers:
            breaker.on_outage = _warn
            breaker.on_return = lambda: self._call_home(self._worker.wake_stalled)
        rule = settings.window_rule
        self._intake = Intake(knowledge.journal, rule, self._wake)
        self._caretaker = Caretaker(
            knowledge,
            rule,
            times=self._times,
            wake=self._wake,
            write_late=self._intake.write_late,
        )
        self._schedule: Schedule | None = None

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        chat: "Chat | None" = None,
        clock: Clock | None = None,
        **overrides: Any,
    ) -> "Opening":
        """Open the store and take up waiting turns; `await` it, or use it with `async with`.

        `overrides` are settings by name. `chat` stands in for the configured model endpoint.
        The environment is read only without `settings`. Raises SettingsError for an override that
        is no setting, StoreBusyError if another process has the path, StoreMismatchError if the
        data were made with another embedder.
        """
        chosen = change_settings(settings, **overrides) if settings else load_settings(**overrides)
        return Opening(cls, chosen, chat, staged(clock) if clock else TimeSource())

    async def recall(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        text: str,
        at: datetime | None = None,
        incognito: bool = False,
    ) -> Recall:
        """What to remember for the reply to `text`. Never raises: see `trouble`.

        All personas share what is known of a user; `agent_id` only says who learnt it. To keep
        personas apart, make the persona a part of `user_id`.
        """
        if incognito:
            return Recall()
        try:
            asked = self._asked(user_id, session_id, text or "", at)
            whisper = await whisper_for(self.knowledge, self.settings, asked, self._count)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            return Recall(trouble=_told(error))
        self._whispered[user_id, session_id] = whisper.judged
        self._whispered.move_to_end((user_id, session_id))
        if len(self._whispered) > REMEMBERED:
            self._whispered.popitem(last=False)
        return whisper.with_trouble(self.trouble)

    def observe(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        user: str = "",
        assistant: str = "",
        agent_id: str = "default",
        turn_id: str | None = None,
        at: datetime | None = None,
        incognito: bool = False,
    ) -> Receipt:
        """Keep a turn, durably, and have it judged in the background. Never raises.

        The same `turn_id` with the same words is one turn; with another reply (swipe,
        regenerate), what the first brought is undone and the turn is judged again. May be called
        from any thread.
        """
        name = turn_id or uuid.uuid4().hex
        if incognito:
            return Receipt(name, new=False)
        try:
            said = Said(user_id, session_id, agent_id, name, user, assistant, at)
            zone = ZoneInfo(self.settings.timezone)
            injected = self._whispered.pop((user_id, session_id), ())
            turn, odd = turn_of(said, now=self.clock(), zone=zone, injected=injected)
            if turn is None:
                return Receipt(name, new=False)
            return with_trouble(self._intake.take(turn), odd, self.trouble)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            logger.error("turn {} cannot be kept: {}", name, error)
            trouble = f"the turn cannot be kept: {_told(error)}"
            return Receipt(name, new=False, trouble=trouble, durable=False)

    def end_session(self, *, user_id: str, session_id: str = "default") -> bool:
        """Say that a session is over: what is left in its window becomes an episode. Never raises.

        Returns whether there was anything. A silence of `settings.idle_minutes` ends one as well.
        """
        try:
            ended = self.knowledge.sessions.end(
                check_id(user_id), check_id(session_id, "session_id")
            )
        except SouffleurError as error:  # it will be found silent later
            logger.error("session {!r} is not closed yet: {}", session_id, error)
            return False
        if ended:
            self._wake(user_id)
        return ended

    @property
    def trouble(self) -> str:
        """What keeps turns from being judged, found or kept, since when; empty if nothing does.

        Every `Recall` and `Receipt` carries it; `health` says more.
        """
        judging = self._endpoints.trouble if self._agents else ""
        return "; ".join(filter(None, (judging, self.knowledge.trouble)))

    async def health(self) -> Health:
        """Whether what is said is judged and kept. Asks no endpoint. Raises StoreError."""
        judging, embedding = self._endpoints.judging, self._endpoints.embedding
        journal = self.knowledge.journal
        waiting = await journal.turns(state=TurnState.PENDING, limit=1)
        latest = await journal.latest_judged()
        endpoint = "failing" if judging.outage else "ok"
        late = "turns are held in memory until the store is back" if self._intake.is_late else ""
        return Health(
            at=self.clock(),
            endpoint=endpoint if self._agents else "none",
            judging_trouble=judging.trouble,
            embedder_trouble=embedding.trouble if embedding else "",
            store_trouble=self.knowledge.trouble or late,
            waiting=await journal.count_turns(TurnState.PENDING),
            waiting_since=waiting[0].at if waiting else None,
            set_aside=await journal.count_turns(TurnState.FAILED),
            judged_at=latest.at if latest else None,
        )

    async def remember(
        self,
        what: str | Messages,
        *,
        user_id: str,
        session_id: str = "default",
        agent_id: str = "default",
        kind: Kind = Kind.FACT,
        importance: Importance = Importance.HIGH,
        reason: str = "told to remember",
        at: datetime | None = None,
    ) -> list[Outcome]:
        """Keep a sentence as it is, or have some messages judged now, whatever the cadence.

        A sentence is refused if it is known or a secret. Messages are observed as turns of the
        session, each once, however often they are given; without a model they wait. Raises
        MessageError for what is no message or no sentence; EndpointError or EmbedderError if
        nothing can be judged now: then the messages are kept and wait.
        """
        check_id(user_id)
        if isinstance(what, str):
            op = _add(reason, what, kind, importance)
            return await self._decide([op], user_id, agent_id, at)
        ids = []
        for turn in to_turns(what):
            receipt = self.observe(
                user_id=user_id,
                session_id=session_id,
                user=turn.user,
                assistant=turn.assistant,
                agent_id=agent_id,
                turn_id=turn.turn_id,
                at=turn.at or at,
            )
            if not receipt.durable:
                raise MessageError(receipt.trouble)
            ids.append(turn_point_id(user_id, agent_id, session_id, receipt.turn_id))
        if self._agents:
            await self._at_home(lambda: self._worker.judge_now(user_id))
        return await self.knowledge.journal.entries(user_id, turn_ids=ids)

    async def ask(
        self,
        text: str,
        *,
        user_id: str,
        session_id: str = "default",
        at: datetime | None = None,
        limit: int = 8,
    ) -> Past:
        """What was talked about at the time a text names ("上周", "last time"), or on its matter.

        Calls no model. Raises MessageError for what is no text, StoreError, EmbedderError.
        """
        asked = self._asked(user_id, session_id, text, at)
        return await look_everywhere(self.knowledge, self.settings.window_rule, asked, limit=limit)

    async def portray(self, *, user_id: str) -> Memory:
        """Write the portrait anew, due or not. Raises SettingsError without a model."""
        narrator, user = self.agents.narrator, check_id(user_id)
        return await self._at_home(lambda: narrator.portray(user, "asked for"))

    @property
    def has_model(self) -> bool:
        """Whether there is a model to judge, to tell and to review."""
        return self._agents is not None

    @property
    def agents(self) -> "Agents":
        """Those who speak to a model. Raises SettingsError where there is none."""
        if self._agents is None:
            raise SettingsError("there is no model to ask: see SOUFFLEUR_BASE_URL")
        return self._agents

    async def run(self, name: str, errand: "Errand | None" = None) -> "Report":
        """Do what is due of one kind now: decay, review, consolidate, profile, contradictions,
        purge or report.

        Raises SettingsError for another name, or without a model where one is needed.
        """
        from souffleur.runs.errand import Errand
        from souffleur.runs.jobs import RUNS, perform

        if name not in RUNS:
            raise SettingsError(f"no run is called {name!r}: choose one of {', '.join(RUNS)}")
        wanted = errand or Errand(self.clock())
        self._endpoints.let_try()
        return await self._at_home(lambda: perform(self, name, wanted))

    async def forget(
        self,
        query: str,
        *,
        user_id: str,
        reason: str = "told to forget",
        at: datetime | None = None,
        dry_run: bool = False,
    ) -> list[Outcome]:
        """Forget a memory by its id, or those a text clearly means; undoable.

        With `dry_run` nothing changes, and `matches` of the same query says what would go.
        """
        ids = [found.memory.id for found in await self.matches(query, user_id=user_id, at=at)]
        if dry_run or not ids:
            return []
        ops = [Forget(target=memory_id, reason=reason) for memory_id in ids]
        return await self._decide(ops, user_id, "default", at)

    async def matches(self, query: str, *, user_id: str, at: datetime | None = None) -> list[Found]:
        """The memories that `forget` would take a query to mean: by id, or by clear relevance."""
        if not isinstance(query, str):
            raise MessageError("what to forget must be a text, or the id of a memory")
        now = self._moment(at)
        try:
            memory = await self.knowledge.get(query, user_id=user_id)
            return [Found(memory, score=1.0, relevance=1.0, effective=memory.importance)]
        except NotFoundError:
            hits = await self.knowledge.search(Query(user_id, query, now, limit=20))
            return [hit for hit in hits if hit.relevance >= SURE]

    async def proposals(self, *, user_id: str) -> list[Outcome]:
        """What waits for the user's yes if `settings.auto_extract` is off, oldest first."""
        return await self.knowledge.proposals(user_id)

    async def confirm(self, id: str, *, user_id: str) -> Outcome:
        """The user says yes to a proposal, or that a memory is so: verified, and active if it was
        pending. Takes the id of either.
        """
        if await self._is_proposal(id, user_id):
            by, now = By(who=Who.USER), self.clock()
            return await self._at_home(
                lambda: self.knowledge.agree(id, user_id=user_id, by=by, now=now)
            )
        op = Confirm(target=id, reason="confirmed by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def reject(self, id: str, *, user_id: str) -> Outcome:
        """The user says no to a proposal, or that a memory is not so: it is forgotten."""
        if await self._is_proposal(id, user_id):
            return await self._at_home(lambda: self.knowledge.decline(id, user_id=user_id))
        op = Forget(target=id, reason="rejected by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def _is_proposal(self, id: str, user_id: str) -> bool:
        check_id(user_id)
        found = await self.knowledge.journal.get_entries([id])
        return any(entry.waits and entry.user_id == user_id for entry in found)

    async def retry(self, *, user_id: str | None = None) -> int:
        """Have the turns judged again that were set aside as failed; returns how many."""
        failed = await self.knowledge.journal.turns(state=TurnState.FAILED, user_id=user_id)
        await self.knowledge.journal.mark(failed, state=TurnState.PENDING, tries=0, error="")
        self._endpoints.let_try()
        for turn in failed:
            self._wake(turn.user_id)
        return len(failed)

    async def flush(self, seconds: float | None = None) -> bool:
        """Wait until all that is due is judged, told and on disk; False if it could not be.

        That is if time ran out, or if an endpoint is in trouble: see `trouble`. Raises StoreError
        if the store is out of reach.
        """
        return await self._at_home(lambda: self._flush(seconds))

    async def close(self) -> None:
        """Judge for `settings.drain` seconds; what is left waits for the next start.

        Everything is let go of even if a part fails. Twice does no harm. Raises StoreError if the
        store cannot be written, and turns that were held in memory are lost.
        """
        if os.getpid() == self._pid:
            await self._at_home(self._close)

    async def start(self) -> None:
        """Finish what a crash interrupted, and take up what waits."""
        self._home = asyncio.get_running_loop()
        finished = await self.knowledge.recover()
        if finished:
            logger.info("finished {} verdicts that a crash had interrupted", finished)
        if again := await self.knowledge.journal.take_up_outages():
            logger.info("{} turns that an outage had set aside are judged again", again)
        if self._agents:
            await self._worker.resume()
        else:
            logger.info("no model is configured: turns are kept and wait to be judged")
        self._caretaker.start()
        if self.settings.schedule:
            from souffleur.runs.jobs import jobs_of
            from souffleur.schedule import Schedule

            jobs = jobs_of(self)
            self._schedule = Schedule(self.knowledge.journal, jobs, clock=self.clock)
            await self._schedule.start()

    def on_close(self, let_go: Callable[[], Awaitable[None]]) -> None:
        """Have `close` let go of the store, and of what else was opened, by this."""
        self._let_go = let_go

    async def _flush(self, seconds: float | None) -> bool:
        self._intake.write_late()
        await self._caretaker.tidy()
        self._endpoints.let_try()
        self._worker.hurry()
        if self._agents:
            await self._worker.resume()
        done = await self._worker.drain(seconds)
        await self._caretaker.embed()
        await self.knowledge.flush()
        return done and not self._intake.is_late and not self._worker.is_stalled

    async def _close(self) -> None:
        async with AsyncExitStack() as closing:  # last in, first out, whatever raises
            closing.push_async_callback(self._let_go)
            closing.push_async_callback(self._worker.stop)
            closing.push_async_callback(self._worker.drain, self.settings.drain)
            closing.callback(self._intake.write_last)
            closing.push_async_callback(self._caretaker.stop)
            if self._schedule:
                closing.push_async_callback(self._schedule.stop)

    async def _at_home(self, work: Callable[[], Awaitable[T]]) -> T:
        """Work in the event loop that judges; if that one is gone, in this one from now on."""
        running = asyncio.get_running_loop()
        if self._home is None or self._home is running:
            return await work()
        if self._home.is_running():
            done = asyncio.run_coroutine_threadsafe(_awaited(work), self._home)
            return await asyncio.wrap_future(done)
        self._move_to(running)
        return await work()

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Judge in this loop from now on; tasks of the former one are gone with it."""
        self._home = loop
        self._worker.adopt()
        self._caretaker.start()

    def _call_home(self, call: Callable[..., object], *args: object) -> None:
        """Call in the event loop that judges, from whatever thread; if it is gone, in this one."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._home is not None and self._home is not running and not self._home.is_closed():
            self._home.call_soon_threadsafe(call, *args)
        elif running is not None:
            if self._home is not running:
                self._move_to(running)
            call(*args)
        else:
            logger.warning("there is no event loop any more: turns wait for the next one")

    async def _decide(
        self, ops: Sequence[Op], user_id: str, agent_id: str, at: datetime | None
    ) -> list[Outcome]:
        verdict = Verdict(
            id=derive_id("by hand", uuid.uuid4()),
            user_id=user_id,
            agent_id=check_id(agent_id, "agent_id"),
            by=By(who=Who.USER),
            at=self._moment(at),
            ops=tuple(ops),
        )
        return await self._at_home(lambda: self.knowledge.apply(verdict))

    def _asked(self, user_id: str, session_id: str, text: str, at: datetime | None) -> Asked:
        """Return what somebody said. Raises IdentityError, MessageError."""
        check_id(user_id)
        check_id(session_id, "session_id")
        if not isinstance(text, str):
            raise MessageError(f"text must be a text, not {type(text).__name__}")
        zone = ZoneInfo(self.settings.timezone)
        return Asked(user_id, session_id, clip(mend(text), LONGEST), self._moment(at), zone)

    def _moment(self, at: datetime | None) -> datetime:
        return moment(at, now=self.clock(), zone=ZoneInfo(self.settings.timezone))[0]

    def _wake(self, user_id: str) -> None:
        if self._agents:
            self._call_home(self._worker.wake, user_id)

    async def _judge(self, waiting: Sequence[Turn]) -> None:
        assert self._agents is not None
        knowledge, turns = self.knowledge, [turn.clipped() for turn in waiting]
        for turn in turns:
            if turn.version:
                by = By(who=Who.HOST)
                await knowledge.undo_turn(turn, by=by, now=self.clock())
                await knowledge.sessions.again(await knowledge.sessions.holding([turn.id]))
        earlier = await knowledge.journal.before(turns[0], limit=self.settings.window)
        state = await self._agents.monitor.run(turns, earlier)
        answer = state["answer"]
        if answer and answer.big:
            upkeep = await knowledge.sessions.upkeep(turns[0].user_id)
            await knowledge.sessions.save_upkeep(upkeep.model_copy(update={"big": True}))
        for turn in turns:
            await knowledge.note_recalled(turn.injected)

    async def _tell(self, user_id: str) -> float | None:
        assert self._agents is not None
        await self._caretaker.embed(user_id)
        return await self._agents.narrator.run(user_id)


def _warn(what: str, outage: Outage) -> None:
    """Tell the host's own log, once an outage: ours is silent unless it is enabled."""
    logging.getLogger("souffleur").warning("%s has failed %s", what, outage)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _add(reason: str, content: str, kind: Kind, importance: Importance) -> Add:
    """Return the op that keeps a sentence. Raises MessageError for what cannot be kept."""
    try:
        return Add(reason=reason, quote="", content=content, kind=kind, importance=importance)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_input=False)
        )
        raise MessageError(f"this cannot be remembered: {wrong}") from None
