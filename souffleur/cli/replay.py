"""`souffleur eval replay`: a dialogue played through the memory, each turn printed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

from rich.markup import escape
from rich.text import Text
from typer import Argument, Option

from souffleur.cli.console import console, plain, progress
from souffleur.cli.entries import format_op, format_story, print_tally
from souffleur.cli.look import Worth, print_memories
from souffleur.cli.memory import need_no_owner, open_memory, run_async
from souffleur.cli.options import flag
from souffleur.cli.tables import wrap
from souffleur.errors import SettingsError
from souffleur.times import to_minute

if TYPE_CHECKING:
    from datetime import datetime

    from souffleur.agents.model.chat import Chat
    from souffleur.agents.model.recording import Player, Recorder
    from souffleur.api import Souffleur
    from souffleur.demo.dialogue import Dialogue, Exchange, NightPart, Played, PlayedNight
    from souffleur.knowledge.memory import Memory
    from souffleur.knowledge.operation import LedgerEntry
    from souffleur.settings import Settings


def replay(
    file: Annotated[Path, Argument(help="A dialogue file (YAML).")],
    record: Annotated[Path | None, Option(help="Keep the model's answers in this file.")] = None,
    recorded: Annotated[
        Path | None, Option(help="Take the answers from this file; no model is asked.")
    ] = None,
    keep: Annotated[
        bool, flag("--keep", "Use the store at SOUFFLEUR_PATH, not a temporary one.")
    ] = False,
    as_json: Annotated[bool, flag("--json", "Print one JSON object for each turn.")] = False,
) -> None:
    """Replay a dialogue through the memory, live with the configured endpoint."""
    from souffleur.agents.model.recording import Player
    from souffleur.settings import load_settings, need_model

    if record and recorded:
        raise SettingsError("--record and --recorded exclude each other")
    settings = load_settings() if recorded else need_model(load_settings())
    player = Player(recorded) if recorded else None
    play(file, settings, player, record, keep=keep, as_json=as_json)


def play(
    file: Path,
    chosen: "Settings",
    chat: "Player | None",
    record: Path | None = None,
    *,
    keep: bool = False,
    as_json: bool = False,
) -> None:
    """Replay a dialogue and print each turn; the store is temporary unless `keep` is set."""
    from souffleur.demo.dialogue import AS_SAID, as_recorded, read_dialogue, settings_for

    dialogue = read_dialogue(file)
    settings = settings_for(dialogue, chosen)
    if chat is not None:
        settings = settings.model_copy(update=as_recorded(chat))
    elif record:
        settings = settings.model_copy(update=AS_SAID)
    run_async(_replay(dialogue, settings, chat, record, keep=keep, as_json=as_json))


async def _replay(
    dialogue: "Dialogue",
    settings: "Settings",
    chat: "Chat | None",
    record: Path | None,
    *,
    keep: bool,
    as_json: bool,
) -> None:
    from contextlib import AsyncExitStack
    from tempfile import TemporaryDirectory

    from souffleur.agents.model.recording import prune
    from souffleur.demo.dialogue import Played, clock_for, replay_all

    live = chat is None
    recorder = _recorder(settings, record) if record else None
    clock = clock_for(dialogue)
    async with AsyncExitStack() as stack:
        if keep:
            await need_no_owner()
        else:
            folder = stack.enter_context(TemporaryDirectory(prefix="souffleur-"))
            settings = settings.model_copy(update={"path": Path(folder), "qdrant_url": None})
        opening = open_memory(settings, chat=recorder or chat, clock=clock)
        memory = await stack.enter_async_context(opening)
        number = 0
        with progress("judging", hidden=not live) as step:
            async for played in replay_all(dialogue, memory, clock):
                number += isinstance(played, Played)
                _print_played(played, number, dialogue, as_json=as_json)
                step(number, len(dialogue))
        if recorder and record:
            prune(record, recorder.used)  # answers to an earlier wording of the dialogue
        if not as_json:
            end = dialogue.sessions[-1].turns[-1].at
            await _sum_up(memory, dialogue.user.id, end)


def _recorder(settings: "Settings", path: Path) -> "Recorder":
    from datetime import UTC, datetime

    from souffleur.agents.model.recording import Recorder
    from souffleur.parts import make_endpoint

    return Recorder(make_endpoint(settings), path, model=settings.model, now=datetime.now(UTC))


async def _sum_up(memory: "Souffleur", user_id: str, end: "datetime") -> None:
    knowledge = memory.knowledge
    console.rule("[bold]what is remembered, and what it is worth at the end[/]", align="left")
    found, worth = await knowledge.list(user_id, now=end), Worth(end, knowledge.policy)
    print_memories(found, worth, await memory.cast())
    print_tally(await knowledge.journal.entries(user_id))


def _print_played(
    played: "Played | PlayedNight", number: int, dialogue: "Dialogue", *, as_json: bool
) -> None:
    """Print a turn, or the runs of a night; as JSON, only turns."""
    from souffleur.demo.dialogue import PlayedNight

    zone = ZoneInfo(dialogue.timezone)
    if isinstance(played, PlayedNight):
        if not as_json:
            _print_night(played, zone)
    elif as_json:
        _print_turn_json(played)
    else:
        _print_turn(played, number, (dialogue.user.title, dialogue.assistant.name), zone)


def _print_turn(turn: "Played", number: int, names: tuple[str, str], zone: ZoneInfo) -> None:
    """Print a turn: the whisper, both sides' words, and the ops with their refusals."""
    from souffleur.recall.compose import whispered_lines

    _print_rule(f"[bold]{number}[/]  {escape(turn.session_id)}", turn.exchange, zone)
    for memory in whispered_lines(turn.whisper.text):
        _print(f"  [blue]whispered[/]  {escape(memory)}")
    _print(f"[bold]{escape(names[0])}[/]  {escape(turn.exchange.user)}")
    _print(f"[bold]{escape(names[1])}[/]  {escape(turn.exchange.assistant)}")
    if turn.turn.error:
        _print(f"  [red]not judged[/]  {escape(turn.turn.error)}")
    _print_changes(turn.outcomes, turn.narratives)


def _print_night(played: "PlayedNight", zone: ZoneInfo) -> None:
    """Print the names of the runs of a night, and their changes."""
    runs = escape(", ".join(played.night.runs))
    _print_rule(f"[bold]scheduled runs[/]  {runs}", played.night, zone)
    _print_changes(played.outcomes, played.narratives)


def _print_rule(title: str, part: "Exchange | NightPart", zone: ZoneInfo) -> None:
    note = f"  [dim italic]{escape(part.note)}[/]" if part.note else ""
    console.rule(f"{title}  {to_minute(part.at, zone)}{note}", align="left")


def _print_changes(entries: "Sequence[LedgerEntry]", narratives: "Sequence[Memory]") -> None:
    """Print ledger entries, then the episodes and portraits written in the background."""
    for entry in entries:
        story = format_story(entry)
        _print(f"  {format_op(entry)}  {story[0] if story else ''}")
        for line in story[1:]:
            _print(f"      {line}")
    for one in narratives:
        name = "EPISODE" if one.category == "episode" else "PORTRAIT"
        _print(f"  [bold magenta]{name}[/]  {escape(one.content)}")
        for change in one.data.get("changes", ()):
            _print(f"      [dim]changed: {escape(str(change))}[/]")
        if one.data.get("unresolved"):
            _print(f"      [dim]open: {escape(one.data['unresolved'])}[/]")


def _print(markup: str) -> None:
    """Print text with markup; the lines after the first are indented."""
    for paragraph in Text.from_markup(markup).split("\n", allow_blank=True):
        indent = len(paragraph.plain) - len(paragraph.plain.lstrip())
        for line in wrap(paragraph, console.width, hang=indent + 4):
            console.print(line, soft_wrap=True)


def _print_turn_json(turn: "Played") -> None:
    """Print a turn as a line of JSON."""
    from souffleur.recall.compose import whispered_lines

    line = {
        "session": turn.session_id,
        "at": turn.exchange.at.isoformat(),
        "user": turn.exchange.user,
        "assistant": turn.exchange.assistant,
        "whispered": whispered_lines(turn.whisper.text),
        "state": turn.turn.state,
        "error": turn.turn.error,
        "ops": plain(turn.outcomes),
        "told": plain(turn.narratives),
    }
    print(json.dumps(line, ensure_ascii=False))
