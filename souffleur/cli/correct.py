"""Commands that change memories; they print the ledger entries of the changes."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.entries import print_entries
from souffleur.cli.memory import (
    find_entry_id,
    find_memory_id,
    find_proposal,
    hint_at_others,
    with_memory,
)
from souffleur.cli.options import ME, AsJson, MemoryId, User, Yes, kind_of

if TYPE_CHECKING:
    from souffleur.cast import Cast
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.operation import LedgerEntry

ProposalId = Annotated[str, typer.Argument(help="Id of a proposal or memory, or its beginning.")]


def remember(
    text: Annotated[str, typer.Argument(help="One sentence, stored as it is.")],
    user: User = ME,
    kind: Annotated[str, typer.Option(help="preference, fact, promise, …")] = "fact",
    as_json: AsJson = False,
) -> None:
    """Store a sentence as it is, without asking a model."""

    async def work(memory: "Memory") -> "list[LedgerEntry]":
        return await memory.remember(text, user_id=user, kind=kind_of(kind))

    print_change(work, as_json=as_json)


def edit(
    id: MemoryId,
    text: Annotated[str, typer.Argument(help="The sentence as it should be.")],
    as_json: AsJson = False,
) -> None:
    """Change the words of a memory; can be undone."""

    async def work(memory: "Memory") -> "list[LedgerEntry]":
        found, owner = await find_memory_id(memory, id)
        return [await memory.edit(found, text, user_id=owner)]

    print_change(work, as_json=as_json)


def forget(
    query: Annotated[str, typer.Argument(help="Id of a memory, or words that describe it.")],
    user: User = ME,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forget a memory, or all that a text clearly means; can be undone."""
    from souffleur.errors import NotFoundError
    from souffleur.report.report import MEMORIES, count

    async def work(memory: "Memory") -> "list[LedgerEntry]":
        meant = await memory.forget(query, user_id=user, dry_run=True)
        if not meant:
            await hint_at_others(memory, user)
            raise NotFoundError(f"no memory of {user!r} is clearly meant by {query!r}")
        if not yes:
            print_entries(meant, await memory.cast(), as_json=False)
            typer.confirm(f"Forget {count(len(meant), *MEMORIES)}?", abort=True, err=True)
        return await memory.forget(query, user_id=user)

    print_change(work, as_json=as_json)


def undo(
    id: Annotated[str, typer.Argument(help="Id of a ledger entry, from `history`.")],
    as_json: AsJson = False,
) -> None:
    """Take back a change."""

    async def work(memory: "Memory") -> "list[LedgerEntry]":
        entry, owner = await find_entry_id(memory, id)
        return [await memory.undo(entry, user_id=owner)]

    print_change(work, as_json=as_json)


def confirm(id: ProposalId, as_json: AsJson = False) -> None:
    """Agree to a proposal (see `list --proposals`), or say that a memory is right."""

    async def work(memory: "Memory") -> "list[LedgerEntry]":
        found, owner = await find_proposal(memory, id)
        return [await memory.confirm(found, user_id=owner)]

    print_change(work, as_json=as_json)


def reject(id: ProposalId, as_json: AsJson = False) -> None:
    """Decline a proposal (see `list --proposals`), or forget a memory."""

    async def work(memory: "Memory") -> "list[LedgerEntry]":
        found, owner = await find_proposal(memory, id)
        return [await memory.reject(found, user_id=owner)]

    print_change(work, as_json=as_json, refused_is_done=True)


def share(
    id: Annotated[str, typer.Argument(help="Id of a memory or episode, or its beginning.")],
    as_json: AsJson = False,
) -> None:
    """Share a persona's own memory with all personas; can be undone."""

    async def work(memory: "Memory") -> "list[LedgerEntry]":
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

    With `refused_is_done` a refusal is the purpose of the command, and exits with 0.
    """

    async def both(memory: "Memory") -> "tuple[list[LedgerEntry], Cast]":
        return await work(memory), await memory.cast()

    entries, cast = with_memory(both)
    print_entries(entries, cast, as_json=as_json)
    if entries and not refused_is_done and all(entry.refused for entry in entries):
        raise typer.Exit(1)
