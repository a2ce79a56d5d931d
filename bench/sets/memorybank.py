"""MemoryBank (SiliconFriend): ten days of chat with each of 15 people; questions without answers.

The questions are in a file beside the chats: memorybank_en.json, memorybank_en_questions.jsonl.
"""

import json
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from bench.sets.conversation import (
    Conversation,
    Doc,
    Question,
    read_lines,
    read_text,
    wrong_file,
)

EXPECTED_FILE = "a MemoryBank .json file (name: history), with its _questions.jsonl beside it"


def read_memorybank(path: Path) -> list[Conversation]:
    """Return the conversations of a file, one for each person. Raises DialogueError."""
    beside = path.with_name(f"{path.stem}_questions.jsonl")
    try:
        people = json.loads(read_text(path, EXPECTED_FILE))
        asked: dict[str, list[str]] = {}
        for _, line in read_lines(beside, EXPECTED_FILE):
            asked |= line
        return [_conversation(name, raw, asked.get(name, [])) for name, raw in people.items()]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise wrong_file(str(path), EXPECTED_FILE, error) from error


def _conversation(name: str, raw: dict[str, Any], asked: list[str]) -> Conversation:
    docs = []
    for day, rounds in raw["history"].items():
        at = datetime.combine(datetime.fromisoformat(day).date(), time(12), UTC)
        for index, said in enumerate(rounds, start=1):
            docs.append(Doc(f"{day}:{index}:user", day, at, "user", said["query"].strip()))
            reply = said["response"].strip()
            docs.append(Doc(f"{day}:{index}:assistant", day, at, "assistant", reply))
    questions = [
        Question(f"{name}:{index}", text, "probing", "", ())
        for index, text in enumerate(asked, start=1)
    ]
    return Conversation(name, tuple(doc for doc in docs if doc.text), tuple(questions))
