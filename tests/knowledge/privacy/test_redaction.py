"""Redaction: what may be repeated of another program's words."""

import html
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.knowledge.privacy.redaction import KNOWN, redact, redact_own

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
    told = redact("no: first tea, second cup!", ["first tea,", "a second cup"])
    assert told == "no: first …, second …!"
    assert redact("no: my tea, my cup!", ["my tea", "my cup"]) == "no: …!"


def test_words_of_errors_stay() -> None:
    """They tell nothing, though they are also in what was sent; in a row as there, they may."""
    sent = ["The model was not found. My request was denied by the service."]
    assert redact("model not found", sent) == "model not found"
    assert redact("your request was denied", sent) == "your …"


SENT = "## Now\n2026-11-28 Ann: psoriasis back, gout 3x. 我丈夫昨晚打了我。Ｋöln, Καφές, 피부 🤰\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("blocked: psoriasis", "blocked: …"),
        ("blocked: PSORIASIS back", "blocked: …"),
        ("blocked: psoriasisback", "blocked: …"),
        ("blocked: p s o r i a s i s", "blocked: …"),
        ("blocked: ｐｓｏｒｉａｓｉｓ", "blocked: …"),
        ("blocked: p-s-o-r-i-a-s-i-s", "blocked: …"),
        ("blocked: xx_psoriasisflag_yy", "blocked: xx_…_yy"),
        ("blocked: gout", "blocked: …"),
        ("内容违规: 我丈夫昨晚打了我", "内容违规: …"),
        ("内容违规: 我 丈 夫 昨 晚", "内容违规: …"),
        ("内容违规: 丈夫打", "内容违规: …"),
        (r"invalid: \u6211\u4e08\u592b", "invalid: …"),
        (r"invalid: b'\xe6\x88\x91\xe4\xb8\x88'", "invalid: …'"),
        ("invalid: &#25105;&#19976;", "invalid: …"),
        ("invalid: %E6%88%91%E4%B8%88", "invalid: …"),
        ("invalid: KOLN", "invalid: …"),
        ("invalid: καφες", "invalid: …"),
        ("invalid: 피부", "invalid: …"),
        ("invalid: 🤰", "invalid: …"),
        ("{'param': 'max_tokens', 'code': 'context_length_exceeded'}", None),
        ("response_format: json_schema is unsupported by this model's grammar", None),
        ("model `qwen3:8b` not found, insufficient_quota 1301", None),
        ("参数错误", None),
    ],
)
def test_no_word_of_what_was_sent_is_told(said: str, told: str | None) -> None:
    """Of any length, in any script, spacing, case and width; parameters, codes and models stay."""
    assert redact(said, [SENT]) == (said if told is None else told)


def test_a_message_of_ours_tells_no_value() -> None:
    """Our own words stay, though they are also in the prompt; what they quote does not."""
    prompt = ["kind: one of fact, todo. Ann's gout is back, and she fears it."]
    told = redact_own("ops.0.kind: must be one of fact, todo (was 'gout')", prompt)
    assert told.startswith("ops.0.kind: must be ")
    assert "gout" not in told
    assert (
        redact_own("0.text: 'gout' is lost, put it back", prompt)
        == "0.text: … is lost, put it back"
    )
    assert redact_own('"it\'s gout" is lost:\n- gout', prompt) == "… is lost: …"
    assert redact_own("it tells: gout is back, and", prompt) == "it tells: …"


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


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_no_word_of_private_text_is_told(private: str, before: str, after: str) -> None:
    """Wherever private text is quoted whole, none of its words is left but those of errors."""
    told = redact(f"{before} {private} {after}", [private])
    for word in re.findall("[a-z]{4,}", private):
        assert word in KNOWN or word not in told
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
