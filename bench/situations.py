"""What comes to mind: hand-written situations, and whether what matters is whispered in them.

    python -m bench situations --recorded bench/data/situations.jsonl

Each memory has the cues that a model gave it without knowing the message, and each boundary is
linked with the memories that, by a model, it speaks of. Reported are the share of what must come
that came, what came and must not, and how much of what was whispered bears on the message, as a
model marks it, which sees all that is known and not what was whispered.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from bench.coming_to_mind import (
    FOLDER,
    CameToMind,
    Helps,
    Situation,
    mark_bearing,
    play,
    read_situations,
)
from bench.command import (
    Embedder,
    Record,
    Recorded,
    ToJson,
    need_one_mode,
    open_source,
    source_settings,
)
from souffleur.agents.model.recording import Recorder, prune
from souffleur.agents.structured_chat import StructuredChat

AT_ONCE = 12
"""Situations played side by side."""


@dataclass(frozen=True)
class Marked:
    """What came to mind in a situation, and what bears on its message."""

    came: CameToMind
    bears: frozenset[str] | None
    """None if nobody marked it."""


def summarize(marked: Sequence[Marked]) -> dict[str, Any]:
    """Return the figures: shares from 0 to 1, counts otherwise."""
    due = sum(one.came.due for one in marked)
    missing = sum(len(one.came.missing) for one in marked)
    rated = [one for one in marked if one.bears is not None]
    lines = sum(one.came.lines for one in rated)
    bearing = sum(one.came.bearing(one.bears or frozenset()) for one in rated)
    return {
        "situations": len(marked),
        "due": due,
        "came": round((due - missing) / due, 3) if due else None,
        "violations": sum(len(one.came.violations) for one in marked),
        "lines": round(lines / len(rated), 1) if rated else None,
        "precision": round(bearing / lines, 3) if lines else None,
        "tokens": round(sum(one.came.whisper.tokens for one in marked) / len(marked)),
    }


def situations(
    folder: Annotated[Path, typer.Argument(help="A folder of situations.")] = FOLDER,
    record: Record = None,
    recorded: Recorded = None,
    embedder: Embedder = "hash:512",
    only: Annotated[str, typer.Option(help="Names that fit this pattern.")] = "*",
    cues: Annotated[bool, typer.Option(help="Give memories cues; link boundaries.")] = True,
    next: Annotated[bool, typer.Option(help="Judge the talk before the message.")] = True,
    mark: Annotated[bool, typer.Option(help="Mark what bears on the messages.")] = True,
    as_json: ToJson = False,
) -> None:
    """Recall in hand-written situations, and say what came to mind and what did not."""
    need_one_mode(record, recorded)
    found = read_situations(folder, only)
    marked = asyncio.run(
        _mark_all(found, record, recorded, embedder, Helps(cues=cues, next=next), mark)
    )
    if as_json:
        print(json.dumps(_by_language(marked), indent=1, ensure_ascii=False))
    else:
        _show(marked, Console(highlight=False, width=120))


async def _mark_all(
    found: Sequence[Situation],
    record: Path | None,
    recorded: Path | None,
    embedder: str,
    helps: Helps,
    mark: bool,
) -> list[Marked]:
    settings = source_settings(recorded, embedder=embedder)
    slots = asyncio.Semaphore(AT_ONCE)
    async with open_source(settings, record=record, recorded=recorded) as chat:

        async def brought(situation: Situation) -> CameToMind:
            async with slots:
                return await play(situation, settings, chat=chat, helps=helps)

        async def bearing(situation: Situation) -> frozenset[str] | None:
            async with slots:
                marker = StructuredChat(chat, form=settings.answer_form)
                return await mark_bearing(situation, marker) if mark else None

        # Cues come first: whoever writes them must not have seen a message.
        came = await asyncio.gather(*map(brought, found))
        bears = await asyncio.gather(*map(bearing, found))
    marked = [Marked(*both) for both in zip(came, bears, strict=True)]
    if record and isinstance(chat, Recorder):
        prune(record, chat.used)
    return marked


def _by_language(marked: Sequence[Marked]) -> dict[str, Any]:
    languages = sorted({one.came.situation.language for one in marked})
    parts: dict[str, Sequence[Marked]] = {
        name: [one for one in marked if one.came.situation.language == name] for name in languages
    }
    apart = [one for one in marked if not one.came.situation.shares_words()]
    figures = {name: summarize(part) for name, part in {**parts, "all": marked}.items()}
    return {**figures, "without a shared word": summarize(apart)} if apart else figures


def _show(marked: Sequence[Marked], console: Console) -> None:
    for one in marked:
        came, situation = one.came, one.came.situation
        for what, names in (("missing", came.missing), ("must not", came.violations)):
            for name in names:
                content = next((m.content for m in situation.memories if m.id == name), name)
                console.print(f"[red]{what}[/] {situation.language}/{situation.name}: ", end="")
                console.print(f"{escape(situation.message)} [dim]<- {escape(content)}[/]")
    for name, figures in _by_language(marked).items():
        console.print(f"{name}: {json.dumps(figures)}")
