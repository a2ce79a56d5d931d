"""Who talks with whom, and where: read from the context or the configuration of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from souffleur.errors import InputError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.text.plain import is_blank
from souffleur.messages import look_up


@dataclass(frozen=True)
class Talk:
    """A user, a session and a persona. Usable as the `context_schema` of an agent."""

    user_id: str
    """The user."""
    session_id: str | None = None
    """The session; `None` means the thread, or else "default"."""
    agent_id: str | None = None
    """The persona; `None` means that of the agent, or else "default"."""

    @property
    def ids(self) -> dict[str, str]:
        """The ids as Souffleur's methods take them."""
        return {**self.who, "session_id": self.session_id or "default"}

    @property
    def who(self) -> dict[str, str]:
        """The ids without the session."""
        return {"user_id": self.user_id, "agent_id": self.agent_id or "default"}


def talk_of(context: object, config: Mapping[str, object] | None, agent_id: str | None) -> Talk:
    """Return who talks: by the context of a run, else by `configurable`; never by a model.

    Raises InputError if neither names a user.

    >>> talk_of({"user_id": "u1"}, {"configurable": {"thread_id": "t1"}}, None)
    Talk(user_id='u1', session_id='t1', agent_id=None)
    """
    configured = (config or {}).get("configurable") or {}

    def named(*names: str) -> object:
        places = ((place, name) for place in (context, configured) for name in names)
        found = (look_up(place, name) for place, name in places if place is not None)
        return next((one for one in found if one is not None), None)

    user_id = named("user_id")
    if user_id is None:
        raise InputError(
            "no user is named, and memories belong to one: run the agent with "
            "context=Talk(user_id=…) and context_schema=Talk, or with "
            "config={'configurable': {'user_id': …, 'thread_id': …}}"
        )
    session_id, persona = named("session_id", "thread_id"), named("agent_id") or agent_id
    return Talk(
        check_id(user_id),
        None if session_id is None else check_id(kept_id(session_id), "session_id"),
        None if persona is None else check_id(persona, "agent_id"),
    )


def kept_id(id: object) -> object:
    """Return the id of a session or a message, which others made, as one that can be stored.

    What is too long, or holds half of a character, is replaced by a digest.

    >>> kept_id("t1"), kept_id("t" * 600)
    ('t1', '8feb2cae-54b2-5f3e-b2c6-be333bbb6b1f')
    """
    if not isinstance(id, str) or is_blank(id):
        return id
    try:
        return check_id(id, "id")
    except InputError:
        return derive_id("id", ascii(id))
