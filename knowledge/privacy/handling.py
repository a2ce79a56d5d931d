"""Groups of sensitive data, which the settings treat each in its own way."""

from enum import StrEnum


class Group(StrEnum):
    """What sensitive data is."""

    SECRET = "secret"
    """Opens something: a key, a password, a code."""
    DOCUMENT = "document"
    """The number of a card, an account or a document of identity."""
    CONTACT = "contact"
    """A telephone number or an e-mail address."""


NEVER_KEPT = frozenset({Group.SECRET, Group.DOCUMENT})
"""What by default no memory may hold, and what is masked wherever raw turns are found or shown."""
EVERYTHING = frozenset(Group)
"""All that is recognised."""
