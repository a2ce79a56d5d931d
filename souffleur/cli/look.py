"""Commands that show memories: list, search, show, history."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from souffleur.cli.console import plain, print_json
from souffleur.cli.entries import print_entries
from souffleur.cli.memory import everyone, find_memory_id, hint_at_others, inspect, with_memory
from souffleur.cli.options import ME, AsJson, MemoryId, User, kind_of
from souffleur.cli.tables import marked, show as show_items

if TYPE_CHECKING:
    from souffleur.cast import Cast
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.memory import Memory as OneMemory
    from souffleur.knowledge.policy import Policy
    from souffleur.knowledge.search.query import Found


@dataclass(frozen=True)
class Worth:
    """The effective values of memories at a moment."""

    now: datetime
    policy: "Policy"

    def of(self, memory: "OneMemory") -> float:
        """Return the effective value of a memory."""
        from souffleur.knowledge.decay import effective

        return effective(memory, self.now, self.policy)


def list_(
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            envvar="SOUFFLEUR_USER",
            help=f"The user whose memories to list; default: {ME}, of turns and proposals all.",
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind: fact, promise, …")] = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="List all users'.")] = False,
    episodes: Annotated[
        bool, typer.Option("--episodes", help="List the episodes, newest first.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="List the turns that could not be judged.")
    ] = False,
    proposals: Annotated[
        bool, typer.Option("--proposals", help="List the changes that wait for consent.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Include superseded and forgotten memories.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=500, help="With --episodes: the maximum number.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List memories, the most valuable first; or episodes, failed turns, proposals."""
    from souffleur.cli.past import list_episodes

    async def work(memory: "Memory") -> None:
        if failed:
            await _list_failed(memory, user, as_json=as_json)
        elif proposals:
            await _list_proposals(memory, user, as_json=as_json)
        elif episodes:
            await list_episodes(memory, user or ME, limit, as_json=as_json)
        else:
            whose = None if everybody else ME if user is None else user
            await _list_memories(memory, whose, kind, every=every, as_json=as_json)

    with_memory(work)


async def _list_memories(
    memory: "Memory", user: str | None, kind: str | None, *, every: bool, as_json: bool
) -> None:
    from souffleur.knowledge.memory import MemoryState

    only = None if kind is None else kind_of(kind)
    states = [None] if every else [MemoryState.ACTIVE, MemoryState.PENDING]
    users = await everyone(memory) if user is None else [user]
    found = [
        memory_
        for one in users
        for state in states
        for memory_ in await memory.list(user_id=one, state=state, kind=only)
    ]
    cast, worth = await memory.cast(), worth_now(memory)
    print_memories(found, worth, cast, as_json=as_json, owner=user is None)
    if not found and user is not None:
        await hint_at_others(memory, user)


async def _list_failed(memory: "Memory", user: str | None, *, as_json: bool) -> None:
    from souffleur.knowledge.turn import TurnState
    from souffleur.times import to_minute

    failed = await inspect(memory).turns(state=TurnState.FAILED, user_id=user)
    cast = await memory.cast()
    columns = (
        ("turn", lambda turn: turn.turn_id[:12]),
        ("when", lambda turn: to_minute(turn.at, cast.zone(turn.user_id))),
        ("user", lambda turn: turn.user_id),
        ("tries", lambda turn: turn.tries),
        ("said", lambda turn: turn.user[:60]),
        ("why it failed", lambda turn: turn.error),
    )
    show_items(failed, columns, as_json=as_json, empty="no turn has failed")


async def _list_proposals(memory: "Memory", user: str | None, *, as_json: bool) -> None:
    users = await everyone(memory) if user is None else [user]
    waiting = [entry for one in users for entry in await memory.proposals(user_id=one)]
    print_entries(waiting, await memory.cast(), as_json=as_json, empty="no proposal waits")


def search(
    text: Annotated[str, typer.Argument(help="The words to look for.")],
    user: User = ME,
    limit: Annotated[int, typer.Option(min=1, max=100)] = 10,
    scope: Annotated[
        list[str] | None, typer.Option(help="memories (default), episodes, turns; repeatable.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the parts of each score.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Search a user's memories, episodes and raw turns."""
    from souffleur.errors import SettingsError
    from souffleur.knowledge.search.query import Scope

    wanted = scope or [Scope.MEMORIES]
    if not set(wanted) <= set(Scope):
        raise SettingsError(f"--scope must be one of {', '.join(Scope)}")

    async def work(memory: "Memory") -> None:
        through = [Scope(name) for name in wanted]
        hits = await memory.search(text, user_id=user, scope=through, limit=limit)
        found = [hit for hit in hits if round(hit.score, 2) > 0]
        print_search_results(found, as_json=as_json, explain=explain)
        if not found:
            await hint_at_others(memory, user)

    with_memory(work)


def show(id: MemoryId, as_json: AsJson = False) -> None:
    """Show one memory with everything known about it."""

    async def work(memory: "Memory") -> None:
        found, owner = await find_memory_id(memory, id)
        one = await memory.get(found, user_id=owner)
        print_memory(one, worth_now(memory), await memory.cast(), as_json=as_json)

    with_memory(work)


def history(id: MemoryId, as_json: AsJson = False) -> None:
    """Show all changes of a memory: who, when, why, and on which words."""

    async def work(memory: "Memory") -> None:
        found, owner = await find_memory_id(memory, id)
        entries = await memory.history(found, user_id=owner)
        print_entries(entries, await memory.cast(), as_json=as_json)

    with_memory(work)


def worth_now(memory: "Memory") -> Worth:
    """Return the values of memories now, by the configured policy."""
    from souffleur.knowledge.policy import POLICIES
    from souffleur.settings import load_settings

    return Worth(memory.clock(), POLICIES[load_settings().policy])


def print_memories(
    found: "Sequence[OneMemory]",
    values: Worth,
    cast: "Cast",
    *,
    as_json: bool = False,
    owner: bool = False,
) -> None:
    """Print memories, the most valuable first; days are in each user's time zone."""
    worth = {memory.id: values.of(memory) for memory in found}

    def kind(memory: "OneMemory") -> str:
        return memory.kind if memory.category in {"fact", "skill"} else memory.category

    def due(memory: "OneMemory") -> object:
        if memory.due_at is None:
            return ""
        day = memory.due_at.astimezone(cast.zone(memory.user_id))
        return marked(f"{day:%Y-%m-%d}", f"[dim]{memory.due_for}[/]")

    def content(memory: "OneMemory") -> object:
        state = "" if memory.state == "active" else f"  [dim]({memory.state})[/]"
        return marked(escape(memory.content) + state)

    columns: list[tuple[str, Any]] = [
        ("id", lambda one: one.id[:8]),
        *([("user", lambda one: one.user_id)] if owner else []),
        ("kind", kind),
        ("now", lambda one: f"{worth[one.id]:.2f}"),
        ("uses", lambda one: one.uses),
        ("due", due),
        ("memory", content),
    ]
    show_items(
        sorted(found, key=lambda memory: (-worth[memory.id], memory.id)),
        columns,
        as_json=as_json,
        empty="no memories",
        to_data=lambda one: {**plain(one), "effective": worth[one.id]},
    )


def print_memory(one: "OneMemory", values: Worth, cast: "Cast", *, as_json: bool) -> None:
    """Print everything about one memory; times are in the user's time zone."""
    from rich.table import Column, Table

    from souffleur.cli.tables import print_table
    from souffleur.times import to_minute

    fields = {**plain(one), "effective": round(values.of(one), 4)}
    if as_json:
        print_json(fields)
        return
    table = Table("field", Column("value", overflow="fold"), show_header=False, box=None)
    zone = cast.zone(one.user_id)
    for key, moment in one:
        if isinstance(moment, datetime):
            fields[key] = f"{to_minute(moment, zone)} ({zone.key})"
    for key, value in fields.items():
        if value not in (None, [], {}, ""):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            table.add_row(key, escape(shown))
    print_table(table)


def print_search_results(
    hits: "Sequence[Found]", *, as_json: bool = False, explain: bool = False
) -> None:
    """Print search results, best first."""

    def parts(hit: "Found") -> str:
        return "  ".join(f"{key} {value:.2f}" for key, value in hit.parts.items() if value)

    columns: list[tuple[str, Any]] = [
        ("id", lambda hit: hit.item.id[:8]),
        ("score", lambda hit: f"{hit.score:.2f}"),
        *([("because", parts)] if explain else []),
        ("memory", lambda hit: Text(hit.text, "" if hit.relevant else "dim")),
    ]
    show_items(
        hits,
        columns,
        as_json=as_json,
        empty="nothing was found",
        to_data=lambda hit: _hit_data(hit, explain=explain),
    )


def _hit_data(hit: "Found", *, explain: bool) -> dict[str, Any]:
    from souffleur.knowledge.turn import Turn

    turn = hit.item if isinstance(hit.item, Turn) else None
    return {
        "id": hit.item.id,
        **({"session_id": turn.session_id, "host_turn_id": turn.turn_id} if turn else {}),
        "scope": hit.scope,
        "content": hit.text,
        "score": round(hit.score, 4),
        "relevance": round(hit.relevance, 4),
        "effective": round(hit.effective, 4),
        **({"parts": hit.parts} if explain else {}),
    }
