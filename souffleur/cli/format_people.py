"""People and personas in the terminal: as introduced, with defaults from the settings."""

from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cast import Cast
from souffleur.cli.console import console, print_json, to_plain
from souffleur.cli.tables import print_table
from souffleur.knowledge.people import Person, PersonaCard
from souffleur.knowledge.preferences import Preferences
from souffleur.times import to_minute


def print_people(found: Sequence[Person], cast: Cast, *, as_json: bool) -> None:
    """Print a table of users; what comes from the settings is dim."""
    if as_json:
        print_json([to_plain(one) for one in found])
        return
    if not found:
        console.print("[dim]nobody was introduced: the settings hold for everybody[/dim]")
        return
    table = Table("user", "title", "timezone", "language", "since", _former(), box=box.SIMPLE_HEAD)
    for one in found:
        zone = cast.zone(one.user_id)
        table.add_row(
            escape(one.user_id),
            _own(one.title, cast.usual.user),
            _own(one.timezone, cast.usual.zone.key),
            _own(one.language, cast.usual.language or "as spoken"),
            to_minute(one.since, zone),
            escape(" / ".join(one.former)),
        )
    print_table(table)


def print_personas(found: Sequence[PersonaCard], cast: Cast, *, as_json: bool) -> None:
    """Print a table of personas."""
    if as_json:
        print_json([to_plain(one) for one in found])
        return
    if not found:
        console.print("[dim]no persona was introduced: the settings name the only one[/dim]")
        return
    table = Table("persona", "name", "knows", "since", _former(), box=box.SIMPLE_HEAD)
    for one in found:
        since = to_minute(one.since, cast.usual.zone)
        name = _own(one.name, cast.usual.assistant)
        former = escape(" / ".join(one.former))
        table.add_row(escape(one.agent_id), name, one.knows or "all", since, former)
    print_table(table)


def print_preferences(chosen: Preferences, *, as_json: bool) -> None:
    """Print what a user wants of the memory, and the options that change it."""
    if as_json:
        print_json(to_plain(chosen))
        return
    usual = "[dim]as in the settings[/dim]"
    extract, shown = (
        usual if value is None else _yes(value)
        for value in (chosen.auto_extract, chosen.show_references)
    )
    table = Table("preference", "is", "to change it", box=box.SIMPLE_HEAD)
    table.add_row("memory", _yes(chosen.memory), "--memory, --no-memory")
    table.add_row("remembers without asking", extract, "--auto-extract, --ask-first")
    references = "--show-references, --hide-references"
    table.add_row("shows what was whispered", shown, references)
    table.add_row("incognito", _yes(chosen.incognito), "--incognito, --no-incognito")
    print_table(table)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _former() -> Column:
    """Return the column of former names: a table keeps its cells in its columns."""
    return Column("formerly", overflow="fold")


def _own(value: str | None, usual: str) -> str:
    return escape(value) if value else f"[dim]{escape(usual)}[/]"
