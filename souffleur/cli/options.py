"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ME = "me"
"""The user of every command that shows or changes what is one user's, unless another is named.

Commands on the whole store, such as `report` and `run`, are about everybody.
"""

STANDARD_OUTPUT = Path("-")
"""Stands for it where a file is written."""

User = Annotated[
    str,
    typer.Option("--user", "-u", envvar="SOUFFLEUR_USER", help="The user whose memories to use."),
]
AnyUser = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="SOUFFLEUR_USER", help="Only this user; default: all."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

Only = Annotated[str, typer.Option(help="Names of scripts, as a glob.")]
Dialogues = Annotated[
    Path | None, typer.Option(help="Folder of scripts; default: the repository's.")
]
Parallel = Annotated[int, typer.Option(min=1, help="Number of scripts played concurrently.")]
Out = Annotated[Path | None, typer.Option(help="Write the result to this JSON file.")]
