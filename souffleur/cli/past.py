"""Commands about what was talked about, and with whom: ask, episodes, profile."""

from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.door import AsJson, User, with_memory

if TYPE_CHECKING:
    from souffleur.runtime import Souffleur

Agent = Annotated[str, typer.Option("--agent", "-a", help="With which persona.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (ask, episodes, profile):
        app.command()(command)


def ask(
    text: Annotated[str, typer.Argument(help='Such as "上周我们聊了什么" or "last time".')],
    user: User = "me",
    agent: Agent = "default",
    limit: Annotated[int, typer.Option(min=1, max=50)] = 8,
    as_json: AsJson = False,
) -> None:
    """What was talked about at a time, or on a matter; no model is asked."""
    from souffleur.cli import show_past as render

    async def work(memory: "Souffleur") -> None:
        past = await memory.ask(text, user_id=user, agent_id=agent, limit=limit)
        render.past(past, (await memory.cast()).persona(user, agent), as_json)

    with_memory(work)


def episodes(
    user: User = "me",
    limit: Annotated[int, typer.Option(min=1, max=500)] = 20,
    as_json: AsJson = False,
) -> None:
    """List what was talked about, newest first, and what waits to be summarised."""
    from souffleur.cli import show_past as render

    async def work(memory: "Souffleur") -> None:
        from souffleur.knowledge.identity import EVERY_SPHERE

        now = memory.clock()
        waiting = await memory.knowledge.sessions.waiting_segments(user)
        told = await memory.knowledge.episodes(user, limit=limit, now=now, sphere=EVERY_SPHERE)
        render.episodes(told, waiting, (await memory.cast()).persona(user), as_json)

    with_memory(work)


def profile(
    user: User = "me",
    agent: Agent = "default",
    history: Annotated[bool, typer.Option("--history", help="All versions.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="What the latest version changed.")] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write it anew now; needs the model's endpoint.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show who this user is, as the companion understands it."""
    from souffleur.cli import show_past as render
    from souffleur.cli.door import enter

    async def work(memory: "Souffleur") -> None:
        sphere = (await memory.cast()).sphere(agent)
        versions = await memory.knowledge.portraits(user, sphere)
        if diff:
            render.difference(versions, as_json)
        elif history:
            render.versions(versions, (await memory.cast()).persona(user), as_json)
        else:
            portrait = await memory.knowledge.portrait(user, sphere)
            render.portrait(portrait, (await memory.cast()).persona(user), as_json)

    if write:
        enter(_write(user, agent))
    with_memory(work)


async def _write(user: str, agent: str) -> None:
    from souffleur.runtime import Souffleur
    from souffleur.settings import load_settings, need_model

    async with Souffleur.open(need_model(load_settings())) as memory:
        await memory.write_portrait(user_id=user, agent_id=agent)
