"""Methods of the clients, those of Souffleur, written by `make methods`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from souffleur.knowledge.memory import Kind, MemoryState
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.search.memories import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from souffleur.cast import Cast
    from souffleur.health import Health
    from souffleur.integrations.importers.arriving import ImportSource
    from souffleur.knowledge.forgetting.trace import TopicPreview
    from souffleur.knowledge.memory import Category, Memories, Memory
    from souffleur.knowledge.operation import LedgerEntries, LedgerEntry, Recorded
    from souffleur.knowledge.people import Knows, Language, Person, PersonaCard
    from souffleur.knowledge.preferences import Preferences
    from souffleur.knowledge.search.memories import Found
    from souffleur.knowledge.store.backup_file import BackupManifest
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.export import Exported
    from souffleur.knowledge.store.importing import Imported
    from souffleur.knowledge.store.introductions import UserSummary
    from souffleur.knowledge.store.topics import Forgotten
    from souffleur.lookup import Stats
    from souffleur.messages import Content, Messages
    from souffleur.notices import Notice
    from souffleur.recall.compose import Recall
    from souffleur.recall.gather import Past
    from souffleur.recall.pairing import Whisper
    from souffleur.report.quality import Quality
    from souffleur.service.intake import Receipt
    from souffleur.service.run import RunOptions, RunResult
    from souffleur.times import Moment


class _Calls(Protocol):
    def _call(self, method: str, /, **given: Any) -> Any: ...


class _Awaits(Protocol):
    async def _call(self, method: str, /, **given: Any) -> Any: ...


class Methods(_Calls):
    """The public methods of Souffleur, over HTTP."""

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
        found: Recall = self._call(
            "recall",
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
        found: Receipt = self._call(
            "observe",
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
        found: bool = self._call(
            "end_session", user_id=user_id, session_id=session_id, agent_id=agent_id
        )
        return found

    def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        found: Health = self._call("health")
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
        found: list[LedgerEntry] = self._call(
            "remember",
            what=what,
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
        found: LedgerEntry = self._call(
            "record_skill",
            name=name,
            workflow=workflow,
            outcome=outcome,
            user_id=user_id,
            agent_id=agent_id,
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
        found: Past = self._call(
            "ask",
            text=text,
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
        found: Person = self._call(
            "introduce", user_id=user_id, title=title, timezone=timezone, language=language
        )
        return found

    def preferences(self, *, user_id: str) -> Preferences:
        """Return what a user wants of the memory."""
        found: Preferences = self._call("preferences", user_id=user_id)
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
        found: Preferences = self._call(
            "set_preferences",
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
        found: PersonaCard = self._call(
            "introduce_persona", agent_id=agent_id, name=name, knows=knows
        )
        return found

    def define(self, *, agent_id: str, what: Sequence[str]) -> list[LedgerEntry]:
        """Define a persona: sentences that are whispered only with it, for every user.

        Sentences that are no longer among them are forgotten, the others stay. No model changes
        them. Raises MessageError for an invalid sentence.
        """
        found: list[LedgerEntry] = self._call("define", agent_id=agent_id, what=what)
        return found

    def share(
        self, memory_id: str, *, user_id: str, reason: str = "shared by the host"
    ) -> LedgerEntry:
        """Let every persona know a memory or episode that one of them was told; undoable."""
        found: LedgerEntry = self._call(
            "share", memory_id=memory_id, user_id=user_id, reason=reason
        )
        return found

    def users(self) -> list[UserSummary]:
        """Return all users with a memory or a turn, those who were seen last first."""
        found: list[UserSummary] = self._call("users")
        return found

    def report(self, *, user_id: str | None = None) -> Quality:
        """Return the state of the store in numbers, or of one user's part of it.

        Reads everything: the time grows with the store. Raises StoreError.
        """
        found: Quality = self._call("report", user_id=user_id)
        return found

    def cast(self, *, user_id: str | None = None, agent_id: str = "default") -> Cast:
        """Return all users and personas that were introduced, or only this user and persona."""
        found: Cast = self._call("cast", user_id=user_id, agent_id=agent_id)
        return found

    def write_portrait(self, *, user_id: str, agent_id: str = "default") -> Memory:
        """Write a new portrait of a user, due or not. Raises SettingsError without a model.

        A persona that knows only its own has a portrait of its own: name it. Raises MemoryOffError
        if the user's memory is off.
        """
        found: Memory = self._call("write_portrait", user_id=user_id, agent_id=agent_id)
        return found

    def run(self, name: str, options: RunOptions | None = None) -> RunResult:
        """Run what is due now of one kind.

        `name` is decay, review, consolidate, profile, contradictions, cues, boundaries, purge or
        report. Raises SettingsError for another name, or if a model is needed and none is
        configured.
        """
        found: RunResult = self._call("run", name=name, options=options)
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
        found: list[LedgerEntry] = self._call(
            "forget", query=query, user_id=user_id, reason=reason, at=at, dry_run=dry_run
        )
        return found

    def matches(self, query: str, *, user_id: str, at: Moment | None = None) -> list[Found]:
        """Return the memories that `forget` would forget: by id, or by clear relevance."""
        found: list[Found] = self._call("matches", query=query, user_id=user_id, at=at)
        return found

    def proposals(self, *, user_id: str) -> list[LedgerEntry]:
        """Return the changes that wait for confirmation (see `auto_extract`), oldest first."""
        found: list[LedgerEntry] = self._call("proposals", user_id=user_id)
        return found

    def confirm(self, id: str, *, user_id: str) -> LedgerEntry:
        """Confirm, for the user, a proposal or a memory, by the id of either.

        A confirmed memory is verified, and becomes active if it was pending. Raises NotFoundError
        for what is neither, or was answered already.
        """
        found: LedgerEntry = self._call("confirm", id=id, user_id=user_id)
        return found

    def reject(self, id: str, *, user_id: str) -> LedgerEntry:
        """Reject, for the user, a proposal or a memory; a rejected memory is forgotten.

        Raises UndoError for a new memory that was agreed to already, NotFoundError for what is
        neither, or was answered already.
        """
        found: LedgerEntry = self._call("reject", id=id, user_id=user_id)
        return found

    def confirm_all(self, *, user_id: str) -> LedgerEntries:
        """Confirm all proposals of a user, oldest first; return what came of them.

        One whose memory was changed meanwhile goes on waiting.
        """
        found: LedgerEntries = self._call("confirm_all", user_id=user_id)
        return found

    def reject_all(self, *, user_id: str) -> LedgerEntries:
        """Reject all proposals of a user; return what came of them."""
        found: LedgerEntries = self._call("reject_all", user_id=user_id)
        return found

    def pin(
        self, memory_id: str, *, user_id: str, reason: str = "pinned by the user"
    ) -> LedgerEntry:
        """Make a memory core, for the user: always in mind, and never fading; undoable.

        Raises NotFoundError if this user has no such memory.
        """
        found: LedgerEntry = self._call("pin", memory_id=memory_id, user_id=user_id, reason=reason)
        return found

    def retry(self, *, user_id: str | None = None) -> int:
        """Have turns that were set aside as failed judged again; return their number."""
        found: int = self._call("retry", user_id=user_id)
        return found

    def backup(self, file: str | Path) -> BackupManifest:
        """Save the whole store to one file, readable by its owner alone; return what is in it.

        The memory may be used meanwhile. A former backup of that name is replaced when the new one
        is whole. Raises BackupError if the file cannot be made there, OSError, StoreError.
        """
        found: BackupManifest = self._call("backup", file=file)
        return found

    def export(self, file: str | Path, *, user_id: str | None = None) -> Exported:
        """Write everything of a user, or of all, to a file of JSON lines; return what is in it.

        Memories with their history, turns, sessions, episodes, portraits, what is introduced: see
        docs/moving.md. The memory may be used meanwhile; a former export of that name is replaced.
        Raises NotFoundError if there is nothing, TransferError if the file cannot be made there.
        """
        found: Exported = self._call("export", file=file, user_id=user_id)
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
        found: Imported = self._call(
            "import_file",
            file=file,
            user_id=user_id,
            agent_id=agent_id,
            source=source,
            dry_run=dry_run,
        )
        return found

    def edit(self, memory_id: str, content: str, *, user_id: str) -> LedgerEntry:
        """Change, for the user, the words of a memory; undoable. Raises NotFoundError."""
        found: LedgerEntry = self._call(
            "edit", memory_id=memory_id, content=content, user_id=user_id
        )
        return found

    def restore_memory(
        self, memory_id: str, *, user_id: str, reason: str = "told to restore"
    ) -> LedgerEntry:
        """Make a forgotten or archived memory active again; undoable. Raises NotFoundError.

        If its time was over, it ends no more.
        """
        found: LedgerEntry = self._call(
            "restore_memory", memory_id=memory_id, user_id=user_id, reason=reason
        )
        return found

    def erase_user(self, *, user_id: str) -> Erased:
        """Erase everything of a user now, for good: memories, ledger, talk; return the numbers.

        What is judged at that moment is broken off. With `settings.mirror`, the user's files are
        deleted, too. Raises NotFoundError if nothing is known.
        """
        found: Erased = self._call("erase_user", user_id=user_id)
        return found

    def erase_turn(self, turn_id: str, *, user_id: str) -> Erased:
        """Erase the words of one turn everywhere, and what rests on it alone, now and for good.

        `turn_id` is that of `observe`, or the one in the evidence of a memory. What the turn had
        replaced holds again; episodes are told anew without it. Raises NotFoundError.
        """
        found: Erased = self._call("erase_turn", turn_id=turn_id, user_id=user_id)
        return found

    def preview_topic(self, topic: str, *, user_id: str, at: Moment | None = None) -> TopicPreview:
        """Return what tells of a topic and what rests on it, each with why; nothing changes.

        `forget_topic` takes the ids of what is to go. Raises MessageError for a blank topic.
        """
        found: TopicPreview = self._call("preview_topic", topic=topic, user_id=user_id, at=at)
        return found

    def forget_topic(
        self, topic: str, *, user_id: str, ids: Sequence[str], at: Moment | None = None
    ) -> Forgotten:
        """Forget, for good, those records of a topic's preview that have these ids, and no others.

        Episodes and portraits lose the sentences that tell of it; a model, if there is one, writes
        them anew from what is left. Returns a receipt without words, which the ledger keeps.
        Finished by the next start if the process dies. Raises NotFoundError, MessageError.
        """
        found: Forgotten = self._call("forget_topic", topic=topic, user_id=user_id, ids=ids, at=at)
        return found

    def erase_memory(self, memory_id: str, *, user_id: str, turns: bool = False) -> Forgotten:
        """Erase a memory for good: its words in cues, quotes, ledger, episodes and portraits.

        Its earlier versions go as well, and with `turns` the raw turns that it rests on. Returns a
        receipt as `forget_topic` does. Raises NotFoundError.
        """
        found: Forgotten = self._call(
            "erase_memory", memory_id=memory_id, user_id=user_id, turns=turns
        )
        return found

    def compact(self) -> list[str]:
        """Rewrite the files of the store, so that nothing deleted is left in them.

        Returns where a Qdrant server keeps bytes nevertheless, and until when; empty for a folder.
        """
        found: list[str] = self._call("compact")
        return found

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until everything due is judged, summarised and on disk; return whether it is.

        It is not if time ran out, or if an endpoint is in trouble: see `error`. `seconds` is the
        time limit. Raises StoreError if the store is out of reach.
        """
        found: bool = self._call("flush", seconds=seconds)
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
        found: list[Found] = self._call(
            "search", text=text, user_id=user_id, agent_id=agent_id, scope=scope, limit=limit, at=at
        )
        return found

    def get(self, memory_id: str, *, user_id: str) -> Memory:
        """Return a memory of a user in any state. Raises NotFoundError, UnreadableError."""
        found: Memory = self._call("get", memory_id=memory_id, user_id=user_id)
        return found

    def history(self, memory_id: str, *, user_id: str) -> LedgerEntries:
        """Return all changes of a memory, oldest first: who, when, why, on which words.

        Raises NotFoundError if this user has no such memory.
        """
        found: LedgerEntries = self._call("history", memory_id=memory_id, user_id=user_id)
        return found

    def ledger(
        self, *, user_id: str, after: int = 0, limit: int = 100, newest_first: bool = False
    ) -> list[Recorded]:
        """Return a user's ledger entries after a place in the ledger, the earliest first.

        `after` is the `seq` of the latest one that is known. Raises QueryError.
        """
        found: list[Recorded] = self._call(
            "ledger", user_id=user_id, after=after, limit=limit, newest_first=newest_first
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
        found: list[Notice] = self._call(
            "notices", user_id=user_id, turn_id=turn_id, after=after, limit=limit
        )
        return found

    def undo(self, entry_id: str, *, user_id: str) -> LedgerEntry:
        """Undo a change for a user, by the id of its ledger entry; return the UNDO entry.

        Raises NotFoundError if this user has no such entry, UndoError if it cannot be undone.
        """
        found: LedgerEntry = self._call("undo", entry_id=entry_id, user_id=user_id)
        return found

    def stats(self, *, user_id: str) -> Stats:
        """Return how many memories a user has: in all, by kind, by category, by state."""
        found: Stats = self._call("stats", user_id=user_id)
        return found

    def episodes(self, *, user_id: str, agent_id: str | None = None, limit: int = 10) -> Memories:
        """Return a user's latest episodes, newest first; `agent_id` as in `search`."""
        found: Memories = self._call("episodes", user_id=user_id, agent_id=agent_id, limit=limit)
        return found

    def portrait(self, *, user_id: str, agent_id: str = "default") -> Memory | None:
        """Return a user's current portrait, for a persona; `None` if there is none yet."""
        found: Memory | None = self._call("portrait", user_id=user_id, agent_id=agent_id)
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
        found: Memories = self._call(
            "list", user_id=user_id, agent_id=agent_id, kind=kind, category=category, state=state
        )
        return found


class AsyncMethods(_Awaits):
    """The public methods of Souffleur, over HTTP, awaited."""

    async def recall(
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
        found: Recall = await self._call(
            "recall",
            user_id=user_id,
            session_id=session_id,
            text=text,
            agent_id=agent_id,
            at=at,
            incognito=incognito,
        )
        return found

    async def observe(
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
        found: Receipt = await self._call(
            "observe",
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

    async def end_session(
        self, *, user_id: str, session_id: str = "default", agent_id: str = "default"
    ) -> bool:
        """End a session: the turns left in its window become an episode. Never raises.

        A persona that knows only its own must be named: its talk is a separate session. Returns
        whether any turns were left; on a server that is not known yet, and `True`. A silence of
        `settings.idle_minutes` ends a session as well.
        """
        found: bool = await self._call(
            "end_session", user_id=user_id, session_id=session_id, agent_id=agent_id
        )
        return found

    async def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        found: Health = await self._call("health")
        return found

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
        found: list[LedgerEntry] = await self._call(
            "remember",
            what=what,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            kind=kind,
            importance=importance,
            reason=reason,
            at=at,
        )
        return found

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

        The same steps again strengthen it, other steps under that name replace it. Raises
        MessageError if there is no name or no step, or if it is too long, MemoryOffError if the
        user wants nothing to be stored.
        """
        found: LedgerEntry = await self._call(
            "record_skill",
            name=name,
            workflow=workflow,
            outcome=outcome,
            user_id=user_id,
            agent_id=agent_id,
        )
        return found

    async def ask(
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
        found: Past = await self._call(
            "ask",
            text=text,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            at=at,
            limit=limit,
        )
        return found

    async def introduce(
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
        found: Person = await self._call(
            "introduce", user_id=user_id, title=title, timezone=timezone, language=language
        )
        return found

    async def preferences(self, *, user_id: str) -> Preferences:
        """Return what a user wants of the memory."""
        found: Preferences = await self._call("preferences", user_id=user_id)
        return found

    async def set_preferences(
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
        found: Preferences = await self._call(
            "set_preferences",
            user_id=user_id,
            memory=memory,
            auto_extract=auto_extract,
            show_references=show_references,
            incognito=incognito,
        )
        return found

    async def introduce_persona(
        self, *, agent_id: str, name: str | None = None, knows: Knows | None = None
    ) -> PersonaCard:
        """Set a persona's display name and what it knows; otherwise as `introduce`.

        With `knows="own"`, no other persona knows what this one is told from now on, and it knows
        only what `share` releases of what the others are told. Earlier memories stay as they are.
        """
        found: PersonaCard = await self._call(
            "introduce_persona", agent_id=agent_id, name=name, knows=knows
        )
        return found

    async def define(self, *, agent_id: str, what: Sequence[str]) -> list[LedgerEntry]:
        """Define a persona: sentences that are whispered only with it, for every user.

        Sentences that are no longer among them are forgotten, the others stay. No model changes
        them. Raises MessageError for an invalid sentence.
        """
        found: list[LedgerEntry] = await self._call("define", agent_id=agent_id, what=what)
        return found

    async def share(
        self, memory_id: str, *, user_id: str, reason: str = "shared by the host"
    ) -> LedgerEntry:
        """Let every persona know a memory or episode that one of them was told; undoable."""
        found: LedgerEntry = await self._call(
            "share", memory_id=memory_id, user_id=user_id, reason=reason
        )
        return found

    async def users(self) -> list[UserSummary]:
        """Return all users with a memory or a turn, those who were seen last first."""
        found: list[UserSummary] = await self._call("users")
        return found

    async def report(self, *, user_id: str | None = None) -> Quality:
        """Return the state of the store in numbers, or of one user's part of it.

        Reads everything: the time grows with the store. Raises StoreError.
        """
        found: Quality = await self._call("report", user_id=user_id)
        return found

    async def cast(self, *, user_id: str | None = None, agent_id: str = "default") -> Cast:
        """Return all users and personas that were introduced, or only this user and persona."""
        found: Cast = await self._call("cast", user_id=user_id, agent_id=agent_id)
        return found

    async def write_portrait(self, *, user_id: str, agent_id: str = "default") -> Memory:
        """Write a new portrait of a user, due or not. Raises SettingsError without a model.

        A persona that knows only its own has a portrait of its own: name it. Raises MemoryOffError
        if the user's memory is off.
        """
        found: Memory = await self._call("write_portrait", user_id=user_id, agent_id=agent_id)
        return found

    async def run(self, name: str, options: RunOptions | None = None) -> RunResult:
        """Run what is due now of one kind.

        `name` is decay, review, consolidate, profile, contradictions, cues, boundaries, purge or
        report. Raises SettingsError for another name, or if a model is needed and none is
        configured.
        """
        found: RunResult = await self._call("run", name=name, options=options)
        return found

    async def forget(
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
        found: list[LedgerEntry] = await self._call(
            "forget", query=query, user_id=user_id, reason=reason, at=at, dry_run=dry_run
        )
        return found

    async def matches(self, query: str, *, user_id: str, at: Moment | None = None) -> list[Found]:
        """Return the memories that `forget` would forget: by id, or by clear relevance."""
        found: list[Found] = await self._call("matches", query=query, user_id=user_id, at=at)
        return found

    async def proposals(self, *, user_id: str) -> list[LedgerEntry]:
        """Return the changes that wait for confirmation (see `auto_extract`), oldest first."""
        found: list[LedgerEntry] = await self._call("proposals", user_id=user_id)
        return found

    async def confirm(self, id: str, *, user_id: str) -> LedgerEntry:
        """Confirm, for the user, a proposal or a memory, by the id of either.

        A confirmed memory is verified, and becomes active if it was pending. Raises NotFoundError
        for what is neither, or was answered already.
        """
        found: LedgerEntry = await self._call("confirm", id=id, user_id=user_id)
        return found

    async def reject(self, id: str, *, user_id: str) -> LedgerEntry:
        """Reject, for the user, a proposal or a memory; a rejected memory is forgotten.

        Raises UndoError for a new memory that was agreed to already, NotFoundError for what is
        neither, or was answered already.
        """
        found: LedgerEntry = await self._call("reject", id=id, user_id=user_id)
        return found

    async def confirm_all(self, *, user_id: str) -> LedgerEntries:
        """Confirm all proposals of a user, oldest first; return what came of them.

        One whose memory was changed meanwhile goes on waiting.
        """
        found: LedgerEntries = await self._call("confirm_all", user_id=user_id)
        return found

    async def reject_all(self, *, user_id: str) -> LedgerEntries:
        """Reject all proposals of a user; return what came of them."""
        found: LedgerEntries = await self._call("reject_all", user_id=user_id)
        return found

    async def pin(
        self, memory_id: str, *, user_id: str, reason: str = "pinned by the user"
    ) -> LedgerEntry:
        """Make a memory core, for the user: always in mind, and never fading; undoable.

        Raises NotFoundError if this user has no such memory.
        """
        found: LedgerEntry = await self._call(
            "pin", memory_id=memory_id, user_id=user_id, reason=reason
        )
        return found

    async def retry(self, *, user_id: str | None = None) -> int:
        """Have turns that were set aside as failed judged again; return their number."""
        found: int = await self._call("retry", user_id=user_id)
        return found

    async def backup(self, file: str | Path) -> BackupManifest:
        """Save the whole store to one file, readable by its owner alone; return what is in it.

        The memory may be used meanwhile. A former backup of that name is replaced when the new one
        is whole. Raises BackupError if the file cannot be made there, OSError, StoreError.
        """
        found: BackupManifest = await self._call("backup", file=file)
        return found

    async def export(self, file: str | Path, *, user_id: str | None = None) -> Exported:
        """Write everything of a user, or of all, to a file of JSON lines; return what is in it.

        Memories with their history, turns, sessions, episodes, portraits, what is introduced: see
        docs/moving.md. The memory may be used meanwhile; a former export of that name is replaced.
        Raises NotFoundError if there is nothing, TransferError if the file cannot be made there.
        """
        found: Exported = await self._call("export", file=file, user_id=user_id)
        return found

    async def import_file(
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
        found: Imported = await self._call(
            "import_file",
            file=file,
            user_id=user_id,
            agent_id=agent_id,
            source=source,
            dry_run=dry_run,
        )
        return found

    async def edit(self, memory_id: str, content: str, *, user_id: str) -> LedgerEntry:
        """Change, for the user, the words of a memory; undoable. Raises NotFoundError."""
        found: LedgerEntry = await self._call(
            "edit", memory_id=memory_id, content=content, user_id=user_id
        )
        return found

    async def restore_memory(
        self, memory_id: str, *, user_id: str, reason: str = "told to restore"
    ) -> LedgerEntry:
        """Make a forgotten or archived memory active again; undoable. Raises NotFoundError.

        If its time was over, it ends no more.
        """
        found: LedgerEntry = await self._call(
            "restore_memory", memory_id=memory_id, user_id=user_id, reason=reason
        )
        return found

    async def erase_user(self, *, user_id: str) -> Erased:
        """Erase everything of a user now, for good: memories, ledger, talk; return the numbers.

        What is judged at that moment is broken off. With `settings.mirror`, the user's files are
        deleted, too. Raises NotFoundError if nothing is known.
        """
        found: Erased = await self._call("erase_user", user_id=user_id)
        return found

    async def erase_turn(self, turn_id: str, *, user_id: str) -> Erased:
        """Erase the words of one turn everywhere, and what rests on it alone, now and for good.

        `turn_id` is that of `observe`, or the one in the evidence of a memory. What the turn had
        replaced holds again; episodes are told anew without it. Raises NotFoundError.
        """
        found: Erased = await self._call("erase_turn", turn_id=turn_id, user_id=user_id)
        return found

    async def preview_topic(
        self, topic: str, *, user_id: str, at: Moment | None = None
    ) -> TopicPreview:
        """Return what tells of a topic and what rests on it, each with why; nothing changes.

        `forget_topic` takes the ids of what is to go. Raises MessageError for a blank topic.
        """
        found: TopicPreview = await self._call("preview_topic", topic=topic, user_id=user_id, at=at)
        return found

    async def forget_topic(
        self, topic: str, *, user_id: str, ids: Sequence[str], at: Moment | None = None
    ) -> Forgotten:
        """Forget, for good, those records of a topic's preview that have these ids, and no others.

        Episodes and portraits lose the sentences that tell of it; a model, if there is one, writes
        them anew from what is left. Returns a receipt without words, which the ledger keeps.
        Finished by the next start if the process dies. Raises NotFoundError, MessageError.
        """
        found: Forgotten = await self._call(
            "forget_topic", topic=topic, user_id=user_id, ids=ids, at=at
        )
        return found

    async def erase_memory(self, memory_id: str, *, user_id: str, turns: bool = False) -> Forgotten:
        """Erase a memory for good: its words in cues, quotes, ledger, episodes and portraits.

        Its earlier versions go as well, and with `turns` the raw turns that it rests on. Returns a
        receipt as `forget_topic` does. Raises NotFoundError.
        """
        found: Forgotten = await self._call(
            "erase_memory", memory_id=memory_id, user_id=user_id, turns=turns
        )
        return found

    async def compact(self) -> list[str]:
        """Rewrite the files of the store, so that nothing deleted is left in them.

        Returns where a Qdrant server keeps bytes nevertheless, and until when; empty for a folder.
        """
        found: list[str] = await self._call("compact")
        return found

    async def flush(self, seconds: float | None = None) -> bool:
        """Wait until everything due is judged, summarised and on disk; return whether it is.

        It is not if time ran out, or if an endpoint is in trouble: see `error`. `seconds` is the
        time limit. Raises StoreError if the store is out of reach.
        """
        found: bool = await self._call("flush", seconds=seconds)
        return found

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
        """Return what matches a text, best first; unlike `recall`, also what matches weakly.

        `scope` is memories, episodes, turns, or several of them. `agent_id` returns only what that
        persona may know. Asks no model. Raises MessageError, QueryError, StoreError, EmbedderError.
        """
        found: list[Found] = await self._call(
            "search", text=text, user_id=user_id, agent_id=agent_id, scope=scope, limit=limit, at=at
        )
        return found

    async def get(self, memory_id: str, *, user_id: str) -> Memory:
        """Return a memory of a user in any state. Raises NotFoundError, UnreadableError."""
        found: Memory = await self._call("get", memory_id=memory_id, user_id=user_id)
        return found

    async def history(self, memory_id: str, *, user_id: str) -> LedgerEntries:
        """Return all changes of a memory, oldest first: who, when, why, on which words.

        Raises NotFoundError if this user has no such memory.
        """
        found: LedgerEntries = await self._call("history", memory_id=memory_id, user_id=user_id)
        return found

    async def ledger(
        self, *, user_id: str, after: int = 0, limit: int = 100, newest_first: bool = False
    ) -> list[Recorded]:
        """Return a user's ledger entries after a place in the ledger, the earliest first.

        `after` is the `seq` of the latest one that is known. Raises QueryError.
        """
        found: list[Recorded] = await self._call(
            "ledger", user_id=user_id, after=after, limit=limit, newest_first=newest_first
        )
        return found

    async def notices(
        self, *, user_id: str, turn_id: str | None = None, after: int = 0, limit: int = 100
    ) -> list[Notice]:
        """Return what turns have changed, as the user may be told it: "Remembered: …".

        `after` is the `seq` of the latest notice that is known, `turn_id` the one turn that is
        meant, as for `erase_turn`. A turn has none before it is judged, and none if nothing came
        of it. Raises NotFoundError, QueryError.
        """
        found: list[Notice] = await self._call(
            "notices", user_id=user_id, turn_id=turn_id, after=after, limit=limit
        )
        return found

    async def undo(self, entry_id: str, *, user_id: str) -> LedgerEntry:
        """Undo a change for a user, by the id of its ledger entry; return the UNDO entry.

        Raises NotFoundError if this user has no such entry, UndoError if it cannot be undone.
        """
        found: LedgerEntry = await self._call("undo", entry_id=entry_id, user_id=user_id)
        return found

    async def stats(self, *, user_id: str) -> Stats:
        """Return how many memories a user has: in all, by kind, by category, by state."""
        found: Stats = await self._call("stats", user_id=user_id)
        return found

    async def episodes(
        self, *, user_id: str, agent_id: str | None = None, limit: int = 10
    ) -> Memories:
        """Return a user's latest episodes, newest first; `agent_id` as in `search`."""
        found: Memories = await self._call(
            "episodes", user_id=user_id, agent_id=agent_id, limit=limit
        )
        return found

    async def portrait(self, *, user_id: str, agent_id: str = "default") -> Memory | None:
        """Return a user's current portrait, for a persona; `None` if there is none yet."""
        found: Memory | None = await self._call("portrait", user_id=user_id, agent_id=agent_id)
        return found

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
        returns only what that persona may know. Raises QueryError, StoreError.
        """
        found: Memories = await self._call(
            "list", user_id=user_id, agent_id=agent_id, kind=kind, category=category, state=state
        )
        return found
