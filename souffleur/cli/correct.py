"""Commands that change memories; they print the ledger entries of the changes."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from souffleur.cli.command import Result, on_memory, printed
from souffleur.cli.entries import list_entries, print_entries
from souffleur.cli.memory import find_entry_id, find_memory_id, find_proposal, hint_at_others
from souffleur.cli.options import ME, MemoryId, User, Yes, kind_of
from souffleur.errors import NotFoundError
from souffleur.report.phrases import MEMORIES, count

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.operation import LedgerEntry

_ID = re.compile(r"[0-9a-f]{4,8}(?:-[0-9a-f-]{0,27})?")
"""The id of a memory, or its beginning."""
ProposalId = Annotated[str, Argument(help="Id of a proposal or memory, or its beginning.")]


@printed
@on_memory
async def remember(
    memory: "Memory",
    text: Annotated[str, Argument(help="One sentence, stored as it is.")],
    user: User = ME,
    kind: Annotated[str, Option(help="preference, fact, promise, …")] = "fact",
) -> Result:
    """Store a sentence as it is, without asking a model."""
    return await _changed(memory, *await memory.remember(text, user_id=user, kind=kind_of(kind)))


@printed
@on_memory
async def edit(
    memory: "Memory",
    id: MemoryId,
    text: Annotated[str, Argument(help="The sentence as it should be.")],
) -> Result:
    """Change the words of a memory; can be undone."""
    found, owner = await find_memory_id(memory, id)
    return await _changed(memory, await memory.edit(found, text, user_id=owner))


@printed
@on_memory
async def forget(
    memory: "Memory",
    query: Annotated[str, Argument(help="Id of a memory, or words that describe it.")],
    user: User = ME,
    yes: Yes = False,
) -> Result:
    """Forget a memory, or all that a text clearly means; can be undone."""
    if _ID.fullmatch(query):
        with suppress(NotFoundError):  # then these are words
            query, user = await find_memory_id(memory, query)
    meant = await memory.forget(query, user_id=user, dry_run=True)
    if not meant:
        await hint_at_others(memory, user)
        raise NotFoundError(f"no memory of {user!r} is clearly meant by {query!r}")
    if not yes:
        print_entries(meant, await memory.cast())
        typer.confirm(f"Forget {count(len(meant), *MEMORIES)}?", abort=True, err=True)
    return await _changed(memory, *await memory.forget(query, user_id=user))


@printed
@on_memory
async def undo(
    memory: "Memory", id: Annotated[str, Argument(help="Id of a ledger entry, from `history`.")]
) -> Result:
    """Take back a change."""
    entry, owner = await find_entry_id(memory, id)
    return await _changed(memory, await memory.undo(entry, user_id=owner))


@printed
@on_memory
async def confirm(memory: "Memory", id: ProposalId) -> Result:
    """Agree to a proposal (see `list --proposals`), or say that a memory is right."""
    found, owner = await find_proposal(memory, id)
    return await _changed(memory, await memory.confirm(found, user_id=owner))


@printed
@on_memory
async def reject(memory: "Memory", id: ProposalId) -> Result:
    """Decline a proposal (see `list --proposals`), or forget a memory."""
    found, owner = await find_proposal(memory, id)
    entry = await memory.reject(found, user_id=owner)
    return list_entries([entry], await memory.cast())  # the refusal is wanted: exit code 0


@printed
@on_memory
async def share(
    memory: "Memory",
    id: Annotated[str, Argument(help="Id of a memory or episode, or its beginning.")],
) -> Result:
    """Share a persona's own memory with all personas; can be undone."""
    found, owner = await find_memory_id(memory, id)
    return await _changed(memory, await memory.share(found, user_id=owner))


async def _changed(memory: "Memory", *entries: "LedgerEntry") -> Result:
    """Return the entries of changes as a result; its exit code is 1 if all were refused."""
    result = list_entries(entries, await memory.cast())
    refused = bool(entries) and all(entry.refused for entry in entries)
    return replace(result, code=int(refused))
