"""People: how each user and each persona is called, and where and in what language a user lives.

Both are records of the journal, one point each; every former version stays in the record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from souffleur.errors import SettingsError
from souffleur.knowledge.engine.collection import Filter, Is, Point, read_all
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.language.plain_text import is_blank, mend, single_line
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.reading import read, read_each

LONGEST_NAME = 60
"""Characters of a title or a name."""

Language = Literal["en", "zh", "ja"]


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
    since: AwareDatetime
    version: int = Field(default=1, ge=0)
    earlier: tuple["PersonaCard", ...] = ()
    """The former versions, oldest first."""

    @property
    def former(self) -> tuple[str, ...]:
        """The names that older memories may use."""
        return _former(self.name, [one.name for one in self.earlier])


Introduced = TypeVar("Introduced", Person, PersonaCard)
_NAMES: dict[type[Frozen], str] = {Person: "title", PersonaCard: "name"}


@dataclass(frozen=True)
class Everybody:
    """All who were introduced, by their ids."""

    people: Mapping[str, Person] = field(default_factory=dict)
    personas: Mapping[str, PersonaCard] = field(default_factory=dict)


class People:
    """Who was introduced, in a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def find(self, user_id: str, agent_id: str) -> tuple[Person | None, PersonaCard | None]:
        """Return what is known of a user and a persona; None: not introduced. Raises StoreError."""
        ids = [person_id(user_id), persona_id(agent_id)]
        return _pair(await self._journal.collection.get(ids))

    def find_now(self, user_id: str, agent_id: str) -> tuple[Person | None, PersonaCard | None]:
        """As `find`, without an event loop."""
        ids = [person_id(user_id), persona_id(agent_id)]
        return _pair(self._journal.collection.get_now(ids))

    async def everybody(self) -> Everybody:
        """Return all who were introduced."""
        people = read_each(await self._all("person"), to_person)
        personas = read_each(await self._all("persona"), to_persona)
        return Everybody(
            {one.user_id: one for one in sorted(people, key=lambda one: one.user_id)},
            {one.agent_id: one for one in sorted(personas, key=lambda one: one.agent_id)},
        )

    def introduce(
        self, user_id: str, *, now: datetime, called: str | None = None, **fields: str | None
    ) -> Person:
        """Write the next version of a user; a field that is None stays as it was.

        `called`: the title in memories from before the user had one. Raises IdentityError, and
        SettingsError for what cannot be right.
        """
        with self._journal.alone:
            old, _ = self.find_now(check_id(user_id), "")
            unknown = Person(user_id=user_id, since=now, version=0)
            return self._write(old or unknown, {**fields, "called": called}, now)

    def introduce_persona(
        self, agent_id: str, *, now: datetime, called: str | None = None, **fields: str | None
    ) -> PersonaCard:
        """Write the next version of a persona, as `introduce` does."""
        with self._journal.alone:
            _, old = self.find_now("", check_id(agent_id, "agent_id"))
            unknown = PersonaCard(agent_id=agent_id, since=now, version=0)
            return self._write(old or unknown, {**fields, "called": called}, now)

    def _write(
        self, old: Introduced, fields: Mapping[str, str | None], now: datetime
    ) -> Introduced:
        new = _next(old, fields, now)
        if new is not old:
            point = person_point(new) if isinstance(new, Person) else persona_point(new)
            self._journal.collection.put_now([point])
        return new

    async def _all(self, what: str) -> list[Point]:
        return await read_all(self._journal.collection, Filter((Is("type", what),)))


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


def _pair(points: Sequence[Point]) -> tuple[Person | None, PersonaCard | None]:
    people = [point for point in points if point.payload.get("type") == "person"]
    personas = [point for point in points if point.payload.get("type") == "persona"]
    return (
        next(iter(read_each(people, to_person)), None),
        next(iter(read_each(personas, to_persona)), None),
    )


def _next(old: Introduced, fields: Mapping[str, str | None], now: datetime) -> Introduced:
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
        wrong = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_input=False)
        )
        raise SettingsError(f"this introduction cannot be right: {wrong}") from None
    same = all(getattr(new, key) == getattr(old, key) for key in given)
    return old if same and old.version else new


def _former(now: str | None, before: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in before if name and name != now))
