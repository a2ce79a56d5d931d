"""Commands that erase for good, or mend a store: erase, repair, reembed, compact."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from souffleur.cli.console import console, plain, print_json, progress
from souffleur.cli.memory import (
    OPENER,
    find_memory_id,
    find_turn_id,
    hint_at_others,
    need_no_owner,
    run_async,
    with_memory,
    with_store,
)
from souffleur.cli.move import format_counts
from souffleur.cli.options import ME, AsJson, Yes
from souffleur.cli.tables import show

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.forgetting.topic import TopicPreview, Trace
    from souffleur.knowledge.operation import LedgerEntry
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.repair import Broken
    from souffleur.knowledge.store.topics import Forgotten


def erase(
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help="Erase everything of this user; with --topic: whose."),
    ] = None,
    turn: Annotated[
        str | None,
        typer.Option(help="Erase only this turn, by the host's id or the beginning of its own."),
    ] = None,
    memory_id: Annotated[
        str | None,
        typer.Option("--memory", help="Erase only this memory, by its id or its beginning."),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="Erase all that tells of a topic, a name or a few words; lists it first."
        ),
    ] = None,
    turns: Annotated[
        bool, typer.Option("--turns", help="With --memory: also the turns that it rests on.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --topic: also what may belong to it, listed as '?'.")
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="With --topic: only list it.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Erase a user, a topic, a memory, or a turn and what rests on it, now and for good."""
    from souffleur.errors import SettingsError

    async def work(memory: "Memory") -> "Erased | Forgotten | None":
        if topic is not None:
            whose = user or ME
            found = await _preview(memory, topic, whose)
            if preview or not yes:
                _print_topic(found, as_json=as_json and preview)
            if preview:
                return None
            _ask("Erase this", yes=yes)
            ids = [one.id for one in found.traces] if everything else found.ids
            return await memory.forget_topic(topic, user_id=whose, ids=ids)
        if memory_id is not None:
            id, owner = await find_memory_id(memory, memory_id)
            _ask(f"Erase the memory {id[:8]} of {owner!r}", yes=yes)
            return await memory.erase_memory(id, user_id=owner, turns=turns)
        if turn is not None:
            id, owner = await find_turn_id(memory, turn, user)
            _ask(f"Erase the turn {id[:8]} of {owner!r}", yes=yes)
            return await memory.erase_turn(id, user_id=owner)
        assert user is not None
        _ask(f"Erase everything of {user!r}", yes=yes)
        return await memory.erase_user(user_id=user)

    if user is None and turn is None and memory_id is None and topic is None:
        raise SettingsError("say what to erase: --user ID, --memory ID, --turn ID or --topic WORDS")
    if erased := with_memory(work):
        _print_erased(erased, as_json=as_json)


async def _preview(memory: "Memory", topic: str, user: str) -> "TopicPreview":
    """Return all that tells of a topic. Raises NotFoundError if nothing does."""
    from souffleur.errors import NotFoundError

    found = await memory.preview_topic(topic, user_id=user)
    if not found.traces:
        await hint_at_others(memory, user)
        raise NotFoundError(f"nothing of {user!r} tells of {topic!r}")
    return found


def _ask(question: str, *, yes: bool) -> None:
    if not yes:
        typer.confirm(f"{question}, for good?", abort=True, err=True)


def _print_topic(found: "TopicPreview", *, as_json: bool) -> None:
    """Print all that tells of a topic; a question mark stands before what may not belong to it."""
    from souffleur.knowledge.text.plain import single_line

    if as_json:
        print_json(plain(found))
        return

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


def _print_erased(erased: "Erased | Forgotten", *, as_json: bool) -> None:
    """Print a receipt: numbers, and no words."""
    if as_json:
        print_json(plain(erased))
        return
    print(f"erased of {erased.user_id}: {format_counts(erased.counts)}")
    for remark in erased.remarks:
        print(remark)


def repair(
    out: Annotated[
        Path, typer.Option(help="A new file for the records that cannot be read.")
    ] = Path("souffleur-unreadable.jsonl"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing.")] = False,
) -> None:
    """Move records that cannot be read out of the store, into a file."""

    async def work(memory: "Souffleur") -> "tuple[list[Broken], list[LedgerEntry]]":
        from souffleur.knowledge.store.repair import find_broken, take_out

        broken = await find_broken(memory.knowledge)
        if dry_run:
            return broken, []
        return broken, await take_out(memory.knowledge, broken, out, now=memory.clock())

    broken, restored = with_store(work)
    _print_repaired(broken, restored, "" if dry_run else str(out))


def _print_repaired(broken: "list[Broken]", restored: "list[LedgerEntry]", file: str) -> None:
    from souffleur.report.report import count

    if not broken:
        typer.echo("nothing to repair: all can be read")
        return
    for one in broken:
        typer.echo(f"  {one.why}")
    done = f"moved to {file}" if file else "would be moved to a file"
    typer.echo(f"{count(len(broken), 'record')} {done}")
    for entry in restored:
        typer.echo(f"holds again: {entry.changes[0].after.content}")


def reembed(as_json: AsJson = False) -> None:
    """Embed a store anew, in place, with the embedder that is set now; it can be interrupted."""
    memories, turns = run_async(_reembed())
    done = {kind: n for kind, n in {"memory": memories, "turn": turns}.items() if n}
    if as_json:
        print_json({"memories": memories, "turns": turns})
    elif done:
        print(f"embedded anew: {format_counts(done)}")
    else:
        print("nothing to do: the store is of this embedder")


async def _reembed() -> tuple[int, int]:
    from souffleur.parts import open_store
    from souffleur.settings import load_settings

    await need_no_owner()
    knowledge = await open_store(load_settings(reembed=True), opener=OPENER.get())
    try:
        with progress("memories") as step:
            memories = await knowledge.embed_anew(step)
        with progress("turns") as step:
            return memories, await knowledge.embed_turns(progress=step)
    finally:
        await knowledge.close()


def compact(as_json: AsJson = False) -> None:
    """Rewrite the files of the store, so that nothing deleted is left in them."""

    async def work(memory: "Memory") -> None:
        remarks = await memory.compact()
        if as_json:
            print_json(remarks)
        else:
            print("\n".join(remarks) or "nothing deleted is left in the files")

    with_memory(work)
