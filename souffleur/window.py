"""Working memory: the latest messages of each session, word for word."""

from collections import OrderedDict, deque

from souffleur.knowledge.journal import Journal, Turn
from souffleur.knowledge.operation import Said

SESSIONS = 1000
"""Sessions held at once; the others are read again from the journal when they go on."""

Session = tuple[str, str]
"""User and session id."""


class Windows:
    """The windows of all sessions, rebuilt from the journal on first use."""

    def __init__(self, journal: Journal, size: int) -> None:
        self._journal = journal
        self._size = size
        self._turns: OrderedDict[Session, deque[Turn]] = OrderedDict()

    async def messages(self, user_id: str, session_id: str) -> list[Said]:
        """Up to `size` messages, oldest first."""
        turns = await self._of(user_id, session_id)
        said = [said for turn in turns for said in turn.said()]
        return said[-self._size :]

    def add(self, turn: Turn) -> None:
        """A turn was observed; a turn seen again takes the place of its former version."""
        turns = self._turns.get((turn.user_id, turn.session_id))
        if turns is None:
            return  # not in use: the journal has it
        known = [place for place, old in enumerate(turns) if old.id == turn.id]
        if known:
            turns[known[0]] = turn
        else:
            turns.append(turn)

    async def before(self, turn: Turn, *, limit: int) -> list[Said]:
        """The latest messages before a turn of the same session."""
        turns = await self._of(turn.user_id, turn.session_id)
        said = [said for old in turns if old.seq < turn.seq for said in old.said()]
        return said[-limit:]

    async def _of(self, user_id: str, session_id: str) -> deque[Turn]:
        key = (user_id, session_id)
        if key not in self._turns:
            read = await self._journal.recent(user_id, session_id, limit=self._size)
            self._turns.setdefault(key, deque(read, maxlen=self._size))
            while len(self._turns) > SESSIONS:
                self._turns.popitem(last=False)
        self._turns.move_to_end(key)
        return self._turns[key]
