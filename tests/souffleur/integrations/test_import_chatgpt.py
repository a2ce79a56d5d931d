"""Reading of ChatGPT's export."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given, settings, strategies as st

from souffleur.errors import FileError
from souffleur.integrations.importers.chatgpt import BRANCHES, TOOLS, read_chatgpt
from souffleur.integrations.importers.chats import Chat, Unread
from souffleur.integrations.importers.files import ImportSource, source_of

BEGUN = 1704276000.0
"""2024-01-03 10:00 UTC."""


def node(id: str, parent: str | None, role: str = "user", text: Any = "", **fields: Any) -> Any:
    """A node as the export has it; `text` may be a whole content."""
    content = text
    if not isinstance(text, dict):
        parts = text if isinstance(text, list) else [text]
        kind = "multimodal_text" if isinstance(text, list) else "text"
        content = {"content_type": kind, "parts": parts}
    message: dict[str, Any] = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": BEGUN + 60 * int(id),
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
    }
    return {"id": id, "parent": parent, "children": [], "message": {**message, **fields}}


def conversation(*nodes: Any, id: str = "c1", current: str | None = None, **fields: Any) -> Any:
    """A conversation of a root without a message and these nodes."""
    mapping: dict[str, Any] = {
        "root": {"id": "root", "parent": None, "children": [], "message": None}
    }
    for one in nodes:
        mapping[one["id"]] = one
        mapping[one["parent"]]["children"].append(one["id"])
    last = current or nodes[-1]["id"]
    times = {"create_time": BEGUN, "update_time": BEGUN + 600}
    whole = {"title": "Tea", **times, "mapping": mapping, "current_node": last}
    return {**whole, "conversation_id": id, "id": id, **fields}


TEA = conversation(
    node("1", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
    node(
        "2",
        "1",
        "user",
        {"content_type": "user_editable_context", "user_profile": "I am Ann.", "parts": ["Ann"]},
        metadata={"is_visually_hidden_from_conversation": True},
    ),
    node("3", "2", "user", "I drink black tea."),
    node("4", "3", "assistant", "Noted, black tea."),
    node("5", "2", "user", "I drink green tea."),
    node("6", "5", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "so"}]}),
    node("7", "6", "assistant", {"content_type": "code", "text": "search('tea')"}, recipient="web"),
    node("8", "7", "tool", "a page"),
    node("9", "8", "assistant", "Green it is.\ue200cite\ue202turn0search1\ue201 【4†source】"),
    node(
        "10",
        "9",
        "user",
        [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "My cup."],
        metadata={"attachments": [{"id": "x", "mime_type": "image/png"}]},
    ),
    node(
        "11",
        "10",
        "user",
        [{"content_type": "audio_transcription", "text": "And a spoon."}],
        metadata={"attachments": [{"id": "y"}, {"id": "z", "name": "spoons.pdf"}]},
    ),
    node("12", "11", "assistant", "A spoon?</think>Nice!", create_time=None),
)
"""A conversation with an edited message, tools, thoughts, an image, a voice and a file."""


def written(folder: Path, what: Any) -> Path:
    """Return a file that holds JSON, as the export writes it."""
    file = folder / "conversations.json"
    file.write_text(what if isinstance(what, str) else json.dumps(what), encoding="utf-8")
    return file


def split(parts: Iterable[Chat | Unread]) -> tuple[list[Chat], list[str]]:
    """Return the chats of a file, and what cannot be read."""
    found = [*parts]
    chats = [one for one in found if isinstance(one, Chat)]
    return chats, [str(one) for one in found if isinstance(one, Unread)]


def chats_of(file: Path) -> list[Chat]:
    """Return the chats of a file, all of which can be read."""
    chats, unread = split(read_chatgpt(file))
    assert not unread
    return chats


def said(chat: Chat) -> list[tuple[bool, str]]:
    """What was said in a chat."""
    return [(one.by_user, one.text) for one in chat.messages]


def test_what_was_shown_last_is_read(tmp_path: Path) -> None:
    """Only the current branch is read, with words for images; other messages are counted."""
    file = written(tmp_path, [TEA])
    assert source_of(file) is ImportSource.CHATGPT
    (chat,) = chats_of(file)
    assert chat.session_id == "chatgpt-c1"
    assert said(chat) == [
        (True, "I drink green tea."),
        (False, "Green it is."),
        (True, "[image]\nMy cup."),
        (True, "And a spoon.\n[file]"),
        (False, "Nice!"),
    ]
    assert [one.id for one in chat.messages] == ["5", "9", "10", "11", "12"]
    first, last = chat.messages[0].at, chat.messages[-1].at
    assert (first and first.isoformat(), last) == ("2024-01-03T10:05:00+00:00", None)
    assert chat.left_out == {BRANCHES: 2, TOOLS: 3}


def test_an_archive(tmp_path: Path) -> None:
    """The conversations of all its files are read, and nothing else."""
    file = tmp_path / "export.zip"
    other = conversation(node("1", "root", "user", "hi"), id="c2", is_do_not_remember=True)
    with ZipFile(file, "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("conversations-001.json", json.dumps([other]))
        archive.writestr("conversations-000.json", json.dumps([TEA]))
    assert source_of(file) is ImportSource.CHATGPT
    tea, unwanted = chats_of(file)
    assert (len(tea.messages), unwanted.messages) == (5, ())
    assert unwanted.left_out.total() == 1


def test_a_conversation_alone(tmp_path: Path) -> None:
    """One without a current message ends with the one written last."""
    said_twice = [node("1", "root", "user", "a"), node("2", "root", "user", "b")]
    lone = {**conversation(*said_twice, current="1"), "current_node": None}
    (chat,) = chats_of(written(tmp_path, lone))
    assert said(chat) == [(True, "b")]


WHOLE = json.dumps([conversation(node("1", "root", "user", "hi"))], indent=1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (WHOLE[:-1], "ends after conversation 1: it was cut"),
        (WHOLE[:-40], r"conversation 1, line \d+: this is no JSON"),
        (WHOLE[:-1] + ' {"mapping": {}}]', "conversation 1, line .*: this is no JSON"),
        ("[" * 100_000, "conversation 1: nested too deeply"),
    ],
)
def test_a_broken_file(tmp_path: Path, text: str, why: str) -> None:
    """What is no JSON is refused as a whole."""
    with pytest.raises(FileError, match=f"conversations.json.*{why}"):
        list(read_chatgpt(written(tmp_path, text)))


def damaged(**fields: Any) -> Any:
    """A conversation of two messages, with other fields."""
    return {**conversation(node("1", "root"), node("2", "1")), "title": "Odd", **fields}


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (damaged(mapping={"2": node("2", "gone")}), "leads to no message"),
        (damaged(mapping={"2": node("2", "2")}), "comes back to itself"),
        (damaged(mapping=None), "no messages below `mapping`"),
        (damaged(mapping=[]), "no messages below `mapping`"),
        (damaged(id=None, conversation_id=7), "has no id"),
        (damaged(mapping={"2": {**node("2", None), "parent": ["root"]}}), "of another form"),
        (damaged(mapping={"2": None}), "leads to no message"),
    ],
)
def test_a_broken_conversation(tmp_path: Path, what: Any, why: str) -> None:
    """It is named, with its place and title, and the others are taken."""
    file = written(tmp_path, [TEA, what, {**TEA, "id": "c3", "conversation_id": "c3"}])
    chats, unread = split(read_chatgpt(file))
    assert [chat.session_id for chat in chats] == ["chatgpt-c1", "chatgpt-c3"]
    assert len(unread) == 1
    assert re.fullmatch(f"conversation 2 'Odd': .*{why}.*", unread[0])


@pytest.mark.parametrize(
    "content",
    [
        {"content_type": "text", "bits": ["hi"]},
        {"content_type": "text", "parts": "hi"},
        {"content_type": "multimodal_text", "parts": [7]},
        {"content_type": "multimodal_text", "parts": [{"content_type": ["image"]}]},
    ],
)
def test_a_broken_message(tmp_path: Path, content: Any) -> None:
    """It is named, and the rest of its conversation is taken."""
    odd = conversation(node("1", "root", "user", content), node("2", "1", "user", "I sail."))
    (chat,), unread = split(read_chatgpt(written(tmp_path, [odd])))
    assert said(chat) == [(True, "I sail.")]
    assert [one.partition(": ")[0] for one in unread] == ["conversation 1 'Tea', message '1'"]


@pytest.mark.parametrize("time", ["soon", -1e300, True, {}, "9" * 5000])
def test_a_broken_time(tmp_path: Path, time: Any) -> None:
    """A broken time is ignored, and the message is imported."""
    odd = conversation(node("1", "root", "user", "I sail.", create_time=time), create_time=time)
    text = json.dumps([odd]).replace(f'"{"9" * 5000}"', "9" * 5000)
    (chat,) = chats_of(written(tmp_path, text))
    assert (said(chat), chat.messages[0].at, chat.begun) == ([(True, "I sail.")], None, None)


def test_many_conversations_in_pieces(tmp_path: Path) -> None:
    """Conversations are read where the pieces that are read of a file end in their midst."""
    many = [conversation(node("1", "root", "user", "é" * 70_000), id=str(n)) for n in range(40)]
    file = tmp_path / "export.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(many, ensure_ascii=False, indent=1))
    assert [chat.session_id for chat in chats_of(file)] == [f"chatgpt-{n}" for n in range(40)]


def test_a_broken_archive(tmp_path: Path) -> None:
    """One that was cut, or holds something else, is refused."""
    file = tmp_path / "export.zip"
    with ZipFile(file, "w") as archive:
        archive.writestr("user.json", "{}")
    with pytest.raises(FileError, match=r"holds no conversations\.json"):
        list(read_chatgpt(file))
    file.write_bytes(b"PK" + file.read_bytes()[30:])
    with pytest.raises(FileError):
        list(read_chatgpt(file))
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", WHOLE)
    whole = bytearray(file.read_bytes())
    whole[48:60] = b"\xff" * 12  # within what is packed
    file.write_bytes(whole)
    with pytest.raises(FileError, match="cannot be unpacked"):
        list(read_chatgpt(file))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=30), st.data())
def test_any_tree(shape: list[tuple[int, bool]], data: st.DataObject) -> None:
    """What is read of any tree is the way from its root to its current message."""
    nodes, parents = [], {"root": ""}
    for number, (place, by_user) in enumerate(shape, 1):
        names = list(parents)
        parent, name = names[place % len(names)], str(number)
        parents[name] = parent
        nodes.append(node(name, parent, "user" if by_user else "assistant", f"message {name}"))
    current = data.draw(st.sampled_from(list(parents)[1:]))
    way, name = [], current
    while name != "root":
        way.append(name)
        name = parents[name]
    whole = conversation(*nodes, current=current)
    with TemporaryDirectory() as folder:
        (chat,) = chats_of(written(Path(folder), [whole]))
    assert [one.id for one in chat.messages] == way[::-1]
    assert chat.left_out.total() == len(nodes) - len(way)
