"""The portraits of a scripted year: asked again how often, how long, what was lost, what is right.

    python -m bench portraits --recorded bench/data/portraits.jsonl

The real narrator and profile writer write thirty versions, each from the former one.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.command import Record, Recorded, ToJson, need_one_mode, open_source, source_settings
from bench.portrait_writing import (
    Life,
    Statement,
    Written,
    find_lost,
    find_wrong,
    read_life,
    write_portraits,
)
from souffleur.agents.model.recording import Recorder, prune
from souffleur.agents.structured_chat import StructuredChat

YEAR = Path(__file__).parent / "data" / "portraits.yaml"
TOLD_WORDS = 300
TOLD_CHARACTERS = 1800
"""What the rules tell the model; the tests hold them to it."""


@dataclass(frozen=True)
class Year:
    """A life, its portraits, and what is wrong with them."""

    life: Life
    written: tuple[Written, ...]
    lost: tuple[tuple[date, str], ...]
    """What was known nowhere else and is gone: when, and what."""
    wrong: tuple[Statement, ...]
    """What a reader of the last portrait would say otherwise."""

    @property
    def too_long(self) -> list[Written]:
        """The portraits longer than the rules tell."""
        return [
            one for one in self.written if one.words > TOLD_WORDS or len(one.text) > TOLD_CHARACTERS
        ]

    @property
    def unmet(self) -> list[str]:
        """What the last portrait fails to mention, and what it mentions and must not."""
        end, last = self.life.end, self.written[-1].text
        absent = [f"not told: {one.about}" for one in end.says if not one.within(last)]
        return absent + [f"told: {one.about}" for one in end.never if one.within(last)]

    @property
    def figures(self) -> dict[str, Any]:
        """The counts."""
        return {
            "portraits": len(self.written),
            "requests": len(self.written) + sum(len(one.asked_again) for one in self.written),
            "asked again": sum(bool(one.asked_again) for one in self.written),
            "failed": sum(bool(one.error) for one in self.written),
            "too long": len(self.too_long),
            "most words": max(one.words for one in self.written),
            "most characters": max(len(one.text) for one in self.written),
            "lost": len(self.lost),
            "wrong at the end": len(self.unmet) + len(self.wrong),
        }


async def play_year(life: Life, record: Path | None, recorded: Path | None) -> Year:
    """Write the portraits of a life, and mark them. Raises EndpointError, RecordingError."""
    settings = source_settings(recorded)
    async with open_source(settings, record=record, recorded=recorded) as chat:
        written = await write_portraits(life, chat, settings.answer_form)
        reader = StructuredChat(chat, form=settings.answer_form)
        wrong = await find_wrong(life, life.end.statements, written[-1].text, reader)
    if record and isinstance(chat, Recorder):
        prune(record, chat.used)
    return Year(life, tuple(written), tuple(find_lost(life, written)), tuple(wrong))


def portraits(
    life: Annotated[Path, typer.Argument(help="A scripted life (YAML).")] = YEAR,
    record: Record = None,
    recorded: Recorded = None,
    as_json: ToJson = False,
) -> None:
    """Write the portraits of a scripted life one after the other, and mark them."""
    need_one_mode(record, recorded)
    year = asyncio.run(play_year(read_life(life), record, recorded))
    if as_json:
        print(json.dumps({**year.figures, "last": year.written[-1].text}, ensure_ascii=False))
    else:
        report(year, Console(highlight=False, width=120))


def report(year: Year, console: Console) -> None:
    """Print one line for each portrait, what is wrong, the last portrait, and the counts."""
    table = Table("written", "words", "characters", "asked again", "failed", box=box.SIMPLE_HEAD)
    for one in year.written:
        again = " / ".join(escape(" ".join(words.split())) for words in one.asked_again)
        row = (str(one.day), str(one.words), str(len(one.text)), again, escape(one.error))
        table.add_row(*row)
    console.print(table)
    console.print(escape(year.written[-1].text), "")
    for problem in _problems(year):
        console.print(f"[red]{escape(problem)}[/]")
    console.print(json.dumps(year.figures))


def _problems(year: Year) -> Sequence[str]:
    lost = [f"{day}: lost {about}" for day, about in year.lost]
    misread = [f"a reader says otherwise: {one.says} ({one.holds})" for one in year.wrong]
    return [*lost, *year.unmet, *misread]
