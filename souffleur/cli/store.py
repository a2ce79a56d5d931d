"""Commands on a whole store: users, backup, restore, migrate, reembed, erase."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import find_owner, need_no_owner, run_async, with_memory
from souffleur.cli.options import AsJson, Yes
from souffleur.cli.short_ids import find_memory_id, find_turn_id

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory
    from souffleur.knowledge.store.backup_file import BackupManifest
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.topics import Forgotten


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (users, backup, restore, migrate, reembed, erase):
        app.command()(command)


def users(as_json: AsJson = False) -> None:
    """List the users of the store: their memories and turns, and when each was last seen."""
    from souffleur.cli import format_store

    async def work(memory: "Memory") -> None:
        found = await memory.users()
        format_store.print_users(found, await memory.cast(), as_json=as_json)

    with_memory(work)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a former backup is replaced.")],
    as_json: AsJson = False,
) -> None:
    """Save the whole store to one compact, checked file."""
    from souffleur.cli import format_store

    async def work() -> "BackupManifest":
        from datetime import UTC, datetime

        from souffleur.cli.console import progress
        from souffleur.errors import StoreBusyError
        from souffleur.knowledge.store.backup import save_store
        from souffleur.settings import load_settings
        from souffleur.wiring import make_place

        async with find_owner() as owner:
            if owner:
                return await owner.backup(file)
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

    async def work() -> "BackupManifest":
        from souffleur.cli.console import progress
        from souffleur.knowledge.store.backup import restore as restored

        if into is None:
            await need_no_owner()
        with progress("restoring") as step:
            return await restored(file, place, step=step)

    format_store.print_restored(run_async(work()), str(place), as_json=as_json)


def migrate(
    to: Annotated[str, typer.Argument(help="An empty folder, or the URL of a Qdrant server.")],
) -> None:
    """Copy the whole store for the current embedder and policy; the old store stays."""
    from souffleur.report.report import MEMORIES, count

    async def work() -> int:
        from souffleur.cli.console import progress
        from souffleur.knowledge.policy import POLICIES
        from souffleur.knowledge.store.migration import copy_store
        from souffleur.settings import load_settings
        from souffleur.wiring import make_place, settings_embedder

        await need_no_owner()
        settings = load_settings()
        there = {"qdrant_url": to} if "://" in to else {"qdrant_url": None, "path": Path(to)}
        target = make_place(settings.model_copy(update=there))
        embedder, policy = settings_embedder(settings), POLICIES[settings.policy]
        with progress("copying") as step:
            return await copy_store(make_place(settings), target, embedder, policy, step=step)

    copied = run_async(work())
    name = "SOUFFLEUR_QDRANT_URL" if "://" in to else "SOUFFLEUR_PATH"
    typer.echo(f"{count(copied, *MEMORIES)} copied; set {name}={to} to use them")


def reembed(as_json: AsJson = False) -> None:
    """Embed a store anew, in place, with the embedder that is set now; it can be interrupted."""
    from souffleur.cli import format_store

    async def work() -> tuple[int, int]:
        from souffleur.cli.console import progress
        from souffleur.settings import load_settings
        from souffleur.wiring import open_store

        await need_no_owner()
        knowledge = await open_store(load_settings(reembed=True))
        try:
            with progress("memories") as step:
                memories = await knowledge.embed_anew(step)
            with progress("turns") as step:
                return memories, await knowledge.embed_turns(progress=step)
        finally:
            await knowledge.close()

    format_store.print_reembedded(*run_async(work()), as_json=as_json)


def erase(
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Erase everything of this user.")
    ] = None,
    turn: Annotated[
        str | None,
        typer.Option(help="Erase only this turn, by the host's id or the beginning of its own."),
    ] = None,
    memory_id: Annotated[
        str | None,
        typer.Option("--memory", help="Erase only this memory, by its id or its beginning."),
    ] = None,
    turns: Annotated[
        bool, typer.Option("--turns", help="With --memory: also the turns that it rests on.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Erase a user, a memory, or one turn and what rests on it, now and for good."""
    from souffleur.cli import format_store
    from souffleur.errors import SettingsError

    if turn is None and user is None and memory_id is None:
        raise SettingsError("say what to erase: --user ID, --memory ID, or --turn ID")

    async def erase_user(memory: "Memory") -> "Erased":
        assert user is not None
        _ask(f"Erase everything of {user!r}", yes=yes)
        return await memory.erase_user(user_id=user)

    async def erase_turn(memory: "Memory") -> "Erased":
        assert turn is not None
        found, owner = await find_turn_id(memory, turn, user)
        _ask(f"Erase the turn {found[:8]} of {owner!r}", yes=yes)
        return await memory.erase_turn(found, user_id=owner)

    async def erase_memory(memory: "Memory") -> "Forgotten":
        assert memory_id is not None
        found, owner = await find_memory_id(memory, memory_id)
        _ask(f"Erase the memory {found[:8]} of {owner!r}", yes=yes)
        return await memory.erase_memory(found, user_id=owner, turns=turns)

    if memory_id is not None:
        format_store.print_erased(with_memory(erase_memory), as_json=as_json)
        return
    erased = with_memory(erase_user if turn is None else erase_turn)
    format_store.print_erased(erased, as_json=as_json)


def _ask(what: str, *, yes: bool) -> None:
    if not yes:
        typer.confirm(f"{what}, for good?", abort=True, err=True)
