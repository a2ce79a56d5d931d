"""How much sensitive data of each kind is found, and how much of what only looks like it."""

import re

import pytest

from souffleur.knowledge.privacy.groups import Group
from souffleur.knowledge.privacy.secrets import find_secret, mask, mask_together
from tests.knowledge.privacy.sensitive_kinds import Kind, contacts, kinds
from tests.knowledge.privacy.unseen_kinds import LOOKALIKES, SECRETS

CAUGHT, TOUCHED = 0.97, 0.02
"""At least this share of the data is masked, and at most this share of the lookalikes."""


def _hidden(text: str) -> list[str]:
    return re.findall("⟦(.*?)⟧", text, flags=re.DOTALL)


def _told(text: str) -> str:
    return re.sub("[⟦⟧]", "", text)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_secrets_and_documents_of_each_kind_are_found(kind: Kind) -> None:
    """Nearly all are masked and would be refused as a memory; their lookalikes stay."""
    masked = [
        find_secret(_told(text)) is not None
        and not any(one in mask(_told(text)) for one in _hidden(text))
        for text in kind.texts
    ]
    touched = [mask(text) != text for text in kind.lookalikes]
    assert sum(masked) >= CAUGHT * len(masked)
    assert sum(touched) <= TOUCHED * len(touched)


@pytest.mark.parametrize("kind", contacts(), ids=lambda kind: kind.name)
def test_contact_data_is_masked_only_if_asked_for(kind: Kind) -> None:
    """With the group of contacts it is masked, without it stays."""
    for text in kind.texts:
        told = _told(text)
        (masked,) = mask_together(told, groups={Group.CONTACT})
        assert mask(told) == told
        assert not any(one in masked for one in _hidden(text))
    for text in kind.lookalikes:
        assert mask_together(text, groups={Group.CONTACT}) == (text,)


def test_there_are_enough_of_both() -> None:
    """At least forty kinds, two hundred texts, and as many lookalikes."""
    texts = [text for kind in kinds() for text in kind.texts]
    lookalikes = [text for kind in kinds() for text in kind.lookalikes]
    assert len(kinds()) >= 40
    assert len(set(texts)) == len(texts) >= 200
    assert len(lookalikes) >= len(texts)


@pytest.mark.parametrize(("name", "text"), SECRETS, ids=[name for name, _ in SECRETS])
def test_secrets_as_people_tell_them_are_found(name: str, text: str) -> None:
    """Each is masked, in seven languages."""
    told = mask(_told(text))
    assert not any(one in told for one in _hidden(text)), name


@pytest.mark.parametrize(("name", "text"), LOOKALIKES, ids=[name for name, _ in LOOKALIKES])
def test_what_people_tell_otherwise_stays(name: str, text: str) -> None:
    """Talk about passwords, numbers, hashes and orders is not touched."""
    assert mask(text) == text
