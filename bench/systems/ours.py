"""Ours as a contestant: the real runtime over a fresh store."""

from datetime import datetime

from bench.systems import SystemInputs
from bench.systems.batch import Batch
from souffleur.api import Souffleur
from souffleur.dialogue import Dialogue
from souffleur.errors import RecordingError
from souffleur.knowledge.turn import TurnState
from souffleur.replay import MIN_SILENCE, StageClock, clock_for, settings_for


class Ours:
    """The real runtime at the dialogue's times; the batches are those of `judge_every`.

    Nothing is recalled while the conversation is written, so that the requests of the writing do
    not depend on what recall brings.
    """

    def __init__(self, inputs: SystemInputs, dialogue: Dialogue) -> None:
        self._inputs = inputs
        self._user_id = dialogue.user.id
        self._agent_id = dialogue.assistant.id
        self._clock: StageClock = clock_for(dialogue)
        self._settings = settings_for(dialogue, inputs.settings)
        self._memory: Souffleur | None = None
        self._turns = 0
        self.troubles: list[str] = []

    async def open(self) -> None:
        """Open a fresh store."""
        self._memory = await Souffleur.open(
            self._settings,
            chat=self._inputs.chat,
            clock=self._clock,
            embedder=self._inputs.embedder,
        )

    async def write(self, batch: Batch) -> None:
        """Observe the turns, and wait until what is due is judged and summarised."""
        for turn in batch.turns:
            silence, self._clock.at = turn.at - self._clock.at, turn.at
            if silence >= MIN_SILENCE:
                await self._opened.flush()  # sessions that have ended meanwhile come first
            self._turns += 1
            receipt = self._opened.observe(
                user_id=self._user_id,
                session_id=batch.session_id,
                agent_id=self._agent_id,
                user=turn.user,
                assistant=turn.assistant,
                turn_id=f"{self._turns:04d}",
                at=turn.at,
            )
            if not receipt.durable:
                self.troubles.append(f"{turn.at}: {receipt.error}")
            await self._opened.flush()
        if batch.is_last:
            self._opened.end_session(
                user_id=self._user_id, session_id=batch.session_id, agent_id=self._agent_id
            )
            await self._opened.flush()

    async def finish(self) -> None:
        """Note what could not be judged or summarised. Raises RecordingError if that is why."""
        journal, sessions = self._opened.knowledge.journal, self._opened.knowledge.sessions
        for state in (TurnState.FAILED, TurnState.PENDING):
            for turn in await journal.turns(state=state, user_id=self._user_id):
                self._note(f"{turn.session_id} at {turn.at}", turn.error or state.value)
        for segment in await sessions.waiting_segments(self._user_id):
            self._note(f"episode of {segment.session_id}", segment.error)
        self._note("portrait", (await sessions.portrait_status(self._user_id)).error)

    async def bring(self, text: str, at: datetime) -> str:
        """Return the block of `recall`, as a host gets it."""
        self._clock.at = at
        whisper = await self._opened.recall(
            user_id=self._user_id, session_id="asked", text=text, agent_id=self._agent_id, at=at
        )
        if whisper.error:
            self.troubles.append(f"{text!r}: {whisper.error}")
        return whisper.text

    async def close(self) -> None:
        """Close the store."""
        if self._memory is not None:
            await self._memory.close()

    @property
    def _opened(self) -> Souffleur:
        assert self._memory is not None
        return self._memory

    def _note(self, what: str, error: str) -> None:
        if error.startswith(RecordingError.__name__):
            raise RecordingError(error.removeprefix(f"{RecordingError.__name__}: "))
        if error:
            self.troubles.append(f"{what}: {error}")
