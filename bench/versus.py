"""`python -m bench versus`: the scripts through other memory systems, compared with ours."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Column, Table
from typer import Argument, Option

from bench.command import ToJson
from bench.systems import SystemFactory, load_factory
from bench.systems.side_by_side import (
    SYSTEM_METRICS,
    SystemComparison,
    SystemDifference,
    live_setups,
    play_side_by_side,
    recorded_setups,
    recording_setups,
    to_text,
)
from souffleur.cli.console import console, progress
from souffleur.cli.memory import run_async
from souffleur.cli.options import Dialogues, Only, Out, Parallel
from souffleur.cli.tables import print_table
from souffleur.errors import SettingsError
from souffleur.evals.result import Measured, interval
from souffleur.evals.runner import eval_settings
from souffleur.evals.script import find_scripts
from souffleur.parts import make_endpoint
from souffleur.settings import load_settings, need_model


def versus(
    systems: Annotated[list[str], Argument(help="mem0, langmem, or both.")],
    only: Only = "*",
    dialogues: Dialogues = None,
    parallel: Parallel = 8,
    record: Annotated[
        Path | None, Option(help="Keep the answers in this folder, for --recorded.")
    ] = None,
    recorded: Annotated[
        Path | None, Option(help="Play the answers in this folder; no model is asked.")
    ] = None,
    out: Out = None,
    as_json: ToJson = False,
) -> None:
    """Compare other memory systems with ours on the same scripts; exits with 1 if one failed."""
    if record and recorded:
        raise SettingsError("--record asks a model and --recorded does not: give one of them")
    factories = {name: load_factory(name) for name in dict.fromkeys(systems)}
    found = find_scripts(dialogues or Path(str(files("souffleur.evals"))) / "dialogues", only)
    comparison = run_async(_play(found, factories, record, recorded, parallel))
    if out:
        out.write_text(to_text(comparison), encoding="utf-8")
    if as_json:
        print(to_text(comparison), end="")
    else:
        print_comparison(comparison)
    if comparison.troubles:
        raise typer.Exit(1)


async def _play(
    found: Sequence[Path],
    factories: Mapping[str, SystemFactory],
    record: Path | None,
    recorded: Path | None,
    parallel: int,
) -> SystemComparison:
    async with AsyncExitStack() as closing:
        if recorded:
            setups = recorded_setups(recorded)
        else:
            settings = eval_settings(need_model(load_settings()))
            endpoint = make_endpoint(settings)
            closing.push_async_callback(endpoint.aclose)
            setups = live_setups(settings, endpoint)
            if record:
                setups = recording_setups(settings, endpoint, record, datetime.now(UTC))
        live, step = not (record or recorded), closing.enter_context(progress("playing"))
        return await play_side_by_side(
            found, factories, setups, live=live, parallel=parallel, step=step
        )


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
