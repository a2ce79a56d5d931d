"""Playing a script through any system, turn by turn, at the script's times.

Other systems have no background jobs: for them, the step of a run stays empty.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from bench.systems import System
from souffleur.dialogue import Exchange
from souffleur.errors import RecordingError
from souffleur.evals.fixture import Listener
from souffleur.evals.result import ScriptResult, Step
from souffleur.evals.scoring import WRITING_OPS
from souffleur.evals.script import Ask, RunPart, Script, ScriptTurn
from souffleur.evals.script_runner import play
from souffleur.settings import Settings


@dataclass(frozen=True)
class SystemRun:
    """A script played by one system, not marked yet."""

    played: ScriptResult
    wrote: tuple[tuple[str, ...], ...]
    """For each step, the contents that the store holds since then, new or in new words."""
    tells_ops: bool = True


def parts(script: Script) -> list[ScriptTurn | RunPart | Ask]:
    """List the part of the script for each step, in order."""
    told = [part.turns if not isinstance(part, RunPart) else (part,) for part in script.sessions]
    return [*(one for some in told for one in some), *script.asks]


async def play_ours(script: Script, settings: Settings, listener: Listener) -> SystemRun:
    """Play through the real runtime; the ledger shows what was written."""
    played = await play(script, settings, listener)
    wrote = tuple(
        tuple(done.content for done in step.ops if done.op in WRITING_OPS and not done.refused)
        for step in played.steps
    )
    return SystemRun(played, wrote)


async def play_theirs(
    script: Script, system: System, listener: Listener, limits: Sequence[int]
) -> SystemRun:
    """Play through the interface; what was written is the difference of the store.

    `limits` has the maximum of memories that each step may recall. A turn that fails is noted in
    its step. Raises RecordingError if a recorded model has no answer.
    """
    try:
        await system.open(script.known)
        acts = [act async for act in _acts(script, system, listener, limits)]
        memories = tuple(sorted(one.text for one in await system.memories()))
        told = system.ops() is not None
    finally:
        await system.close()
    played = ScriptResult(
        name=script.name,
        about=script.about,
        title=script.title,
        user=script.user.title,
        assistant=script.assistant.name,
        steps=tuple(step for step, _ in acts),
        memories=memories,
    )
    return SystemRun(played, tuple(wrote for _, wrote in acts), told)


def count_whispered(block: str) -> int:
    """Count the memories and paragraphs in a whispered block.

    >>> count_whispered("## You remember\\nUse it.\\n\\n### Facts\\n- Likes tea.\\n- Has a cat.")
    2
    """
    below = block.partition("\n###")[2].splitlines()[1:]
    return sum(1 for line in below if line.strip() and not line.startswith("#"))


async def _acts(
    script: Script, system: System, listener: Listener, limits: Sequence[int]
) -> AsyncIterator[tuple[Step, tuple[str, ...]]]:
    held = {one.id: one.text for one in await system.memories()}
    places = _places(script)
    for place, part, limit in zip(places, parts(script), limits, strict=True):
        step = Step(place=place, at=part.at.isoformat())
        if not isinstance(part, RunPart):
            step = await _step(step, part, system, limit)
        now = {one.id: one.text for one in await system.memories()}
        wrote = tuple(sorted(text for id, text in now.items() if held.get(id) != text))
        held = now
        yield step.model_copy(update={"calls": listener.take()}), wrote


async def _step(step: Step, part: ScriptTurn | Ask, system: System, limit: int) -> Step:
    text = part.text if isinstance(part, Ask) else part.user
    found = tuple(one.text for one in await system.recall(text, part.at, limit))
    recalled = {"user": text, "whisper": "\n".join(found), "ranked": found}
    if isinstance(part, Ask):
        return step.model_copy(update=recalled)
    trouble = ""
    try:
        await system.write([Exchange(at=part.at, user=part.user, assistant=part.assistant)])
    except RecordingError:
        raise
    except Exception as error:  # noqa: BLE001  the edge of another system's turn
        trouble = f"{type(error).__name__}: {error}"
    ops = () if trouble else system.ops() or ()
    return step.model_copy(
        update={**recalled, "assistant": part.assistant, "ops": ops, "trouble": trouble}
    )


def _places(script: Script) -> list[str]:
    """List the names of the steps, the same as for ours."""
    named: list[str] = []
    for part in script.sessions:
        if isinstance(part, RunPart):
            named.append(part.run)
        else:
            named += [f"{part.id}.{place}" for place in range(1, len(part.turns) + 1)]
    return [*named, *(f"ask.{place}" for place in range(1, len(script.asks) + 1))]
