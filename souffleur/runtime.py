"""Souffleur: what a companion touches. `recall` before the reply, `observe` after it."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from loguru import logger
from pydantic import ValidationError

from souffleur.agents.exchange import Persona, persona_of
from souffleur.background.backstage import Backstage
from souffleur.background.intake import Receipt, Said, moment, turn_of, with_error
from souffleur.blocking.memory import BlockingSouffleur
from souffleur.cast import Cast, usual
from souffleur.errors import (
    MessageError,
    NotFoundError,
    SettingsError,
    SouffleurError,
    StoreError,
)
from souffleur.health import Health
from souffleur.knowledge.finding.search import Found, Query
from souffleur.knowledge.identity import EVERY_SPHERE, PERSONAS, check_id, own_sphere
from souffleur.knowledge.language.plain_text import clip, mend
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Confirm,
    Forget,
    Importance,
    LedgerEntry,
    Op,
    Share,
    Verdict,
    derive_id,
)
from souffleur.knowledge.people import Knows, Language, Person, PersonaCard, sphere_of
from souffleur.knowledge.reading import describe_faults
from souffleur.knowledge.talk.turn import LONGEST_MESSAGE, TurnState, turn_point_id
from souffleur.messages import Messages, to_turns
from souffleur.opening import Opening
from souffleur.parts import Parts
from souffleur.settings import Settings, change_settings, load_settings
from souffleur.time_source import Clock, TimeSource, from_clock
from souffleur.whispering.pairing import Pairing, Whisper
from souffleur.whispering.recollection import Asked, Past, look_everywhere, whisper_for
from souffleur.whispering.tokens import counter_for
from souffleur.whispering.whisper import Recall

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat
    from souffleur.knowledge.embedding.embedder import Embedder
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.runs.run import RunOptions, RunResult

FORGET_RELEVANCE = 0.45
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

    def __init__(self, parts: Parts, settings: Settings) -> None:
        """Take the parts that `wiring` has opened; `open` is the usual way."""
        self.parts = parts
        self.knowledge: KnowledgeBase = parts.knowledge
        self.settings = settings
        self.clock = parts.clock
        self._usual = usual(settings)
        self._backstage = Backstage(parts, settings)
        self._count = counter_for(settings.model, settings.tokenizer)
        self._pairing = Pairing()

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        chat: "Chat | None" = None,
        clock: Clock | None = None,
        embedder: "Embedder | None" = None,
        **overrides: Any,
    ) -> "Opening[Souffleur]":
        """Open the store and take up waiting turns; `await` it, or use it with `async with`.

        `overrides` are settings by name. `chat` stands in for the configured model endpoint,
        `embedder` for the configured embedder.
        The environment is read only without `settings`. Raises SettingsError for an override that
        is no setting, StoreBusyError if another process has the path, StoreMismatchError if the
        data were made with another embedder.
        """
        chosen = change_settings(settings, **overrides) if settings else load_settings(**overrides)
        return Opening(cls, chosen, chat, from_clock(clock) if clock else TimeSource(), embedder)

    @classmethod
    def open_blocking(
        cls,
        settings: Settings | None = None,
        *,
        chat: "Chat | None" = None,
        clock: Clock | None = None,
        embedder: "Embedder | None" = None,
        **overrides: Any,
    ) -> BlockingSouffleur:
        """Open as `open` does, for a host without an event loop; returns when all is open.

        Use it with `with`, or close it yourself. A call from within an event loop holds that loop
        up. Raises what opening raises.
        """
        return BlockingSouffleur(
            cls.open(settings, chat=chat, clock=clock, embedder=embedder, **overrides)
        )

    async def recall(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        text: str,
        agent_id: str = "default",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> Recall:
        """What to remember for the reply to `text`. Never raises: see `error`.

        All personas share what is known of a user, but for those that know only what they were
        told themselves: see `introduce_persona`.
        """
        if incognito:
            return Recall()
        try:
            asked = await self._asked(user_id, session_id, text or "", agent_id, at)
            whisper = await whisper_for(self.knowledge, self.settings, asked, self._count)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            return Recall(error=_describe(error))
        self._pairing.note(user_id, session_id, whisper)
        return whisper.with_error(self.error)

    def observe(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        user: str = "",
        assistant: str = "",
        whisper: Whisper = None,
        agent_id: str = "default",
        turn_id: str | None = None,
        at: datetime | None = None,
        incognito: bool = False,
    ) -> Receipt:
        """Keep a turn, durably, and have it judged in the background. Never raises.

        The same `turn_id` with the same words is one turn; with another reply (swipe,
        regenerate), what the first brought is undone and the turn is judged again. `whisper` is
        the recall that the reply had, or its `judgeable_ids`, which may come from another
        process; without it, the latest recall of the session here. May be called from any thread.
        """
        name = turn_id or uuid.uuid4().hex
        if incognito:
            return Receipt(name, new=False)
        try:
            said = Said(user_id, session_id, agent_id, name, user, assistant, at)
            zone = self._zone_now(user_id, at)
            injected, odd_whisper = self._pairing.take(user_id, session_id, whisper)
            turn, odd = turn_of(said, now=self.clock(), zone=zone, injected=injected)
            if turn is None:
                return Receipt(name, new=False)
            return with_error(self._backstage.take(turn), odd, odd_whisper, self.error)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            logger.error("turn {} cannot be kept: {}", name, error)
            why = f"the turn cannot be kept: {_describe(error)}"
            return Receipt(name, new=False, error=why, durable=False)

    def end_session(
        self, *, user_id: str, session_id: str = "default", agent_id: str = "default"
    ) -> bool:
        """Say that a session is over: what is left in its window becomes an episode. Never raises.

        Name a persona that knows only its own: its talk is a session apart.
        Returns whether there was anything. A silence of `settings.idle_minutes` ends one as well.
        """
        try:
            ended = self.knowledge.sessions.end(
                check_id(user_id), check_id(session_id, "session_id"), agent_id
            )
        except SouffleurError as error:  # it will be found silent later
            logger.error("session {!r} is not closed yet: {}", session_id, error)
            return False
        if ended:
            self._backstage.wake(user_id)
        return ended

    @property
    def error(self) -> str:
        """What keeps turns from being judged, found or kept, since when; empty if nothing does.

        Every `Recall` and `Receipt` carries it; `health` says more.
        """
        return self._backstage.error

    async def health(self) -> Health:
        """Whether what is said is judged and kept. Asks no endpoint. Raises StoreError."""
        return await self._backstage.health()

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
    ) -> list[LedgerEntry]:
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
                whisper=(),
                agent_id=agent_id,
                turn_id=turn.turn_id,
                at=turn.at or at,
            )
            if not receipt.durable:
                raise MessageError(receipt.error)
            ids.append(turn_point_id(user_id, agent_id, session_id, receipt.turn_id))
        await self._backstage.judge_now(user_id)
        return await self.knowledge.journal.entries(user_id, turn_ids=ids)

    async def ask(
        self,
        text: str,
        *,
        user_id: str,
        session_id: str = "default",
        agent_id: str = "default",
        at: datetime | None = None,
        limit: int = 8,
    ) -> Past:
        """What was talked about at the time a text names ("上周", "last time"), or on its matter.

        Calls no model. Raises MessageError for what is no text, StoreError, EmbedderError.
        """
        asked = await self._asked(user_id, session_id, text, agent_id, at)
        return await look_everywhere(self.knowledge, self.settings.window_rule, asked, limit=limit)

    async def introduce(
        self,
        *,
        user_id: str,
        title: str | None = None,
        timezone: str | None = None,
        language: Language | None = None,
    ) -> Person:
        """Say how a user is called, where they live, and in which language it is whispered.

        What is None stays as it was, or as the settings say. Older memories are not rewritten.
        Raises SettingsError for what cannot be right.
        """
        fields = {"title": title, "timezone": timezone, "language": language}
        people, now = self.knowledge.people, self.clock()
        known = await self.knowledge.count(user_id=check_id(user_id))
        called = self.settings.user_title if known else None
        return people.introduce(user_id, now=now, called=called, **fields)

    async def introduce_persona(
        self, *, agent_id: str, name: str | None = None, knows: Knows | None = None
    ) -> PersonaCard:
        """Say how a persona is called, and what it knows; otherwise as `introduce`.

        With `knows="own"`, what it is told from now on no other persona knows, and of what the
        others are told it knows what is shared by `share`. What was told before stays where it is.
        """
        people, now = self.knowledge.people, self.clock()
        known = await self.knowledge.count(agent_id=agent_id)
        called = self.settings.assistant_name if known else None
        return people.introduce_persona(agent_id, now=now, called=called, name=name, knows=knows)

    async def define(self, *, agent_id: str, what: Sequence[str]) -> list[LedgerEntry]:
        """Say all that a persona is: sentences whispered only with it, to every user.

        What is not among them any more is forgotten; those that are there stay. No model changes
        them. Raises MessageError for what is no sentence.
        """
        system = {"category": Category.SYSTEM}
        adds = [_add("defined by the host", one, Kind.FACT, Importance.HIGH) for one in what]
        sphere = own_sphere(check_id(agent_id, "agent_id"))
        known = await self.knowledge.list(PERSONAS, category=Category.SYSTEM, sphere=sphere)
        said, there = {add.content for add in adds}, {one.content for one in known}
        gone = [one.id for one in known if one.content not in said]
        ops: list[Op] = [Forget(target=id, reason="defined otherwise by the host") for id in gone]
        ops += [add.model_copy(update=system) for add in adds if add.content not in there]
        return await self._decide(ops, PERSONAS, agent_id, None, by=ActorKind.HOST, sphere=sphere)

    async def share(
        self, memory_id: str, *, user_id: str, reason: str = "shared by the host"
    ) -> LedgerEntry:
        """Let every persona know a memory or episode that one was told; undoable."""
        memory = await self.knowledge.get(memory_id, user_id=user_id)
        op, by = Share(target=memory.id, reason=reason), ActorKind.HOST
        return (await self._decide([op], user_id, memory.agent_id, None, by=by))[0]

    async def cast(self) -> Cast:
        """Return all who were introduced."""
        return Cast(self._usual, await self.knowledge.people.everybody())

    async def write_portrait(self, *, user_id: str, agent_id: str = "default") -> Memory:
        """Write the portrait anew, due or not. Raises SettingsError without a model.

        Name a persona that knows only its own for the portrait that it alone has.
        """
        narrator, user = self.parts.needed_agents.narrator, check_id(user_id)
        _, sphere = await self._who(user, agent_id)
        return await self._backstage.do(lambda: narrator.write_portrait(user, "asked for", sphere))

    @property
    def has_model(self) -> bool:
        """Whether there is a model to judge, to tell and to review."""
        return self.parts.has_model

    async def run(self, name: str, options: "RunOptions | None" = None) -> "RunResult":
        """Do what is due of one kind now: decay, review, consolidate, profile, contradictions,
        purge or report.

        Raises SettingsError for another name, or without a model where one is needed.
        """
        from souffleur.runs.jobs import RUNS, perform
        from souffleur.runs.run import RunOptions

        if name not in RUNS:
            raise SettingsError(f"no run is called {name!r}: choose one of {', '.join(RUNS)}")
        wanted = options or RunOptions(self.clock())
        self._backstage.let_try()
        return await self._backstage.do(lambda: perform(self.parts, name, wanted))

    async def forget(
        self,
        query: str,
        *,
        user_id: str,
        reason: str = "told to forget",
        at: datetime | None = None,
        dry_run: bool = False,
    ) -> list[LedgerEntry]:
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
        persona, _ = await self._who(check_id(user_id))
        now = self._moment(at, persona)
        try:
            memory = await self.knowledge.get(query, user_id=user_id)
            return [Found(memory, score=1.0, relevance=1.0, effective=memory.importance)]
        except NotFoundError:
            everything = Query(user_id, query, now, sphere=EVERY_SPHERE, limit=20)
            hits = await self.knowledge.search(everything)
            return [hit for hit in hits if hit.relevance >= FORGET_RELEVANCE]

    async def proposals(self, *, user_id: str) -> list[LedgerEntry]:
        """What waits for the user's yes if `settings.auto_extract` is off, oldest first."""
        return await self.knowledge.proposals(user_id)

    async def confirm(self, id: str, *, user_id: str) -> LedgerEntry:
        """The user says yes to a proposal, or that a memory is so: verified, and active if it was
        pending. Takes the id of either.
        """
        if await self._is_proposal(id, user_id):
            by, now = Actor(who=ActorKind.USER), self.clock()
            return await self._backstage.do(
                lambda: self.knowledge.agree(id, user_id=user_id, by=by, now=now)
            )
        op = Confirm(target=id, reason="confirmed by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def reject(self, id: str, *, user_id: str) -> LedgerEntry:
        """The user says no to a proposal, or that a memory is not so: it is forgotten."""
        if await self._is_proposal(id, user_id):
            return await self._backstage.do(lambda: self.knowledge.decline(id, user_id=user_id))
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
        self._backstage.let_try()
        for turn in failed:
            self._backstage.wake(turn.user_id)
        return len(failed)

    async def flush(self, seconds: float | None = None) -> bool:
        """Wait until all that is due is judged, told and on disk; False if it could not be.

        That is if time ran out, or if an endpoint is in trouble: see `error`. Raises StoreError
        if the store is out of reach.
        """
        return await self._backstage.flush(seconds)

    async def start(self) -> None:
        """Finish what a crash interrupted, and take up what waits. `open` calls it."""
        await self._backstage.start()

    async def close(self) -> None:
        """Judge for `settings.shutdown_timeout` seconds; what is left waits for the next start.

        Everything is let go of even if a part fails. Twice does no harm. Raises StoreError if the
        store cannot be written, and turns that were held in memory are lost.
        """
        await self._backstage.close()

    async def _decide(
        self,
        ops: Sequence[Op],
        user_id: str,
        agent_id: str,
        at: datetime | None,
        by: ActorKind = ActorKind.USER,
        sphere: str | None = None,
    ) -> list[LedgerEntry]:
        persona, told_in = await self._who(check_id(user_id), check_id(agent_id, "agent_id"))
        verdict = Verdict(
            id=derive_id("by hand", uuid.uuid4()),
            user_id=user_id,
            agent_id=agent_id,
            sphere=told_in if sphere is None else sphere,
            by=Actor(who=by),
            at=self._moment(at, persona),
            ops=tuple(ops),
        )
        return await self._backstage.do(lambda: self.knowledge.apply(verdict))

    async def _asked(
        self, user_id: str, session_id: str, text: str, agent_id: str, at: datetime | None
    ) -> Asked:
        """Return what somebody said. Raises IdentityError, MessageError."""
        check_id(user_id)
        check_id(session_id, "session_id")
        if not isinstance(text, str):
            raise MessageError(f"text must be a text, not {type(text).__name__}")
        check_id(agent_id, "agent_id")
        persona, sphere = await self._who(user_id, agent_id)
        now, words = self._moment(at, persona), clip(mend(text), LONGEST_MESSAGE)
        return Asked(user_id, session_id, words, now, persona, agent_id, sphere)

    async def _who(self, user_id: str, agent_id: str = "default") -> tuple[Persona, str]:
        """Return who talks, and the sphere of what the persona is told."""
        person, card = await self.knowledge.people.find(user_id, agent_id)
        return persona_of(self._usual, person, card), sphere_of(card)

    def _moment(self, at: datetime | None, persona: Persona) -> datetime:
        return moment(at, now=self.clock(), zone=persona.zone)[0]

    def _zone_now(self, user_id: str, at: object) -> ZoneInfo:
        """Return the zone of a time that names none: where the user lives, if it can be read."""
        if not isinstance(at, datetime) or at.tzinfo is not None:
            return self._usual.zone
        try:
            person, _ = self.knowledge.people.find_now(user_id, "default")
        except StoreError:  # the turn itself is held until the store is back
            person = None
        return persona_of(self._usual, person, None).zone


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _add(reason: str, content: str, kind: Kind, importance: Importance) -> Add:
    """Return the op that keeps a sentence. Raises MessageError for what cannot be kept."""
    try:
        return Add(reason=reason, quote="", content=content, kind=kind, importance=importance)
    except ValidationError as error:
        raise MessageError(f"this cannot be remembered: {describe_faults(error)}") from None
