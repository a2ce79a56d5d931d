"""The report of a store in the terminal: its health, then tables."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cli.console import console, print_json
from souffleur.cli.tables import print_table
from souffleur.report.quality import BIN, Counts, MemoryRef, Pair, Quality
from souffleur.report.report import (
    Status,
    count,
    duration,
    health as assess,
    outcome,
    spent,
    to_json,
)
from souffleur.times import to_minute

MAX_ROWS = 10
"""Maximum rows shown of a list; the page and the JSON show more."""
_BAR_LENGTH = 30
"""Length of the longest bar, in characters."""
_COLOURS = {Status.OK: "green", Status.WARNING: "yellow", Status.BROKEN: "red"}


def print_report(quality: Quality, zone: ZoneInfo, *, as_json: bool) -> None:
    """Print all that was measured."""
    if as_json:
        print_json(to_json(quality))
        return
    whose = "everybody" if quality.user_id is None else quality.user_id
    when = to_minute(quality.at, zone)
    console.print(
        f"[dim]the memories of {escape(whose)}, {when}; {count(quality.users, 'user')}[/]"
    )
    print_health(*assess(quality), as_json=False)
    _kept(quality)
    _due(quality)
    _pairs("the same words", quality.duplicates)
    cut = f", of the {quality.compared:,} newest" if quality.is_cut else ""
    _pairs(f"nearly the same{cut}", quality.near_duplicates)
    _pairs("open contradictions", quality.contradictions)
    _mentions("stale", quality.stale, zone)
    _mentions("never recalled", quality.never_recalled, zone)
    _talk(quality, zone)
    _runs(quality, zone)


def print_health(state: Status, findings: Sequence[str], *, as_json: bool) -> None:
    """Print the state of health, and what to do."""
    if as_json:
        print_json({"state": str(state), "findings": findings})
        return
    console.print(f"health: [bold {_COLOURS[state]}]{state}[/]")
    for finding in findings:
        console.print(f"  - {escape(finding)}", soft_wrap=True)


def _kept(quality: Quality) -> None:
    _bars("memories by state", quality.states)
    _bars("active ones by category", quality.categories)
    _bars("by kind", quality.kinds)
    last = len(quality.importance) - 1
    names = [f"{index * BIN:.2f}" + ("+" if index == last else "") for index in range(last + 1)]
    bins = dict(zip(names, quality.importance, strict=True)) if quality.active else {}
    _bars("by importance now, from …", bins)


def _due(quality: Quality) -> None:
    _bars("due within 7 days", quality.due_soon)
    _bars("overdue", quality.overdue)


def _talk(quality: Quality, zone: ZoneInfo) -> None:
    _bars("turns", quality.turns)
    _bars("segments", quality.segments)
    if quality.waiting_since:
        console.print(f"the oldest has waited since {to_minute(quality.waiting_since, zone)}")
    if quality.failures:
        table = _table("failures", len(quality.failures), "what", "user", "tries")
        for one in quality.failures[:MAX_ROWS]:
            table.add_row(
                one.what, escape(one.user_id or "everybody"), str(one.tries), escape(one.error)
            )
        print_table(table)
    _bars("carried out", quality.verdicts)
    _bars("refused", quality.refusals)
    cost = quality.cost
    read = f"{count(cost.input_tokens, 'token')} in, {cost.output_tokens:,} out"
    asked = f"{count(cost.calls, 'call')}, {read}, ${cost.dollars:.4f}"
    console.print(f"{quality.undone:,} undone; models: {asked}")
    _spending(quality)


def _spending(quality: Quality) -> None:
    if not quality.spending:
        return
    columns = ("day", "calls", "tokens in", "out", "dollars")
    table = _table("cost by day and user", len(quality.spending), *columns)
    for one in quality.spending[:MAX_ROWS]:
        cost, user = one.cost, escape(one.user_id)
        tokens = f"{cost.input_tokens:,}", f"{cost.output_tokens:,}"
        table.add_row(str(one.day), f"{cost.calls:,}", *tokens, f"{cost.dollars:.4f}", user)
    print_table(table)


def _runs(quality: Quality, zone: ZoneInfo) -> None:
    if not quality.runs:
        return
    named = quality.runs[:MAX_ROWS]
    console.print(f"[italic]the latest {count(len(named), 'run')}; cost: {spent(*named)}[/]")
    for run in named:
        whose = escape(f"{run.name} of {run.of_user or 'everybody'}")
        took = f"took {duration(run.ended - run.began)}; cost: {spent(run)}"
        console.print(f"{to_minute(run.began, zone)}  {whose} [dim]{took}[/]", soft_wrap=True)
        console.print(f"  {escape(outcome(run))}", soft_wrap=True)


def _bars(heading: str, counts: Counts) -> None:
    if not counts:
        return
    highest = max(counts.values()) or 1
    table = Table(title=heading, title_justify="left", show_header=False, box=None)
    for name, number in counts.items():
        table.add_row(
            escape(name),
            f"{number:,}",
            "[blue]" + "█" * -(-_BAR_LENGTH * number // highest) + "[/]",
        )
    print_table(table)


def _pairs(heading: str, pairs: Sequence[Pair]) -> None:
    if not pairs:
        return
    table = _table(heading, len(pairs), "user", "ids")
    for pair in pairs[:MAX_ROWS]:
        ids = f"{pair.first.id[:8]}\n{pair.second.id[:8]}"
        both = f"{escape(pair.first.content)}\n{escape(pair.second.content)}"
        table.add_row(escape(pair.first.user_id), ids, both)
    print_table(table)


def _mentions(heading: str, mentions: Sequence[MemoryRef], zone: ZoneInfo) -> None:
    if not mentions:
        return
    table = _table(heading, len(mentions), "id", "user", "worth", "learnt")
    for one in mentions[:MAX_ROWS]:
        learnt = to_minute(one.created_at, zone)
        row = [one.id[:8], escape(one.user_id), f"{one.value:.2f}", learnt]
        table.add_row(*row, escape(one.content))
    print_table(table)


def _table(heading: str, total: int, *columns: str) -> Table:
    """Return a table whose heading has the total, and the number shown if that is less."""
    named = f", {MAX_ROWS} of them" if total > MAX_ROWS else ""
    title = f"{heading}: {total:,}{named}"
    last = Column("", overflow="fold")
    return Table(*columns, last, title=title, title_justify="left", box=box.SIMPLE_HEAD)
