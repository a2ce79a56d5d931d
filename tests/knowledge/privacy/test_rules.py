"""The rules by which secrets are found, each with its example."""

import re

import pytest

from souffleur.knowledge.privacy.effort import Effort
from souffleur.knowledge.privacy.secret_patterns import CONTACTS, SECRETS, Secret
from souffleur.knowledge.privacy.secrets import MASK, _by_hint, _mask

SHOWN = [secret for secret in (*SECRETS, *CONTACTS) if secret.rule.example]


@pytest.mark.parametrize("secret", SHOWN, ids=[secret.rule.example for secret in SHOWN])
def test_a_rule_alone_masks_its_example(secret: Secret) -> None:
    """Exactly what is marked in it, and whatever the other rules find."""
    told = re.sub("[⟦⟧]", "", secret.rule.example)
    masked = re.sub("⟦.*?⟧", MASK, secret.rule.example, flags=re.DOTALL)
    assert _mask((told,), _by_hint([secret]), Effort()) == (masked,)
