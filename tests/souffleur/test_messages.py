"""Messages given to remember, and the turns they make."""

import re
from pathlib import Path
from typing import Any

import langchain_core.messages
import pytest
from langchain_core.load import dumpd
from langchain_core.messages import HumanMessage

from souffleur.errors import InputError
from souffleur.messages import to_turns
from tests.build import NOW

NAMES = {
    **{name: getattr(langchain_core.messages, name) for name in langchain_core.messages.__all__},
    "dumpd": dumpd,
}
PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
FORMS = (Path(__file__).parent / "messages.md").read_text(encoding="utf-8")
"""More forms than a reader of the page needs, in the same table."""


def says(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def test_a_turn_is_what_is_said_and_what_is_replied() -> None:
    """System and tool messages are left out; an opening line of the companion is a turn."""
    turns = to_turns(
        [
            says("system", "be kind"),
            says("assistant", "Welcome!"),
            says("user", "hi", at=NOW),
            says("user", "again"),
            says("tool", "{}"),
            says("assistant", "ho"),
            says("assistant", "what else?"),
            says("user", " "),
            says("user", "nothing"),
        ]
    )
    assert [(turn.user, turn.assistant) for turn in turns] == [
        ("", "Welcome!"),
        ("hi\nagain", "ho\nwhat else?"),
        ("nothing", ""),
    ]
    assert [turn.at for turn in turns] == [None, NOW, None]


def test_the_same_messages_have_the_same_ids() -> None:
    """Given twice they are the same turns; another word, or another place, is another turn."""
    one, two = (to_turns([says("user", "hi"), says("assistant", "ho")]) for _ in range(2))
    assert one == two
    (other,) = to_turns([says("user", "hi"), says("assistant", "he")])
    assert other.turn_id != one[0].turn_id
    _, later = to_turns([says("user", "x"), says("assistant", "y"), says("user", "hi")])
    assert later.turn_id != one[0].turn_id


def test_when_it_was_said_is_read() -> None:
    """A datetime, an ISO string or a number since 1970, under the names that hosts use."""
    seconds = NOW.timestamp()
    for time in (seconds, seconds * 1000, int(seconds) * 10**9, f"{seconds * 1000:.0f}"):
        (turn,) = to_turns([says("user", "a", timestamp=time)])
        assert turn.at == NOW
    said = [
        says("user", "a", timestamp="2026-01-03T10:00:00Z"),
        says("assistant", "b"),
        says("user", "c", created_at=NOW.timestamp()),
        says("assistant", "d"),
        says("user", "e", at=NOW.replace(tzinfo=None)),
    ]
    assert [turn.at for turn in to_turns(said)] == [NOW, NOW, NOW.replace(tzinfo=None)]


@pytest.mark.parametrize(
    "reply",
    [
        "<think>She seems sad.</think>Dinner at eight!",
        "She seems sad.\n</THINK>\n\nDinner at eight!",
        [{"type": "thought", "text": "She seems sad."}, "Dinner at eight!"],
        [{"type": "text", "text": "<thinking>sad</thinking>Dinner"}, "at eight!"],
    ],
)
def test_thoughts_are_no_words(reply: Any) -> None:
    """They are taken out of replies, however marked; what a user writes stays."""
    said = [says("user", "What is <think>so</think>?"), says("assistant", reply)]
    ((user, assistant),) = [(turn.user, turn.assistant) for turn in to_turns(said)]
    assert (user, " ".join(assistant.split())) == ("What is <think>so</think>?", "Dinner at eight!")


def test_a_reply_of_thoughts_alone_is_none() -> None:
    """What is said next belongs to the same turn."""
    (turn,) = to_turns([says("user", "a"), says("assistant", "<think>so"), says("user", "b")])
    assert (turn.user, turn.assistant) == ("a\nb", "")


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"content": "hi"}, "message 1: dict without a role is no message: write {'role'"),
        (says("user", None), "message 1: it has no content: write {'role'"),
        (says("narrator", "hi"), "message 1: 'narrator' is no role: write user or assistant"),
        (says("user", [{"text": 7}]), "message 1: dict is no text: give a string, or content"),
        (says("user", 7), "message 1: int is no text"),
        (says("user", "hi", at="today"), "message 1: 'today' is no time: give a datetime"),
        ("hi", "message 1: str without a role is no message"),
        (("user",), "message 1: it is no pair of role and text"),
        (("hi", "there"), "message 1: 'hi' is no role"),
    ],
)
def test_what_is_no_message_is_refused(message: Any, complaint: str) -> None:
    """The error says which message, and what would do."""
    with pytest.raises(InputError, match=re.escape(complaint)):
        to_turns([says("user", "hi"), message])


def test_one_message_is_no_list() -> None:
    """A message alone is refused, also one that can be iterated over."""
    for alone in (says("user", "hi"), HumanMessage("hi"), "hi"):
        with pytest.raises(InputError, match="messages must be a list"):
            to_turns(alone)  # type: ignore[arg-type]


def rows() -> list[tuple[str, str]]:
    """The code of each row, and what the row says that it becomes."""
    _, _, told = PAGE.partition("| a message | becomes |\n")
    lines = [*told.partition("\n\n")[0].splitlines(), *FORMS.splitlines()]
    table = (line for line in lines if line.startswith("| `"))
    cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table)
    return [(code.strip("`"), becomes) for code, becomes in cells]


def told(message: Any) -> str:
    """What a message becomes, as the page writes it."""
    try:
        found = to_turns([message])
    except InputError as error:
        return f"InputError: {error}"
    if not found:
        return "left out"
    (turn,) = found
    text = f"the user says `{turn.user}`" if turn.user else f"the companion says `{turn.assistant}`"
    when = f", at {turn.at:%Y-%m-%d %H:%M}" if turn.at else ""
    zone = " UTC" if turn.at and turn.at.tzinfo else ""
    return text.replace("\n", "` and `") + when + zone


@pytest.mark.parametrize(("code", "becomes"), rows())
def test_each_form_becomes_what_the_table_says(code: str, becomes: str) -> None:
    """Each row is so, of docs/python.md and of the longer table beside this test."""
    shown = told(eval(code, NAMES))
    whole, _, _ = becomes.partition(" …")
    assert shown == becomes or (whole != becomes and shown.startswith(whole))
