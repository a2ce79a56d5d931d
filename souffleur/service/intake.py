"""The intake: checks the turns that a host passes, and writes them to the store.

If the store fails, turns are held in memory until it is back.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import islice
from threading import Lock, RLock
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import InputError, SouffleurError, StoreError, joined
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.operation import is_id
from souffleur.knowledge.privacy.groups import Group
from souffleur.knowledge.privacy.secrets import without_secret
from souffleur.knowledge.text.marks import unmarked
from souffleur.knowledge.text.plain import is_blank
from souffleur.knowledge.text.thinking import without_thinking
from souffleur.knowledge.turn import Turn, turn_point_id
from souffleur.messages import Content, read_content
from souffleur.recall.compose import Recall
from souffleur.telemetry.log_lines import describe, trace_bug
from souffleur.times import moment_or_now

if TYPE_CHECKING:
    from souffleur.knowledge.store.ledger import Journal
    from souffleur.knowledge.watching import Work
    from souffleur.service.outbox import Outbox
    from souffleur.settings import Settings


@dataclass(frozen=True)
class Receipt:
    """The result of `observe`."""

    turn_id: str
    """The host's id of the turn, or a generated one."""
    new: bool = True
    """`False` if the same turn was observed before, or if there is nothing to store.

    On a server, it is not known yet whether the turn was observed before: `True`.
    """
    error: str = ""
    """The error of this turn, of the store or of the judging; empty if there is no error."""
    durable: bool = True
    """Whether the turn is on disk. A new turn that is not on disk is held until the store is back.

    With a Qdrant server, the turn is on the disk of this machine until the server has it.
    """


@dataclass(frozen=True)
class Said:
    """A turn as a host passes it, not checked yet."""

    user_id: str
    session_id: str
    agent_id: str
    turn_id: str
    user: object
    assistant: object
    at: object


class Intake:
    """Checks turns as hosts pass them, and writes them."""

    def __init__(
        self,
        journal: "Journal",
        settings: "Settings",
        *,
        clock: Callable[[], datetime],
        find_zone: Callable[[str, object], tzinfo],
        trouble: Callable[[str], str],
        wake: Callable[[str], None],
        outbox: "Outbox | None" = None,
    ) -> None:
        """`find_zone` returns the user's zone for a time without a zone, `trouble` a user's errors.

        `wake` is called with the user of each new turn.
        Turns for a store that takes long to answer go into an `outbox`.
        """
        self.outbox = outbox
        self.pairing = Pairing()
        self._journal = journal
        self._rule = settings.window_rule
        self._redacted = settings.redacted
        self._clock = clock
        self._find_zone = find_zone
        self._trouble = trouble
        self._wake = wake
        self._late: list[Turn] = []
        self._alone = RLock()
        """Held while turns are written, as hosts observe from several threads."""

    def observe(
        self, said: "Said", whisper: "Whisper", rewound: Sequence[str], work: "Work"
    ) -> Receipt:
        """Take back the `rewound` turns, then check and store a turn. Never raises."""
        name = said.turn_id
        try:
            return self._observe(said, whisper, rewound, work)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            bound = logger.bind(user=said.user_id, session=said.session_id, turn=name)
            bound.error("a turn cannot be kept: {}", describe(error))
            trace_bug(bound, error)
            why = f"the turn cannot be kept: {describe(error)}"
            return Receipt(name, new=False, error=why, durable=False)

    def _observe(
        self, said: "Said", whisper: "Whisper", rewound: Sequence[str], work: "Work"
    ) -> Receipt:
        zone = self._find_zone(said.user_id, said.at)
        injected, odd_whisper = self.pairing.take(said.user_id, said.session_id, whisper)
        turn, odd = turn_of(
            said, now=self._clock(), zone=zone, injected=injected, redacted=self._redacted
        )
        if turn is None:
            return Receipt(said.turn_id, new=False)
        work.note(turn=turn.id, user_said=lambda: turn.user, replied=lambda: turn.assistant)
        trouble = self._trouble(turn.user_id)
        left = [self.take(turn.unsaid(id)) for id in stored_ids(rewound, self._redacted)]
        receipt = self.take(turn)
        errors = (receipt.error, odd, odd_whisper, trouble, *(one.error for one in left))
        return replace(receipt, error=joined(*errors))

    @property
    def is_late(self) -> bool:
        """Whether a turn is not in the store yet."""
        return bool(self.outbox.waiting if self.outbox else self._late)

    def take(self, turn: Turn) -> Receipt:
        """Write a turn before returning; hold it in memory if the store fails. Never raises."""
        if self.outbox:
            why = self.outbox.put(turn, lambda kept: self._wake(kept.user_id))
            return Receipt(turn.turn_id, error=why, durable=not why)
        with self._alone:
            late = self.write_late()
            if late:  # earlier turns must be written first
                self._late.append(turn)
                return Receipt(turn.turn_id, error=late, durable=False)
            return self._write(turn)

    def write_late(self) -> str:
        """Write held turns again, in order; return why it failed, or an empty text."""
        if self.outbox:
            self.outbox.retry()
            return self.outbox.error
        with self._alone:
            late, self._late = self._late, []
            for index, turn in enumerate(late):
                receipt = self._write(turn)
                if not receipt.durable:
                    self._late += late[index + 1 :]
                    return receipt.error
        return ""

    async def arrived(self, seconds: float | None = None, user_id: str | None = None) -> bool:
        """Wait until all turns (of a user) are in the store; return whether they are.

        Waits for a maximum of `seconds`, and ends early if the store cannot be written to.
        """
        if self.outbox is None:
            return not self.write_late()
        self.outbox.retry()
        return await asyncio.to_thread(self.outbox.settle, seconds, user_id)

    async def write_last(self, seconds: float) -> None:
        """Write held turns for the last time. Raises StoreError if some of them are lost.

        Turns of an outbox that are on this machine's disk are not lost. It waits for a maximum of
        `seconds` until the outbox has delivered its turns.
        """
        if self.outbox is None:
            with self._alone:
                if why := self.write_late():
                    lost, self._late = len(self._late), []
                    raise StoreError(f"What was held in memory is lost, turns: {lost}. {why}")
            return
        await self.arrived(seconds)
        await asyncio.to_thread(self.outbox.close)
        if lost := self.outbox.unsafe:
            raise StoreError(f"What was held in memory is lost, turns: {lost}. {self.outbox.error}")

    def _write(self, turn: Turn) -> Receipt:
        try:
            kept = self._journal.record(turn, self._rule)
        except SouffleurError as error:
            self._late.append(turn)
            bound = logger.bind(user=turn.user_id, session=turn.session_id, turn=turn.turn_id)
            bound.error("a turn is not on disk yet: {}", error)
            return Receipt(turn.turn_id, error=str(error), durable=False)
        if kept is None:
            return Receipt(turn.turn_id, new=False)
        self._wake(kept.user_id)
        return Receipt(turn.turn_id)


def turn_of(
    said: Said,
    *,
    now: datetime,
    zone: tzinfo,
    injected: tuple[str, ...],
    redacted: AbstractSet[Group],
) -> tuple[Turn | None, str]:
    """Return the checked turn, and warnings about it; `None` if it is blank.

    Sensitive data of the `redacted` groups is masked. Raises InputError for an invalid id, or for
    contents that cannot be read.
    """
    user_id = check_id(said.user_id)
    session_id = check_id(said.session_id, "session_id")
    agent_id = check_id(said.agent_id, "agent_id")
    check_id(said.turn_id, "turn_id")
    user = words(said.user, "user")
    assistant = without_thinking(unmarked(words(said.assistant, "assistant")))
    if is_blank(user) and is_blank(assistant):
        return None, ""
    at, odd = moment_or_now(said.at, now=now, zone=zone)
    turn = Turn(
        id=turn_point_id(user_id, agent_id, session_id, said.turn_id),
        turn_id=said.turn_id,
        user_id=user_id,
        agent_id=agent_id,
        session_id=session_id,
        at=at,
        arrived_at=now if at != now else None,
        user=user,
        assistant=assistant,
        injected=injected,
    )
    return turn.masked(redacted) if redacted else turn, odd


def words(value: Content, what: str) -> str:
    """Return the text of a content. Raises InputError, which names the argument: `what`.

    >>> words(None, "user"), words(["hi"], "user")
    ('', 'hi')
    """
    try:
        return read_content(value)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def stored_id(turn_id: str, redacted: AbstractSet[Group]) -> str:
    """Return the id of a turn as it is stored: if secrets are redacted, those in it are hashed."""
    if Group.SECRET in redacted and isinstance(turn_id, str):  # `turn_of` refuses other types
        return without_secret(turn_id)
    return turn_id


def stored_ids(turn_ids: str | Sequence[str], redacted: AbstractSet[Group]) -> list[str]:
    """Return the ids of turns as they are stored; a single one may be given alone."""
    ids = [turn_ids] if isinstance(turn_ids, str) else turn_ids
    return [stored_id(one, redacted) for one in ids]


MAX_SESSIONS = 10_000
"""Maximum sessions whose latest whisper is remembered."""
MAX_WHISPERED_IDS = 1000
"""Maximum memories of one whisper that are noted with a turn."""

Whisper = Recall | Iterable[str] | None
"""A recall or its `judgeable_ids`; `None` means the latest recall of the session."""
Ids = tuple[str, ...]


class Pairing:
    """Remembers the latest whisper of each session, for hosts that do not pass it to `observe`.

    Thread-safe.
    """

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        """If more than `max_sessions` sessions are remembered, the oldest is dropped."""
        self._latest: OrderedDict[tuple[str, str], Ids] = OrderedDict()
        self._max_sessions = max_sessions
        self._alone = Lock()

    def note(self, user_id: str, session_id: str, recall: Recall) -> None:
        """Remember the latest whisper of a session."""
        with self._alone:
            self._latest[user_id, session_id] = recall.judgeable_ids
            self._latest.move_to_end((user_id, session_id))
            if len(self._latest) > self._max_sessions:
                self._latest.popitem(last=False)

    def take(self, user_id: str, session_id: str, whisper: Whisper = None) -> tuple[Ids, str]:
        """Return the ids of the whisper that belongs to a turn, and a warning about the whisper.

        The latest whisper of a session is used once: by the turn that names it, or by the first
        turn that names no whisper.
        """
        ids, odd = read_whisper(whisper)
        with self._alone:
            latest = self._latest.get((user_id, session_id))
            if ids is None or ids == latest:
                self._latest.pop((user_id, session_id), None)
        return (latest or ()) if ids is None else ids, odd


def read_whisper(whisper: object) -> tuple[Ids | None, str]:
    """Return the ids of a whisper, and a warning; the ids are `None` if there is no whisper.

    >>> read_whisper(None), read_whisper([]), read_whisper(["tea"])
    ((None, ''), ((), ''), ((), '`whisper` holds 1 that is no id of a memory: left out'))
    """
    if whisper is None:
        return None, ""
    named = whisper.judgeable_ids if isinstance(whisper, Recall) else whisper
    if isinstance(named, str | bytes) or not isinstance(named, Iterable):
        what = type(named).__name__
        return None, f"`whisper` must be a Recall or its ids, not {what}: the latest one was taken"
    try:
        given = list(islice(named, MAX_WHISPERED_IDS + 1))
    except Exception as error:  # noqa: BLE001  a wrong argument of a host must not lose a turn
        why = type(error).__name__
        return None, f"`whisper` cannot be read ({why}): the latest one was taken"
    ids = [id for id in given[:MAX_WHISPERED_IDS] if isinstance(id, str) and is_id(id)]
    odd = len(given[:MAX_WHISPERED_IDS]) - len(ids)
    errors = [f"`whisper` holds {odd} that is no id of a memory: left out"] if odd else []
    if len(given) > MAX_WHISPERED_IDS:
        errors.append(f"`whisper` holds more than {MAX_WHISPERED_IDS} ids: the first were taken")
    return tuple(dict.fromkeys(ids)), "; ".join(errors)
