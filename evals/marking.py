"""Marking of a played script by its expectations; an LLM judge decides if no pattern can."""

from collections import Counter
from collections.abc import Iterator, Sequence

from souffleur.agents.structured_chat import StructuredChat
from souffleur.evals import llm_judge
from souffleur.evals.llm_judge import OpContext
from souffleur.evals.result import Call, ScriptResult, Step, StepMarks
from souffleur.evals.scoring import (
    Counts,
    Scored,
    count_error_types,
    list_entailment_pairs,
    score,
    score_end,
    score_recall,
)
from souffleur.evals.script import Ask, RunPart, Script, ScriptTurn

Part = ScriptTurn | RunPart | Ask


async def mark(script: Script, played: ScriptResult, judge: StructuredChat) -> ScriptResult:
    """Return the script with every step marked, and with all counts.

    Raises the errors of the LLM judge's model.
    """
    counts: Counts = Counter()
    steps: list[Step] = []
    for step, part in zip(played.steps, _parts(script), strict=True):
        scored = _recalled(part, step)
        if not isinstance(part, Ask):
            before = played.steps[: len(steps)]
            scored = _joined(await _judged(script, part, step, before, judge), scored)
        steps.append(step.model_copy(update={"judged": scored.judged}))
        counts += scored.counts + count_spending(step.calls) + Counter(turns=bool(step.assistant))
    wrong, at_end = score_end(script.end, played.memories)
    counts += at_end
    return played.model_copy(
        update={"steps": tuple(steps), "end": tuple(wrong), "counts": dict(sorted(counts.items()))}
    )


async def _judged(
    script: Script,
    part: ScriptTurn | RunPart,
    step: Step,
    before: Sequence[Step],
    judge: StructuredChat,
) -> Scored:
    said = await llm_judge.find_entailments(judge, script, list_entailment_pairs(part, step.ops))
    scored = score(part, step, said)
    talk = step.place.rpartition(".")[0]
    earlier = [one for one in before if talk and one.place.rpartition(".")[0] == talk]
    context = OpContext(script, earlier, step, llm_judge.known_before(script, before))
    marks = await llm_judge.classify_unexpected(judge, context, scored.judged.marks)
    judged = scored.judged.model_copy(update={"marks": marks})
    return Scored(judged, scored.counts + count_error_types(judged))


def _recalled(part: Part, step: Step) -> Scored:
    if isinstance(part, RunPart):
        return Scored(StepMarks(), Counter())
    sought = part if isinstance(part, Ask) else part.recall
    return score_recall(sought, step.whisper, step.ranked)


def _joined(ops: Scored, recall: Scored) -> Scored:
    judged = ops.judged.model_copy(update={"recall": recall.judged.recall})
    return Scored(judged, ops.counts + recall.counts)


def _parts(script: Script) -> Iterator[Part]:
    for part in script.sessions:
        yield from (part,) if isinstance(part, RunPart) else part.turns
    yield from script.asks


def count_spending(calls: Sequence[Call]) -> Counts:
    """Count calls, tokens, dollars and seconds, in total and by the name of the request."""
    counts: Counter[str] = Counter()
    for call in calls:
        counts["calls"] += 1
        counts["tokens.in"] += call.input_tokens
        counts["tokens.out"] += call.output_tokens
        counts["cost"] += call.cost  # type: ignore[assignment]
        if call.seconds is not None:
            for name in ("", f".{call.name}"):
                counts[f"timed{name}"] += 1
                counts[f"seconds{name}"] += call.seconds  # type: ignore[assignment]
    return counts
