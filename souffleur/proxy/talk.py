"""The talk: what a request holds of a conversation, and which turn of it the reply will be."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from souffleur.contents import content_of, readable_content
from souffleur.messages import Exchanged, to_turns
from souffleur.proxy.injection import SYSTEM_ROLES

GIST = 200
"""Letters and digits by which a message is known again, though its end or its style changes."""
FILE = "[file]"
"""What a message with nothing but files says."""
_SOURCES = re.compile(
    r"^#{2,3} Task:\s*Respond to the user query using the provided context.*</context>"
    r"(?:\s*<user_query>.*</user_query>)?\s*",
    re.DOTALL | re.MULTILINE,
)
_ATTACHED = re.compile(r"^<attached_files>\n(?:<file .*/>\n)+</attached_files>\s*", re.MULTILINE)
"""What Open WebUI puts before a message: documents and results of a search, and names of files."""
NEAR = 2
"""Earlier turns from which the id of a turn is derived."""


@dataclass(frozen=True)
class Talk:
    """A conversation up to the reply that is asked for."""

    user: str
    """What the user says in this turn."""
    so_far: str
    """What the companion has said in this turn, which the reply will extend; usually nothing."""
    joint: str
    """What stands between `so_far` and the rest: nothing if the reply goes on in its midst."""
    earlier: tuple[Exchanged, ...]
    """The turns before, oldest first, as far as the request has them."""
    opening: str
    """A digest of the system's first words, and of the greeting."""
    greeted: bool
    """Whether the companion said something before the user did."""

    @property
    def is_first(self) -> bool:
        """Whether the user has said nothing before, as far as the request tells."""
        return not any(turn.user for turn in self.earlier)

    @property
    def first_words(self) -> str:
        """What the user said first, as far as the request tells."""
        return next((turn.user for turn in self.earlier if turn.user), self.user)

    @property
    def place(self) -> str:
        """A digest of the turns before; an edited, repeated or continued turn has the same."""
        near = self.earlier[-NEAR:]
        return digest(text for turn in near for text in (gist(turn.user), gist(turn.assistant)))


def read_talk(messages: Sequence[Any]) -> Talk | None:
    """Return the talk of the messages of a request; `None` if it has no word of a user.

    Messages of tools are part of the turn that they serve. Raises MessageError for a message that
    cannot be read.

    >>> asked = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well,"}
    >>> (talk := read_talk(asked)).user, talk.so_far, talk.is_first
    ('hi', 'Well,', True)
    """
    said = [one for one in messages if role_of(one) in ("user", "assistant") and _has_content(one)]
    turns = [replace(turn, user=own_words(turn.user)) for turn in to_turns(said)]
    if not turns or not turns[-1].user:
        return None
    *earlier, now = turns
    in_its_midst = is_reply(last_said(messages)) and not _is_by_another(messages[-1])
    greeting = earlier[0].assistant if earlier and not earlier[0].user else ""
    return Talk(
        user=now.user,
        so_far=now.assistant,
        joint="" if in_its_midst or not now.assistant else "\n",
        earlier=tuple(earlier),
        opening=digest([gist(greeting), gist(_system(messages))]),
        greeted=bool(greeting),
    )


def own_words(text: str) -> str:
    r"""Return what the user says, without the documents that a front end has put before it.

    >>> task = "### Task:\nRespond to the user query using the provided context, …"
    >>> own_words(f"{task}\n<context>\n<source>…</source>\n</context>\n\nWhat is it about?")
    'What is it about?'
    """
    own = _SOURCES.sub("", text) if "</context>" in text else text
    own = _ATTACHED.sub("", own) if "</attached_files>" in own else own
    return own or (text and FILE)


def gist(text: str) -> str:
    """Return what a text is known again by: its first letters and digits, in lower case.

    >>> gist("*waves* Hello, Ann!"), gist("…")
    ('waveshelloann', '…')
    """
    head = text[: 4 * GIST]
    first = islice(filter(str.isalnum, head), GIST + 1)  # a final sigma needs what follows it
    letters = "".join(first).lower()[:GIST]
    return letters or head.strip()[:GIST]


def digest(texts: Iterable[str]) -> str:
    """Return 16 hexadecimal digits for some texts.

    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:16]


def last_said(messages: Sequence[Any]) -> Any:
    """Return the last message that is not the system's; `None` if there is none."""
    others = (one for one in reversed(messages) if role_of(one) not in ("", *SYSTEM_ROLES))
    return next(others, None)


def is_reply(message: Any) -> bool:
    """Return whether a message is a reply, and not the call of a tool."""
    return role_of(message) == "assistant" and not message.get("tool_calls")


def role_of(message: Any) -> str:
    """Return the role of a message; of what has none, such as the call of a tool, its type.

    >>> role_of({"role": "user"}), role_of({"type": "function_call"}), role_of(None)
    ('user', 'function_call', '')
    """
    if not isinstance(message, Mapping):
        return ""
    role = message.get("role") or message.get("type")
    return role if isinstance(role, str) else ""


def _is_by_another(last: Any) -> bool:
    """Return whether the last message asks another persona of a group to reply."""
    asked = readable_content(last) if role_of(last) in SYSTEM_ROLES else ""
    return asked.lstrip("[").startswith("Write the next reply only as")


def _has_content(message: Mapping[str, Any]) -> bool:
    return content_of(message) is not None


def _system(messages: Sequence[Any]) -> str:
    """Return the first message, if it is the system's."""
    return readable_content(messages[0]) if role_of(messages[0]) in SYSTEM_ROLES else ""
