"""Injection: the whisper enters a request in one place, and nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from souffleur.proxy.injection import Api, inject

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


@settings(max_examples=40)
@given(rest=REST, messages=MESSAGES, style=STYLES)
def test_chat(rest: dict[str, Any], messages: list[dict[str, Any]], style: dict[str, Any]) -> None:
    """One piece of text is added to a request however it is written, and it is the system's."""
    body = json.dumps({**rest, "messages": messages}, **style)
    changed = inject(body, WHISPER, "chat")
    assert is_one_insertion(body, changed)
    got = json.loads(changed)
    first, *others = got.pop("messages")
    assert first["role"] in ("system", "developer")
    assert WHISPER in texts(first)
    assert others == messages[len(messages) - len(others) :]
    assert got == {name: value for name, value in rest.items() if name != "messages"}


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


def is_one_insertion(before: str, after: str) -> bool:
    """Whether the one is the other with one piece more."""
    pairs = enumerate(zip(before, after, strict=False))
    place = next((at for at, (one, other) in pairs if one != other), len(before))
    return after.endswith(before[place:])
