"""Commands to try a companion: chat, demo."""

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.markup import escape
from typer import Option

from souffleur.cli.console import console, write_page
from souffleur.cli.memory import need_no_owner, run_async
from souffleur.cli.options import ME, User, flag
from souffleur.errors import SettingsError

if TYPE_CHECKING:
    from souffleur.agents.model.recording import Player
    from souffleur.demo.dialogue import Dialogue
    from souffleur.demo.words import Words
    from souffleur.settings import Settings

Language = Literal["en", "zh"]

MAX_WIDTH = 100
"""Maximum cells of a line of the story, as longer lines are hard to read."""


def chat(user: User = ME, session: str = "terminal") -> None:
    """Chat with a companion in the terminal, and see what is whispered and kept."""
    from souffleur.cli.terminal import Terminal
    from souffleur.settings import load_settings, need_model

    settings = need_model(load_settings())
    with Terminal(sys.stdin) as terminal:
        terminal.tell(*_banner(settings, user))

        async def talk() -> None:
            await need_no_owner()
            from souffleur.cli.companion import converse  # loads for seconds, so greet first

            await converse(settings, user, session, terminal)

        run_async(talk(), lambda said: terminal.tell(f"[red]{escape(said)}[/]"))


def _banner(settings: "Settings", user: str) -> list[str]:
    """Return lines of markup: model, store and user of the talk, and how to leave it."""
    from souffleur.knowledge.privacy.addresses import bare_address

    model = f"{settings.model} at {bare_address(settings.endpoint_url)}"
    store = bare_address(settings.qdrant_url) if settings.qdrant_url else str(settings.folder)
    return [
        f"[bold]souffleur chat[/]  {escape(model)}",
        f"[dim]store[/] {escape(store)}  [dim]user[/] {escape(user)}",
        "[dim]/help lists the commands; /quit, Ctrl-D or Ctrl-C ends the talk[/]",
    ]


def demo(
    lang: Annotated[Language, Option(help="English or Chinese, each its own story.")] = "en",
    full: Annotated[
        bool, flag("--full", "Print every turn, with all that was whispered and done.")
    ] = False,
    html: Annotated[
        Path | None, Option(help="Write the story to this page instead; - prints it.")
    ] = None,
) -> None:
    """Show half a year with a companion, by recorded answers; needs no key and no network."""
    from souffleur.agents.model.recording import Player
    from souffleur.cli.replay import play
    from souffleur.demo.dialogue import as_recorded, read_dialogue, settings_for
    from souffleur.demo.words import read_words
    from souffleur.settings import default_settings

    if full and html:
        raise SettingsError("--full and --html exclude each other")
    folder = Path(str(files("souffleur.demo"))) / lang
    player = Player(folder / "recording.jsonl")
    if full:
        play(folder / "dialogue.yaml", default_settings(), player)
        return
    dialogue = read_dialogue(folder / "dialogue.yaml")
    settings = settings_for(dialogue, default_settings()).model_copy(update=as_recorded(player))
    run_async(_tell_story(dialogue, settings, player, read_words(folder), html))


async def _tell_story(
    dialogue: "Dialogue", settings: "Settings", player: "Player", words: "Words", html: Path | None
) -> None:
    from tempfile import TemporaryDirectory

    from souffleur.api import Souffleur
    from souffleur.cli.story import StoryPrinter
    from souffleur.demo.dialogue import clock_for
    from souffleur.demo.page import to_html
    from souffleur.demo.story import Meter, Scene, tell

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
                    page = to_html(dialogue, scenes, part, words, source=source)
                    write_page(page, html, str(html))
                else:
                    printer.ending(part, *source)
