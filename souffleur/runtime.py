"""Souffleur: what a companion touches. `recall` before the reply, `observe` after it."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from loguru import logger

from souffleur.caretaker import Caretaker
from souffleur.errors import NotFoundError, SettingsError, SouffleurError
from souffleur.intake import Intake, Receipt
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
from souffleur.knowledge.search import Found, Query
from souffleur.knowledge.turn import Turn, TurnState, turn_point_id
from souffleur.messages import Messages, to_turns
from souffleur.opening import Opening
from souffleur.recollection import Asked, Past, look_everywhere, whisper_for
from souffleur.settings import Settings, load_settings
from souffleur.tokens import counter_for
from souffleur.whisper import Recall
from souffleur.worker import Patience, Worker

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.runs.errand import Errand, Report
    from souffleur.schedule import Schedule
    from souffleur.wiring import Agents

Clock = Callable[[], datetime]

SURE = 0.45
"""Relevance from which `forget` takes a memory to be meant."""


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
        clock: Clock,
        aclose: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.knowledge: KnowledgeBase = knowledge
        self.settings = settings
        self.clock = clock
        self._agents = agents
        self._aclose = aclose
        self._count = counter_for(settings.model, settings.tokenizer)
        self._whispered: dict[tuple[str, str], tuple[str, ...]] = {}
        self._worker = Worker(
            self._judge,
            self._tell,
            knowledge.journal,
            patience=Patience(settings.tries, settings.retry_pause),
            parallel=settings.parallel_users,
            every=settings.judge_every,
        )
        rule = settings.window_rule
        self._intake = Intake(knowledge.journal, rule, self._wake)
        self._caretaker = Caretaker(knowledge, rule, clock=clock, wake=self._wake)
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
        Raises StoreBusyError where another process has the path, StoreMismatchError where the
        data were made with another embedder.
        """
        chosen = settings or load_settings(**overrides)
        if settings and overrides:
            chosen = load_settings(**{**settings.model_dump(), **overrides})
        return Opening(cls, chosen, chat, clock or _now)

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
        zone = ZoneInfo(self.settings.timezone)
        asked = Asked(user_id, session_id, text, at or self.clock(), zone)
        whisper = await whisper_for(self.knowledge, self.settings, asked, self._count)
        self._whispered[user_id, session_id] = whisper.judged
        return whisper

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
        regenerate), what the first brought is undone and the turn is judged again.
        """
        name = turn_id or uuid.uuid4().hex
        if incognito or not (user.strip() or assistant.strip()):
            return Receipt(name, new=False)
        try:
            turn = Turn(
                id=turn_point_id(user_id, agent_id, session_id, name),
                turn_id=name,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                at=at or self.clock(),
                user=user,
                assistant=assistant,
                injected=self._whispered.pop((user_id, session_id), ()),
            )
        except ValueError as error:
            logger.error("turn {} cannot be kept: {}", name, error)
            return Receipt(name, new=False, trouble=f"the turn cannot be kept: {error}")
        return self._intake.take(turn)

    def end_session(self, *, user_id: str, session_id: str = "default") -> bool:
        """Say that a session is over: what is left in its window becomes an episode. Never raises.

        Returns whether there was anything. A silence of `settings.idle_minutes` ends one as well.
        """
        try:
            ended = self.knowledge.sessions.end(user_id, session_id)
        except SouffleurError as error:  # it will be found silent later
            logger.bind(user=user_id).error("session {} is not closed yet: {}", session_id, error)
            return False
        if ended:
            self._wake(user_id)
        return ended

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

        A sentence is refused where it is known or a secret. Messages are observed as turns of the
        session, each once, however often they are given; without a model they wait. Raises
        MessageError for what is no message.
        """
        if isinstance(what, str):
            op = Add(reason=reason, quote="", content=what, kind=kind, importance=importance)
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
            ids.append(turn_point_id(user_id, agent_id, session_id, receipt.turn_id))
        if self._agents:
            await self._worker.judge_now(user_id)
        entries = await self.knowledge.journal.entries(user_id)
        return [entry for entry in entries if set(entry.turn_ids) & set(ids)]

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

        Calls no model. Raises StoreError.
        """
        zone = ZoneInfo(self.settings.timezone)
        asked = Asked(user_id, session_id, text, at or self.clock(), zone)
        return await look_everywhere(self.knowledge, self.settings.window_rule, asked, limit=limit)

    async def portray(self, *, user_id: str) -> Memory:
        """Write the portrait anew, due or not. Raises SettingsError without a model."""
        return await self.agents.narrator.portray(user_id, "asked for")

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
        return await perform(self, name, errand or Errand(self.clock()))

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
        now = at or self.clock()
        try:
            memory = await self.knowledge.get(query, user_id=user_id)
            return [Found(memory, score=1.0, relevance=1.0, effective=memory.importance)]
        except NotFoundError:
            hits = await self.knowledge.search(Query(user_id, query, now, limit=20))
            return [hit for hit in hits if hit.relevance >= SURE]

    async def confirm(self, memory_id: str, *, user_id: str) -> Outcome:
        """The user says that it is so: verified, and active if it was pending."""
        op = Confirm(target=memory_id, reason="confirmed by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def reject(self, memory_id: str, *, user_id: str) -> Outcome:
        """The user says that it is not so: forgotten."""
        op = Forget(target=memory_id, reason="rejected by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def retry(self, *, user_id: str | None = None) -> int:
        """Have the turns judged again that were set aside as failed; returns how many."""
        failed = await self.knowledge.journal.turns(state=TurnState.FAILED, user_id=user_id)
        await self.knowledge.journal.mark(failed, state=TurnState.PENDING, tries=0, error="")
        for turn in failed:
            self._wake(turn.user_id)
        return len(failed)

    async def flush(self, seconds: float | None = None) -> bool:
        """Wait until all that is due is judged, told and on disk; False where time ran out."""
        self._intake.write_late()
        await self._caretaker.tidy()
        if self._agents:
            await self._worker.resume()
        done = await self._worker.drain(seconds)
        await self._caretaker.embed()
        await self.knowledge.flush()
        return done and not self._intake.is_late

    async def close(self) -> None:
        """Judge for `settings.drain` seconds; what is left waits for the next start."""
        if self._schedule:
            await self._schedule.stop()
        self._caretaker.stop()
        self._intake.write_late()
        await self._worker.drain(self.settings.drain)
        await self._worker.stop()
        await self.knowledge.close()
        if self._aclose:
            await self._aclose()

    async def start(self) -> None:
        """Finish what a crash interrupted, and take up what waits."""
        finished = await self.knowledge.recover()
        if finished:
            logger.info("finished {} verdicts that a crash had interrupted", finished)
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

    async def _decide(
        self, ops: Sequence[Op], user_id: str, agent_id: str, at: datetime | None
    ) -> list[Outcome]:
        verdict = Verdict(
            id=derive_id("by hand", uuid.uuid4()),
            user_id=user_id,
            agent_id=agent_id,
            by=By(who=Who.USER),
            at=at or self.clock(),
            ops=tuple(ops),
        )
        return await self.knowledge.apply(verdict)

    def _wake(self, user_id: str) -> None:
        if not self._agents:
            return
        try:
            self._worker.wake(user_id)
        except RuntimeError:  # observed outside of the event loop: `flush` or a restart judges it
            logger.bind(user=user_id).warning("no event loop here: the turn waits for `flush`")

    async def _judge(self, turns: Sequence[Turn]) -> None:
        assert self._agents is not None
        knowledge = self.knowledge
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


def _now() -> datetime:
    return datetime.now(UTC)
