"""`souffleur mirror`: memories as MEMORY.md and LEARNINGS.md, to read and to edit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.options import ME, User

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory
    from souffleur.integrations.mirror.mirror import Mirror, Synced


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(mirror)


def mirror(
    folder: Annotated[Path, typer.Argument(help="Folder of the files; it is made if needed.")],
    user: User = ME,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="All users, each in a folder below it.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until stopped, whenever either side changes.")
    ] = False,
    removals: Annotated[
        bool, typer.Option("--removals", help="Let go what is gone, however much.")
    ] = False,
) -> None:
    """Bring memories and the files MEMORY.md and LEARNINGS.md into step, both ways."""
    from souffleur.cli.event_loop import with_memory

    async def work(memory: "Memory") -> None:
        mirrors = await _mirrors(memory, folder.expanduser(), None if everybody else user)
        for whose, one in mirrors.items():
            _tell(whose if everybody else "", await one.sync(removals=removals))
        if watch:
            await _watch(list(mirrors.values()))

    with_memory(work)


async def _mirrors(memory: "Memory", folder: Path, user: str | None) -> "dict[str, Mirror]":
    from souffleur.integrations.mirror.keeping import Keeper
    from souffleur.integrations.mirror.mirror import Mirror
    from souffleur.knowledge.policy import POLICIES
    from souffleur.settings import load_settings

    policy = POLICIES[load_settings().policy]
    if user is not None:
        return {user: Mirror(memory, folder, user_id=user, policy=policy)}
    keeper = Keeper(memory, folder, policy)
    return {one.user_id: keeper.mirror_of(one.user_id) for one in await memory.users()}


async def _watch(mirrors: "list[Mirror]") -> None:
    import asyncio

    from souffleur.cli.event_loop import stop_on_signal

    stopping = stop_on_signal()
    typer.echo("watching; stop it with an interrupt")
    tasks = [asyncio.create_task(one.watch()) for one in mirrors]
    await stopping.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _tell(whose: str, synced: "Synced") -> None:
    counts = {
        "added": synced.added,
        "edited": synced.edited,
        "forgotten": synced.removed,
        "restored": synced.restored,
    }
    parts = [f"{number} {what}" for what, number in counts.items() if number]
    if synced.written:
        parts.append(f"wrote {' and '.join(synced.written)}")
    typer.echo((f"{whose}: " if whose else "") + ("; ".join(parts) or "nothing to do"))
    for why in (*synced.aside, *synced.remarks):
        typer.echo(f"not taken over: {why}", err=True)
