"""People: users and personas that a host has introduced, and the preferences of users."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pydantic import AwareDatetime

from souffleur.errors import SettingsError
from souffleur.knowledge.identity import PERSONAS, check_id
from souffleur.knowledge.memory import NARRATIVE, Frozen, MemoryState
from souffleur.knowledge.people import (
    Everybody,
    Introduced,
    Person,
    PersonaCard,
    Preferences,
    changed,
    next_version,
    person_id,
    person_point,
    persona_id,
    persona_point,
    preferences_id,
    preferences_point,
    to_person,
    to_persona,
    to_preferences,
)
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    Point,
    read_all,
    read_pages,
)
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read_each


class People:
    """The introduced users and personas in a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def find(self, user_id: str, agent_id: str) -> tuple[Person | None, PersonaCard | None]:
        """Return a user and a persona, each `None` if not introduced. Raises StoreError."""
        ids = [person_id(user_id), persona_id(agent_id)]
        return _pair(await self._journal.collection.get(ids))

    def find_now(self, user_id: str, agent_id: str) -> tuple[Person | None, PersonaCard | None]:
        """Return the same as `find`, without an event loop."""
        ids = [person_id(user_id), persona_id(agent_id)]
        return _pair(self._journal.collection.get_now(ids))

    async def everybody(self) -> Everybody:
        """Return all introduced users and personas."""
        people = read_each(await self._all("person"), to_person)
        personas = read_each(await self._all("persona"), to_persona)
        return Everybody(
            {one.user_id: one for one in sorted(people, key=lambda one: one.user_id)},
            {one.agent_id: one for one in sorted(personas, key=lambda one: one.agent_id)},
        )

    def introduce(
        self, user_id: str, *, now: datetime, called: str | None = None, **fields: str | None
    ) -> Person:
        """Write the next version of a user and return it; a field that is `None` keeps its value.

        `called` is the title of the user in memories from before the introduction. Raises
        InputError for an invalid id, SettingsError if a field is invalid or contains a secret.
        """
        with self._journal.lock:
            old, _ = self.find_now(check_id(user_id), "")
            unknown = Person(user_id=user_id, since=now, version=0)
            return self._write(old or unknown, {**fields, "called": called}, now)

    def introduce_persona(
        self, agent_id: str, *, now: datetime, called: str | None = None, **fields: str | None
    ) -> PersonaCard:
        """Write the next version of a persona, as `introduce` does."""
        with self._journal.lock:
            _, old = self.find_now("", check_id(agent_id, "agent_id"))
            unknown = PersonaCard(agent_id=agent_id, since=now, version=0)
            return self._write(old or unknown, {**fields, "called": called}, now)

    def _write(
        self, old: Introduced, fields: Mapping[str, str | None], now: datetime
    ) -> Introduced:
        for name, words in fields.items():
            if isinstance(words, str) and (secret := find_secret(words)):
                raise SettingsError(f"this introduction is invalid: {name} holds {secret}")
        new = next_version(old, fields, now)
        if new is not old:
            point = person_point(new) if isinstance(new, Person) else persona_point(new)
            self._journal.collection.put_now([point])
        return new

    async def _all(self, what: str) -> list[Point]:
        return await read_all(self._journal.collection, Filter((Is("type", what),)))


def _pair(points: Sequence[Point]) -> tuple[Person | None, PersonaCard | None]:
    people = [point for point in points if point.payload.get("type") == "person"]
    personas = [point for point in points if point.payload.get("type") == "persona"]
    return (
        next(iter(read_each(people, to_person)), None),
        next(iter(read_each(personas, to_persona)), None),
    )


_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_COUNTED = (MemoryState.ACTIVE, MemoryState.PENDING)


class UserSummary(Frozen):
    """The numbers of memories and turns of one user."""

    user_id: str
    """The host's id of the user."""
    memories: int
    """Number of memories in force or waiting for consent, without episodes and portraits."""
    turns: int
    """Number of turns, with expired turns."""
    last_seen: AwareDatetime | None = None
    """The time of the latest turn; `None` without turns."""


async def list_users(memories: Collection, journal: Journal) -> list[UserSummary]:
    """Return all users with a memory or a turn, the last seen user first."""
    kept: Counter[str] = Counter()
    said: Counter[str] = Counter()
    seen: dict[str, datetime] = {}
    async for page in read_pages(memories, Filter()):
        for point in page:
            kept[str(point.payload.get("user_id"))] += _counts(point)
    async for page in read_pages(journal.collection, Filter((Is("type", "turn"),))):
        for point in page:
            user_id = str(point.payload.get("user_id"))
            at = datetime.fromisoformat(str(point.payload["at"]))
            said[user_id] += 1
            seen[user_id] = max(at, seen.get(user_id, at))
    found = [
        UserSummary(
            user_id=user_id,
            memories=kept[user_id],
            turns=said[user_id],
            last_seen=seen.get(user_id),
        )
        for user_id in sorted((kept.keys() | said.keys()) - {PERSONAS})
    ]
    return sorted(found, key=lambda one: one.last_seen or _LONG_AGO, reverse=True)


def _counts(point: Point) -> bool:
    payload = point.payload
    return payload.get("state") in _COUNTED and payload.get("category") not in NARRATIVE


class Choices:
    """The preferences of users in a journal. A user without a record has the defaults."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def find(self, user_id: str) -> Preferences:
        """Return the preferences of a user. Raises InputError, StoreError."""
        id = preferences_id(check_id(user_id))
        return _first(await self._journal.collection.get([id]), user_id)

    def find_cached(self, user_id: str) -> Preferences:
        """Return the preferences of a user without a request to a server. Raises StoreError.

        With a server, these are the preferences that were last read, or else the defaults.
        """
        collection, id = self._journal.collection, preferences_id(check_id(user_id))
        kept = collection.memo.find(id)
        if kept is not None:
            return _first([kept.point] if kept.point else [], user_id)
        return _first([] if collection.shared else collection.get_now([id]), user_id)

    def change(self, user_id: str, *, now: datetime, **fields: bool | None) -> Preferences:
        """Change these preferences and return all; a field that is `None` keeps its value.

        Raises InputError for an invalid id, SettingsError for an invalid value.
        """
        with self._journal.lock:
            found = self._journal.collection.get_now([preferences_id(check_id(user_id))])
            old = _first(found, user_id)
            new = changed(old, fields, now)
            if new is not old:
                self._journal.collection.put_now([preferences_point(new)])
            return new

    async def resting(self) -> frozenset[str]:
        """Return the ids of the users whose memory is switched off."""
        chosen = Filter((Is("type", "preferences"),))
        found = read_each(await read_all(self._journal.collection, chosen), to_preferences)
        return frozenset(one.user_id for one in found if not one.memory)


def _first(points: Sequence[Point], user_id: str) -> Preferences:
    return next(iter(read_each(points, to_preferences)), Preferences(user_id=user_id))
