"""Tasks: requests by which a front end asks for a title, tags or a summary. They are no turns."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from souffleur.contents import readable_content
from souffleur.proxy.roles import asked_at_the_end, is_reply, last_said
from souffleur.proxy.speaker import Headers

TASK_HEADERS = ("x-souffleur-task", "x-openwebui-task")
"""Headers that name a task; empty, or a placeholder that nothing was put into, they name none."""
HEAD = 4000
"""Characters of a message that are looked at."""

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
)
_GOES_ON = re.compile(r"\bcontinue\b|\bnext reply\b|继续|繼續|接着|続き|続け", re.IGNORECASE)
"""What the system says after a reply to have it continued, or to have another persona reply."""
_TASK = re.compile("|".join(_OPENINGS), re.IGNORECASE | re.DOTALL)


def is_task(headers: Headers, body: Mapping[str, Any], messages: Sequence[Any]) -> bool:
    r"""Return whether a request is a front end's own: by header, by metadata, or by its form.

    Its form tells if its last message, or its only message besides the system's, begins with the
    words that a known front end has for it; or if the system asks for something after the reply,
    other than to go on. What it asks last counts; of a request for a stream, all that it asks, as
    a front end's standing instructions may come after the wish to go on.

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
    if any(_TASK.match(readable_content(message)[:HEAD].lstrip()) for message in asking):
        return True
    asked = asked_at_the_end(messages)
    if not asked or not is_reply(last_said(messages)):
        return False
    # A quiet prompt comes last, and is not streamed.
    meant = asked if body.get("stream") else asked[:1]
    return not any(_GOES_ON.search(one[:HEAD]) for one in meant)
