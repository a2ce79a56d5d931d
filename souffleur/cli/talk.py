"""Commands with a dialogue: replay, chat."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import need_no_owner, run_async
from souffleur.cli.options import ME, User

if TYPE_CHECKING:
    from datetime import datetime

    from souffleur.agents.model.chat import Chat
    from souffleur.agents.model.recording import Player, Recorder
    from souffleur.api import Souffleur
    from souffleur.dialogue import Dialogue
    from souffleur.replay import Played, PlayedNight
    from souffleur.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (replay, chat):
        app.command()(command)


def replay(
    file: Annotated[Path, typer.Argument(help="A dialogue file (YAML).")],
    record: Annotated[
        Path | None, typer.Option(help="Keep the model's answers in this file.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Take the answers from this file; no model is asked.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Use the store at SOUFFLEUR_PATH, not a temporary one.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each turn.")
    ] = False,
) -> None:
    """Replay a dialogue through the memory, live with the configured endpoint."""
    from souffleur.agents.model.recording import Player
    from souffleur.errors import SettingsError
    from souffleur.settings import load_settings, need_model

    if record and recorded:
        raise SettingsError("--record and --recorded exclude each other")
    settings = load_settings() if recorded else need_model(load_settings())
    player = Player(recorded) if recorded else None
    play(file, settings, player, record, keep=keep, as_json=as_json)


def chat(user: User = ME, session: str = "terminal") -> None:
    """Chat with a companion in the terminal, and see what is whispered and kept."""
    import sys

    from rich.markup import escape

    from souffleur.cli.terminal import Terminal
    from souffleur.settings import load_settings, need_model

    settings = need_model(load_settings())
    with Terminal(sys.stdin) as terminal:
        terminal.tell(*_banner(settings, user))

        async def talk() -> None:
            await need_no_owner()
            from souffleur.cli.companion import converse  # takes seconds to load: greet before

            await converse(settings, user, session, terminal)

        run_async(
            talk(),
            lambda said: terminal.tell(f"[red]{escape(said)}[/]"),
        )


def _banner(settings: "Settings", user: str) -> list[str]:
    """Return with which model and store one talks, and how to leave, as lines of markup."""
    from rich.markup import escape

    from souffleur.knowledge.privacy.addresses import bare_address

    model = f"{settings.model} at {bare_address(settings.endpoint_url)}"
    store = bare_address(settings.qdrant_url) if settings.qdrant_url else str(settings.folder)
    return [
        f"[bold]souffleur chat[/]  {escape(model)}",
        f"[dim]store[/] {escape(store)}  [dim]user[/] {escape(user)}",
        "[dim]/help lists the commands; /quit, Ctrl-D or Ctrl-C ends the talk[/]",
    ]


def play(
    file: Path,
    chosen: "Settings",
    chat: "Player | None",
    record: Path | None,
    *,
    keep: bool = False,
    as_json: bool = False,
) -> None:
    """Replay a dialogue, each turn printed; the store is a temporary one, unless `keep` is set."""
    from souffleur.dialogue import read_dialogue
    from souffleur.replay import as_recorded, settings_for

    dialogue = read_dialogue(file)
    settings = settings_for(dialogue, chosen)
    if chat is not None:
        settings = settings.model_copy(update=as_recorded(chat))
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
    from souffleur.api import Souffleur
    from souffleur.cli.console import progress
    from souffleur.replay import Played, clock_for, replay_all

    live = chat is None
    recorder = _recorder(settings, record) if record else None
    chat = recorder or chat
    clock = clock_for(dialogue)
    async with AsyncExitStack() as stack:
        if keep:
            await need_no_owner()
        else:
            folder = stack.enter_context(TemporaryDirectory(prefix="souffleur-"))
            settings = settings.model_copy(update={"path": Path(folder), "qdrant_url": None})
        memory = await stack.enter_async_context(Souffleur.open(settings, chat=chat, clock=clock))
        number = 0
        with progress("judging", hidden=not live) as step:
            async for played in replay_all(dialogue, memory, clock):
                number += isinstance(played, Played)
                _print_played(played, number, dialogue, as_json=as_json)
                step(number, len(dialogue))
        if recorder and record:
            prune(record, recorder.used)  # answers to a former wording of the dialogue
        if not as_json:
            end = dialogue.sessions[-1].turns[-1].at
            await _sum_up(memory, dialogue.user.id, end)


def _print_played(
    played: "Played | PlayedNight", number: int, dialogue: "Dialogue", *, as_json: bool
) -> None:
    """Print a turn, or the runs of a night; as JSON, turns alone."""
    from zoneinfo import ZoneInfo

    from souffleur.cli import format_replay
    from souffleur.replay import PlayedNight

    zone, names = ZoneInfo(dialogue.timezone), (dialogue.user.title, dialogue.assistant.name)
    if not isinstance(played, PlayedNight):
        if as_json:
            format_replay.print_turn_json(played)
        else:
            format_replay.print_turn(played, number, names, zone)
    elif not as_json:
        format_replay.print_night(played, zone)


async def _sum_up(memory: "Souffleur", user_id: str, end: "datetime") -> None:
    from souffleur.cli.console import console
    from souffleur.cli.format_ledger import print_tally
    from souffleur.cli.format_memories import Worth, print_memories

    knowledge = memory.knowledge
    console.rule("[bold]what is remembered, and what it is worth at the end[/]", align="left")
    found, worth = await knowledge.list(user_id, now=end), Worth(end, knowledge.policy)
    print_memories(found, worth, await memory.cast(), as_json=False)
    print_tally(await knowledge.journal.entries(user_id))


def _recorder(settings: "Settings", path: Path) -> "Recorder":
    from datetime import UTC, datetime

    from souffleur.agents.model.recording import Recorder
    from souffleur.wiring import make_endpoint

    return Recorder(make_endpoint(settings), path, model=settings.model, now=datetime.now(UTC))
