"""Due memories, reviewed by a model, compared with what a person had expected.

python -m bench reviews bench/data/reviews.yaml --recorded bench/data/reviews.jsonl
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from typer import Argument

from bench.command import Record, Recorded, open_source, source_settings
from bench.hand_written import read_yaml
from souffleur.agents.brief import Persona
from souffleur.agents.reviewer import MemoryReviewer
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.evals.fixture import scratch
from souffleur.knowledge import decay
from souffleur.knowledge.memory import Evidence, Frozen, Kind, Memory, Speaker
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.opening import StoreLocation, open_knowledge
from souffleur.knowledge.store.records import put_memories
from souffleur.knowledge.turn import Turn, turn_point_id

ZONE = ZoneInfo("Asia/Shanghai")
PARALLEL_CASES = 6
DUE_IMPORTANCE = {"promotion": 2.6, "decay": 1.0}
"""Importance at the anchor; an unused 1.0 is due for review after three weeks."""


class Known(Frozen):
    """A memory of a case."""

    content: str
    kind: Kind = Kind.FACT
    created: str
    """A date."""
    quote: str = ""
    uses: int = 0
    last_used: str | None = None


class Said(Frozen):
    """A raw turn of a case."""

    at: AwareDatetime
    user: str
    assistant: str = ""


class Case(Frozen):
    """One due memory, with the other memories and turns of its user."""

    name: str
    language: Literal["en", "zh"]
    question: Literal["promotion", "decay"]
    user: str
    assistant: str
    now: AwareDatetime
    memory: Known
    others: tuple[Known, ...] = ()
    turns: tuple[Said, ...] = ()
    expect: str | list[str]
    """PROMOTE, KEEP, UPDATE or DELETE; a list if several can be defended."""
    needs_search: bool = False
    why: str

    @property
    def expected(self) -> list[str]:
        """The decisions that can be defended."""
        return [self.expect] if isinstance(self.expect, str) else self.expect


@dataclass(frozen=True)
class Reviewed:
    """A reviewer's decision on a case."""

    case: Case
    op: str
    reason: str
    trail: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether it is what the person expected."""
        return self.op in self.case.expected


class Cases(Frozen):
    """A whole file."""

    cases: tuple[Case, ...]


async def run(cases: Sequence[Case], judge: StructuredChat) -> list[Reviewed]:
    """Review each case in a store of its own, some concurrently."""
    slots = asyncio.Semaphore(PARALLEL_CASES)

    async def one(case: Case) -> Reviewed:
        async with slots:
            with scratch() as folder:
                return await _review(case, judge, folder)

    return list(await asyncio.gather(*(one(case) for case in cases)))


def report(reviewed: list[Reviewed], console: Console) -> None:
    """Print one line for each case, and how many agree."""
    columns = [Column("reason", overflow="fold")]
    table = Table("case", "expected", "decided", "searches", *columns, box=box.SIMPLE_HEAD)
    for one in reviewed:
        expected = "/".join(one.case.expected)
        colour = "green" if one.agrees else "red"
        searches = f"{len(one.trail)}{' (needed)' if one.case.needs_search else ''}"
        row = (one.case.name, expected, f"[{colour}]{one.op}[/]", searches, escape(one.reason))
        table.add_row(*row)
    console.print(table)
    console.print(f"{sum(one.agrees for one in reviewed)} of {len(reviewed)} as expected")


async def _review(case: Case, judge: StructuredChat, folder: Path) -> Reviewed:
    base = await open_knowledge(StoreLocation(folder=folder), make_embedder("hash:512"), COMPANION)
    try:
        memory = _memory(case, case.memory, due=True)
        await put_memories(base, [memory, *(_memory(case, other) for other in case.others)])
        for index, said in enumerate(case.turns):
            base.journal.record(_turn(said, index))
        await base.embed_turns()
        persona = Persona(case.user, case.assistant, ZONE, case.language)
        reviewer = MemoryReviewer(Context(judge, base, persona))
        (decision,) = await reviewer.run([memory], case.now)
        trail = getattr(decision.op, "trail", ())
        return Reviewed(case, decision.op.op, decision.op.reason, trail)
    finally:
        await base.close()


def _memory(case: Case, known: Known, *, due: bool = False) -> Memory:
    created = _noon(known.created)
    used = _noon(known.last_used) if known.last_used else None
    anchor = used or created
    said = Evidence(turn_id="", speaker=Speaker.USER, quote=known.quote, at=created)
    memory = decay.scheduled(
        Memory(
            id=derive_id("case", case.name, known.content),
            user_id="someone",
            content=known.content,
            kind=known.kind,
            importance=DUE_IMPORTANCE[case.question] if due else 1.0,
            anchor_at=anchor,
            evidence=(said,) if known.quote else (),
            uses=known.uses,
            last_used_at=used,
            created_at=created,
            updated_at=anchor,
        ),
        COMPANION,
    )
    if due and (memory.due_at is None or memory.due_at > case.now):
        raise ValueError(f"{case.name}: the memory is not due at {case.now}")
    return memory


def _turn(said: Said, index: int) -> Turn:
    id = turn_point_id("someone", "default", "s", str(index))
    return Turn(id=id, turn_id=str(index), user_id="someone", session_id="s", **dict(said))


def _noon(day: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(day).date(), time(12), ZONE)


def reviews(
    cases: Annotated[Path, Argument(help="A file of cases (YAML).")],
    record: Record = None,
    recorded: Recorded = None,
) -> None:
    """Review due memories, and compare with what a person had expected."""
    reviewed = asyncio.run(_reviewed(cases, record, recorded))
    report(reviewed, Console(highlight=False, width=140))


async def _reviewed(file: Path, record: Path | None, recorded: Path | None) -> list[Reviewed]:
    settings = source_settings(record, recorded)
    async with open_source(settings, record, recorded) as chat:
        return await run(
            read_yaml(file, Cases).cases, StructuredChat(chat, form=settings.answer_form)
        )
