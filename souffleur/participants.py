"""Participants: the user and persona of a call, as introduced or, if not, as in the settings."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from souffleur.agents.brief import Persona, persona_of
from souffleur.errors import InputError, MemoryOffError, SouffleurError, StoreError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.people import Everybody, Preferences, sphere_of
from souffleur.knowledge.text.plain import mend
from souffleur.knowledge.turn import shorten
from souffleur.recall.finder import Asked
from souffleur.settings import Settings
from souffleur.times import Moment, lacks_zone, moment, moment_or_now

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

MAX_ZONES = 10_000
"""Maximum users whose time zone is held in memory."""


@dataclass(frozen=True)
class Cast:
    """All users and personas introduced so far, read once to show many records."""

    usual: Persona
    """The names, zone and language from the settings."""
    introduced: Everybody
    """Users and personas that were introduced."""

    def persona(self, user_id: str, agent_id: str = "default") -> Persona:
        """Return the names, zone and language for this user with this persona."""
        person = self.introduced.people.get(user_id)
        return persona_of(self.usual, person, self.introduced.personas.get(agent_id))

    def sphere(self, agent_id: str) -> str:
        """Return the sphere in which memories of the talk with a persona are kept."""
        return sphere_of(self.introduced.personas.get(agent_id))

    def zone(self, user_id: str | None) -> ZoneInfo:
        """Return the time zone of a user; for all users (`None`), the zone of the settings."""
        return self.usual.zone if user_id is None else self.persona(user_id).zone


def usual(settings: Settings) -> Persona:
    """Return the names, zone and language for users and personas that were not introduced."""
    return Persona(
        user=settings.user_title,
        assistant=settings.assistant_name,
        zone=ZoneInfo(settings.timezone),
        language=settings.language,
    )


class Participants:
    """Finds the user and the persona of a call, and whether the user has the memory on."""

    def __init__(
        self, knowledge: "KnowledgeBase", settings: Settings, clock: Callable[[], datetime]
    ) -> None:
        self._knowledge = knowledge
        self._clock = clock
        self._usual = usual(settings)
        self._zones: dict[str, ZoneInfo] = {}
        """The time zones of the latest users, so that `observe` need not wait for a server."""

    async def find(
        self, user_id: str, agent_id: str = "default", *, cached: bool = False
    ) -> tuple[Persona, str]:
        """Return the names, zone and language of user and persona, and the persona's sphere.

        Raises InputError for an invalid id.
        """
        known = self._knowledge.cache.people if cached else self._knowledge.people
        person, card = await known.find(check_id(user_id), check_id(agent_id, "agent_id"))
        persona = persona_of(self._usual, person, card)
        if len(self._zones) >= MAX_ZONES:
            self._zones = {}
        self._zones[user_id] = persona.zone
        return persona, sphere_of(card)

    async def find_reader(self, user_id: str, agent_id: str | None) -> tuple[Persona, str | None]:
        """Return names and the sphere to read; without an `agent_id`, it is `None`: all spheres."""
        persona, sphere = await self.find(user_id, "default" if agent_id is None else agent_id)
        return persona, None if agent_id is None else sphere

    async def cast(self, user_id: str | None, agent_id: str) -> Cast:
        """Return all users and personas that were introduced, or only these two."""
        everybody = await self._knowledge.people.everybody()
        if user_id is not None:
            everybody = everybody.only(check_id(user_id), check_id(agent_id, "agent_id"))
        return Cast(self._usual, everybody)

    async def ask(
        self,
        user_id: str,
        session_id: str,
        text: str,
        agent_id: str,
        at: Moment | None,
        *,
        cached: bool = False,
    ) -> tuple[Asked, str]:
        """Return the checked question of a user, and a warning about its time.

        Raises InputError for an invalid id or text.
        """
        check_id(user_id)
        check_id(session_id, "session_id")
        if not isinstance(text, str):
            raise InputError(f"text must be a text, not {type(text).__name__}")
        persona, sphere = await self.find(user_id, agent_id, cached=cached)
        now, odd = moment_or_now(at, now=self._clock(), zone=persona.zone)
        words = shorten(mend(text))
        return Asked(user_id, session_id, words, now, persona, agent_id, sphere), odd

    def moment(self, at: Moment | None, persona: Persona) -> datetime:
        """Return the moment that a user means; now if `at` is `None`. Raises InputError."""
        return moment(at, now=self._clock(), zone=persona.zone)

    def find_zone_now(self, user_id: str, at: object) -> ZoneInfo:
        """Return the zone for a time without a zone: the user's, if it can be read at once."""
        if not lacks_zone(at):
            return self._usual.zone
        if self._knowledge.journal.collection.shared and (known := self._zones.get(user_id)):
            return known
        try:
            person, _ = self._knowledge.people.find_now(user_id, "default")
        except StoreError:  # the turn itself is held until the store is back
            person = None
        return persona_of(self._usual, person, None).zone

    async def preferences(self, user_id: str) -> Preferences:
        """Return a user's preferences from the cache; the defaults if they cannot be read.

        A recall goes on without the preferences; it fails only where it needs the store itself.
        """
        try:
            return await self._knowledge.cache.choices.find(user_id)
        except SouffleurError:
            return Preferences(user_id="")

    def is_kept_out_now(self, user_id: str) -> bool:
        """Return whether a user wants nothing to be stored, as far as the cache knows.

        The journal checks it again.
        """
        try:
            return self._knowledge.choices.find_cached(user_id).keeps_out
        except SouffleurError:
            return False

    async def need_memory(self, user_id: str, *, incognito: bool = False) -> None:
        """Raise MemoryOffError if a user's memory is off, or if it is incognito and not allowed."""
        wanted = await self._knowledge.choices.find(user_id)
        if wanted.keeps_out and not (incognito and wanted.memory):
            what = "memory is off" if not wanted.memory else "turns are incognito"
            raise MemoryOffError(
                f"the {what} for {user_id!r}, who can change that: see `set_preferences`"
            )
