"""The common format of all sets: conversations, and questions about them."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from souffleur.demo.dialogue import AssistantPart, Dialogue, Exchange, SessionPart, UserPart
from souffleur.errors import InputError
from souffleur.prompts import language_of


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
    """The fault of its labels, if somebody found them wrong."""
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
    """Return the text of a file, gzipped or not. Raises InputError with what is `expected`."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8") as file:
                return file.read()
        return path.read_text(encoding="utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: give {expected} ({error}).") from error


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


def wrong_file(where: str, expected: str, why: object) -> InputError:
    """Return the error for a wrong file; a KeyError is reported as a missing field."""
    why = f"no field {why}" if isinstance(why, KeyError) else why
    return InputError(f"{where} is not of this set: give {expected} ({why}).")


UNDATED_START = datetime(2020, 1, 1, tzinfo=UTC)
"""Assumed start of conversations that have no times."""
MESSAGE_GAP = timedelta(minutes=1)
"""Assumed time between messages that have no times."""
ROLES = ("user", "assistant")
TITLES = {"en": ("the user", "the assistant"), "zh": ("用户", "助手")}


@dataclass(frozen=True)
class Sample:
    """A conversation, and the questions about it that were drawn."""

    conversation: Conversation
    questions: tuple[Question, ...]


def draw(
    conversations: Sequence[Conversation],
    *,
    max_conversations: int | None,
    max_questions: int | None,
    seed: int,
    named: Sequence[str] = (),
) -> list[Sample]:
    """Draw conversations, and questions about them, at random but reproducibly; keep their order.

    `named` are the ids of the conversations to draw from; if empty, from all. Of each category as
    many questions are drawn as of any other, as far as it has as many; none whose labels are known
    to be wrong. A conversation with no question drawn is left out: its replay would show nothing.
    Raises InputError if there is no conversation of a name.
    """
    if unknown := set(named) - {one.conv_id for one in conversations}:
        raise InputError(f"There is no conversation {', '.join(sorted(unknown))}.")
    chance = random.Random(seed)
    among = [one for one in conversations if not named or one.conv_id in named]
    asked = [one for one in among if _sound(one) and any(map(_says, one.docs))]
    indices = _some(chance, range(len(asked)), max_conversations)
    pairs = [(index, question) for index in indices for question in _sound(asked[index])]
    categories = [question.category for _, question in pairs]
    chosen = [pairs[index] for index in _evenly(chance, categories, max_questions)]
    return [
        Sample(asked[index], tuple(question for _, question in group))
        for index, group in groupby(chosen, key=lambda pair: pair[0])
    ]


def to_dialogue(conversation: Conversation) -> Dialogue:
    """Return a dialogue with two messages in each turn, its sessions sorted by time.

    Named speakers are both put on the user's side, with their names, because the memory must keep
    what either says. A time that is missing, or not after the one before, is set a little later
    than that.
    """
    at = UNDATED_START
    sessions = []
    for name, docs in _sessions(conversation.docs):
        turns = []
        for pair in _pairs(docs):
            when = next((doc.at for doc in pair if doc.at), None)
            at = when if when and when > at else at + MESSAGE_GAP
            turns.append(Exchange(at=at, **sides_of(pair)))
        sessions.append(SessionPart(id=name, turns=tuple(turns)))
    title, name = TITLES[language_of("".join(doc.text for doc in conversation.docs))]
    user = UserPart(id=conversation.conv_id, title=title)
    return Dialogue(user=user, assistant=AssistantPart(name=name), sessions=tuple(sessions))


def _says(doc: Doc) -> bool:
    return bool(doc.text.strip())


def _sound(conversation: Conversation) -> list[Question]:
    return [one for one in conversation.questions if not one.fault]


def _evenly(chance: random.Random, categories: Sequence[str], max_count: int | None) -> list[int]:
    """Return indices drawn from all categories in turn, sorted."""
    shuffled = chance.sample(range(len(categories)), len(categories))
    seen: Counter[str] = Counter()
    rounds = {}
    for index in shuffled:
        rounds[index] = seen[categories[index]]
        seen[categories[index]] += 1
    return sorted(sorted(shuffled, key=lambda index: rounds[index])[:max_count])


def _some(chance: random.Random, indices: Sequence[int], max_count: int | None) -> list[int]:
    count = len(indices) if max_count is None else min(max_count, len(indices))
    return sorted(chance.sample(indices, count))


def _sessions(docs: Iterable[Doc]) -> list[tuple[str, list[Doc]]]:
    """Group by session; sort by time if all sessions have one, else keep the order."""
    grouped: dict[str, list[Doc]] = {}
    for doc in filter(_says, docs):
        grouped.setdefault(doc.session, []).append(doc)
    begun = {name: next((doc.at for doc in part if doc.at), None) for name, part in grouped.items()}
    known = {name: at for name, at in begun.items() if at}
    if len(known) < len(begun):
        return list(grouped.items())
    return sorted(grouped.items(), key=lambda item: known[item[0]])


def _pairs(docs: Iterable[Doc]) -> Iterator[list[Doc]]:
    """Group messages into turns; of two speakers, the user comes before the assistant."""
    pair: list[Doc] = []
    for doc in docs:
        follows = len(pair) == 1 and doc.speaker not in {"", "user", pair[0].speaker}
        if pair and not follows:
            yield pair
            pair = []
        pair.append(doc)
    if pair:
        yield pair


def sides_of(docs: Sequence[Doc]) -> dict[str, str]:
    """Return the words of each side; a named speaker is on the user's, the name before the text."""
    words = {"user": "", "assistant": ""}
    for doc in docs:
        side = doc.speaker if doc.speaker in ROLES else "user"
        text = doc.text if doc.speaker in {"", side} else f"{doc.speaker}: {doc.text}"
        words[side] = "\n".join(filter(None, (words[side], text)))
    return words
