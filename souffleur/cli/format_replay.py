"""Replayed turns in the terminal, or as lines of JSON."""

import json
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rich.markup import escape
from rich.text import Text

from souffleur.cli.console import console, to_plain
from souffleur.cli.format_ledger import format_op, format_story
from souffleur.cli.wrapping import wrap
from souffleur.knowledge.memory import Category, Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.recall.compose import whispered_lines
from souffleur.replay import Played, PlayedNight
from souffleur.times import to_minute


def print_turn(turn: Played, index: int, names: tuple[str, str], zone: ZoneInfo) -> None:
    """Print a replayed turn: what was whispered, said, decided and refused."""
    at = to_minute(turn.exchange.at, zone)
    note = f"  [dim italic]{escape(turn.exchange.note)}[/]" if turn.exchange.note else ""
    console.rule(f"[bold]{index}[/]  {escape(turn.session_id)}  {at}{note}", align="left")
    for memory in whispered_lines(turn.whisper.text):
        _print(f"  [blue]whispered[/]  {escape(memory)}")
    _print(f"[bold]{escape(names[0])}[/]  {escape(turn.exchange.user)}")
    _print(f"[bold]{escape(names[1])}[/]  {escape(turn.exchange.assistant)}")
    if turn.turn.error:
        _print(f"  [red]not judged[/]  {escape(turn.turn.error)}")
    _print_done(turn.outcomes)
    for one in turn.narratives:
        _print_written(one)


def print_night(played: PlayedNight, zone: ZoneInfo) -> None:
    """Print the runs of a night: what they were for, and what each changed."""
    at = to_minute(played.night.at, zone)
    note = f"  [dim italic]{escape(played.night.note)}[/]" if played.night.note else ""
    runs = ", ".join(played.night.runs)
    console.rule(f"[bold]scheduled runs[/]  {escape(runs)}  {at}{note}", align="left")
    _print_done(played.outcomes)
    for one in played.narratives:
        _print_written(one)


def _print_done(entries: Sequence[LedgerEntry]) -> None:
    for entry in entries:
        story = format_story(entry)
        _print(f"  {format_op(entry)}  {story[0] if story else ''}")
        for line in story[1:]:
            _print(f"      {line}")


def _print(markup: str) -> None:
    """Print text with markup; what does not fit on a line is indented."""
    for paragraph in Text.from_markup(markup).split("\n", allow_blank=True):
        indent = len(paragraph.plain) - len(paragraph.plain.lstrip())
        for line in wrap(paragraph, console.width, hang=indent + 4):
            console.print(line, soft_wrap=True)


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
    _print(f"  [bold magenta]{name}[/]  {escape(one.content)}")
    for change in one.data.get("changes", ()):
        _print(f"      [dim]changed: {escape(str(change))}[/]")
    if one.data.get("unresolved"):
        _print(f"      [dim]open: {escape(one.data['unresolved'])}[/]")
