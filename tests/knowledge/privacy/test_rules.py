"""The rules by which sensitive data is found, each with its example, and their files."""

import re
import tomllib
from pathlib import Path

import pytest

from souffleur.knowledge.privacy import rule as rule_module
from souffleur.knowledge.privacy.long_texts import Effort
from souffleur.knowledge.privacy.rule import Rule, rules
from souffleur.knowledge.privacy.secrets import MASK, _by_hint, _mask

SHOWN = [rule for rule in rules() if rule.example]
FILES = {
    file.stem: tomllib.loads(file.read_text(encoding="utf-8"))
    for file in (Path(rule_module.__file__).parent / "rules").glob("*.toml")
}


@pytest.mark.parametrize("rule", SHOWN, ids=[rule.example for rule in SHOWN])
def test_a_rule_alone_masks_its_example(rule: Rule) -> None:
    """Exactly what is marked in it, and whatever the other rules find."""
    told = re.sub("[⟦⟧]", "", rule.example)
    masked = re.sub("⟦.*?⟧", MASK, rule.example, flags=re.DOTALL)
    assert _mask((told,), _by_hint([rule]), Effort()) == (masked,)


def test_every_rule_of_the_files_is_tried() -> None:
    """No section is left out of the order, and no two files have a section of the same name."""
    sections = [(name, file[name]) for file in FILES.values() for name in file]
    tables = [table for name, table in sections if name not in ("parts", "near")]
    assert len(rules()) == sum(len(table["rules"]) for table in tables)


def test_no_part_of_a_file_hides_a_shared_one() -> None:
    """A shared part may need another one, which must be the one that it was written with."""
    shared = FILES["parts"]["parts"].keys()
    for name, file in FILES.items():
        assert name == "parts" or not shared & file.get("parts", {}).keys()
