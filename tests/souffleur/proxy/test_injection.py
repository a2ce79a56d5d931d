"""Injection: the whisper enters a request in one place, and nothing else changes."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

from souffleur.proxy.injection import Api, Place, inject

WHISPER = 'Ann said: "tea"\n- 茶 \\ '
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
CONTENTS = (
    st.none() | TEXTS | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}))
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant"])},
        optional={"content": CONTENTS, "name": TEXTS},
    ),
    max_size=3,
)
REST = st.dictionaries(TEXTS, st.none() | st.booleans() | st.floats(allow_nan=False) | TEXTS)
STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 2]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (" , ", " : ")]),
    }
)


@settings(max_examples=80)
@given(
    rest=REST, messages=MESSAGES, style=STYLES, place=st.sampled_from(get_args(Place)), text=TEXTS
)
def test_chat(
    rest: dict[str, Any],
    messages: list[dict[str, Any]],
    style: dict[str, Any],
    place: Place,
    text: str,
) -> None:
    """One piece of text is added to a request however it is written, in one message of a role."""
    whisper = WHISPER + text
    body = json.dumps({**rest, "messages": messages}, **style)
    changed = inject(body, whisper, "chat", place)
    assert is_one_change(body, changed)
    got = json.loads(changed)
    told = got.pop("messages")
    assert got == {name: value for name, value in rest.items() if name != "messages"}
    new = [one for one in told if one not in messages]
    if place == "nowhere":
        assert new == []
    elif new:
        (one,) = new
        assert whisper in texts(one)
        assert (one["role"] == "user") == (place == "user")
        has = [at for at, each in enumerate(messages) if fits(each, place)]
        at = (has[-1] if place == "user" else has[0]) if has else 0
        assert told == [*messages[:at], one, *messages[at + bool(has) :]]
    else:
        assert place == "user"
        assert not any(fits(each, place) for each in messages)


@settings(max_examples=40)
@given(rest=REST, told=st.none() | TEXTS, has=st.booleans(), style=STYLES)
def test_responses(
    rest: dict[str, Any], told: str | None, has: bool, style: dict[str, Any]
) -> None:
    """The instructions have the whisper at their end, whether there were any or not."""
    body = json.dumps({**rest, "input": "hi", **({"instructions": told} if has else {})}, **style)
    got = json.loads(inject(body, WHISPER, "responses"))
    before = told if has else rest.get("instructions")
    assert got["instructions"] == (
        f"{before}\n\n{WHISPER}" if isinstance(before, str) and before else WHISPER
    )
    assert got["input"] == "hi"


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_nothing_to_whisper(api: Api) -> None:
    """Without a whisper, the request is what it was."""
    assert inject('{"messages": []}', "", api) == '{"messages": []}'


def texts(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def fits(message: dict[str, Any], place: Place) -> bool:
    """Whether a message has a content that takes a whisper."""
    if place == "user":
        return message["role"] == "user" and message.get("content") is not None
    return message["role"] in ("system", "developer") and "content" in message


def is_one_change(before: str, after: str) -> bool:
    """Whether the one is the other with one piece more, at most in the place of a `null`."""
    pairs = enumerate(zip(before, after, strict=False))
    place = next((at for at, (one, other) in pairs if one != other), len(before))
    rest = before[place:]
    return after.endswith(rest) or (rest.startswith("null") and after.endswith(rest[4:]))
