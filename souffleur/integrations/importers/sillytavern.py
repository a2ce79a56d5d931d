"""SillyTavern: a chat of its folder `chats` or `group chats`, one message a line.

The first line describes the chat; group chats of some versions have no such line. `mes` is the
chosen text of a message with several replies (swipes).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import dropwhile
from pathlib import Path
from typing import Any, NamedTuple

from souffleur.errors import InputError
from souffleur.integrations.importers.chats import (
    MAX_NAME,
    Chat,
    ChatMessage,
    Unread,
    fields_of,
    lines_of,
)
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.text.plain import mend, single_line
from souffleur.knowledge.text.thinking import without_thinking
from souffleur.messages import by, folded, own_names
from souffleur.times import read_moment

HIDDEN = "message: hidden, or SillyTavern's own"
ASIDE = "message: a narrator's or a comment"
MAX_DATE = 100
"""Maximum number of characters of a time in an id."""
_OWN = "SillyTavern System"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WRITTEN = re.compile(r"(\w{3})\w* (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2}) ?([ap])m", re.I)
"""`June 19, 2023 2:20pm`."""
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?"
)
"""`2024-07-12@01h31m37s` and `2024-6-5 @14h 56m 50s 682ms`."""
_MEDIA = {"image": "image", "video": "video", "file": "file"}
_LISTS = {"media": "image", "files": "file"}


def is_sillytavern(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a chat of SillyTavern."""
    first, _, _ = head.partition(b"\n")
    named = b'"chat_metadata"' in first or b'"create_date"' in first
    return first.startswith(b"{") and (named or (b'"mes"' in first and b'"is_user"' in first))


def read_sillytavern(file: Path, called: Collection[str] = ()) -> Iterator[Chat | Unread]:
    """Yield the unreadable lines of a file, then its chat.

    The user may have several personas. The user is the persona with a name in `called`, otherwise
    the persona of the chat, otherwise the first speaker. Other personas count as third persons.
    """
    lines: list[dict[str, Any]] = []
    head: Mapping[str, Any] = {}
    for found in lines_of(file):
        if isinstance(found, Unread):
            yield found
        elif isinstance(found[1].get("mes"), str):
            lines.append(found[1])
        elif not (lines or head):
            head = found[1]
        else:
            yield Unread("message", f"line {found[0]}", "a message without `mes`")
    if not lines:
        return
    speakers = _speakers(head, lines, called)
    yield _chat(head, lines, speakers, by_words=_at_once(lines))


class _Speakers(NamedTuple):
    """The case-folded names of the user, and whether several characters reply."""

    own: frozenset[str]
    several: bool


def _speakers(
    head: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], called: Collection[str]
) -> _Speakers:
    said = [one for one in lines if not _unsaid(one)]
    names = [_name(one) for one in said if one.get("is_user")]
    made_for = str(head.get("user_name") or "")
    own = own_names(names, called)
    if not {*map(folded, called)} & own:
        own = own_names(names, [made_for])
    return _Speakers(own, len({_name(one) for one in said if not one.get("is_user")}) > 1)


def _chat(
    head: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    speakers: _Speakers,
    *,
    by_words: bool,
) -> Chat:
    """Return a chat; the ids are made of the times and, with `by_words`, also of the words."""
    left_out: Counter[str] = Counter()
    messages: list[ChatMessage] = []
    seen: Counter[str] = Counter()
    so_far = ""
    for one in lines:
        date = mend(str(one.get("send_date")))[:MAX_DATE]
        seen[date] += 1
        if why := _unsaid(one):
            left_out[why] += 1
            continue
        if by_words and (so_far or one.get("is_user")):  # greetings may change
            so_far = derive_id(so_far, mend(one["mes"]))
        id = f"{date}#{so_far or seen[date]}"
        messages.append(_message(id, one, speakers))
    session_id = _session_id(lines[0], _first_words(messages) if by_words else ())
    return Chat(session_id, tuple(messages), read_date(head.get("create_date")), left_out)


def read_date(value: object) -> datetime | None:
    """Return a time in a format of SillyTavern's; its local times have no zone.

    >>> str(read_date("June 19, 2023 2:20pm")), str(read_date("2024-7-12@01h31m37s"))
    ('2023-06-19 14:20:00', '2024-07-12 01:31:37')
    >>> str(read_date("2024-6-5 @14h 56m 50s 682ms")), str(read_date(1687184400123))
    ('2024-06-05 14:56:50.682000', '2023-06-19 14:20:00.123000+00:00')
    >>> str(read_date("2025-10-01T08:30:00.000Z")), read_date("yesterday"), read_date("²")
    ('2025-10-01 08:30:00+00:00', None, None)
    """
    try:
        return (isinstance(value, str) and _from_words(value)) or read_moment(value)
    except (InputError, ValueError):
        return None


def _from_words(text: str) -> datetime | None:
    """Return a time in a format of SillyTavern's own. Raises InputError, ValueError."""
    if found := _WRITTEN.search(text):
        name, day, year, hour, minute, half = found.groups()
        hours = int(hour) % 12 + 12 * (half.lower() == "p")
        numbers = [int(year), _MONTHS.index(name.lower()) + 1, int(day), hours, int(minute), 0, 0]
    elif found := _TIMESTAMP.search(text):
        numbers = [int(one or 0) for one in found.groups()]
    else:
        return None
    day, time = "{:04}-{:02}-{:02}".format(*numbers), "{:02}:{:02}:{:02}.{:03}".format(*numbers[3:])
    return read_moment(f"{day}T{time}")


def _at_once(lines: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the first two messages have no times, or times within a second.

    A program wrote these times in a conversion. More messages do not change the result.
    """
    first, *rest = (read_date(one.get("send_date")) for one in lines[:2])
    if first is None or None in rest:
        return True
    return any(abs(one.timestamp() - first.timestamp()) < 1 for one in rest if one)


def _session_id(first: Mapping[str, Any], words: Sequence[str]) -> str:
    """Return an id that a chat and its branches share, also in files of other names."""
    name, date = (mend(str(first.get(field))) for field in ("name", "send_date"))
    return f"sillytavern-{derive_id('sillytavern', name, date, *words)}"


def _first_words(messages: Sequence[ChatMessage]) -> tuple[str, ...]:
    """Return the first text of the user, and the reply."""
    asked = [*dropwhile(lambda one: not (one.by_user or one.by_other), messages)]
    return tuple(mend(one.text) for one in asked[:2])


def _unsaid(message: Mapping[str, Any]) -> str:
    """Return the reason why a message is left out; empty if it is imported."""
    kind = fields_of(message.get("extra")).get("type")
    if kind in ("narrator", "comment"):
        return ASIDE
    own = message.get("is_system") or kind or message.get("name") == _OWN
    return HIDDEN if own else ""


def _name(message: Mapping[str, Any]) -> str:
    return single_line(mend(str(message.get("name") or "")))[:MAX_NAME]


def _message(id: str, message: Mapping[str, Any], speakers: _Speakers) -> ChatMessage:
    is_user, name = bool(message.get("is_user")), _name(message)
    extra = fields_of(message.get("extra"))
    by_other = is_user and bool(name) and folded(name) not in speakers.own
    words = [message["mes"] if is_user else without_thinking(message["mes"])]
    words += [f"[{word}]" for field, word in _MEDIA.items() if extra.get(field)]
    for field, usual in _LISTS.items():
        listed = extra.get(field)
        for one in listed if isinstance(listed, list) else ():
            kind = fields_of(one).get("type")
            words.append(f"[{kind if kind in ('image', 'video', 'audio') else usual}]")
    text = "\n".join(filter(str.strip, words))
    if text and (by_other or (speakers.several and not is_user)):
        text = by(name, text)
    at = read_date(message.get("send_date"))
    return ChatMessage(id, is_user and not by_other, text, at, by_other=by_other)
