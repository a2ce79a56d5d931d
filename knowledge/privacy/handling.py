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


class SpecialCategory(StrEnum):
    """What a memory tells, as its judge says; only where such memories are refused."""

    NONE = "none"
    """Nothing of these; also where the judge was not asked."""
    HEALTH = "health"
    """An illness, a disability, a treatment, the state of body or mind."""
    BELIEF = "belief"
    """A religion or world view, or having none."""
    POLITICS = "politics"
    """A political opinion, a vote, a party, a trade union."""
    SEX = "sex"
    """Sexual orientation, sex life, gender identity."""


NEVER_KEPT = frozenset({Group.SECRET, Group.DOCUMENT})
"""What by default no memory may hold, and what is masked wherever raw turns are found or shown."""
EVERYTHING = frozenset(Group)
"""All that is recognised."""
