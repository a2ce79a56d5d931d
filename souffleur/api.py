"""Souffleur: the public interface. `recall` before the reply, `observe` after it."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from loguru import logger

from souffleur.agents.thought import NOTHING_KNOWN
from souffleur.door import Door
from souffleur.errors import (
    AnswerError,
    InputError,
    NotFoundError,
    SettingsError,
    SouffleurError,
    StoreError,
    UndoError,
)
from souffleur.host_ops import add_op, definition_ops, skill_data, skill_op, verdict_of
from souffleur.knowledge import erasure, proposals
from souffleur.knowledge.identity import PERSONAS, check_id, own_sphere
from souffleur.knowledge.memory import Category, Kind, Memories, Memory, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Confirm,
    Forget,
    Importance,
    LedgerEntries,
    LedgerEntry,
    Op,
    Promote,
    Recorded,
    Restore,
    Share,
)
from souffleur.knowledge.people import Knows, Language, Person, PersonaCard, Preferences
from souffleur.knowledge.search.query import Found, Scope
from souffleur.knowledge.store.introductions import UserSummary, list_users
from souffleur.knowledge.text.plain import name_media
from souffleur.knowledge.turn import TurnState, turn_point_id
from souffleur.lookup import READABLE, Stats, check_limit, find_meant, pick, read_stats, to_query
from souffleur.messages import Content, Messages, read_content, to_turns
from souffleur.participants import Cast, Participants
from souffleur.recall.compose import Recall
from souffleur.recall.gather import whisper_for
from souffleur.recall.past import Past, look_everywhere
from souffleur.recall.rendering import estimate_tokens
from souffleur.recall.thinking import think_over
from souffleur.service.health import Health
from souffleur.service.intake import Receipt, Said, Whisper, stored_id, stored_ids
from souffleur.service.service import Service
from souffleur.settings import NO_MODEL, Settings, change_settings, load_settings
from souffleur.telemetry.log_lines import describe, trace_bug
from souffleur.times import NOW_TAKEN, Clock, Moment, TimeSource, from_clock, read_moment

if TYPE_CHECKING:
    from souffleur.agents.model.chat import Chat
    from souffleur.integrations.importers.files import ImportSource
    from souffleur.integrations.mirror.mirror import Mirrors
    from souffleur.knowledge.erasure import Retell
    from souffleur.knowledge.forgetting.topic import TopicPreview
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.search.embedder import Embedder
    from souffleur.knowledge.store.backup import BackupManifest
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.export import Exported
    from souffleur.knowledge.store.opening import Opener
    from souffleur.knowledge.store.topics import Forgotten
    from souffleur.knowledge.store.transfer import Imported
    from souffleur.notices import Notice
    from souffleur.overrides import Overrides
    from souffleur.parts import Parts
    from souffleur.report.quality import Quality
    from souffleur.service.run import RunOptions, RunResult

G = TypeVar("G", "Erased", "Forgotten")
USER = Actor(who=ActorKind.USER)


class Souffleur:
    """Memory for a companion.

        async with Souffleur.open() as memory:
            whisper = await memory.recall(user_id="u1", session_id="s1", text=message)
            reply = await my_model(system=persona + whisper.text, user=message)
            memory.observe(user_id="u1", session_id="s1", user=message, assistant=reply)

    `recall` calls no model and never fails a turn. `observe` stores the turn before it returns,
    does not wait for its judgement and never raises. All other methods raise SouffleurError.
    """

    def __init__(self, parts: "Parts", settings: Settings) -> None:
        """Use parts that are open already; hosts use `open`."""
        self.parts = parts
        """The open parts: store, agents, endpoints."""
        self.knowledge: KnowledgeBase = parts.knowledge
        """The lower level: memories, ledger, sessions, turns."""
        self.settings = settings
        """The settings in force."""
        self.clock = parts.clock
        """Returns the time."""
        self.participants = Participants(parts.knowledge, settings, parts.clock)
        """Finds the user and the persona of a call."""
        self._service = Service(parts, settings, self.participants.find_zone_now)
        self.seconds_left = self._service.seconds_left
        """Returns the seconds left to close, counted from the first call."""
        self._mirrors = self._make_mirrors()
        self._door = Door(self, settings)

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        chat: "Chat | None" = None,
        clock: Clock | None = None,
        embedder: "Embedder | str | None" = None,
        **overrides: Unpack["Overrides"],
    ) -> "Opening":
        """Open the store and resume waiting turns; `await` it, or use it with `async with`.

        `overrides` are settings by name; `chat` and `embedder` replace the configured ones. The
        environment is read only without `settings`. Logs a warning if nobody will judge what is
        said, unless `judge=False`. Raises SettingsError, StoreBusyError if another process uses the
        path, StoreMismatchError if another embedder made the data.
        """
        given: dict[str, object] = {**overrides}
        if isinstance(embedder, str):
            given["embedder"], embedder = embedder, None
        chosen = change_settings(settings, **given) if settings else load_settings(**given)
        if chosen.judge and not (chat or chosen.has_model):  # the host's log: ours is silent
            told = "nothing that is said will be remembered, as %s (judge=False hides this)"
            logging.getLogger("souffleur").warning(told, NO_MODEL)
        return Opening(chosen, chat, from_clock(clock) if clock else TimeSource(), embedder)

    async def recall(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        text: Content,
        agent_id: str = "default",
        at: Moment | None = None,
        incognito: bool = False,
        rewound: Sequence[str] = (),
    ) -> Recall:
        """Return what to remember for the reply to `text`. Never raises: see `Recall.error`.

        `text` is as `user` in `observe`. Personas share what is known of a user, except those with
        `knows="own"` (see `introduce_persona`). `rewound` are ids of turns that this message takes
        the place of, as in `observe`: nothing that rests on them alone is whispered. With
        `incognito`, in the call or in the user's preferences, nothing is looked up.
        """
        if incognito:
            return Recall()
        within = self.settings.recall_timeout
        try:
            self.knowledge.memories.check_usable()  # a forked process has no loop that times it
            async with asyncio.timeout(within):
                wanted = await self.participants.preferences(user_id)
                if wanted.keeps_out:
                    return Recall()
                shown = wanted.show_references
                shows = self.settings.show_references if shown is None else shown
                return await self._recall(user_id, session_id, text, agent_id, at, shows, rewound)
        except TimeoutError:
            late = f"nothing was recalled within {within:g} s (SOUFFLEUR_RECALL_TIMEOUT)"
            logger.bind(user=user_id, session=session_id).warning("{}", late)
            return Recall(error=late)
        except Exception as error:  # noqa: BLE001  a reply must not fail because a recall fails
            trace_bug(logger, error)
            return Recall(error=describe(error))

    async def _recall(
        self,
        user_id: str,
        session_id: str,
        text: Content,
        agent_id: str,
        at: Moment | None,
        shows: bool,
        rewound: Sequence[str],
    ) -> Recall:
        named = {"user": user_id, "session": session_id, "persona": agent_id}
        watched = self.parts.watch("recall", **named, asked=lambda: str(text))
        with logger.contextualize(user=user_id, session=session_id), watched as work:
            try:
                asked, odd = await self.participants.ask(
                    user_id, session_id, read_content(text), agent_id, at, cached=True
                )
                back = stored_ids(rewound, self.settings.redacted)
                ids = (turn_point_id(user_id, agent_id, session_id, one) for one in back)
                asked = replace(asked, unsaid=frozenset(ids))
                cache, count = self.knowledge.cache, estimate_tokens
                whisper = await whisper_for(
                    cache, self.settings, asked, count, with_references=shows
                )
                self._service.intake.pairing.note(user_id, session_id, whisper)
                recalled = whisper.with_error(odd).with_error(self._service.error_for(user_id))
            except Exception as error:  # noqa: BLE001  the error is noted with the others
                trace_bug(logger, error)
                recalled = Recall(error=describe(error))
            work.note(ids=len(recalled.ids), tokens=recalled.tokens, error=recalled.error)
            work.note(whispered=lambda: recalled.text)
        return recalled

    def observe(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        user: Content = "",
        assistant: Content = "",
        whisper: Whisper = None,
        agent_id: str = "default",
        turn_id: str | None = None,
        at: Moment | None = None,
        incognito: bool = False,
        rewound: Sequence[str] = (),
    ) -> Receipt:
        """Store a turn durably, and have it judged in the background. Never raises.

        May be called from any thread. `user` and `assistant` are texts, lists of content parts, or
        messages (see `remember`). A known `turn_id` with another reply (swipe, regenerate) replaces
        the turn: its changes are undone where nothing else rests on them, and it is judged again.
        `whisper` is the recall for this reply, or its `judgeable_ids`; by default the latest recall
        of the session in this process. `rewound` are ids of turns that count as not said any more.
        With `incognito` nothing is stored. A secret in `turn_id` is stored as a hash.
        """
        name = stored_id(turn_id, self.settings.redacted) if turn_id else uuid.uuid4().hex
        try:
            self._service.check_not_forked()
        except StoreError as error:
            return Receipt(name, error=describe(error), durable=False)
        if incognito or self.participants.is_kept_out_now(user_id):
            return Receipt(name, new=False)
        named = {"user": user_id, "session": session_id, "persona": agent_id, "turn_id": name}
        with self.parts.watch("observe", **named) as work:
            said = Said(user_id, session_id, agent_id, name, user, assistant, at)
            receipt = self._service.intake.observe(said, whisper, rewound, work)
            work.note(new=receipt.new, durable=receipt.durable, error=receipt.error)
        return receipt

    def end_session(
        self, *, user_id: str, session_id: str = "default", agent_id: str = "default"
    ) -> bool:
        """End a session: the turns left in its window become an episode. Never raises.

        Returns whether any turns were left; on a server always `True`. A session also ends after
        `settings.idle_minutes`. A persona with `knows="own"` has sessions of its own: name it.
        """
        try:
            self._service.check_not_forked()
            check_id(user_id)
            return self._service.end_session(
                user_id, check_id(session_id, "session_id"), check_id(agent_id, "agent_id")
            )
        except SouffleurError as error:  # upkeep will find the session silent later
            bound = logger.bind(user=user_id, session=session_id)
            bound.error("a session is not closed yet: {}", error)
            return False

    @property
    def error(self) -> str:
        """Why turns cannot be judged, found or stored, and since when; empty if they can."""
        return self._service.error

    async def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        return await self._service.health()

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
        at: Moment | None = None,
    ) -> list[LedgerEntry]:
        """Remember a sentence as it is, or have messages judged now, whatever the cadence.

        Messages are those of OpenAI or LangChain, or pairs such as ("user", "hi"): see
        docs/python.md. Each is observed once, however often it is given. `at` is a datetime, an
        ISO 8601 string, or seconds or milliseconds since 1970. A sentence is refused if it is known
        or a secret. Raises InputError; EndpointError or EmbedderError if the stored turns must
        wait, AnswerError if they were set aside, MemoryOffError.
        """
        await self.participants.need_memory(user_id)
        if isinstance(what, str):
            op = add_op(reason, name_media(what), kind, importance)
            return await self._decide([op], user_id, agent_id, at)
        persona, _ = await self.participants.find(user_id, agent_id)
        ids, usual = [], None if at is None else read_moment(at)
        for turn in to_turns(what, (user_id, *persona.of_user)):
            receipt = self.observe(
                user_id=user_id,
                session_id=session_id,
                user=turn.user,
                assistant=turn.assistant,
                whisper=(),
                agent_id=agent_id,
                turn_id=turn.turn_id,
                at=turn.at or usual,
            )
            if not receipt.durable:
                raise InputError(receipt.error)
            ids.append(turn_point_id(user_id, agent_id, session_id, receipt.turn_id))
            await asyncio.sleep(0)  # let other tasks run
        await self._service.judge_now(user_id)
        turns = await self.knowledge.journal.get_turns(ids)
        if unjudged := [one for one in turns if one.state is TurnState.FAILED]:
            raise AnswerError(
                f"the model gave no answer that can be used for {len(unjudged)} of {len(ids)} "
                "turns. They are kept, and set aside: `retry` has them judged again. "
                f"{unjudged[0].error}"
            )
        return await self.knowledge.journal.entries(user_id, turn_ids=ids)

    async def record_skill(
        self,
        name: str,
        workflow: Sequence[str],
        outcome: str = "",
        *,
        user_id: str,
        agent_id: str = "default",
    ) -> LedgerEntry:
        """Record the steps by which something was done, and how it went, as a skill.

        The same steps again strengthen the skill, other steps replace it. Raises InputError for a
        blank or too long skill, MemoryOffError.
        """
        await self.participants.need_memory(user_id)
        data = skill_data(name, workflow, outcome)
        known = await self.list(user_id=user_id, agent_id=agent_id, kind=Kind.SKILL)
        former = next((one for one in known if one.data.get("skill") == data["skill"]), None)
        op = skill_op(data, former)
        return (await self._decide([op], user_id, agent_id, None, by=ActorKind.HOST))[0]

    async def ask(
        self,
        text: str,
        *,
        user_id: str,
        session_id: str = "default",
        agent_id: str = "default",
        at: Moment | None = None,
        limit: int = 8,
        think: bool = False,
    ) -> Past:
        """Return the talk of the time that a text names ("上周", "last time"), or about its topic.

        Asks no model. With `think`, a model answers the question: see `Past.thought`; it searches
        three times at most, whatever the `limit`, and `found` is what its answer rests on. Finds
        nothing for a user whose memory is off. Raises InputError, StoreError, EmbedderError; with
        `think` also SettingsError without a model, EndpointError, and AnswerError for an answer
        that cannot be used.
        """
        thinker = self.parts.needed_agents.thinker if think else None
        asked, odd = await self.participants.ask(user_id, session_id, text, agent_id, at)
        if odd:
            raise InputError(odd.removesuffix(NOW_TAKEN))
        if (await self.knowledge.choices.find(user_id)).keeps_out:
            return Past(None, None, None, (), thought=NOTHING_KNOWN if think else None)
        rule = self.settings.window_rule
        if thinker:
            return await self._service.do(lambda: think_over(thinker, self.knowledge, rule, asked))
        return await look_everywhere(self.knowledge, rule, asked, limit=limit)

    async def introduce(
        self,
        *,
        user_id: str,
        title: str | None = None,
        timezone: str | None = None,
        language: Language | None = None,
    ) -> Person:
        """Set a user's display name, time zone and language; `None` leaves a value as it was.

        Older memories are not rewritten. Raises SettingsError for an invalid value.
        """
        fields = {"title": title, "timezone": timezone, "language": language}
        people, now = self.knowledge.people, self.clock()
        known = await self.knowledge.count(user_id=check_id(user_id))
        called = self.settings.user_title if known else None
        return await self.knowledge.journal.calling(
            lambda: people.introduce(user_id, now=now, called=called, **fields)
        )

    async def preferences(self, *, user_id: str) -> Preferences:
        """Return a user's preferences."""
        return await self.knowledge.choices.find(user_id)

    async def set_preferences(
        self,
        *,
        user_id: str,
        memory: bool | None = None,
        auto_extract: bool | None = None,
        show_references: bool | None = None,
        incognito: bool | None = None,
    ) -> Preferences:
        """Set a user's preferences; `None` leaves a value as it was.

        With `memory` off, nothing is read, stored or judged, and nothing stored is lost. With
        `auto_extract` off, changes wait to be confirmed: see `proposals`. `show_references` adds
        references to a recall; `incognito` makes every turn so. Raises SettingsError.
        """
        fields = {"memory": memory, "auto_extract": auto_extract}
        fields |= {"show_references": show_references, "incognito": incognito}
        choices, journal, now = self.knowledge.choices, self.knowledge.journal, self.clock()

        def change() -> Awaitable[Preferences]:
            return journal.calling(lambda: choices.change(user_id, now=now, **fields))

        if memory is False and (await choices.find(user_id)).memory:
            return await self._service.do_alone(user_id, change)
        changed = await change()
        self._service.wake(user_id)
        return changed

    async def introduce_persona(
        self, *, agent_id: str, name: str | None = None, knows: Knows | None = None
    ) -> PersonaCard:
        """Set a persona's display name and what it knows; otherwise as `introduce`.

        With `knows="own"`, it shares neither its own later memories nor those of others, except
        those that `share` releases.
        """
        people, now = self.knowledge.people, self.clock()
        known = await self.knowledge.count(agent_id=agent_id)
        called = self.settings.assistant_name if known else None
        return await self.knowledge.journal.calling(
            lambda: people.introduce_persona(
                agent_id, now=now, called=called, name=name, knows=knows
            )
        )

    async def define(self, *, agent_id: str, what: Sequence[str]) -> list[LedgerEntry]:
        """Define a persona: sentences that are whispered only with it, for every user.

        Former sentences that are not among them are forgotten. Raises InputError.
        """
        sphere = own_sphere(check_id(agent_id, "agent_id"))
        known = await self.knowledge.list(PERSONAS, category=Category.SYSTEM, sphere=sphere)
        ops, by = definition_ops(what, known), ActorKind.HOST
        return await self._decide(ops, PERSONAS, agent_id, None, by=by, sphere=sphere)

    async def share(
        self, memory_id: str, *, user_id: str, reason: str = "shared by the host"
    ) -> LedgerEntry:
        """Let every persona know a memory or episode that one of them was told; undoable."""
        memory = await self.knowledge.get(memory_id, user_id=user_id)
        op, by = Share(target=memory.id, reason=reason), ActorKind.HOST
        return (await self._decide([op], user_id, memory.agent_id, None, by=by))[0]

    async def users(self) -> list[UserSummary]:
        """Return all users with a memory or a turn, those who were seen last first."""
        return await list_users(self.knowledge.memories, self.knowledge.journal)

    async def report(self, *, user_id: str | None = None) -> "Quality":
        """Return the numbers of the store, or of one user's part of it. Reads everything."""
        from souffleur.report.quality import measure

        whose = None if user_id is None else check_id(user_id)
        zone = (await self.cast()).zone(whose)
        return await measure(self.knowledge, self.clock(), user_id=whose, zone=zone)

    async def cast(self, *, user_id: str | None = None, agent_id: str = "default") -> Cast:
        """Return all users and personas that were introduced, or only this user and persona."""
        return await self.participants.cast(user_id, agent_id)

    async def write_portrait(self, *, user_id: str, agent_id: str = "default") -> Memory:
        """Write a new portrait of a user, due or not.

        Name a persona with `knows="own"` for its own portrait. Raises SettingsError without a
        model, MemoryOffError.
        """
        summaries, user = self.parts.needed_agents.summaries, check_id(user_id)
        await self.participants.need_memory(user, incognito=True)
        _, sphere = await self.participants.find(user, agent_id)
        return await self._service.do(lambda: summaries.write_portrait(user, "asked for", sphere))

    @property
    def has_model(self) -> bool:
        """Whether a model is configured."""
        return self.parts.has_model

    async def run(self, name: str, options: "RunOptions | None" = None) -> "RunResult":
        """Do one kind of scheduled run now.

        `name` is decay, review, consolidate, profile, audit, cues, boundaries, purge or
        report. Raises SettingsError for another name, or if a needed model is not configured.
        """
        from souffleur.service.jobs import RUNS, perform
        from souffleur.service.run import RunOptions

        if name not in RUNS:
            raise SettingsError(f"no run is called {name!r}: choose one of {', '.join(RUNS)}")
        wanted = options or RunOptions(self.clock())
        self.parts.endpoints.let_try()
        return await self._service.do(lambda: perform(self.parts, name, wanted))

    async def forget(
        self,
        query: str,
        *,
        user_id: str,
        reason: str = "told to forget",
        at: Moment | None = None,
        dry_run: bool = False,
    ) -> list[LedgerEntry]:
        """Forget a memory by its id, or all memories that a text clearly means; undoable.

        Returns a ledger entry for each memory; with `dry_run` nothing changes, and they are those
        that would be written. Raises InputError if `query` is not a string.
        """
        if not isinstance(query, str):
            raise InputError("what to forget must be a text, or the id of a memory")
        persona, _ = await self.participants.find(user_id)
        now = self.participants.moment(at, persona)
        ids = await find_meant(self.knowledge, query, user_id, now)
        ops = [Forget(target=memory_id, reason=reason) for memory_id in ids]
        return await self._decide(ops, user_id, "default", at, dry_run=dry_run) if ops else []

    async def proposals(self, *, user_id: str) -> list[LedgerEntry]:
        """Return the changes that wait for confirmation (see `auto_extract`), oldest first."""
        return await proposals.proposals(self.knowledge, user_id)

    async def confirm(self, id: str, *, user_id: str) -> LedgerEntry:
        """Confirm, for the user, a proposal or a memory, by the id of either.

        A confirmed memory is verified, and active if it was pending. Raises NotFoundError for any
        other id, or if it was answered already.
        """
        target = await proposals.find_target(self.knowledge, id, user_id)
        if target is None:
            now = self.clock()
            return await self._service.do(
                lambda: proposals.agree(self.knowledge, id, user_id=user_id, by=USER, now=now)
            )
        op = Confirm(target=target.id, reason="confirmed by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def reject(self, id: str, *, user_id: str) -> LedgerEntry:
        """Reject, for the user, a proposal or a memory; a rejected memory is forgotten.

        Raises UndoError for a new memory that was confirmed already, NotFoundError as `confirm`.
        """
        target = await proposals.find_target(self.knowledge, id, user_id)
        if target is None:
            return await self._service.do(
                lambda: proposals.decline(self.knowledge, id, user_id=user_id)
            )
        if target.id != id and target.state is MemoryState.ACTIVE:
            raise UndoError(f"it was agreed to already: forget {target.id!r} instead")
        op = Forget(target=target.id, reason="rejected by the user")
        return (await self._decide([op], user_id, "default", None))[0]

    async def confirm_all(self, *, user_id: str) -> LedgerEntries:
        """Confirm all proposals of a user, oldest first, except those that no longer apply."""
        return await self._answer_all(self.confirm, user_id)

    async def reject_all(self, *, user_id: str) -> LedgerEntries:
        """Reject all proposals of a user; return the ledger entries."""
        return await self._answer_all(self.reject, user_id)

    async def _answer_all(
        self, answer: Callable[..., Awaitable[LedgerEntry]], user_id: str
    ) -> LedgerEntries:
        done = []
        for proposal in await self.proposals(user_id=user_id):
            with suppress(UndoError, NotFoundError):
                done.append(await answer(proposal.id, user_id=user_id))
        return done

    async def pin(
        self, memory_id: str, *, user_id: str, reason: str = "pinned by the user"
    ) -> LedgerEntry:
        """Make a memory core, for the user: in every recall, and never fading; undoable."""
        memory = await self.get(memory_id, user_id=user_id)
        op = Promote(target=memory.id, reason=reason)
        return (await self._decide([op], user_id, memory.agent_id, None))[0]

    async def retry(self, *, user_id: str | None = None) -> int:
        """Have turns that were set aside as failed judged again; return their number."""
        failed = await self.knowledge.journal.turns(state=TurnState.FAILED, user_id=user_id)
        await self.knowledge.journal.mark(failed, state=TurnState.PENDING, tries=0, error="")
        self.parts.endpoints.let_try()
        for turn in failed:
            self._service.wake(turn.user_id)
        return len(failed)

    async def backup(self, file: str | Path) -> "BackupManifest":
        """Save the whole store to one file, readable by its owner alone; return what is in it.

        The memory may be used meanwhile. Raises FileError, OSError, StoreError; a former file of
        that name then stays.
        """
        from souffleur.knowledge.store import backup

        knowledge, now = self.knowledge, self.clock()
        return await self._service.do(
            lambda: backup.save(knowledge.memories, knowledge.journal, Path(file), now=now)
        )

    @staticmethod
    async def restore(
        file: str | Path, settings: Settings | None = None, **overrides: Any
    ) -> "BackupManifest":
        """Restore a backup to the place that the settings name, which must be empty.

        Raises FileError before anything is written if the file is damaged, StoreMismatchError if
        the place is not empty, StoreBusyError if it is in use.
        """
        from souffleur.knowledge.store import backup
        from souffleur.parts import make_place

        chosen = change_settings(settings, **overrides) if settings else load_settings(**overrides)
        return await backup.restore(Path(file), make_place(chosen))

    async def export(self, file: str | Path, *, user_id: str | None = None) -> "Exported":
        """Write everything of a user, or of all, to a file of JSON lines; return what is in it.

        Replaces a former file: see docs/running.md. Raises NotFoundError if there is nothing,
        FileError.
        """
        from souffleur.knowledge.store.export import export_file

        both, now = (self.knowledge.memories, self.knowledge.journal), self.clock()
        return await self._service.do(lambda: export_file(*both, user_id, Path(file), now=now))

    async def import_file(
        self,
        file: str | Path,
        *,
        user_id: str | None = None,
        agent_id: str = "default",
        source: "ImportSource | str" = "auto",
        dry_run: bool = False,
    ) -> "Imported":
        """Import the records of a file that the store does not have; return the numbers.

        Overwrites nothing; an interrupted import continues where it was. With `user_id`, an export
        with records of others is refused, and mem0's memories of others are left out. Chats need
        `user_id`: their turns are observed at their own times, and judged in the background. Parts
        that cannot be read are in `unread`. Raises FileError, which names the line; NotFoundError,
        StoreMismatchError, MemoryOffError.
        """
        from souffleur.integrations.importers.files import import_file

        return await self._service.do(
            lambda: import_file(
                self,
                Path(file),
                source,
                user_id=user_id,
                agent_id=agent_id,
                dry_run=dry_run,
                wake=self._service.wake,
            )
        )

    async def edit(self, memory_id: str, content: str, *, user_id: str) -> LedgerEntry:
        """Change, for the user, the words of a memory; undoable. Raises NotFoundError."""
        now = self.clock()
        return await self._service.do(
            lambda: proposals.edit(
                self.knowledge, memory_id, content, user_id=user_id, by=USER, now=now
            )
        )

    async def restore_memory(
        self, memory_id: str, *, user_id: str, reason: str = "told to restore"
    ) -> LedgerEntry:
        """Make a forgotten or archived memory active again, without an end; undoable."""
        memory = await self.get(memory_id, user_id=user_id)
        op = Restore(target=memory.id, reason=reason)
        return (await self._decide([op], user_id, memory.agent_id, None))[0]

    async def erase_user(self, *, user_id: str) -> "Erased":
        """Erase everything of a user for good: memories, ledger, talk, mirror; return the numbers.

        Breaks off the judging of the user. Raises NotFoundError if nothing is known.
        """
        return await self._erase(
            user_id, lambda: erasure.erase_user(self.knowledge, user_id), whole=True
        )

    async def erase_turn(self, turn_id: str, *, user_id: str) -> "Erased":
        """Erase one turn for good, and the memories that rest on it alone.

        `turn_id` is that of `observe`, or of a memory's evidence. Memories that the turn had
        replaced are in force again; episodes are rewritten. Raises NotFoundError.
        """
        id, now = stored_id(turn_id, self.settings.redacted), self.clock()
        return await self._erase(
            user_id,
            lambda: erasure.erase_turn(self.knowledge, id, user_id=user_id, by=USER, now=now),
        )

    async def preview_topic(
        self, topic: str, *, user_id: str, at: Moment | None = None
    ) -> "TopicPreview":
        """Return the records that mention a topic or rest on them, each with why.

        `forget_topic` takes their ids. Nothing changes. Raises InputError for a blank topic.
        """
        persona, _ = await self.participants.find(user_id)
        now = self.participants.moment(at, persona)
        return await erasure.preview_topic(self.knowledge, topic, user_id=user_id, now=now)

    async def forget_topic(
        self, topic: str, *, user_id: str, ids: Sequence[str], at: Moment | None = None
    ) -> "Forgotten":
        """Erase for good the records of a topic's preview that have these ids.

        Episodes and portraits lose the sentences that mention the topic; a model, if there is one,
        rewrites them from the rest. Returns a receipt without words, which the ledger keeps. After
        a crash the next start finishes the work. Raises NotFoundError, InputError.
        """
        persona, _ = await self.participants.find(user_id)
        now = self.participants.moment(at, persona)
        retell = self._retelling(user_id)
        return await self._erase(
            user_id,
            lambda: erasure.forget_topic(
                self.knowledge, topic, ids, user_id=user_id, by=USER, now=now, retell=retell
            ),
        )

    async def erase_memory(
        self, memory_id: str, *, user_id: str, turns: bool = False
    ) -> "Forgotten":
        """Erase a memory for good: its words in cues, quotes, ledger, episodes and portraits.

        Its earlier versions go as well, and with `turns` the raw turns that it rests on. Returns a
        receipt as `forget_topic`. Raises NotFoundError.
        """
        base, retell, now = self.knowledge, self._retelling(check_id(user_id)), self.clock()
        return await self._erase(
            user_id,
            lambda: erasure.erase_memory(
                base, memory_id, user_id=user_id, turns=turns, by=USER, now=now, retell=retell
            ),
        )

    async def _erase(
        self, user_id: str, erase: Callable[[], Awaitable[G]], *, whole: bool = False
    ) -> G:
        """Erase records of a user, also in the files of the mirror, while no turn is judged."""
        gone: G = await self._service.do_alone(check_id(user_id), erase)
        remark = await self._mirrors.erase(user_id, whole=whole) if self._mirrors else ""
        return replace(gone, remarks=(*gone.remarks, remark)) if remark else gone

    def _retelling(self, user_id: str) -> "Retell | None":
        """Return the function by which a model rewrites cut texts; `None` without a model."""
        agents = self.parts.agents
        return partial(agents.summaries.rewrite, user_id) if agents else None

    async def compact(self) -> list[str]:
        """Rewrite the files of the store, so that nothing deleted is left in them.

        Returns where a Qdrant server keeps bytes nevertheless, and until when.
        """
        return await self._service.do(self.knowledge.compact)

    async def flush(self, seconds: float | None = None) -> bool:
        """Wait until all due work is judged, summarised and on disk; return whether it is.

        Returns `False` after `seconds`, or if an endpoint is in trouble: see `error`. Raises
        StoreError.
        """
        return await self._service.flush(seconds)

    async def start(self) -> None:
        """Finish work that a crash interrupted, and resume waiting work. `open` calls it."""
        try:
            await self._service.start()
            if self._mirrors:
                self._mirrors.start()
            self._door.open()
        except BaseException:
            await self._service.break_off()
            raise

    async def close(self) -> None:
        """Judge while `seconds_left`, then close everything. Idempotent.

        Work that is left waits for the next start. A part that fails keeps no other part open.
        Raises StoreError if turns held in memory are lost.
        """
        await self._door.close()
        if self._mirrors:
            await self._mirrors.stop()
        await self._service.close()

    async def search(
        self,
        text: str,
        *,
        user_id: str,
        agent_id: str | None = None,
        scope: Scope | str | Sequence[Scope | str] = Scope.MEMORIES,
        limit: int = 10,
        at: Moment | None = None,
    ) -> list[Found]:
        """Return the records that match a text, best first; unlike `recall`, also weak matches.

        `scope` is memories, episodes, turns, or several of them. `agent_id` returns only what that
        persona may know. Raises InputError, StoreError, EmbedderError.
        """
        persona, sphere = await self.participants.find_reader(user_id, agent_id)
        now, zone = self.participants.moment(at, persona), persona.zone
        query = to_query(text, user_id, scope, now=now, sphere=sphere, limit=limit, zone=zone)
        return await self.knowledge.current.search(query)

    async def get(self, memory_id: str, *, user_id: str) -> Memory:
        """Return a memory of a user in any state. Raises NotFoundError, UnreadableError."""
        return await self.knowledge.get(memory_id, user_id=check_id(user_id))

    async def history(self, memory_id: str, *, user_id: str) -> LedgerEntries:
        """Return all changes of a memory, oldest first: who, when, why, on which words.

        Raises NotFoundError.
        """
        return await self.knowledge.history(memory_id, user_id=check_id(user_id))

    async def ledger(
        self, *, user_id: str, after: int = 0, limit: int = 100, newest_first: bool = False
    ) -> list[Recorded]:
        """Return a user's ledger entries, the earliest first; `after` is the latest known `seq`."""
        limit = check_limit(limit)
        return await self.knowledge.journal.recorded(
            check_id(user_id), after=after, limit=limit, newest_first=newest_first
        )

    async def notices(
        self, *, user_id: str, turn_id: str | None = None, after: int = 0, limit: int = 100
    ) -> "list[Notice]":
        """Return the changes made by turns, worded for the user: "Remembered: …".

        `after` is the `seq` of the latest known notice; `turn_id` selects one turn, as for
        `erase_turn`. A turn that is not judged, or changed nothing, has no notice. Raises
        NotFoundError, InputError.
        """
        from souffleur.notices import read_notices

        limit, language = check_limit(limit), (await self.participants.find(user_id))[0].language
        turn = stored_id(turn_id, self.settings.redacted) if turn_id else None
        journal = self.knowledge.journal
        return await read_notices(journal, user_id, turn, language, after=after, limit=limit)

    async def undo(self, entry_id: str, *, user_id: str) -> LedgerEntry:
        """Undo a change for a user, by the id of its ledger entry; return the UNDO entry.

        Raises NotFoundError, UndoError if the change cannot be undone.
        """
        owner = check_id(user_id)
        return await self._service.do(
            lambda: self.knowledge.undo(entry_id, user_id=owner, by=USER, now=self.clock())
        )

    async def stats(self, *, user_id: str) -> Stats:
        """Return how many memories a user has: in all, by kind, by category, by state."""
        return await read_stats(self.knowledge, user_id, self.clock())

    async def episodes(
        self, *, user_id: str, agent_id: str | None = None, limit: int = 10
    ) -> Memories:
        """Return a user's latest episodes, newest first; `agent_id` as in `search`."""
        now, limit = self.clock(), check_limit(limit)
        _, sphere = await self.participants.find_reader(user_id, agent_id)
        return await self.knowledge.episodes(user_id, limit=limit, now=now, sphere=sphere)

    async def portrait(self, *, user_id: str, agent_id: str = "default") -> Memory | None:
        """Return a user's current portrait, for a persona; `None` if there is none yet.

        After something in it was forgotten, those sentences are left out until it is written anew.
        """
        _, sphere = await self.participants.find(user_id, agent_id)
        found = await self.knowledge.portrait(user_id, sphere)
        return found or await self.knowledge.cut_portrait(user_id, sphere)

    # The last method: below it, `list` in the class would be this method.
    async def list(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        kind: Kind | str | None = None,
        category: Category | str | None = None,
        state: MemoryState | str | None = MemoryState.ACTIVE,
    ) -> Memories:
        """Return a user's memories, episodes and portrait, oldest first; `None` means any.

        Active and pending ones that have expired are left out, unless `state` is `None`. `agent_id`
        returns only what that persona may know. Raises InputError, StoreError.
        """
        wanted = pick(state, MemoryState, "state") if state else None
        _, sphere = await self.participants.find_reader(user_id, agent_id)
        return await self.knowledge.list(
            user_id,
            states=(wanted,) if wanted else tuple(MemoryState),
            category=pick(category, Category, "category") if category else None,
            kind=pick(kind, Kind, "kind") if kind else None,
            now=self.clock() if wanted in READABLE else None,
            sphere=sphere,
        )

    def _make_mirrors(self) -> "Mirrors | None":
        if not (folder := self.settings.mirror_folder):
            return None
        from souffleur.integrations.mirror.mirror import Mirrors
        from souffleur.knowledge.policy import POLICIES

        return Mirrors(self, folder, POLICIES[self.settings.policy])

    async def _decide(
        self,
        ops: Sequence[Op],
        user_id: str,
        agent_id: str,
        at: Moment | None,
        by: ActorKind = ActorKind.USER,
        sphere: str | None = None,
        dry_run: bool = False,
    ) -> LedgerEntries:
        persona, told_in = await self.participants.find(user_id, agent_id)
        where = told_in if sphere is None else sphere
        moment = self.participants.moment(at, persona)
        verdict = verdict_of(ops, user_id, agent_id, sphere=where, by=by, at=moment)
        carry = self.knowledge.writer.plan if dry_run else self.knowledge.apply
        done = await self._service.do(lambda: carry(verdict))
        if not dry_run and any("resting" in entry.details for entry in done):
            self._service.wake(user_id)  # episodes and the portrait are written anew
        return done


class Opening:
    """A Souffleur that is not open yet: `await` it and close it later, or use `async with`."""

    def __init__(
        self,
        settings: Settings,
        chat: "Chat | None",
        times: TimeSource,
        embedder: "Embedder | None" = None,
        opener: "Opener | None" = None,
    ) -> None:
        self._given = (settings, chat, times, embedder, opener)
        self._memory: Souffleur | None = None

    async def _start(self) -> Souffleur:
        from souffleur.parts import open_parts  # qdrant is loaded here, not on import

        parts = await open_parts(*self._given)
        memory = Souffleur(parts, self._given[0])
        try:
            await memory.start()
        except BaseException:
            await parts.close()
            raise
        self._memory = memory
        return memory

    def __await__(self) -> Generator[Any, None, Souffleur]:
        return self._start().__await__()

    def __getattr__(self, name: str) -> Any:
        """Explain the commonest slip: the memory is used before it is open."""
        if name in Souffleur.__dict__:
            raise AttributeError(
                f"the memory is not open yet, so it has no {name!r}: write `await Souffleur.open()`"
                " or `async with Souffleur.open() as memory`"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    async def __aenter__(self) -> Souffleur:
        return await self._start()

    async def __aexit__(self, *error: object) -> None:
        if self._memory:
            await self._memory.close()
