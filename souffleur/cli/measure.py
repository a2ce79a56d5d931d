"""Commands of `souffleur eval`: new, run, record, shadow, compare, report."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Column, Table
from typer import Argument, Option

from souffleur.cli.command import Result, in_loop, printed
from souffleur.cli.console import console, progress
from souffleur.cli.memory import run_async, set_up_log, with_memory
from souffleur.cli.options import ME, Dialogues, Only, Out, Parallel, User, flag
from souffleur.cli.tables import marked, print_table, show
from souffleur.errors import SettingsError
from souffleur.knowledge.text.plain import single_line
from souffleur.report.phrases import count

# souffleur.evals is imported in the functions that use it, so that other commands start faster.
if TYPE_CHECKING:
    from souffleur.evals.compare import Comparison, Difference
    from souffleur.evals.result import OpRecord, ResultFile, Run, Step
    from souffleur.evals.shadow import ShadowCall
    from souffleur.settings import Settings

Recordings = Annotated[
    Path | None, Option(help="Folder of recorded answers; default: the repository's.")
]
Together = Annotated[
    int, Option(min=1, max=20, help="Turns of a session judged in one call; default: one by one.")
]


@printed
def run(
    live: Annotated[
        bool, Option("--live/--recorded", help="Ask the model, or play its recorded answers.")
    ] = False,
    judge: Annotated[
        list[str] | None, Option(help="With --live: a model; several are shown side by side.")
    ] = None,
    only: Only = "*",
    dialogues: Dialogues = None,
    recordings: Recordings = None,
    parallel: Parallel = 8,
    together: Together = 1,
    out: Out = None,
    brief: Annotated[bool, flag("--brief", "Write only what `compare` needs to --out.")] = False,
) -> Result:
    """Play and mark the scripts, by default with recorded answers. Exits with 1 on failure."""
    from souffleur.evals import result
    from souffleur.evals.script import find_scripts

    if judge and not live:
        raise SettingsError("--judge names a model to ask: give --live as well")
    found = find_scripts(dialogues or _in_repository("dialogues"), only)
    if live:
        runs = run_async(_live(found, judge, parallel, together))
    else:
        runs = [_recorded(found, recordings, together)]
    saved = result.ResultFile(runs=tuple(runs))
    if brief and out:
        out.write_text(result.to_text(result.brief(saved)), encoding="utf-8")
    return _written(saved, None if brief else out)


def new(
    path: Annotated[Path, Argument(help="The file to write, such as mine/first.yaml.")],
) -> None:
    """Write a commented script to begin with: docs/measure.md."""
    if path.exists():
        raise SettingsError(f"{path} is there already: name another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    template = files("souffleur.evals") / "templates" / "script.yaml"
    path.write_text(template.read_text("utf-8").replace("THIS_FOLDER", str(path.parent)), "utf-8")
    typer.echo(f"{path} is written: change it, then `souffleur eval record` asks your model")


@printed
@in_loop
async def record(
    only: Only = "*",
    dialogues: Dialogues = None,
    recordings: Annotated[
        Path | None, Option(help="Folder for the answers; default: ./recordings.")
    ] = None,
    parallel: Parallel = 8,
    together: Together = 1,
    out: Out = None,
) -> Result:
    """Play the scripts with the configured endpoint, and keep its answers for `run`."""
    from souffleur.evals import runner
    from souffleur.evals.result import ResultFile
    from souffleur.evals.script import find_scripts
    from souffleur.parts import make_endpoint

    settings = _endpoint_settings(together)
    found = find_scripts(dialogues or _in_repository("dialogues"), only)
    folder = recordings or Path("recordings")
    if "site-packages" in folder.resolve().parts:
        raise SettingsError(f"{folder} is of an installed package: name another by --recordings")
    endpoint = make_endpoint(settings)
    try:
        with progress("recording") as step:
            made = await runner.record(
                found, folder, settings, endpoint, parallel=parallel, step=step
            )
    finally:
        await endpoint.aclose()
    played = f"{made.played:,} from the recordings in {folder}"
    typer.echo(f"answers: {played}, {made.asked:,} asked of the model", err=True)
    return _written(ResultFile(runs=(made.run,)), out)


@printed
def shadow(
    judge: Annotated[str | None, Option(help="The other model; default: SOUFFLEUR_MODEL.")] = None,
    last: Annotated[int, Option(min=1, help="Number of the latest turns.")] = 20,
    user: User = ME,
) -> Result:
    """Judge stored turns again by another model, beside what was done; changes nothing."""
    from dataclasses import asdict
    from tempfile import TemporaryDirectory

    from souffleur.evals.shadow import shadow as judge_again
    from souffleur.settings import load_settings, need_model

    chosen = load_settings(**({"model": judge} if judge else {}))
    need_model(chosen)
    with TemporaryDirectory() as folder:
        backup = Path(folder) / "store.backup"
        with_memory(lambda memory: memory.backup(backup))
        with progress("judging again") as step:
            work = judge_again(backup, chosen, user_id=user, last=last, step=step)
            found = run_async(work)
    data = [asdict(one) | {"same": one.is_same} for one in found]
    return Result(data, lambda: _print_shadow(found))


def _print_shadow(found: "Sequence[ShadowCall]") -> None:
    """Print the turns of the calls that were judged differently, with the ops side by side."""
    for one in found:
        if one.is_same:
            continue
        for turn in one.turns:
            console.print(f"[bold]{escape(single_line(turn.user))}[/]", soft_wrap=True)
        for name, ops in (("did", one.did), ("would", one.would)):
            lines = [_op_line(op) for op in ops] or ["nothing"]
            for line in lines:
                console.print(f"  {name:<5} {escape(line)}", soft_wrap=True)
        if one.error:
            console.print(f"  [yellow]{escape(one.error)}[/]", soft_wrap=True)
    same = sum(one.is_same for one in found)
    console.print(f"{same} of {count(len(found), 'call')} judged alike")


def _op_line(op: "OpRecord") -> str:
    refused = f" (refused: {op.refused})" if op.refused else ""
    return f"{op.op} {single_line(op.words)}{refused}"


@printed
def compare(
    a: Annotated[Path, Argument(help="A result of `eval run --out`.")],
    b: Annotated[Path, Argument(help="Another one, which must not be worse.")],
) -> Result:
    """Compare two results; show what differs beyond noise. Exits with 1 if something got worse."""
    from dataclasses import asdict

    from souffleur.evals.compare import compare as compare_runs
    from souffleur.evals.result import read_result

    compared = compare_runs(read_result(a).runs[0], read_result(b).runs[0])
    worse = compared.regressions
    data = {**asdict(compared), "regressions": worse}
    return Result(data, lambda: _print_comparison(compared), code=int(bool(worse)))


def report(
    result: Annotated[Path, Argument(help="A result of `eval run --out`.")],
    html: Annotated[Path, Option(help="Write the page here.")],
) -> None:
    """Write a result as one page: tables, plots, and every dialogue with its prompts."""
    from souffleur.evals.page import to_html
    from souffleur.evals.result import read_result

    html.write_text(to_html(read_result(result)), encoding="utf-8")
    typer.echo(f"written to {html}")


def _recorded(found: Sequence[Path], recordings: Path | None, together: int) -> "Run":
    from souffleur.evals.runner import run_recorded

    set_up_log()
    folder = recordings or _in_repository("recordings") / "suite"
    with progress("playing") as step:
        return run_recorded(found, folder, together=together, step=step)


async def _live(
    found: Sequence[Path], judges: Sequence[str] | None, parallel: int, together: int
) -> "list[Run]":
    from souffleur.evals.runner import EvalSetup, run_live
    from souffleur.parts import make_endpoint

    settings, runs = _endpoint_settings(together), []
    llm_judge = make_endpoint(settings)
    for model in dict.fromkeys(judges or [settings.model]):
        chosen = settings.model_copy(update={"model": model})
        endpoint = make_endpoint(chosen)
        try:
            with progress(model) as step:
                setup = EvalSetup(chosen, endpoint, llm_judge, timed=True)
                runs.append(await run_live(found, setup, parallel=parallel, step=step))
        finally:
            await endpoint.aclose()
    await llm_judge.aclose()
    return runs


def _endpoint_settings(together: int) -> "Settings":
    from souffleur.evals.runner import eval_settings
    from souffleur.settings import load_settings, need_model

    chosen = eval_settings(need_model(load_settings()))
    return chosen.model_copy(update={"judge_every": together})


def _in_repository(name: str) -> Path:
    """Return a folder of dialogues or recordings, which stay in the repository.

    Raises SettingsError in an installed package.
    """
    folder = Path(str(files("souffleur.evals"))) / name
    if not folder.is_dir():
        raise SettingsError(
            f"the package holds no {name}: name your own folders by --dialogues and --recordings,"
            " or run this in a clone of the repository"
        )
    return folder


def _written(saved: "ResultFile", out: Path | None) -> Result:
    """Write a result to a file; return it, with exit code 1 if a script could not be played."""
    from souffleur.evals.result import to_text

    if out:
        out.write_text(to_text(saved), encoding="utf-8")
    failed = any(one.troubles for one in saved.runs)
    return Result(saved, lambda: _print_results(saved), code=int(failed))


def _print_results(saved: "ResultFile") -> None:
    """Print the faults by script, then every metric with the models side by side."""
    for run in saved.runs:
        for script in run.scripts:
            faults = [line for step in script.steps for line in _faults(step)]
            faults += [f"[red]end[/] {escape(one)}" for one in script.end]
            if faults:
                model = run.model if len(saved.runs) > 1 else ""
                console.print(f"[bold]{escape(script.name)}[/] [dim]{escape(model)}[/]")
            for fault in faults:
                console.print(f"  {fault}")
    _print_metrics(saved.runs)
    for run in saved.runs:
        for trouble in run.troubles:
            console.print(f"[red]failed[/]  {escape(trouble)}")


def _faults(step: "Step") -> list[str]:
    from souffleur.evals.result import OpStatus

    judged = step.judged
    lines = [
        f"[red]{done.op} wrong[/] {escape(mark.nature.label)}: {escape(done.words)}"
        for done, mark in zip(step.ops, judged.marks, strict=True)
        if mark.standing is OpStatus.WRONG
    ]
    lines += [f"[red]missed[/] {escape(one)}" for one in judged.missed]
    lines += [f"[yellow]lost[/] {escape(one)}" for one in judged.lost]
    lines += [f"[yellow]kind[/] {escape(one)}" for one in judged.misnamed]
    lines += [f"[yellow]recall[/] {escape(one)}" for one in judged.recall]
    return [f"[dim]{escape(step.place)}[/] {line}" for line in lines]


def _print_metrics(runs: "Sequence[Run]") -> None:
    from souffleur.evals.metrics import metrics_of
    from souffleur.evals.result import Measured, interval

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
    if table.row_count:
        print_table(table)


def _print_comparison(compared: "Comparison") -> None:
    """Print the metrics that differ, and the metrics that got worse beyond noise."""
    from souffleur.evals.result import number

    columns = (
        ("metric", lambda one: one.metric),
        ("A", lambda one: number(one.a)),
        ("B", lambda one: number(one.b)),
        ("B - A, 95 %", lambda one: f"{one.low:+.3f} to {one.high:+.3f}"),
        ("", _direction),
    )
    apart = [one for one in compared.differences if one.a != one.b or one.worse or one.better]
    show(apart, columns)
    for name, missing in (("A", compared.only_a), ("B", compared.only_b)):
        if missing:
            console.print(f"[yellow]only in {name}:[/] {escape(', '.join(missing))}")
    for regression in compared.regressions:
        console.print(f"[red]worse[/]  {escape(regression)}")
    if not compared.regressions:
        console.print("[green]nothing got worse beyond noise[/]")


def _direction(one: "Difference") -> object:
    if one.worse:
        return marked("[red]worse[/]")
    return marked("[green]better[/]") if one.better else ""
