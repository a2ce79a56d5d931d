"""People: names, time zone and language of users, names of personas, and users' preferences.

Each is a record of the journal; the record of a user or persona holds all former versions. Pure
functions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from souffleur.errors import SettingsError
from souffleur.knowledge.identity import COMMON, own_sphere
from souffleur.knowledge.memory import Frozen, Number
from souffleur.knowledge.operation import IDS_KNOWN, derive_id
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.store.reading import describe_faults, read
from souffleur.knowledge.text.plain import is_blank, mend, single_line, without_controls

MAX_NAME_LENGTH = 60
"""Maximum characters of a title or a name."""

Language = Literal["en", "zh", "ja"]
Knows = Literal["all", "own"]


def check_name(name: str) -> str:
    """Return a title or name, stripped, that can be used in a sentence. Raises ValueError.

    >>> check_name(" 主人 ")
    '主人'
    """
    if mend(name) != name:
        raise ValueError("holds half of a character: it was cut, give the whole name")
    name = without_controls(name).strip()
    if is_blank(name):
        raise ValueError("must not be blank")
    if single_line(name) != name:
        raise ValueError("must be one line, with single spaces")
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(f"must have at most {MAX_NAME_LENGTH} characters (has {len(name)})")
    return name


def check_zone(name: str) -> str:
    """Return the name of a time zone. Raises ValueError if there is no such zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"there is no time zone {name!r}; use a name such as Asia/Tokyo"
        ) from error
    return name


Name = Annotated[str, AfterValidator(check_name)]
Zone = Annotated[str, AfterValidator(check_zone)]


class Person(Frozen):
    """A user as introduced by the host. `None` means the value from the settings."""

    user_id: str
    """The id that the host gave."""
    title: Name | None = None
    """The user's display name in memories."""
    timezone: Zone | None = None
    """The IANA name of the user's time zone."""
    language: Language | None = None
    """The language of whispers and prompts; `None` means the language of the conversation."""
    since: AwareDatetime
    """When this version was created."""
    version: Number = Field(default=1, ge=0)
    """The number of this version; 0 for the time before the host introduced the user."""
    earlier: tuple["Person", ...] = ()
    """The former versions, oldest first."""

    @property
    def former(self) -> tuple[str, ...]:
        """The earlier titles, which older memories may use."""
        return _former(self.title, [one.title for one in self.earlier])


class PersonaCard(Frozen):
    """A persona as introduced by the host."""

    agent_id: str
    """The id that the host gave."""
    name: Name | None = None
    """The persona's display name in prompts; `None` means the name from the settings."""
    knows: Knows | None = None
    """Which memories the persona may know.

    "all" or `None`: everything that users tell personas, except those with "own". "own": only what
    users tell this persona from then on, and shared memories; no other persona knows them.
    """
    since: AwareDatetime
    """When this version was created."""
    version: Number = Field(default=1, ge=0)
    """The number of this version; 0 for the time before the host introduced it."""
    earlier: tuple["PersonaCard", ...] = ()
    """The former versions, oldest first."""

    @property
    def former(self) -> tuple[str, ...]:
        """The earlier names, which older memories may use."""
        return _former(self.name, [one.name for one in self.earlier])

    @property
    def sphere(self) -> str:
        """The sphere in which the persona's memories are stored and from which it reads."""
        return own_sphere(self.agent_id) if self.knows == "own" else COMMON


def sphere_of(card: PersonaCard | None) -> str:
    """Return the sphere of a persona; `COMMON` if it was not introduced."""
    return card.sphere if card else COMMON


Introduced = TypeVar("Introduced", Person, PersonaCard)
_NAMES: dict[type[Frozen], str] = {Person: "title", PersonaCard: "name"}


@dataclass(frozen=True)
class Everybody:
    """All introduced users and personas, by their ids."""

    people: Mapping[str, Person] = field(default_factory=dict)
    """Introduced users by id."""
    personas: Mapping[str, PersonaCard] = field(default_factory=dict)
    """Introduced personas by id."""

    def only(self, user_id: str, agent_id: str) -> "Everybody":
        """Return the user and the persona with these ids, if they were introduced."""
        people = {key: one for key, one in self.people.items() if key == user_id}
        personas = {key: one for key, one in self.personas.items() if key == agent_id}
        return Everybody(people, personas)


@lru_cache(maxsize=IDS_KNOWN)
def person_id(user_id: str) -> str:
    """Return the id of a user's point."""
    return derive_id("person", user_id)


@lru_cache(maxsize=IDS_KNOWN)
def persona_id(agent_id: str) -> str:
    """Return the id of a persona's point."""
    return derive_id("persona", agent_id)


def person_point(person: Person) -> Point:
    """Return the point in which a user is stored."""
    payload = {**person.model_dump(mode="json"), "type": "person"}
    return Point(person_id(person.user_id), payload)


def to_person(point: Point) -> Person:
    """Return the user of a point. Raises UnreadableError."""
    return read(point, Person)


def persona_point(card: PersonaCard) -> Point:
    """Return the point in which a persona is stored; it belongs to no user."""
    payload = {**card.model_dump(mode="json"), "type": "persona", "user_id": ""}
    return Point(persona_id(card.agent_id), payload)


def to_persona(point: Point) -> PersonaCard:
    """Return the persona of a point. Raises UnreadableError."""
    return read(point, PersonaCard)


def next_version(old: Introduced, fields: Mapping[str, str | None], now: datetime) -> Introduced:
    """Return the next version with these fields, or `old` if nothing changes."""
    given = {key: value for key, value in fields.items() if value is not None}
    called, name = given.pop("called", None), _NAMES[type(old)]
    last = old.model_copy(update={"earlier": ()})
    if called and name in given and getattr(old, name) is None:
        last = last.model_copy(update={name: called})
    kept = (*old.earlier, last) if last.version or getattr(last, name) else ()
    made = {"since": now, "version": old.version + 1, "earlier": kept}
    try:
        new = type(old).model_validate({**old.model_dump(exclude={"earlier"}), **given, **made})
    except ValidationError as error:
        raise SettingsError(f"this introduction is invalid: {describe_faults(error)}") from None
    same = all(getattr(new, key) == getattr(old, key) for key in given)
    return old if same and old.version else new


def _former(now: str | None, before: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in before if name and name != now))


class Preferences(Frozen):
    """A user's settings of the memory."""

    user_id: str
    """The id that the host gave."""
    memory: bool = True
    """Whether the memory is on. While it is off, nothing is read, stored, judged or faded; stored
    records stay, and waiting turns go on waiting."""
    auto_extract: bool | None = None
    """Whether changes by a model are carried out at once; if not, they wait to be confirmed. `None`
    means as in the settings."""
    show_references: bool | None = None
    """Whether recalls list the whispered memories: `Recall.references`. `None` means as in the
    settings."""
    incognito: bool = False
    """Whether every turn is incognito: neither read nor stored. Earlier turns are judged."""
    since: AwareDatetime | None = None
    """The time of the last change; `None` if the user has set nothing yet."""

    @property
    def keeps_out(self) -> bool:
        """Whether no memory may be whispered to replies, and no turn may be stored."""
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
    return read(point, Preferences)


def changed(old: Preferences, fields: Mapping[str, bool | None], now: datetime) -> Preferences:
    """Return the preferences with these fields; `None` leaves a field as it is.

    Returns `old` if nothing changes. Raises SettingsError for a value that is not a boolean.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    try:
        new = Preferences.model_validate({**old.model_dump(), **given}, strict=True)
    except ValidationError as error:
        raise SettingsError(f"these preferences are invalid: {describe_faults(error)}") from None
    return old if new == old else new.model_copy(update={"since": now})


def what_is_off(chosen: Preferences) -> Preferences | None:
    """Return only the parts that a user has turned off; `None` if all are on.

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
