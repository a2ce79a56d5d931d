"""Ledger entries in the terminal: what was done, on which words, and why."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cast import Cast
from souffleur.cli.console import console, print_json, to_plain
from souffleur.cli.tables import print_table
from souffleur.knowledge.operation import LedgerEntry
from souffleur.times import to_minute

_COLOURS = {
    "ADD": "green",
    "UPDATE": "yellow",
    "BOOST": "cyan",
    "DELETE": "red",
    "FORGET": "red",
    "UNDO": "magenta",
    "SKIP": "dim",
}


def print_entries(entries: Iterable[LedgerEntry], cast: Cast, *, as_json: bool) -> None:
    """Print ledger entries, oldest first; times are in each user's time zone."""
    listed = list(entries)
    if as_json:
        print_json([to_plain(entry) for entry in listed])
        return
    columns = ["entry", "when", "who", "op"]
    table = Table(*columns, Column("what and why", overflow="fold"), box=box.SIMPLE_HEAD)
    for entry in listed:
        who = entry.by.who + (f"\n[dim]{escape(entry.by.model)}[/dim]" if entry.by.model else "")
        when = to_minute(entry.at, cast.zone(entry.user_id))
        table.add_row(entry.id[:8], when, who, format_op(entry), "\n".join(format_story(entry)))
    print_table(table)


def print_tally(entries: Sequence[LedgerEntry]) -> None:
    """Print the number of ops by kind, and of refusals by reason."""
    done = Counter(entry.op for entry in entries if entry.refused is None)
    refused = Counter(str(entry.refused) for entry in entries if entry.refused)
    parts = [f"{count} {op}" for op, count in sorted(done.items())]
    parts += [f"{count} refused as {why}" for why, count in sorted(refused.items())]
    parts += [] if refused else ["nothing was refused"]
    console.print(" · ".join(parts), style="dim")


def format_op(entry: LedgerEntry) -> str:
    """Return the op in its colour; a refused one is struck through."""
    if entry.refused:
        return f"[red strike]{entry.op}[/]"
    return f"[{_COLOURS.get(entry.op, 'white')}]{entry.op}[/]"


def format_story(entry: LedgerEntry) -> list[str]:
    """Return what an op did, on which words, and why; or why it was refused."""
    lines = [escape(text) for text in _contents(entry)]
    lines += _refusal(entry)
    if entry.quote:
        lines.append(f"[dim]on “{escape(entry.quote)}”[/]")
    lines += _reason(entry)
    if entry.undone_by:
        lines.append(f"[magenta]undone by {entry.undone_by[:8]}[/]")
    return lines


def format_entry(entry: LedgerEntry) -> str:
    """Return an op with what it did, or why it was refused, and its reason, in one line."""
    about = [*map(escape, _contents(entry)), *_refusal(entry), *_reason(entry)]
    return "  ".join([format_op(entry), *about])


def _refusal(entry: LedgerEntry) -> list[str]:
    return [f"[red]refused: {entry.refused}[/]  {escape(entry.detail)}"] if entry.refused else []


def _reason(entry: LedgerEntry) -> list[str]:
    return [f"[dim]because {escape(entry.reason)}[/]"] if entry.reason else []


def _contents(entry: LedgerEntry) -> list[str]:
    if entry.op == "UPDATE" and len(entry.changes) == 2:
        new, old = entry.changes
        return [new.after.content, f"(was: {old.after.content})"]
    if entry.changes:
        return [change.after.content for change in entry.changes]
    return [str(entry.details["content"])] if "content" in entry.details else []
