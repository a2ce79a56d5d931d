"""Excerpts: which sentences of a long message are told, and what is quoted in it."""

import pytest
from hypothesis import given, strategies as st

from souffleur.recall.rank import GAP, excerpt, split_quotations

LONG = "The bus was late. My aunt sent 9 pears. We had soup. Bring the blue form on 18 June. Bye!"


def told(about: str, room: int) -> str:
    """An excerpt of so many characters."""
    return excerpt(LONG, about, lambda text: len(text) <= room)


def test_what_bears_on_the_message_is_told() -> None:
    """Sentences with its words, in their order, the gaps marked; nothing else."""
    assert told("which form in June?", 50) == "…Bring the blue form on 18 June.…"
    assert (
        told("pears, and the form?", 60)
        == "…My aunt sent 9 pears. …Bring the blue form on 18 June.…"
    )


def test_a_sentence_is_told_for_words_that_no_other_has() -> None:
    """What repeats the subject goes after what else was asked about it."""
    notice = "The rent grant is open. The rent grant pays 8 a metre. Papers go to room 203."
    about = "rent grant: where do the papers go?"
    kept = excerpt(notice, about, lambda text: len(text) <= 55)
    assert kept == "The rent grant is open. …Papers go to room 203."


def test_what_fits_is_told_whole() -> None:
    """Nothing is left out for want of a word in common."""
    assert told("anything", 500) == LONG


def test_where_no_sentence_bears_the_first_are_told() -> None:
    """The first sentences stand in."""
    assert told("volcano", 40) == "The bus was late. My aunt sent 9 pears.…"


PASTED = "Dear valued customer, your account is locked, send us the code now. " * 3


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (f"is this a scam?\n---\n{PASTED}", PASTED),
        (f"看看这个：\n{PASTED}", PASTED),
        (f"老许发的：【{PASTED}", PASTED),
        (f"> {PASTED}\nwhat is it?", PASTED),
        (f"```\n{PASTED}\n```", PASTED),
        (f"he wrote “{PASTED}” and left", PASTED),
        ("he said “come”, and I came", ""),
        ("my list:\ntea\nmilk", ""),
    ],
)
def test_what_is_quoted_is_told_apart(text: str, quoted: str) -> None:
    """By marks, as code, or behind a colon or a line; short words are the speaker's own."""
    found = "".join(part for part, is_quoted in split_quotations(text) if is_quoted)
    own = "".join(part for part, is_quoted in split_quotations(text) if not is_quoted)
    assert (quoted.strip() in found, quoted.strip() not in own or not quoted) == (True, True)
    assert bool(found) is bool(quoted)


@given(st.text(alphabet="a b.\n>“”：【`-茶。", max_size=300), st.integers(0, 80))
def test_an_excerpt_fits_and_makes_nothing_up(text: str, room: int) -> None:
    """It is never longer than there is room for, and every sentence of it was said."""
    cut = excerpt(text, "a 茶", lambda one: len(one) <= room)
    assert len(cut) <= room
    squeezed = "".join(text.split())
    assert all("".join(part.split()) in squeezed for part in cut.split(GAP))
    assert "".join(part for part, _ in split_quotations(text)).split() == text.split()
