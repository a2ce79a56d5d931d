"""The cast: users and personas as introduced, otherwise as in the settings."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from souffleur.agents.brief import Persona, persona_of
from souffleur.knowledge.people import Everybody, sphere_of
from souffleur.settings import Settings


@dataclass(frozen=True)
class Cast:
    """All users and personas introduced by now, read once for showing many records."""

    usual: Persona
    """The names, zone and language from the settings."""
    introduced: Everybody
    """Users and personas that were introduced."""

    def persona(self, user_id: str, agent_id: str = "default") -> Persona:
        """Return the names, zone and language for this user with this persona."""
        person = self.introduced.people.get(user_id)
        return persona_of(self.usual, person, self.introduced.personas.get(agent_id))

    def sphere(self, agent_id: str) -> str:
        """Return the sphere in which what a persona is told is kept."""
        return sphere_of(self.introduced.personas.get(agent_id))

    def zone(self, user_id: str | None) -> ZoneInfo:
        """Return the time zone of a user; the configured one for everybody (`None`)."""
        return self.usual.zone if user_id is None else self.persona(user_id).zone


def usual(settings: Settings) -> Persona:
    """Return the names, zone and language for those who were not introduced."""
    return Persona(
        user=settings.user_title,
        assistant=settings.assistant_name,
        zone=ZoneInfo(settings.timezone),
        language=settings.language,
    )
