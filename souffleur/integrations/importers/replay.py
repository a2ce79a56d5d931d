"""Replay of imported chats: their turns are observed, each at its own time.

An estimate gives the number of model calls and their cost before the replay. It is based on the
measured prompts of a talk of 82 turns with 24 memories, and on the answers of the suite. It is
rather too high than too low; reviews and the other runs are not included.
"""

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from souffleur.agents.brief import Persona
from souffleur.errors import FileError, InputError, StoreError
from souffleur.integrations.importers.chats import (
    MAX_NAME,
    Chat,
    ChatTurn,
    Unread,
    in_order,
    listed,
    turns_of,
)
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.portrait_rule import EPISODES_PER_PORTRAIT
from souffleur.knowledge.session import (
    SegmentState,
    Session,
    WindowEntry,
    WindowRule,
    append_turn,
    close_window,
)
from souffleur.knowledge.store.transfer import DIFFERS, Imported
from souffleur.knowledge.turn import Turn, digest_of, shorten, turn_point_id
from souffleur.recall.rendering import estimate_tokens
from souffleur.service.intake import Said, turn_of
from souffleur.service.judging import USUAL_TURNS_PER_CALL, turns_per_call
from souffleur.settings import Settings

Reader = Callable[[Path, Collection[str]], Iterable[Chat | Unread]]
"""Reads the chats of a file; the second argument has the names of the user. Raises FileError."""
_PAGE = 64
"""Number of turns that are read from the store at once."""
JUDGE_TOKENS = 3_200
"""Input tokens of a judging call, without the turns: rules, known memories."""
EPISODE_TOKENS = 1_100
"""Input tokens of a call for an episode, without the turns."""
PORTRAIT_TOKENS = 2_800
"""Input tokens of a call for a portrait."""
ANSWER_TOKENS = 179
"""Output tokens for each turn, in all calls."""


@dataclass
class _Counts:
    new: list[ChatTurn] = field(default_factory=list)
    known: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)

    def leave_out(self, part: Unread) -> None:
        self.unread.append(part)
        self.skipped[f"{part.kind}: it cannot be read"] += 1


@dataclass(frozen=True)
class Replay:
    """Observes the turns of imported chats for one user and persona."""

    memory: Any
    """A Souffleur."""
    user_id: str
    agent_id: str
    persona: Persona
    """The names of the user, and the zone of times without one."""
    now: datetime

    async def run(self, file: Path, read: Reader, *, source: str, dry_run: bool) -> Imported:
        """Read all chats of a file, then observe each turn that the store does not have.

        A stored turn with other words stays unchanged, except if it has no reply. Raises FileError,
        StoreError; then the turns observed so far stay, and the same import continues there.
        """
        counts = _Counts()
        chats = await asyncio.to_thread(self._read, file, read, counts)
        turns = in_order(chats)
        left = Counter(turn.session_id for chat in chats for turn in chat)
        observed = set[str]()
        while page := list(islice(turns, _PAGE)):
            stored = await self._stored(page)
            known = [turn for turn in page if self._id(turn) in stored]
            digests = await asyncio.to_thread(self._digests, known)
            for turn in page:
                left[turn.session_id] -= 1
                id = self._id(turn)
                if _is_new(turn, stored.get(id), digests.get(id), counts):
                    counts.new.append(turn)
                    observed.add(turn.session_id)
                    if not dry_run:
                        self._observe(turn)
                        await asyncio.sleep(0)  # other requests are answered meanwhile
                if not (dry_run or left[turn.session_id]) and turn.session_id in observed:
                    self.memory.end_session(
                        user_id=self.user_id, session_id=turn.session_id, agent_id=self.agent_id
                    )
        needed = await asyncio.to_thread(estimate, counts.new, self.memory.settings)
        return Imported(
            source=source,
            dry_run=dry_run,
            new={"turn": len(counts.new)} if counts.new else {},
            known={"turn": counts.known} if counts.known else {},
            skipped=dict(sorted(counts.skipped.items())),
            unread=listed(counts.unread),
            **asdict(needed),
        )

    def _read(self, file: Path, read: Reader, counts: _Counts) -> list[Sequence[ChatTurn]]:
        """Return the turns of each chat. Raises FileError if no part of the file can be read."""
        chats: list[Sequence[ChatTurn]] = []
        for chat in read(file, (self.user_id, *self.persona.of_user)):
            if isinstance(chat, Unread):
                counts.leave_out(chat)
                continue
            turns, left_out = turns_of(chat, zone=self.persona.zone, now=self.now)
            try:
                for turn in turns:
                    check_id(turn.session_id, "session_id")
                    check_id(turn.turn_id, "turn_id")
            except InputError as error:
                name = f"session {turns[0].session_id[:MAX_NAME]!r}"
                counts.leave_out(Unread("conversation", name, str(error)))
                continue
            chats.append(turns)
            counts.skipped += left_out
        if counts.unread and not chats:
            parts = "; ".join(listed(counts.unread[:3]))
            raise FileError(f"{file} has nothing that can be read: {parts}")
        return chats

    def _id(self, turn: ChatTurn) -> str:
        return turn_point_id(self.user_id, self.agent_id, turn.session_id, turn.turn_id)

    async def _stored(self, page: Sequence[ChatTurn]) -> dict[str, Turn]:
        found = await self.memory.knowledge.journal.get_turns([self._id(turn) for turn in page])
        return {turn.id: turn for turn in found}

    def _digests(self, turns: Sequence[ChatTurn]) -> dict[str, str]:
        """Return the digests of turns by point id; takes a few milliseconds for each turn."""
        return {self._id(turn): self._digest(turn) for turn in turns}

    def _digest(self, turn: ChatTurn) -> str:
        """Return the digest of a turn as it is stored, with sensitive data masked."""
        said = Said(
            self.user_id,
            turn.session_id,
            self.agent_id,
            turn.turn_id,
            turn.user,
            turn.assistant,
            turn.at,
        )
        redacted = self.memory.settings.redacted
        kept, _ = turn_of(said, now=turn.at, zone=UTC, injected=(), redacted=redacted)
        return digest_of(kept) if kept else ""

    def _observe(self, turn: ChatTurn) -> None:
        """Observe a turn. Raises StoreError if it is not on disk afterwards."""
        receipt = self.memory.observe(
            user_id=self.user_id,
            session_id=turn.session_id,
            user=turn.user,
            assistant=turn.assistant,
            whisper=(),
            agent_id=self.agent_id,
            turn_id=turn.turn_id,
            at=turn.at,
        )
        if not receipt.durable:
            raise StoreError(f"a turn cannot be kept, import the file again: {receipt.error}")


def _is_new(turn: ChatTurn, stored: Turn | None, digest: str | None, counts: _Counts) -> bool:
    """Return whether a turn is to be observed; otherwise count it."""
    if stored is None:
        return True
    if stored.digest == digest:
        counts.known += 1
        return False
    if turn.assistant and not stored.assistant and not stored.expunged:
        return True
    counts.skipped[f"turn: {DIFFERS}"] += 1
    return False


@dataclass(frozen=True)
class Estimate:
    """The approximate effort to judge and summarise turns."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    """The cost by `price_in` and `price_out`; 0 if they are not set."""
    days: int = 0
    """The number of days within the budgets; 0 if there is no budget."""


def estimate(turns: Sequence[ChatTurn], settings: Settings) -> Estimate:
    """Return the approximate effort to judge new turns of one user, in this order."""
    if not turns:
        return Estimate()
    judging = _count_judging(turns, settings)
    episodes = _count_episodes(turns, settings.window_rule)
    texts = ("\n".join(map(shorten, (turn.user, turn.assistant))) for turn in turns)
    tokens = sum(map(estimate_tokens, texts))
    portraits = bool(episodes) + episodes // EPISODES_PER_PORTRAIT
    prompts = judging * JUDGE_TOKENS + episodes * EPISODE_TOKENS + portraits * PORTRAIT_TOKENS
    taken, given = 2 * tokens + prompts, len(turns) * ANSWER_TOKENS
    dollars = (taken * settings.price_in + given * settings.price_out) / 1e6
    calls = judging + episodes + portraits
    budgets = [
        (calls, settings.calls_per_day),
        (calls, settings.user_calls_per_day),
        (dollars, settings.dollars_per_day),
        (dollars, settings.user_dollars_per_day),
    ]
    days = max((math.ceil(need / most) for need, most in budgets if most is not None), default=0)
    return Estimate(calls, taken, given, dollars, days)


def _count_judging(turns: Sequence[ChatTurn], settings: Settings) -> int:
    """Return the number of judging calls, grouped as the queue groups waiting turns.

    The first turn counts as a call of its own: a judge takes it before the others have arrived.
    """
    usual = max(USUAL_TURNS_PER_CALL, settings.judge_every)
    most, calls = max(settings.turns_per_call, settings.judge_every), 1
    for _, group in itertools.groupby(turns[1:], key=lambda turn: turn.session_id):
        left = sum(1 for _ in group)
        while left > 0:
            left -= turns_per_call(min(left, most), 0, most, usual)
            calls += 1
    return calls


def _count_episodes(turns: Sequence[ChatTurn], rule: WindowRule) -> int:
    """Return the number of episodes of the turns' sessions."""
    sessions: dict[str, Session] = {}
    episodes = 0
    for number, turn in enumerate(turns):
        new = Session(
            id=turn.session_id, user_id="-", session_id=turn.session_id, since=turn.at, at=turn.at
        )
        entry = WindowEntry(id=str(number), at=turn.at, messages=1 + bool(turn.assistant))
        session, left = append_turn(sessions.get(turn.session_id, new), entry, rule)
        sessions[turn.session_id] = session
        episodes += sum(one.state is SegmentState.WAITING for one in left)
    ends = [one for session in sessions.values() for one in close_window(session)[1]]
    return episodes + sum(one.state is SegmentState.WAITING for one in ends)
