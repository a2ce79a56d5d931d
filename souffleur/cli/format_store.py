"""What is in a store, in the terminal: users, backups, receipts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic_core import to_jsonable_python
from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cast import Cast
from souffleur.cli.console import console, print_json, to_plain
from souffleur.cli.tables import print_table
from souffleur.knowledge.forgetting.trace import TopicPreview
from souffleur.knowledge.store.backup_file import BackupManifest
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.export import Exported
from souffleur.knowledge.store.importing import Imported
from souffleur.knowledge.store.introductions import UserSummary
from souffleur.knowledge.store.topics import Forgotten
from souffleur.knowledge.text.plain import single_line
from souffleur.report.report import MEMORIES, count
from souffleur.times import to_minute

_NAMES = {
    "memory": MEMORIES,
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
_UNSAID = frozenset({"meta", "lease"})
"""Records that every store has."""


def print_users(found: Sequence[UserSummary], cast: Cast, *, as_json: bool) -> None:
    """Print a table of users; times are in each user's time zone."""
    if as_json:
        print_json([to_plain(one) for one in found])
        return
    if not found:
        console.print("[dim]nobody is known yet[/dim]")
        return
    numbers = [Column(name, justify="right") for name in ("memories", "turns")]
    table = Table("user", *numbers, "last seen", box=box.SIMPLE_HEAD)
    for one in found:
        when = to_minute(one.last_seen, cast.zone(one.user_id)) if one.last_seen else ""
        table.add_row(escape(one.user_id), f"{one.memories:,}", f"{one.turns:,}", when)
    print_table(table)


def print_erased(erased: Erased | Forgotten, *, as_json: bool) -> None:
    """Print a receipt: numbers, and no words."""
    if as_json:
        print_json(to_jsonable_python(erased))
        return
    print(f"erased of {erased.user_id}: {format_counts(erased.counts)}")
    for remark in erased.remarks:
        print(remark)


def print_topic(found: TopicPreview, *, as_json: bool) -> None:
    """Print what tells of a topic; what may not belong to it has a question mark."""
    if as_json:
        print_json(to_jsonable_python(found))
        return
    table = Table("", "what", "says", "why", box=box.SIMPLE_HEAD)
    for one in found.traces:
        shown = one.text if one.whole or not one.lines else " … ".join(one.lines)
        kind = one.kind if one.whole else f"{one.kind}, in part"
        table.add_row("" if one.sure else "?", kind, escape(single_line(shown)), escape(one.why))
    print_table(table)
    for note in found.notes:
        console.print(f"[dim]{escape(note)}[/dim]")


def print_backup(made: BackupManifest, file: Path, *, as_json: bool) -> None:
    """Print what was saved, and where."""
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size, **to_plain(made)})
    else:
        print(f"saved to {file}, {size / 1e6:,.1f} MB: {format_counts(made.counts)}")


def print_restored(made: BackupManifest, place: str, *, as_json: bool) -> None:
    """Print what was restored, and where."""
    if as_json:
        print_json({"store": place, **to_plain(made)})
    else:
        print(f"restored to {place}, as of {made.made_at:%Y-%m-%d %H:%M} UTC:")
        print(format_counts(made.counts))


def print_exported(made: Exported, file: Path, *, as_json: bool) -> None:
    """Print what was exported, and where."""
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size, **to_plain(made)})
    else:
        print(f"exported to {file}, {size / 1e6:,.1f} MB: {format_counts(made.counts)}")


def print_imported(done: Imported, *, as_json: bool) -> None:
    """Print what was taken from a file, and what was not."""
    if as_json:
        print_json(to_plain(done))
        return
    print(f"{'would import' if done.dry_run else 'imported'}: {format_counts(done.new)}")
    if done.known:
        print(f"there already: {format_counts(done.known)}")
    for why, number in done.skipped.items():
        print(f"not taken: {number:,} × {why}")
    for part in done.unread:
        print(f"left out: {part}")
    if done.calls:
        print(f"to be judged, in about {_format_judging(done)}")


def _format_judging(done: Imported) -> str:
    """Return what it takes to judge what is new, in words."""
    told = [count(done.calls, "call of the model", "calls of the model")]
    if done.input_tokens:
        told.append(f"{done.input_tokens:,} tokens in, {done.output_tokens:,} out")
        prices = "dollars unknown: set SOUFFLEUR_PRICE_IN and SOUFFLEUR_PRICE_OUT"
        told.append(f"${done.dollars:,.2f}" if done.dollars else prices)
    if done.days:
        told.append(f"{count(done.days, 'day', 'days')} within the budgets")
    return "; ".join(told)


def print_reembedded(memories: int, turns: int, *, as_json: bool) -> None:
    """Print how much was embedded anew."""
    if as_json:
        print_json({"memories": memories, "turns": turns})
    elif done := {kind: n for kind, n in {"memory": memories, "turn": turns}.items() if n}:
        print(f"embedded anew: {format_counts(done)}")
    else:
        print("nothing to do: the store is of this embedder")


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the number of records of each kind, in words.

    >>> format_counts({"memory": 2, "turn": 1, "meta": 1})
    '2 memories, 1 turn'
    """
    named = {kind: _NAMES.get(kind, (kind, f"{kind}s")) for kind in counts if kind not in _UNSAID}
    return ", ".join(count(counts[kind], *names) for kind, names in named.items()) or "nothing"
