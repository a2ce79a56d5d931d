"""When a portrait is to be written anew. Pure."""

from datetime import datetime, timedelta

from pydantic import AwareDatetime

from souffleur.knowledge.memory import Frozen, Memory, MemoryState
from souffleur.knowledge.operation import derive_id

EPISODES_PER_PORTRAIT = 5
"""New episodes after which a portrait is written anew."""
MAX_PORTRAIT_AGE = timedelta(days=7)


class PortraitStatus(Frozen):
    """What is noted between two versions of a user's portrait."""

    user_id: str
    sphere: str = ""
    until: AwareDatetime | None = None
    """The latest episode that the portrait has taken in."""
    big: bool = False
    """The monitor found something that changes who the user is."""
    tries: int = 0
    retry_at: AwareDatetime | None = None
    error: str = ""
    """Why the latest try failed."""

    @property
    def id(self) -> str:
        """The id of its point."""
        return derive_id("upkeep", self.user_id, *filter(None, [self.sphere]))


def why_due(
    former: Memory | None, episodes: list[Memory], status: PortraitStatus, now: datetime
) -> str:
    """Why a portrait is to be written now; empty: it is not.

    `former` is the version in force, or else the latest; `episodes` are those since then. A first
    portrait waits for an episode: one sentence is no portrait.
    """
    if former is None and not episodes:
        return ""
    if former is not None and is_withdrawn(former):
        return "something in it was to be forgotten"
    if status.big:
        return "something big was told"
    if len(episodes) >= EPISODES_PER_PORTRAIT:
        return f"{len(episodes)} new episodes"
    began = former.created_at if former else episodes[0].created_at
    began = max(began, status.until or began)  # written anew in the same words, it is no younger
    return "a week has passed" if episodes and now - began >= MAX_PORTRAIT_AGE else ""


def is_withdrawn(portrait: Memory) -> bool:
    """Whether it is out of use because it tells what was to be forgotten."""
    return portrait.state is MemoryState.FORGOTTEN and bool(portrait.data.get("without"))
