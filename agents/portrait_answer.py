"""What the profile writer may answer, what is wrong with it, and the operation it becomes."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import Many, Note, Remark
from souffleur.knowledge.forgetting.subject import Reader, Subject
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import Add, Importance, Op, Update
from souffleur.knowledge.privacy.handling import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.search.words import is_spaced, split
from souffleur.knowledge.text import counting
from souffleur.knowledge.text.details import Detail, missing
from souffleur.knowledge.text.plain import is_blank
from souffleur.knowledge.text.sentences import sentences

MAX_PORTRAIT_LENGTH = 1900
"""Maximum characters of a portrait."""
PARAGRAPHS = range(3, 6)


class Dropped(BaseModel):
    """A detail of the former portrait that no longer holds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    detail: Remark
    why: Remark


class PortraitAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    name: Note = None
    occupation: Note = None
    paragraphs: list[str]
    changes: Many[Remark] = []
    dropped: Many[Dropped] = []

    @property
    def text(self) -> str:
        """The narrative."""
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in self.paragraphs)

    @property
    def words(self) -> str:
        """All texts of the answer that would be kept."""
        dropped = [words for one in self.dropped for words in (one.detail, one.why)]
        return "\n".join(
            (self.text, self.name or "", self.occupation or "", *self.changes, *dropped)
        )


@dataclass(frozen=True)
class Sources:
    """What a portrait is written from."""

    former: Memory | None
    """The version in force; if none is, the latest in whatever state. What was in it and is
    forgotten is cut."""
    material: str
    """Memories and new episodes, as the model sees them."""
    names: tuple[str, ...]
    """Names known from memories."""
    until: datetime
    """When the newest episode ended."""
    versions: int = 0
    """How many there were, with those that were taken back."""
    elsewhere: str = ""
    """What a portrait may leave: the contents of all memories and episodes in force, and of
    memories that are over or corrected."""

    forgotten: Reader = field(default_factory=lambda: Reader(Subject()))
    """Finds what was in the former portrait and is forgotten."""


def faults(
    answer: PortraitAnswer, sources: Sources, withheld: AbstractSet[Group] = NEVER_KEPT
) -> str:
    """Return what makes the answer unusable, one fault per line; empty if nothing does.

    It may hold no sensitive data of the `withheld` groups.
    """
    found = []
    if len(answer.paragraphs) not in PARAGRAPHS:
        found.append(f"paragraphs: must be three to five (there are {len(answer.paragraphs)})")
    if any(map(is_blank, answer.paragraphs)):
        found.append("paragraphs: one is empty")
    if len(answer.text) > MAX_PORTRAIT_LENGTH:
        found.append(f"paragraphs: longer than {MAX_PORTRAIT_LENGTH} characters in all")
    if secret := find_secret(answer.words, withheld):
        found.append(f"it holds {secret}: leave it out")
    found += [
        f"it tells what is not to be told, leave it out: {line!r}"
        for paragraph in answer.paragraphs
        for line in sources.forgotten.lines(paragraph)
    ]
    return "\n".join(f"- {fault}" for fault in found)


def known_alone(sources: Sources) -> list[str]:
    """Return the names, numbers and dates of the former portrait that are known nowhere else."""
    return [one.text for one in _gone(sources, "")]


def lost(answer: PortraitAnswer, sources: Sources) -> str:
    """Return the names, numbers and dates of the former portrait that are known nowhere now.

    A count or an age that follows from what is known is not lost.
    """
    dropped = [one.detail for one in answer.dropped]
    kept = (answer.text, answer.name or "", answer.occupation or "")
    gone = _gone(sources, "\n".join((*kept, *dropped)))
    left = [one for one in gone if not any(_is_part(words, one) for words in dropped)]
    return "\n".join(f"- {one.text}" for one in left)


def unfounded(answer: PortraitAnswer, sources: Sources) -> str:
    """Return names and numbers of the portrait that no source has.

    Dates, counts and ages may follow from them.
    """
    known = "\n".join((sources.former.content if sources.former else "", sources.material))
    alien = counting.unfounded(answer.text, known, sources.names, on=sources.until.date())
    return "\n".join(f"- {one.text}" for one in alien)


def to_op(answer: PortraitAnswer, sources: Sources) -> Op:
    """Return the operation that writes the next version."""
    former = sources.former
    cut, told = sources.forgotten.cut, sources.forgotten.finds_or_may
    dropped = [one for one in answer.dropped if not (told(one.detail) or told(one.why))]
    fields: dict[str, Any] = {
        "reason": reason_of(answer, sources),
        "quote": "",
        "content": answer.text,
        "kind": Kind.FACT,
        "importance": Importance.HIGH,
        "data": {
            "version": sources.versions + 1,
            "name": cut(answer.name or "") or None,
            "occupation": cut(answer.occupation or "") or None,
            "changes": [one for one in answer.changes if not told(one)],
            "dropped": [one.model_dump() for one in dropped],
            "until": sources.until.isoformat(),
        },
    }
    if former and former.state in {MemoryState.ACTIVE, MemoryState.PENDING}:
        return Update(target=former.id, **fields)
    return Add(category=Category.PROFILE, **fields)


def reason_of(answer: PortraitAnswer, sources: Sources) -> str:
    """Return the reason without the sentences that may tell what is forgotten."""
    told = sources.forgotten.finds_or_may
    return "".join(one for one in sentences(answer.reason) if not told(one)).strip()


def _gone(sources: Sources, kept: str) -> list[Detail]:
    """Return the details of the former portrait that neither the kept text nor a memory has."""
    former, names = sources.former, sources.names
    if former is None:
        return []
    on, known = former.created_at.date(), f"{kept}\n{sources.elsewhere}"
    return [
        one
        for one in missing(former.content, known, names)
        if not counting.follows(one, former.content, known, names, on=on)
    ]


def _is_part(words: str, detail: Detail) -> bool:
    """Return whether the words are part of a detail, as `Roux` of `Ann Roux`; letters are not."""
    part, whole = _tokens(words), _tokens(detail.text)
    says = len(part) > 1 or (len(part) == 1 and is_spaced(part[0]))
    return says and any(whole[at : at + len(part)] == part for at in range(len(whole)))


def _tokens(text: str) -> list[str]:
    return [token for run in split(text) for token in run]
