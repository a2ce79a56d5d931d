"""Commands on removal for good: forget-topic, compact."""

from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import with_memory
from souffleur.cli.hints import hint_at_others
from souffleur.cli.options import ME, AsJson, User, Yes

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (forget_topic, compact):
        app.command()(command)


def forget_topic(
    topic: Annotated[str, typer.Argument(help="A name, or a few words.")],
    user: User = ME,
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would go.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what may belong to the topic, listed with a '?'.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forget a topic for good, with all that rests on it; shows it first, and asks."""
    from souffleur.cli import format_store
    from souffleur.errors import NotFoundError

    async def work(memory: "Memory") -> None:
        found = await memory.preview_topic(topic, user_id=user)
        if not found.traces:
            await hint_at_others(memory, user)
            raise NotFoundError(f"nothing of {user!r} tells of {topic!r}")
        if preview or not yes:
            format_store.print_topic(found, as_json=as_json and preview)
        if preview:
            return
        if not yes:
            typer.confirm("Forget this for good?", abort=True, err=True)
        ids = [one.id for one in found.traces] if everything else found.ids
        gone = await memory.forget_topic(topic, user_id=user, ids=ids)
        format_store.print_erased(gone, as_json=as_json)

    with_memory(work)


def compact(as_json: AsJson = False) -> None:
    """Rewrite the files of the store, so that nothing deleted is left in them."""
    from souffleur.cli.console import print_json

    async def work(memory: "Memory") -> None:
        remarks = await memory.compact()
        if as_json:
            print_json(remarks)
        else:
            print("\n".join(remarks) or "nothing deleted is left in the files")

    with_memory(work)
