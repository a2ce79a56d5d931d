"""The story of `souffleur demo` in the terminal: scenes, nights, memories at the end, cost."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.cells import cell_len
from rich.text import Text

from souffleur.cli.console import console
from souffleur.cli.tables import clip, wrap
from souffleur.demo.dialogue import Dialogue
from souffleur.demo.effects import Effect, Event
from souffleur.demo.story import Ending, Scene
from souffleur.demo.words import Count, Words

MARGIN = 4
MAX_ROWS = 6
"""Maximum memories in the list at the end."""
_STYLES = {
    Effect.KEPT: "green",
    Effect.REPLACED: "yellow",
    Effect.USED: "cyan",
    Effect.FORGOTTEN: "red",
    Effect.NOT_KEPT: "magenta",
    Effect.REFUSED: "red",
    Effect.PROMOTED: "bold green",
    Effect.MERGED: "yellow",
    Effect.GUARDS: "cyan",
}


@dataclass(frozen=True)
class StoryPrinter:
    """Prints the parts of a story, in one language."""

    words: Words
    dialogue: Dialogue
    width: int
    """Width of a line, in terminal cells."""

    def intro(self) -> None:
        """Print the introduction."""
        for sentence in self.words.introduction(self.dialogue):
            self._put(Text(sentence))

    def scene(self, scene: Scene, number: int) -> None:
        """Print a scene: its words, the whisper, the changes and their reasons."""
        words, zone = self.words, ZoneInfo(self.dialogue.timezone)
        date = words.date(scene.at, zone, is_night=scene.is_night)
        console.print()
        self._title(f"{number:>2}  {scene.part.title}", date)
        if scene.part.about:
            self._put(Text(" " * MARGIN + scene.part.about, "italic"), hang=MARGIN)
        if not scene.is_night:
            self._said(scene)
        for one in scene.shown:
            self._event(one)
        if scene.is_night and (left := words.left(dict(scene.rest))):
            self._line("", left, "", "dim")
        if scene.gone:
            self._line(words.nowhere, words.nothing_of(scene.gone), "green")

    def ending(self, end: Ending, model: str, recorded: str) -> None:
        """Print the memories at the end, a legend, the cost, and commands for next steps."""
        words = self.words
        date = words.date(end.at, ZoneInfo(self.dialogue.timezone))
        console.print()
        console.print(Text(words.remembered.format(date=date), "bold"), soft_wrap=True)
        for one in end.memories[:MAX_ROWS]:
            worth = words.always if one.lasts else f"{one.value:.1f}"
            content = self._short(one.content, lines=2)
            self._line(worth, content, "bold green" if one.lasts else "cyan")
        if (left := len(end.memories) - MAX_ROWS) > 0:
            self._line("", words.others.format(n=Count(left)), "", "dim")
        for legend in words.legend:
            self._put(Text(" " * MARGIN + legend, "dim italic"), hang=MARGIN)
        console.print()
        for sentence in words.took_of(end, model, recorded):
            self._put(Text(sentence))
        console.print()
        console.print(Text(words.next, "bold"), soft_wrap=True)
        for command, about in words.hints.items():
            self._hint(command.format(program=program()), about)

    def _said(self, scene: Scene) -> None:
        words = self.words
        self._line(self.dialogue.user.title, scene.user, "bold")
        for one in scene.whispered:
            note = f" {words.told_of(scene)}" if one is scene.whispered[-1] else ""
            self._line(words.whispered, self._short(one, note), "blue")
        if scene.part.reply:
            self._line(self.dialogue.assistant.name, scene.assistant, "bold")

    def _event(self, one: Event) -> None:
        words = self.words
        style = _STYLES.get(one.effect, "dim")
        label, text, why = words.labels[one.effect], one.text, one.why
        if not text:
            self._line(label, why, style, "dim")
            return
        self._line(label, text, style)
        for was in one.was:
            self._line(words.was, self._short(was), "dim", "dim")
        if went := words.went(one):
            self._line(words.more, went, style)
        if why:
            self._line(words.because, self._short(why, lines=2), "dim", "dim")

    def _title(self, title: str, date: str) -> None:
        """Print a title, with its date at the right end of the same line if there is room."""
        gap = self.width - cell_len(title) - cell_len(date)
        if gap >= 2:
            self._put(Text.assemble((title, "bold"), (" " * gap + date, "dim")))
            return
        self._put(Text(title, "bold"), hang=MARGIN)
        self._put(Text(" " * MARGIN + date, "dim"))

    def _hint(self, command: str, about: str) -> None:
        if cell_len(command) + cell_len(about) + 5 <= self.width:
            console.print(Text.assemble(f"  {command}", (f"   {about}", "dim")), soft_wrap=True)
            return
        console.print(Text(f"  {command}"), soft_wrap=True)  # not wrapped, so that it can be copied
        self._put(Text(f"      {about}", "dim"), hang=6)

    def _line(self, label: str, text: str, label_style: str = "", style: str = "") -> None:
        """Print a label, and next to it a text that is wrapped in its own column."""
        gap = " " * (self._label_width - cell_len(label) + 2)
        start = Text.assemble(" " * MARGIN, (label, label_style), gap)
        words = Text(" ".join(text.split()), style)
        self._put(start.append_text(words), hang=MARGIN + self._label_width + 2)

    def _put(self, text: Text, hang: int = 0) -> None:
        for line in wrap(text, self.width, hang):
            console.print(line, soft_wrap=True)

    def _short(self, text: str, note: str = "", lines: int = 1) -> str:
        """Return the beginning of a text that fits into these lines next to a label, and a note."""
        room = lines * (self.width - MARGIN - self._label_width - 2) - 4 * (lines - 1)
        return clip(" ".join(text.split()), max(room - cell_len(note), 20)) + note

    @property
    def _label_width(self) -> int:
        words, dialogue = self.words, self.dialogue
        labels = [*words.labels.values(), words.whispered, words.because, words.was, words.more]
        labels += [words.nowhere, words.always, dialogue.user.title, dialogue.assistant.name]
        return max(cell_len(label) for label in labels)


def program() -> str:
    """Return the command that starts this program in the current folder."""
    if shutil.which("souffleur"):
        return "souffleur"
    own = Path(sys.executable).with_name("souffleur")
    try:
        return str(own.relative_to(Path.cwd()))
    except ValueError:
        return str(own)
