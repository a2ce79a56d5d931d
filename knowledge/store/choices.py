"""Choices: the preferences of all users in a journal."""

from collections.abc import Sequence
from datetime import datetime

from souffleur.knowledge.identity import check_id
from souffleur.knowledge.preferences import (
    Preferences,
    changed,
    preferences_id,
    preferences_point,
    to_preferences,
)
from souffleur.knowledge.store.engine.collection import Filter, Is, Point, read_all
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read_each


class Choices:
    """The preferences in a journal; those who have chosen nothing have the usual ones."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def find(self, user_id: str) -> Preferences:
        """Return the preferences of a user. Raises IdentityError, StoreError."""
        id = preferences_id(check_id(user_id))
        return _first(await self._journal.collection.get([id]), user_id)

    def find_at_hand(self, user_id: str) -> Preferences:
        """Return what is known of a user without a server being asked. Raises StoreError.

        On a server that is what was read last, or the usual preferences if nothing was.
        """
        collection, id = self._journal.collection, preferences_id(check_id(user_id))
        kept = collection.memo.find(id)
        if kept is not None:
            return _first([kept.point] if kept.point else [], user_id)
        return _first([] if collection.shared else collection.get_now([id]), user_id)

    def change(self, user_id: str, *, now: datetime, **fields: bool | None) -> Preferences:
        """Write the preferences with these fields; a field that is `None` keeps its value.

        Raises IdentityError, and SettingsError for an invalid value.
        """
        with self._journal.lock:
            found = self._journal.collection.get_now([preferences_id(check_id(user_id))])
            old = _first(found, user_id)
            new = changed(old, fields, now)
            if new is not old:
                self._journal.collection.put_now([preferences_point(new)])
            return new

    async def resting(self) -> frozenset[str]:
        """Return the users whose memory is off."""
        chosen = Filter((Is("type", "preferences"),))
        found = read_each(await read_all(self._journal.collection, chosen), to_preferences)
        return frozenset(one.user_id for one in found if not one.memory)


def _first(points: Sequence[Point], user_id: str) -> Preferences:
    return next(iter(read_each(points, to_preferences)), Preferences(user_id=user_id))
