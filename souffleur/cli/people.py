"""Commands on users and personas: people, personas, preferences."""

from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import with_memory
from souffleur.cli.options import ME, AsJson, User

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (people, personas, preferences):
        app.command()(command)


def people(
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="The user to introduce, or to show alone.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The user's display name.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Such as Asia/Tokyo.")] = None,
    language: Annotated[str | None, typer.Option(help="en, zh or ja.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the introduced users, or introduce one; the settings apply to all others."""
    from souffleur.cli import format_people

    fields = {"title": title, "timezone": timezone, "language": language}
    given = {key: value for key, value in fields.items() if value is not None}

    async def work(memory: "Memory") -> None:
        if given:
            _need(user, "--user")
            await memory.introduce(user_id=str(user), **given)  # type: ignore[arg-type]
        cast = await memory.cast()
        every = cast.introduced.people.values()
        format_people.print_people(
            [one for one in every if user in (None, one.user_id)], cast, as_json=as_json
        )

    with_memory(work)


def personas(
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", help="The persona to introduce, or to show alone."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The persona's name.")] = None,
    knows: Annotated[
        str | None,
        typer.Option(help="all, or own for only what it was told itself."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the introduced personas, or introduce one."""
    from souffleur.cli import format_people

    fields = {"name": name, "knows": knows}
    given = {key: value for key, value in fields.items() if value is not None}

    async def work(memory: "Memory") -> None:
        if given:
            _need(agent, "--agent")
            await memory.introduce_persona(agent_id=str(agent), **given)  # type: ignore[arg-type]
        cast = await memory.cast()
        every = cast.introduced.personas.values()
        format_people.print_personas(
            [one for one in every if agent in (None, one.agent_id)], cast, as_json=as_json
        )

    with_memory(work)


def preferences(
    user: User = ME,
    memory: Annotated[
        bool | None,
        typer.Option("--memory/--no-memory", help="Whether there is a memory of the user."),
    ] = None,
    auto_extract: Annotated[
        bool | None,
        typer.Option(
            "--auto-extract/--ask-first", help="Whether what is judged is remembered at once."
        ),
    ] = None,
    show_references: Annotated[
        bool | None,
        typer.Option(
            "--show-references/--hide-references",
            help="Whether replies come with the memories that they were whispered.",
        ),
    ] = None,
    incognito: Annotated[
        bool | None,
        typer.Option("--incognito/--no-incognito", help="Whether every turn is incognito."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a user wants of the memory, or set it."""
    from souffleur.cli import format_people

    fields = {"memory": memory, "auto_extract": auto_extract}
    fields |= {"show_references": show_references, "incognito": incognito}
    given = {key: value for key, value in fields.items() if value is not None}

    async def work(memory: "Memory") -> None:
        if given:
            await memory.set_preferences(user_id=user, **given)
        chosen = await memory.preferences(user_id=user)
        format_people.print_preferences(chosen, as_json=as_json)

    with_memory(work)


def _need(who: str | None, option: str) -> None:
    from souffleur.errors import SettingsError

    if who is None:
        raise SettingsError(f"say who is introduced: {option}")
