"""Identity: which user a record belongs to, and which personas may know it.

A host gives each user and persona an id. The sphere of a record says which personas know it:

    ""       `COMMON`  every persona except those with `knows="own"`
    "*"      `SHARED`  every persona
    "@luna"  own       only luna, which has `knows="own"`

`None` instead of a user id means all users; instead of a sphere, all spheres. Both are for the
user, the host and the owner of a store.
"""

from functools import lru_cache

from souffleur.errors import InputError
from souffleur.knowledge.store.engine.collection import AnyOf, Condition, Is, Missing, OneOf
from souffleur.knowledge.text.plain import is_blank, mend

MAX_ID_LENGTH = 512
"""Maximum characters of an id."""

PERSONAS = "souffleur:personas"
"""The user id of the memories that define personas. Not a real user."""
COMMON = ""
"""The sphere that most personas share; the default of a record."""
SHARED = "*"
"""The sphere of memories that the host shares with every persona."""


def check_id(value: object, what: str = "user_id") -> str:
    """Return the id, unchanged. Raises InputError if it does not identify anybody.

    >>> check_id("ann")
    'ann'
    >>> check_id(" ")
    Traceback (most recent call last):
    souffleur.errors.InputError: user_id is blank: give each user an id of its own
    """
    if not isinstance(value, str):
        raise InputError(f"{what} must be a string, not {type(value).__name__}")
    fault = _find_fault(value)
    if fault:
        raise InputError(f"{what} {fault}".replace("{owner}", what.removesuffix("_id")))
    return value


def check_sent_id(value: str, what: str = "user_id") -> str:
    """Return the id that a request names in its address or a header. Raises InputError.

    Invalid UTF-8 is replaced when the request is read, so that two ids could become equal.

    >>> check_sent_id("Jos\N{REPLACEMENT CHARACTER}")
    Traceback (most recent call last):
    souffleur.errors.InputError: user_id is no UTF-8: encode it whole, as UTF-8
    """
    if "\N{REPLACEMENT CHARACTER}" in value:
        raise InputError(f"{what} is no UTF-8: encode it whole, as UTF-8")
    return check_id(value, what)


@lru_cache(maxsize=4096)
def _find_fault(value: str) -> str:
    """Return why an id identifies nobody, as said after its name; empty if it does."""
    if is_blank(value):
        return "is blank: give each {owner} an id of its own"
    if mend(value) != value:  # after a repair, two broken ids could be the same
        return "holds half of a character: it was cut, give the whole id"
    if len(value) > MAX_ID_LENGTH:
        return f"has {len(value)} characters: give at most {MAX_ID_LENGTH}"
    return ""


def user_conditions(user_id: str | None) -> tuple[Condition, ...]:
    """Return the conditions that select the points of one user; empty for `None`.

    Raises InputError if `user_id` is not a valid id.
    """
    return () if user_id is None else (Is("user_id", check_id(user_id)),)


def own_sphere(agent_id: str) -> str:
    """Return the sphere of a persona with `knows="own"`; never equal to `COMMON` or `SHARED`.

    >>> own_sphere("*"), own_sphere("") == COMMON
    ('@*', False)
    """
    return f"@{agent_id}"


def agent_of(sphere: str) -> str | None:
    """Return the id of the persona that a sphere belongs to; `None` if it is not a persona's own.

    >>> agent_of("@luna"), agent_of("*"), agent_of("")
    ('luna', None, None)
    """
    return sphere[1:] if sphere.startswith("@") else None


def reading_sphere(sphere: str) -> str:
    """Return the sphere in which a model works on memories that lie in `sphere`."""
    return COMMON if sphere == SHARED else sphere


def sphere_conditions(sphere: str | None) -> tuple[Condition, ...]:
    """Return the conditions that select the records known in a sphere; empty for `None`."""
    if sphere is None:
        return ()
    if sphere == COMMON:
        return (AnyOf((Missing("sphere"), OneOf("sphere", (COMMON, SHARED)))),)
    return (OneOf("sphere", (sphere, SHARED)),)


def knows(sphere: str | None, lies_in: str) -> bool:
    """Return whether a record that lies in `lies_in` is known in a sphere.

    >>> knows(COMMON, "@luna"), knows("@luna", COMMON), knows("@luna", SHARED), knows(None, "@luna")
    (False, False, True, True)
    """
    return sphere is None or lies_in in (sphere, SHARED)
