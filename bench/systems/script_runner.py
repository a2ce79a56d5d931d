"""A script played by any system, turn by turn, and marked by what its store holds and brings.

Other systems have no background jobs: for them, the step of a run stays empty.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from bench.systems import System
from souffleur.demo.dialogue import Exchange
from souffleur.errors import RecordingError
from souffleur.evals.fixture import Listener
from souffleur.evals.marking import count_spending
from souffleur.evals.result import ScriptResult, Step
from souffleur.evals.scoring import WRITING_OPS, Counts, score, score_end, score_recall
from souffleur.evals.script import Ask, End, Expectation, RunPart, Script, ScriptTurn, occurs
from souffleur.evals.script_runner import play
from souffleur.knowledge.knowledge_base import NEAR_DUPLICATE
from souffleur.knowledge.search.embedder import Embedder
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


TOLD_PREFIX = "told."
"""Prefix of the counts of ops, which only some systems report."""


async def mark_alike(script: Script, run: SystemRun, embedder: Embedder) -> ScriptResult:
    """Return the script with its counts, and with the faults of its recall and its end."""
    played = run.played
    counts: Counts = Counter()
    steps: list[Step] = []
    for step, part, wrote in zip(played.steps, parts(script), run.wrote, strict=True):
        counts += count_spending(step.calls) + Counter(turns=bool(step.assistant))
        if isinstance(part, RunPart):
            steps.append(step)
            continue
        recalled = score_recall(
            part if isinstance(part, Ask) else part.recall, step.whisper, step.ranked
        )
        counts += recalled.counts
        judged = recalled.judged
        if not isinstance(part, Ask):
            missed, breaches = _missed(part, wrote), _breaches(part, wrote)
            judged = judged.model_copy(update={"missed": missed, "breaches": breaches})
            counts += Counter({"wrote": len(wrote), "breaches": len(breaches)})
            counts += _learned(part, len(missed))
            if run.tells_ops:
                counts += _told(part, step)
                marks = score(part, step, {}).judged.marks
                judged = judged.model_copy(update={"marks": marks})
        steps.append(step.model_copy(update={"judged": judged}))
    wrong, at_end = _ended(script.end, played.memories)
    counts += at_end
    counts["near"] += await count_near_duplicates(played.memories, embedder)
    counts["scripts"] += 1
    return played.model_copy(
        update={"steps": tuple(steps), "end": tuple(wrong), "counts": dict(sorted(counts.items()))}
    )


async def count_near_duplicates(memories: Sequence[str], embedder: Embedder) -> int:
    """Count the memories that nearly repeat one before them, by cosine."""
    import numpy as np

    if len(memories) < 2:
        return 0
    rows = np.array(await embedder.embed(memories))
    nearest = np.tril(rows @ rows.T, -1).max(axis=1)
    return int((nearest >= NEAR_DUPLICATE).sum())


def _sought(part: ScriptTurn) -> Iterator[Expectation]:
    """Yield the expectations of something written, whether as a new memory or as an update."""
    yield from (one for one in part.expect if one.pattern and WRITING_OPS & set(one.op))


def _missed(part: ScriptTurn, wrote: Sequence[str]) -> tuple[str, ...]:
    return tuple(one.label for one in _sought(part) if not any(_says(one, it) for it in wrote))


def _learned(part: ScriptTurn, missed: int) -> Counts:
    sought = len(list(_sought(part)))
    return Counter({"learned.all": sought, "learned.right": sought - missed})


def _breaches(part: ScriptTurn, wrote: Sequence[str]) -> tuple[str, ...]:
    """List what was written and must never be, unless it was due otherwise, as by an update."""
    due = [one for one in (*part.expect, *part.may) if one.pattern and WRITING_OPS & set(one.op)]
    nevers = [one for one in part.never if one.pattern and WRITING_OPS & set(one.op)]
    return tuple(
        f"{one.label}: {text}"
        for text in wrote
        for one in nevers
        if _says(one, text) and not any(_says(other, text) for other in due)
    )


def _says(sought: Expectation, text: str) -> bool:
    return all(occurs(pattern, text) for pattern in sought.pattern)


def _told(part: ScriptTurn, step: Step) -> Counts:
    wanted = ("right", "wrong", "met", "missed")
    scored = score(part, step, {}).counts
    return Counter(
        {
            f"{TOLD_PREFIX}{name}": count
            for name, count in scored.items()
            if name.rpartition(".")[2] in wanted and not name.startswith("SKIP")
        }
    )


def _ended(end: End, memories: Sequence[str]) -> tuple[list[str], Counts]:
    """Score what must be there and what must not be there separately."""
    unlike, held = score_end(End(holds=end.holds), memories)
    there, lacked = score_end(End(lacks=end.lacks), memories)
    counts = Counter(
        {
            "holds.all": held["end.all"],
            "holds.right": held["end.right"],
            "held_twice": held["held_twice"],
            "gone.all": lacked["end.all"],
            "gone.right": lacked["end.right"],
            "memories": len(memories),
        }
    )
    return [*unlike, *there], counts
