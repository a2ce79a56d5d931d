"""Redaction: what may be repeated of another program's words."""

import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.knowledge.privacy.redaction import QUOTATION_LENGTH, redact

TALK = 'I told my boss "Tom" that\nhis <b>plan</b> & mine differ; 我讨厌他的计划 🍵, é\\n.'
SAID = "Your prompt violates our policy: {}"


@pytest.mark.parametrize(
    "quoted",
    [
        TALK,
        TALK[5:40],
        " ".join(TALK.split()),
        json.dumps(TALK),
        json.dumps(TALK, ensure_ascii=False),
        json.dumps(json.dumps({"input": TALK})),
        html.escape(TALK),
        f"<pre>{html.escape(TALK)}</pre>",
        repr(TALK),
        f"https://a.example/{quote(TALK)}",
        f"{TALK[:30]} … {TALK[-20:]}",
        TALK.upper(),
    ],
)
def test_quotations_are_cut_in_any_writing(quoted: str) -> None:
    """As it is, on one line, in JSON, in JSON in JSON, in HTML or in part: nothing is told."""
    told = redact(SAID.format(quoted), ["Hello.", TALK])
    assert told.startswith("Your prompt violates our policy: ")
    for word in ("boss", "Tom", "plan", "differ", "计划"):
        assert word not in told


def test_neighbouring_cuts_are_one() -> None:
    """Of two quotations side by side one mark is left."""
    told = redact("no: first message, second message!", ["first message,", "a second message"])
    assert told == "no: …!"


def test_short_words_stay() -> None:
    """What is said in few words that are also elsewhere is no quotation."""
    assert redact("model not found", ["The model was not found"]) == "model not found"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Incorrect API key: sk-proj-abc*****wxyz.", "Incorrect API key: …"),
        ("header 'Authorization: Bearer abcdefgh12345678'", "header 'Authorization: Bearer …'"),
        ("bad key hunter2hunter2", "bad key …"),
        (
            "moved to https://me:pw@a.example/v1?key=K1234&x=1",
            "moved to https://…a.example/v1?…&x=1",
        ),
        ("密钥sk-1234567890错误", "密钥…错误"),
        ("AIzaSyA1234567890abcdefghijklmnop is wrong", "… is wrong"),
    ],
)
def test_keys_are_masked(words: str, told: str) -> None:
    """The key itself, and whatever looks like one."""
    assert redact(words, secrets=["hunter2hunter2", "x", ""]) == told


def test_words_are_fit_for_one_line() -> None:
    """Controls, tags, line ends and halves of an emoji are gone."""
    assert redact("a\x00b\x1b[1m <br>\r\n c \ud83d") == "a b [1m c \ufffd"


@given(st.text(min_size=QUOTATION_LENGTH, max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_no_run_of_private_text_is_told(private: str, before: str, after: str) -> None:
    """Wherever private text is quoted whole, no twelve characters of it in a row are left."""
    told = redact(f"{before}{private}{after}", [private])
    plain = redact(private)
    assert not any(
        plain[at : at + QUOTATION_LENGTH] in told for at in range(len(plain) - QUOTATION_LENGTH + 1)
    )
    told.encode()
    assert redact(told, [private]) == told


@given(st.text(st.sampled_from("<>&;\\u\"'…{}[]@:/?=&# ask-bearer0123\ud83d\n\x00")))
def test_any_words_can_be_told(words: str) -> None:
    """Nothing an endpoint may say raises anything, and all of it can be stored."""
    redact(words, [words[3:]], [words[:4]]).encode()
    bare_address(words)


@pytest.mark.parametrize("piece", ["<", "?", "&key", "\\", "bearer ", "sk-", "&amp;", "…", "a@"])
def test_a_page_is_read_in_time(piece: str) -> None:
    """Megabytes of one thing are a few thousand characters of it."""
    assert len(redact(piece * 1_000_000, [piece * 1000])) <= 4000


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("http://me:secret@h:80/v1?key=1#x", "http://h:80/v1"),
        ("me:secret@h/v1", "h/v1"),
        ("http://me:se/cret@h/v1", "h/v1"),
        ("http://me:secret@[::1/v1", "[::1/v1"),
        ("/v1/x?key=secret", "/v1/x"),
        ("localhost:11434/v1", "localhost:11434/v1"),
    ],
)
def test_addresses_are_bare(url: str, bare: str) -> None:
    """User name, password, query and fragment go, also of what is no address."""
    assert bare_address(url) == bare
