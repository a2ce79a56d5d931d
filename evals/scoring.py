"""Scoring: compares the ops of a step with the expectations. Pure: no model, no store, no clock.

Precision counts ops, recall counts expectations. An op may meet several expectations, so it does
no harm if two facts are in one memory, or one fact in two memories. An op that only a `may` allows
is not counted. Counts are numbers by name, summed over steps and scripts; `metrics` makes rates
from them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from souffleur.evals.result import ErrorType, Mark, OpRecord, OpStatus, Step, StepMarks
from souffleur.evals.script import End, Expectation, Op, RecallPart, RunPart, ScriptTurn, occurs

Entailments = Mapping[tuple[str, str], bool]
"""Whether a content entails a sentence, by the LLM judge: keyed by (sentence, content)."""
Counts = Counter[str]

REMOVING_OPS = frozenset({Op.DELETE, Op.FORGET, Op.ARCHIVE})
WRITING_OPS = frozenset({Op.ADD, Op.UPDATE, Op.MERGE})


@dataclass(frozen=True)
class Scored:
    """The marks of a step, and its counts."""

    judged: StepMarks
    counts: Counts


def meets(sought: Expectation, done: OpRecord, entailments: Entailments) -> bool:
    """Return whether an op meets an expectation."""
    if not could_meet(sought, done):
        return False
    return not sought.says or entailments.get((sought.says, done.words), False)


def list_entailment_pairs(
    part: ScriptTurn | RunPart, ops: Iterable[OpRecord]
) -> list[tuple[str, str]]:
    """List the pairs (sentence, content) that an LLM judge must decide before scoring a step."""
    asking = [one for one in (*part.expect, *part.may, *part.never) if one.says]
    acted = [done for done in ops if not done.refused]
    pairs = [(one.says, done.words) for one in asking for done in acted if could_meet(one, done)]
    return list(dict.fromkeys(pairs))


def score(part: ScriptTurn | RunPart, step: Step, entailments: Entailments) -> Scored:
    """Score each op and each expectation of a step."""
    marks = tuple(_mark(part, done, entailments) for done in step.ops)
    counts: Counts = Counter()
    for done, mark in zip(step.ops, marks, strict=True):
        if mark.standing in (OpStatus.RIGHT, OpStatus.WRONG):
            counts[f"{done.op}.{mark.standing}"] += 1
    acted = [done for done in step.ops if not done.refused]
    foreseen = [
        done.content
        for done, mark in zip(step.ops, marks, strict=True)
        if mark.standing in (OpStatus.RIGHT, OpStatus.FINE)
    ]
    missed, lost, misnamed = [], [], []
    for sought in part.expect:
        meeting = [done for done in acted if meets(sought, done, entailments)]
        counts += _updating(sought, meeting, acted)
        if not meeting:
            counts[f"{sought.op[0]}.missed"] += 1
            missed.append(sought.label)
            continue
        counts[f"{meeting[0].op}.met"] += 1
        lost += _details(sought, foreseen, counts)
        misnamed += _kinds(sought, meeting, counts)
    breaches = [
        f"{one.label}: {done.words}"
        for done in acted
        for one in part.never
        if meets(one, done, entailments)
    ]
    counts["breaches"] += len(breaches)
    if isinstance(part, ScriptTurn):
        counts += _skipping(part, step, acted, marks)
    judged = StepMarks(
        marks=marks,
        missed=tuple(missed),
        breaches=tuple(breaches),
        lost=tuple(lost),
        misnamed=tuple(misnamed),
    )
    return Scored(judged, +counts)


def count_error_types(judged: StepMarks) -> Counts:
    """Count the wrong ops by error type."""
    wrong = [mark.nature for mark in judged.marks if mark.standing is OpStatus.WRONG]
    return Counter(f"nature.{nature}" for nature in wrong)


def score_recall(part: RecallPart, whisper: str, ranked: Sequence[str]) -> Scored:
    """Score the texts that the whispered block contains and lacks, and the rank of the answer.

    Parts that are in every block (core, portrait, their companions) have no rank.
    """
    counts: Counts = Counter()
    wrong = []
    for pattern in part.brings:
        hit = occurs(pattern, whisper)
        ranks = [rank for rank, text in enumerate(ranked, start=1) if occurs(pattern, text)]
        counts["brings.all"] += 1
        counts["brings.hit"] += hit
        if ranks or not hit:
            counts["rank.all"] += 1
            counts["rank.sum"] += 1 / ranks[0] if ranks else 0  # type: ignore[assignment]
        if not hit:
            wrong.append(f"not brought: {pattern}")
    for pattern in part.lacks:
        brought = occurs(pattern, whisper)
        counts["lacks.all"] += 1
        counts["lacks.kept"] += not brought
        if brought:
            wrong.append(f"brought all the same: {pattern}")
    return Scored(StepMarks(recall=tuple(wrong)), +counts)


def score_end(end: End, memories: Sequence[str]) -> tuple[list[str], Counts]:
    """Return the faults of the store at the end, and their counts."""
    counts: Counts = Counter()
    wrong = []
    for hold in end.holds:
        such = [one for one in memories if all(occurs(pattern, one) for pattern in hold.pattern)]
        name = hold.about or " & ".join(hold.pattern)
        counts["end.all"] += 1
        counts["end.right"] += bool(such) and not (hold.once and len(such) > 1)
        if not such:
            wrong.append(f"not held: {name}")
        elif hold.once and len(such) > 1:
            counts["held_twice"] += len(such) - 1
            wrong.append(f"held {len(such)} times: {name}")
    for pattern in end.lacks:
        such = [one for one in memories if occurs(pattern, one)]
        counts["end.all"] += 1
        counts["end.right"] += not such
        wrong += [f"held all the same: {one}" for one in such]
    return wrong, +counts


def _mark(part: ScriptTurn | RunPart, done: OpRecord, entailments: Entailments) -> Mark:
    if done.refused:
        return Mark(standing=OpStatus.REFUSED, why=done.refused)
    for one in part.never:
        if meets(one, done, entailments):
            why = f"never: {one.why or one.label}"
            return Mark(standing=OpStatus.WRONG, nature=_error_type(part, done), why=why)
    for standing, sought in ((OpStatus.RIGHT, part.expect), (OpStatus.FINE, part.may)):
        for one in sought:
            if meets(one, done, entailments):
                return Mark(standing=standing, why=one.label)
    return Mark(standing=OpStatus.WRONG, nature=_error_type(part, done))


def _error_type(part: ScriptTurn | RunPart, done: OpRecord) -> ErrorType:
    """Return the error type, as far as it is clear without an LLM judge."""
    if done.op in REMOVING_OPS:
        return ErrorType.WRONG_DELETE
    if done.op == Op.BOOST:
        return ErrorType.NOT_USED
    if done.op not in WRITING_OPS:
        return ErrorType.OTHER
    content = done.model_copy(update={"olds": ()})
    for one in part.expect:
        loose = one.model_copy(update={"of": ()})
        if one.pattern and done.op not in one.op and _fits(loose, content):
            return ErrorType.MISFILED
    return ErrorType.NONE


def could_meet(sought: Expectation, done: OpRecord) -> bool:
    """Return whether an op meets an expectation, as far as patterns can decide."""
    return done.op in sought.op and _fits(sought, done)


def _fits(sought: Expectation, done: OpRecord) -> bool:
    new = all(occurs(pattern, done.words) for pattern in sought.pattern)
    return new and all(any(occurs(pattern, old) for old in done.olds) for pattern in sought.of)


def _details(sought: Expectation, foreseen: Sequence[str], counts: Counts) -> list[str]:
    """Return the details that no content of this step retains; two memories may share a fact."""
    wanted = (*sought.details, *sought.keeps)
    lost = [detail for detail in wanted if not any(occurs(detail, text) for text in foreseen)]
    counts["details.all"] += len(wanted)
    counts["details.kept"] += len(wanted) - len(lost)
    return [f"{detail} ({sought.label})" for detail in lost]


def _kinds(sought: Expectation, meeting: Sequence[OpRecord], counts: Counts) -> list[str]:
    kinds = [done.kind for done in meeting if done.kind]
    if not sought.kind or not kinds:
        return []
    right = any(kind in sought.kind for kind in kinds)
    counts["kind.all"] += 1
    counts["kind.right"] += right
    return [] if right else [f"{kinds[0]}, not {'/'.join(sought.kind)} ({sought.label})"]


def _updating(
    sought: Expectation, meeting: Sequence[OpRecord], acted: Sequence[OpRecord]
) -> Counts:
    """Count a due update as correct, hallucinated (with wrong content) or omitted.

    HaluMem scores updates in this way (arXiv 2511.03506).
    """
    if sought.op != (Op.UPDATE,):
        return Counter()
    if meeting:
        return Counter({"update.correct": 1})
    target = sought.model_copy(update={"pattern": (), "says": ""})
    made = any(done.op == Op.UPDATE and sought.of and _fits(target, done) for done in acted)
    return Counter({"update.hallucinated" if made else "update.omitted": 1})


def _skipping(
    part: ScriptTurn, step: Step, acted: Sequence[OpRecord], marks: Sequence[Mark]
) -> Counts:
    """Count SKIP as an op: right if no op is expected and no unexpected op was done."""
    if part.expect:
        return Counter({"SKIP.wrong": 1}) if not acted and not step.trouble else Counter()
    if step.trouble:
        return Counter({"SKIP.missed": 1})
    if any(mark.standing is OpStatus.WRONG for mark in marks):
        return Counter({"SKIP.missed": 1})
    return Counter({"SKIP.right": 1, "SKIP.met": 1})
