"""Asking and grading: a reply from what a memory brings, and a grade that does not see whose."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from souffleur.agents.chat import Chat, Message, Request
from souffleur.agents.exchange import clock as as_clock
from souffleur.agents.rounds import ask_with_repair
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import AnswerError
from souffleur.evals.sets.conversation import Question
from souffleur.prompts import language_of, render
from souffleur.settings import Settings

TRAP_CATEGORIES = {("locomo", "adversarial")}
"""Sets and categories whose answer was never said: the answer they give is the wrong one."""


class Grade(BaseModel):
    """The eval judge's grade of a reply; the argument comes first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    right: bool


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


async def grade_reply(asked: str, gold: str, reply: str, judge: StructuredChat) -> Grade | None:
    """Return the grade; `None` if the model gave no usable one twice. No reply counts as wrong.

    The judge sees the question, the reference and the reply, and nothing of what was brought.
    """
    if not reply:
        return Grade(reason="there was no reply", right=False)
    language = language_of(asked)
    question = render("grade_question", language, question=asked, gold=gold, reply=reply)
    rules = render("grade", language)
    try:
        return await ask_with_repair(judge, rules, question, Grade, name="grade", language=language)
    except AnswerError:
        return None
