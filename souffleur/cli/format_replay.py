"""Replayed turns in the terminal, or as lines of JSON."""

import json
from zoneinfo import ZoneInfo

from rich.markup import escape

from souffleur.cli.console import console, to_plain
from souffleur.cli.format_ledger import format_op, format_story
from souffleur.knowledge.memory import Category, Memory
from souffleur.replay import Played


def print_turn(turn: Played, index: int, names: tuple[str, str], zone: ZoneInfo) -> None:
    """Print a replayed turn: what was whispered, said, decided and refused."""
    at = f"{turn.exchange.at.astimezone(zone):%Y-%m-%d %H:%M}"
    note = f"  [dim italic]{escape(turn.exchange.note)}[/]" if turn.exchange.note else ""
    console.rule(f"[bold]{index}[/]  {escape(turn.session_id)}  {at}{note}", align="left")
    for memory in whispered_lines(turn.whisper.text):
        console.print(f"  [blue]whispered[/]  {escape(memory)}")
    console.print(f"[bold]{escape(names[0])}[/]  {escape(turn.exchange.user)}")
    console.print(f"[bold]{escape(names[1])}[/]  {escape(turn.exchange.assistant)}")
    if turn.turn.error:
        console.print(f"  [red]not judged[/]  {escape(turn.turn.error)}")
    for entry in turn.outcomes:
        story = format_story(entry)
        console.print(f"  {format_op(entry)}  {story[0] if story else ''}")
        for line in story[1:]:
            console.print(f"      {line}")
    for one in turn.narratives:
        _print_written(one)


def print_turn_json(turn: Played) -> None:
    """Print a replayed turn as a line of JSON."""
    line = {
        "session": turn.session_id,
        "at": turn.exchange.at.isoformat(),
        "user": turn.exchange.user,
        "assistant": turn.exchange.assistant,
        "whispered": whispered_lines(turn.whisper.text),
        "state": turn.turn.state,
        "error": turn.turn.error,
        "ops": [to_plain(entry) for entry in turn.outcomes],
        "told": [to_plain(one) for one in turn.narratives],
    }
    print(json.dumps(line, ensure_ascii=False))


def _print_written(one: Memory) -> None:
    """Print an episode or portrait that was written in the background."""
    name = "EPISODE" if one.category is Category.EPISODE else "PORTRAIT"
    console.print(f"  [bold magenta]{name}[/]  {escape(one.content)}")
    for change in one.data.get("changes", ()):
        console.print(f"      [dim]changed: {escape(str(change))}[/]")
    if one.data.get("unresolved"):
        console.print(f"      [dim]open: {escape(one.data['unresolved'])}[/]")


def whispered_lines(text: str) -> list[str]:
    """Return the memories, episodes and raw turns in a whispered block.

    >>> whispered_lines("What you know:\\n- Ann likes tea.\\n")
    ['Ann likes tea.']
    """
    return [line[2:] for line in text.splitlines() if line.startswith("- ")]
