"""HaluMem's file: users, their sessions, and the points that each session should leave."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from souffleur.dialogue import Dialogue, Exchange, SessionPart, UserPart
from souffleur.errors import DialogueError
from souffleur.evals.sets.form import read_lines, wrong
from souffleur.evals.sets.halumem_scores import Point

GIVE = "a HaluMem .jsonl file, one user (uuid, sessions) a line"


@dataclass(frozen=True)
class Part:
    """A session, and the points it should leave."""

    said: SessionPart
    points: tuple[Point, ...]
    scored: bool = True
    """False: talk from elsewhere, put in between, which is to leave nothing that is marked."""

    @property
    def talk(self) -> str:
        """What was said, as the eval judge sees it."""
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
        """All that is said."""
        return self.saying(*self.parts)

    def saying(self, *parts: Part) -> Dialogue:
        """What is said in these sessions."""
        return Dialogue(user=UserPart(id=self.id), sessions=tuple(part.said for part in parts))


def read_users(path: Path) -> list[User]:
    """The users of a file. Raises DialogueError."""
    found = []
    for where, raw in read_lines(path, GIVE):
        try:
            found.append(_user(raw))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong(where, GIVE, error) from error
    return found


def choose(path: Path, user: int, sessions: int | None) -> User:
    """A user by place, with the first so many sessions. Raises DialogueError."""
    users = read_users(path)
    if not 0 <= user < len(users):
        raise DialogueError(f"{path} has {len(users)} users: --user is a number from 0.")
    if sessions is not None and sessions < 1:
        raise DialogueError("--sessions is at least 1.")
    one = users[user]
    return User(one.id, one.name, one.parts[:sessions])


def time_of(message: dict[str, Any]) -> datetime:
    """When a message was said: "Sep 12, 2025, 09:07:20", in UTC. Raises KeyError, ValueError."""
    return datetime.strptime(message["timestamp"], "%b %d, %Y, %H:%M:%S").replace(tzinfo=UTC)


def _user(raw: dict[str, Any]) -> User:
    name = re.search(r"Name:\s*([^;]+);", raw.get("persona_info", ""))
    parts = [_part(number, session) for number, session in enumerate(raw["sessions"], start=1)]
    user = User(raw["uuid"], name[1].strip() if name else "the user", tuple(parts))
    if not user.dialogue:  # made here, so that times out of order are found while reading
        raise ValueError("nothing is said")
    return user


def _part(number: int, raw: dict[str, Any]) -> Part:
    turns: list[Exchange] = []
    said = raw["dialogue"]
    for mine, yours in zip(said[::2], said[1::2], strict=True):
        if (mine["role"], yours["role"]) != ("user", "assistant"):
            raise ValueError(f"session {number}: messages must be the user's and the assistant's")
        turns.append(Exchange(at=time_of(mine), user=mine["content"], assistant=yours["content"]))
    generated = raw.get("is_generated_qa_session", False)
    points = () if generated else tuple(map(_point, raw["memory_points"]))
    return Part(SessionPart(id=f"S{number}", turns=tuple(turns)), points, scored=not generated)


def _point(raw: dict[str, Any]) -> Point:
    return Point(
        content=raw["memory_content"],
        kind=raw["memory_type"],
        source=raw["memory_source"],
        importance=raw["importance"],
        is_update=raw["is_update"] == "True",
        originals=tuple(raw["original_memories"]),
    )
