"""Replay: a dialogue through the real runtime, turn by turn, at the times it was spoken."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from souffleur.dialogue import Dialogue, Exchange
from souffleur.errors import RecordingError
from souffleur.knowledge.journal import Turn, TurnState, turn_point_id
from souffleur.knowledge.operation import Outcome
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from souffleur.whisper import Recall


@dataclass(frozen=True)
class Played:
    """One turn, and what came of it."""

    session_id: str
    exchange: Exchange
    whisper: Recall
    turn: Turn
    """As judged; its state is `failed` where no usable answer was to be had."""
    outcomes: tuple[Outcome, ...]


def settings_for(dialogue: Dialogue, settings: Settings) -> Settings:
    """The settings, with the names and the time zone of the dialogue."""
    return settings.model_copy(
        update={
            "user_title": dialogue.user.title,
            "assistant_name": dialogue.assistant.name,
            "timezone": dialogue.timezone,
            "language": dialogue.user.language or settings.language,
        }
    )


async def replay(dialogue: Dialogue, memory: Souffleur) -> AsyncIterator[Played]:
    """Recall, observe and judge each turn before the next one.

    A turn observed in an earlier, interrupted replay of the same store is not judged again.
    RecordingError where a recorded model has no answer for a turn.
    """
    place = 0
    for session in dialogue.sessions:
        for exchange in session.turns:
            place += 1
            yield await _play(dialogue, session.id, f"{place:04d}", exchange, memory)


async def _play(
    dialogue: Dialogue, session_id: str, turn_id: str, exchange: Exchange, memory: Souffleur
) -> Played:
    user_id, agent_id = dialogue.user.id, dialogue.assistant.id
    whisper = await memory.recall(
        user_id=user_id,
        session_id=session_id,
        text=exchange.user,
        at=exchange.at,
    )
    memory.observe(
        user_id=user_id,
        session_id=session_id,
        agent_id=agent_id,
        user=exchange.user,
        assistant=exchange.assistant,
        turn_id=turn_id,
        at=exchange.at,
    )
    await memory.flush()
    journal = memory.knowledge.journal
    turn = await journal.turn(turn_point_id(user_id, agent_id, session_id, turn_id))
    if turn.state is TurnState.FAILED and turn.error.startswith(RecordingError.__name__):
        raise RecordingError(turn.error.removeprefix(f"{RecordingError.__name__}: "))
    outcomes = await journal.entries(user_id, turn_id=turn.id)
    return Played(session_id, exchange, whisper, turn, tuple(outcomes))
