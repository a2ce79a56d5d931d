"""The intake: turns become durable as they come, or as soon as the store is back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import SouffleurError
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.turn import Turn

if TYPE_CHECKING:
    from souffleur.knowledge.journal import Journal


@dataclass(frozen=True)
class Receipt:
    """What `observe` gives to the host."""

    turn_id: str
    """The host's id of the turn, or the one made for it."""
    new: bool = True
    """False: this very turn was observed before, or nothing is to be kept."""
    trouble: str = ""
    """Why the turn is not durable yet; empty: it is."""


class Intake:
    """Writes turns; `wake` is told whose there is a new one of."""

    def __init__(self, journal: "Journal", rule: WindowRule, wake: Callable[[str], None]) -> None:
        self._journal = journal
        self._rule = rule
        self._wake = wake
        self._late: list[Turn] = []

    @property
    def is_late(self) -> bool:
        """Whether a turn is not on disk yet."""
        return bool(self._late)

    def take(self, turn: Turn) -> Receipt:
        """Write a turn before returning; where the store is out of reach, hold it. Never raises."""
        try:
            kept = self._journal.record(turn, self._rule)
        except SouffleurError as error:
            self._late.append(turn)
            logger.error("turn {} is not on disk yet: {}", turn.turn_id, error)
            return Receipt(turn.turn_id, trouble=str(error))
        if kept is None:
            return Receipt(turn.turn_id, new=False)
        self._wake(kept.user_id)
        return Receipt(turn.turn_id)

    def write_late(self) -> None:
        """Try once more to write what is held."""
        late, self._late = self._late, []
        for turn in late:
            self.take(turn)
