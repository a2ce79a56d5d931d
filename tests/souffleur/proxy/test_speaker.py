"""Who speaks: which of several names counts, and whom a request cannot name."""

import pytest

from souffleur.errors import InputError
from souffleur.proxy.speaker import find_speaker, usually

OURS = {"x-souffleur-user": "a"}
THEIRS = {"x-openwebui-user-id": "b", "x-openwebui-chat-id": "c1"}


@pytest.mark.parametrize(
    ("headers", "body", "query", "user"),
    [
        ({**OURS, **THEIRS}, {"user": "c"}, "user=d", "a"),
        (THEIRS, {"user": "c"}, "user=d", "b"),
        ({}, {"user": "c", "metadata": {"user_id": "m"}}, "user=d", "c"),
        ({}, {"metadata": {"user_id": "m"}}, "user=d", "m"),
        ({}, {}, "user=d", "d"),
        ({}, {"user": "{{USER_ID}}", "metadata": None}, "", "me"),
        ({"x-souffleur-user": "%E5%AE%89"}, {}, "", "安"),
        ({"x-souffleur-user": "安"}, {}, "", "安"),
        ({}, {"user": "50%25"}, "", "50%25"),
    ],
)
def test_first_name_counts(
    headers: dict[str, str], body: dict[str, object], query: str, user: str
) -> None:
    """Headers of ours, then those of Open WebUI, then the body, then the query, then the usual."""
    assert find_speaker(headers, body, query, usually("me")).user_id == user


def test_session_persona_and_turn() -> None:
    """They are found in the same places; a conversation of `/responses` is a session."""
    speaker = find_speaker(
        {**THEIRS, "x-souffleur-persona": "luna", "x-souffleur-turn": "7"}, {}, "", usually(None)
    )
    assert (speaker.session_id, speaker.agent_id, speaker.turn_id) == ("c1", "luna", "7")
    asked = {"user": "a", "conversation": {"id": "conv_1"}}
    assert find_speaker({}, asked, "", usually(None)).session_id == "conv_1"


@pytest.mark.parametrize("what", ["user", "session", "persona", "turn"])
@pytest.mark.parametrize("name", [" ", "x" * 2000, "Jos%E9"])
def test_invalid_names(what: str, name: str) -> None:
    """A name that is none, or no UTF-8, is refused, and not taken for another one."""
    with pytest.raises(InputError):
        find_speaker({f"x-souffleur-{what}": name}, {}, "", usually("me"))
    if "%" in name:
        query = f"{what}_id={name}" if what != "persona" else f"persona={name}"
        with pytest.raises(InputError):
            find_speaker({}, {}, query, usually("me"))
