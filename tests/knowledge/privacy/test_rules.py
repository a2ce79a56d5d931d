"""The rules by which secrets are found, each with its example."""

import re

import pytest

from souffleur.knowledge.privacy.secret_patterns import CONTACTS, SECRETS, Secret
from souffleur.knowledge.privacy.secrets import MASK, _mask

SHOWN = [secret for secret in (*SECRETS, *CONTACTS) if secret.example]


@pytest.mark.parametrize("secret", SHOWN, ids=[secret.example for secret in SHOWN])
def test_a_rule_alone_masks_its_example(secret: Secret) -> None:
    """Exactly what is marked in it, and whatever the other rules find."""
    told = re.sub("[⟦⟧]", "", secret.example)
    masked = re.sub("⟦.*?⟧", MASK, secret.example, flags=re.DOTALL)
    assert _mask((told,), (secret,)) == (masked,)
