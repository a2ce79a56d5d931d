"""`souffleur eval`: run, record, compare and report scripted dialogues."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import run_async
from souffleur.cli.options import AsJson, Dialogues, Only, Out, Parallel

if TYPE_CHECKING:
    from souffleur.evals.result import ResultFile, Run
    from souffleur.settings import Settings

evals = typer.Typer(
    help="Play scripted dialogues, mark and compare what was remembered.", no_args_is_help=True
)

Recordings = Annotated[
    Path | None, typer.Option(help="Folder of recorded answers; by default the shipped ones.")
]
Together = Annotated[
    int,
    typer.Option(min=1, max=20, help="Turns of a session judged in one call; default: one by one."),
]
Html = Annotated[Path | None, typer.Option(help="Write a page with plots here.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (run, record, compare, report):
        evals.command()(command)
    app.add_typer(evals, name="eval")


def run(
    live: Annotated[
        bool, typer.Option("--live/--recorded", help="Ask the model, or play its recorded answers.")
    ] = False,
    judge: Annotated[
        list[str] | None, typer.Option(help="With --live: a model; several are shown side by side.")
    ] = None,
    only: Only = "*",
    dialogues: Dialogues = None,
    recordings: Recordings = None,
    parallel: Parallel = 8,
    together: Together = 1,
    out: Out = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Write only what `compare` needs to --out.")
    ] = False,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Play and mark the scripts, by default with recorded answers. Exits with 1 on failure."""
    from souffleur.errors import SettingsError
    from souffleur.evals import result
    from souffleur.evals.script import find_scripts

    if judge and not live:
        raise SettingsError("--judge names a model to ask: give --live as well")
    found = find_scripts(dialogues or _shipped("dialogues"), only)
    if live:
        runs = _live(found, judge, parallel, together)
    else:
        runs = [_recorded(found, recordings, together)]
    saved = result.ResultFile(runs=tuple(runs))
    if brief and out:
        out.write_text(result.to_text(result.brief(saved)), encoding="utf-8")
    _write(saved, None if brief else out, html, as_json=as_json)


def record(
    only: Only = "*",
    dialogues: Dialogues = None,
    recordings: Annotated[
        Path | None, typer.Option(help="Folder for the answers; default: ./recordings.")
    ] = None,
    parallel: Parallel = 8,
    together: Together = 1,
    out: Out = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Play the scripts with the configured endpoint, and keep its answers for `run`."""
    from souffleur.cli.console import progress
    from souffleur.errors import SettingsError
    from souffleur.evals import runner as suite
    from souffleur.evals.result import ResultFile
    from souffleur.evals.script import find_scripts

    settings = _endpoint_settings(together)
    found = find_scripts(dialogues or _shipped("dialogues"), only)
    folder = recordings or Path("recordings")
    if "site-packages" in folder.resolve().parts:
        raise SettingsError(f"{folder} is of an installed package: name another by --recordings")

    async def work() -> "Run":
        from souffleur.wiring import make_endpoint

        endpoint = make_endpoint(settings)
        try:
            with progress("recording") as step:
                return await suite.record(
                    found, folder, settings, endpoint, parallel=parallel, step=step
                )
        finally:
            await endpoint.aclose()

    _write(ResultFile(runs=(run_async(work()),)), out, html, as_json=as_json)


def compare(
    a: Annotated[Path, typer.Argument(help="A result of `eval run --out`.")],
    b: Annotated[Path, typer.Argument(help="Another one, which must not be worse.")],
    as_json: AsJson = False,
) -> None:
    """Compare two results; show what differs beyond noise. Exits with 1 if something got worse."""
    from dataclasses import asdict

    from souffleur.cli import format_evals
    from souffleur.cli.console import print_json
    from souffleur.evals.compare import compare as compared_runs
    from souffleur.evals.result import read_result

    compared = compared_runs(read_result(a).runs[0], read_result(b).runs[0])
    if as_json:
        print_json({**asdict(compared), "regressions": compared.regressions})
    else:
        format_evals.print_comparison(compared)
    if compared.regressions:
        raise typer.Exit(1)


def report(
    result: Annotated[Path, typer.Argument(help="A result of `eval run --out`.")],
    html: Annotated[Path, typer.Option(help="Write the page here.")],
) -> None:
    """Write a result as one page: tables, plots, and every dialogue with its prompts."""
    from souffleur.evals.page import to_html
    from souffleur.evals.result import read_result

    html.write_text(to_html(read_result(result)), encoding="utf-8")
    typer.echo(f"written to {html}")


def _recorded(found: Sequence[Path], recordings: Path | None, together: int) -> "Run":
    from souffleur.cli.console import progress
    from souffleur.cli.event_loop import set_up_log
    from souffleur.evals.runner import run_recorded

    set_up_log()
    folder = recordings or _shipped("recordings") / "suite"
    with progress("playing") as step:
        return run_recorded(found, folder, together=together, step=step)


def _live(
    found: Sequence[Path], judges: Sequence[str] | None, parallel: int, together: int
) -> "list[Run]":
    settings = _endpoint_settings(together)
    models = list(dict.fromkeys(judges or [settings.model]))

    async def work() -> "list[Run]":
        from souffleur.cli.console import progress
        from souffleur.evals.runner import EvalSetup, run_live
        from souffleur.wiring import make_endpoint

        runs = []
        llm_judge = make_endpoint(settings)
        for model in models:
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

    return run_async(work())


def _write(saved: "ResultFile", out: Path | None, html: Path | None, *, as_json: bool) -> None:
    from souffleur.cli import format_evals
    from souffleur.evals.page import to_html
    from souffleur.evals.result import to_text

    if out:
        out.write_text(to_text(saved), encoding="utf-8")
    if html:
        html.write_text(to_html(saved), encoding="utf-8")
    if as_json:
        print(to_text(saved), end="")
    else:
        format_evals.print_results(saved)
    if any(one.troubles for one in saved.runs):
        raise typer.Exit(1)


def _endpoint_settings(together: int) -> "Settings":
    from souffleur.evals.runner import eval_settings
    from souffleur.settings import load_settings, need_model

    chosen = eval_settings(need_model(load_settings()))
    return chosen.model_copy(update={"judge_every": together})


def _shipped(name: str) -> Path:
    """Return a folder of the repository. Raises SettingsError in an installed package."""
    from souffleur.errors import SettingsError

    folder = Path(str(files("souffleur.evals"))) / name
    if not folder.is_dir():
        raise SettingsError(
            f"the package holds no {name}: name your own folders by --dialogues and --recordings,"
            " or run this in a clone of the repository"
        )
    return folder
