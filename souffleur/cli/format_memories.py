"""Memories, search results and failed turns: tables for people, JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.cast import Cast
from souffleur.cli.console import console, print_json, to_plain
from souffleur.cli.tables import print_table
from souffleur.knowledge.decay import effective
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.memories import Found
from souffleur.knowledge.turn import Turn
from souffleur.times import to_minute


@dataclass(frozen=True)
class Worth:
    """The effective values of memories at a moment."""

    now: datetime
    policy: Policy

    def of(self, memory: Memory) -> float:
        """Return the effective value of a memory."""
        return effective(memory, self.now, self.policy)


def print_memories(
    found: Sequence[Memory], values: Worth, cast: Cast, *, as_json: bool, owner: bool = False
) -> None:
    """Print memories, the most valuable first; days are in each user's time zone."""
    worth = {memory.id: values.of(memory) for memory in found}
    ranked = sorted(found, key=lambda memory: (-worth[memory.id], memory.id))
    if as_json:
        print_json([{**to_plain(memory), "effective": worth[memory.id]} for memory in ranked])
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
    print_table(table)


def print_memory(one: Memory, values: Worth, cast: Cast, *, as_json: bool) -> None:
    """Print everything about one memory; times are in the user's time zone."""
    fields = {**to_plain(one), "effective": round(values.of(one), 4)}
    if as_json:
        print_json(fields)
        return
    table = Table("field", Column("value", overflow="fold"), show_header=False, box=None)
    zone = cast.zone(one.user_id)
    for key, moment in one:
        if isinstance(moment, datetime):
            fields[key] = f"{to_minute(moment, zone)} ({zone.key})"
    for key, value in fields.items():
        if value not in (None, [], {}, ""):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            table.add_row(key, escape(shown))
    print_table(table)


def print_search_results(hits: Sequence[Found], *, as_json: bool, explain: bool = False) -> None:
    """Print search results, best first."""
    if as_json:
        print_json(
            [
                {
                    "id": hit.item.id,
                    **_host_ids(hit.item),
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
    print_table(table)


def print_failed_turns(failed: Sequence[Turn], cast: Cast, *, as_json: bool) -> None:
    """Print turns with the reason why they were not judged; times are in each user's time zone."""
    if as_json:
        print_json([to_plain(turn) for turn in failed])
        return
    if not failed:
        console.print("[dim]no turn has failed[/dim]")
        return
    columns = ["turn", "when", "user", "tries", "said"]
    table = Table(*columns, Column("why it failed", overflow="fold"), box=box.SIMPLE_HEAD)
    for turn in failed:
        table.add_row(
            escape(turn.turn_id[:12]),
            to_minute(turn.at, cast.zone(turn.user_id)),
            escape(turn.user_id),
            str(turn.tries),
            escape(turn.user[:60]),
            escape(turn.error),
        )
    print_table(table)


def _host_ids(item: Memory | Turn) -> dict[str, str]:
    if isinstance(item, Memory):
        return {}
    return {"session_id": item.session_id, "host_turn_id": item.turn_id}


def _due(memory: Memory, cast: Cast) -> str:
    if memory.due_at is None:
        return ""
    day = memory.due_at.astimezone(cast.zone(memory.user_id))
    return f"{day:%Y-%m-%d}\n[dim]{memory.due_for}[/]"


def _state_mark(memory: Memory) -> str:
    return "" if memory.state is MemoryState.ACTIVE else f"  [dim]({memory.state})[/]"
