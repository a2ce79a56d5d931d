"""`souffleur report`: a store in numbers, in the terminal or as a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from zoneinfo import ZoneInfo

from rich.markup import escape
from rich.table import Table
from typer import Option

from souffleur.cli.command import Result, on_memory, printed
from souffleur.cli.console import console, write_page
from souffleur.cli.memory import inspect
from souffleur.cli.options import AnyUser
from souffleur.cli.tables import Columns, print_table, show
from souffleur.report.phrases import count, duration
from souffleur.times import to_minute

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.report.quality import Counts, MemoryRef, Pair, Quality
    from souffleur.report.report import Status

T = TypeVar("T")

MAX_ROWS = 10
"""Maximum rows of a list in the terminal; the page and the JSON have more."""
_BAR_LENGTH = 30
"""Length of the longest bar, in characters."""
_COLOURS = {"ok": "green", "warning": "yellow", "broken": "red"}


@printed
@on_memory
async def report(
    memory: "Memory",
    user: AnyUser = None,
    html: Annotated[
        Path | None, Option(help="Write a page with plots and memories here; - prints it.")
    ] = None,
) -> Result | None:
    """Report on the store: counts, values, what is due, duplicates, failures, cost."""
    from souffleur.report.report import to_json

    if html:
        write_page(await inspect(memory).page(user_id=user), html, f"written to {html}")
        return None
    quality, zone = await memory.report(user_id=user), (await memory.cast()).zone(user)
    return Result(to_json(quality), lambda: print_report(quality, zone))


def print_report(quality: "Quality", zone: ZoneInfo) -> None:
    """Print all measured values, with times in a time zone."""
    from souffleur.report.report import health

    whose = "everybody" if quality.user_id is None else quality.user_id
    when = to_minute(quality.at, zone)
    console.print(
        f"[dim]the memories of {escape(whose)}, {when}; {count(quality.users, 'user')}[/]"
    )
    print_health(*health(quality))
    _print_kept(quality)
    _print_pairs("the same words", quality.duplicates)
    cut = f", of the {quality.compared:,} newest" if quality.is_cut else ""
    _print_pairs(f"nearly the same{cut}", quality.near_duplicates)
    _print_memories("stale", quality.stale, zone)
    _print_memories("never recalled", quality.never_recalled, zone)
    _print_talk(quality, zone)
    _print_spending(quality)
    _print_runs(quality, zone)


def print_health(state: "Status", findings: Sequence[str]) -> None:
    """Print the state of health, and advice."""
    console.print(f"health: [bold {_COLOURS[state]}]{state}[/]")
    for finding in findings:
        console.print(f"  - {escape(finding)}", soft_wrap=True)


def _print_kept(quality: "Quality") -> None:
    from souffleur.report.quality import BIN

    _print_bars("memories by state", quality.states)
    _print_bars("active ones by category", quality.categories)
    _print_bars("by kind", quality.kinds)
    last = len(quality.importance) - 1
    names = [f"{index * BIN:.2f}" + ("+" if index == last else "") for index in range(last + 1)]
    bins = {name: n for name, n in zip(names, quality.importance, strict=True) if n}
    _print_bars("by importance now, from …", bins)
    _print_bars("due within 7 days", quality.due_soon)
    _print_bars("overdue", quality.overdue)


def _print_talk(quality: "Quality", zone: ZoneInfo) -> None:
    _print_bars("turns", quality.turns)
    _print_bars("segments", quality.segments)
    if quality.waiting_since:
        console.print(f"the oldest has waited since {to_minute(quality.waiting_since, zone)}")
    columns = (
        ("what", lambda one: one.what),
        ("user", lambda one: one.user_id or "everybody"),
        ("tries", lambda one: one.tries),
        ("", lambda one: one.error),
    )
    _print_first("failures", quality.failures, columns)
    _print_bars("carried out", quality.verdicts)
    _print_bars("refused", quality.refusals)
    cost = quality.cost
    read = f"{count(cost.input_tokens, 'token')} in, {cost.output_tokens:,} out"
    asked = f"{count(cost.calls, 'call')}, {read}, ${cost.dollars:.4f}"
    console.print(f"{quality.undone:,} undone; models: {asked}")


def _print_spending(quality: "Quality") -> None:
    columns = (
        ("day", lambda one: one.day),
        ("calls", lambda one: one.cost.calls),
        ("tokens in", lambda one: one.cost.input_tokens),
        ("out", lambda one: one.cost.output_tokens),
        ("dollars", lambda one: f"{one.cost.dollars:.4f}"),
        ("", lambda one: one.user_id),
    )
    _print_first("cost by day and user", quality.spending, columns)


def _print_runs(quality: "Quality", zone: ZoneInfo) -> None:
    from souffleur.report.report import outcome, spent

    if not quality.runs:
        return
    latest = quality.runs[:MAX_ROWS]
    console.print(f"[italic]the latest {count(len(latest), 'run')}; cost: {spent(*latest)}[/]")
    for run in latest:
        whose = escape(f"{run.name} of {run.of_user or 'everybody'}")
        took = f"took {duration(run.ended - run.began)}; cost: {spent(run)}"
        console.print(f"{to_minute(run.began, zone)}  {whose} [dim]{took}[/]", soft_wrap=True)
        console.print(f"  {escape(outcome(run))}", soft_wrap=True)


def _print_bars(heading: str, counts: "Counts") -> None:
    if not counts:
        return
    highest = max(counts.values()) or 1
    table = Table(title=heading, title_justify="left", show_header=False, box=None)
    for name, number in counts.items():
        bar = "█" * -(-_BAR_LENGTH * number // highest)
        table.add_row(escape(name), f"{number:,}", f"[blue]{bar}[/]")
    print_table(table)


def _print_pairs(heading: str, pairs: "Sequence[Pair]") -> None:
    columns = (
        ("user", lambda pair: pair.first.user_id),
        ("ids", lambda pair: f"{pair.first.id[:8]}\n{pair.second.id[:8]}"),
        ("", lambda pair: f"{pair.first.content}\n{pair.second.content}"),
    )
    _print_first(heading, pairs, columns)


def _print_memories(heading: str, found: "Sequence[MemoryRef]", zone: ZoneInfo) -> None:
    columns = (
        ("id", lambda one: one.id[:8]),
        ("user", lambda one: one.user_id),
        ("worth", lambda one: f"{one.value:.2f}"),
        ("learnt", lambda one: to_minute(one.created_at, zone)),
        ("", lambda one: one.content),
    )
    _print_first(heading, found, columns)


def _print_first(heading: str, items: Sequence[T], columns: Columns[T]) -> None:
    """Print the first rows, under a heading with the number of all rows."""
    named = f", {MAX_ROWS} of them" if len(items) > MAX_ROWS else ""
    show(items[:MAX_ROWS], columns, title=f"{heading}: {len(items):,}{named}")
