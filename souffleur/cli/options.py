"""Options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from souffleur.knowledge.memory import Kind

ME = "me"
"""The user of every command on the memories of one user, unless another is named.

Commands on the whole store, such as `report` and `run`, are about all users.
"""

User = Annotated[
    str,
    typer.Option("--user", "-u", envvar="SOUFFLEUR_USER", help="The user whose memories to use."),
]
AnyUser = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="SOUFFLEUR_USER", help="Only this user; default: all."),
]
Agent = Annotated[str, typer.Option("--agent", "-a", help="The persona they talked with.")]
MemoryId = Annotated[str, typer.Argument(help="Id of a memory, or its beginning.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

Only = Annotated[str, typer.Option(help="Names of scripts, as a glob.")]
Dialogues = Annotated[
    Path | None, typer.Option(help="Folder of scripts; default: the repository's.")
]
Parallel = Annotated[int, typer.Option(min=1, help="Number of scripts played concurrently.")]
Out = Annotated[Path | None, typer.Option(help="Write the result to this JSON file.")]


def kind_of(name: str) -> "Kind":
    """Return the kind of that name. Raises SettingsError if there is no such kind."""
    from souffleur.errors import SettingsError
    from souffleur.knowledge.memory import Kind

    if name not in tuple(Kind):
        raise SettingsError(f"there is no kind {name!r}; choose one of {', '.join(Kind)}")
    return Kind(name)
