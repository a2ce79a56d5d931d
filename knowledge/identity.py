"""Identity: whose memories they are, and which personas may know them.

A host gives each user an id; no string means everybody. What a persona that knows only its own is
told lies in a sphere of its own, all else in the common one.
"""

from souffleur.errors import IdentityError
from souffleur.knowledge.engine.collection import AnyOf, Condition, Is, Missing, OneOf
from souffleur.knowledge.language.plain_text import is_blank, mend

MAX_ID_LENGTH = 512
"""Characters of an id."""

EVERYBODY = None
"""In the place of a user id: all users, for the owner of a store."""

PERSONAS = "souffleur:personas"
"""In the place of a user id: who has the memories of what personas are. No host's user."""

COMMON = ""
"""The sphere of what was told to personas that know all; of records that name none as well."""
SHARED = "*"
"""The sphere of what the host shares: every persona knows it."""
EVERY_SPHERE = None
"""In the place of a sphere: all of them, for the user and the host."""


def check_id(value: object, what: str = "user_id") -> str:
    """Return the id, unchanged. Raises IdentityError if it cannot tell somebody from others.

    >>> check_id("ann")
    'ann'
    >>> check_id(" ")
    Traceback (most recent call last):
    souffleur.errors.IdentityError: user_id is blank: give each user an id of its own
    """
    if not isinstance(value, str):
        raise IdentityError(f"{what} must be a string, not {type(value).__name__}")
    if is_blank(value):
        owner = what.removesuffix("_id")
        raise IdentityError(f"{what} is blank: give each {owner} an id of its own")
    if mend(value) != value:  # mended, two broken ids could become one
        raise IdentityError(f"{what} holds half of a character: it was cut, give the whole id")
    if len(value) > MAX_ID_LENGTH:
        raise IdentityError(f"{what} has {len(value)} characters: give at most {MAX_ID_LENGTH}")
    return value


def user_conditions(user_id: str | None) -> tuple[Condition, ...]:
    """Return the condition for the points of one user; none for `EVERYBODY`.

    Raises IdentityError for what is no id.
    """
    return () if user_id is EVERYBODY else (Is("user_id", check_id(user_id)),)


def own_sphere(agent_id: str) -> str:
    """Return the sphere of a persona that knows only its own; no id can pose as another sphere.

    >>> own_sphere("*"), own_sphere("") == COMMON
    ('@*', False)
    """
    return f"@{agent_id}"


def agent_of(sphere: str) -> str | None:
    """Return the persona whose sphere it is; None if it belongs to no single one.

    >>> agent_of("@luna"), agent_of("*"), agent_of("")
    ('luna', None, None)
    """
    return sphere[1:] if sphere.startswith("@") else None


def reading_sphere(sphere: str) -> str:
    """Return the sphere from which what lies in a sphere is looked at: shared, from the common."""
    return COMMON if sphere == SHARED else sphere


def sphere_conditions(sphere: str | None) -> tuple[Condition, ...]:
    """Return the condition for what a persona of this sphere knows; none for `EVERY_SPHERE`."""
    if sphere is EVERY_SPHERE:
        return ()
    if sphere == COMMON:
        return (AnyOf((Missing("sphere"), OneOf("sphere", (COMMON, SHARED)))),)
    return (OneOf("sphere", (sphere, SHARED)),)


def knows(sphere: str | None, lies_in: str) -> bool:
    """Return what `sphere_conditions` says, of one record.

    >>> knows(COMMON, "@luna"), knows("@luna", COMMON), knows("@luna", SHARED), knows(None, "@luna")
    (False, False, True, True)
    """
    return sphere is EVERY_SPHERE or lies_in in (sphere, SHARED)
