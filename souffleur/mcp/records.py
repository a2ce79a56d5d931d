"""What the tools return: what a model needs of memories, changes and the past."""

from typing import Literal

from pydantic import AwareDatetime, Field

from souffleur.knowledge.finding.search import Found
from souffleur.knowledge.memory import Frozen, Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.talk.turn import Turn
from souffleur.whispering.recollection import Past


class MemoryRecord(Frozen):
    """A memory."""

    id: str
    memory: str = Field(description="One sentence about the user.")
    kind: str = Field(description="What it is about: preference, fact, promise, …")
    category: str = Field(description="core: never fades; fact, skill, episode, profile: may fade.")
    state: str = Field(description="active, or pending: it waits for the user's confirmation.")
    created_at: AwareDatetime
    updated_at: AwareDatetime
    evidence: list[str] = Field(description="The words that it rests on.")


class FoundRecord(Frozen):
    """A memory, a summary of a talk, or what was said."""

    id: str
    text: str
    type: Literal["memory", "episode", "turn"]
    at: AwareDatetime = Field(description="When it was learned or said.")
    score: float = Field(description="How well it matches; higher is better.")


class MemoryList(Frozen):
    """A page of memories."""

    memories: list[MemoryRecord]
    total: int = Field(description="Number of memories on all pages.")


class FoundList(Frozen):
    """What matches, best first."""

    results: list[FoundRecord]


class PastRecord(Frozen):
    """What was talked about."""

    since: AwareDatetime | None = Field(description="Beginning of the time asked about, if any.")
    until: AwareDatetime | None = Field(description="End of that time.")
    results: list[FoundRecord]
    error: str = Field(description="Why something may be missing; empty if nothing is.")


class ChangeRecord(Frozen):
    """A change, carried out or refused."""

    id: str = Field(description="Id of the change; `undo` takes it.")
    op: str = Field(description="ADD, UPDATE, EDIT, FORGET, UNDO, …")
    memory_ids: list[str]
    before: list[str] = Field(description="What the memories said before.")
    after: list[str] = Field(description="What they say now.")
    at: AwareDatetime
    by: str = Field(description="Who decided it.")
    reason: str
    done: bool = Field(description="False: it was refused, or waits for the user's consent.")
    why_not: str = Field(description="Why it was refused; empty if it was not.")
    undone: bool


class ChangeList(Frozen):
    """Changes, oldest first."""

    changes: list[ChangeRecord]


def memory_record(memory: Memory) -> MemoryRecord:
    """Return a memory as a model reads it."""
    return MemoryRecord(
        id=memory.id,
        memory=memory.content,
        kind=memory.kind,
        category=memory.category,
        state=memory.state,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        evidence=[one.quote for one in memory.evidence],
    )


def found_record(found: Found) -> FoundRecord:
    """Return what was found as a model reads it."""
    episode: Literal["memory", "episode"] = "episode" if found.scope == "episodes" else "memory"
    return FoundRecord(
        id=found.item.id,
        text=found.text,
        type="turn" if isinstance(found.item, Turn) else episode,
        at=found.at,
        score=round(found.score, 3),
    )


def past_record(past: Past) -> PastRecord:
    """Return what a question about the past brings as a model reads it."""
    results = [found_record(one) for one in past.found]
    return PastRecord(since=past.since, until=past.until, results=results, error=past.error)


def change_record(entry: LedgerEntry) -> ChangeRecord:
    """Return a ledger entry as a model reads it."""
    return ChangeRecord(
        id=entry.id,
        op=entry.op,
        memory_ids=list(entry.memory_ids),
        before=[change.before.content for change in entry.changes if change.before],
        after=[change.after.content for change in entry.changes],
        at=entry.at,
        by=entry.by.who,
        reason=entry.reason,
        done=entry.refused is None and not entry.waits,
        why_not=entry.detail,
        undone=entry.undone_by is not None,
    )
