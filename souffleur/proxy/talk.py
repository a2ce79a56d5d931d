"""The talk in the messages of a request: roles and turns. Also finds requests without a talk."""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, dropwhile, islice, takewhile
from typing import Any

from souffleur.knowledge.text.thinking import without_thinking
from souffleur.messages import Exchanged, content_of, look_up, readable_content, to_turns
from souffleur.proxy.injection import SYSTEM_ROLES
from souffleur.proxy.speaker import Headers


def last_said(messages: Sequence[Any]) -> Any:
    """Return the last message that is not from the system; `None` if there is no message."""
    others = (one for one in reversed(messages) if role_of(one) not in ("", *SYSTEM_ROLES))
    return next(others, None)


def is_reply(message: Any) -> bool:
    """Return whether a message is a reply, and not a tool call."""
    return role_of(message) == "assistant" and not message.get("tool_calls")


def role_of(message: Any) -> str:
    """Return the role of a message; its type if it has no role, for example a tool call.

    >>> role_of({"role": "user"}), role_of({"type": "function_call"}), role_of(None)
    ('user', 'function_call', '')
    """
    if not isinstance(message, Mapping):
        return ""
    role = message.get("role") or message.get("type")
    return role if isinstance(role, str) else ""


def asked_at_the_end(messages: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts of the system messages at the end of a talk, the latest first.

    >>> said = {"role": "user", "content": "hi"}
    >>> asked_at_the_end([said, {"role": "system", "content": "Go on."}])
    ('Go on.',)
    """
    last = takewhile(lambda one: role_of(one) in SYSTEM_ROLES, reversed(messages))
    return tuple(readable_content(one) for one in last)


GIST = 200
"""Number of letters and digits that identify a message, even if its end or its style changes."""
FILE = "[file]"
"""The text of a message that has only files."""
_SOURCES = re.compile(
    r"^#{2,3} Task:\s*Respond to the user query using the provided context.*</context>"
    r"(?:\s*<user_query>.*</user_query>)?\s*",
    re.DOTALL | re.MULTILINE,
)
_ATTACHED = re.compile(r"^<attached_files>\n(?:<file .*/>\n)+</attached_files>\s*", re.MULTILINE)
"""Text that Open WebUI puts before a message: documents, search results and file names."""
SAID = 16
"""Maximum number of messages before the user's latest message that identify a talk."""
_BY_ANOTHER = re.compile(r"\[?Write the next reply only as\b", re.IGNORECASE)
_IN_A_GROUP = re.compile(r"\[?Start a new group chat\b", re.IGNORECASE)
_CONTINUED = re.compile(r"\[?Continue\b", re.IGNORECASE)
"""The beginnings of SillyTavern's system messages: for a reply of another persona, for the start of
a group chat, and for the continuation of a reply."""
_WHOLE = re.compile(r"[.!?…。！？][\"'*)”’」』）]*\Z")
"""The end of a whole sentence."""
_NAME = re.compile(r"\A[^\n:]{1,80}: ")
"""The name before each reply of a group."""


@dataclass(frozen=True)
class Talk:
    """A conversation up to the requested reply."""

    user: str
    """The user's words in this turn."""
    so_far: str
    """The companion's words in this turn so far; usually empty. The reply extends them."""
    joint: str
    """The text between `so_far` and the rest of the reply; empty if the reply may continue a
    sentence."""
    earlier: tuple[Exchanged, ...]
    """The earlier turns of the request, oldest first."""
    replies: tuple[str, ...]
    """The gist of each reply before the user's message, the latest first."""
    opening: str
    """A digest of the greeting and the first system message. In a group, that is the message with
    its members."""

    @property
    def is_first(self) -> bool:
        """Whether the request has no earlier words of the user."""
        return not any(turn.user for turn in self.earlier)

    @property
    def first_words(self) -> str:
        """The user's first words in the request."""
        return next((turn.user for turn in self.earlier if turn.user), self.user)

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The gists of the earlier messages from the user's first message on, the latest first.

        The replies of a group in one turn are one message. At most the `SAID` latest messages.
        """
        turns = (turn for turn in reversed(self.earlier) if turn.user)
        both = ((reply_gist(turn.assistant), gist(turn.user)) for turn in turns)
        return tuple(islice(chain.from_iterable(both), SAID))


def read_talk(messages: Sequence[Any], called: Collection[str] = ()) -> Talk | None:
    """Return the talk of the messages of a request; `None` if the request has no user's words.

    Tool messages belong to the turn of their reply. Messages with the name of another speaker
    belong to the turn before the reply. `called` are the names of the user. Raises InputError for
    an unreadable message.

    >>> asked = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well,"}
    >>> (talk := read_talk(asked)).user, talk.so_far, talk.is_first
    ('hi', 'Well,', True)
    """
    said = [
        one
        for one in messages
        if role_of(one) in ("user", "assistant") and content_of(one) is not None
    ]
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
    )


def own_words(text: str) -> str:
    r"""Return the user's own words, without the front end's documents before them.

    >>> task = "### Task:\nRespond to the user query using the provided context, …"
    >>> own_words(f"{task}\n<context>\n<source>…</source>\n</context>\n\nWhat is it about?")
    'What is it about?'
    """
    own = _SOURCES.sub("", text) if "</context>" in text else text
    own = _ATTACHED.sub("", own) if "</attached_files>" in own else own
    return own or (text and FILE)


def join(so_far: str, joint: str, said: str) -> str:
    r"""Return a reply with its rest. After a complete sentence, the rest begins a new line.

    >>> join("Tea,", "", " of course."), join("Good night.", "", "Are you asleep?")
    ('Tea, of course.', 'Good night.\nAre you asleep?')
    """
    if not so_far or not said:
        return so_far + said
    apart = _WHOLE.search(so_far) and not said[0].isspace()
    return so_far + (joint or ("\n" if apart else "")) + said


def gist(text: str) -> str:
    """Return the gist that identifies a text: its first letters and digits, in lower case.

    >>> gist("*waves* Hello, Ann!"), gist("…")
    ('waveshelloann', '…')
    """
    head = text[: 4 * GIST]
    first = islice(filter(str.isalnum, head), GIST + 1)  # a final sigma depends on the next letter
    letters = "".join(first).lower()[:GIST]
    return letters or head.strip()[:GIST]


def digest(texts: Iterable[str]) -> str:
    """Return a hash of some texts: 16 hexadecimal digits of SHA-256.

    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:16]


def reply_gist(text: str) -> str:
    """Return the gist of a reply, without the name of a group's member before it.

    >>> reply_gist("Luna: Meow."), reply_gist("Meow.")
    ('meow', 'meow')
    """
    return gist(_NAME.sub("", text))


def _any(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    """Return whether any of the texts begins with the pattern."""
    return any(pattern.match(text.lstrip()) for text in texts)


def _replies(said: Sequence[Any]) -> Iterator[str]:
    """Yield the texts of the replies before the user's latest message, the latest first."""
    earlier = dropwhile(lambda one: role_of(one) != "user", reversed(said))
    return (without_thinking(readable_content(one)) for one in earlier if is_reply(one))


def names_several(messages: Sequence[Any]) -> bool:
    """Return whether messages name several speakers, besides the companion."""
    users = (look_up(one, "name") for one in messages if role_of(one) == "user")
    return len({one for one in users if isinstance(one, str)}) > 1


def _beginning(messages: Sequence[Any], in_a_group: bool) -> str:
    """Return the text of the first message if it is a system message; otherwise an empty text.

    In a group, each persona has another first message: there, return the message with the members.
    """
    ruling = (readable_content(one) for one in messages if role_of(one) in SYSTEM_ROLES)
    if group := next((one for one in ruling if _IN_A_GROUP.match(one.lstrip())), None):
        return group
    first = messages[0]
    return readable_content(first) if role_of(first) in SYSTEM_ROLES and not in_a_group else ""


TASK_HEADERS = ("x-souffleur-task", "x-openwebui-task")
"""Headers that name a task, except if they are empty or an unfilled placeholder."""
HEAD = 4000
"""Number of characters of a message that are read."""
SHORT = 600
"""Number of characters at the beginning and at the end of a message that may name a task."""

_OPENINGS = (
    # Open WebUI: titles, tags, follow-ups, queries, completion, image prompts, emoji, merged
    # replies, choice of tools, its own memory
    r"#{2,3} Task:(?!\s*Respond to the user)",
    r"Your task is to reflect the speaker's likely facial expression through a fitting emoji",
    r"(?:Create|Generate) a concise,? 3-5 word (?:title|phrase)",
    r"You have been provided with a set of responses from various models to the latest user query",
    r"Available Tools: .*Your task is to choose and return the correct tool",
    r"You are Open WebUI's private memory reviewer\b",
    # LibreChat: titles
    r"(?:Please )?(?:provide|generate|write) a(?: short and)? concise,? "
    r"(?:5-word-or-less title|title \(max)",
    r"Analyze this conversation and provide:\s*1\. The detected language",
    # SillyTavern: impersonation, summaries, expressions, image prompts, backgrounds, objectives
    r"\[?Write your next reply from the point of view of ",
    r"\[?(?:Pause your roleplay|Ignore previous instructions)(?: and|[.,:])? ?"
    r"(?:Summarize the most important|Classify the emotion|provide a detailed description|"
    r"provide ONLY the last|Your next response must be formatted|choose a location ONLY|"
    r"generate a list of tasks|Determine if this task|provide an exhaustive)",
    # RisuAI: summaries
    r"\[?Summarize the ongoing role story",
)
_LABELS = (
    r"\W*(?:You are an? [^.\n]{0,80}\. |Here is the (?:query|message|chat|conversation)\b.*\n"
    r"|(?:Analy[sz]e|Based on|Read) [^.\n]{0,90}(?:, | and |\. |: ?))?"
    r"(?:please |you (?:need|have) to )?"
    r"(?:summari[sz]e|generate|create|give|provide|write|suggest|extract|produce|name)\b"
    r"[^.!?\n]{0,80}\b(?:titles?|name|topic|tags|follow-?up questions)\b",
    r"(?=.{0,120}(?:总结|總結|概括|提取|生成|返回|[起取]一?[个個]))"
    r".{0,120}(?:标题|標題|主题|主題|名称|名稱|标签|標籤)",
    r"(?=.{0,120}(?:要約|生成|作成|付け|つけ|出力|考え)).{0,120}(?:タイトル|題名|件名|タグ)",
)
"""Requests for a title, a name or tags."""
_TALK = (
    r"\b(?:the|this|our|that|given|above|following|user'?s?)\b[^.!?\n]{0,30}"
    r"\b(?:conversation|chat|dialogue|discussion|thread)\b"
    r"|\b(?:here is the|previous|above|following|user'?s?(?: first)?) (?:query|messages?)\b"
    r"|会话|會話|对话|對話|聊天|这句话|這句話|会話|チャット|やりとり|メッセージ"
)
"""Words that refer to the talk or the message."""
_FORM = (
    r"\b(?:only|nothing else|without|no (?:quotes|punctuation|explanations?)|maximum|max|at most"
    r"|or (?:less|fewer)|within \d+|(?:\d+|two|three|four|five|six)[ -](?:words?|characters))\b"
    r"|不要(?:解释|使用|标点|多余|有任何)|不超过|不超過|[仅僅只](?:回复|輸出|输出|返回)|字[以之]?内"
    r"|のみを|だけを|文字以内|使わず"
)
"""Rules for the form of the answer. A person who asks for a title rarely refers to the talk and
gives a form, too."""
_MAKER = re.compile(
    r"You(?:'re|’re| are) an? (?=[^\n]{0,200}\b(?:conversation|chat|thread|message|dialogue)s?\b)"
    r"[^.\n]{0,120}\b(?:summar\w+|titles?|titling|naming)\b",
    re.IGNORECASE,
)
"""The beginning of a system message for a model that only writes titles or summaries of talks."""
_GOES_ON = re.compile(r"\bcontinue\b|\bnext reply\b|继续|繼續|接着|続き|続け", re.IGNORECASE)
"""System messages after a reply that ask to continue it, or for a reply of another persona."""
_TASK = re.compile("|".join(_OPENINGS), re.IGNORECASE | re.DOTALL)
_LABEL = re.compile("|".join(_LABELS), re.IGNORECASE | re.DOTALL)
_TALK_OR_FORM = [re.compile(one, re.IGNORECASE) for one in (_TALK, _FORM)]


def is_task(headers: Headers, body: Mapping[str, Any], messages: Sequence[Any]) -> bool:
    r"""Return whether a request is a task of the front end: by header, by metadata, or by its form.

    By its form, it is a task in two cases:

    * The last message, or the first of at most two messages, begins with the words of a known front
      end for a task, or asks for a title of the talk as only programs do.
    * After the reply, system messages ask for something else than to continue. Only the last system
      message counts. For a streamed request, all of them count, because a front end's general
      instructions may follow the request to continue.

    >>> said = [{"role": "user", "content": "### Task:\nGenerate a title"}]
    >>> is_task({}, {}, said), is_task({"x-souffleur-task": "tags"}, {}, [])
    (True, True)
    >>> is_task({}, {}, [{"role": "user", "content": "My task: a title for my book"}])
    False
    """
    metadata = body.get("metadata")
    named = [headers.get(name) for name in TASK_HEADERS]
    named.append(metadata.get("task") if isinstance(metadata, Mapping) else None)
    if any(one and "{{" not in str(one) for one in named):
        return True
    asking = [*messages[-1:], *(messages[:1] if len(messages) <= 2 else ())]
    if any(_asks_for_itself(message) for message in asking):
        return True
    asked = asked_at_the_end(messages)
    if not asked or not is_reply(last_said(messages)):
        return False
    # A hidden prompt of SillyTavern comes last, and its reply is not streamed.
    meant = asked if body.get("stream") else asked[:1]
    return not any(_GOES_ON.search(one[:HEAD]) for one in meant)


def _asks_for_itself(message: Any) -> bool:
    """Return whether a front end wrote a message for a task of its own."""
    text = readable_content(message).strip()
    head = text[:HEAD]
    ends = f"{text[:SHORT]}\n{text[SHORT:][-SHORT:]}"  # the middle may quote a talk
    if _TASK.match(head) or (role_of(message) in SYSTEM_ROLES and _MAKER.match(head)):
        return True
    return bool(_LABEL.match(ends)) and all(one.search(ends) for one in _TALK_OR_FORM)
