"""SillyTavern: a chat of its folder `chats` or `group chats`, one message a line.

The first line tells of the chat, in group chats of some versions there is none. Of a message with
several replies (swipes), `mes` is the one that was chosen.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from souffleur.errors import MessageError, TransferError
from souffleur.knowledge.language.plain_text import mend
from souffleur.knowledge.operation import derive_id
from souffleur.moments import read_moment
from souffleur.moving.chats import Chat, ChatMessage, fields_of

HIDDEN = "message: hidden, or SillyTavern's own"
ASIDE = "message: a narrator's or a comment"
_OWN = "SillyTavern System"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WRITTEN = re.compile(r"(\w{3})\w* (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2}) ?([ap])m", re.I)
"""`June 19, 2023 2:20pm`."""
_NAMED = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?"
)
"""`2024-07-12@01h31m37s` and `2024-6-5 @14h 56m 50s 682ms`."""
_MEDIA = {"image": "image", "video": "video", "file": "file"}
_LISTS = {"media": "image", "files": "file"}


def looks_like(head: bytes) -> bool:
    """Return whether a file that begins like this may be a chat of SillyTavern."""
    first, _, _ = head.partition(b"\n")
    named = b'"chat_metadata"' in first or b'"create_date"' in first
    return first.startswith(b"{") and (named or (b'"mes"' in first and b'"is_user"' in first))


def read_sillytavern(file: Path) -> Iterator[Chat]:
    """Yield the chat of a file. Raises TransferError, which names the file and the line."""
    lines = [*_lines(file)]
    head = lines.pop(0)[1] if lines and "mes" not in lines[0][1] else {}
    if not lines:
        return
    left_out: Counter[str] = Counter()
    messages: list[ChatMessage] = []
    several = len({one.get("name") for _, one in lines if _is_reply(one)}) > 1
    seen: Counter[str] = Counter()
    for where, one in lines:
        if not isinstance(one.get("mes"), str):
            raise TransferError(f"{where}: a message without `mes`")
        date = str(one.get("send_date"))
        seen[date] += 1
        if why := _unsaid(one):
            left_out[why] += 1
        else:
            messages.append(_message(f"{date}#{seen[date]}", one, several=several))
    begun = read_date(head.get("create_date"))
    yield Chat(_session_id(lines[0][1]), tuple(messages), begun, left_out)


def read_date(value: object) -> datetime | None:
    """Return a time as SillyTavern writes it, without a zone if it names none: its machine's.

    >>> str(read_date("June 19, 2023 2:20pm")), str(read_date("2024-7-12@01h31m37s"))
    ('2023-06-19 14:20:00', '2024-07-12 01:31:37')
    >>> str(read_date("2024-6-5 @14h 56m 50s 682ms")), str(read_date(1687184400123))
    ('2024-06-05 14:56:50.682000', '2023-06-19 14:20:00.123000+00:00')
    >>> str(read_date("2025-10-01T08:30:00.000Z")), read_date("yesterday"), read_date("²")
    ('2025-10-01 08:30:00+00:00', None, None)
    """
    try:
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int | float):
            return read_moment(value / 1000)
        if isinstance(value, str):
            return _from_words(value) or read_moment(value)
    except (MessageError, ValueError, OverflowError):
        pass
    return None


def _from_words(text: str) -> datetime | None:
    """Return a time in a form of SillyTavern's own. Raises MessageError, ValueError for no day."""
    if found := _WRITTEN.search(text):
        name, day, year, hour, minute, half = found.groups()
        hours = int(hour) % 12 + 12 * (half.lower() == "p")
        numbers = [int(year), _MONTHS.index(name.lower()) + 1, int(day), hours, int(minute), 0, 0]
    elif found := _NAMED.search(text):
        numbers = [int(one or 0) for one in found.groups()]
    else:
        return None
    day, time = "{:04}-{:02}-{:02}".format(*numbers), "{:02}:{:02}:{:02}.{:03}".format(*numbers[3:])
    return read_moment(f"{day}T{time}")


def _lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open(encoding="utf-8-sig") as lines:
        number = 0
        try:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                found = json.loads(line)
                if not isinstance(found, dict):
                    raise TransferError(f"{file}, line {number}: this is no message")
                yield f"{file}, line {number}", found
        except UnicodeDecodeError:
            raise TransferError(f"{file}, after line {number}: this is no UTF-8") from None
        except (ValueError, RecursionError):
            raise TransferError(f"{file}, line {number}: this is no JSON") from None


def _session_id(first: Mapping[str, Any]) -> str:
    """Return the same id for a chat and its branches, whatever their files are called."""
    name, date = (mend(str(first.get(field))) for field in ("name", "send_date"))
    return f"sillytavern-{derive_id('sillytavern', name, date)}"


def _unsaid(message: Mapping[str, Any]) -> str:
    """Return why a message is left out; empty if it is not."""
    kind = fields_of(message.get("extra")).get("type")
    if kind in ("narrator", "comment"):
        return ASIDE
    own = message.get("is_system") or kind or message.get("name") == _OWN
    return HIDDEN if own else ""


def _is_reply(message: Mapping[str, Any]) -> bool:
    return not (message.get("is_user") or _unsaid(message))


def _message(id: str, message: Mapping[str, Any], *, several: bool) -> ChatMessage:
    by_user, extra = bool(message.get("is_user")), fields_of(message.get("extra"))
    words = [message["mes"]]
    if several and not by_user and message.get("name"):
        words = [f"{message['name']}: {message['mes']}"]
    words += [f"[{word}]" for name, word in _MEDIA.items() if extra.get(name)]
    for name, usual in _LISTS.items():
        listed = extra.get(name)
        for one in listed if isinstance(listed, list) else ():
            kind = fields_of(one).get("type")
            words.append(f"[{kind if kind in ('image', 'video', 'audio') else usual}]")
    text = "\n".join(filter(str.strip, words))
    return ChatMessage(id, by_user, text, read_date(message.get("send_date")))
