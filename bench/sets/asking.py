"""Questions of a public set: asked, graded, and their results by category."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from statistics import fmean
from string import ascii_uppercase
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from bench.percentage import Figure, percentage
from bench.sets.conversation import Question
from souffleur.agents.brief import clock as as_clock
from souffleur.agents.model.chat import Chat, Message, Request, Usage
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


UNFAIR = (
    "Who built Souffleur wrote this measurement, the prompts of replies and grades, and the"
    " adapters of the others; the others write with their own prompts and defaults.",
    "Souffleur was measured on LoCoMo and BEAM while it was built, and mem0 by its authors on"
    " LoCoMo; nobody has tuned the others for these batches, this model or this embedder.",
    "All take the same exchanges in one go. mem0 and LangMem are told date and names in their"
    " instructions, and LangMem the ten messages before. LoCoMo's two speakers are both on the"
    " user's side, where mem0's own protocol has a memory for each.",
    "mem0 searches by words and entities, too, if spaCy, fastembed and their models are there.",
    "Souffleur brings what fits its token budgets; mem0 and LangMem bring a number of memories with"
    " their dates; the whole conversation has no limit.",
    "Replies and grades come from one model. The judge sees question, reference and reply, but"
    " not the system; nobody has checked its grades.",
    "Every category has as many questions as any other, if it has enough, so 'all' is not the"
    " share in the set. Questions whose labels are known to be wrong are left out.",
)
"""The unfair conditions of the comparison, for readers of its numbers."""


@dataclass(frozen=True)
class GradedAnswer:
    """A question with its reply and its grade."""

    conversation: str
    id: str
    category: str
    question: str
    gold: str
    block: str
    reply: str
    right: bool | None
    """The grade; `None`, which counts as wrong, if the judge gave no usable one."""
    reason: str = ""
    tokens: int = 0
    """Estimated tokens of the block."""


@dataclass(frozen=True)
class SystemAnswers:
    """The answers from one system's memory, and what they took."""

    system: str
    version: str
    """Version of its package; empty if it is not a package."""
    turns: int
    """Turns of the conversations."""
    writing: Usage
    """Requests that wrote the conversations."""
    answering: Usage
    """Requests for replies; those of the judge are not counted."""
    answers: tuple[GradedAnswer, ...]
    troubles: tuple[str, ...] = ()
    """The failures of writing and of searching."""

    @property
    def block_tokens(self) -> float:
        """Mean of the estimated tokens that a question brings; 0 if nothing was asked."""
        return fmean(one.tokens for one in self.answers) if self.answers else 0.0


def accuracy(answered: Sequence[GradedAnswer]) -> dict[str, tuple[int, Figure]]:
    """Return the number of questions and the share of right answers, by category and for all."""
    names = [*sorted({one.category for one in answered}), *(["all"] if answered else [])]
    rights = {
        name: [one.right is True for one in answered if name in (one.category, "all")]
        for name in names
    }
    return {name: (len(some), percentage(some)) for name, some in rights.items()}


def differences(found: Sequence[SystemAnswers]) -> dict[str, Figure]:
    """Return by how much more the first system answers right than each other, on all questions.

    The difference is paired, question by question.
    """
    first, *others = ([one.right is True for one in system.answers] for system in found)
    pairs = zip(found[1:], others, strict=True)
    return {
        system.system: percentage([a - b for a, b in zip(first, other, strict=True)])
        for system, other in pairs
        if other
    }


def report(found: Sequence[SystemAnswers], console: Console) -> None:
    """Print accuracy by category, what it took, the wrong answers, and what could not be done."""
    shares = [accuracy(one.answers) for one in found]
    table = Table("right, %", "questions", *(one.system for one in found), box=box.SIMPLE_HEAD)
    for category, (count, _) in shares[0].items():
        rights = (str(share[category][1]) for share in shares)
        table.add_row(escape(category), str(count), *rights)
    if less := differences(found):
        table.add_row(f"{found[0].system} less this", "", "", *map(str, less.values()))
    if shares[0]:
        console.print(table)
    console.print(_costs(found))
    for one in found:
        wrongs = [answer for answer in one.answers if not answer.right]
        if wrongs:
            console.print(_wrong(one.system, wrongs))
    for one in found:
        for trouble in one.troubles:
            console.print(f"[red]failed[/]  {escape(f'{one.system}: {trouble}')}")
    if len(found) > 1:
        console.print("What is unfair:", *(f"- {why}" for why in UNFAIR), sep="\n")


def as_json(found: Sequence[SystemAnswers], conditions: Mapping[str, Any]) -> str:
    """Return the same as JSON, with the conditions of the run and every answer."""
    whole = [
        {
            **asdict(one),
            "block_tokens": round(one.block_tokens, 1),
            "accuracy": {
                name: {"of": count, **asdict(right)}
                for name, (count, right) in accuracy(one.answers).items()
            },
        }
        for one in found
    ]
    made = {
        "conditions": dict(conditions),
        "unfair": list(UNFAIR) if len(found) > 1 else [],
        "first_less": {name: asdict(figure) for name, figure in differences(found).items()},
        "systems": whole,
    }
    return json.dumps(made, ensure_ascii=False, indent=1)


def _costs(found: Sequence[SystemAnswers]) -> Table:
    head = ("", *(f"{one.system} {one.version}".strip() for one in found))
    table = Table(*head, box=box.SIMPLE_HEAD)

    def add(name: str, *values: float) -> None:
        table.add_row(name, *(f"{value:,.0f}" for value in values))

    add("turns written", *(one.turns for one in found))
    add("requests that wrote them", *(one.writing.calls for one in found))
    add("tokens in per turn", *(one.writing.input_tokens / max(1, one.turns) for one in found))
    add("tokens out per turn", *(one.writing.output_tokens / max(1, one.turns) for one in found))
    if any(one.answers for one in found):
        add("tokens brought per question", *(one.block_tokens for one in found))
    return table


def _wrong(system: str, wrongs: Sequence[GradedAnswer]) -> Table:
    folded = [Column(name, overflow="fold") for name in ("question", "reference", "reply", "why")]
    table = Table("id", *folded, title=f"wrong, {system}", box=box.SIMPLE_HEAD)
    for one in wrongs:
        row = (one.id, one.question, one.gold, one.reply, one.reason or "not graded")
        table.add_row(*map(escape, row))
    return table
