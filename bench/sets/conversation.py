"""The common format of all sets: conversations, and questions about them."""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from souffleur.errors import DialogueError


@dataclass(frozen=True)
class Doc:
    """One message."""

    id: str
    session: str
    at: datetime | None
    """The time; `None` if the set does not give one."""
    speaker: str
    """A name, `user` or `assistant`; empty if the set does not give one."""
    text: str


@dataclass(frozen=True)
class Question:
    """A question about a conversation, and the documents that hold the answer."""

    id: str
    text: str
    category: str
    answer: str
    evidence: tuple[str, ...]
    """Ids of documents, or of sessions (see `by_session`); empty if it has no labels."""
    before: tuple[str, ...] = ()
    """The messages before the question, oldest first, if it is itself a message."""
    fault: str = ""
    """What is wrong with its labels, if somebody found them wrong."""
    by_session: bool = False
    """Whether the evidence are ids of sessions."""


@dataclass(frozen=True)
class Conversation:
    """The messages between the same people, in order."""

    conv_id: str
    docs: tuple[Doc, ...]
    questions: tuple[Question, ...]


def pool(conversations: Sequence[Conversation], size: int) -> list[Conversation]:
    """Return conversations joined, `size` at a time, so that there is more to search.

    Their sessions and messages stay apart.

    >>> doc = Doc("1", "s", None, "", "Tea!")
    >>> (joint,) = pool([Conversation(name, (doc,), ()) for name in "ab"], 2)
    >>> joint.conv_id, [doc.id for doc in joint.docs]
    ('a-b', ['a 1', 'b 1'])
    """
    if size < 2:
        return list(conversations)
    groups = [conversations[at : at + size] for at in range(0, len(conversations), size)]
    return [_joint(group) for group in groups]


def _joint(group: Sequence[Conversation]) -> Conversation:
    docs = [
        replace(doc, id=f"{one.conv_id} {doc.id}", session=f"{one.conv_id} {doc.session}")
        for one in group
        for doc in one.docs
    ]
    questions = [
        replace(asked, evidence=tuple(f"{one.conv_id} {id}" for id in asked.evidence))
        for one in group
        for asked in one.questions
    ]
    name = f"{group[0].conv_id}-{group[-1].conv_id}"
    return Conversation(name, tuple(docs), tuple(questions))


def read_text(path: Path, expected: str) -> str:
    """Return the text of a file, gzipped or not. Raises DialogueError with what is `expected`."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8") as file:
                return file.read()
        return path.read_text(encoding="utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DialogueError(f"{path} cannot be read: give {expected} ({error}).") from error


def read_lines(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON object of each line, with the name of the line for errors."""
    for number, line in enumerate(read_text(path, expected).splitlines(), start=1):
        where = f"{path}, line {number}"
        try:
            found = json.loads(line) if line.strip() else None
        except json.JSONDecodeError as error:
            raise wrong_file(where, expected, error) from error
        if isinstance(found, dict):
            yield where, found
        elif found is not None:
            raise wrong_file(where, expected, "not an object")


def wrong_file(where: str, expected: str, why: object) -> DialogueError:
    """Return the error for a wrong file; a KeyError is reported as a missing field."""
    why = f"no field {why}" if isinstance(why, KeyError) else why
    return DialogueError(f"{where} is not of this set: give {expected} ({why}).")
