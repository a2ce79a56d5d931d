"""Ledger entries: ops, quotes and reasons, as tables and as lines of markup."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from souffleur.cli.command import Result, listed
from souffleur.cli.console import console
from souffleur.cli.tables import Columns, marked, show
from souffleur.times import to_minute

if TYPE_CHECKING:
    from souffleur.knowledge.operation import LedgerEntry
    from souffleur.participants import Cast

_COLOURS = {
    "ADD": "green",
    "UPDATE": "yellow",
    "BOOST": "cyan",
    "DELETE": "red",
    "FORGET": "red",
    "UNDO": "magenta",
    "SKIP": "dim",
}


def print_entries(entries: "Sequence[LedgerEntry]", cast: "Cast") -> None:
    """Print ledger entries, oldest first; times are in each user's time zone."""
    show(entries, _columns(cast))


def list_entries(
    entries: "Sequence[LedgerEntry]", cast: "Cast", empty: str = "no changes"
) -> Result:
    """Return ledger entries as the result of a command, see `print_entries`."""
    return listed(entries, _columns(cast), empty=empty)


def _columns(cast: "Cast") -> "Columns[LedgerEntry]":
    def actor(entry: "LedgerEntry") -> object:
        model = [f"[dim]{escape(entry.by.model)}[/]"] if entry.by.model else []
        return marked(escape(entry.by.who), *model)

    return (
        ("entry", lambda one: one.id[:8]),
        ("when", lambda one: to_minute(one.at, cast.zone(one.user_id))),
        ("who", actor),
        ("op", lambda one: marked(format_op(one))),
        ("what and why", lambda one: marked(*format_story(one))),
    )


def print_tally(entries: "Sequence[LedgerEntry]") -> None:
    """Print the number of ops by kind, and of refusals by reason."""
    done = Counter(entry.op for entry in entries if entry.refused is None)
    refused = Counter(str(entry.refused) for entry in entries if entry.refused)
    parts = [f"{count} {op}" for op, count in sorted(done.items())]
    parts += [f"{count} refused as {why}" for why, count in sorted(refused.items())]
    parts += [] if refused else ["nothing was refused"]
    console.print(" · ".join(parts), style="dim")


def format_op(entry: "LedgerEntry") -> str:
    """Return the op in its colour, as markup; a refused op is struck through."""
    if entry.refused:
        return f"[red strike]{entry.op}[/]"
    return f"[{_COLOURS.get(entry.op, 'white')}]{entry.op}[/]"


def format_story(entry: "LedgerEntry") -> list[str]:
    """Return the effect of an op, its quote and its reason or refusal, as lines of markup."""
    lines = [escape(text) for text in _contents(entry)]
    lines += _refusal(entry)
    if entry.quote:
        lines.append(f"[dim]on “{escape(entry.quote)}”[/]")
    lines += _reason(entry)
    if entry.undone_by:
        lines.append(f"[magenta]undone by {entry.undone_by[:8]}[/]")
    return lines


def format_entry(entry: "LedgerEntry") -> str:
    """Return an op with its effect, or its refusal, and its reason, as one line of markup."""
    about = [*map(escape, _contents(entry)), *_refusal(entry), *_reason(entry)]
    return "  ".join([format_op(entry), *about])


def _refusal(entry: "LedgerEntry") -> list[str]:
    return [f"[red]refused: {entry.refused}[/]  {escape(entry.detail)}"] if entry.refused else []


def _reason(entry: "LedgerEntry") -> list[str]:
    return [f"[dim]because {escape(entry.reason)}[/]"] if entry.reason else []


def _contents(entry: "LedgerEntry") -> list[str]:
    if entry.op == "UPDATE" and len(entry.changes) == 2:
        new, old = entry.changes
        return [new.after.content, f"(was: {old.after.content})"]
    if entry.changes:
        return [change.after.content for change in entry.changes]
    return [str(entry.details["content"])] if "content" in entry.details else []
