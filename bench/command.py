"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from bench.sets.registry import SETS

SetName = Annotated[str, typer.Argument(metavar="SET", help=f"One of {', '.join(SETS)}.")]
SetFile = Annotated[Path, typer.Argument(metavar="PATH", help="The set's file.")]
Embedder = Annotated[str, typer.Option(help="hash:512, openai:MODEL, fastembed:MODEL …")]
Record = Annotated[
    Path | None, typer.Option(help="Ask the model, and keep its answers in this file.")
]
Recorded = Annotated[
    Path | None, typer.Option(help="Take the answers from this file; no model is asked.")
]
OnlyEstimate = Annotated[bool, typer.Option("--estimate", help="Only estimate the cost.")]
ToJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def need_one_mode(record: Path | None, recorded: Path | None, estimate: bool = False) -> None:
    """Raise a usage error if more than one of these modes is given."""
    given = {"--record": record, "--recorded": recorded, "--estimate": estimate}
    named = [name for name, value in given.items() if value]
    if len(named) > 1:
        raise typer.BadParameter(f"{' and '.join(named)} exclude each other: give one of them")
