"""Messages given to remember, and the turns they make."""

from typing import Any

import pytest

from souffleur.errors import MessageError
from souffleur.messages import to_turns
from tests.build import NOW


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


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"content": "hi"}, "message 0 needs a role and a text"),
        (says("user", ["hi"]), "message 0 needs a role and a text"),
        (says("user", "hi", at="today"), "must be a datetime with a time zone"),
        (says("user", "hi", at=NOW.replace(tzinfo=None)), "must be a datetime with a time zone"),
    ],
)
def test_what_is_no_message_is_refused(message: dict[str, Any], complaint: str) -> None:
    """The error says which message, and what it should be."""
    with pytest.raises(MessageError, match=complaint):
        to_turns([message])
