"""Text of others: what it may hold, and that it cannot pose as ours."""

import base64
import random
import textwrap
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from souffleur.agents.brief import Persona, talk
from souffleur.knowledge.memory import Speaker
from souffleur.knowledge.operation import Said
from souffleur.knowledge.text.plain import is_blank, mend, name_media, reveal, set_in, single_line

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


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(900)).decode()
WRAPPED = textwrap.fill(PNG, 76)
WORDS = ("My sister is called Mia.", "我妹妹叫米娅。", "妹の名前はミアです。")
URL = f"data:image/png;base64,{PNG}"


@pytest.mark.parametrize(
    ("embedded", "named"),
    [
        (URL, "[image]"),
        (f"![cat]({URL})", "![cat]([image])"),
        (f'<img alt="cat" src="{URL}">', '<img alt="cat" src="[image]">'),
        (f"<img src='{URL}'/>", "<img src='[image]'/>"),
        (URL.replace("data:image/png", "DATA:Image/PNG"), "[image]"),
        (URL.replace(";base64", ";name=cat.png;base64"), "[image]"),
        (URL.replace("image/", r"image\/"), "[image]"),
        (URL.replace("+", "%2B"), "[image]"),
        (URL.translate(str.maketrans("+/", "-_")).replace("image_", "image/"), "[image]"),
        (f"data:image/png;base64,{WRAPPED}\n", "[image]\n"),
        (f"data:application/pdf;base64,{PNG}", "[file]"),
        (f"data:audio/mpeg;base64,{PNG}", "[audio]"),
        (f"data:video/mp4;base64,{PNG}", "[video]"),
        ("data:image/svg+xml,%3Csvg%20xmlns=%22x%22/%3E", "[image]"),
        ("data:image/svg+xml;utf8,<svg a='b'><path d='M 1'/></svg>", "[image]"),
        ("<svg viewBox='0 0 1 1'>\n<path d='M 1'/>\n</svg>", "[image]"),
        ("url(data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP)", "url([image])"),
        (f"base64,{PNG}", "[image]"),
        (PNG, "[image]"),
        (WRAPPED, "[image]"),
        (base64.b64encode(random.Random(7).randbytes(900)).decode(), "[file]"),
    ],
)
@pytest.mark.parametrize("words", WORDS)
def test_media_are_named(embedded: str, named: str, words: str) -> None:
    """Each becomes its kind in brackets, once, and not a word beside it is lost."""
    text = f"{words} {embedded} {words}"
    assert name_media(text) == f"{words} {named} {words}"
    assert name_media(name_media(text)) == name_media(text)


@pytest.mark.parametrize(
    "text",
    [
        "my data: image, 3 MB; metadata:image/png,x",
        "https://example.org/data/image/png;base64?x=1",
        "the word " + "Donaudampfschifffahrt" * 40,
        "7" * 2_000,
        "sk-proj-9f8e7d6c5b4a3210ABCDEFGH" * 4,
        "<svg without an end",
        "",
    ],
)
def test_what_embeds_nothing_stays(text: str) -> None:
    """Talk about data, long words, numbers and keys are no media."""
    assert name_media(text) == text
