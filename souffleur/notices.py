"""Notices: the changes that a turn made in the memory, in words for the user."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from souffleur.knowledge.memory import Frozen, MemoryState
from souffleur.knowledge.operation import ActorKind, LedgerEntry, Recorded
from souffleur.knowledge.store.erasing import find_turn
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import spoken_in

BATCH = 100
"""Maximum ledger entries that are read at a time."""
_OPS = ("ADD", "UPDATE", "DELETE")
_TOLD = {
    "en": {
        "ADD": "Remembered: {}",
        "UPDATE": "Updated: {}",
        "DELETE": "Forgotten: {}",
        "ask ADD": "Shall I remember this? {}",
        "ask UPDATE": "Shall I update this? {}",
        "ask DELETE": "Shall I forget something? {}",
    },
    "zh": {
        "ADD": "已记住：{}",
        "UPDATE": "已更新：{}",
        "DELETE": "已忘记：{}",
        "ask ADD": "要记住吗？{}",
        "ask UPDATE": "要更新吗？{}",
        "ask DELETE": "要忘记吗？{}",
    },
    "ja": {
        "ADD": "覚えました：{}",
        "UPDATE": "更新しました：{}",
        "DELETE": "忘れました：{}",
        "ask ADD": "覚えてもいいですか？{}",
        "ask UPDATE": "更新してもいいですか？{}",
        "ask DELETE": "忘れてもいいですか？{}",
    },
}
_BETWEEN = {"en": " · ", "zh": "；", "ja": "・"}
_VIEW = {"en": "view", "zh": "查看", "ja": "表示"}
_UNDO = {"en": "undo", "zh": "撤销", "ja": "元に戻す"}


class Notice(Frozen):
    """The changes made by one turn, or by several turns that were judged together."""

    text: str
    """One line for each kind of change, such as "Remembered: Ann likes tea."."""
    language: str
    """The language of the text: en, zh or ja."""
    view: str
    """The word for a button that shows the memories."""
    undo: str
    """The word for a button that undoes the changes."""
    entry_ids: tuple[str, ...]
    """Ids of the ledger entries, for `undo`; if the notice asks, for `confirm` and `reject`."""
    memory_ids: tuple[str, ...]
    """Ids of the changed memories, for `get`; replaced memories are left out."""
    agent_id: str
    """The persona that the user talked with."""
    asks: bool = False
    """Whether a change waits for the user's yes."""
    seq: int = 0
    """The number of the last change in the ledger."""


def notices_of(recorded: Sequence[Recorded], language: str | None = None) -> list[Notice]:
    """Return a notice for each verdict on turns among ledger entries, in their order.

    Changes that were refused, undone or not made by a turn are left out. Without a language, each
    notice is in the language of its memories.
    """
    told = [one for one in recorded if _is_told(one.entry)]
    groups = groupby(told, key=lambda one: one.entry.verdict_id)
    return [_notice(list(group), language) for _, group in groups]


async def read_notices(
    journal: Journal,
    user_id: str,
    turn_id: str | None,
    language: str | None,
    *,
    after: int,
    limit: int,
) -> list[Notice]:
    """Return the first notices of a user, or of a single turn, after the number `after`.

    Skips any number of entries without a notice. Raises NotFoundError if this user does not have
    the turn.
    """
    id = (await find_turn(journal, turn_id, user_id)).id if turn_id else None
    found: list[Notice] = []
    while len(found) < limit:
        batch = await journal.recorded(user_id, after=after, limit=BATCH, turn_id=id)
        found += notices_of(batch, language)
        if len(batch) < BATCH:
            break
        after = batch[-1].seq
    return found[:limit]


def _is_told(entry: LedgerEntry) -> bool:
    decided = entry.by.who is ActorKind.MONITOR and entry.op in _OPS
    holds = entry.refused is None and entry.undone_by is None
    return decided and holds and bool(_words(entry))


def _notice(recorded: Sequence[Recorded], language: str | None) -> Notice:
    entries = [one.entry for one in recorded]
    spoken = language or spoken_in(" ".join(map(_words, entries)))
    return Notice(
        text="\n".join(_lines(entries, spoken)),
        language=spoken,
        view=_VIEW[spoken],
        undo=_UNDO[spoken],
        entry_ids=tuple(entry.id for entry in entries),
        memory_ids=tuple(id for entry in entries for id in _memory_ids(entry)),
        agent_id=entries[0].agent_id,
        asks=any(map(_asks, entries)),
        seq=max(one.seq for one in recorded),
    )


def _lines(entries: Sequence[LedgerEntry], language: str) -> Iterator[str]:
    """Yield a line for each kind of change."""
    kinds: dict[str, list[str]] = {}
    for entry in entries:
        kind = f"ask {entry.op}" if _asks(entry) else entry.op
        kinds.setdefault(kind, []).append(_words(entry))
    for kind, words in kinds.items():
        yield _TOLD[language][kind].format(_BETWEEN[language].join(words))


def _asks(entry: LedgerEntry) -> bool:
    return entry.waits or any(
        change.before is None and change.after.state is MemoryState.PENDING
        for change in entry.changes
    )


def _words(entry: LedgerEntry) -> str:
    """Return the content of the memory that a change made or ended; empty if it was erased."""
    if entry.waits:
        return single_line(str(entry.details.get("content") or entry.reason))
    ends = (one.before.content for one in entry.changes if one.before)
    made = (one.after.content for one in entry.changes if not one.before)
    found = ends if entry.op == "DELETE" else made
    return single_line(next(found, ""))


def _memory_ids(entry: LedgerEntry) -> tuple[str, ...]:
    if entry.op == "DELETE":
        return entry.memory_ids
    return tuple(change.after.id for change in entry.changes if change.before is None)
