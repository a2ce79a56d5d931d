"""Commands that erase for good, or mend a store: erase, repair, reembed, compact."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from typer import Option

from souffleur.cli.command import Result, in_loop, on_memory, printed
from souffleur.cli.console import console, progress
from souffleur.cli.memory import (
    OPENER,
    find_memory_id,
    find_turn_id,
    hint_at_others,
    need_no_owner,
    with_store,
)
from souffleur.cli.move import format_counts
from souffleur.cli.options import ME, DryRun, Yes, flag, of_user
from souffleur.cli.tables import show
from souffleur.errors import NotFoundError, SettingsError
from souffleur.knowledge.text.plain import single_line
from souffleur.report.phrases import count

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.forgetting.topic import TopicPreview, Trace
    from souffleur.knowledge.operation import LedgerEntry
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.repair import Broken
    from souffleur.knowledge.store.topics import Forgotten

_TURN = "Erase only this turn, by the host's id or the beginning of its own."
_TOPIC = "Erase all that tells of a topic, a name or a few words; lists it first."
_ALL = "With --topic: also what may belong to it, listed as '?'."


@printed
@on_memory
async def erase(
    memory: "Memory",
    user: Annotated[
        str | None, of_user("Erase everything of this user; with --topic: whose.")
    ] = None,
    turn: Annotated[str | None, Option(help=_TURN)] = None,
    memory_id: Annotated[
        str | None, Option("--memory", help="Erase only this memory, by its id or its beginning.")
    ] = None,
    topic: Annotated[str | None, Option(help=_TOPIC)] = None,
    turns: Annotated[
        bool, flag("--turns", "With --memory: also the turns that it rests on.")
    ] = False,
    everything: Annotated[bool, flag("--all", _ALL)] = False,
    preview: Annotated[bool, flag("--preview", "With --topic: only list it.")] = False,
    yes: Yes = False,
) -> Result:
    """Erase a user, a topic, a memory, or a turn and what rests on it, now and for good."""
    if topic is not None:
        whose = user or ME
        found = await _preview(memory, topic, whose)
        if preview:
            return Result(found, lambda: _print_topic(found))
        if not yes:
            _print_topic(found)
        _ask("Erase this", yes=yes)
        ids = [one.id for one in found.traces] if everything else found.ids
        return _receipt(await memory.forget_topic(topic, user_id=whose, ids=ids))
    if memory_id is not None:
        id, owner = await find_memory_id(memory, memory_id)
        _ask(f"Erase the memory {id[:8]} of {owner!r}", yes=yes)
        return _receipt(await memory.erase_memory(id, user_id=owner, turns=turns))
    if turn is not None:
        id, owner = await find_turn_id(memory, turn, user)
        _ask(f"Erase the turn {id[:8]} of {owner!r}", yes=yes)
        return _receipt(await memory.erase_turn(id, user_id=owner))
    if user is not None:
        _ask(f"Erase everything of {user!r}", yes=yes)
        return _receipt(await _erase_person(memory, user))
    raise SettingsError("say what to erase: --user ID, --memory ID, --turn ID or --topic WORDS")


async def _erase_person(memory: "Memory", user: str) -> "Erased":
    from souffleur.server.tokens import TokenFile, erase_person
    from souffleur.settings import load_settings

    return await erase_person(memory, TokenFile(load_settings().tokens_file), user)


async def _preview(memory: "Memory", topic: str, user: str) -> "TopicPreview":
    """Return all records about a topic. Raises NotFoundError if there are no such records."""
    found = await memory.preview_topic(topic, user_id=user)
    if not found.traces:
        await hint_at_others(memory, user)
        raise NotFoundError(f"nothing of {user!r} tells of {topic!r}")
    return found


def _ask(question: str, *, yes: bool) -> None:
    if not yes:
        typer.confirm(f"{question}, for good?", abort=True, err=True)


def _print_topic(found: "TopicPreview") -> None:
    """Print all records about a topic; a question mark marks uncertain records."""

    def says(one: "Trace") -> str:
        return single_line(one.text if one.whole or not one.lines else " … ".join(one.lines))

    columns = (
        ("", lambda one: "" if one.sure else "?"),
        ("what", lambda one: one.kind if one.whole else f"{one.kind}, in part"),
        ("says", says),
        ("why", lambda one: one.why),
    )
    show(found.traces, columns)
    for note in found.notes:
        console.print(f"[dim]{escape(note)}[/dim]")


def _receipt(erased: "Erased | Forgotten") -> Result:
    """Return a receipt: numbers, and no words."""
    said = [f"erased of {erased.user_id}: {format_counts(erased.counts)}", *erased.remarks]
    return Result(erased, lambda: print("\n".join(said)))


def repair(
    out: Annotated[Path, Option(help="A new file for the records that cannot be read.")] = Path(
        "souffleur-unreadable.jsonl"
    ),
    dry_run: DryRun = False,
) -> None:
    """Move records that cannot be read out of the store, into a file."""

    async def work(memory: "Souffleur") -> "tuple[list[Broken], list[LedgerEntry]]":
        from souffleur.knowledge.store.repair import find_broken, take_out

        broken = await find_broken(memory.knowledge)
        if dry_run:
            return broken, []
        return broken, await take_out(memory.knowledge, broken, out, now=memory.clock())

    broken, restored = with_store(work)
    if not broken:
        typer.echo("nothing to repair: all can be read")
        return
    for one in broken:
        typer.echo(f"  {one.why}")
    done = "would be moved to a file" if dry_run else f"moved to {out}"
    typer.echo(f"{count(len(broken), 'record')} {done}")
    for entry in restored:
        typer.echo(f"holds again: {entry.changes[0].after.content}")


@printed
@in_loop
async def reembed() -> Result:
    """Embed a store anew, in place, with the embedder that is set now; it can be interrupted."""
    from souffleur.parts import open_store
    from souffleur.settings import load_settings

    await need_no_owner()
    knowledge = await open_store(load_settings(reembed=True), opener=OPENER.get())
    try:
        with progress("memories") as step:
            memories = await knowledge.embed_anew(step)
        with progress("turns") as step:
            turns = await knowledge.embed_turns(progress=step)
    finally:
        await knowledge.close()
    counts = {kind: n for kind, n in {"memory": memories, "turn": turns}.items() if n}
    nothing = "nothing to do: the store is of this embedder"
    done = f"embedded anew: {format_counts(counts)}" if counts else nothing
    return Result({"memories": memories, "turns": turns}, lambda: print(done))


@printed
@on_memory
async def compact(memory: "Memory") -> Result:
    """Rewrite the files of the store, so that nothing deleted is left in them."""
    remarks = await memory.compact()
    said = "\n".join(remarks) or "nothing deleted is left in the files"
    return Result(remarks, lambda: print(said))
