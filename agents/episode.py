"""What the summarizer may answer, what is wrong with it, and the operation it becomes."""

from collections.abc import Set as AbstractSet
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import Cues, Many, Names, Note, Remark
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import Add, Forget, Op, Update
from souffleur.knowledge.privacy.handling import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.session import Segment
from souffleur.knowledge.text import counting
from souffleur.knowledge.text.plain import is_blank, single_line

MAX_FIELD_LENGTH = 400
"""Maximum characters of an episode's line, and of each of its facts."""
MAX_FACTS = 8
TOPICS = range(3, 6)


class EpisodeAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    small_talk: bool
    line: str = ""
    topics: Names = []
    intent: Remark = ""
    tone: Remark = ""
    key_facts: Many[str] = []
    unresolved: Note = None
    cues: Cues = []


def faults(answer: EpisodeAnswer, withheld: AbstractSet[Group] = NEVER_KEPT) -> str:
    """Return what makes the answer unusable, one fault per line; empty if nothing does.

    It may hold no sensitive data of the `withheld` groups.
    """
    if answer.small_talk:
        return ""
    texts = (
        *(answer.line, answer.intent, answer.tone, answer.unresolved or ""),
        *answer.key_facts,
        *answer.topics,
    )
    secrets = {secret for text in texts if (secret := find_secret(text, withheld))}
    found = [f"it holds {secret}: leave it out" for secret in sorted(secrets)]
    if is_blank(answer.line):
        found.append("line: is empty, and it is no small talk")
    if len(answer.line) > MAX_FIELD_LENGTH:
        found.append(f"line: is longer than {MAX_FIELD_LENGTH} characters")
    if any(map(is_blank, answer.key_facts)):
        found.append("key_facts: one is empty")
    if any(len(fact) > MAX_FIELD_LENGTH for fact in answer.key_facts):
        found.append(f"key_facts: one is longer than {MAX_FIELD_LENGTH} characters")
    if len(answer.topics) not in TOPICS:
        found.append(f"topics: must be three to five (there are {len(answer.topics)})")
    return "\n".join(f"- {fault}" for fault in found)


def unfounded(answer: EpisodeAnswer, said: str) -> str:
    """Return names and numbers of the answer that are not in the talk.

    Dates and counts may follow from it.
    """
    text = "\n".join((answer.line, *answer.key_facts, answer.unresolved or ""))
    return "\n".join(f"- {one.text}" for one in counting.unfounded(text, said))


def to_ops(
    answer: EpisodeAnswer, segment: Segment, former: Memory | None, zone: ZoneInfo
) -> tuple[Op, ...]:
    """Return the operation for an answer; none for small talk.

    `former` is the episode written from an earlier version of the segment.
    """
    if answer.small_talk:
        return (Forget(target=former.id, reason=answer.reason),) if former else ()
    fields: dict[str, Any] = {
        "reason": answer.reason,
        "quote": "",
        "content": f"[{segment.since.astimezone(zone):%Y-%m-%d %H:%M}] {single_line(answer.line)}",
        "kind": Kind.MOMENT,
        "topics": tuple(answer.topics),
        "cues": tuple(answer.cues),
        "valid_from": segment.since,
        "data": {
            "segment_id": segment.id,
            "session_id": segment.session_id,
            "messages": segment.messages,
            "intent": answer.intent,
            "tone": answer.tone,
            "key_facts": [single_line(fact) for fact in answer.key_facts[:MAX_FACTS]],
            "unresolved": answer.unresolved,
        },
    }
    if former:
        return (Update(target=former.id, **fields),)
    return (Add(category=Category.EPISODE, **fields),)
