"""Messages in the forms of chat hosts, and the turns made from them."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from souffleur.errors import InputError
from souffleur.knowledge.people import MAX_NAME_LENGTH
from souffleur.knowledge.text.plain import clean, name_media, single_line
from souffleur.knowledge.text.thinking import without_thinking
from souffleur.times import read_moment

Content = Any
"""A text, a list of content parts, a message with one of these as `content`, or `None`."""

_MEDIA = {
    "image_url": "image",
    "input_image": "image",
    "image_file": "image",
    "input_audio": "audio",
    "audio_url": "audio",
    "video_url": "video",
    "input_file": "file",
    "document": "file",
}
"""Names of parts that are not text, if the name differs from the type."""
_UNSAID = re.compile(r".*(tool|function)_.*|.*_call(_output)?|.*(thinking|reasoning|thoughts?).*")
"""Types of parts that are not talk: calls of tools, their results, a model's thoughts."""
_MAPPINGS = (dict, Mapping)
"""Types whose fields are items; `dict` comes first, as its check is several times as fast."""
_TYPE = re.compile(r"[\w.-]{1,40}")


def read_content(content: Content) -> str:
    r"""Return the text of a content; a part that is not text becomes a word like `[image]`.

    Data inside a text, like the data URL of an image, becomes a word too. Calls of tools and a
    model's thoughts are left out. Raises InputError for any other content.

    >>> read_content([{"type": "text", "text": "Look!"}, {"type": "image_url", "image_url": {}}])
    'Look!\n[image]'
    >>> read_content([{"type": "thinking", "thinking": "…"}, "Nice!"]), read_content(None)
    ('Nice!', '')
    """
    if content is None or isinstance(content, str):
        return name_media(content or "")
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, map(_read_part, content)))
    held = content_of(content)
    if held is None:
        return "" if look_up(content, "role") else _read_part(content)  # it only calls tools
    if isinstance(held, str | list | tuple):
        return read_content(held)
    raise InputError(_wrong(held))


def readable_content(content: Content) -> str:
    """Return the text of a content; an empty text if it cannot be read.

    >>> readable_content("hi"), readable_content(7)
    ('hi', '')
    """
    try:
        return read_content(content)
    except InputError:
        return ""


def content_of(message: object) -> Any:
    """Return the content of a message, or its refusal; `None` if it has no content or refusal."""
    content = look_up(message, "content")
    return look_up(message, "refusal") if content is None else content


def is_unsaid(type_: object) -> bool:
    """Return whether a part or message of this type is not talk.

    >>> is_unsaid("function_call"), is_unsaid("web_search_call"), is_unsaid("text")
    (True, True, False)
    """
    return isinstance(type_, str) and _UNSAID.fullmatch(type_) is not None


def look_up(thing: object, name: str) -> Any:
    """Return the field of a mapping or object by its name; `None` if the field is missing."""
    return thing.get(name) if isinstance(thing, _MAPPINGS) else getattr(thing, name, None)


def _read_part(part: object) -> str:
    if isinstance(part, str):
        return name_media(part)
    type_ = look_up(part, "type")
    if is_unsaid(type_):
        return ""
    text = look_up(part, "refusal" if type_ == "refusal" else "text")
    text = look_up(text, "value") if isinstance(text, Mapping) else text
    if isinstance(text, str):
        return name_media(text)
    if isinstance(type_, str) and _TYPE.fullmatch(type_):
        return "" if type_ == "text" else f"[{_MEDIA.get(type_, type_)}]"
    raise InputError(_wrong(part))


def _wrong(value: object) -> str:
    what = type(value).__name__
    return f"{what} is no text: give a string, or content parts [{{'type': 'text', 'text': …}}, …]"


Messages = Sequence[Any]
"""Messages of OpenAI or LangChain, or pairs of role and text: see docs/python.md."""

Role = Literal["user", "assistant"]
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "humanmessagechunk": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
}
_LEFT_OUT = frozenset(
    {"system", "developer", "tool", "function", "remove"}
    | {"systemmessagechunk", "toolmessagechunk", "functionmessagechunk"}
)
TIMES = ("at", "timestamp", "created_at")
"""Fields that say when a message was said."""
_FORMS = "{'role': 'user', 'content': …}, ('user', …) or a LangChain message"


@dataclass(frozen=True)
class Spoken:
    """A message of the talk."""

    role: Role
    text: str
    at: datetime | None
    """When the message was said; without a time zone if the message has no zone."""
    name: str = ""
    """The name of the speaker; empty if the message has no name."""


@dataclass(frozen=True)
class Exchanged:
    """A turn made from messages."""

    turn_id: str
    """An id derived from position and text: the same messages make the same turns."""
    user: str
    reply: str
    at: datetime | None
    """When its first message was said; without a time zone if that message has no zone."""
    others: str = ""
    """The messages of other speakers than user and companion, each after its speaker's name."""

    @property
    def assistant(self) -> str:
        """The words that the user heard: the messages of others, and the reply."""
        return "\n".join(filter(None, (self.others, self.reply)))


def to_turns(
    messages: Messages, called: Collection[str] = (), *, earlier: Sequence[str] = ()
) -> list[Exchanged]:
    """Return the turns of messages: the user's words, with the replies that follow.

    System, developer and tool messages, and replies that only call tools, are left out. Words of
    other speakers do not count as the user's: `called` has the names of the user, and `earlier` the
    names in the earlier messages, see `own_names`. Raises InputError for an invalid message; the
    error names the message.

    >>> turns = to_turns([("user", "hi"), ("assistant", "ho"), ("human", "so"), ("human", "so")])
    >>> [(turn.user, turn.assistant) for turn in turns]
    [('hi', 'ho'), ('so\\nso', '')]
    """
    said = read_messages(messages)
    names = [*earlier, *(one.name for one in said if one.role == "user")]
    own = own_names(names, called)
    several = len({one.name for one in said if one.role == "assistant" and one.name}) > 1
    turns: list[dict[str, Any]] = []
    for one in said:
        other = one.role == "user" and bool(one.name) and folded(one.name) not in own
        named = one.name if other or (several and one.role == "assistant") else ""
        if not turns or (one.role == "user" and turns[-1]["reply"]):
            turns.append({"user": [], "others": [], "reply": [], "at": one.at})
        side = "others" if other else "user" if one.role == "user" else "reply"
        turns[-1][side].append(by(named, one.text))
    return [_exchanged(turn, index) for index, turn in enumerate(turns)]


def own_names(names: Sequence[str], called: Collection[str] = ()) -> frozenset[str]:
    """Return the folded names of the user, from the names of all speakers but the companion.

    These are the names that are in `called`. If no name is in it, the user is the speaker without a
    name. If all speakers have names, or there is only one name, the user is the first name.

    >>> own_names(["ann", "bob"]), own_names(["ann", "bob"], ["Bob"]), own_names(["", "bob"])
    (frozenset({'ann'}), frozenset({'bob'}), frozenset({'bob'}))
    >>> own_names(["", "ann", "bob"])
    frozenset()
    """
    known = frozenset(map(folded, called))
    there = dict.fromkeys(map(folded, filter(None, names)))
    if known & there.keys():
        return known
    lone = len(there) == 1 or all(names)
    return frozenset([*there][:1]) if lone else frozenset()


def folded(name: str) -> str:
    """Return only the letters and digits of a name, as some interfaces allow no other characters.

    >>> folded("Ann Lee"), folded("ann_lee"), folded("…")
    ('annlee', 'annlee', '…')
    """
    return "".join(filter(str.isalnum, name)).casefold() or name


def by(name: str, text: str) -> str:
    """Return a text after its speaker's name, unless it begins with the name or there is no name.

    >>> by("Bob", "hi"), by("Bob", "Bob: hi"), by("", "hi")
    ('Bob: hi', 'Bob: hi', 'hi')
    """
    return text if not name or text.startswith(f"{name}:") else f"{name}: {text}"


def read_messages(messages: Messages) -> list[Spoken]:
    """Return the messages that belong to the talk. Raises InputError, which names the message."""
    single = isinstance(messages, str | bytes | Mapping) or hasattr(messages, "content")
    if single or not isinstance(messages, Iterable):
        raise InputError("messages must be a list: [{'role': …, 'content': …}, …]")
    said: list[Spoken] = []
    for index, message in enumerate(messages):
        try:
            spoken = _read(message)
        except InputError as error:
            raise InputError(f"message {index}: {error}") from None
        if spoken and spoken.text.strip():
            said.append(spoken)
    return said


def _read(message: Any) -> Spoken | None:
    """Return a message of the talk; `None` if the message is left out."""
    message = _unpacked(message)
    role = _role(message)
    if role is None:
        return None
    content = content_of(message)
    if content is None and role == "user":
        raise InputError(f"it has no content: write {_FORMS}, or leave it out")
    times = (look_up(message, name) for name in TIMES)
    at = next((time for time in times if time is not None), None)
    text = clean(read_content(content))
    said = without_thinking(text) if role == "assistant" else text
    name = look_up(message, "name")
    called = single_line(clean(name)).strip()[:MAX_NAME_LENGTH] if isinstance(name, str) else ""
    return Spoken(role, said, None if at is None else read_moment(at), called)


def _unpacked(message: Any) -> Any:
    """Return a message with its fields at the top: from a pair, or as LangChain stores it."""
    if isinstance(message, list | tuple):
        if len(message) != 2:
            raise InputError(f"it is no pair of role and text: write {_FORMS}")
        return {"role": message[0], "content": message[1]}
    if isinstance(message, Mapping) and "content" not in message:
        for name in ("data", "kwargs"):
            if isinstance(stored := message.get(name), Mapping):
                return {"type": message.get("type"), **stored}
    return message


def _role(message: Any) -> Role | None:
    """Return `user` or `assistant`; `None` if messages of this role are left out."""
    role = look_up(message, "role") or look_up(message, "type")
    if not isinstance(role, str):
        raise InputError(f"{type(message).__name__} without a role is no message: write {_FORMS}")
    if role.lower() in _LEFT_OUT or is_unsaid(role):
        return None
    if role.lower() not in _ROLES:
        raise InputError(
            f"{role[:40]!r} is no role: write user or assistant, human or ai; messages of system, "
            "developer, tool and function are left out"
        )
    return _ROLES[role.lower()]


def _exchanged(turn: dict[str, Any], index: int) -> Exchanged:
    user, others, reply = ("\n".join(turn[side]) for side in ("user", "others", "reply"))
    made = Exchanged("", user, reply, turn["at"], others)
    digest = hashlib.sha256(f"{user}\x1f{made.assistant}".encode()).hexdigest()[:12]
    return replace(made, turn_id=f"{index:04d}-{digest}")
