"""The public sets that can be read, and their forms of file."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.sets.conversation import Conversation, Doc, Question, read_lines, wrong_file
from bench.sets.halumem_file import read_halumem
from souffleur.errors import InputError

EXPECTED_FILE = "a .jsonl or .jsonl.gz file with one conversation (conv_id, docs, queries) a line"


@dataclass(frozen=True)
class Unified:
    """A set in the unified form."""

    times: tuple[str, ...]
    """Formats of its times for `strptime`; they are read as UTC."""
    daily: bool = False
    """Whether documents without a session belong to one session a day; else each stands alone."""

    def read(self, path: Path) -> list[Conversation]:
        """Return the conversations of a file. Raises InputError."""
        return [self._conversation(where, raw) for where, raw in read_lines(path, EXPECTED_FILE)]

    def _conversation(self, where: str, raw: dict[str, Any]) -> Conversation:
        try:
            docs = tuple(self._doc(doc) for doc in raw["docs"])
            questions = tuple(_question(query) for query in raw["queries"])
            return Conversation(str(raw["conv_id"]), docs, questions)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong_file(where, EXPECTED_FILE, error) from error

    def _doc(self, raw: dict[str, Any]) -> Doc:
        at = self._time(raw["time"]) if raw.get("time") else None
        session, id = raw.get("session"), str(raw["id"])
        if session is None:
            session = at.date() if self.daily and at else f"alone {id}"
        return Doc(id, str(session), at, raw.get("speaker") or "", raw["text"])

    def _time(self, text: str) -> datetime:
        plain = re.sub(r"\((?:\w{3})\)|周[一二三四五六日]", "", text)
        plain = " ".join(plain.split())
        for form in self.times:
            try:
                return datetime.strptime(plain, form).replace(tzinfo=UTC)
            except ValueError:
                continue
        raise ValueError(f"the time {text!r} is not written as {' or '.join(self.times)}")


def _question(raw: dict[str, Any]) -> Question:
    history = [line for line in raw.get("history", []) if line != "<BOD>"]
    return Question(
        id=str(raw["qid"]),
        text=raw["query"],
        category=str(raw["category"]),
        answer=str(raw["answer"]),
        evidence=tuple(map(str, raw["evidence"] or raw.get("evidence_sessions", []))),
        before=tuple(history[:-1]),
        fault=str(raw.get("audit_error") or ""),
        by_session=not raw["evidence"],
    )


SETS: dict[str, Callable[[Path], list[Conversation]]] = {
    "locomo": Unified(("%I:%M %p on %d %B, %Y",)).read,
    "beam": Unified(("%B-%d-%Y",)).read,
    "longmemeval": Unified(("%Y-%m-%dT%H:%M:%S", "%Y/%m/%d %H:%M")).read,
    "madial": Unified(("%Y-%m-%d",)).read,
    "memdaily": Unified(("%Y年%m月%d日 %H:%M",), daily=True).read,
    "halumem": read_halumem,
}

POOLED = {"memdaily": 20}
"""Conversations that are joined when a set is searched, if one alone has only a few messages."""


def read_set(name: str, path: Path) -> list[Conversation]:
    """Return the conversations of a set. Raises InputError for a bad name or file."""
    if name not in SETS:
        raise InputError(f"There is no set {name!r}: write one of {', '.join(SETS)}.")
    found = SETS[name](path)
    if not any(conversation.docs for conversation in found):
        raise InputError(f"{path} holds no conversation: give the file of the set {name}.")
    return found
