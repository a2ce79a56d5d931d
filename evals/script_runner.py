"""Playing a script through the real runtime, step by step."""

from collections.abc import AsyncIterator, Sequence

from souffleur.api import Souffleur
from souffleur.demo.dialogue import StageClock, replay
from souffleur.evals.fixture import Listener, open_fixture, perform_run, to_op_records
from souffleur.evals.result import OpRecord, ScriptResult, Step
from souffleur.evals.scoring import could_meet
from souffleur.evals.script import Ask, RunPart, Script, ScriptTurn, TalkPart
from souffleur.knowledge.memory import NARRATIVE, Category
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.store.opening import Opener
from souffleur.knowledge.text.match import find_quote
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.settings import Settings


async def play(
    script: Script, settings: Settings, listener: Listener, opener: Opener | None = None
) -> ScriptResult:
    """Play every step of a script; the result is not marked yet.

    Raises RecordingError if a recorded model has no answer.
    """
    async with open_fixture(script, settings, listener, opener) as (memory, clock):
        player = _Player(script, memory, clock, listener)
        steps = [step async for step in player.steps()]
        left = await memory.knowledge.list(script.user.id, now=clock.at)
        memories = tuple(one.content for one in left if one.category not in NARRATIVE)
    return ScriptResult(
        name=script.name,
        about=script.about,
        title=script.title,
        user=script.user.title,
        assistant=script.assistant.name,
        steps=tuple(steps),
        memories=memories,
    )


class _Player:
    """The state while a script is played: the episodes and portraits that its steps have."""

    def __init__(
        self, script: Script, memory: Souffleur, clock: StageClock, listener: Listener
    ) -> None:
        self._script = script
        self._memory = memory
        self._clock = clock
        self._listener = listener
        self._told: set[str] = set()

    async def steps(self) -> AsyncIterator[Step]:
        for part in self._script.sessions:
            if isinstance(part, RunPart):
                yield await self._run(part)
            else:
                async for step in self._talk(part):
                    yield step
        for place, ask in enumerate(self._script.asks, start=1):
            yield await self._ask(ask, place)

    async def _talk(self, part: TalkPart) -> AsyncIterator[Step]:
        steps: list[Step] = []
        turns: list[Turn] = []
        async for played in replay(self._script.dialogue(part), self._memory, self._clock):
            step = Step(
                place=f"{part.id}.{len(turns) + 1}",
                at=played.exchange.at.isoformat(),
                user=played.exchange.user,
                assistant=played.exchange.assistant,
                whisper=played.whisper.text,
                ranked=_ranked((*played.whisper.found, *played.whisper.past)),
                ops=to_op_records(played.outcomes),
                trouble=_trouble(played.turn),
            )
            turns.append(played.turn)
            steps.append(await self._ended(step))
        together = self._memory.settings.judge_every > 1
        for step in await self._shared_out(part, steps, turns) if together else steps:
            yield step

    async def _shared_out(self, part: TalkPart, steps: list[Step], turns: list[Turn]) -> list[Step]:
        """Return the steps of turns judged together, each with its own ops."""
        journal, ids = self._memory.knowledge.journal, [turn.id for turn in turns]
        entries = await journal.entries(self._script.user.id, turn_ids=ids)
        judged = await journal.get_turns(ids)
        shared = share_out(entries, judged, part.turns)
        return [
            step.model_copy(update={"ops": ops, "trouble": _trouble(turn)})
            for step, ops, turn in zip(steps, shared, judged, strict=True)
        ]

    async def _run(self, part: RunPart) -> Step:
        await self._go_to(part)
        entries, failed = await perform_run(self._memory, self._script, part)
        step = Step(
            place=part.run,
            at=part.at.isoformat(),
            ops=to_op_records(entries),
            trouble=failed,
        )
        return await self._ended(step)

    async def _ask(self, ask: Ask, place: int) -> Step:
        await self._go_to(ask)
        whisper = await self._memory.recall(
            user_id=self._script.user.id, session_id="asks", text=ask.text, at=ask.at
        )
        step = Step(
            place=f"ask.{place}",
            at=ask.at.isoformat(),
            user=ask.text,
            whisper=whisper.text,
            ranked=_ranked((*whisper.found, *whisper.past)),
        )
        return await self._ended(step)

    async def _go_to(self, part: RunPart | Ask) -> None:
        self._clock.at = part.at
        await self._memory.flush()  # talk that has ended meanwhile is summarised first

    async def _ended(self, step: Step) -> Step:
        """Return the step with the episodes, portraits and calls since the step before."""
        knowledge, user_id = self._memory.knowledge, self._script.user.id
        waiting = await knowledge.sessions.waiting_segments(user_id)
        errors = [segment.error for segment in waiting]
        errors.append((await knowledge.sessions.portrait_status(user_id)).error)
        episodes = await knowledge.list(user_id, category=Category.EPISODE)
        told = [*episodes, *reversed(await knowledge.portraits(user_id))]
        fresh = [one for one in told if one.id not in self._told]
        self._told |= {one.id for one in fresh}
        return step.model_copy(
            update={
                "told": tuple(one.content for one in fresh),
                "calls": self._listener.take(),
                "untold": "; ".join(error for error in errors if error),
            }
        )


def _trouble(turn: Turn) -> str:
    return "" if turn.state is TurnState.JUDGED else turn.error


def _ranked(founds: tuple[Found, ...]) -> tuple[str, ...]:
    """Return the text of each item in ranking order; for a raw turn, its words."""
    items = [found.item for found in founds]
    return tuple(item.words if isinstance(item, Turn) else item.searchable for item in items)


def share_out(
    entries: Sequence[LedgerEntry], turns: Sequence[Turn], parts: Sequence[ScriptTurn]
) -> list[tuple[OpRecord, ...]]:
    """Return the ops of each turn; `parts` has the script's expectations for each turn."""
    shared: list[list[OpRecord]] = [[] for _ in turns]
    for entry in entries:
        for done in to_op_records([entry]):
            shared[_place(entry, done, turns, parts)].append(done)
    return [tuple(ops) for ops in shared]


def _place(
    entry: LedgerEntry, done: OpRecord, turns: Sequence[Turn], parts: Sequence[ScriptTurn]
) -> int:
    """Return the index of the turn that an op quotes; without a quote, of the whispered turn.

    A boost quotes no turn. If its memory was whispered in several turns, it can only be marked for
    the whole group: it belongs to the first turn that expects it. If no turn expects it, it belongs
    to a turn that allows it, else to a turn that forbids it, else to the last turn.
    """
    own = [place for place, turn in enumerate(turns) if turn.id in entry.turn_ids]
    for place in own:
        if find_quote(entry.quote, turns[place].words):
            return place
    touched = set(entry.memory_ids)
    whispered = [place for place in own if touched.intersection(turns[place].injected)] or own
    for kind in ("expect", "may", "never"):
        for place in whispered:
            if any(could_meet(one, done) for one in getattr(parts[place], kind)):
                return place
    return whispered[-1]
