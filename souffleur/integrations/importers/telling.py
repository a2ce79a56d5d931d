"""Telling: the turns of chats are observed as if they were said now, at their own times."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from souffleur.errors import FileError, InputError, StoreError
from souffleur.integrations.importers.chats import (
    NAMED,
    Chat,
    ChatTurn,
    Unread,
    in_order,
    listed,
    turns_of,
)
from souffleur.integrations.importers.estimate import estimate
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.store.transfer import DIFFERS, Imported
from souffleur.knowledge.turn import Turn, digest_of, turn_point_id
from souffleur.recall.rendering import estimate_tokens
from souffleur.service.intake import Receipt, Said, turn_of

if TYPE_CHECKING:
    from souffleur.knowledge.store.ledger import Journal
    from souffleur.settings import Settings

Reader = Callable[[Path, Collection[str]], Iterable[Chat | Unread]]
"""Reads the chats of a file, of a user who is called so. Raises FileError."""
_Forms = tuple[Sequence[ChatTurn], Sequence[ChatTurn]]
_PAGE = 64
"""Turns that are looked up at once."""


@dataclass(frozen=True)
class Listener:
    """Who is told, and how."""

    user_id: str
    agent_id: str
    called: Collection[str]
    """What the user is called."""
    zone: tzinfo
    """The zone of times that name none."""
    now: datetime
    journal: "Journal"
    settings: "Settings"
    observe: Callable[..., Receipt]
    """`Souffleur.observe`."""
    end_session: Callable[..., bool]
    """`Souffleur.end_session`."""


@dataclass
class _Tally:
    new: list[ChatTurn] = field(default_factory=list)
    known: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)

    def leave_out(self, part: Unread) -> None:
        self.unread.append(part)
        self.skipped[f"{part.kind}: it cannot be read"] += 1


async def tell_chats(
    listener: Listener, file: Path, read: Reader, *, source: str, dry_run: bool
) -> Imported:
    """Observe each turn of a file's chats that is not in the store; all is read before that.

    A turn that is there with other words is left as it is, unless it had no reply yet. Raises
    FileError, StoreError; what was taken by then stays, and the same import goes on from there.
    """
    settings, tally = listener.settings, _Tally()
    chats = await asyncio.to_thread(_read, listener, file, read, tally)
    turns = [*in_order([await _choose(listener, forms) for forms in chats])]
    left = Counter(turn.session_id for turn in turns)
    following, told = iter(turns), set[str]()
    while page := list(islice(following, _PAGE)):
        there = await _there(listener, page)
        again = [turn for turn in page if _point_id(listener, turn) in there]
        digests = await asyncio.to_thread(_digests, listener, again)
        for turn in page:
            left[turn.session_id] -= 1
            id = _point_id(listener, turn)
            if _is_new(turn, there.get(id), digests.get(id), tally):
                tally.new.append(turn)
                told.add(turn.session_id)
                if not dry_run:
                    _observe(listener, turn)
                    await asyncio.sleep(0)  # others talk meanwhile
            if not (dry_run or left[turn.session_id]) and turn.session_id in told:
                listener.end_session(
                    user_id=listener.user_id,
                    session_id=turn.session_id,
                    agent_id=listener.agent_id,
                )
    needed = await asyncio.to_thread(estimate, tally.new, settings, estimate_tokens)
    return Imported(
        source=source,
        dry_run=dry_run,
        new={"turn": len(tally.new)} if tally.new else {},
        known={"turn": tally.known} if tally.known else {},
        skipped=dict(sorted(tally.skipped.items())),
        unread=listed(tally.unread),
        **asdict(needed),
    )


def _read(listener: Listener, file: Path, read: Reader, tally: _Tally) -> list[_Forms]:
    """Return the turns of each chat of a file, with the ids of today and those of before.

    Raises FileError if nothing of the file can be read.
    """
    chats: list[_Forms] = []
    for chat in read(file, listener.called):
        if isinstance(chat, Unread):
            tally.leave_out(chat)
            continue
        turns, left_out = turns_of(chat, zone=listener.zone, now=listener.now)
        try:
            _check_ids(turns)
        except InputError as error:
            name = f"session {turns[0].session_id[:NAMED]!r}"
            tally.leave_out(Unread("conversation", name, str(error)))
            continue
        former = chat.former and turns_of(chat.former, zone=listener.zone, now=listener.now)
        chats.append((turns, former[0] if former else ()))
        tally.skipped += left_out
    if tally.unread and not chats:
        told = "; ".join(listed(tally.unread[:3]))
        raise FileError(f"{file} has nothing that can be read: {told}")
    return chats


async def _choose(listener: Listener, forms: _Forms) -> Sequence[ChatTurn]:
    """Return the turns of a chat with the ids by which the store has it; else those of today."""
    today, former = forms
    if not (former and today):
        return today
    there = await _there(listener, former[:1])
    digests = await asyncio.to_thread(_digests, listener, former[:1])
    return former if any(digests[turn.id] == turn.digest for turn in there.values()) else today


def _check_ids(turns: Sequence[ChatTurn]) -> None:
    """Raise InputError for a turn that could not be observed by its ids."""
    for turn in turns:
        check_id(turn.session_id, "session_id")
        check_id(turn.turn_id, "turn_id")


def _point_id(listener: Listener, turn: ChatTurn) -> str:
    return turn_point_id(listener.user_id, listener.agent_id, turn.session_id, turn.turn_id)


async def _there(listener: Listener, page: Sequence[ChatTurn]) -> dict[str, Turn]:
    ids = [_point_id(listener, turn) for turn in page]
    found = await listener.journal.get_turns(ids)
    return {turn.id: turn for turn in found}


def _is_new(turn: ChatTurn, there: Turn | None, digest: str | None, tally: _Tally) -> bool:
    """Return whether a turn is to be observed; else count it."""
    if there is None:
        return True
    if there.digest == digest:
        tally.known += 1
        return False
    if turn.assistant and not there.assistant and not there.expunged:
        return True
    tally.skipped[f"turn: {DIFFERS}"] += 1
    return False


def _digests(listener: Listener, turns: Sequence[ChatTurn]) -> dict[str, str]:
    """Return the digests of turns by their ids; a few milliseconds each."""
    return {_point_id(listener, turn): _digest(listener, turn) for turn in turns}


def _digest(listener: Listener, turn: ChatTurn) -> str:
    """Return the digest of a turn as it is stored, its sensitive data masked."""
    said = Said(
        listener.user_id,
        turn.session_id,
        listener.agent_id,
        turn.turn_id,
        turn.user,
        turn.assistant,
        turn.at,
    )
    redacted = listener.settings.redacted
    kept, _ = turn_of(said, now=turn.at, zone=UTC, injected=(), redacted=redacted)
    return digest_of(kept) if kept else ""


def _observe(listener: Listener, turn: ChatTurn) -> None:
    """Observe a turn. Raises StoreError if it is not on disk then."""
    receipt = listener.observe(
        user_id=listener.user_id,
        session_id=turn.session_id,
        user=turn.user,
        assistant=turn.assistant,
        whisper=(),
        agent_id=listener.agent_id,
        turn_id=turn.turn_id,
        at=turn.at,
    )
    if not receipt.durable:
        raise StoreError(f"a turn cannot be kept, import the file again: {receipt.error}")
