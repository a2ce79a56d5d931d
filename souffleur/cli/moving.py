"""Commands that move memories: export, import."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import with_memory
from souffleur.cli.options import STANDARD_OUTPUT, AsJson, Yes

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory
    from souffleur.knowledge.store.importing import Imported

Whose = Annotated[str | None, typer.Option("--user", "-u", help="Only this user; default: all.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(export)
    app.command("import")(import_)


def export(
    file: Annotated[
        Path,
        typer.Argument(help="The file to write, '-' for standard output; an export is replaced."),
    ],
    user: Whose = None,
    as_json: AsJson = False,
) -> None:
    """Write everything of all users, or of one, as lines of JSON, to be read or imported."""
    from souffleur.cli import format_store

    async def work(memory: "Memory") -> None:
        if file == STANDARD_OUTPUT:
            await _export_to_output(memory, user)
            return
        made = await memory.export(file, user_id=user)
        format_store.print_exported(made, file, as_json=as_json)

    with_memory(work)


async def _export_to_output(memory: "Memory", user: str | None) -> None:
    import asyncio

    from souffleur.integrations.importers.passing import passing_file
    from souffleur.settings import load_settings

    with passing_file(load_settings().folder, "export.jsonl") as made:
        await memory.export(made, user_id=user)
        await asyncio.to_thread(_print_file, made)


def _print_file(file: Path) -> None:
    with file.open("rb") as lines:
        shutil.copyfileobj(lines, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def import_(
    file: Annotated[Path, typer.Argument(help="The file to take from: see docs/moving.md.")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="What it is: auto, souffleur, mem0, chatgpt, sillytavern or messages.",
        ),
    ] = "auto",
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", help="Take nothing of others than this user; whose chats these are."
        ),
    ] = None,
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="The persona with whom chats were held.")
    ] = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be taken, and what not.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take what is in a file and not in the store; nothing is overwritten.

    Turns of chats are judged by a model, by who serves the store or `souffleur retry`: what that
    takes is shown first, and asked about.
    """
    from souffleur.cli import format_store
    from souffleur.integrations.importers.arriving import source_of

    found = source_of(file, source)

    async def take(memory: "Memory", *, dry_run: bool) -> "Imported":
        return await memory.import_file(
            file, user_id=user, agent_id=agent, source=found, dry_run=dry_run
        )

    async def work(memory: "Memory") -> None:
        if found.is_chat and not (yes or dry_run):
            tried = await take(memory, dry_run=True)
            if tried.new:
                format_store.print_imported(tried, as_json=False)
                typer.confirm("Take these?", abort=True, err=True)
        done = await take(memory, dry_run=dry_run)
        format_store.print_imported(done, as_json=as_json)

    with_memory(work)
