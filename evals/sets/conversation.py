"""The one form of all sets: conversations of what was said, and questions about it."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
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
    """None: the set does not say."""
    speaker: str
    """A name, `user`, `assistant`, or "" where the set does not say."""
    text: str


@dataclass(frozen=True)
class Question:
    """What is asked about a conversation, and where the answer stands."""

    id: str
    text: str
    category: str
    answer: str
    evidence: tuple[str, ...]
    """Ids of docs or, where a set knows no better, of sessions; none: it has no labels."""
    before: tuple[str, ...] = ()
    """The messages before it, oldest first, where it is itself a message."""


@dataclass(frozen=True)
class Conversation:
    """What was said between the same people, in order."""

    conv_id: str
    docs: tuple[Doc, ...]
    questions: tuple[Question, ...]


def read_text(path: Path, expected: str) -> str:
    """The text of a file, gzipped or not; DialogueError that says what is `expected` instead."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8") as file:
                return file.read()
        return path.read_text(encoding="utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DialogueError(f"{path} cannot be read: give {expected} ({error}).") from error


def read_lines(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """Each line's index, for errors, and the JSON object on it."""
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
    """The error for a file that is something else; a KeyError names the field that is missing."""
    why = f"no field {why}" if isinstance(why, KeyError) else why
    return DialogueError(f"{where} is not of this set: give {expected} ({why}).")
