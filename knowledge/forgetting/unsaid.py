"""Unsaid: what was forgotten on request, cut from a copy of the records that leaves the store."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import WORDLESS
from souffleur.knowledge.store.engine.collection import Filter, Is, Payload, Point, read_pages
from souffleur.knowledge.store.ledger import Journal


@dataclass(frozen=True)
class Unsaid:
    """The ids of what forgettings hide that were not undone."""

    memories: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()

    def left_of(self, points: Iterable[Point]) -> list[Point]:
        """Return records without what is forgotten: it is left out, or has no words.

        >>> hidden = {"type": "turn", "id": "t", "user": "I did", "assistant": "ok"}
        >>> (left,) = Unsaid(turns=frozenset({"t"})).left_of([Point("t", hidden)])
        >>> left.payload["user"], left.payload["expunged"]
        ('', True)
        """
        return [Point(one.id, self._cut(one)) for one in points if not self._is_gone(one)]

    def _is_gone(self, point: Point) -> bool:
        forgotten = point.payload.get("state") == MemoryState.FORGOTTEN
        return forgotten and point.id in self.memories

    def _cut(self, point: Point) -> Payload:
        payload = point.payload
        if payload.get("type") == "turn" and point.id in self.turns:
            judged = {**payload.get("judged", {}), "reason": ""}
            bare = {"user": "", "assistant": "", "error": "", "judged": judged}
            return {**payload, **bare, "expunged": True, "embedded": False}
        if payload.get("type") == "entry" and self._tells(payload):
            kept = [one for one in payload.get("changes", ()) if not self._changed(one)]
            ids = [one["after"]["id"] for one in kept]
            return {**payload, **WORDLESS, "changes": kept, "memory_ids": ids}
        return payload

    def _tells(self, payload: Payload) -> bool:
        of_memory = self.memories.intersection(payload.get("memory_ids", ()))
        return bool(of_memory or self.turns.intersection(payload.get("turn_ids", ())))

    def _changed(self, change: dict[str, Any]) -> bool:
        return change["after"]["id"] in self.memories


async def find_unsaid(journal: Journal, user_id: str | None) -> Unsaid:
    """Return what a user (`None`: anybody) has asked to forget. Reads the ledger."""
    memories, turns = set[str](), set[str]()
    entries = Filter((Is("type", "entry"), Is("applied", True), *user_conditions(user_id)))
    async for page in read_pages(journal.collection, entries):
        for payload in (one.payload for one in page):
            resting = dict(payload.get("details") or {}).get("resting")
            if resting and not (payload.get("undone_by") or payload.get("refused")):
                memories |= set(payload.get("memory_ids", ()))
                turns |= set(resting["turns"])
    return Unsaid(frozenset(memories), frozenset(turns))
