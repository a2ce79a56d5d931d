"""The effects of ledger entries, for a reader who does not know the names of the ops."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from souffleur.knowledge.memory import NARRATIVE, Category
from souffleur.knowledge.operation import ActorKind, LedgerEntry


class Effect(StrEnum):
    """The effect of an op on a memory."""

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
    """The summary of a talk is deleted, as its time is over."""
    MERGED = "merged"
    GUARDS = "guards"


_OPS = {
    "ADD": Effect.KEPT,
    "UPDATE": Effect.REPLACED,
    "BOOST": Effect.USED,
    "DELETE": Effect.FORGOTTEN,
    "SKIP": Effect.NOT_KEPT,
    "PROMOTE": Effect.PROMOTED,
    "KEEP": Effect.STAYS,
    "ARCHIVE": Effect.EXPIRED,
    "FORGET": Effect.EXPIRED,
    "MERGE": Effect.MERGED,
    "GUARD": Effect.GUARDS,
}
_TELLERS = frozenset({ActorKind.SUMMARIZER, ActorKind.PROFILE_WRITER})
"""Actors that summarise talk, and do not judge it."""


@dataclass(frozen=True)
class Event:
    """An effect on a memory, with its reason."""

    effect: Effect
    text: str = ""
    """The text of the memory afterwards; empty if nothing is kept."""
    why: str = ""
    was: tuple[str, ...] = ()
    """The texts of the memories that were replaced or merged."""
    episodes: int = 0
    """The number of episodes that were removed with the memory."""
    portraits: int = 0


def events_of(entries: Iterable[LedgerEntry]) -> list[Event]:
    """Return the events of ledger entries in order, without entries that summarise talk."""
    return [found for entry in entries if (found := _event(entry)) is not None]


def _event(entry: LedgerEntry) -> Event | None:
    effect = _OPS.get(entry.op)
    after = [change.after for change in entry.changes]
    if effect is None or entry.by.who in _TELLERS:
        return None
    if effect is Effect.NOT_KEPT and entry.by.who is not ActorKind.MONITOR:
        return None
    if entry.refused:
        return Event(Effect.REFUSED, str(entry.details.get("content", "")), entry.detail)
    if effect is Effect.NOT_KEPT:
        return Event(effect, why=entry.reason)
    if effect is Effect.FORGOTTEN and entry.by.who is ActorKind.REVIEWER:
        effect = Effect.LET_GO
    if effect is Effect.EXPIRED and after and after[0].category is Category.EPISODE:
        effect = Effect.TALK_EXPIRED
    told = [one.category for one in after[1:] if one.category in NARRATIVE]
    replaced = after[1:] if effect in {Effect.REPLACED, Effect.MERGED} else []
    return Event(
        effect,
        after[0].content if after else "",
        entry.reason,
        tuple(one.content for one in replaced),
        episodes=told.count(Category.EPISODE) if effect is Effect.FORGOTTEN else 0,
        portraits=told.count(Category.PROFILE) if effect is Effect.FORGOTTEN else 0,
    )
