"""Text of others: what it may hold, and that it cannot pose as ours."""

from datetime import UTC, datetime

from hypothesis import given, strategies as st

from souffleur.agents.brief import Persona, talk
from souffleur.knowledge.memory import Speaker
from souffleur.knowledge.operation import Said
from souffleur.knowledge.text.plain import is_blank, mend, reveal, set_in, single_line

AT = datetime(2026, 1, 3, tzinfo=UTC)
BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
lines = st.text(alphabet=f"ab #-[m1]茶{BREAKS}", max_size=60)


@given(st.text(alphabet=st.characters(), max_size=40))
def test_a_mended_text_has_utf8(text: str) -> None:
    """Whatever a front end cut in half, the text can be written afterwards."""
    mend(text).encode()


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_a_whole_text_is_left_alone(text: str) -> None:
    """Nothing but halves of a pair is changed."""
    assert mend(text) == text


@given(lines)
def test_a_single_line_stays_one(text: str) -> None:
    """Nothing in it ends a line, and no visible character is lost."""
    assert len(single_line(text).splitlines()) <= 1
    assert single_line(text).split() == text.split()


@given(lines)
def test_no_line_of_a_message_begins_like_ours(text: str) -> None:
    """In a prompt, every line but the one with the speaker's name is set in."""
    said = Said(turn_id="t", speaker=Speaker.USER, text=text, at=AT)
    shown = talk([said], Persona(user="Ann"), "en")
    first, *others = shown.splitlines()
    assert first.startswith("Ann: ")
    assert all(line.startswith("    ") for line in others)


def test_hidden_words_are_not_shown() -> None:
    """Tag characters and bidi overrides go; the flag of Scotland stays."""
    scotland = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    assert reveal(f"a\u202e{scotland}\U000e0041b") == f"a{scotland}b"
    assert set_in("hi\U000e0049\U000e0050") == "hi"


@given(st.text(alphabet=" \t\n\u200b\u2060\ufeff\u3000\u3164\u2800\u115f", max_size=10))
def test_nothing_visible_is_blank(text: str) -> None:
    """White space, zero-width characters and fillers are blank, alone and together."""
    assert is_blank(text)
    assert not is_blank(f"{text}x{text}")
