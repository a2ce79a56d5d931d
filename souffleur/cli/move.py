"""Commands that move memories: backup, restore, export, import, migrate, mirror."""

import asyncio
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from souffleur.cli.command import Result, in_loop, on_memory, printed
from souffleur.cli.console import STANDARD_OUTPUT, plain, progress
from souffleur.cli.memory import find_owner, need_no_owner, stop_on_signal
from souffleur.cli.options import ME, User, Yes, flag, of_agent, of_user
from souffleur.errors import StoreBusyError
from souffleur.report.phrases import MEMORIES, count, dollars, size

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.integrations.mirror.mirror import Mirror, Synced
    from souffleur.knowledge.store.backup import BackupManifest
    from souffleur.knowledge.store.export import Exported
    from souffleur.knowledge.store.transfer import Imported

_FORMATS = "auto, souffleur, mem0, chatgpt, sillytavern or messages"
_NOUNS = {
    "memory": ("memory", "memories"),
    "quote": ("quotation in another memory", "quotations in other memories"),
    "entry": ("ledger entry", "ledger entries"),
    "person": ("introduced user", "introduced users"),
    "persona": ("introduced persona", "introduced personas"),
    "preferences": ("user with preferences", "users with preferences"),
    "upkeep": ("note on a portrait", "notes on portraits"),
    "run": ("record of a run", "records of runs"),
    "watermark": ("watermark of a job", "watermarks of jobs"),
    "spending": ("sum of a day's spending", "sums of a day's spending"),
}
_IN_EVERY_STORE = frozenset({"meta", "lease"})
"""Records of every store; they are not counted."""
_NO_TOKENS = "tokens are not in a backup: make new ones with `souffleur token`"


@printed
@in_loop
async def backup(
    file: Annotated[Path, Argument(help="The file to write; a former backup is replaced.")],
) -> Result:
    """Save the whole store to one compact, checked file."""
    from datetime import UTC, datetime

    from souffleur.knowledge.store.backup import save_store
    from souffleur.parts import make_place
    from souffleur.settings import load_settings

    async with find_owner() as owner:
        if owner:
            return _written("saved", await owner.backup(file), file)
    place, now = make_place(load_settings()), datetime.now(UTC)
    try:
        with progress("saving") as step:
            return _written("saved", await save_store(place, file, now=now, step=step), file)
    except StoreBusyError as error:
        who = str(error).partition("; ")[0].partition(": ")[0]
        raise StoreBusyError(f"{who}: stop it first, or call memory.backup in it") from None


@printed
@in_loop
async def restore(
    file: Annotated[Path, Argument(help="A file that `store backup` made.")],
    into: Annotated[
        Path | None, Option(help="The folder to restore to; default: SOUFFLEUR_PATH.")
    ] = None,
) -> Result:
    """Restore a backup to an empty place."""
    from souffleur.knowledge.store.backup import restore as restore_backup
    from souffleur.parts import make_place
    from souffleur.settings import load_settings

    there = {"path": into, "qdrant_url": None} if into else {}
    place = make_place(load_settings(**there))
    if into is None:
        await need_no_owner()
    with progress("restoring") as step:
        made = await restore_backup(file, place, step=step)
    said = f"restored to {place}, as of {made.made_at:%Y-%m-%d %H:%M} UTC:"
    said = f"{said}\n{format_counts(made.counts)}\n{_NO_TOKENS}"
    return Result({"store": str(place), **plain(made)}, lambda: print(said))


@printed
@on_memory
async def export(
    memory: "Memory",
    file: Annotated[
        Path, Argument(help="The file to write, '-' for standard output; an export is replaced.")
    ],
    user: Annotated[str | None, of_user("Only this user; default: all.")] = None,
) -> Result | None:
    """Write everything of all users, or of one, as lines of JSON, to be read or imported."""
    if file == STANDARD_OUTPUT:
        await _export_to_output(memory, user)
        return None
    return _written("exported", await memory.export(file, user_id=user), file)


async def _export_to_output(memory: "Memory", user: str | None) -> None:
    from souffleur.integrations.importers.files import temporary_file
    from souffleur.settings import load_settings

    def copy(file: Path) -> None:
        with file.open("rb") as lines:
            shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.buffer.flush()

    with temporary_file(load_settings().folder, "export.jsonl") as made:
        await memory.export(made, user_id=user)
        await asyncio.to_thread(copy, made)


@printed
@on_memory
async def import_(
    memory: "Memory",
    file: Annotated[Path, Argument(help="The file to import: see docs/running.md.")],
    source: Annotated[str, Option("--from", help=f"Its format: {_FORMATS}.")] = "auto",
    user: Annotated[
        str | None, of_user("Import only this user's records; the user of chats without one.")
    ] = None,
    agent: Annotated[str, of_agent("The persona with whom chats were held.")] = "default",
    dry_run: Annotated[
        bool, flag("--dry-run", "Only say what would be imported, and what not.")
    ] = False,
    yes: Yes = False,
) -> Result:
    """Import records of a file that the store lacks; nothing is overwritten.

    Turns of chats are judged by a model, by the process that serves the store or by
    `souffleur retry`. The command shows first how many calls that takes, and asks.
    """
    from souffleur.integrations.importers.files import source_of

    found = source_of(file, source)

    async def take(*, dry_run: bool) -> "Imported":
        return await memory.import_file(
            file, user_id=user, agent_id=agent, source=found, dry_run=dry_run
        )

    if found.is_chat and not (yes or dry_run):
        tried = await take(dry_run=True)
        if tried.new:
            _print_imported(tried)
            typer.confirm("Take these?", abort=True, err=True)
    done = await take(dry_run=dry_run)
    return Result(done, lambda: _print_imported(done))


@in_loop
async def migrate(
    to: Annotated[str, Argument(help="An empty folder, or the URL of a Qdrant server.")],
) -> None:
    """Copy the whole store for the current embedder and policy; the old store stays."""
    from souffleur.knowledge.policy import POLICIES
    from souffleur.knowledge.store.transfer import copy_store
    from souffleur.parts import make_place, settings_embedder
    from souffleur.settings import load_settings

    await need_no_owner()
    settings, is_url = load_settings(), "://" in to
    there = {"qdrant_url": to} if is_url else {"qdrant_url": None, "path": Path(to)}
    target = make_place(settings.model_copy(update=there))
    embedder, policy = settings_embedder(settings), POLICIES[settings.policy]
    with progress("copying") as step:
        copied = await copy_store(make_place(settings), target, embedder, policy, step=step)
    name = "SOUFFLEUR_QDRANT_URL" if is_url else "SOUFFLEUR_PATH"
    typer.echo(f"{count(copied, *MEMORIES)} copied; set {name}={to} to use them")


@on_memory
async def mirror(
    memory: "Memory",
    folder: Annotated[Path, Argument(help="Folder of the files; it is made if needed.")],
    user: User = ME,
    everybody: Annotated[
        bool, flag("--everybody", "All users, each in a folder below it.")
    ] = False,
    watch: Annotated[
        bool, flag("--watch", "Go on until stopped, whenever either side changes.")
    ] = False,
    removals: Annotated[
        bool, flag("--removals", "Forget all memories whose lines are gone.")
    ] = False,
) -> None:
    """Bring memories and the files MEMORY.md and LEARNINGS.md into step, both ways."""
    mirrors = await _mirrors(memory, folder.expanduser(), None if everybody else user)
    for whose, one in mirrors.items():
        _print_synced(whose if everybody else "", await one.sync(removals=removals))
    if watch:
        await _watch(list(mirrors.values()))


async def _mirrors(memory: "Memory", folder: Path, user: str | None) -> "dict[str, Mirror]":
    from souffleur.integrations.mirror.mirror import Mirror, Mirrors
    from souffleur.knowledge.policy import POLICIES
    from souffleur.settings import load_settings

    policy = POLICIES[load_settings().policy]
    if user is not None:
        return {user: Mirror(memory, folder, user_id=user, policy=policy)}
    mirrors = Mirrors(memory, folder, policy)
    return {one.user_id: mirrors.mirror_of(one.user_id) for one in await memory.users()}


async def _watch(mirrors: "list[Mirror]") -> None:
    stopping = stop_on_signal()
    typer.echo("watching; stop it with an interrupt")
    tasks = [asyncio.create_task(one.watch()) for one in mirrors]
    await stopping.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _print_synced(whose: str, synced: "Synced") -> None:
    counts = {
        "added": synced.added,
        "edited": synced.edited,
        "forgotten": synced.removed,
        "restored": synced.restored,
    }
    parts = [f"{number} {done}" for done, number in counts.items() if number]
    if synced.written:
        parts.append(f"wrote {' and '.join(synced.written)}")
    typer.echo((f"{whose}: " if whose else "") + ("; ".join(parts) or "nothing to do"))
    for why in (*synced.rejected, *synced.remarks):
        typer.echo(f"not taken over: {why}", err=True)


def _written(done: str, made: "BackupManifest | Exported", file: Path) -> Result:
    """Return a written file, its size, and the number of its records."""
    length = file.stat().st_size
    said = f"{done} to {file}, {size(length)}: {format_counts(made.counts)}"
    return Result({"file": str(file), "bytes": length, **plain(made)}, lambda: print(said))


def _print_imported(done: "Imported") -> None:
    """Print the imported records and the skipped records."""
    print(f"{'would import' if done.dry_run else 'imported'}: {format_counts(done.new)}")
    if done.known:
        print(f"there already: {format_counts(done.known)}")
    for why, number in done.skipped.items():
        print(f"not taken: {number:,} × {why}")
    for part in done.unread:
        print(f"left out: {part}")
    if done.calls:
        print(f"to be judged, in about {_format_judging(done)}")


def _format_judging(done: "Imported") -> str:
    """Return in words the calls, tokens, dollars and days that judging takes."""
    parts = [count(done.calls, "call of the model", "calls of the model")]
    if done.input_tokens:
        parts.append(f"{done.input_tokens:,} tokens in, {done.output_tokens:,} out")
        prices = "dollars unknown: set SOUFFLEUR_PRICE_IN and SOUFFLEUR_PRICE_OUT"
        parts.append(dollars(done.dollars) if done.dollars else prices)
    if done.days:
        parts.append(f"{count(done.days, 'day', 'days')} within the budgets")
    return "; ".join(parts)


def format_counts(counts: Mapping[str, int]) -> str:
    """Return in words the number of records of each kind.

    >>> format_counts({"memory": 2, "turn": 1, "meta": 1})
    '2 memories, 1 turn'
    """
    nouns: dict[str, Any] = {
        kind: _NOUNS.get(kind, (kind, f"{kind}s")) for kind in counts if kind not in _IN_EVERY_STORE
    }
    return ", ".join(count(counts[kind], *names) for kind, names in nouns.items()) or "nothing"
