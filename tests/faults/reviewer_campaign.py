"""The campaign of the reviewer: each attempt is a run over all of ann's memories that are due."""

import re
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

from souffleur.errors import EndpointError
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import ActorKind, LedgerEntry
from souffleur.service.model_runs import REVIEWED_DUE
from souffleur.service.run import RunOptions, RunResult
from tests.faults.campaign import Campaign
from tests.faults.invariants import Contents
from tests.faults.mutations import Family

PRIVATE = "Tom was Ann's partner until 2024."
"""What is known of ann and no log may tell."""
ARGUED = 25_000
"""Characters of a ledger entry, with all that was thought in three rounds."""


def _good(body: Any) -> dict[str, Any]:
    shown = re.findall(r"(?m)^(m\d+) \(", "\n".join(one["content"] for one in body["messages"]))
    each = [{"id": handle, "reason": "it is so", "action": "KEEP"} for handle in shown]
    return {"reason": "because it is so", "query": None, "decisions": each}


class ReviewerCampaign(Campaign):
    """Runs reviews; each memory that is due is decided on, or stays due and the run says why."""

    async def attempt(self, family: Family, name: str, seed: int) -> None:
        """Have what is due decided by answers of this family; then take the decisions back."""
        self.clock.at += timedelta(minutes=1)
        due = {memory.id: memory for memory in await self._due()}
        assert len(due) > 3
        self.behave("review", family, Random(f"{name} {seed}"), review=_good)
        report = await self.memory.run("review", RunOptions(self.clock.at, user_id="ann"))
        health = repr(await self.memory.health())
        after = await self.look(self.memory.error, health, private=PRIVATE)
        await self._assert_decided(due, report, after)
        await self.take_back(after)
        assert {memory.id for memory in await self._due()} == due.keys()

    async def _due(self) -> list[Memory]:
        return await self.memory.knowledge.due(self.clock.at, REVIEWED_DUE, user_id="ann", limit=99)

    async def _assert_decided(
        self, due: dict[str, Memory], report: RunResult, after: Contents
    ) -> None:
        new = after.entries[len(self.before.entries) :]
        done = {entry.memory_ids[0]: entry for entry in new if entry.changes}
        left = {memory.id for memory in await self._due()}
        if isinstance(report.error, EndpointError):
            assert report.stopped
        else:
            assert report.items, report.stopped
        assert not left & done.keys(), "what was decided is still due"
        assert left | done.keys() == due.keys(), "something was lost"
        assert all(line.reason for line in report.items if line.memory.id in left)
        _assert_allowed(due, new)


def _assert_allowed(due: dict[str, Memory], entries: Sequence[LedgerEntry]) -> None:
    """Each decision is of one memory that was due, and may be made of it; few are deleted."""
    for entry in entries:
        assert entry.by.who is ActorKind.REVIEWER
        assert len(entry.model_dump_json()) < ARGUED, "its argument is a book"
        for change in entry.changes:
            former = due[change.after.id]
            assert change.before == former
            assert change.after.content == former.content
            assert entry.op in {"KEEP", "DELETE", "PROMOTE"}
            assert entry.op != "PROMOTE" or former.due_for is Due.PROMOTION
    assert sum(entry.op == "DELETE" and bool(entry.changes) for entry in entries) <= 5
