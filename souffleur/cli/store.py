"""Commands that keep a store: backup, restore."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import run_async
from souffleur.cli.options import AsJson

if TYPE_CHECKING:
    from souffleur.knowledge.backup_file import Manifest


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (backup, restore):
        app.command()(command)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a former backup is replaced.")],
    as_json: AsJson = False,
) -> None:
    """Save the whole store to one compact, checked file."""
    from souffleur.cli import format_store

    async def work() -> "Manifest":
        from datetime import UTC, datetime

        from souffleur.cli.console import progress
        from souffleur.errors import StoreBusyError
        from souffleur.knowledge.backup import save_store
        from souffleur.settings import load_settings
        from souffleur.wiring import make_place

        place = make_place(load_settings())
        try:
            with progress("saving") as step:
                return await save_store(place, file, now=datetime.now(UTC), step=step)
        except StoreBusyError as error:
            who = str(error).partition("; ")[0].partition(": ")[0]
            raise StoreBusyError(f"{who}: stop it first, or call memory.backup in it") from None

    format_store.print_backup(run_async(work()), file, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `backup` made.")],
    into: Annotated[
        Path | None, typer.Option(help="The folder to restore to; default: SOUFFLEUR_PATH.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup to an empty place."""
    from souffleur.cli import format_store
    from souffleur.settings import load_settings
    from souffleur.wiring import make_place

    there = {"path": into, "qdrant_url": None} if into else {}
    place = make_place(load_settings(**there))

    async def work() -> "Manifest":
        from souffleur.cli.console import progress
        from souffleur.knowledge.backup import restore as restored

        with progress("restoring") as step:
            return await restored(file, place, step=step)

    format_store.print_restored(run_async(work()), str(place), as_json=as_json)
