"""Commands about the past: ask, episodes, profile."""

from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import find_owner, inspect, with_memory
from souffleur.cli.hints import hint_at_others
from souffleur.cli.options import ME, AsJson, User

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory
    from souffleur.knowledge.memory import Memory as OneMemory

Agent = Annotated[str, typer.Option("--agent", "-a", help="The persona they talked with.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (ask, episodes, profile):
        app.command()(command)


def ask(
    text: Annotated[str, typer.Argument(help='Such as "上周我们聊了什么" or "last time".')],
    user: User = ME,
    agent: Agent = "default",
    limit: Annotated[int, typer.Option(min=1, max=50)] = 8,
    as_json: AsJson = False,
) -> None:
    """Search what was talked about at a time, or on a topic; asks no model."""
    from souffleur.cli import format_past

    async def work(memory: "Memory") -> None:
        past = await memory.ask(text, user_id=user, agent_id=agent, limit=limit)
        format_past.print_past(past, (await memory.cast()).persona(user, agent), as_json=as_json)
        if not past.found:
            await hint_at_others(memory, user)

    with_memory(work)


def episodes(
    user: User = ME,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 20,
    as_json: AsJson = False,
) -> None:
    """List episodes, newest first, and what waits to be summarised."""
    from souffleur.cli import format_past

    async def work(memory: "Memory") -> None:
        waiting = await inspect(memory).segments(user_id=user)
        told = await memory.episodes(user_id=user, limit=limit)
        format_past.print_episodes(
            told, waiting, (await memory.cast()).persona(user), as_json=as_json
        )
        if not told and not waiting:
            await hint_at_others(memory, user)

    with_memory(work)


def profile(
    user: User = ME,
    agent: Agent = "default",
    history: Annotated[bool, typer.Option("--history", help="Show all versions.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what the latest version changed.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Rewrite it now; needs the model's endpoint.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the portrait of a user, as the companion understands them."""
    from souffleur.cli import format_past
    from souffleur.cli.event_loop import run_async

    async def work(memory: "Memory") -> None:
        versions = await _versions(memory, user, agent)
        if diff:
            format_past.print_difference(versions, as_json=as_json)
        elif history:
            format_past.print_versions(
                versions, (await memory.cast()).persona(user), as_json=as_json
            )
        else:
            portrait = await memory.portrait(user_id=user, agent_id=agent)
            format_past.print_portrait(
                portrait, (await memory.cast()).persona(user), as_json=as_json
            )
            if portrait is None:
                await hint_at_others(memory, user)

    if write:
        run_async(_write_portrait(user, agent))
    with_memory(work)


async def _versions(memory: "Memory", user: str, agent: str) -> "list[OneMemory]":
    """Return all versions of a portrait, the latest first."""
    from souffleur.knowledge.memory import Category

    every = await memory.list(user_id=user, agent_id=agent, category=Category.PROFILE, state=None)
    return sorted(every, key=lambda one: -int(one.data.get("version", 0)))


async def _write_portrait(user: str, agent: str) -> None:
    from souffleur.api import Souffleur
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            await owner.write_portrait(user_id=user, agent_id=agent)
            return
    async with Souffleur.open(need_model(load_settings())) as memory:
        await memory.write_portrait(user_id=user, agent_id=agent)
