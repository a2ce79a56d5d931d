"""Tasks: requests by which a front end asks for a title, tags or a summary. They are no turns."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from souffleur.messages import readable_content
from souffleur.proxy.injection import SYSTEM_ROLES
from souffleur.proxy.roles import asked_at_the_end, is_reply, last_said, role_of
from souffleur.proxy.speaker import Headers

TASK_HEADERS = ("x-souffleur-task", "x-openwebui-task")
"""Headers that name a task; empty, or a placeholder that nothing was put into, they name none."""
HEAD = 4000
"""Characters of a message that are looked at."""
SHORT = 600
"""Characters at its beginning and its end in which it says what it asks for."""

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
"""How a title, a name or tags are asked for, …"""
_TALK = (
    r"\b(?:the|this|our|that|given|above|following|user'?s?)\b[^.!?\n]{0,30}"
    r"\b(?:conversation|chat|dialogue|discussion|thread)\b"
    r"|\b(?:here is the|previous|above|following|user'?s?(?: first)?) (?:query|messages?)\b"
    r"|会话|會話|对话|對話|聊天|这句话|這句話|会話|チャット|やりとり|メッセージ"
)
"""… of the talk, …"""
_FORM = (
    r"\b(?:only|nothing else|without|no (?:quotes|punctuation|explanations?)|maximum|max|at most"
    r"|or (?:less|fewer)|within \d+|(?:\d+|two|three|four|five|six)[ -](?:words?|characters))\b"
    r"|不要(?:解释|使用|标点|多余|有任何)|不超过|不超過|[仅僅只](?:回复|輸出|输出|返回)|字[以之]?内"
    r"|のみを|だけを|文字以内|使わず"
)
"""… and in what form: a person leaves that open, or says where else it is wanted."""
_MAKER = re.compile(
    r"You(?:'re|’re| are) an? (?=[^\n]{0,200}\b(?:conversation|chat|thread|message|dialogue)s?\b)"
    r"[^.\n]{0,120}\b(?:summar\w+|titles?|titling|naming)\b",
    re.IGNORECASE,
)
"""How the system says that titles or summaries of talks are all that is made here."""
_GOES_ON = re.compile(r"\bcontinue\b|\bnext reply\b|继续|繼續|接着|続き|続け", re.IGNORECASE)
"""What the system says after a reply to have it continued, or to have another persona reply."""
_TASK = re.compile("|".join(_OPENINGS), re.IGNORECASE | re.DOTALL)
_LABEL = re.compile("|".join(_LABELS), re.IGNORECASE | re.DOTALL)
_TALK_OR_FORM = [re.compile(one, re.IGNORECASE) for one in (_TALK, _FORM)]


def is_task(headers: Headers, body: Mapping[str, Any], messages: Sequence[Any]) -> bool:
    r"""Return whether a request is a front end's own: by header, by metadata, or by its form.

    Its form tells if its last message, or its only message besides the system's, begins with the
    words that a known front end has for it, or asks for a title of the talk as only programs do; or
    if the system asks for something after the reply, other than to go on. What it asks last counts;
    of a request for a stream, all that it asks, as a front end's standing instructions may come
    after the wish to go on.

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
    # A quiet prompt comes last, and is not streamed.
    meant = asked if body.get("stream") else asked[:1]
    return not any(_GOES_ON.search(one[:HEAD]) for one in meant)


def _asks_for_itself(message: Any) -> bool:
    """Return whether a message is one that a front end writes for itself."""
    text = readable_content(message).strip()
    head = text[:HEAD]
    ends = f"{text[:SHORT]}\n{text[SHORT:][-SHORT:]}"  # a talk may be quoted between
    if _TASK.match(head) or (role_of(message) in SYSTEM_ROLES and _MAKER.match(head)):
        return True
    return bool(_LABEL.match(ends)) and all(one.search(ends) for one in _TALK_OR_FORM)
