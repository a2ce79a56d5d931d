"""Commands that show memories: list, search, show, history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text
from typer import Argument, Option

from souffleur.cli.command import Result, listed, on_memory, printed
from souffleur.cli.console import console, plain
from souffleur.cli.entries import list_entries
from souffleur.cli.memory import everyone, find_memory_id, hint_at_others, inspect
from souffleur.cli.options import ME, MemoryId, User, flag, kind_of, of_user
from souffleur.cli.past import list_episodes
from souffleur.cli.tables import marked, print_table, show as show_items
from souffleur.errors import SettingsError
from souffleur.knowledge.text.plain import single_line
from souffleur.times import to_minute

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.memory import Memory as OneMemory
    from souffleur.knowledge.policy import Policy
    from souffleur.knowledge.search.query import Found
    from souffleur.participants import Cast

WHOSE = f"The user whose memories to list; default: {ME}, of turns and proposals all."


@dataclass(frozen=True)
class Worth:
    """The effective values of memories at a certain time."""

    now: datetime
    policy: "Policy"

    def of(self, memory: "OneMemory") -> float:
        """Return the effective value of a memory."""
        from souffleur.knowledge.decay import effective

        return effective(memory, self.now, self.policy)

    def ranked(self, found: "Sequence[OneMemory]") -> "list[OneMemory]":
        """Return memories, the most valuable first."""
        return sorted(found, key=lambda memory: (-self.of(memory), memory.id))


@printed
@on_memory
async def list_(
    memory: "Memory",
    user: Annotated[str | None, of_user(WHOSE, usual=True)] = None,
    kind: Annotated[str | None, Option(help="Only this kind: fact, promise, …")] = None,
    everybody: Annotated[bool, flag("--everybody", "List all users'.")] = False,
    episodes: Annotated[bool, flag("--episodes", "List the episodes, newest first.")] = False,
    failed: Annotated[bool, flag("--failed", "List the turns that could not be judged.")] = False,
    proposals: Annotated[
        bool, flag("--proposals", "List the changes that wait for consent.")
    ] = False,
    every: Annotated[bool, flag("--all", "Include superseded and forgotten memories.")] = False,
    limit: Annotated[int, Option(min=1, max=500, help="With --episodes: the maximum number.")] = 20,
) -> Result:
    """List memories, the most valuable first; or episodes, failed turns, proposals."""
    if failed:
        return await _list_failed(memory, user)
    if proposals:
        return await _list_proposals(memory, user)
    if episodes:
        return await list_episodes(memory, user or ME, limit)
    whose = None if everybody else ME if user is None else user
    return await _list_memories(memory, whose, kind, every=every)


async def _list_memories(
    memory: "Memory", user: str | None, kind: str | None, *, every: bool
) -> Result:
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
    if not found and user is not None:
        await hint_at_others(memory, user)
    worth, cast = worth_now(memory), await memory.cast()
    return Result(
        [{**plain(one), "effective": worth.of(one)} for one in worth.ranked(found)],
        lambda: print_memories(found, worth, cast, owner=user is None),
    )


async def _list_failed(memory: "Memory", user: str | None) -> Result:
    from souffleur.knowledge.turn import TurnState

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
    return listed(failed, columns, empty="no turn has failed")


async def _list_proposals(memory: "Memory", user: str | None) -> Result:
    users = await everyone(memory) if user is None else [user]
    waiting = [entry for one in users for entry in await memory.proposals(user_id=one)]
    return list_entries(waiting, await memory.cast(), "no proposal waits")


@printed
@on_memory
async def search(
    memory: "Memory",
    text: Annotated[str, Argument(help="The words to look for.")],
    user: User = ME,
    limit: Annotated[int, Option(min=1, max=100)] = 10,
    scope: Annotated[
        list[str] | None, Option(help="memories (default), episodes, turns; repeatable.")
    ] = None,
    explain: Annotated[bool, flag("--explain", "Show the parts of each score.")] = False,
) -> Result:
    """Search a user's memories, episodes and raw turns."""
    from souffleur.knowledge.search.query import Scope

    wanted = scope or [Scope.MEMORIES]
    if not set(wanted) <= set(Scope):
        raise SettingsError(f"--scope must be one of {', '.join(Scope)}")
    hits = await memory.search(text, user_id=user, scope=[*map(Scope, wanted)], limit=limit)
    found = [hit for hit in hits if round(hit.score, 2) > 0]
    if not found:
        await hint_at_others(memory, user)
    return _list_hits(found, explain=explain)


@printed
@on_memory
async def show(memory: "Memory", id: MemoryId) -> Result:
    """Show one memory with everything known about it."""
    found, owner = await find_memory_id(memory, id)
    one = await memory.get(found, user_id=owner)
    worth, zone = worth_now(memory), (await memory.cast()).zone(owner)
    fields = {**plain(one), "effective": round(worth.of(one), 4)}
    return Result(fields, lambda: _print_memory(one, worth, zone))


@printed
@on_memory
async def history(memory: "Memory", id: MemoryId) -> Result:
    """Show all changes of a memory: who, when, why, and on which words."""
    found, owner = await find_memory_id(memory, id)
    return list_entries(await memory.history(found, user_id=owner), await memory.cast())


def worth_now(memory: "Memory") -> Worth:
    """Return the values of memories now, by the configured policy."""
    from souffleur.knowledge.policy import POLICIES
    from souffleur.settings import load_settings

    return Worth(memory.clock(), POLICIES[load_settings().policy])


def print_memories(
    found: "Sequence[OneMemory]", worth: Worth, cast: "Cast", *, owner: bool = False
) -> None:
    """Print memories, the most valuable first; days are in each user's time zone.

    With `owner`, there is a column of users.
    """

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
        ("now", lambda one: f"{worth.of(one):.2f}"),
        ("uses", lambda one: one.uses),
        ("due", due),
        ("memory", content),
    ]
    show_items(worth.ranked(found), columns, empty="no memories")


def _print_memory(one: "OneMemory", worth: Worth, zone: ZoneInfo) -> None:
    """Print a memory as a card: what it says, why it is believed, and what becomes of it."""

    def day(moment: datetime | None) -> str:
        return f"{moment.astimezone(zone):%Y-%m-%d}" if moment else ""

    until = day(one.valid_until)
    rows = {
        "id": one.id,
        "user": one.user_id,
        "is": f"{one.category}, {one.kind}, {one.state}",
        "worth": f"{worth.of(one):.2f} now, {one.importance:.2f} on {day(one.anchor_at)}",
        "used": f"{one.uses} times, last on {day(one.last_used_at)}" if one.uses else "not yet",
        "told": f"{to_minute(one.created_at, zone)} ({zone.key})",
        "true": f"since {day(one.valid_from)}" + (f", until {until}" if until else ""),
        "over": day(one.expires_at),
        "next": f"{one.due_for} on {day(one.due_at)}" if one.due_at else "",
        "topics": ", ".join(one.topics),
        "comes to mind": ", ".join(one.cues),
        "replaced by": one.superseded_by or "",
    }
    quotes = [f'"{single_line(said.quote)}" ({said.speaker})' for said in one.evidence]
    table = Table("field", Column("value", overflow="fold"), show_header=False, box=None)
    for name, value in (*rows.items(), *(("because of", quote) for quote in quotes)):
        if value:
            table.add_row(f"[dim]{name}[/]", escape(value))
    console.print(f"[bold]{escape(one.content)}[/]", soft_wrap=True)
    print_table(table)


def _list_hits(hits: "Sequence[Found]", *, explain: bool) -> Result:
    """Return search results, best first."""

    def parts(hit: "Found") -> str:
        return "  ".join(f"{key} {value:.2f}" for key, value in hit.parts.items() if value)

    columns: list[tuple[str, Any]] = [
        ("id", lambda hit: hit.item.id[:8]),
        ("score", lambda hit: f"{hit.score:.2f}"),
        *([("because", parts)] if explain else []),
        ("memory", lambda hit: Text(hit.text, "" if hit.relevant else "dim")),
    ]
    data = [_hit_data(hit, explain=explain) for hit in hits]
    return Result(data, lambda: show_items(hits, columns, empty="nothing was found"))


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
