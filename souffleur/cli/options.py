"""Options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from souffleur.errors import SettingsError

if TYPE_CHECKING:
    from souffleur.knowledge.memory import Kind

ME = "me"
"""The default user of commands on the memories of one user.

Commands on the whole store, such as `report` and `run`, are about all users.
"""


def flag(name: str, help: str) -> Any:
    """Return an option without a value, such as `--all`."""
    return Option(name, help=help)


def of_user(help: str, *, usual: bool = False) -> Any:
    """Return the option `--user`; with `usual`, SOUFFLEUR_USER is its default."""
    return Option("--user", "-u", envvar="SOUFFLEUR_USER" if usual else None, help=help)


def of_agent(help: str) -> Any:
    """Return the option `--agent`."""
    return Option("--agent", "-a", help=help)


User = Annotated[str, of_user("The user whose memories to use.", usual=True)]
AnyUser = Annotated[str | None, of_user("Only this user; default: all.", usual=True)]
Agent = Annotated[str, of_agent("The persona they talked with.")]
MemoryId = Annotated[str, Argument(help="Id of a memory, or its beginning.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, flag("--dry-run", "Say what would be done, and change nothing.")]
Port = Annotated[int, Option(min=0, max=65535, help="The port; 0 takes a free one.")]
Address = Annotated[str, Option(help="The address to listen at.")]

Only = Annotated[str, Option(help="Names of scripts, as a glob.")]
Dialogues = Annotated[Path | None, Option(help="Folder of scripts; default: the repository's.")]
Parallel = Annotated[int, Option(min=1, help="Number of scripts played concurrently.")]
Out = Annotated[Path | None, Option(help="Write the result to this JSON file.")]


def kind_of(name: str) -> "Kind":
    """Return the kind with that name. Raises SettingsError if there is no such kind."""
    from souffleur.knowledge.memory import Kind

    if name not in tuple(Kind):
        raise SettingsError(f"there is no kind {name!r}; choose one of {', '.join(Kind)}")
    return Kind(name)
