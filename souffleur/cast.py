"""The cast: who talks with whom, as introduced, and else as the settings say."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from souffleur.agents.exchange import Persona, persona_of
from souffleur.knowledge.people import Everybody, sphere_of
from souffleur.settings import Settings


@dataclass(frozen=True)
class Cast:
    """All who were introduced at one moment, for whoever shows many records at once."""

    usual: Persona
    introduced: Everybody

    def persona(self, user_id: str, agent_id: str = "default") -> Persona:
        """Return who talks: this user with this persona."""
        person = self.introduced.people.get(user_id)
        return persona_of(self.usual, person, self.introduced.personas.get(agent_id))

    def sphere(self, agent_id: str) -> str:
        """Return where that lies which a persona is told."""
        return sphere_of(self.introduced.personas.get(agent_id))

    def zone(self, user_id: str | None) -> ZoneInfo:
        """Return where a user lives; of everybody (None), where the settings say."""
        return self.usual.zone if user_id is None else self.persona(user_id).zone


def usual(settings: Settings) -> Persona:
    """Return who talks, as far as nobody was introduced."""
    return Persona(
        user=settings.user_title,
        assistant=settings.assistant_name,
        zone=ZoneInfo(settings.timezone),
        language=settings.language,
    )
