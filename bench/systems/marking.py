"""Marking all systems alike: by what the store holds and recall returns, whatever their ops are."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bench.systems.script_runner import SystemRun, parts
from souffleur.evals.marking import count_spending
from souffleur.evals.result import ScriptResult, Step
from souffleur.evals.scoring import WRITING_OPS, Counts, score, score_end, score_recall
from souffleur.evals.script import Ask, End, Expectation, RunPart, Script, ScriptTurn, occurs
from souffleur.knowledge.knowledge_base import NEAR_DUPLICATE
from souffleur.knowledge.search.embedder import Embedder

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
