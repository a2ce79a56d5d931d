"""Identity: whose memories they are. A host gives each user an id; no string means everybody."""

from souffleur.errors import IdentityError
from souffleur.knowledge.engine.collection import Condition, Is
from souffleur.knowledge.language.plain_text import is_blank, mend

LONGEST_ID = 512
"""Characters of an id."""

EVERYBODY = None
"""In the place of a user id: all users, for the owner of a store."""


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
    if len(value) > LONGEST_ID:
        raise IdentityError(f"{what} has {len(value)} characters: give at most {LONGEST_ID}")
    return value


def whose(user_id: str | None) -> tuple[Condition, ...]:
    """Return the condition for the points of one user; none for `EVERYBODY`.

    Raises IdentityError for what is no id.
    """
    return () if user_id is EVERYBODY else (Is("user_id", check_id(user_id)),)
