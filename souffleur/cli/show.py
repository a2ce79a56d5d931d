"""How things look: tables for a person, JSON for a program."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Column, Table

from souffleur.cast import Cast
from souffleur.knowledge.decay import effective
from souffleur.knowledge.finding.search import Found
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.talk.turn import Turn
from souffleur.replay import Played

console = Console(highlight=False)

_COLOURS = {
    "ADD": "green",
    "UPDATE": "yellow",
    "BOOST": "cyan",
    "DELETE": "red",
    "FORGET": "red",
    "UNDO": "magenta",
    "SKIP": "dim",
}


@dataclass(frozen=True)
class Worth:
    """What memories are worth at a moment."""

    now: datetime
    policy: Policy

    def of(self, memory: Memory) -> float:
        """Return the effective value of a memory."""
        return effective(memory, self.now, self.policy)


def memories(
    found: Sequence[Memory], values: Worth, cast: Cast, as_json: bool, *, owner: bool = False
) -> None:
    """A table of memories, the most valuable first; days as where each user lives."""
    worth = {memory.id: values.of(memory) for memory in found}
    ranked = sorted(found, key=lambda memory: (-worth[memory.id], memory.id))
    if as_json:
        print_json([{**_plain(memory), "effective": worth[memory.id]} for memory in ranked])
        return
    if not ranked:
        console.print("[dim]no memories[/dim]")
        return
    columns = ["id", *(["user"] if owner else []), "kind", "now", "uses", "due"]
    table = Table(*columns, Column("memory", overflow="fold"), box=box.SIMPLE_HEAD)
    for memory in ranked:
        table.add_row(
            memory.id[:8],
            *([escape(memory.user_id)] if owner else []),
            memory.kind if memory.category in {"fact", "skill"} else memory.category,
            f"{worth[memory.id]:.2f}",
            str(memory.uses),
            _due(memory, cast),
            escape(memory.content) + _state_mark(memory),
        )
    console.print(table)


def memory(one: Memory, values: Worth, cast: Cast, as_json: bool) -> None:
    """Everything about one memory; times as where the user lives."""
    fields = {**_plain(one), "effective": round(values.of(one), 4)}
    if as_json:
        print_json(fields)
        return
    table = Table("field", Column("value", overflow="fold"), show_header=False, box=None)
    zone = cast.zone(one.user_id)
    for key, moment in one:
        if isinstance(moment, datetime):
            fields[key] = f"{moment.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})"
    for key, value in fields.items():
        if value not in (None, [], {}, ""):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            table.add_row(key, escape(shown))
    console.print(table)


def found(hits: Sequence[Found], as_json: bool, *, explain: bool = False) -> None:
    """Search results, best first."""
    if as_json:
        print_json(
            [
                {
                    "id": hit.item.id,
                    "scope": hit.scope,
                    "content": hit.text,
                    "score": round(hit.score, 4),
                    "relevance": round(hit.relevance, 4),
                    "effective": round(hit.effective, 4),
                    **({"parts": hit.parts} if explain else {}),
                }
                for hit in hits
            ]
        )
        return
    columns = ["id", "score", *(["because"] if explain else [])]
    table = Table(*columns, Column("memory", overflow="fold"), box=box.SIMPLE_HEAD)
    for hit in hits:
        parts = "  ".join(f"{key} {value:.2f}" for key, value in hit.parts.items() if value)
        content = escape(hit.text)
        row = [hit.item.id[:8], f"{hit.score:.2f}", *([parts] if explain else []), content]
        table.add_row(*row, style=None if hit.relevant else "dim")
    console.print(table)


def outcomes(entries: Iterable[LedgerEntry], cast: Cast, as_json: bool) -> None:
    """Ledger entries, oldest first; times as where each user lives."""
    listed = list(entries)
    if as_json:
        print_json([_plain(entry) for entry in listed])
        return
    columns = ["entry", "when", "who", "op"]
    table = Table(*columns, Column("what and why", overflow="fold"), box=box.SIMPLE_HEAD)
    for entry in listed:
        who = entry.by.who + (f"\n[dim]{escape(entry.by.model)}[/dim]" if entry.by.model else "")
        when = f"{entry.at.astimezone(cast.zone(entry.user_id)):%Y-%m-%d %H:%M}"
        table.add_row(entry.id[:8], when, who, _op(entry), "\n".join(_story(entry)))
    console.print(table)


def turns(failed: Sequence[Turn], cast: Cast, as_json: bool) -> None:
    """Turns and why they were not judged; times as where each user lives."""
    if as_json:
        print_json([_plain(turn) for turn in failed])
        return
    if not failed:
        console.print("[dim]no turn has failed[/dim]")
        return
    columns = ["turn", "when", "user", "tries", "said"]
    table = Table(*columns, Column("why it failed", overflow="fold"), box=box.SIMPLE_HEAD)
    for turn in failed:
        table.add_row(
            escape(turn.turn_id[:12]),
            f"{turn.at.astimezone(cast.zone(turn.user_id)):%Y-%m-%d %H:%M}",
            escape(turn.user_id),
            str(turn.tries),
            escape(turn.user[:60]),
            escape(turn.error),
        )
    console.print(table)


def played(turn: Played, place: int, names: tuple[str, str], zone: ZoneInfo) -> None:
    """One replayed turn: what was whispered, said, decided and refused."""
    at = f"{turn.exchange.at.astimezone(zone):%Y-%m-%d %H:%M}"
    note = f"  [dim italic]{escape(turn.exchange.note)}[/]" if turn.exchange.note else ""
    console.rule(f"[bold]{place}[/]  {escape(turn.session_id)}  {at}{note}", align="left")
    for memory in _whispered(turn):
        console.print(f"  [blue]whispered[/]  {escape(memory)}")
    console.print(f"[bold]{escape(names[0])}[/]  {escape(turn.exchange.user)}")
    console.print(f"[bold]{escape(names[1])}[/]  {escape(turn.exchange.assistant)}")
    if turn.turn.error:
        console.print(f"  [red]not judged[/]  {escape(turn.turn.error)}")
    for entry in turn.outcomes:
        story = _story(entry)
        console.print(f"  {_op(entry)}  {story[0] if story else ''}")
        for line in story[1:]:
            console.print(f"      {line}")
    for one in turn.narratives:
        _tell(one)


def _tell(one: Memory) -> None:
    """An episode or portrait that was written behind the talk."""
    name = "EPISODE" if one.category is Category.EPISODE else "PORTRAIT"
    console.print(f"  [bold magenta]{name}[/]  {escape(one.content)}")
    for change in one.data.get("changes", ()):
        console.print(f"      [dim]changed: {escape(str(change))}[/]")
    if one.data.get("unresolved"):
        console.print(f"      [dim]open: {escape(one.data['unresolved'])}[/]")


def _whispered(turn: Played) -> list[str]:
    return [line[2:] for line in turn.whisper.text.splitlines() if line.startswith("- ")]


def _op(entry: LedgerEntry) -> str:
    if entry.refused:
        return f"[red strike]{entry.op}[/]"
    return f"[{_COLOURS.get(entry.op, 'white')}]{entry.op}[/]"


def _story(entry: LedgerEntry) -> list[str]:
    """What an op did, on which words, and why; for a refused one, why not."""
    lines = [escape(text) for text in _contents(entry)]
    if entry.refused:
        lines.append(f"[red]refused: {entry.refused}[/]  {escape(entry.detail)}")
    if entry.quote:
        lines.append(f"[dim]on “{escape(entry.quote)}”[/]")
    if entry.reason:
        lines.append(f"[dim]because {escape(entry.reason)}[/]")
    if entry.undone_by:
        lines.append(f"[magenta]undone by {entry.undone_by[:8]}[/]")
    return lines


def _contents(entry: LedgerEntry) -> list[str]:
    if entry.op == "UPDATE" and len(entry.changes) == 2:
        new, old = entry.changes
        return [new.after.content, f"(was: {old.after.content})"]
    if entry.changes:
        return [change.after.content for change in entry.changes]
    return [str(entry.details["content"])] if "content" in entry.details else []


def _due(memory: Memory, cast: Cast) -> str:
    if memory.due_at is None:
        return ""
    day = memory.due_at.astimezone(cast.zone(memory.user_id))
    return f"{day:%Y-%m-%d}\n[dim]{memory.due_for}[/]"


def _state_mark(memory: Memory) -> str:
    return "" if memory.state is MemoryState.ACTIVE else f"  [dim]({memory.state})[/]"


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json")


def print_json(data: Any) -> None:
    """Data for a program, on standard output."""
    print(json.dumps(data, ensure_ascii=False, indent=2))


def played_json(turn: Played) -> None:
    """One replayed turn as a line of JSON."""
    line = {
        "session": turn.session_id,
        "at": turn.exchange.at.isoformat(),
        "user": turn.exchange.user,
        "assistant": turn.exchange.assistant,
        "whispered": _whispered(turn),
        "state": turn.turn.state,
        "error": turn.turn.error,
        "ops": [_plain(entry) for entry in turn.outcomes],
        "told": [_plain(one) for one in turn.narratives],
    }
    print(json.dumps(line, ensure_ascii=False))


def tally(entries: Sequence[LedgerEntry]) -> None:
    """How many ops of each kind there were, and how many were refused."""
    done = Counter(entry.op for entry in entries if entry.refused is None)
    refused = Counter(str(entry.refused) for entry in entries if entry.refused)
    parts = [f"{count} {op}" for op, count in sorted(done.items())]
    parts += [f"{count} refused as {why}" for why, count in sorted(refused.items())]
    parts += [] if refused else ["nothing was refused"]
    console.print(" · ".join(parts), style="dim")


@contextmanager
def progress(what: str, *, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while a person waits; call it with what is done and the total."""
    err = Console(stderr=True)
    with Progress(console=err, transient=True, disable=hidden or not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
