"""Introductions: the users and personas that a host has introduced to a store."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from souffleur.errors import SettingsError
from souffleur.knowledge.engine.collection import Filter, Is, Point, read_all
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.people import (
    Everybody,
    Introduced,
    Person,
    PersonaCard,
    next_version,
    person_id,
    person_point,
    persona_id,
    persona_point,
    to_person,
    to_persona,
)
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.reading import read_each


class People:
    """The introduced users and personas in a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def find(self, user_id: str, agent_id: str) -> tuple[Person | None, PersonaCard | None]:
        """Return a user and a persona; `None` for one not introduced. Raises StoreError."""
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
        """Write the next version of a user; a field that is `None` keeps its value.

        `called` is the title used in memories written before the user had one. Raises
        IdentityError, and SettingsError if a field is invalid or holds a secret.
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
