"""Portraits: when they must be rewritten, and which details must leave them. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from souffleur.knowledge.forgetting.likeness import TOLD_SHARE, Weights, share, weigh
from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder, break_after
from souffleur.knowledge.memory import NARRATIVE, Frozen, Memory, MemoryState, Number
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.text.details import Detail, find_details, missing
from souffleur.knowledge.text.sentences import sentences

EPISODES_PER_PORTRAIT = 10
"""Number of new episodes after which a portrait is rewritten."""
MAX_PORTRAIT_AGE = timedelta(days=30)
"""Age at which a portrait is rewritten if there is a new episode."""
NEWS_PAUSE = timedelta(days=1)
"""Minimum time between two portraits for news, as people tell big news in pieces."""
_CLEARLY = 0.1
"""By how much the share of a superseded memory in a sentence exceeds that of its successor."""
FORGOTTEN_TEXTS = ("without", "without_names")
"""The fields of a portrait's data with what was forgotten; nobody is shown them."""


class PortraitStatus(Frozen):
    """The notes about what is known of a user: between two portraits, and two audits."""

    user_id: str
    sphere: str = ""
    until: AwareDatetime | None = None
    """The creation time of the latest episode in the portrait."""
    big: bool = False
    """Whether the monitor found news that changes who the user is."""
    audited_at: AwareDatetime | None = None
    """When all memories were last read together; `None` if they never were."""
    tries: Number = 0
    retry_at: AwareDatetime | None = None
    error: str = ""
    """The error of the latest failed try."""

    @property
    def id(self) -> str:
        """The id of the point."""
        return derive_id("upkeep", self.user_id, *filter(None, [self.sphere]))


def why_due(
    former: Memory | None,
    episodes: list[Memory],
    status: PortraitStatus,
    now: datetime,
    *,
    outdated: bool = False,
) -> str:
    """Return why a portrait must be rewritten now; empty if it need not be.

    `former` is the current version, or else the latest version; `episodes` are those created since;
    `outdated` says whether it tells what has changed since. A first portrait is not written before
    the first episode.
    """
    if former is None and not episodes:
        return ""
    if former is not None and is_withdrawn(former):
        return "something in it was to be forgotten"
    if former is None or now - former.created_at >= NEWS_PAUSE:
        if status.big:
            return "something big was told"
        if outdated:
            return "it tells what has changed"
    if len(episodes) >= EPISODES_PER_PORTRAIT:
        return f"{len(episodes)} new episodes"
    began = former.created_at if former else episodes[0].created_at
    began = max(began, status.until or began)  # with the same words it keeps its date
    is_old = bool(episodes) and now - began >= MAX_PORTRAIT_AGE
    return f"{MAX_PORTRAIT_AGE.days} days have passed" if is_old else ""


def is_withdrawn(portrait: Memory) -> bool:
    """Return whether a portrait is withdrawn because it repeats a text forgotten on request."""
    return portrait.state is MemoryState.FORGOTTEN and bool(portrait.data.get("without"))


def without_outdated(portrait: Memory, memories: Iterable[Memory]) -> Memory:
    """Return a portrait without the sentences that tell what was replaced since it was written.

    `memories` are the superseded ones of its user and sphere, their successors, and what else holds
    and is at hand. Such a sentence has a name, number or date that a superseded memory has and no
    active one; or it is clearly nearer to a superseded memory than to its successor. Every recall
    may ask this, so each memory and each sentence is read once.
    """
    every = {one.id: one for one in memories if one.category not in NARRATIVE}
    replaced = [one for one in every.values() if one.state is MemoryState.SUPERSEDED]
    gone = [one for one in replaced if one.updated_at > portrait.created_at]
    if not gone:
        return portrait
    valid = [one.content for one in every.values() if one.state is MemoryState.ACTIVE]
    told, known = portrait.content.casefold(), "\n".join(valid).casefold()
    parts = [(one, weigh(one).keys()) for one in sentences(portrait.content)]
    words = set().union(*(says for _, says in parts))
    details, weights = set[str](), list[tuple[Weights, Weights]]()

    def gone_with(found: Iterable[Detail]) -> set[str]:
        texts = {detail.text.casefold() for detail in found} - {""}
        return {text for text in texts if text in told and text not in known}

    for one in gone:
        new, old = _successor(one, every), weigh(one.content)
        if gone_with(find_details(one.content, one.entities)):  # of most, the portrait tells none
            details |= gone_with(missing(one.content, new, one.entities))
        if share(old, old.keys() & words) >= TOLD_SHARE:
            weights.append((old, weigh(new)))

    def is_outdated(sentence: str, says: AbstractSet[str]) -> bool:
        folded = sentence.casefold()
        if any(detail in folded for detail in details):
            return True
        shares = ((share(one, one.keys() & says) for one in both) for both in weights)
        return any(old >= max(TOLD_SHARE, new + _CLEARLY) for old, new in shares)

    kept = [break_after(one) if is_outdated(one, says) else one for one, says in parts]
    if kept == [one for one, _ in parts]:
        return portrait
    return portrait.model_copy(update={"content": "".join(kept).strip()})


def _successor(memory: Memory, every: Mapping[str, Memory]) -> str:
    """Return the content of the memory that holds in place of a superseded one; may be empty."""
    last, seen = memory, {memory.id}
    while (after := every.get(last.superseded_by or "")) and after.id not in seen:
        last, seen = after, {*seen, after.id}
    return last.content if last.state is MemoryState.ACTIVE else ""


def forgotten_in(portrait: Memory | None, called: Sequence[str]) -> Subject:
    """Return the forgotten subjects of a portrait; `called` are names of user and persona."""
    data = portrait.data if portrait else {}
    return Subject(
        names=tuple(data.get("without_names", ())),
        contents=tuple(data.get("without", ())),
        called=tuple(called),
    )


def without_forgotten(portrait: Memory, reader: SubjectFinder) -> Memory:
    """Return a portrait without sentences about forgotten subjects; its content may be empty."""
    data = {
        key: one if key in FORGOTTEN_TEXTS else reader.cut_any(one)
        for key, one in portrait.data.items()
    }
    return portrait.model_copy(update={"content": reader.cut(portrait.content), "data": data})
