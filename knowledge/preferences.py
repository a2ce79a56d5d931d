"""Preferences: what a user wants of the memory. One record of the journal for each user. Pure."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from pydantic import AwareDatetime, ValidationError

from souffleur.errors import SettingsError
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import IDS_KNOWN, derive_id
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.store.reading import describe_faults, read


class Preferences(Frozen):
    """What a user wants of the memory."""

    user_id: str
    """The id that the host gave."""
    memory: bool = True
    """Whether there is a memory. If not, nothing is read, stored, judged or faded until it is on
    again; what is stored stays, and turns that wait go on waiting."""
    auto_extract: bool | None = None
    """Whether what is judged is remembered at once; if not, it waits to be confirmed. `None` means
    as in the settings."""
    show_references: bool | None = None
    """Whether replies come with the memories that they were whispered: `Recall.references`. `None`
    means as in the settings."""
    incognito: bool = False
    """Whether every turn is incognito: neither read nor stored. What was said before is judged."""
    since: AwareDatetime | None = None
    """When they were last changed; `None` if the user has chosen nothing yet."""

    @property
    def keeps_out(self) -> bool:
        """Whether nothing may be whispered to replies, and no turn stored."""
        return self.incognito or not self.memory


@lru_cache(maxsize=IDS_KNOWN)
def preferences_id(user_id: str) -> str:
    """Return the id of the point of a user's preferences."""
    return derive_id("preferences", user_id)


def preferences_point(preferences: Preferences) -> Point:
    """Return the point in which preferences are stored."""
    payload = {**preferences.model_dump(mode="json"), "type": "preferences"}
    return Point(preferences_id(preferences.user_id), payload)


def to_preferences(point: Point) -> Preferences:
    """Return the preferences of a point. Raises UnreadableError."""
    return read(point, Preferences, derived={"type"})


def changed(old: Preferences, fields: Mapping[str, bool | None], now: datetime) -> Preferences:
    """Return the preferences with these fields, where `None` leaves one as it is.

    Returns `old` if nothing changes. Raises SettingsError for what is neither true nor false.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    try:
        new = Preferences.model_validate({**old.model_dump(), **given}, strict=True)
    except ValidationError as error:
        raise SettingsError(f"these preferences are invalid: {describe_faults(error)}") from None
    return old if new == old else new.model_copy(update={"since": now})


def what_is_off(chosen: Preferences) -> Preferences | None:
    """Return what a user has turned off, and nothing else; `None` if nothing is.

    >>> what_is_off(Preferences(user_id="ann", memory=False, show_references=True)).memory
    False
    >>> what_is_off(Preferences(user_id="ann", show_references=True)) is None
    True
    """
    off = Preferences(
        user_id=chosen.user_id,
        memory=chosen.memory,
        auto_extract=chosen.auto_extract and None,
        incognito=chosen.incognito,
    )
    return None if off == Preferences(user_id=chosen.user_id) else off
