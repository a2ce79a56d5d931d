"""Commands of `souffleur user`: list, people, personas, preferences."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from rich.text import Text
from typer import Option

from souffleur.cli.command import Result, listed, on_memory, printed
from souffleur.cli.options import ME, User, of_agent, of_user
from souffleur.cli.tables import show
from souffleur.errors import SettingsError
from souffleur.times import to_minute

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.store.introductions import UserSummary


class _Choice(NamedTuple):
    """A preference: its field, its title in the table, its two options, and its help."""

    name: str
    title: str
    options: str
    help: str


_CHOICES = (
    _Choice("memory", "memory", "--memory/--no-memory", "Whether there is a memory of the user."),
    _Choice(
        "auto_extract",
        "remembers without asking",
        "--auto-extract/--ask-first",
        "Whether memories are kept at once, or wait for consent.",
    ),
    _Choice(
        "show_references",
        "shows what was whispered",
        "--show-references/--hide-references",
        "Whether replies come with the memories that were whispered for them.",
    ),
    _Choice(
        "incognito", "incognito", "--incognito/--no-incognito", "Whether every turn is incognito."
    ),
)


def _choice(name: str) -> Any:
    found = next(one for one in _CHOICES if one.name == name)
    return Option(found.options, help=found.help)


@printed
@on_memory
async def list_(memory: "Memory") -> Result:
    """List the users of the store: their memories and turns, and when each was last seen."""
    cast = await memory.cast()

    def seen(one: "UserSummary") -> str:
        return to_minute(one.last_seen, cast.zone(one.user_id)) if one.last_seen else ""

    columns = (
        ("user", lambda one: one.user_id),
        ("memories", lambda one: one.memories),
        ("turns", lambda one: one.turns),
        ("last seen", seen),
    )
    return listed(await memory.users(), columns, empty="nobody is known yet")


@printed
@on_memory
async def people(
    memory: "Memory",
    user: Annotated[str | None, of_user("The user to introduce, or to show alone.")] = None,
    title: Annotated[str | None, Option(help="The user's display name.")] = None,
    timezone: Annotated[str | None, Option(help="Such as Asia/Tokyo.")] = None,
    language: Annotated[str | None, Option(help="en, zh or ja.")] = None,
) -> Result:
    """Show the introduced users, or introduce one; the settings apply to all others."""
    if given := _given(title=title, timezone=timezone, language=language):
        await memory.introduce(user_id=_named(user, "--user"), **given)
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
    return listed(found, columns, empty="nobody was introduced: the settings hold for everybody")


@printed
@on_memory
async def personas(
    memory: "Memory",
    agent: Annotated[str | None, of_agent("The persona to introduce, or to show alone.")] = None,
    name: Annotated[str | None, Option(help="The persona's name.")] = None,
    knows: Annotated[
        str | None, Option(help="all, or own for only what it was told itself.")
    ] = None,
) -> Result:
    """Show the introduced personas, or introduce one."""
    if given := _given(name=name, knows=knows):
        await memory.introduce_persona(agent_id=_named(agent, "--agent"), **given)
    cast = await memory.cast()
    columns = (
        ("persona", lambda one: one.agent_id),
        ("name", lambda one: _own(one.name, cast.usual.assistant)),
        ("knows", lambda one: one.knows or "all"),
        ("since", lambda one: to_minute(one.since, cast.usual.zone)),
        ("formerly", lambda one: " / ".join(one.former)),
    )
    found = [one for one in cast.introduced.personas.values() if agent in (None, one.agent_id)]
    return listed(found, columns, empty="no persona was introduced: the settings name the only one")


@printed
@on_memory
async def preferences(
    memory: "Memory",
    user: User = ME,
    remembers: Annotated[bool | None, _choice("memory")] = None,
    auto_extract: Annotated[bool | None, _choice("auto_extract")] = None,
    show_references: Annotated[bool | None, _choice("show_references")] = None,
    incognito: Annotated[bool | None, _choice("incognito")] = None,
) -> Result:
    """Show a user's preferences for the memory, or set them."""
    given = _given(
        memory=remembers,
        auto_extract=auto_extract,
        show_references=show_references,
        incognito=incognito,
    )
    if given:
        await memory.set_preferences(user_id=user, **given)
    chosen = await memory.preferences(user_id=user)
    columns = (
        ("preference", lambda one: one.title),
        ("is", lambda one: _yes(getattr(chosen, one.name))),
        ("to change it", lambda one: one.options.replace("/", ", ")),
    )
    return Result(chosen, lambda: show(_CHOICES, columns))


def _given(**options: Any) -> dict[str, Any]:
    """Return only the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _yes(value: bool | None) -> Text:
    if value is None:
        return Text("as in the settings", "dim")
    return Text("yes" if value else "no")


def _own(value: str | None, usual: str) -> Text:
    """Return a person's or persona's own value, or the value of the settings in dim text."""
    return Text(value) if value else Text(usual, "dim")


def _named(who: str | None, option: str) -> str:
    if who is None:
        raise SettingsError(f"say who is introduced: {option}")
    return who
