"""HaluMem: sessions of a user and an assistant, with the memories each should leave.

Its evidence is memories in other words than those said: it is traced to the sessions they are of.
"""

from pathlib import Path
from typing import Any

from souffleur.evals.sets.form import Conversation, Doc, Question, read_lines, wrong
from souffleur.evals.sets.halumem_file import GIVE, time_of


def read_halumem(path: Path) -> list[Conversation]:
    """The conversations of a file, one a user. Raises DialogueError."""
    found = []
    for where, raw in read_lines(path, GIVE):
        try:
            found.append(_conversation(raw))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong(where, GIVE, error) from error
    return found


def _conversation(raw: dict[str, Any]) -> Conversation:
    sources: dict[str, list[str]] = {}
    docs: list[Doc] = []
    questions: list[Question] = []
    for number, session in enumerate(raw["sessions"], start=1):
        name = f"S{number}"
        for point in session.get("memory_points", []):
            sources.setdefault(point["memory_content"], []).append(name)
        docs += [_doc(name, place, said) for place, said in enumerate(session["dialogue"])]
        for place, asked in enumerate(session.get("questions", []), start=1):
            told = [point["memory_content"] for point in asked["evidence"]]
            where = dict.fromkeys(name for point in told for name in sources.get(point, []))
            questions.append(
                Question(
                    id=f"{name}:q{place}",
                    text=asked["question"],
                    category=asked["question_type"],
                    answer=asked["answer"],
                    evidence=tuple(where),
                )
            )
    return Conversation(raw["uuid"], tuple(docs), tuple(questions))


def _doc(session: str, place: int, raw: dict[str, Any]) -> Doc:
    return Doc(f"{session}:{place}", session, time_of(raw), raw["role"], raw["content"])
