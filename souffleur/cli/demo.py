"""`souffleur demo`: the shipped dialogue as a story, turn by turn, or as a page."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from souffleur.cli.event_loop import run_async
from souffleur.cli.page_file import write_page

if TYPE_CHECKING:
    from souffleur.agents.model.recording import Player
    from souffleur.demo.words import Words
    from souffleur.dialogue import Dialogue
    from souffleur.settings import Settings

Language = Literal["en", "zh"]

MAX_WIDTH = 100
"""Cells of a line: longer ones are hard to read."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(demo)


def demo(
    lang: Annotated[Language, typer.Option(help="English or Chinese, each its own story.")] = "en",
    full: Annotated[
        bool, typer.Option("--full", help="Print every turn, with all that was whispered and done.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write the story to this page instead; - prints it.")
    ] = None,
) -> None:
    """Show half a year with a companion, by recorded answers; needs no key and no network."""
    from souffleur.agents.model.recording import Player
    from souffleur.cli.talk import play
    from souffleur.demo.words import read_words
    from souffleur.dialogue import read_dialogue
    from souffleur.errors import SettingsError
    from souffleur.replay import as_recorded, settings_for
    from souffleur.settings import default_settings

    if full and html:
        raise SettingsError("--full and --html exclude each other")
    folder = Path(str(files("souffleur.demo"))) / lang
    player = Player(folder / "recording.jsonl")
    if full:
        play(folder / "dialogue.yaml", default_settings(), player, None)
        return
    dialogue = read_dialogue(folder / "dialogue.yaml")
    settings = settings_for(dialogue, default_settings()).model_copy(update=as_recorded(player))
    run_async(_show(dialogue, settings, player, read_words(folder), html))


async def _show(
    dialogue: "Dialogue", settings: "Settings", player: "Player", words: "Words", html: Path | None
) -> None:
    from tempfile import TemporaryDirectory

    from souffleur.api import Souffleur
    from souffleur.cli.console import console
    from souffleur.cli.format_story import StoryPrinter
    from souffleur.demo.page import to_html
    from souffleur.demo.story import Meter, Scene, tell
    from souffleur.replay import clock_for

    clock, meter = clock_for(dialogue), Meter(player)
    source = player.model, player.recorded_on
    printer = StoryPrinter(words, dialogue, min(console.width, MAX_WIDTH))
    scenes: list[Scene] = []
    if not html:
        printer.intro()
    with TemporaryDirectory(prefix="souffleur-") as folder:
        passing = settings.model_copy(update={"path": Path(folder), "qdrant_url": None})
        async with Souffleur.open(passing, chat=meter, clock=clock) as memory:
            async for part in tell(dialogue, memory, clock, meter):
                if isinstance(part, Scene):
                    scenes.append(part)
                    if not html:
                        printer.scene(part, len(scenes))
                elif html:
                    write_page(
                        to_html(dialogue, scenes, part, words, source=source), html, str(html)
                    )
                else:
                    printer.ending(part, *source)
