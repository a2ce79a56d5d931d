"""What the commands of the evals have in common: their options, and how one is started alone."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from souffleur.errors import SouffleurError
from souffleur.evals.sets.registry import SETS

SetName = Annotated[str, typer.Argument(metavar="SET", help=f"One of {', '.join(SETS)}.")]
SetFile = Annotated[Path, typer.Argument(metavar="PATH", help="The set's file.")]
Embedder = Annotated[str, typer.Option(help="hash:512, minilm, openai:MODEL …")]
Record = Annotated[
    Path | None, typer.Option(help="Ask the model, and keep its answers in this file.")
]
Recorded = Annotated[
    Path | None, typer.Option(help="Take the answers from this file; no model is asked.")
]
OnlyEstimate = Annotated[bool, typer.Option("--estimate", help="Only say what it would cost.")]
ToJson = Annotated[bool, typer.Option("--json", help="Machine-readable, on standard output.")]


def need_one_mode(record: Path | None, recorded: Path | None, estimate: bool = False) -> None:
    """Raise a usage error if the model is to be asked, and is not."""
    given = {"--record": record, "--recorded": recorded, "--estimate": estimate}
    named = [name for name, value in given.items() if value]
    if len(named) > 1:
        raise typer.BadParameter(f"{' and '.join(named)} exclude each other: give one of them")


def make_app(command: Callable[..., None]) -> typer.Typer:
    """Return an app that has one command."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(command)
    return app


def start(app: typer.Typer) -> None:
    """Run an app by the words of the process; an error of ours is one line, and exit code 1."""
    try:
        app()
    except SouffleurError as error:
        sys.exit(str(error))
