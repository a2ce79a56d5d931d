"""Portraits: when they must be rewritten, and which details must leave them. Pure functions."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder
from souffleur.knowledge.memory import Frozen, Memory, MemoryState, Number
from souffleur.knowledge.operation import derive_id

EPISODES_PER_PORTRAIT = 5
"""Number of new episodes after which a portrait is rewritten."""
MAX_PORTRAIT_AGE = timedelta(days=7)
BIG_PAUSE = timedelta(days=1)
"""Minimum time between two portraits for big news, as people tell big news in pieces."""


class PortraitStatus(Frozen):
    """The notes between two versions of a user's portrait."""

    user_id: str
    sphere: str = ""
    until: AwareDatetime | None = None
    """The creation time of the latest episode in the portrait."""
    big: bool = False
    """Whether the monitor found news that changes who the user is."""
    tries: Number = 0
    retry_at: AwareDatetime | None = None
    error: str = ""
    """The error of the latest failed try."""

    @property
    def id(self) -> str:
        """The id of the point."""
        return derive_id("upkeep", self.user_id, *filter(None, [self.sphere]))


def why_due(
    former: Memory | None, episodes: list[Memory], status: PortraitStatus, now: datetime
) -> str:
    """Return why a portrait must be rewritten now; empty if it need not be.

    `former` is the current version, or else the latest version; `episodes` are those created since.
    A first portrait is not written before the first episode.
    """
    if former is None and not episodes:
        return ""
    if former is not None and is_withdrawn(former):
        return "something in it was to be forgotten"
    if status.big and (former is None or now - former.created_at >= BIG_PAUSE):
        return "something big was told"
    if len(episodes) >= EPISODES_PER_PORTRAIT:
        return f"{len(episodes)} new episodes"
    began = former.created_at if former else episodes[0].created_at
    began = max(began, status.until or began)  # with the same words it keeps its date
    return "a week has passed" if episodes and now - began >= MAX_PORTRAIT_AGE else ""


def is_withdrawn(portrait: Memory) -> bool:
    """Return whether a portrait is withdrawn because it repeats a text forgotten on request."""
    return portrait.state is MemoryState.FORGOTTEN and bool(portrait.data.get("without"))


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
    noted = ("without", "without_names")
    data = {key: one if key in noted else reader.cut_any(one) for key, one in portrait.data.items()}
    return portrait.model_copy(update={"content": reader.cut(portrait.content), "data": data})
