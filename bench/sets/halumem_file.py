"""HaluMem's file: users, their sessions, and the memory points that each session should leave.

The evidence of its questions are memories, in other words than those said: each is traced to the
sessions that should leave it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from bench.sets.conversation import Conversation, Doc, Question, read_lines, wrong_file
from bench.sets.halumem_marks import Point
from souffleur.demo.dialogue import Dialogue, Exchange, SessionPart, UserPart
from souffleur.errors import InputError

EXPECTED_FILE = "a HaluMem .jsonl file, one user (uuid, sessions) a line"

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """A session: its messages, the points it should leave, and the questions asked after it."""

    id: str
    docs: tuple[Doc, ...]
    points: tuple[Point, ...]
    questions: tuple[Question, ...]
    """Questions whose evidence are contents of points."""
    scored: bool = True
    """False for an inserted session from elsewhere, whose memories are not marked."""

    @property
    def said(self) -> SessionPart:
        """The messages as turns. Raises ValueError unless the user and the assistant alternate."""
        turns: list[Exchange] = []
        for mine, yours in zip(self.docs[::2], self.docs[1::2], strict=True):
            if (mine.speaker, yours.speaker) != ("user", "assistant"):
                raise ValueError(f"{self.id}: messages must be the user's and the assistant's")
            assert mine.at is not None
            turns.append(Exchange(at=mine.at, user=mine.text, assistant=yours.text))
        return SessionPart(id=self.id, turns=tuple(turns))

    @property
    def talk(self) -> str:
        """The text of the session, as the eval judge sees it."""
        return "\n\n".join(
            f"[{turn.at:%Y-%m-%d %H:%M}] user: {turn.user}\nassistant: {turn.assistant}"
            for turn in self.said.turns
        )


@dataclass(frozen=True)
class User:
    """One line of the file."""

    id: str
    name: str
    parts: tuple[Part, ...]

    @property
    def dialogue(self) -> Dialogue:
        """All sessions as one dialogue. Raises ValueError if it cannot be replayed."""
        return self.dialogue_of(*self.parts)

    def dialogue_of(self, *parts: Part) -> Dialogue:
        """Return the dialogue of these sessions."""
        return Dialogue(user=UserPart(id=self.id), sessions=tuple(part.said for part in parts))

    @property
    def conversation(self) -> Conversation:
        """The same in the common format; the evidence is the sessions so far that left a point."""
        sources: dict[str, list[str]] = {}
        questions = []
        for part in self.parts:
            for point in part.points:
                sources.setdefault(point.content, []).append(part.id)
            for asked in part.questions:
                found = (id for content in asked.evidence for id in sources.get(content, ()))
                questions.append(replace(asked, evidence=tuple(dict.fromkeys(found))))
        docs = tuple(doc for part in self.parts for doc in part.docs)
        return Conversation(self.id, docs, tuple(questions))


def read_halumem(path: Path) -> list[Conversation]:
    """Return the conversations of a file, one for each user. Raises InputError."""
    return _read(path, _conversation)


def read_users(path: Path) -> list[User]:
    """Return the users of a file, whose dialogues can be replayed. Raises InputError."""
    return _read(path, _replayable)


def choose(path: Path, user: int, sessions: int | None) -> User:
    """Return the user with this index, limited to the first sessions. Raises InputError."""
    users = read_users(path)
    if not 0 <= user < len(users):
        raise InputError(f"{path} has {len(users)} users: --user is a number from 0.")
    if sessions is not None and sessions < 1:
        raise InputError("--sessions is at least 1.")
    one = users[user]
    return User(one.id, one.name, one.parts[:sessions])


def _replayable(raw: dict[str, Any]) -> User:
    user = _user(raw)
    if not user.dialogue:  # made here, so that times out of order are found while reading
        raise ValueError("nothing is said")
    return user


def _conversation(raw: dict[str, Any]) -> Conversation:
    return _user(raw).conversation


def _read(path: Path, make: Callable[[dict[str, Any]], T]) -> list[T]:
    found = []
    for where, raw in read_lines(path, EXPECTED_FILE):
        try:
            found.append(make(raw))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong_file(where, EXPECTED_FILE, error) from error
    return found


def _user(raw: dict[str, Any]) -> User:
    name = re.search(r"Name:\s*([^;]+);", raw.get("persona_info", ""))
    parts = [_part(f"S{number}", session) for number, session in enumerate(raw["sessions"], 1)]
    return User(raw["uuid"], name[1].strip() if name else "the user", tuple(parts))


def _part(id: str, raw: dict[str, Any]) -> Part:
    generated = raw.get("is_generated_qa_session", False)
    return Part(
        id=id,
        docs=tuple(_doc(id, index, said) for index, said in enumerate(raw["dialogue"])),
        points=() if generated else tuple(map(_point, raw["memory_points"])),
        questions=tuple(
            _question(f"{id}:q{index}", asked)
            for index, asked in enumerate(raw.get("questions", ()), start=1)
        ),
        scored=not generated,
    )


def _doc(session: str, index: int, raw: dict[str, Any]) -> Doc:
    """Return a message; its time has the form "Sep 12, 2025, 09:07:20", in UTC."""
    at = datetime.strptime(raw["timestamp"], "%b %d, %Y, %H:%M:%S").replace(tzinfo=UTC)
    return Doc(f"{session}:{index}", session, at, raw["role"], raw["content"])


def _question(id: str, raw: dict[str, Any]) -> Question:
    return Question(
        id=id,
        text=raw["question"],
        category=raw["question_type"],
        answer=raw["answer"],
        evidence=tuple(point["memory_content"] for point in raw["evidence"]),
    )


def _point(raw: dict[str, Any]) -> Point:
    return Point(
        content=raw["memory_content"],
        kind=raw["memory_type"],
        source=raw["memory_source"],
        importance=raw["importance"],
        is_update=raw["is_update"] == "True",
        originals=tuple(raw["original_memories"]),
    )
