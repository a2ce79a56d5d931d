"""Commands on memories: remember, list, show, search, history, undo, forget, share."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from souffleur.cli.event_loop import inspect, with_memory
from souffleur.cli.hints import hint_at_others
from souffleur.cli.options import ME, AsJson, User, Yes
from souffleur.cli.short_ids import everyone, find_entry_id, find_memory_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from souffleur.cast import Cast
    from souffleur.cli.event_loop import Memory
    from souffleur.cli.format_memories import Worth
    from souffleur.knowledge.memory import Kind
    from souffleur.knowledge.operation import LedgerEntry

MemoryId = Annotated[str, typer.Argument(help="Id of a memory, or its beginning.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (remember, show, search, history, undo, forget, share):
        app.command()(command)
    app.command("list")(list_)


def remember(
    text: Annotated[str, typer.Argument(help="One sentence, stored as it is.")],
    user: User = ME,
    kind: Annotated[str, typer.Option(help="preference, fact, promise, …")] = "fact",
    as_json: AsJson = False,
) -> None:
    """Store a sentence as it is, without asking a model."""

    async def work(memory: "Memory") -> Any:
        return await memory.remember(text, user_id=user, kind=_kind(kind))

    print_change(work, as_json=as_json)


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
    failed: Annotated[
        bool, typer.Option("--failed", help="List the turns that could not be judged.")
    ] = False,
    proposals: Annotated[
        bool, typer.Option("--proposals", help="List the changes that wait for consent.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Include superseded and forgotten ones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List memories, the most valuable first."""

    async def work(memory: "Memory") -> None:
        if proposals:
            await _list_proposals(memory, user, as_json=as_json)
        else:
            whose = None if everybody else ME if user is None else user
            only = None if kind is None else _kind(kind)
            await _list_memories(memory, whose, only, every=every, as_json=as_json)

    if failed:
        with_memory(lambda memory: _list_failed(memory, user, as_json=as_json))
    else:
        with_memory(work)


async def _list_memories(
    memory: "Memory", user: str | None, kind: "Kind | None", *, every: bool, as_json: bool
) -> None:
    from souffleur.cli import format_memories
    from souffleur.knowledge.memory import MemoryState

    states = [None] if every else [MemoryState.ACTIVE, MemoryState.PENDING]
    users = await everyone(memory) if user is None else [user]
    found = [
        memory_
        for one in users
        for state in states
        for memory_ in await memory.list(user_id=one, state=state, kind=kind)
    ]
    cast, worth = await memory.cast(), _worth(memory)
    format_memories.print_memories(found, worth, cast, as_json=as_json, owner=user is None)
    if not found and user is not None:
        await hint_at_others(memory, user)


def _worth(memory: "Memory") -> "Worth":
    """Return what memories are worth now."""
    from souffleur.cli.format_memories import Worth
    from souffleur.knowledge.policy import POLICIES
    from souffleur.settings import load_settings

    return Worth(memory.clock(), POLICIES[load_settings().policy])


async def _list_failed(memory: "Memory", user: str | None, *, as_json: bool) -> None:
    from souffleur.cli import format_memories
    from souffleur.knowledge.turn import TurnState

    failed = await inspect(memory).turns(state=TurnState.FAILED, user_id=user)
    format_memories.print_failed_turns(failed, await memory.cast(), as_json=as_json)


async def _list_proposals(memory: "Memory", user: str | None, *, as_json: bool) -> None:
    from souffleur.cli.format_ledger import print_entries

    users = await everyone(memory) if user is None else [user]
    waiting = [entry for one in users for entry in await memory.proposals(user_id=one)]
    print_entries(waiting, await memory.cast(), as_json=as_json)


def _kind(name: str) -> "Kind":
    """Return the kind of that name. Raises SettingsError if there is none."""
    from souffleur.errors import SettingsError
    from souffleur.knowledge.memory import Kind

    if name not in tuple(Kind):
        raise SettingsError(f"there is no kind {name!r}; choose one of {', '.join(Kind)}")
    return Kind(name)


def show(
    id: MemoryId,
    as_json: AsJson = False,
) -> None:
    """Show one memory with everything known about it."""
    from souffleur.cli import format_memories

    async def work(memory: "Memory") -> None:
        found, owner = await find_memory_id(memory, id)
        one = await memory.get(found, user_id=owner)
        format_memories.print_memory(one, _worth(memory), await memory.cast(), as_json=as_json)

    with_memory(work)


def search(
    text: Annotated[str, typer.Argument(help="What to look for.")],
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
    from souffleur.cli import format_memories

    async def work(memory: "Memory") -> None:
        from souffleur.errors import SettingsError
        from souffleur.knowledge.search.memories import Scope

        wanted = scope or [Scope.MEMORIES]
        if not set(wanted) <= set(Scope):
            raise SettingsError(f"--scope must be one of {', '.join(Scope)}")
        through = [Scope(name) for name in wanted]
        hits = await memory.search(text, user_id=user, scope=through, limit=limit)
        found = [hit for hit in hits if round(hit.score, 2) > 0]
        format_memories.print_search_results(found, as_json=as_json, explain=explain)
        if not found:
            await hint_at_others(memory, user)

    with_memory(work)


def history(
    id: MemoryId,
    as_json: AsJson = False,
) -> None:
    """Show all changes of a memory: who, when, why, and on which words."""

    async def work(memory: "Memory") -> Any:
        found, owner = await find_memory_id(memory, id)
        return await memory.history(found, user_id=owner)

    print_change(work, as_json=as_json)


def undo(
    id: Annotated[str, typer.Argument(help="Id of a ledger entry, from `history`.")],
    as_json: AsJson = False,
) -> None:
    """Take back a change."""

    async def work(memory: "Memory") -> Any:
        entry, owner = await find_entry_id(memory, id)
        return [await memory.undo(entry, user_id=owner)]

    print_change(work, as_json=as_json)


def forget(
    query: Annotated[str, typer.Argument(help="Id of a memory, or words that describe it.")],
    user: User = ME,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forget a memory, or all that a text clearly means; can be undone."""
    from souffleur.cli.format_ledger import print_entries
    from souffleur.errors import NotFoundError

    async def work(memory: "Memory") -> Any:
        from souffleur.report.report import MEMORIES, count

        meant = await memory.forget(query, user_id=user, dry_run=True)
        if not meant:
            await hint_at_others(memory, user)
            raise NotFoundError(f"no memory of {user!r} is clearly meant by {query!r}")
        if not yes:
            print_entries(meant, await memory.cast(), as_json=False)
            typer.confirm(f"Forget {count(len(meant), *MEMORIES)}?", abort=True, err=True)
        return await memory.forget(query, user_id=user)

    print_change(work, as_json=as_json)


def share(
    id: Annotated[str, typer.Argument(help="Id of a memory or episode, or its beginning.")],
    as_json: AsJson = False,
) -> None:
    """Share a persona's own memory with all personas; can be undone."""

    async def work(memory: "Memory") -> Any:
        found, owner = await find_memory_id(memory, id)
        return [await memory.share(found, user_id=owner)]

    print_change(work, as_json=as_json)


def print_change(
    work: "Callable[[Memory], Awaitable[list[LedgerEntry]]]",
    *,
    as_json: bool,
    refused_is_done: bool = False,
) -> None:
    """Change memories and print the ledger entries; exit with 1 if all were refused.

    With `refused_is_done` a refusal is what was asked for.
    """
    from souffleur.cli.format_ledger import print_entries

    async def both(memory: "Memory") -> "tuple[list[LedgerEntry], Cast]":
        return await work(memory), await memory.cast()

    outcomes, cast = with_memory(both)
    print_entries(outcomes, cast, as_json=as_json)
    if outcomes and not refused_is_done and all(outcome.refused for outcome in outcomes):
        raise typer.Exit(1)
