"""Secrets whose labels stand elsewhere in the sentence, and what only stands beside such words."""

import random

import pytest

from souffleur.knowledge.privacy.secrets import mask
from tests.knowledge.privacy.sensitive_kinds import fill
from tests.knowledge.privacy.test_sensitive_kinds import _hidden, _told
from tests.knowledge.privacy.told_around import LOOKALIKES, SECRETS

CHANCE = random.Random(18)
TOLD = [(kind, fill(text, CHANCE)) for kind, texts in SECRETS for text in texts]


@pytest.mark.parametrize(("kind", "text"), TOLD)
def test_a_secret_told_in_passing_is_masked(kind: str, text: str) -> None:
    """Whichever word names it and wherever that stands, in ten languages."""
    masked = mask(_told(text))
    assert not any(one in masked for one in _hidden(text)), kind


@pytest.mark.parametrize("text", LOOKALIKES)
def test_numbers_and_names_beside_such_words_stay(text: str) -> None:
    """Prices, times, models, orders and talk about secrets are not touched."""
    assert mask(text) == text
