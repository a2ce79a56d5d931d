"""Memory systems side by side in the terminal: metrics, what differs beyond noise, and ops."""

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from bench.systems.comparison import (
    SYSTEM_METRICS,
    SystemComparison,
    SystemDifference,
)
from souffleur.cli.console import console
from souffleur.cli.tables import print_table
from souffleur.evals.number_format import interval
from souffleur.evals.result import Measured


def print_comparison(comparison: SystemComparison) -> None:
    """Print the systems side by side, what differs beyond noise, and the ops they report."""
    console.print(
        f"{comparison.scripts} scripts, {comparison.mode}: {escape(comparison.model)}, "
        f"{escape(comparison.embedder)}; as many memories recalled as ours whispers"
    )
    print_table(_metrics(comparison))
    for result in comparison.sides:
        if comparison.scripts and not result.tells_ops:
            console.print(f"[dim]{escape(result.name)} does not tell its ops[/]")
    print_table(_ops(comparison))
    for trouble in comparison.troubles:
        console.print(f"[red]failed[/]  {escape(trouble)}")


def _metrics(comparison: SystemComparison) -> Table:
    heads = [Column(escape(result.name), justify="right") for result in comparison.sides]
    others = [Column(f"less {escape(result.system)}") for result in comparison.sides[1:]]
    table = Table("metric", *heads, *others, box=box.SIMPLE_HEAD)
    gaps = {(one.metric, one.system): one for one in comparison.gaps}
    group = ""
    for metric in SYSTEM_METRICS:
        cells = [
            result.metrics.get(metric.name, Measured(value=None)) for result in comparison.sides
        ]
        if all(cell.value is None for cell in cells):
            continue
        if group and metric.group != group:
            table.add_section()
        group = metric.group
        differences = [gaps.get((metric.name, result.system)) for result in comparison.sides[1:]]
        name = f"{metric.name}\n[dim]{metric.about}[/]" if metric.about else metric.name
        table.add_row(
            name,
            *(interval(cell) for cell in cells),
            *(_format_difference(one) for one in differences),
        )
    return table


def _format_difference(one: SystemDifference | None) -> str:
    if one is None:
        return ""
    colour = {"ours": "green", "theirs": "red", "": "dim"}[one.better]
    return f"[{colour}]{_signed(one.value)} ({_signed(one.low)} to {_signed(one.high)})[/]"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 100 else f"{value:+,.0f}"


def _ops(comparison: SystemComparison) -> Table:
    columns = ("op", "precision", "recall", "right", "wrong", "missed")
    table = Table("system", *columns, box=box.SIMPLE_HEAD)
    for result in comparison.sides:
        for op, one in result.ops.items():
            precision = _rate(one["right"], one["wrong"])
            recall = _rate(one["met"], one["missed"])
            numbers = [f"{one[what]:g}" for what in ("right", "wrong", "missed")]
            table.add_row(escape(result.system), op, precision, recall, *numbers)
    return table


def _rate(part: float, rest: float) -> str:
    return f"{part / (part + rest):.3f}" if part + rest else "–"
