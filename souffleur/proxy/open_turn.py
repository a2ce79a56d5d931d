"""The open turn: what was said, and where it belongs, while the reply is being written."""

from dataclasses import dataclass

from souffleur.proxy.speaker import Speaker
from souffleur.proxy.talk import Talk


@dataclass(frozen=True)
class OpenTurn:
    """A turn whose reply is being written."""

    user_id: str
    agent_id: str
    session_id: str
    turn_id: str
    user: str
    """What the user says."""
    so_far: str = ""
    """What the companion has said already."""
    joint: str = ""
    """What stands between that and the rest of the reply."""
    rewound: tuple[str, ...] = ()
    """The ids of the turns that followed it until the talk went back to it."""
    conversation: str = ""
    """The conversation that the upstream holds, of which requests have the newest part alone."""


def opened(speaker: Speaker, talk: Talk, session_id: str, turn_id: str) -> OpenTurn:
    """Return the turn of a talk, for the reply that is asked for."""
    return OpenTurn(
        user_id=speaker.user_id,
        agent_id=speaker.agent_id,
        session_id=session_id,
        turn_id=turn_id,
        user=talk.user,
        so_far=talk.so_far,
        joint=talk.joint,
    )
