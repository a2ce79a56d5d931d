"""Methods of BlockingSouffleur and its knowledge, written by `make methods`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from souffleur.blocking.face import Face
from souffleur.knowledge.identity import COMMON, EVERY_SPHERE, EVERYBODY
from souffleur.knowledge.memory import Kind, MemoryState
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.search.memories import Scope
from souffleur.recall.compose import Recall

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from pathlib import Path

    from souffleur.cast import Cast
    from souffleur.health import Health
    from souffleur.integrations.importers.arriving import ImportSource
    from souffleur.knowledge.forgetting.trace import TopicPreview
    from souffleur.knowledge.knowledge_base import Retell
    from souffleur.knowledge.memory import Category, Due, Memories, Memory
    from souffleur.knowledge.operation import Actor, LedgerEntries, LedgerEntry, Recorded, Verdict
    from souffleur.knowledge.people import Knows, Language, Person, PersonaCard
    from souffleur.knowledge.preferences import Preferences
    from souffleur.knowledge.search.memories import Found, Query
    from souffleur.knowledge.store.backup_file import BackupManifest
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.export import Exported
    from souffleur.knowledge.store.importing import Imported
    from souffleur.knowledge.store.introductions import UserSummary
    from souffleur.knowledge.store.schema import Brought, Progress
    from souffleur.knowledge.store.topics import Forgotten
    from souffleur.knowledge.turn import Turn
    from souffleur.lookup import Stats
    from souffleur.messages import Content, Messages
    from souffleur.notices import Notice
    from souffleur.recall.gather import Past
    from souffleur.recall.pairing import Whisper
    from souffleur.report.quality import Quality
    from souffleur.service.intake import Receipt
    from souffleur.service.run import RunOptions, RunResult
    from souffleur.times import Moment


class SouffleurMethods(Face):
    """The public methods of Souffleur, each of which waits for its result."""

    def recall(
        self,
        *,
        user_id: str,
        session_id: str = "default",
        text: Content,
        agent_id: str = "default",
        at: Moment | None = None,
        incognito: bool = False,
    ) -> Recall:
        """Return what to remember for the reply to `text`. Never raises: see `Recall.error`.

        `text` may be content parts or a message, as for `observe`. All personas share what is known
        of a user, except those that know only what they were told themselves: see
        `introduce_persona`. With `incognito` nothing is looked up, nor if the user prefers that:
        see `set_preferences`.
        """
        found: Recall = self._wait_or_report(
            Recall,
            self._inner.recall,
            user_id=user_id,
            session_id=session_id,
            text=text,
            agent_id=agent_id,
            at=at,
            incognito=incognito,
        )
        return found

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

        `user` and `assistant` are texts, lists of content parts, or messages (see `remember`). The
        same `turn_id` with the same words is one turn. With another reply (swipe, regenerate), the
        changes made for the first are undone, if nothing was made of them since, and the turn is
        judged again. `whisper` is the recall
        that the reply was written with, or its `judgeable_ids`, which may come from another
        process; by default, the latest recall of the session in this process. `rewound` are ids of
        turns of the session that the talk went back over: they count as not said, and what they
        brought is undone.
        May be called from any thread. With `incognito` nothing is stored, nor if the user prefers
        that: see `set_preferences`. A secret in `turn_id` is stored as a hash; other ids are stored
        as they are.
        """
        found: Receipt = self._inner.observe(
            user_id=user_id,
            session_id=session_id,
            user=user,
            assistant=assistant,
            whisper=whisper,
            agent_id=agent_id,
            turn_id=turn_id,
            at=at,
            incognito=incognito,
            rewound=rewound,
        )
        return found

    def end_session(
        self, *, user_id: str, session_id: str = "default", agent_id: str = "default"
    ) -> bool:
        """End a session: the turns left in its window become an episode. Never raises.

        A persona that knows only its own must be named: its talk is a separate session. Returns
        whether any turns were left; on a server that is not known yet, and `True`. A silence of
        `settings.idle_minutes` ends a session as well.
        """
        found: bool = self._inner.end_session(
            user_id=user_id, session_id=session_id, agent_id=agent_id
        )
        return found

    @property
    def error(self) -> str:
        """Why turns cannot be judged, found or stored, and since when; empty if they can.

        Every `Recall` and `Receipt` includes it; `health` has details.
        """
        found: str = self._inner.error
        return found

    def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        found: Health = self._wait(self._inner.health)
        return found

    def remember(
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

        A sentence is refused if it is known or a secret. Messages are those of OpenAI or LangChain,
        or pairs such as ("user", "hi"); system and tool messages are left out, an image becomes
        "[image]" (docs/messages.md). They are observed as turns of the session, each once, however
        often they are given; without a model they wait. `at` is a datetime, an ISO 8601 string, or
        seconds or milliseconds since 1970. Raises MessageError for an invalid message, sentence or
        time; EndpointError or EmbedderError if nothing can be judged now, in which case the
        messages are stored and wait; AnswerError if the model's answers cannot be used, in which
        case they are stored and set aside. Raises MemoryOffError if the user wants nothing to be
        stored.
        """
        found: list[LedgerEntry] = self._wait(
            self._inner.remember,
            what,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            kind=kind,
            importance=importance,
            reason=reason,
            at=at,
        )
        return found

    def record_skill(
        self,
        name: str,
        workflow: Sequence[str],
        outcome: str = "",
        *,
        user_id: str,
        agent_id: str = "default",
    ) -> LedgerEntry:
        """Record the steps by which something was done, and how it went, as a skill.

        The same steps again strengthen it, other steps under that name replace it. Raises
        MessageError if there is no name or no step, or if it is too long, MemoryOffError if the
        user wants nothing to be stored.
        """
        found: LedgerEntry = self._wait(
            self._inner.record_skill, name, workflow, outcome, user_id=user_id, agent_id=agent_id
        )
        return found

    def ask(
        self,
        text: str,
        *,
        user_id: str,
        session_id: str = "default",
        agent_id: str = "default",
        at: Moment | None = None,
        limit: int = 8,
    ) -> Past:
        """Find what was talked about at the time a text names ("上周", "last time"), or its topic.

        Calls no model. Finds nothing for a user who prefers that: see `set_preferences`. Raises
        MessageError if `text` is not a string, StoreError, EmbedderError.
        """
        found: Past = self._wait(
            self._inner.ask,
            text,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            at=at,
            limit=limit,
        )
        return found

    def introduce(
        self,
        *,
        user_id: str,
        title: str | None = None,
        timezone: str | None = None,
        language: Language | None = None,
    ) -> Person:
        """Set a user's display name, time zone and language.

        `None` leaves a value as it was, or as in the settings. Older memories are not rewritten.
        Raises SettingsError for an invalid value.
        """
        found: Person = self._wait(
            self._inner.introduce,
            user_id=user_id,
            title=title,
            timezone=timezone,
            language=language,
        )
        return found

    def preferences(self, *, user_id: str) -> Preferences:
        """Return what a user wants of the memory."""
        found: Preferences = self._wait(self._inner.preferences, user_id=user_id)
        return found

    def set_preferences(
        self,
        *,
        user_id: str,
        memory: bool | None = None,
        auto_extract: bool | None = None,
        show_references: bool | None = None,
        incognito: bool | None = None,
    ) -> Preferences:
        """Set what a user wants of the memory; `None` leaves a value as it was.

        Without `memory`, nothing is read, stored or judged until it is on again; what is stored
        stays. Without `auto_extract`, what is judged waits to be confirmed: see `proposals`. With
        `show_references`, a recall has them. With `incognito`, every turn is. Raises SettingsError
        for an invalid value.
        """
        found: Preferences = self._wait(
            self._inner.set_preferences,
            user_id=user_id,
            memory=memory,
            auto_extract=auto_extract,
            show_references=show_references,
            incognito=incognito,
        )
        return found

    def introduce_persona(
        self, *, agent_id: str, name: str | None = None, knows: Knows | None = None
    ) -> PersonaCard:
        """Set a persona's display name and what it knows; otherwise as `introduce`.

        With `knows="own"`, no other persona knows what this one is told from now on, and it knows
        only what `share` releases of what the others are told. Earlier memories stay as they are.
        """
        found: PersonaCard = self._wait(
            self._inner.introduce_persona, agent_id=agent_id, name=name, knows=knows
        )
        return found

    def define(self, *, agent_id: str, what: Sequence[str]) -> list[LedgerEntry]:
        """Define a persona: sentences that are whispered only with it, for every user.

        Sentences that are no longer among them are forgotten, the others stay. No model changes
        them. Raises MessageError for an invalid sentence.
        """
        found: list[LedgerEntry] = self._wait(self._inner.define, agent_id=agent_id, what=what)
        return found

    def share(
        self, memory_id: str, *, user_id: str, reason: str = "shared by the host"
    ) -> LedgerEntry:
        """Let every persona know a memory or episode that one of them was told; undoable."""
        found: LedgerEntry = self._wait(
            self._inner.share, memory_id, user_id=user_id, reason=reason
        )
        return found

    def users(self) -> list[UserSummary]:
        """Return all users with a memory or a turn, those who were seen last first."""
        found: list[UserSummary] = self._wait(self._inner.users)
        return found

    def report(self, *, user_id: str | None = None) -> Quality:
        """Return the state of the store in numbers, or of one user's part of it.

        Reads everything: the time grows with the store. Raises StoreError.
        """
        found: Quality = self._wait(self._inner.report, user_id=user_id)
        return found

    def cast(self, *, user_id: str | None = None, agent_id: str = "default") -> Cast:
        """Return all users and personas that were introduced, or only this user and persona."""
        found: Cast = self._wait(self._inner.cast, user_id=user_id, agent_id=agent_id)
        return found

    def write_portrait(self, *, user_id: str, agent_id: str = "default") -> Memory:
        """Write a new portrait of a user, due or not. Raises SettingsError without a model.

        A persona that knows only its own has a portrait of its own: name it. Raises MemoryOffError
        if the user's memory is off.
        """
        found: Memory = self._wait(self._inner.write_portrait, user_id=user_id, agent_id=agent_id)
        return found

    @property
    def has_model(self) -> bool:
        """Whether a model is configured."""
        found: bool = self._inner.has_model
        return found

    def run(self, name: str, options: RunOptions | None = None) -> RunResult:
        """Run what is due now of one kind.

        `name` is decay, review, consolidate, profile, contradictions, cues, boundaries, purge or
        report. Raises SettingsError for another name, or if a model is needed and none is
        configured.
        """
        found: RunResult = self._wait(self._inner.run, name, options)
        return found

    def forget(
        self,
        query: str,
        *,
        user_id: str,
        reason: str = "told to forget",
        at: Moment | None = None,
        dry_run: bool = False,
    ) -> list[LedgerEntry]:
        """Forget a memory by its id, or those that a text clearly means; undoable.

        With `dry_run` nothing changes; `matches` with the same query returns what would go.
        """
        found: list[LedgerEntry] = self._wait(
            self._inner.forget, query, user_id=user_id, reason=reason, at=at, dry_run=dry_run
        )
        return found

    def matches(self, query: str, *, user_id: str, at: Moment | None = None) -> list[Found]:
        """Return the memories that `forget` would forget: by id, or by clear relevance."""
        found: list[Found] = self._wait(self._inner.matches, query, user_id=user_id, at=at)
        return found

    def proposals(self, *, user_id: str) -> list[LedgerEntry]:
        """Return the changes that wait for confirmation (see `auto_extract`), oldest first."""
        found: list[LedgerEntry] = self._wait(self._inner.proposals, user_id=user_id)
        return found

    def confirm(self, id: str, *, user_id: str) -> LedgerEntry:
        """Confirm, for the user, a proposal or a memory, by the id of either.

        A confirmed memory is verified, and becomes active if it was pending. Raises NotFoundError
        for what is neither, or was answered already.
        """
        found: LedgerEntry = self._wait(self._inner.confirm, id, user_id=user_id)
        return found

    def reject(self, id: str, *, user_id: str) -> LedgerEntry:
        """Reject, for the user, a proposal or a memory; a rejected memory is forgotten.

        Raises UndoError for a new memory that was agreed to already, NotFoundError for what is
        neither, or was answered already.
        """
        found: LedgerEntry = self._wait(self._inner.reject, id, user_id=user_id)
        return found

    def confirm_all(self, *, user_id: str) -> LedgerEntries:
        """Confirm all proposals of a user, oldest first; return what came of them.

        One whose memory was changed meanwhile goes on waiting.
        """
        found: LedgerEntries = self._wait(self._inner.confirm_all, user_id=user_id)
        return found

    def reject_all(self, *, user_id: str) -> LedgerEntries:
        """Reject all proposals of a user; return what came of them."""
        found: LedgerEntries = self._wait(self._inner.reject_all, user_id=user_id)
        return found

    def pin(
        self, memory_id: str, *, user_id: str, reason: str = "pinned by the user"
    ) -> LedgerEntry:
        """Make a memory core, for the user: always in mind, and never fading; undoable.

        Raises NotFoundError if this user has no such memory.
        """
        found: LedgerEntry = self._wait(self._inner.pin, memory_id, user_id=user_id, reason=reason)
        return found

    def retry(self, *, user_id: str | None = None) -> int:
        """Have turns that were set aside as failed judged again; return their number."""
        found: int = self._wait(self._inner.retry, user_id=user_id)
        return found

    def backup(self, file: str | Path) -> BackupManifest:
        """Save the whole store to one file, readable by its owner alone; return what is in it.

        The memory may be used meanwhile. A former backup of that name is replaced when the new one
        is whole. Raises BackupError if the file cannot be made there, OSError, StoreError.
        """
        found: BackupManifest = self._wait(self._inner.backup, file)
        return found

    def export(self, file: str | Path, *, user_id: str | None = None) -> Exported:
        """Write everything of a user, or of all, to a file of JSON lines; return what is in it.

        Memories with their history, turns, sessions, episodes, portraits, what is introduced: see
        docs/moving.md. The memory may be used meanwhile; a former export of that name is replaced.
        Raises NotFoundError if there is nothing, TransferError if the file cannot be made there.
        """
        found: Exported = self._wait(self._inner.export, file, user_id=user_id)
        return found

    def import_file(
        self,
        file: str | Path,
        *,
        user_id: str | None = None,
        agent_id: str = "default",
        source: ImportSource | str = "auto",
        dry_run: bool = False,
    ) -> Imported:
        """Take what is in a file and not in the store; return what was taken and what was not.

        The file is read as a whole before anything is written. Nothing is overwritten: importing
        twice is importing once, and an import that was interrupted goes on where it was. `user_id`
        refuses an export with records of others; of mem0's memories only theirs are taken, and
        those that name nobody. Chats need it: their turns are observed at their own times, as held
        with `agent_id`, and judged in the background. Of chats and of mem0's memories, a part that
        cannot be read is left out and named in `unread`. With `dry_run` nothing is written.
        Raises TransferError, which names the line, if an export has anything wrong or the file is
        nothing of that kind; NotFoundError, StoreMismatchError, MemoryOffError.
        """
        found: Imported = self._wait(
            self._inner.import_file,
            file,
            user_id=user_id,
            agent_id=agent_id,
            source=source,
            dry_run=dry_run,
        )
        return found

    def edit(self, memory_id: str, content: str, *, user_id: str) -> LedgerEntry:
        """Change, for the user, the words of a memory; undoable. Raises NotFoundError."""
        found: LedgerEntry = self._wait(self._inner.edit, memory_id, content, user_id=user_id)
        return found

    def restore_memory(
        self, memory_id: str, *, user_id: str, reason: str = "told to restore"
    ) -> LedgerEntry:
        """Make a forgotten or archived memory active again; undoable. Raises NotFoundError.

        If its time was over, it ends no more.
        """
        found: LedgerEntry = self._wait(
            self._inner.restore_memory, memory_id, user_id=user_id, reason=reason
        )
        return found

    def erase_user(self, *, user_id: str) -> Erased:
        """Erase everything of a user now, for good: memories, ledger, talk; return the numbers.

        What is judged at that moment is broken off. With `settings.mirror`, the user's files are
        deleted, too. Raises NotFoundError if nothing is known.
        """
        found: Erased = self._wait(self._inner.erase_user, user_id=user_id)
        return found

    def erase_turn(self, turn_id: str, *, user_id: str) -> Erased:
        """Erase the words of one turn everywhere, and what rests on it alone, now and for good.

        `turn_id` is that of `observe`, or the one in the evidence of a memory. What the turn had
        replaced holds again; episodes are told anew without it. Raises NotFoundError.
        """
        found: Erased = self._wait(self._inner.erase_turn, turn_id, user_id=user_id)
        return found

    def preview_topic(self, topic: str, *, user_id: str, at: Moment | None = None) -> TopicPreview:
        """Return what tells of a topic and what rests on it, each with why; nothing changes.

        `forget_topic` takes the ids of what is to go. Raises MessageError for a blank topic.
        """
        found: TopicPreview = self._wait(self._inner.preview_topic, topic, user_id=user_id, at=at)
        return found

    def forget_topic(
        self, topic: str, *, user_id: str, ids: Sequence[str], at: Moment | None = None
    ) -> Forgotten:
        """Forget, for good, those records of a topic's preview that have these ids, and no others.

        Episodes and portraits lose the sentences that tell of it; a model, if there is one, writes
        them anew from what is left. Returns a receipt without words, which the ledger keeps.
        Finished by the next start if the process dies. Raises NotFoundError, MessageError.
        """
        found: Forgotten = self._wait(
            self._inner.forget_topic, topic, user_id=user_id, ids=ids, at=at
        )
        return found

    def erase_memory(self, memory_id: str, *, user_id: str, turns: bool = False) -> Forgotten:
        """Erase a memory for good: its words in cues, quotes, ledger, episodes and portraits.

        Its earlier versions go as well, and with `turns` the raw turns that it rests on. Returns a
        receipt as `forget_topic` does. Raises NotFoundError.
        """
        found: Forgotten = self._wait(
            self._inner.erase_memory, memory_id, user_id=user_id, turns=turns
        )
        return found

    def compact(self) -> list[str]:
        """Rewrite the files of the store, so that nothing deleted is left in them.

        Returns where a Qdrant server keeps bytes nevertheless, and until when; empty for a folder.
        """
        found: list[str] = self._wait(self._inner.compact)
        return found

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until everything due is judged, summarised and on disk; return whether it is.

        It is not if time ran out, or if an endpoint is in trouble: see `error`. `seconds` is the
        time limit. Raises StoreError if the store is out of reach.
        """
        found: bool = self._wait(self._inner.flush, seconds)
        return found

    def search(
        self,
        text: str,
        *,
        user_id: str,
        agent_id: str | None = None,
        scope: Scope | str | Sequence[Scope | str] = Scope.MEMORIES,
        limit: int = 10,
        at: Moment | None = None,
    ) -> list[Found]:
        """Return what matches a text, best first; unlike `recall`, also what matches weakly.

        `scope` is memories, episodes, turns, or several of them. `agent_id` returns only what that
        persona may know. Asks no model. Raises MessageError, QueryError, StoreError, EmbedderError.
        """
        found: list[Found] = self._wait(
            self._inner.search,
            text,
            user_id=user_id,
            agent_id=agent_id,
            scope=scope,
            limit=limit,
            at=at,
        )
        return found

    def get(self, memory_id: str, *, user_id: str) -> Memory:
        """Return a memory of a user in any state. Raises NotFoundError, UnreadableError."""
        found: Memory = self._wait(self._inner.get, memory_id, user_id=user_id)
        return found

    def history(self, memory_id: str, *, user_id: str) -> LedgerEntries:
        """Return all changes of a memory, oldest first: who, when, why, on which words.

        Raises NotFoundError if this user has no such memory.
        """
        found: LedgerEntries = self._wait(self._inner.history, memory_id, user_id=user_id)
        return found

    def ledger(
        self, *, user_id: str, after: int = 0, limit: int = 100, newest_first: bool = False
    ) -> list[Recorded]:
        """Return a user's ledger entries after a place in the ledger, the earliest first.

        `after` is the `seq` of the latest one that is known. Raises QueryError.
        """
        found: list[Recorded] = self._wait(
            self._inner.ledger, user_id=user_id, after=after, limit=limit, newest_first=newest_first
        )
        return found

    def notices(
        self, *, user_id: str, turn_id: str | None = None, after: int = 0, limit: int = 100
    ) -> list[Notice]:
        """Return what turns have changed, as the user may be told it: "Remembered: …".

        `after` is the `seq` of the latest notice that is known, `turn_id` the one turn that is
        meant, as for `erase_turn`. A turn has none before it is judged, and none if nothing came
        of it. Raises NotFoundError, QueryError.
        """
        found: list[Notice] = self._wait(
            self._inner.notices, user_id=user_id, turn_id=turn_id, after=after, limit=limit
        )
        return found

    def undo(self, entry_id: str, *, user_id: str) -> LedgerEntry:
        """Undo a change for a user, by the id of its ledger entry; return the UNDO entry.

        Raises NotFoundError if this user has no such entry, UndoError if it cannot be undone.
        """
        found: LedgerEntry = self._wait(self._inner.undo, entry_id, user_id=user_id)
        return found

    def stats(self, *, user_id: str) -> Stats:
        """Return how many memories a user has: in all, by kind, by category, by state."""
        found: Stats = self._wait(self._inner.stats, user_id=user_id)
        return found

    def episodes(self, *, user_id: str, agent_id: str | None = None, limit: int = 10) -> Memories:
        """Return a user's latest episodes, newest first; `agent_id` as in `search`."""
        found: Memories = self._wait(
            self._inner.episodes, user_id=user_id, agent_id=agent_id, limit=limit
        )
        return found

    def portrait(self, *, user_id: str, agent_id: str = "default") -> Memory | None:
        """Return a user's current portrait, for a persona; `None` if there is none yet."""
        found: Memory | None = self._wait(self._inner.portrait, user_id=user_id, agent_id=agent_id)
        return found

    def list(
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
        returns only what that persona may know. Raises QueryError, StoreError.
        """
        found: Memories = self._wait(
            self._inner.list,
            user_id=user_id,
            agent_id=agent_id,
            kind=kind,
            category=category,
            state=state,
        )
        return found


class KnowledgeMethods(Face):
    """The public methods of KnowledgeBase, each of which waits for its result."""

    def apply(self, verdict: Verdict, *, turns: Sequence[Turn] = ()) -> LedgerEntries:
        """Carry out a verdict and return one ledger entry per op.

        The verdict is written to the ledger before any memory changes; `turns` become `judged`
        with it. Applying the same verdict again changes nothing and returns the same entries.
        What only may tell of something to be forgotten is hidden until a model has been asked.
        """
        found: LedgerEntries = self._wait(self._inner.apply, verdict, turns=turns)
        return found

    def preview(self, verdict: Verdict) -> LedgerEntries:
        """Return the entries that `apply` would write for a verdict; nothing is written."""
        found: LedgerEntries = self._wait(self._inner.preview, verdict)
        return found

    def undo(self, entry_id: str, *, user_id: str | None, by: Actor, now: datetime) -> LedgerEntry:
        """Undo a ledger entry of a user (`None`: of any user) and return the UNDO entry.

        Raises NotFoundError if this user has no such entry, UndoError if it was refused or undone
        already, or if a later change depends on it.
        """
        found: LedgerEntry = self._wait(self._inner.undo, entry_id, user_id=user_id, by=by, now=now)
        return found

    def proposals(self, user_id: str) -> LedgerEntries:
        """Return the changes and new memories that wait for the user's consent, oldest first."""
        found: LedgerEntries = self._wait(self._inner.proposals, user_id)
        return found

    def agree(self, entry_id: str, *, user_id: str, by: Actor, now: datetime) -> LedgerEntry:
        """Carry out a proposal that waits for the user's consent; repeating this is harmless.

        Raises NotFoundError if this user has no waiting proposal with that id.
        """
        found: LedgerEntry = self._wait(
            self._inner.agree, entry_id, user_id=user_id, by=by, now=now
        )
        return found

    def decline(self, entry_id: str, *, user_id: str) -> LedgerEntry:
        """Reject a proposal that waits for the user's consent.

        Raises NotFoundError as `agree`, UndoError if it was agreed to before a crash: its change
        can be undone.
        """
        found: LedgerEntry = self._wait(self._inner.decline, entry_id, user_id=user_id)
        return found

    def lapse(self, now: datetime, *, user_id: str | None = EVERYBODY) -> LedgerEntries:
        """Let proposals lapse to which nobody answered in time; return what came of them.

        Those of users whose memory is off stay as they are.
        """
        found: LedgerEntries = self._wait(self._inner.lapse, now, user_id=user_id)
        return found

    def users(self) -> list[UserSummary]:
        """Return who is known, with numbers: the users seen last come first. Reads the store."""
        found: list[UserSummary] = self._wait(self._inner.users)
        return found

    def edit(
        self, memory_id: str, content: str, *, user_id: str, by: Actor, now: datetime
    ) -> LedgerEntry:
        """Change the words of a memory, undoably; it counts as confirmed by the user.

        Raises NotFoundError if this user has no such memory, MessageError for invalid words.
        """
        found: LedgerEntry = self._wait(
            self._inner.edit, memory_id, content, user_id=user_id, by=by, now=now
        )
        return found

    def erase_user(self, user_id: str) -> Erased:
        """Delete everything of a user now, for good. Raises NotFoundError if there is nothing."""
        found: Erased = self._wait(self._inner.erase_user, user_id)
        return found

    def erase_turn(self, turn_id: str, *, user_id: str, by: Actor, now: datetime) -> Erased:
        """Erase the words of a turn and what rests on it alone, now and for good.

        `turn_id` is the host's id of the turn or its own, as in the evidence of memories. What the
        turn had replaced holds again. Raises NotFoundError if this user has no such turn.
        """
        found: Erased = self._wait(self._inner.erase_turn, turn_id, user_id=user_id, by=by, now=now)
        return found

    def preview_topic(self, topic: str, *, user_id: str, now: datetime) -> TopicPreview:
        """Return what tells of a topic and what rests on it, each with why; nothing changes."""
        found: TopicPreview = self._wait(self._inner.preview_topic, topic, user_id=user_id, now=now)
        return found

    def forget_topic(
        self,
        topic: str,
        ids: Sequence[str],
        *,
        user_id: str,
        by: Actor,
        now: datetime,
        retell: Retell | None = None,
    ) -> Forgotten:
        """Remove for good those records of a topic's preview that have these ids.

        Raises NotFoundError if the preview has none of them (any more).
        """
        found: Forgotten = self._wait(
            self._inner.forget_topic, topic, ids, user_id=user_id, by=by, now=now, retell=retell
        )
        return found

    def erase_memory(
        self,
        memory_id: str,
        *,
        user_id: str,
        turns: bool,
        by: Actor,
        now: datetime,
        retell: Retell | None = None,
    ) -> Forgotten:
        """Remove a memory for good, with its earlier versions and wherever it is told again.

        With `turns`, the raw turns that it rests on go as well. Raises NotFoundError.
        """
        found: Forgotten = self._wait(
            self._inner.erase_memory,
            memory_id,
            user_id=user_id,
            turns=turns,
            by=by,
            now=now,
            retell=retell,
        )
        return found

    def finish_removals(self, user_id: str | None = EVERYBODY) -> int:
        """Finish the removals that a crash interrupted; return their number."""
        found: int = self._wait(self._inner.finish_removals, user_id)
        return found

    def compact(self) -> list[str]:
        """Rewrite the files of the store, so that nothing deleted is left in them.

        The store may be used meanwhile. Returns where an engine keeps bytes nevertheless.
        """
        found: list[str] = self._wait(self._inner.compact)
        return found

    def undo_turn(self, turn: Turn, *, by: Actor, now: datetime) -> LedgerEntries:
        """Undo all changes that a turn caused and that can still be undone, newest first.

        Its proposals wait no more. What rests on a turn that was judged together with it stays.
        """
        found: LedgerEntries = self._wait(self._inner.undo_turn, turn, by=by, now=now)
        return found

    def search(self, query: Query) -> list[Found]:
        """Return what matches the query within its scope, best first."""
        found: list[Found] = self._wait(self._inner.search, query)
        return found

    def turns_and_episodes_between(self, query: Query) -> list[Memory | Turn]:
        """Return the episodes and raw turns between `since` and `until`, oldest first.

        Returns up to `query.limit` of each, the latest ones. The query's text is ignored.
        """
        found: list[Memory | Turn] = self._wait(self._inner.turns_and_episodes_between, query)
        return found

    def memories_learned_between(self, query: Query) -> list[Found]:
        """Return the memories first learned between `since` and `until`, oldest first.

        The query's text is ignored.
        """
        found: list[Found] = self._wait(self._inner.memories_learned_between, query)
        return found

    def episodes(
        self, user_id: str, *, limit: int, now: datetime, sphere: str | None = COMMON
    ) -> Memories:
        """Return the latest episodes of a user, newest first."""
        found: Memories = self._wait(
            self._inner.episodes, user_id, limit=limit, now=now, sphere=sphere
        )
        return found

    def portraits(self, user_id: str, sphere: str | None = COMMON) -> Memories:
        """Return all versions of a user's portrait in a sphere, in any state, newest first."""
        found: Memories = self._wait(self._inner.portraits, user_id, sphere)
        return found

    def portrait(self, user_id: str, sphere: str | None = COMMON) -> Memory | None:
        """Return the current portrait of a user in a sphere; `None` if there is none yet."""
        found: Memory | None = self._wait(self._inner.portrait, user_id, sphere)
        return found

    def embed_turns(self, user_id: str | None = None, *, progress: Progress | None = None) -> int:
        """Embed raw turns so that they can be found; return their number."""
        found: int = self._wait(self._inner.embed_turns, user_id, progress=progress)
        return found

    def get(self, memory_id: str, *, user_id: str | None) -> Memory:
        """Return a memory of a user (`None`: of any user) by its id, in any state.

        Raises NotFoundError if this user has no such memory, UnreadableError if the record is
        invalid.
        """
        found: Memory = self._wait(self._inner.get, memory_id, user_id=user_id)
        return found

    def get_many(self, user_id: str, memory_ids: Sequence[str]) -> Memories:
        """Return those of the memories that are a user's and active, in the given order."""
        found: Memories = self._wait(self._inner.get_many, user_id, memory_ids)
        return found

    def exists(self, memory_id: str) -> bool:
        """Return whether there is a memory with this id, in any state."""
        found: bool = self._wait(self._inner.exists, memory_id)
        return found

    def count(self, *, user_id: str | None = EVERYBODY, agent_id: str | None = None) -> int:
        """Return the number of memories of a user, or learned by a persona, in any state."""
        found: int = self._wait(self._inner.count, user_id=user_id, agent_id=agent_id)
        return found

    def find_usable(
        self, user_id: str, memory_ids: Sequence[str], *, sphere: str = COMMON
    ) -> tuple[str, ...]:
        """Return those of the ids that a reply may have used.

        These are memories of this user, in any state, that are known in the sphere; no episodes
        and no portraits.
        """
        found: tuple[str, ...] = self._wait(
            self._inner.find_usable, user_id, memory_ids, sphere=sphere
        )
        return found

    def list(
        self,
        user_id: str | None,
        *,
        states: Sequence[MemoryState] = (MemoryState.ACTIVE,),
        category: str | None = None,
        kind: str | None = None,
        now: datetime | None = None,
        sphere: str | None = EVERY_SPHERE,
    ) -> Memories:
        """Return the memories of a user (`None`: of all users), oldest first.

        If `now` is given, memories that have expired or ended by then are left out; if `sphere` is
        given, only what is known there is returned.
        """
        found: Memories = self._wait(
            self._inner.list,
            user_id,
            states=states,
            category=category,
            kind=kind,
            now=now,
            sphere=sphere,
        )
        return found

    def most_valuable(
        self,
        user_id: str,
        *,
        limit: int,
        categories: Sequence[str] = (),
        now: datetime,
        sphere: str | None = COMMON,
    ) -> Memories:
        """Return the active memories with the highest value now, best first; ties by age and id."""
        found: Memories = self._wait(
            self._inner.most_valuable,
            user_id,
            limit=limit,
            categories=categories,
            now=now,
            sphere=sphere,
        )
        return found

    def most_important(
        self,
        user_id: str,
        *,
        limit: int,
        categories: Sequence[str] = (),
        now: datetime,
        sphere: str | None = COMMON,
    ) -> Memories:
        """Return the active memories with the highest importance, whatever has faded of it.

        They are in the order of their age.
        """
        found: Memories = self._wait(
            self._inner.most_important,
            user_id,
            limit=limit,
            categories=categories,
            now=now,
            sphere=sphere,
        )
        return found

    def due(
        self, now: datetime, what: Sequence[Due], *, user_id: str | None = None, limit: int
    ) -> Memories:
        """Return the memories that are due for one of `what` by `now`, the longest due first.

        They are read by index: memories that are not due are not touched. Users whose memory is off
        are left out.
        """
        found: Memories = self._wait(self._inner.due, now, what, user_id=user_id, limit=limit)
        return found

    def count_due(self, now: datetime, what: Sequence[Due], *, user_id: str | None = None) -> int:
        """Return the number of memories that `due` would find without a limit."""
        found: int = self._wait(self._inner.count_due, now, what, user_id=user_id)
        return found

    def plans_near(
        self,
        user_id: str,
        *,
        limit: int,
        now: datetime,
        ahead: timedelta | None = None,
        sphere: str | None = COMMON,
    ) -> Memories:
        """Return active plans for the next three days and from the last two, the earliest first.

        With `ahead`, those that will be as near within that time are among them.
        """
        found: Memories = self._wait(
            self._inner.plans_near, user_id, limit=limit, now=now, ahead=ahead, sphere=sphere
        )
        return found

    def history(self, memory_id: str, *, user_id: str | None) -> LedgerEntries:
        """Return all ledger entries on a memory of a user (`None`: of any user), oldest first."""
        found: LedgerEntries = self._wait(self._inner.history, memory_id, user_id=user_id)
        return found

    def settled_entries(self, entry_ids: Sequence[str]) -> LedgerEntries:
        """Return the ledger entries with these ids, after finishing what a crash interrupted.

        Ids without an entry are left out.
        """
        found: LedgerEntries = self._wait(self._inner.settled_entries, entry_ids)
        return found

    def near_duplicates(self, verdict: Verdict) -> dict[int, Memory]:
        """Return an active near-duplicate for each ADD that has one, by the position of the op."""
        found: dict[int, Memory] = self._wait(self._inner.near_duplicates, verdict)
        return found

    def note_recalled(self, memory_ids: Sequence[str]) -> None:
        """Count a retrieval of each memory; this does not reinforce them."""
        self._wait(self._inner.note_recalled, memory_ids)

    def recover(self, user_id: str | None = EVERYBODY) -> int:
        """Finish the verdicts that a crash interrupted; return their number.

        Use `EVERYBODY` only while nobody else writes: at the start, or in a command of its own.
        """
        found: int = self._wait(self._inner.recover, user_id)
        return found

    def bring_up(self, progress: Progress = lambda done, total: None) -> Brought:
        """Bring an older store up to this version; it may be used meanwhile. Raises StoreError."""
        found: Brought = self._wait(self._inner.bring_up, progress)
        return found

    def embed_anew(self, progress: Progress = lambda done, total: None) -> int:
        """Embed memories whose vectors went when the embedder was changed; return their number.

        The store may be used meanwhile. Raises EmbedderError, StoreError.
        """
        found: int = self._wait(self._inner.embed_anew, progress)
        return found

    def flush(self) -> None:
        """Return once everything written would survive a power cut."""
        self._wait(self._inner.flush)

    @property
    def trouble(self) -> str:
        """Why recent writes may not survive a power cut; empty if all is well."""
        found: str = self._inner.trouble
        return found

    @property
    def remark(self) -> str:
        """What the engine lacks and what to do about it; empty if it lacks nothing."""
        found: str = self._inner.remark
        return found
