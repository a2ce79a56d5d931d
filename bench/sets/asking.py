"""Asking and grading: replies from what memories bring, and grades that do not see whose."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from string import ascii_uppercase
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from bench.sets.conversation import Question
from souffleur.agents.brief import clock as as_clock
from souffleur.agents.model.chat import Chat, Message, Request
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Task, ask_task
from souffleur.errors import AnswerError
from souffleur.prompts import language_of, render
from souffleur.settings import Settings

TRAP_CATEGORIES = {("locomo", "adversarial")}
"""Sets and categories whose answer was never said: the answer they give is the wrong one."""


class Grade(BaseModel):
    """The eval judge's grade of a reply; the argument comes before the decision."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    answer: str
    """Letter of the reply."""
    reason: str
    right: bool


class Grades(BaseModel):
    """The grades of all replies to one question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    grades: list[Grade]


@dataclass(frozen=True)
class Asked:
    """A question with what a memory brings for it."""

    question: Question
    block: str
    now: datetime
    settings: Settings
    """Settings with the names and the time zone of the conversation."""

    @property
    def text(self) -> str:
        """The question, with the messages before it."""
        return "\n".join((*self.question.before, self.question.text))


def gold_of(question: Question, set_name: str) -> str:
    """Return the reference answer; of a trap, that nothing is known."""
    if (set_name, question.category) not in TRAP_CATEGORIES:
        return question.answer
    return render("grade_unknown", language_of(question.text), trap=question.answer)


async def reply_to(asked: Asked, chat: Chat) -> str:
    """Return the reply; empty if the model gave no usable one."""
    language = language_of(asked.question.text)
    settings = asked.settings
    rules = render(
        "answer",
        language,
        user=settings.user_title,
        assistant=settings.assistant_name,
        now=as_clock(asked.now, ZoneInfo(settings.timezone), language),
        memories=asked.block,
    )
    messages = (Message("system", rules), Message("user", asked.text))
    try:
        return (await chat(Request(messages, "answer"))).text.strip()
    except AnswerError:
        return ""


async def grade_replies(
    asked: str, gold: str, replies: Sequence[str], judge: StructuredChat
) -> list[Grade | None]:
    """Return a grade for each reply; `None` if the model gave no usable one twice.

    All replies to a question are graded side by side, so that one standard holds for them. The
    judge sees the question, the reference and the replies; their order and letters come from their
    words alone, and nothing tells whose they are or what was brought. No reply counts as wrong.
    """
    letters = _letters(asked, replies)
    graded: dict[str, Grade] = {}
    if letters:
        language = language_of(asked)
        listed = "\n\n".join(f"{letter}: {reply}" for reply, letter in letters.items())
        question = render("grade_question", language, question=asked, gold=gold, replies=listed)
        rules = render("grade", language)
        with suppress(AnswerError):
            task = Task("grade", rules, language, question, Grades)
            grades = (await ask_task(judge, task)).value.grades
            graded = {one.answer.strip(" :.").upper(): one for one in grades}
    nothing = Grade(answer="", reason="there was no reply", right=False)
    return [graded.get(letters[reply]) if reply else nothing for reply in replies]


def _letters(asked: str, replies: Sequence[str]) -> dict[str, str]:
    """Return the letter of each different reply, in an order that only its words decide.

    >>> _letters("How many?", ["Two.", "", "Three.", "Two."])
    {'Two.': 'A', 'Three.': 'B'}
    """
    different = sorted(
        {reply for reply in replies if reply},
        key=lambda reply: sha256(f"{asked}\n{reply}".encode()).digest(),
    )
    return dict(zip(different, ascii_uppercase, strict=False))
