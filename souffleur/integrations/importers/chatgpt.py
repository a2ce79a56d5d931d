"""ChatGPT: the conversations of its export.

A conversation with edited messages and regenerated replies is a tree. Only the path from the root
to `current_node`, the last message that the user saw, is read.
"""

import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

from souffleur.errors import FileError, InputError
from souffleur.integrations.importers.chats import (
    MAX_NAME,
    Chat,
    ChatMessage,
    Unread,
    elements_of,
    fields_of,
)
from souffleur.knowledge.text.plain import mend, single_line
from souffleur.knowledge.text.thinking import without_thinking
from souffleur.messages import read_content
from souffleur.times import read_moment

_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
"""The names of files with conversations in an archive."""
_SAID = ("text", "multimodal_text")
"""Types of spoken contents; other types are calls of tools, thoughts, instructions."""
_PARTS = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "real_time_user_audio_video_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
}
_MARKS = re.compile("\ue200.*?\ue201|[\ue200-\ue20f]|【\\d+[†:][^】]*】", re.S)
"""Marks of links and sources in replies."""

TOOLS = "message: of a tool or the system, or not shown"
BRANCHES = "message: of an earlier version of the conversation"
_ODD = "it has a field of another form than ChatGPT writes"
_UNWANTED = "conversation: not to be remembered, as it says itself"


def is_chatgpt(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of ChatGPT's conversations."""
    return b'"mapping"' in head and head.startswith((b"[", b"{"))


def size_of(file: Path) -> int:
    """Return the size of an export's conversations in bytes, unpacked. Raises FileError."""
    if not is_zipfile(file):
        return file.stat().st_size
    with _unpacking(file), ZipFile(file) as archive:
        return sum(one.file_size for one in _members(archive))


def read_chatgpt(file: Path, called: Collection[str] = ()) -> Iterator[Chat | Unread]:
    """Yield the conversations of an export, an archive or a file `conversations.json`.

    Unreadable conversations and messages are yielded as Unread. `called` has no effect, as all
    questions are the user's. Raises FileError for any other file.
    """
    with _unpacking(file):
        for name, text in _texts(file):
            for number, found in elements_of(text, name):
                where = f"{name}, conversation {number}".removeprefix(f"{file}, ")
                yield from _conversation(found, where)


@contextmanager
def _unpacking(file: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise FileError(f"{file} is no JSON in UTF-8") from None
    except (BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise FileError(f"{file} cannot be unpacked: {error}") from None


def _texts(file: Path) -> Iterator[tuple[str, IO[str]]]:
    """Yield the name and the text of each file with conversations."""
    if not is_zipfile(file):
        with file.open(encoding="utf-8-sig") as text:
            yield str(file), text
        return
    with ZipFile(file) as archive:
        members = sorted(_members(archive), key=lambda member: member.filename)
        if not members:
            raise FileError(f"{file} holds no conversations.json")
        for one in members:
            with archive.open(one) as packed, TextIOWrapper(packed, "utf-8-sig") as text:
                yield f"{file}, {one.filename}", text


def _members(archive: ZipFile) -> list[ZipInfo]:
    return [one for one in archive.infolist() if _MEMBER.fullmatch(one.filename)]


def _conversation(found: Any, where: str) -> Iterator[Chat | Unread]:
    """Yield a conversation and its unreadable messages, or the unreadable conversation."""
    title = fields_of(found).get("title")
    named = f"{where} {single_line(mend(title))[:MAX_NAME]!r}" if isinstance(title, str) else where
    try:
        yield from _chat(fields_of(found), named)
    except FileError as error:
        yield Unread("conversation", named, str(error))
    except (TypeError, ValueError, AttributeError):
        yield Unread("conversation", named, _ODD)


def _chat(found: Mapping[str, Any], where: str) -> Iterator[Chat | Unread]:
    """Yield the unreadable messages of a conversation, then the conversation. Raises FileError."""
    id, mapping = found.get("conversation_id") or found.get("id"), found.get("mapping")
    if not isinstance(id, str) or not id:
        raise FileError("it has no id")
    session_id, begun = f"chatgpt-{id}", _time(found.get("create_time"))
    if found.get("is_do_not_remember"):
        yield Chat(session_id, (), begun, Counter({_UNWANTED: 1}))
        return
    if not isinstance(mapping, dict):
        raise FileError("it has no messages below `mapping`")
    path = _path(mapping, found.get("current_node"))
    left_out: Counter[str] = Counter()
    if branched := sum(_is_said(mapping[name]) for name in mapping.keys() - path):
        left_out[BRANCHES] = branched
    messages = []
    for name in path:
        node = mapping[name]
        if _is_said(node):
            try:
                messages.append(_message(name, node["message"]))
            except (InputError, TypeError) as error:
                why = str(error) if isinstance(error, InputError) else _ODD
                yield Unread("message", f"{where}, message {name[:MAX_NAME]!r}", why)
        elif _has_words(node):
            left_out[TOOLS] += 1
    yield Chat(session_id, tuple(messages), begun, left_out)


def _path(mapping: Mapping[str, Any], current: object) -> list[str]:
    """Return the ids of the nodes from the root to the current one. Raises FileError."""
    path: dict[str, None] = {}
    known = isinstance(current, str) and current in mapping
    name: Any = current if known else _latest_leaf(mapping)
    while name is not None:
        node = mapping.get(name)
        if not isinstance(node, dict) or name in path:
            fault = "comes back to itself" if name in path else "leads to no message"
            raise FileError(f"the way from its last message to its first {fault}")
        path[name] = None
        name = node.get("parent")
    return [*reversed(path)]


def _latest_leaf(mapping: Mapping[str, Any]) -> str | None:
    """Return the id of the leaf with the latest message."""

    def written(name: str) -> float:
        at = fields_of(fields_of(mapping[name]).get("message")).get("create_time")
        return at if isinstance(at, int | float) else 0.0

    leaves = [name for name, node in mapping.items() if not fields_of(node).get("children")]
    return max(leaves, key=written, default=None)


def _is_said(node: object) -> bool:
    """Return whether a node is a message of the user, or a reply that the user saw."""
    message = fields_of(fields_of(node).get("message"))
    role = fields_of(message.get("author")).get("role")
    kind = fields_of(message.get("content")).get("content_type")
    hidden = fields_of(message.get("metadata")).get("is_visually_hidden_from_conversation")
    if hidden or kind not in _SAID or role not in ("user", "assistant"):
        return False
    return role == "user" or (
        message.get("recipient") in (None, "all") and message.get("channel") != "analysis"
    )


def _has_words(node: object) -> bool:
    content = fields_of(fields_of(fields_of(node).get("message")).get("content"))
    parts = content.get("parts")
    return any(parts if isinstance(parts, list) and parts else [content.get("text")])


def _message(name: str, message: Mapping[str, Any]) -> ChatMessage:
    """Return the message of a node. Raises InputError for an unreadable content."""
    content, metadata = message["content"], fields_of(message.get("metadata"))
    parts = content.get("parts")
    if not isinstance(parts, list):
        raise InputError("it has no list of parts")
    said = [read_content(_part(one)) for one in parts]
    shown = sum(isinstance(one, dict) for one in parts)
    files = max(0, len(metadata.get("attachments") or ()) - shown)
    text = "\n".join(filter(None, [*said, *["[file]"] * files]))
    by_user = message["author"]["role"] == "user"
    words = text if by_user else without_thinking(_MARKS.sub("", text)).strip()
    return ChatMessage(name, by_user, words, _time(message.get("create_time")))


def _part(part: object) -> object:
    """Return a part of a content in the format of docs/python.md."""
    kind = fields_of(part).get("content_type")
    if kind is None:
        return part
    text = fields_of(part).get("text")
    if isinstance(text, str):  # the transcript of audio
        return text
    return {"type": _PARTS.get(kind, "file")}


def _time(value: object) -> datetime | None:
    try:
        return None if value is None else read_moment(value)
    except InputError:
        return None
