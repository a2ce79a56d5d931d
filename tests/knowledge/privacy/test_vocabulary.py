"""The words by which people name secrets, in their files."""

import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from souffleur.knowledge.privacy import vocabulary

FILES = sorted((Path(vocabulary.__file__).parent / "words").glob("*.toml"))
TABLES = [tomllib.loads(file.read_text(encoding="utf-8")) for file in FILES]
CONCEPTS = sorted({concept for table in TABLES for concept in table})


def test_no_concept_is_in_two_files() -> None:
    """One would hide the other."""
    assert max(Counter(concept for table in TABLES for concept in table).values()) == 1


@pytest.mark.parametrize("concept", CONCEPTS)
def test_each_word_is_a_pattern_of_composed_letters(concept: str) -> None:
    """It matches something, and is not empty: no " | " is one too many."""
    for word in vocabulary.listed(concept):
        assert word
        assert word.strip() == word == unicodedata.normalize("NFC", word)
        assert re.compile(word).fullmatch("") is None
    assert re.compile(vocabulary.words(concept)).search("") is None


@pytest.mark.parametrize("concept", CONCEPTS)
def test_no_word_is_twice_in_a_line(concept: str) -> None:
    """Within a language; other languages may have it too."""
    for table in TABLES:
        for language in table.get(concept, {}):
            words = vocabulary.listed(concept, language)
            assert len(set(words)) == len(words)
