"""The page of results: tables, plots, and each dialogue with its turns, ops, misses and prompts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from souffleur.evals.suite.drawing import (
    STYLE,
    bars,
    folded,
    interval,
    number,
    section,
    table,
    tiles,
    whiskers,
)
from souffleur.evals.suite.metrics import metrics_of
from souffleur.evals.suite.result import (
    Call,
    Done,
    Mark,
    Measured,
    Played,
    Run,
    Saved,
    Standing,
    Step,
)
from souffleur.reporting.drawing import page, text

HEADLINES = (
    *("all precision", "all recall", "wrong deletes", "invented", "update correct"),
    *("detail retention", "recall hit rate"),
)
COUNTED = {"wrong deletes", "invented"}
GROUPS = {
    "ops": "Ops: precision is of what was done, recall of what was expected",
    "errors": "Errors: how many there were",
    "updates": "Updates, as HaluMem scores them",
    "details": "What was written, and what is there at the end",
    "recall": "What was whispered",
    "cost": "What it cost, without the referee",
    "latency": "How long the model took",
}
UNTOLD = Measured(value=None)


def to_html(saved: Saved, *, title: str = "Souffleur: evals") -> str:
    """One page that needs nothing else: no script, no file, no network."""
    runs = saved.runs
    body = "\n".join((_head(runs), _numbers(runs), _faults(runs), *_all_scripts(runs)))
    return page(title, STYLE, body)


def _head(runs: Sequence[Run]) -> str:
    parts = []
    for run in runs:
        scripts, turns = len(run.scripts), sum(one.counts.get("turns", 0) for one in run.scripts)
        parts.append(f"<h3>{text(run.model)}, {run.mode}: {scripts} scripts, {turns:g} turns</h3>")
        values = {name: run.metrics.get(name, UNTOLD).value for name in HEADLINES}
        shown = {name: number(one, counted=name in COUNTED) for name, one in values.items()}
        parts.append(tiles(shown))
        if run.troubles:
            listed = "".join(f"<li>{text(one)}</li>" for one in run.troubles)
            parts.append(f'<p class="wrong">What failed:</p><ul>{listed}</ul>')
    return section(
        "At a glance", "What was done beside what was expected before any model saw it.", *parts
    )


def _numbers(runs: Sequence[Run]) -> str:
    known = metrics_of([one.counts for run in runs for one in run.scripts])
    parts = []
    for group, heading in GROUPS.items():
        metrics = [metric for metric in known if metric.group == group]
        shown = [one for one in metrics if any(one.name in run.metrics for run in runs)]
        if not shown:
            continue
        highs = [_high(run, metric.name) for run in runs for metric in shown]
        common = 1.0 if group not in ("cost", "latency", "errors") else 0.0
        rows = []
        for metric in shown:
            most = common or (max(highs) if group == "errors" else _most(runs, metric.name))
            row = [f"{text(metric.name)}<br><span class='dim'>{text(metric.about)}</span>"]
            for run in runs:
                one = run.metrics.get(metric.name, UNTOLD)
                row += [text(interval(one, counted=group == "errors")), whiskers(one, most)]
            rows.append(row)
        head = ["metric", *(name for run in runs for name in (run.model, ""))]
        parts.append(f"<h3>{heading}</h3>{table(head, rows)}")
    sentence = (
        "Each with its 95 % interval, by bootstrap over scripts. Plots of rates go from 0 to 1, "
        "the others from 0 to the highest."
    )
    return section("How good it is", sentence, *parts)


def _faults(runs: Sequence[Run]) -> str:
    parts = []
    for run in runs:
        counts = Counter(kind for one in run.scripts for kind in _kinds_of_fault(one))
        parts.append(f"<h3>{text(run.model)}</h3>{bars(dict(counts.most_common()))}")
    return section("What went wrong", "Faults by kind, over all scripts.", *parts)


def _all_scripts(runs: Sequence[Run]) -> Iterator[str]:
    for place, run in enumerate(runs):
        rows = [
            [
                f'<a href="#{_anchor(place, one)}">{text(one.name)}</a>',
                text(one.about),
                *(number(one.counts.get(key, 0), counted=True) for key in ("turns", "calls")),
                str(sum(1 for _ in _kinds_of_fault(one))),
            ]
            for one in run.scripts
        ]
        overview = table(("script", "about", "turns", "calls", "faults"), rows)
        bodies = [_script(run, one, _anchor(place, one)) for one in run.scripts]
        sentence = (
            "Each turn with what was whispered, asked, done and missed; those with faults are open."
        )
        yield section(f"Scripts by {run.model}", sentence, overview, *bodies)


def _script(run: Run, one: Played, anchor: str) -> str:
    faults = sum(1 for _ in _kinds_of_fault(one))
    mark = (
        f'<span class="wrong">{faults} faults</span>' if faults else '<span class="right">✓</span>'
    )
    heading = f"<b>{text(one.name)}</b> {text(one.title)} {mark}"
    parts = [f'<p class="wrong">{text(one.failure)}</p>'] if one.failure else []
    parts += [_step(run, step) for step in one.steps]
    parts += [f'<p class="wrong">At the end: {text(wrong)}</p>' for wrong in one.end]
    kept = "".join(f"<li>{text(content)}</li>" for content in one.memories)
    parts.append(folded("Memories at the end", f"<ul>{kept}</ul>"))
    return folded(heading, "\n".join(parts), is_open=bool(faults), name=anchor)


def _step(run: Run, step: Step) -> str:
    judged = step.judged
    clean = judged.is_clean and not step.trouble
    lines = [f"<div><time>{text(step.place)} · {text(step.at)}</time></div>"]
    lines += [f"<div>{text(said)}</div>" for said in (step.user, step.assistant) if said]
    lines += [_op(done, mark) for done, mark in zip(step.ops, judged.marks, strict=False)]
    missed = [("missed", one) for one in judged.missed]
    missed += [("never", one) for one in judged.breaches]
    missed += [("detail lost", one) for one in judged.lost]
    missed += [("kind", one) for one in judged.misnamed]
    missed += [("recall", one) for one in judged.recall]
    missed += [("failed", one) for one in (step.trouble, step.untold) if one]
    lines += [
        f'<div class="op wrong"><span class="tag">{name}</span>{text(one)}</div>'
        for name, one in missed
    ]
    lines += [f'<div class="dim">told: {text(one)}</div>' for one in step.told]
    if step.whisper:
        lines.append(folded("whispered", _block(step.whisper)))
    lines += [_call(run, call) for call in step.calls]
    return f'<div class="step{"" if clean else " off"}">{"".join(lines)}</div>'


def _op(done: Done, mark: Mark) -> str:
    what = " ← ".join(part for part in (done.content, " / ".join(done.olds)) if part)
    kind = f' <span class="dim">{text(done.kind)}</span>' if done.kind else ""
    why = " · ".join(part for part in (mark.nature, mark.why, done.refused, done.reason) if part)
    return (
        f'<div class="op"><span class="tag {mark.standing}">{text(done.op)} {mark.standing}</span>'
        f'{text(what)}{kind}<div class="dim">{text(why)}</div></div>'
    )


def _call(run: Run, call: Call) -> str:
    took = "" if call.seconds is None else f", {call.seconds:.1f} s"
    tokens = f"{call.input_tokens:,} + {call.output_tokens:,} tokens{took}"
    body = (
        folded("rules", _block(run.rules.get(call.rules, "")))
        + _block(call.asked)
        + f'<div class="dim">answer</div>{_block(call.answer)}'
    )
    return folded(f'{text(call.name)} <span class="dim">{tokens}</span>', body)


def _block(words: str) -> str:
    return f"<pre>{text(words)}</pre>"


def _kinds_of_fault(one: Played) -> Iterator[str]:
    if one.failure:
        yield "failed"
    for step in one.steps:
        judged = step.judged
        for done, mark in zip(step.ops, judged.marks, strict=False):
            if mark.standing is Standing.WRONG:
                yield f"{done.op}: {mark.nature or 'wrong'}"
        yield from (f"{label.split()[0]} missed" for label in judged.missed)
        yield from ("detail lost" for _ in judged.lost)
        yield from ("wrong kind" for _ in judged.misnamed)
        yield from ("recall" for _ in judged.recall)
        yield from ("unanswered" for one_of in (step.trouble, step.untold) if one_of)
    yield from ("end state" for _ in one.end)


def _anchor(place: int, one: Played) -> str:
    return f"run{place}-{one.name}"


def _high(run: Run, name: str) -> float:
    one = run.metrics.get(name, UNTOLD)
    return max(one.high or 0.0, one.value or 0.0)


def _most(runs: Sequence[Run], name: str) -> float:
    return max(_high(run, name) for run in runs)
