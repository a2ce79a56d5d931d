"""ChatGPT: the conversations of its export, each as it was last shown.

Edited messages and regenerated replies make a tree of a conversation; `current_node` is its end as
the user saw it, and the way from there to the root is what is read.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from souffleur.contents import read_content
from souffleur.errors import MessageError, TransferError
from souffleur.moments import read_moment
from souffleur.moving.chats import Chat, ChatMessage, fields_of

MAX_UNPACKED = 2 << 30
"""Bytes of conversations that an archive may hold."""
_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
"""Where an archive has conversations; large exports have several such files."""
_SAID = frozenset({"text", "multimodal_text"})
"""Types of contents that are said; others are calls of tools, thoughts, instructions."""
_PARTS = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "real_time_user_audio_video_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
}
_MARKS = re.compile("\ue200.*?\ue201|[\ue200-\ue20f]|【\\d+[†:][^】]*】", re.S)
"""Marks in replies that stand for links and sources."""

TOOLS = "message: of a tool or the system, or not shown"
BRANCHES = "message: of an earlier version of the conversation"
_UNWANTED = "conversation: not to be remembered, as it says itself"


def looks_like(head: bytes) -> bool:
    """Return whether a file that begins like this may be conversations of ChatGPT."""
    return b'"mapping"' in head and head.startswith((b"[", b"{"))


def read_chatgpt(file: Path) -> Iterator[Chat]:
    """Yield the conversations of an export: its archive, or a file `conversations.json` of it.

    Raises TransferError, which names the file and the conversation.
    """
    for name, text in _texts(file):
        for number, found in _conversations(text, name):
            where = f"{name}, conversation {number}"
            if not isinstance(found, dict) or not isinstance(found.get("mapping"), dict):
                raise TransferError(f"{where} has no messages below `mapping`")
            try:
                chat = _chat(found, where)
            except (TypeError, ValueError, AttributeError):
                raise TransferError(
                    f"{where} has a field of another form than ChatGPT writes"
                ) from None
            yield chat


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the names of the files that hold conversations, and their texts."""
    try:
        if not is_zipfile(file):
            yield str(file), file.read_text(encoding="utf-8-sig")
            return
        with ZipFile(file) as archive:
            members = [one for one in archive.infolist() if _MEMBER.fullmatch(one.filename)]
            if not members:
                raise TransferError(f"{file} holds no conversations.json")
            if sum(one.file_size for one in members) > MAX_UNPACKED:
                raise TransferError(f"{file} holds more than {MAX_UNPACKED >> 30} GB")
            for one in sorted(members, key=lambda member: member.filename):
                yield f"{file}: {one.filename}", archive.read(one).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TransferError(f"{file} is no JSON in UTF-8") from None
    except (BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise TransferError(f"{file} cannot be unpacked: {error}") from None


def _conversations(text: str, name: str) -> Iterator[tuple[int, Any]]:
    """Yield each conversation with its number; one at a time, as exports are large."""
    decoder, place, number = JSONDecoder(), _after(text, 0), 0
    many = text[place : place + 1] == "["
    place += many
    try:
        while (place := _after(text, place)) < len(text) and text[place] != "]":
            number += 1
            found, place = decoder.raw_decode(text, place)
            yield number, found
            place = _after(text, place)
            if not many:
                break
            if text[place : place + 1] not in (",", "]", ""):
                raise JSONDecodeError("", text, place)
            place += text[place : place + 1] == ","
    except JSONDecodeError as error:
        raise TransferError(
            f"{name}, conversation {number}, line {error.lineno}: this is no JSON"
        ) from None
    except RecursionError:
        raise TransferError(f"{name}, conversation {number}: nested too deeply") from None
    except ValueError:  # of more digits than Python reads
        raise TransferError(f"{name}, conversation {number}: a number is too long") from None
    if many and text[place : place + 1] != "]":
        raise TransferError(f"{name} ends after conversation {number}: it was cut")


def _after(text: str, place: int) -> int:
    """Return the place of the next character that is no space."""
    while text[place : place + 1].isspace():
        place += 1
    return place


def _chat(found: Mapping[str, Any], where: str) -> Chat:
    id = found.get("conversation_id") or found.get("id")
    if not isinstance(id, str) or not id:
        raise TransferError(f"{where} has no id")
    session_id, begun = f"chatgpt-{id}", _time(found.get("create_time"))
    if found.get("is_do_not_remember"):
        return Chat(session_id, (), begun, Counter({_UNWANTED: 1}))
    mapping = found["mapping"]
    path = _path(mapping, found.get("current_node"), where)
    left_out: Counter[str] = Counter()
    if branched := sum(_is_said(mapping[name]) for name in mapping.keys() - path):
        left_out[BRANCHES] = branched
    messages = []
    for name in path:
        node = mapping[name]
        if _is_said(node):
            messages.append(_message(name, node["message"], where))
        elif _has_words(node):
            left_out[TOOLS] += 1
    return Chat(session_id, tuple(messages), begun, left_out)


def _path(mapping: Mapping[str, Any], current: object, where: str) -> list[str]:
    """Return the ids of the nodes from the root to the current one."""
    path: dict[str, None] = {}
    known = isinstance(current, str) and current in mapping
    name: Any = current if known else _latest_leaf(mapping)
    while name is not None:
        node = mapping.get(name)
        if not isinstance(node, dict) or name in path:
            fault = "comes back to itself" if name in path else "leads to no message"
            raise TransferError(f"{where}: the way from its last message to its first {fault}")
        path[name] = None
        name = node.get("parent")
    return [*reversed(path)]


def _latest_leaf(mapping: Mapping[str, Any]) -> str | None:
    """Return the message that was written last, if the conversation names no current one."""

    def written(name: str) -> float:
        at = fields_of(fields_of(mapping[name]).get("message")).get("create_time")
        return at if isinstance(at, int | float) else 0.0

    leaves = [name for name, node in mapping.items() if not fields_of(node).get("children")]
    return max(leaves, key=written, default=None)


def _is_said(node: object) -> bool:
    """Return whether a node is a message that the user wrote or was shown as a reply."""
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
    return any(one for one in content.get("parts") or [content.get("text")])


def _message(name: str, message: Mapping[str, Any], where: str) -> ChatMessage:
    content, metadata = message["content"], fields_of(message.get("metadata"))
    parts = content.get("parts")
    if not isinstance(parts, list):
        raise TransferError(f"{where}: message {name} has no list of parts")
    try:
        said = [read_content(_part(one)) for one in parts]
    except MessageError as error:
        raise TransferError(f"{where}: message {name}: {error}") from None
    shown = sum(isinstance(one, dict) for one in parts)
    files = max(0, len(metadata.get("attachments") or ()) - shown)
    text = "\n".join(filter(None, [*said, *["[file]"] * files]))
    by_user = message["author"]["role"] == "user"
    words = text if by_user else _MARKS.sub("", text).strip()
    return ChatMessage(name, by_user, words, _time(message.get("create_time")))


def _part(part: object) -> object:
    """Return a part as contents have it."""
    kind = fields_of(part).get("content_type")
    if kind is None:
        return part
    text = fields_of(part).get("text")
    if isinstance(text, str):  # what was heard
        return text
    return {"type": _PARTS.get(kind, "file")}


def _time(value: object) -> datetime | None:
    try:
        return None if value is None else read_moment(value)
    except MessageError:
        return None
