"""Results of evals in the terminal: metrics, models side by side, and what went wrong."""

from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cli.console import console
from souffleur.cli.tables import print_table
from souffleur.evals.compare import Comparison
from souffleur.evals.metrics import metrics_of
from souffleur.evals.number_format import interval, number
from souffleur.evals.result import Measured, OpStatus, ResultFile, Run, ScriptResult, Step


def print_results(saved: ResultFile) -> None:
    """Print the misses by script, then every metric, the models side by side."""
    for run in saved.runs:
        for script in run.scripts:
            _script(script, run.model if len(saved.runs) > 1 else "")
    _metrics(saved.runs)
    for run in saved.runs:
        for trouble in run.troubles:
            console.print(f"[red]failed[/]  {escape(trouble)}")


def print_comparison(compared: Comparison) -> None:
    """Print what differs beyond noise, and whether it got worse."""
    table = Table("metric", "A", "B", "B - A, 95 %", "", box=box.SIMPLE_HEAD)
    for one in compared.differences:
        if one.a != one.b or one.worse or one.better:
            sign = "[red]worse[/]" if one.worse else "[green]better[/]" if one.better else ""
            apart = f"{one.low:+.3f} to {one.high:+.3f}"
            table.add_row(one.metric, number(one.a), number(one.b), apart, sign)
    if table.row_count:
        print_table(table)
    for name, missing in (("A", compared.only_a), ("B", compared.only_b)):
        if missing:
            console.print(f"[yellow]only in {name}:[/] {escape(', '.join(missing))}")
    for regression in compared.regressions:
        console.print(f"[red]worse[/]  {escape(regression)}")
    if not compared.regressions:
        console.print("[green]nothing got worse beyond noise[/]")


def _script(script: ScriptResult, model: str) -> None:
    faults = [line for step in script.steps for line in _faults(step)]
    faults += [f"[red]end[/] {escape(one)}" for one in script.end]
    if faults:
        console.print(f"[bold]{escape(script.name)}[/] [dim]{escape(model)}[/]")
    for fault in faults:
        console.print(f"  {fault}")


def _faults(step: Step) -> list[str]:
    judged = step.judged
    lines = [
        f"[red]{done.op} wrong[/] {escape(mark.nature)}: {escape(done.words)}"
        for done, mark in zip(step.ops, judged.marks, strict=True)
        if mark.standing is OpStatus.WRONG
    ]
    lines += [f"[red]missed[/] {escape(one)}" for one in judged.missed]
    lines += [f"[yellow]lost[/] {escape(one)}" for one in judged.lost]
    lines += [f"[yellow]kind[/] {escape(one)}" for one in judged.misnamed]
    lines += [f"[yellow]recall[/] {escape(one)}" for one in judged.recall]
    return [f"[dim]{escape(step.place)}[/] {line}" for line in lines]


def _metrics(runs: Sequence[Run]) -> None:
    columns = [Column(escape(run.model or run.mode), justify="right") for run in runs]
    table = Table("metric", *columns, box=box.SIMPLE_HEAD)
    group = ""
    for metric in metrics_of([one.counts for run in runs for one in run.scripts]):
        cells = [run.metrics.get(metric.name, Measured(value=None)) for run in runs]
        if all(cell.value is None for cell in cells):
            continue
        if group and metric.group != group:
            table.add_section()
        group = metric.group
        counted = group == "errors"
        table.add_row(metric.name, *(interval(cell, counted=counted) for cell in cells))
    print_table(table)
