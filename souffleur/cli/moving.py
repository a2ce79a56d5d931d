"""Commands that move memories: export, import."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import with_memory
from souffleur.cli.options import AsJson

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory

Whose = Annotated[str | None, typer.Option("--user", "-u", help="Only this user; default: all.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(export)
    app.command("import")(import_)


def export(
    file: Annotated[Path, typer.Argument(help="The file to write; a former export is replaced.")],
    user: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Write everything of all users, or of one, as lines of JSON, to be read or imported."""
    from souffleur.cli import format_store

    async def work(memory: "Memory") -> None:
        made = await memory.export(file, user_id=user)
        format_store.print_exported(made, file, as_json=as_json)

    with_memory(work)


def import_(
    file: Annotated[Path, typer.Argument(help="The file to take from: see docs/moving.md.")],
    source: Annotated[
        str, typer.Option("--from", help="What it is: auto, souffleur or mem0.")
    ] = "auto",
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Take nothing of others than this user.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be taken, and what not.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take what is in a file and not in the store; nothing is overwritten."""
    from souffleur.cli import format_store

    async def work(memory: "Memory") -> None:
        done = await memory.import_file(file, user_id=user, source=source, dry_run=dry_run)
        format_store.print_imported(done, as_json=as_json)

    with_memory(work)
