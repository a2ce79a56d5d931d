"""`souffleur eval versus`: the scripts through other memory systems, compared with ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import run_async
from souffleur.cli.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from souffleur.evals.systems import SystemFactory
    from souffleur.evals.systems.comparison import SystemComparison, SystemDifference


def versus(
    systems: Annotated[list[str], typer.Argument(help="mem0, langmem, or both.")],
    only: Annotated[str, typer.Option(help="Names of scripts, as a glob.")] = "*",
    dialogues: Annotated[
        Path | None, typer.Option(help="Folder of scripts; by default those that are shipped.")
    ] = None,
    parallel: Annotated[
        int, typer.Option(min=1, help="Number of scripts played concurrently.")
    ] = 8,
    record: Annotated[
        Path | None, typer.Option(help="Keep the answers in this folder, for --recorded.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Play the answers in this folder; no model is asked.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the result to this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare other memory systems with ours on the same scripts; exits with 1 if one failed."""
    from importlib.resources import files

    from souffleur.errors import SettingsError
    from souffleur.evals.suite.script import find_scripts
    from souffleur.evals.systems import load_factory
    from souffleur.evals.systems.comparison import to_text

    if record and recorded:
        raise SettingsError("--record asks a model and --recorded does not: give one of them")
    factories = {name: load_factory(name) for name in dict.fromkeys(systems)}
    found = find_scripts(dialogues or Path(str(files("souffleur.evals"))) / "dialogues", only)
    if recorded:
        comparison = _recorded(found, factories, recorded, parallel)
    else:
        comparison = _asked(found, factories, record, parallel)
    if out:
        out.write_text(to_text(comparison), encoding="utf-8")
    if as_json:
        print(to_text(comparison), end="")
    else:
        print_comparison(comparison)
    if comparison.troubles:
        raise typer.Exit(1)


def print_comparison(comparison: "SystemComparison") -> None:
    """Print the systems side by side, what differs beyond noise, and the ops they report."""
    from rich.markup import escape

    from souffleur.cli.console import console
    from souffleur.cli.tables import print_table

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


def _metrics(comparison: "SystemComparison") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Column, Table

    from souffleur.evals.suite.number_format import interval
    from souffleur.evals.suite.result import Measured
    from souffleur.evals.systems.comparison import SYSTEM_METRICS

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


def _format_difference(one: "SystemDifference | None") -> str:
    if one is None:
        return ""
    colour = {"ours": "green", "theirs": "red", "": "dim"}[one.better]
    return f"[{colour}]{_signed(one.value)} ({_signed(one.low)} to {_signed(one.high)})[/]"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 100 else f"{value:+,.0f}"


def _ops(comparison: "SystemComparison") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

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


def _asked(
    found: "Sequence[Path]",
    factories: "Mapping[str, SystemFactory]",
    record: Path | None,
    parallel: int,
) -> "SystemComparison":
    from souffleur.evals.suite.runner import eval_settings
    from souffleur.settings import load_settings, need_model

    settings = eval_settings(need_model(load_settings()))

    async def work() -> "SystemComparison":
        from datetime import UTC, datetime

        from souffleur.cli.console import progress
        from souffleur.evals.systems.versus import live_setups, recording_setups, versus
        from souffleur.wiring import make_endpoint

        endpoint = make_endpoint(settings)
        setups = live_setups(settings, endpoint)
        if record:
            setups = recording_setups(settings, endpoint, record, datetime.now(UTC))
        try:
            with progress("playing") as step:
                return await versus(
                    found, factories, setups, live=not record, parallel=parallel, step=step
                )
        finally:
            await endpoint.aclose()

    return run_async(work())


def _recorded(
    found: "Sequence[Path]", factories: "Mapping[str, SystemFactory]", folder: Path, parallel: int
) -> "SystemComparison":
    from souffleur.cli.console import progress
    from souffleur.evals.systems.versus import recorded_setups, versus

    async def work() -> "SystemComparison":
        with progress("playing") as step:
            setups = recorded_setups(folder)
            return await versus(found, factories, setups, live=False, parallel=parallel, step=step)

    return run_async(work())
