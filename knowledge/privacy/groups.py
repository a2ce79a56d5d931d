"""Groups of sensitive data: the settings say for each group whether it is kept."""

from enum import StrEnum


class Group(StrEnum):
    """A group of kinds of sensitive data."""

    SECRET = "secret"
    """A key, a password or a code that opens something."""
    DOCUMENT = "document"
    """The number of a card, an account or a document of identity."""
    CONTACT = "contact"
    """A telephone number or an e-mail address."""


class SpecialCategory(StrEnum):
    """Sensitive personal topics of a memory, as its judge says; asked only if they are refused."""

    NONE = "none"
    """No such topic; also if the judge was not asked."""
    HEALTH = "health"
    """An illness, a disability, a treatment, the state of body or mind."""
    BELIEF = "belief"
    """A religion or world view, or the lack of it."""
    POLITICS = "politics"
    """A political opinion, a vote, a party, a trade union."""
    SEX = "sex"
    """Sexual orientation, sex life, gender identity."""


NEVER_KEPT = frozenset({Group.SECRET, Group.DOCUMENT})
"""The groups that by default no memory may hold; they are masked where raw turns are shown."""
EVERYTHING = frozenset(Group)
"""All groups."""
