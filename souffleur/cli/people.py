"""Commands of `souffleur user`: list, people, personas, preferences."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from souffleur.cli.console import plain, print_json
from souffleur.cli.memory import with_memory
from souffleur.cli.options import ME, AsJson, User
from souffleur.cli.tables import show

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.people import Preferences
    from souffleur.knowledge.store.introductions import UserSummary


def list_(as_json: AsJson = False) -> None:
    """List the users of the store: their memories and turns, and when each was last seen."""
    from souffleur.times import to_minute

    async def work(memory: "Memory") -> None:
        cast = await memory.cast()

        def seen(one: "UserSummary") -> str:
            return to_minute(one.last_seen, cast.zone(one.user_id)) if one.last_seen else ""

        columns = (
            ("user", lambda one: one.user_id),
            ("memories", lambda one: one.memories),
            ("turns", lambda one: one.turns),
            ("last seen", seen),
        )
        show(await memory.users(), columns, as_json=as_json, empty="nobody is known yet")

    with_memory(work)


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
    from souffleur.times import to_minute

    fields = {"title": title, "timezone": timezone, "language": language}
    given = {key: value for key, value in fields.items() if value is not None}

    async def work(memory: "Memory") -> None:
        if given:
            await memory.introduce(user_id=_named(user, "--user"), **given)  # type: ignore[arg-type]
        cast = await memory.cast()
        usual = cast.usual
        columns = (
            ("user", lambda one: one.user_id),
            ("title", lambda one: _own(one.title, usual.user)),
            ("timezone", lambda one: _own(one.timezone, usual.zone.key)),
            ("language", lambda one: _own(one.language, usual.language or "as spoken")),
            ("since", lambda one: to_minute(one.since, cast.zone(one.user_id))),
            ("formerly", lambda one: " / ".join(one.former)),
        )
        found = [one for one in cast.introduced.people.values() if user in (None, one.user_id)]
        empty = "nobody was introduced: the settings hold for everybody"
        show(found, columns, as_json=as_json, empty=empty)

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
    from souffleur.times import to_minute

    fields = {"name": name, "knows": knows}
    given = {key: value for key, value in fields.items() if value is not None}

    async def work(memory: "Memory") -> None:
        if given:
            agent_id = _named(agent, "--agent")
            await memory.introduce_persona(agent_id=agent_id, **given)  # type: ignore[arg-type]
        cast = await memory.cast()
        columns = (
            ("persona", lambda one: one.agent_id),
            ("name", lambda one: _own(one.name, cast.usual.assistant)),
            ("knows", lambda one: one.knows or "all"),
            ("since", lambda one: to_minute(one.since, cast.usual.zone)),
            ("formerly", lambda one: " / ".join(one.former)),
        )
        found = [one for one in cast.introduced.personas.values() if agent in (None, one.agent_id)]
        empty = "no persona was introduced: the settings name the only one"
        show(found, columns, as_json=as_json, empty=empty)

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
            "--auto-extract/--ask-first",
            help="Whether memories are kept at once, or wait for consent.",
        ),
    ] = None,
    show_references: Annotated[
        bool | None,
        typer.Option(
            "--show-references/--hide-references",
            help="Whether replies come with the memories that were whispered for them.",
        ),
    ] = None,
    incognito: Annotated[
        bool | None,
        typer.Option("--incognito/--no-incognito", help="Whether every turn is incognito."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a user's preferences for the memory, or set them."""
    fields = {"memory": memory, "auto_extract": auto_extract}
    fields |= {"show_references": show_references, "incognito": incognito}
    given = {key: value for key, value in fields.items() if value is not None}

    async def work(memory: "Memory") -> None:
        if given:
            await memory.set_preferences(user_id=user, **given)
        chosen = await memory.preferences(user_id=user)
        if as_json:
            print_json(plain(chosen))
        else:
            _print_preferences(chosen)

    with_memory(work)


def _print_preferences(chosen: "Preferences") -> None:
    rows = (
        ("memory", chosen.memory, "--memory, --no-memory"),
        ("remembers without asking", chosen.auto_extract, "--auto-extract, --ask-first"),
        (
            "shows what was whispered",
            chosen.show_references,
            "--show-references, --hide-references",
        ),
        ("incognito", chosen.incognito, "--incognito, --no-incognito"),
    )
    columns = (
        ("preference", lambda row: row[0]),
        ("is", lambda row: _yes(row[1])),
        ("to change it", lambda row: row[2]),
    )
    show(rows, columns)


def _yes(value: bool | None) -> Text:
    if value is None:
        return Text("as in the settings", "dim")
    return Text("yes" if value else "no")


def _own(value: str | None, usual: str) -> Text:
    """Return a value of somebody's own, or the dim value of the settings."""
    return Text(value) if value else Text(usual, "dim")


def _named(who: str | None, option: str) -> str:
    from souffleur.errors import SettingsError

    if who is None:
        raise SettingsError(f"say who is introduced: {option}")
    return who
