"""Commands on memories: remember, list, show, search, history, undo, forget, share and others."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from souffleur.cli.event_loop import inspect, need_no_owner, with_memory
from souffleur.cli.hints import hint_at_others
from souffleur.cli.options import ME, AnyUser, AsJson, User, Yes
from souffleur.cli.short_ids import everyone, find_entry_id, find_memory_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from souffleur.cast import Cast
    from souffleur.cli.event_loop import Memory
    from souffleur.cli.format_memories import Worth
    from souffleur.knowledge.memory import Kind
    from souffleur.knowledge.operation import LedgerEntry

MemoryId = Annotated[str, typer.Argument(help="Id of a memory, or its beginning.")]

_LOOK_SECONDS = 1.0
"""Seconds between two looks at how far the judging is."""


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (remember, show, search, history, undo, forget, share, retry, migrate):
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
        chosen = _kind(kind)
        assert chosen is not None
        return await memory.remember(text, user_id=user, kind=chosen)

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
            whose = None if everybody else user or ME
            await _list_memories(memory, whose, _kind(kind), every=every, as_json=as_json)

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
    from souffleur.knowledge.talk.turn import TurnState

    failed = await inspect(memory).turns(state=TurnState.FAILED, user_id=user)
    format_memories.print_failed_turns(failed, await memory.cast(), as_json=as_json)


async def _list_proposals(memory: "Memory", user: str | None, *, as_json: bool) -> None:
    from souffleur.cli.format_ledger import print_entries

    users = await everyone(memory) if user is None else [user]
    waiting = [entry for one in users for entry in await memory.proposals(user_id=one)]
    print_entries(waiting, await memory.cast(), as_json=as_json)


def _kind(name: str | None) -> "Kind | None":
    """Return the kind of that name. Raises SettingsError if there is none."""
    from souffleur.errors import SettingsError
    from souffleur.knowledge.memory import Kind

    if name is not None and name not in tuple(Kind):
        raise SettingsError(f"there is no kind {name!r}; choose one of {', '.join(Kind)}")
    return Kind(name) if name is not None else None


def show(
    id: Annotated[str, typer.Argument(help="Id of a memory, or its beginning.")],
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
        from souffleur.knowledge.finding.search import Scope

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
    id: Annotated[str, typer.Argument(help="Id of a memory, or its beginning.")],
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
    from souffleur.cli import format_memories
    from souffleur.errors import NotFoundError

    async def work(memory: "Memory") -> Any:
        from souffleur.reporting.report import MEMORIES, count

        meant = await memory.matches(query, user_id=user)
        if not meant:
            await hint_at_others(memory, user)
            raise NotFoundError(f"no memory of {user!r} is clearly meant by {query!r}")
        if not yes:
            format_memories.print_search_results(meant, as_json=False)
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


def retry(user: AnyUser = None) -> None:
    """Judge the turns that failed again, and those that wait; needs the model's endpoint."""
    from souffleur.cli.event_loop import run_async

    tried, left, error = run_async(_retry(user))
    why = f" ({error})" if error else ""
    from souffleur.reporting.report import count

    typer.echo(f"{tried - left} of {count(tried, 'turn')} judged, {left} not{why}")
    raise typer.Exit(1 if left else 0)


async def _retry(user: str | None) -> tuple[int, int, str]:
    """Return how many turns were tried, how many are left, and why."""
    from souffleur.cli.event_loop import find_owner
    from souffleur.errors import SettingsError
    from souffleur.runtime import Souffleur
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            if (await owner.health()).endpoint == "none":
                raise SettingsError(
                    "no model is configured for the process that serves the store: start it with "
                    "SOUFFLEUR_BASE_URL or SOUFFLEUR_API_KEY"
                )
            return await _judge_again(owner, user)
    async with Souffleur.open(need_model(load_settings())) as memory:
        return await _judge_again(memory, user)


async def _judge_again(memory: "Memory", user: str | None) -> tuple[int, int, str]:
    from souffleur.knowledge.talk.turn import TurnState

    inspection = inspect(memory)
    waiting = len(await inspection.turns(state=TurnState.PENDING, user_id=user))
    tried = waiting + await memory.retry(user_id=user)
    await _work_off(memory)
    states = (TurnState.FAILED, TurnState.PENDING)
    left = sum([len(await inspection.turns(state=state, user_id=user)) for state in states])
    return tried, left, await inspection.error()


async def _work_off(memory: "Memory") -> None:
    """Wait until everything due is judged and summarised, and show how far it is."""
    from souffleur.cli.console import progress

    total = (await memory.health()).waiting
    working = asyncio.create_task(memory.flush())
    try:
        with progress("judging") as show:
            while not working.done():
                await asyncio.wait([working], timeout=_LOOK_SECONDS)
                show(total - (await memory.health()).waiting, total)
        await working
    finally:
        working.cancel()


def migrate(
    to: Annotated[str, typer.Argument(help="An empty folder, or the URL of a Qdrant server.")],
) -> None:
    """Copy the whole store for the current embedder and policy; the old store stays."""
    from pathlib import Path

    from souffleur.cli.console import progress
    from souffleur.cli.event_loop import run_async

    async def work() -> int:
        from souffleur.knowledge.migration import copy_store
        from souffleur.knowledge.policy import POLICIES
        from souffleur.settings import load_settings
        from souffleur.wiring import make_place, settings_embedder

        await need_no_owner()
        settings = load_settings()
        there = {"qdrant_url": to} if "://" in to else {"qdrant_url": None, "path": Path(to)}
        target = make_place(settings.model_copy(update=there))
        embedder, policy = settings_embedder(settings), POLICIES[settings.policy]
        with progress("copying") as step:
            return await copy_store(make_place(settings), target, embedder, policy, step=step)

    copied = run_async(work())
    name = "SOUFFLEUR_QDRANT_URL" if "://" in to else "SOUFFLEUR_PATH"
    from souffleur.reporting.report import MEMORIES, count

    typer.echo(f"{count(copied, *MEMORIES)} copied; set {name}={to} to use them")


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
