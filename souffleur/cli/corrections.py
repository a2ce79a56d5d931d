"""Commands by which users correct what is remembered: edit, confirm, reject."""

from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.memories import MemoryId, print_change
from souffleur.cli.options import AsJson
from souffleur.cli.short_ids import find_memory_id, find_proposal

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory
    from souffleur.knowledge.operation import LedgerEntry

ProposalId = Annotated[str, typer.Argument(help="Id of a proposal or memory, or its beginning.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (edit, confirm, reject):
        app.command()(command)


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
