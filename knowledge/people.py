"""People: how each user and each persona is called, and where and in what language a user lives.

Both are records of the journal, one point each; every former version stays in the record. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from souffleur.errors import SettingsError
from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.identity import COMMON, own_sphere
from souffleur.knowledge.language.plain_text import is_blank, mend, single_line
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.reading import describe_faults, read

LONGEST_NAME = 60
"""Characters of a title or a name."""

Language = Literal["en", "zh", "ja"]
Knows = Literal["all", "own"]


def check_name(name: str) -> str:
    """Return a title or name as it may stand in a sentence. Raises ValueError.

    >>> check_name(" 主人 ")
    '主人'
    """
    if mend(name) != name:
        raise ValueError("holds half of a character: it was cut, give the whole name")
    name = name.strip()
    if is_blank(name):
        raise ValueError("must not be blank")
    if single_line(name) != name:
        raise ValueError("must be one line, with single spaces")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"must have at most {LONGEST_NAME} characters (has {len(name)})")
    return name


def check_zone(name: str) -> str:
    """Return the name of a time zone. Raises ValueError if there is none such."""
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
    """A user, as the host has introduced them. What is None is as the settings say."""

    user_id: str
    title: Name | None = None
    """How the user is called in memories."""
    timezone: Zone | None = None
    """IANA name."""
    language: Language | None = None
    """Of what is whispered, and of the prompts; None: what is spoken."""
    since: AwareDatetime
    """When this version was made."""
    version: int = Field(default=1, ge=0)
    """0: how it was before the host introduced anybody."""
    earlier: tuple["Person", ...] = ()
    """The former versions, oldest first."""

    @property
    def former(self) -> tuple[str, ...]:
        """The titles that older memories may use."""
        return _former(self.title, [one.title for one in self.earlier])


class PersonaCard(Frozen):
    """A persona, as the host has introduced it."""

    agent_id: str
    name: Name | None = None
    """How it is called in prompts; None: as the settings say."""
    knows: Knows | None = None
    """all (also if None): what any persona was told, but for those that know only their own. own:
    what this one was told since, and what the host shares; and nobody else knows it."""
    since: AwareDatetime
    version: int = Field(default=1, ge=0)
    earlier: tuple["PersonaCard", ...] = ()
    """The former versions, oldest first."""

    @property
    def former(self) -> tuple[str, ...]:
        """The names that older memories may use."""
        return _former(self.name, [one.name for one in self.earlier])

    @property
    def sphere(self) -> str:
        """Where that lies which it is told, and from where it knows."""
        return own_sphere(self.agent_id) if self.knows == "own" else COMMON


def sphere_of(card: PersonaCard | None) -> str:
    """Return the sphere of what a persona is told; the common one if it was not introduced."""
    return card.sphere if card else COMMON


Introduced = TypeVar("Introduced", Person, PersonaCard)
_NAMES: dict[type[Frozen], str] = {Person: "title", PersonaCard: "name"}


@dataclass(frozen=True)
class Everybody:
    """All who were introduced, by their ids."""

    people: Mapping[str, Person] = field(default_factory=dict)
    personas: Mapping[str, PersonaCard] = field(default_factory=dict)


def person_id(user_id: str) -> str:
    """Return the id of a user's point."""
    return derive_id("person", user_id)


def persona_id(agent_id: str) -> str:
    """Return the id of a persona's point."""
    return derive_id("persona", agent_id)


def person_point(person: Person) -> Point:
    """How a user lies in the collection."""
    payload = {**person.model_dump(mode="json"), "type": "person"}
    return Point(person_id(person.user_id), payload)


def to_person(point: Point) -> Person:
    """Return the user of a point. Raises UnreadableError."""
    return read(point, Person, derived={"type"})


def persona_point(card: PersonaCard) -> Point:
    """How a persona lies in the collection; it belongs to no user."""
    payload = {**card.model_dump(mode="json"), "type": "persona", "user_id": ""}
    return Point(persona_id(card.agent_id), payload)


def to_persona(point: Point) -> PersonaCard:
    """Return the persona of a point. Raises UnreadableError."""
    return read(point, PersonaCard, derived={"type", "user_id"})


def next_version(old: Introduced, fields: Mapping[str, str | None], now: datetime) -> Introduced:
    """Return the version after this one, or this one if nothing is new."""
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
        raise SettingsError(
            f"this introduction cannot be right: {describe_faults(error)}"
        ) from None
    same = all(getattr(new, key) == getattr(old, key) for key in given)
    return old if same and old.version else new


def _former(now: str | None, before: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in before if name and name != now))
