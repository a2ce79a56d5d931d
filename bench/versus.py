"""`python -m bench versus`: the scripts through other memory systems, compared with ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import run_async
from souffleur.cli.options import AsJson, Dialogues, Only, Out, Parallel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.systems import SystemFactory
    from bench.systems.comparison import SystemComparison


def versus(
    systems: Annotated[list[str], typer.Argument(help="mem0, langmem, or both.")],
    only: Only = "*",
    dialogues: Dialogues = None,
    parallel: Parallel = 8,
    record: Annotated[
        Path | None, typer.Option(help="Keep the answers in this folder, for --recorded.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Play the answers in this folder; no model is asked.")
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Compare other memory systems with ours on the same scripts; exits with 1 if one failed."""
    from importlib.resources import files

    from bench.systems import load_factory
    from bench.systems.comparison import to_text
    from bench.versus_tables import print_comparison
    from souffleur.errors import SettingsError
    from souffleur.evals.script import find_scripts

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


def _asked(
    found: "Sequence[Path]",
    factories: "Mapping[str, SystemFactory]",
    record: Path | None,
    parallel: int,
) -> "SystemComparison":
    from souffleur.evals.runner import eval_settings
    from souffleur.settings import load_settings, need_model

    settings = eval_settings(need_model(load_settings()))

    async def work() -> "SystemComparison":
        from datetime import UTC, datetime

        from bench.systems.side_by_side import live_setups, recording_setups, versus
        from souffleur.cli.console import progress
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
    from bench.systems.side_by_side import recorded_setups, versus
    from souffleur.cli.console import progress

    async def work() -> "SystemComparison":
        with progress("playing") as step:
            setups = recorded_setups(folder)
            return await versus(found, factories, setups, live=False, parallel=parallel, step=step)

    return run_async(work())
