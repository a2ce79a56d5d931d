"""What an entry of the ledger did, for somebody who does not know the names of the ops."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from souffleur.knowledge.memory import NARRATIVE, Category
from souffleur.knowledge.operation import ActorKind, LedgerEntry


class What(StrEnum):
    """What was done to a memory."""

    KEPT = "kept"
    REPLACED = "replaced"
    USED = "used"
    FORGOTTEN = "forgotten"
    NOT_KEPT = "not kept"
    REFUSED = "refused"
    PROMOTED = "promoted"
    STAYS = "stays"
    LET_GO = "let go"
    EXPIRED = "expired"
    TALK_EXPIRED = "talk expired"
    """The summary of a talk whose time is over."""
    MERGED = "merged"
    ENDED = "ended"
    GUARDS = "guards"


_OPS = {
    "ADD": What.KEPT,
    "UPDATE": What.REPLACED,
    "BOOST": What.USED,
    "DELETE": What.FORGOTTEN,
    "SKIP": What.NOT_KEPT,
    "PROMOTE": What.PROMOTED,
    "KEEP": What.STAYS,
    "FORGET": What.EXPIRED,
    "MERGE": What.MERGED,
    "CONTRADICT": What.ENDED,
    "GUARD": What.GUARDS,
}
_TELLERS = frozenset({ActorKind.SUMMARIZER, ActorKind.PROFILE_WRITER})
"""Who writes talk down, and judges nothing."""


@dataclass(frozen=True)
class Happening:
    """One thing that was done to the memories, or was not."""

    what: What
    text: str = ""
    """What it is about: the memory, as it is afterwards; empty where nothing is kept."""
    why: str = ""
    was: tuple[str, ...] = ()
    """The memories that it replaced or merged."""
    episodes: int = 0
    """The number of episodes that went with it."""
    portraits: int = 0


def happenings(entries: Iterable[LedgerEntry]) -> list[Happening]:
    """Return what ledger entries did, in their order, without those that write talk down."""
    return [found for entry in entries if (found := _happening(entry)) is not None]


def _happening(entry: LedgerEntry) -> Happening | None:
    what = _OPS.get(entry.op)
    after = [change.after for change in entry.changes]
    if what is None or entry.by.who in _TELLERS:
        return None
    if what is What.NOT_KEPT and entry.by.who is not ActorKind.MONITOR:
        return None
    if entry.refused:
        return Happening(What.REFUSED, str(entry.details.get("content", "")), entry.detail)
    if what is What.NOT_KEPT:
        return Happening(what, why=entry.reason)
    if what is What.FORGOTTEN and entry.by.who is ActorKind.REVIEWER:
        what = What.LET_GO
    if what is What.EXPIRED and after and after[0].category is Category.EPISODE:
        what = What.TALK_EXPIRED
    told = [one.category for one in after[1:] if one.category in NARRATIVE]
    replaced = after[1:] if what in {What.REPLACED, What.MERGED} else []
    return Happening(
        what,
        after[0].content if after else "",
        entry.reason,
        tuple(one.content for one in replaced),
        episodes=told.count(Category.EPISODE) if what is What.FORGOTTEN else 0,
        portraits=told.count(Category.PROFILE) if what is What.FORGOTTEN else 0,
    )
