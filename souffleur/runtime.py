"""Souffleur: what a companion touches. `recall` before the reply, `observe` after it."""

import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from loguru import logger

from souffleur.errors import NotFoundError, SouffleurError
from souffleur.knowledge.journal import Turn, TurnState, turn_point_id
from souffleur.knowledge.memory import Category, Kind
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
from souffleur.prompts import language_of
from souffleur.settings import Settings, load_settings
from souffleur.whisper import Recall, Shelf, compose
from souffleur.window import Windows
from souffleur.worker import Patience, Worker

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat
    from souffleur.agents.monitor import KnowledgeMonitor
    from souffleur.knowledge.knowledge_base import KnowledgeBase

Clock = Callable[[], datetime]

CONTEXT_MESSAGES = 3
"""Messages before this one that a recall looks at."""
EARLIER_MESSAGES = 6
"""Messages before a turn that the monitor sees for reference."""
RESIDENT = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.RELATIONSHIP, Kind.BOUNDARY})
"""Kinds that may accompany every message; plans and moments come when they are called for."""
RESIDENT_AMONG = 30
NEAR_PLANS = 3
SURE = 0.45
"""Relevance from which `forget` takes a memory to be meant."""


@dataclass(frozen=True)
class Receipt:
    """What `observe` gives to the host."""

    turn_id: str
    """The host's id of the turn, or the one made for it."""
    new: bool = True
    """False: this very turn was observed before, or nothing is to be kept."""
    trouble: str = ""
    """Why the turn is not durable yet; empty: it is."""


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
        monitor: "KnowledgeMonitor | None",
        settings: Settings,
        *,
        clock: Clock,
        aclose: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.knowledge = knowledge
        self.settings = settings
        self.clock = clock
        self._monitor = monitor
        self._aclose = aclose
        self._windows = Windows(knowledge.journal, settings.window)
        self._whispered: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unwritten: list[Turn] = []
        self._worker = Worker(
            self._judge,
            knowledge.journal,
            patience=Patience(settings.tries, settings.retry_pause),
            parallel=settings.parallel_users,
        )

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
        now = at or self.clock()
        language = self.settings.language or language_of(text)
        shelf, trouble = Shelf(), ""
        try:
            before = await self._windows.messages(user_id, session_id)
            context = "\n".join(said.text for said in before[-CONTEXT_MESSAGES:])
            shelf = await self._shelf(user_id, text, context, now)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            trouble = f"{type(error).__name__}: {error}"
            logger.bind(user=user_id).warning("recall is incomplete: {}", trouble)
        whisper = compose(
            shelf,
            budget=self.settings.recall_tokens,
            user=self.settings.user_title,
            language=language,
            trouble=trouble,
        )
        self._whispered[user_id, session_id] = whisper.ids
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
        return self._record(turn)

    async def remember(
        self,
        text: str,
        *,
        user_id: str,
        agent_id: str = "default",
        kind: Kind = Kind.FACT,
        importance: Importance = Importance.HIGH,
        reason: str = "told to remember",
        at: datetime | None = None,
    ) -> Outcome:
        """Keep a sentence as it is, without a judge; refused where it is known or a secret."""
        op = Add(reason=reason, quote="", content=text, kind=kind, importance=importance)
        return (await self._decide([op], user_id, agent_id, at))[0]

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
        """Wait until what was observed is judged and on disk; False where time ran out."""
        self._write_late()
        if self._monitor:
            await self._worker.resume()
        done = await self._worker.drain(seconds)
        await self.knowledge.flush()
        return done and not self._unwritten

    async def close(self) -> None:
        """Judge for `settings.drain` seconds; what is left waits for the next start."""
        self._write_late()
        await self._worker.drain(self.settings.drain)
        await self._worker.stop()
        await self.knowledge.close()
        if self._aclose:
            await self._aclose()

    async def start(self) -> None:
        """Finish what a crash interrupted, and take up waiting turns."""
        finished = await self.knowledge.recover()
        if finished:
            logger.info("finished {} verdicts that a crash had interrupted", finished)
        if self._monitor:
            await self._worker.resume()
        else:
            logger.info("no model is configured: turns are kept and wait to be judged")

    async def _shelf(self, user_id: str, text: str, context: str, now: datetime) -> Shelf:
        knowledge, settings = self.knowledge, self.settings
        core = await knowledge.list(user_id, category=Category.CORE, now=now)
        system = await knowledge.list(user_id, category=Category.SYSTEM, now=now)
        query = Query(user_id, text, now, context=context, limit=settings.recall_limit)
        found = [hit for hit in await knowledge.search(query) if hit.relevant]
        best = await knowledge.most_valuable(
            user_id, limit=RESIDENT_AMONG, categories=(Category.FACT,), now=now
        )
        lasting = [memory for memory in best if memory.kind in RESIDENT][: settings.resident]
        near = await knowledge.plans_near(user_id, limit=NEAR_PLANS, now=now)
        return Shelf([*system, *core], [*near, *lasting], found)

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

    def _record(self, turn: Turn) -> Receipt:
        try:
            kept = self.knowledge.journal.record(turn)
        except SouffleurError as error:
            self._unwritten.append(turn)
            logger.error("turn {} is not on disk yet: {}", turn.turn_id, error)
            return Receipt(turn.turn_id, trouble=str(error))
        if kept is None:
            return Receipt(turn.turn_id, new=False)
        self._windows.add(kept)
        self._wake(kept.user_id)
        return Receipt(turn.turn_id)

    def _write_late(self) -> None:
        late, self._unwritten = self._unwritten, []
        for turn in late:
            self._record(turn)

    def _wake(self, user_id: str) -> None:
        if not self._monitor:
            return
        try:
            self._worker.wake(user_id)
        except RuntimeError:  # observed outside of the event loop: `flush` or a restart judges it
            logger.bind(user=user_id).warning("no event loop here: the turn waits for `flush`")

    async def _judge(self, turns: Sequence[Turn]) -> None:
        assert self._monitor is not None
        for turn in turns:
            if turn.version:
                by = By(who=Who.HOST)
                await self.knowledge.undo_turn(turn, by=by, now=self.clock())
        earlier = await self._windows.before(turns[0], limit=EARLIER_MESSAGES)
        await self._monitor.run(turns, earlier)
        for turn in turns:
            await self.knowledge.note_recalled(turn.injected)


class Opening:
    """A Souffleur about to be opened: `await` it and close it yourself, or use `async with`."""

    def __init__(
        self, cls: type[Souffleur], settings: Settings, chat: "Chat | None", clock: Clock
    ) -> None:
        self._cls, self._settings, self._chat, self._clock = cls, settings, chat, clock
        self._open: Souffleur | None = None

    async def _start(self) -> Souffleur:
        from souffleur.wiring import wire  # langgraph and qdrant are loaded here, not on import

        self._open = await wire(self._cls, self._settings, self._chat, self._clock)
        return self._open

    def __await__(self) -> Generator[Any, None, Souffleur]:
        return self._start().__await__()

    async def __aenter__(self) -> Souffleur:
        return await self._start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            await self._open.close()


def _now() -> datetime:
    return datetime.now(UTC)
