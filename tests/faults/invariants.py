"""What must hold after any answer of a model, whatever it says: checked by means of our own."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState, Speaker
from souffleur.knowledge.operation import ActorKind, LedgerEntry
from souffleur.knowledge.store.repair import find_broken
from souffleur.knowledge.text.plain import is_blank, single_line
from souffleur.knowledge.turn import Turn
from tests.faults.scene import API_KEY, BOBS, FORGOTTEN, SECRETS, Exchange, question
from tests.stub import Body

RUN = 12
"""Characters in a row of private words that nobody else may repeat."""
BOOKKEEPING = {"revision", "updated_at", "written_by", "recalls"}
"""Of a memory: what tells of writing and reading it, and nothing of what it says."""


@dataclass(frozen=True)
class Contents:
    """All that is in a store."""

    memories: dict[str, Memory]
    """By their ids."""
    entries: list[LedgerEntry]
    turns: list[Turn]

    def of(self, user_id: str) -> "Contents":
        """Return what belongs to one user."""
        return Contents(
            {id: memory for id, memory in self.memories.items() if memory.user_id == user_id},
            [entry for entry in self.entries if entry.user_id == user_id],
            [turn for turn in self.turns if turn.user_id == user_id],
        )


async def read_contents(knowledge: KnowledgeBase) -> Contents:
    """Return all that is in a store."""
    memories = await knowledge.list(None, states=tuple(MemoryState))
    return Contents(
        {memory.id: memory for memory in memories},
        await knowledge.journal.entries(),
        await knowledge.journal.turns(),
    )


async def assert_whole(knowledge: KnowledgeBase, contents: Contents) -> None:
    """Every record can be read, and every memory says something, in at most 2,000 characters."""
    broken = await find_broken(knowledge)
    assert not broken, [one.why for one in broken]
    for memory in contents.memories.values():
        assert not is_blank(memory.content), f"blank: {memory.content!r}"
        assert len(memory.content) <= 2000, f"{len(memory.content)} characters"


def assert_strangers(before: Contents, after: Contents, requests: Sequence[Body]) -> None:
    """Nothing of bob has changed, and nothing of his was shown to the judge of ann."""
    assert before.of("bob") == after.of("bob"), "bob's store has changed"
    for body in requests:
        told = [word for word in BOBS if word in question(body)]
        assert not told, f"shown to the judge of ann: {told}"


def assert_founded(
    entries: Sequence[LedgerEntry], turn: Turn, exchange: Exchange, requests: Sequence[Body]
) -> None:
    """What was carried out rests on what was said, and touches only what was shown and may be."""
    asked = "\n".join(str(one["content"]) for body in requests for one in body["messages"][1:])
    assert FORGOTTEN not in "\n".join(map(question, requests)), "the forgotten was shown"
    done = [entry for entry in entries if entry.changes]
    for entry in done:
        assert entry.by.who is ActorKind.MONITOR
        assert entry.turn_ids == (turn.id,)
        assert entry.refused is None
        assert entry.op in {"ADD", "UPDATE", "BOOST", "DELETE"}
        if entry.op != "BOOST":
            _assert_said(entry, exchange)
        for change in entry.changes:
            _assert_allowed(entry, change.before, exchange)
            if change.before is not None:
                assert single_line(change.before.content) in asked, "what was not shown has changed"
    _assert_within_limits(done, exchange)


def _assert_said(entry: LedgerEntry, exchange: Exchange) -> None:
    by_user = _holds(exchange.user, entry.quote)
    kinds = [entry.details.get("kind"), *(c.before.kind for c in entry.changes if c.before)]
    by_assistant = Kind.PROMISE in kinds and _holds(exchange.assistant, entry.quote)
    assert by_user or by_assistant, f"nobody said {entry.quote!r}"
    speaker = Speaker.USER if by_user else Speaker.ASSISTANT
    for change in entry.changes:
        if change.before is None:
            assert [one.speaker for one in change.after.evidence] == [speaker]


def _assert_allowed(entry: LedgerEntry, before: Memory | None, exchange: Exchange) -> None:
    if before is None:
        return
    assert before.state is MemoryState.ACTIVE, f"a memory that is {before.state} has changed"
    assert before.category is not Category.SYSTEM, "what the persona is has changed"
    if before.category is Category.CORE and entry.op == "DELETE":
        assert "forget" in exchange.user, "a core memory went unasked"


def _assert_within_limits(done: Sequence[LedgerEntry], exchange: Exchange) -> None:
    assert all(entry.position < 8 for entry in done), "more than eight ops"
    deleted = sum(entry.op == "DELETE" for entry in done)
    assert "forget" in exchange.user or deleted <= 3, f"{deleted} deletions that nobody asked for"
    # A memory may be used and changed at once.
    touched = Counter((entry.op == "BOOST", id) for entry in done for id in entry.memory_ids)
    assert set(touched.values()) <= {1}, "two ops changed one memory"


def assert_no_secret(contents: Contents) -> None:
    """No memory, ledger entry or note on a turn holds a secret; what was said stays as it was."""
    notes = [(turn.judged, turn.error, turn.spent) for turn in contents.turns]
    records: list[Memory | LedgerEntry] = [*contents.memories.values(), *contents.entries]
    told = "\n".join([json.dumps(notes, ensure_ascii=False), *map(_dump, records)])
    found = [secret for secret, _ in SECRETS if secret in told]
    places = [line for line in told.splitlines() if any(secret in line for secret in found)]
    assert not found, f"kept: {found} in {places[:3]}"


def assert_explained(contents: Contents) -> None:
    """Every memory is as the ledger entry that wrote it says."""
    entries = {entry.id: entry for entry in contents.entries}
    for memory in contents.memories.values():
        entry = entries.get(memory.written_by)
        assert entry is not None, f"no entry tells why {memory.content!r} is as it is"
        written = [change.after for change in entry.changes if change.after.id == memory.id]
        assert [_but(one, {"recalls"}) for one in written] == [_but(memory, {"recalls"})]


def assert_undone(before: Contents, after: Contents) -> None:
    """All is as before, but for the tombstones of what was new."""
    for id, memory in after.memories.items():
        former = before.memories.get(id)
        if former is None:
            assert memory.state is MemoryState.FORGOTTEN, (
                f"{memory.content!r} is still {memory.state}"
            )
        else:
            assert _but(former, BOOKKEEPING) == _but(memory, BOOKKEEPING)
    hidden = {turn.id: turn.hidden for turn in after.turns}
    assert all(hidden[turn.id] == turn.hidden for turn in before.turns), "turns are hidden still"


def assert_discreet(texts: Iterable[str], private: str) -> None:
    """No text for the host or its log holds the API key, or a run of the user's private words."""
    private = private.casefold()
    for text in texts:
        plain = " ".join(text.casefold().split())
        assert API_KEY not in plain, f"the API key is in {text[:400]!r}"
        for at in range(len(private) - RUN + 1):
            assert private[at : at + RUN] not in plain, f"private words are in {text[:400]!r}"


def _holds(said: str, quote: str) -> bool:
    """Return whether the parts of a quote, between its dots, are in what was said, in order."""
    whole, at = _letters(said), 0
    parts = [_letters(part) for part in re.split(r"…|\.{3,}", unicodedata.normalize("NFC", quote))]
    for part in parts:
        at = whole.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return any(parts)


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if _is_seen(char))


def _is_seen(char: str) -> bool:
    kind = unicodedata.category(char)
    return kind[0] in "LNS" and kind != "Sk" and char not in "\u115f\u1160"


def _but(memory: Memory, fields: set[str]) -> dict[str, Any]:
    return memory.model_dump(exclude=fields)


def _dump(record: Memory | LedgerEntry) -> str:
    return json.dumps(record.model_dump(mode="json"), ensure_ascii=False)
