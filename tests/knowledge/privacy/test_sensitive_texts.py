"""How much sensitive data of each kind is found, and how much of what only looks like it."""

import re

import pytest

from souffleur.knowledge.privacy.groups import Group
from souffleur.knowledge.privacy.secrets import MASK, find_secret, mask, mask_together
from tests.knowledge.privacy.texts import Kind, around, bare, contacts, hidden, kinds, others

CAUGHT, TOUCHED = 0.97, 0.02
"""At least this share of the data is masked, and at most this share of the lookalikes."""
UNSEEN, PLAIN = others()
TOLD = [(kind.name, text) for kind in (UNSEEN, *around()) for text in kind.texts]
LOOKALIKES = [text for kind in (UNSEEN, PLAIN, *around()) for text in kind.lookalikes]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_secrets_and_documents_of_each_kind_are_found(kind: Kind) -> None:
    """Nearly all are masked and would be refused as a memory; their lookalikes stay."""
    masked = [
        find_secret(bare(text)) is not None
        and not any(one in mask(bare(text)) for one in hidden(text))
        for text in kind.texts
    ]
    touched = [mask(text) != text for text in kind.lookalikes]
    assert sum(masked) >= CAUGHT * len(masked)
    assert sum(touched) <= TOUCHED * len(touched)


@pytest.mark.parametrize("kind", contacts(), ids=lambda kind: kind.name)
def test_contact_data_is_masked_only_if_asked_for(kind: Kind) -> None:
    """With the group of contacts it is masked, without it stays."""
    for text in kind.texts:
        told = bare(text)
        (masked,) = mask_together(told, groups={Group.CONTACT})
        assert mask(told) == told
        assert not any(one in masked for one in hidden(text))
    for text in kind.lookalikes:
        assert mask_together(text, groups={Group.CONTACT}) == (text,)


def test_there_are_enough_of_both() -> None:
    """At least forty kinds, two hundred texts, and as many lookalikes."""
    texts = [text for kind in kinds() for text in kind.texts]
    lookalikes = [text for kind in kinds() for text in kind.lookalikes]
    assert len(kinds()) >= 40
    assert len(set(texts)) == len(texts) >= 200
    assert len(lookalikes) >= len(texts)


@pytest.mark.parametrize(("kind", "text"), TOLD)
def test_a_secret_told_in_passing_is_masked(kind: str, text: str) -> None:
    """Whichever word names it and wherever that stands, in ten languages."""
    masked = mask(bare(text))
    assert not any(one in masked for one in hidden(text)), kind


@pytest.mark.parametrize("text", PLAIN.texts)
def test_a_plain_word_after_its_label_is_masked(text: str) -> None:
    """It alone: the words around it stay."""
    assert mask(bare(text)) == re.sub("⟦.*?⟧", MASK, text)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_other_numbers_and_talk_about_secrets_stay(text: str) -> None:
    """Prices, times, models, hashes, orders, and sentences about a password are not touched."""
    assert mask(text) == text
