"""Events: what a stream of server-sent events holds, wherever its bytes are cut."""

import re
from dataclasses import dataclass
from typing import Any

from souffleur.proxy.json_text import parse_object

DONE = b"[DONE]"
"""The data of the last event of a chat."""
BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may stand before the first byte of a body: white space, and the mark of UTF-8."""
_DATA = (b"data", b"error")
"""Fields that hold data; the latter is llama.cpp's, which named errors so until 2025."""
_END = re.compile(rb"(?>\r\n|\n|\r){2}")
"""Lines end with CR, LF or both, and an event with an empty one (html.spec.whatwg.org)."""
_LONGEST = 4
"""Bytes of the longest such end."""


@dataclass(frozen=True)
class Event:
    """What one event says."""

    name: str = ""
    data: tuple[dict[str, Any], ...] = ()
    """Its data, usually one JSON object."""
    is_last: bool = False
    """Whether it says that it is the last one."""
    is_odd: bool = False
    """Whether some of its data are no JSON object."""


def split_events(held: bytes, seen: int = 0) -> tuple[list[bytes], bytes]:
    r"""Return the events at the beginning of some bytes, with their ends, and what is left.

    Nothing ends in the first `seen` bytes, so that they need not be searched again.

    >>> split_events(b"data: 1\n\ndata: 2\r\n\r\ndata: 3\r\rda")
    ([b'data: 1\n\n', b'data: 2\r\n\r\n', b'data: 3\r\r'], b'da')
    """
    ends = [match.end() for match in _END.finditer(held, max(0, seen - _LONGEST))]
    begins = [0, *ends]
    events = [held[begin:end] for begin, end in zip(begins, ends, strict=False)]
    return events, held[begins[-1] :]


def read_event(event: bytes) -> Event:
    r"""Return what an event says.

    Data in several lines are one object, or one each, as some servers end no event.

    >>> read_event(b'event: x\ndata:{"a":\ndata: 1}\n\n')
    Event(name='x', data=({'a': 1},), is_last=False, is_odd=False)
    >>> read_event(b'data: {"a": 1}\ndata: {\ndata: [DONE]\n')
    Event(name='', data=({'a': 1},), is_last=True, is_odd=True)
    >>> read_event(b": keep-alive\ndata:\n\n") == Event()
    True
    """
    name, data = "", []
    for line in event.lstrip(BLANK).splitlines():
        field, _, value = line.partition(b":")
        if field in _DATA:
            data.append(value.strip())
        if field == b"event":
            name = value.strip().decode(errors="replace")
        elif field == b"error":
            name = "error"
    said = [one for one in data if one not in (b"", DONE)]
    found = [_read(b"\n".join(said))] if said else []
    if found == [None]:
        found = [_read(one) for one in said]
    objects = tuple(one for one in found if one is not None)
    return Event(name, objects, DONE in data, len(objects) < len(found))


def _read(data: bytes) -> dict[str, Any] | None:
    return parse_object(data.decode(errors="replace"))  # a character may be cut in two
