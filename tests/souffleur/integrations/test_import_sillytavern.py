"""Reading of SillyTavern's chats, and of lists of messages."""

import json
from pathlib import Path
from typing import Any

import pytest

from souffleur.errors import FileError
from souffleur.integrations.importers.chats import Chat, read_messages
from souffleur.integrations.importers.files import READERS, ImportSource, source_of
from souffleur.integrations.importers.sillytavern import ASIDE, HIDDEN, read_sillytavern
from tests.souffleur.integrations.test_import_chatgpt import split

HEAD = {
    "user_name": "Ann",
    "character_name": "Luna",
    "create_date": "2024-01-03@10h00m00s",
    "chat_metadata": {"note_prompt": "", "tainted": True},
}


def message(text: str, *, minute: int = 0, user: bool = False, **fields: Any) -> dict[str, Any]:
    """A message as SillyTavern writes it."""
    base = {"name": "Ann" if user else "Luna", "is_user": user, "is_system": False}
    date = f"January 3, 2024 10:{minute:02}am"
    return {**base, "send_date": date, "mes": text, "extra": {}, **fields}


CHAT = [
    HEAD,
    message("*waves* Welcome!", swipe_id=0, swipes=["*waves* Welcome!", "Hm?"]),
    message("I drink tea.", minute=1, user=True, force_avatar="User Avatars/x.png"),
    message("Noted.", minute=1, swipe_id=1, swipes=["Ah.", "Noted."], swipe_info=[{}, {}]),
    message("Look!", minute=2, user=True, extra={"image": "/user/images/cup.png"}),
    message("The rain begins.", minute=3, name="System", extra={"type": "narrator"}),
    message("Hidden words.", minute=4, user=True, is_system=True),
    message("Help", minute=4, name="SillyTavern System", is_system=True, extra={"type": "help"}),
    message("A cup.", minute=5, extra={"reasoning": "so", "token_count": 3}),
]


def written(folder: Path, lines: list[Any], name: str = "chat.jsonl") -> Path:
    """Return a file of JSON lines."""
    file = folder / name
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return file


def chats_of(file: Path) -> list[Chat]:
    """Return the chats of a file, all of which can be read."""
    chats, unread = split(READERS[source_of(file)](file, ()))
    assert not unread
    return chats


def said(chat: Chat) -> list[tuple[bool, str]]:
    """What was said in a chat."""
    return [(one.by_user, one.text) for one in chat.messages]


def test_what_was_chosen_is_read(tmp_path: Path) -> None:
    """Chosen swipes are read, images as words; hidden messages and comments are counted."""
    file = written(tmp_path, CHAT)
    assert source_of(file) is ImportSource.SILLYTAVERN
    (chat,) = chats_of(file)
    assert said(chat) == [
        (False, "*waves* Welcome!"),
        (True, "I drink tea."),
        (False, "Noted."),
        (True, "Look!\n[image]"),
        (False, "A cup."),
    ]
    assert chat.left_out == {ASIDE: 1, HIDDEN: 2}
    assert [one.at and one.at.isoformat() for one in chat.messages][:2] == [
        "2024-01-03T10:00:00",
        "2024-01-03T10:01:00",
    ]


def test_ids_outlive_what_changes(tmp_path: Path) -> None:
    """Another file name, a branch, a swipe, a deletion: what stays has the same ids."""
    (chat,) = chats_of(written(tmp_path, CHAT))
    head = {"chat_metadata": {"main_chat": "x"}, "user_name": "unused", "character_name": "unused"}
    swiped = {**CHAT[3], "mes": "Ah.", "swipe_id": 0}
    (branch,) = chats_of(written(tmp_path, [head, *CHAT[1:3], swiped, CHAT[8]], "b.jsonl"))
    assert branch.session_id == chat.session_id
    ids = [one.id for one in chat.messages]
    assert [one.id for one in branch.messages] == [*ids[:3], ids[4]]
    assert len(set(ids)) == len(ids)


def test_a_name_that_was_cut(tmp_path: Path) -> None:
    """A chat whose first speaker's name holds half a character is read as any other."""
    lines = [{**one, "name": "Lun\ud83d"} for one in CHAT]
    (chat,) = chats_of(written(tmp_path, lines))
    assert chat.messages


def test_a_group(tmp_path: Path) -> None:
    """A group's chat needs no first line of its own, and says which character speaks."""
    told = [
        message("hi", user=True),
        message("ho", is_group=True),
        message("hu", name="Nox", send_date=1704276060000),
        message("", name="Nox", extra={"media": [{"type": "video"}], "files": [{"url": "x"}]}),
    ]
    file = written(tmp_path, told)
    assert source_of(file) is ImportSource.SILLYTAVERN
    (chat,) = chats_of(file)
    texts = ["hi", "Luna: ho", "Nox: hu", "Nox: [video]\n[file]"]
    assert [text for _, text in said(chat)] == texts


def test_thoughts_are_not_said(tmp_path: Path) -> None:
    """They are taken out of what a character says, also in a group."""
    thought = "<think>I must not tell her.</think>"
    told = [message(f"{thought}hi", user=True), message(f"{thought}ho"), message(thought)]
    (chat,) = chats_of(written(tmp_path, told))
    assert [text for _, text in said(chat)] == [f"{thought}hi", "ho", ""]
    (chat,) = chats_of(written(tmp_path, [*told, message("hu", name="Nox")]))
    assert [text for _, text in said(chat)][1:] == ["Luna: ho", "", "Nox: hu"]


def test_a_chat_without_messages(tmp_path: Path) -> None:
    """Nothing is read of a file without messages."""
    file = written(tmp_path, [HEAD])
    assert source_of(file) is ImportSource.SILLYTAVERN
    assert list(read_sillytavern(file)) == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"mes": "a"', "this is no JSON"),
        (b"[]", "this is no message"),
        (b'{"name": "a"}', "a message without `mes`"),
        (b'{"mes": 7}', "a message without `mes`"),
        (b'{"mes": "\xff"}', "this is no UTF-8"),
        (b"[" * 100_000, "this is no JSON"),
    ],
)
def test_a_broken_line(tmp_path: Path, line: bytes, why: str) -> None:
    """It is named, and the other messages are taken."""
    file = written(tmp_path, CHAT[:3])
    file.write_bytes(file.read_bytes() + b"\n\n" + line + b"\n" + json.dumps(CHAT[3]).encode())
    (chat,), unread = split(read_sillytavern(file))
    assert [text for _, text in said(chat)] == ["*waves* Welcome!", "I drink tea.", "Noted."]
    assert unread == [f"line 5: {why}"]


def at_once(*texts: str, date: Any, greeting: str = "Welcome!") -> list[Any]:
    """A chat that was converted: greeting, user and replies in turns, all at one time."""
    told = [message(greeting), *(message(one, user=n % 2 == 0) for n, one in enumerate(texts))]
    return [HEAD, *({**one, "send_date": date} for one in told)]


@pytest.mark.parametrize(
    "date", ["January 3, 2024 10:00am", 1704276000123, "1704276000123", None, "soon", ["x"]]
)
def test_chats_of_one_time(tmp_path: Path, date: Any) -> None:
    """Words distinguish the chats; a continued chat, or another greeting, is the same chat."""
    tea = at_once("I drink tea.", "Noted.", "hi", "Hello.", date=date)
    others = [
        at_once("I sail.", "Noted.", date=date),
        at_once("I drink tea.", "So do I.", date=date),
    ]
    longer = [*tea, message("I ski.", user=True, minute=50), message("In summer?", minute=51)]
    greeted = at_once("I drink tea.", "Noted.", "hi", "Hello.", date=date, greeting="Hm?")
    (first,), (again,), (more,) = (
        chats_of(written(tmp_path, one)) for one in (tea, greeted, longer)
    )
    assert first.session_id == again.session_id == more.session_id
    ids = [one.id for one in first.messages[1:]]
    assert [one.id for one in again.messages[1:]] == ids
    assert [one.id for one in more.messages[1:5]] == ids
    assert len({one.id for one in more.messages}) == len(more.messages)
    sessions = {chat.session_id for one in others for chat in chats_of(written(tmp_path, one))}
    assert len(sessions - {first.session_id}) == len(others)


def test_chats_that_begin_alike(tmp_path: Path) -> None:
    """Chats of one time with one beginning share it; what was said then has ids of its own."""
    tea = at_once("hi", "Hello.", "I drink tea.", "Noted.", "so", "yes", date=None)
    sails = at_once("hi", "Hello.", "I sail.", "Noted.", "so", "no", date=None)
    (one,), (other,) = (chats_of(written(tmp_path, lines)) for lines in (tea, sails))
    assert one.session_id == other.session_id
    shared = {said.id for said in one.messages} & {said.id for said in other.messages}
    assert shared == {said.id for said in one.messages[:3]}


TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I sail.", "at": "2024-01-03T10:00:00Z"},
    {"role": "assistant", "content": [{"type": "text", "text": "Ahoy."}]},
]


def test_messages(tmp_path: Path) -> None:
    """A list, an object with one, or lines: the same turns; `session_id` makes sessions."""
    forms = [json.dumps(TALK), json.dumps({"messages": TALK}, indent=1)]
    forms.append("\n".join(map(json.dumps, TALK)))
    file = tmp_path / "talk.json"
    found: list[Chat] = []
    for text in forms:
        file.write_text(text)
        assert source_of(file) is ImportSource.MESSAGES
        found += chats_of(file)
    assert found[0] == found[1] == found[2]
    assert said(found[0]) == [(True, "I sail."), (False, "Ahoy.")]
    file.write_text(json.dumps([{**one, "session_id": place} for place, one in enumerate(TALK)]))
    assert [chat.session_id for chat in chats_of(file)] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"role": "user", "content": "a"},\n{"role"]', "line 2: this is no JSON"),
        ('{"role": "user", "messages": "content"}', "no list of messages"),
    ],
)
def test_broken_messages(tmp_path: Path, text: str, why: str) -> None:
    """What is no list of messages is refused as a whole."""
    file = tmp_path / "talk.json"
    file.write_text(text)
    with pytest.raises(FileError, match=f"talk.json.*{why}"):
        list(read_messages(file))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"role": "user", "content": "a"}\n{"role"', "line 2: this is no JSON"),
        ('{"role"\n{"role": "user", "content": "a"}', "line 1: this is no JSON"),
        (
            '[{"role": "user", "content": "a"}, {"role": "cat", "content": ""}]',
            "message 1: 'cat' is",
        ),
        ('[7, {"role": "user", "content": "a"}]', "message 0: int without a role"),
    ],
)
def test_a_broken_message(tmp_path: Path, text: str, why: str) -> None:
    """It is named, and the others are taken."""
    file = tmp_path / "talk.json"
    file.write_text(text)
    (chat,), unread = split(read_messages(file))
    assert said(chat) == [(True, "a")]
    assert len(unread) == 1
    assert unread[0].startswith(why)


def test_a_broken_time_of_a_message(tmp_path: Path) -> None:
    """A broken time is ignored, and the message is imported."""
    file = tmp_path / "talk.json"
    file.write_text('[{"role": "user", "content": "a", "timestamp": "soon"}]')
    assert [one.at for chat in chats_of(file) for one in chat.messages] == [None]
