"""Options that several commands share."""

from typing import Annotated

import typer

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
