"""Runs in the terminal: what was done with each memory and why, and what it cost."""

from collections import Counter

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cli.console import console, print_json
from souffleur.cli.tables import print_table
from souffleur.report.report import count
from souffleur.service.run import RunItem, RunResult

_COLOURS = {
    "PROMOTE": "green",
    "KEEP": "cyan",
    "MERGE": "blue",
    "CONTRADICT": "magenta",
    "PORTRAY": "green",
    "DELETE": "red",
    "FORGET": "red",
    "PURGE": "red",
    "ARCHIVE": "yellow",
    "FAILED": "red reverse",
}


def print_run(report: RunResult, *, as_json: bool) -> None:
    """Print one row for each memory, then the sums."""
    if as_json:
        print_json(_whole(report))
        return
    if report.items:
        columns = [Column("memory", overflow="fold"), Column("because", overflow="fold")]
        table = Table("user", "op", *columns, box=box.SIMPLE_HEAD)
        for line in report.items:
            op = f"[{_COLOURS.get(line.op, 'dim')}]{line.op}[/]"
            why = "\n".join(
                [*(f"[dim]{escape(step)}[/]" for step in line.trail), escape(line.reason)]
            )
            table.add_row(escape(line.memory.user_id), op, escape(line.memory.content), why)
        print_table(table)
    done = Counter(line.op for line in report.items)
    sums = " · ".join(f"{number} {op}" for op, number in sorted(done.items())) or "nothing was due"
    if report.data:
        sums = " · ".join(f"{name}: {_short(value)}" for name, value in report.data.items())
    would = "would be: " if report.options.dry_run else ""
    console.print(f"{report.name}: {would}{sums}")
    if report.calls:
        cost = f", ${report.cost:.4f}" if report.cost else ""
        asked = f"{count(report.calls, 'call')}, {count(report.tokens, 'token')}{cost}"
        console.print(f"[dim]{asked}[/]")
    if report.stopped:
        console.print(f"[yellow]not all is done: {report.stopped}[/]")


def _whole(report: RunResult) -> dict[str, object]:
    """Return all fields but the callables of the options."""
    parts = ("name", "due", "calls", "tokens", "cost", "stopped", "data")
    whole = {name: getattr(report, name) for name in parts}
    asked = {"began": report.options.now.isoformat(), "dry_run": report.options.dry_run}
    return {**whole, **asked, "lines": [_plain(line) for line in report.items]}


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number} {name}" for name, number in value.items()) or "none"
    return "; ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _plain(line: RunItem) -> dict[str, object]:
    known = {"user_id": line.memory.user_id, "content": line.memory.content}
    told = {"op": line.op, "reason": line.reason, "trail": list(line.trail)}
    return {"id": line.memory.id, **known, **told}
