"""The talk: what a request holds of a conversation, and which turn of it the reply will be."""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, dropwhile, islice
from typing import Any

from souffleur.knowledge.text.thinking import without_thinking
from souffleur.messages import Exchanged, content_of, look_up, readable_content, to_turns
from souffleur.proxy.injection import SYSTEM_ROLES
from souffleur.proxy.roles import asked_at_the_end, is_reply, last_said, role_of

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
SAID = 16
"""Messages before the user's by which a talk is known again."""
_BY_ANOTHER = re.compile(r"\[?Write the next reply only as\b", re.IGNORECASE)
_IN_A_GROUP = re.compile(r"\[?Start a new group chat\b", re.IGNORECASE)
_CONTINUED = re.compile(r"\[?Continue\b", re.IGNORECASE)
"""How the system's messages of SillyTavern begin that have another persona reply, begin the talk of
a group, and have the reply continued."""
_WHOLE = re.compile(r"[.!?…。！？][\"'*)”’」』）]*\Z")
"""The end of a whole sentence."""
_NAME = re.compile(r"\A[^\n:]{1,80}: ")
"""The name that stands before each reply of a group."""


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
    replies: tuple[str, ...]
    """What replies before the user's message are known by, each of its own, the latest first."""
    opening: str
    """A digest of the greeting, and of the system's first words; of a group, of its members."""
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

    @cached_property
    def said(self) -> tuple[str, ...]:
        """What the messages since the user's first are known by, the latest first.

        The replies of a group are one; of a long talk, these are the latest messages.
        """
        turns = (turn for turn in reversed(self.earlier) if turn.user)
        both = ((reply_gist(turn.assistant), gist(turn.user)) for turn in turns)
        return tuple(islice(chain.from_iterable(both), SAID))


def read_talk(messages: Sequence[Any], called: Collection[str] = ()) -> Talk | None:
    """Return the talk of the messages of a request; `None` if it has no word of a user.

    Messages of tools are part of the turn that they serve. What others say, whom messages name, is
    heard before the reply; `called` is what the user is called. Raises MessageError for a message
    that cannot be read.

    >>> asked = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well,"}
    >>> (talk := read_talk(asked)).user, talk.so_far, talk.is_first
    ('hi', 'Well,', True)
    """
    said = [one for one in messages if role_of(one) in ("user", "assistant") and _has_content(one)]
    turns = [replace(turn, user=own_words(turn.user)) for turn in to_turns(said, called)]
    if not turns or not (turns[-1].user or turns[-1].others):
        return None
    *earlier, now = turns
    asked = asked_at_the_end(messages)
    by_another = _any(_BY_ANOTHER, asked) and not _any(_CONTINUED, asked)
    in_its_midst = is_reply(last_said(messages)) and not by_another
    beginning = _beginning(messages, _any(_BY_ANOTHER, asked))
    greeting = earlier[0].reply if earlier and not (earlier[0].user or earlier[0].others) else ""
    return Talk(
        user=now.user,
        so_far=now.assistant,
        joint="" if in_its_midst or not now.assistant else "\n",
        earlier=tuple(earlier),
        replies=tuple(islice(map(reply_gist, _replies(said)), SAID // 2)),
        opening=digest([gist(greeting), gist(beginning)]),
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


def join(so_far: str, joint: str, said: str) -> str:
    r"""Return a reply and the rest of it; a sentence after a whole one begins a line.

    >>> join("Tea,", "", " of course."), join("Good night.", "", "Are you asleep?")
    ('Tea, of course.', 'Good night.\nAre you asleep?')
    """
    if not so_far or not said:
        return so_far + said
    apart = _WHOLE.search(so_far) and not said[0].isspace()
    return so_far + (joint or ("\n" if apart else "")) + said


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


def reply_gist(text: str) -> str:
    """Return what a reply is known again by, whether the name of a group's member is before it.

    >>> reply_gist("Luna: Meow."), reply_gist("Meow.")
    ('meow', 'meow')
    """
    return gist(_NAME.sub("", text))


def _any(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    """Return whether a text begins so."""
    return any(pattern.match(text.lstrip()) for text in texts)


def _replies(said: Sequence[Any]) -> Iterator[str]:
    """Yield the replies before the user's latest message, from the latest on."""
    earlier = dropwhile(lambda one: role_of(one) != "user", reversed(said))
    return (without_thinking(readable_content(one)) for one in earlier if is_reply(one))


def names_several(messages: Sequence[Any]) -> bool:
    """Return whether messages name several who speak, besides the companion."""
    users = (look_up(one, "name") for one in messages if role_of(one) == "user")
    return len({one for one in users if isinstance(one, str)}) > 1


def _has_content(message: Mapping[str, Any]) -> bool:
    return content_of(message) is not None


def _beginning(messages: Sequence[Any], in_a_group: bool) -> str:
    """Return the first message, if it is the system's.

    Each persona of a group has another one: of a group it is the message that names its members.
    """
    ruling = (readable_content(one) for one in messages if role_of(one) in SYSTEM_ROLES)
    if group := next((one for one in ruling if _IN_A_GROUP.match(one.lstrip())), None):
        return group
    first = messages[0]
    return readable_content(first) if role_of(first) in SYSTEM_ROLES and not in_a_group else ""
