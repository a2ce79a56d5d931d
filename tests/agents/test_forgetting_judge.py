"""ForgettingJudge: which of many lines tell of something forgotten."""

import re
from typing import Any

from loguru import logger

from souffleur.agents.brief import Persona
from souffleur.agents.forgetting_judge import LINES_PER_CALL, ForgettingJudge
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import EndpointError
from souffleur.knowledge.forgetting.request import Doubt
from souffleur.knowledge.knowledge_base import KnowledgeBase
from tests.scripted import Scripted


def doubt(count: int) -> Doubt:
    """Return a doubt about lines with the numbers from 0."""
    return Doubt("ann", "default", ("Ann lost a ring.",), tuple(f"Ring {n}." for n in range(count)))


def even(request: Any) -> dict[str, Any]:
    """Find the lines with an even number to tell of it."""
    lines = re.findall(r"^(l\d+) Ring (\d+)\.$", request.messages[1].content, re.MULTILINE)
    told = [{"id": id, "tells": int(number) % 2 == 0} for id, number in lines]
    return {"reason": "by their numbers", "lines": told}


async def test_many_lines_are_asked_about_in_several_calls(base: KnowledgeBase) -> None:
    """Each line gets its own answer, and no call has more than its lines."""
    chat = Scripted(even)
    judge = ForgettingJudge(Context(StructuredChat(chat), base, Persona()))
    given = await judge.judge(doubt(2 * LINES_PER_CALL + 5))
    assert given == [number % 2 == 0 for number in range(2 * LINES_PER_CALL + 5)]
    sizes = [len(re.findall("Ring", one.messages[1].content)) for one in chat.requests]
    assert sorted(sizes) == [5, LINES_PER_CALL, LINES_PER_CALL]


async def test_one_call_that_fails_leaves_all_undecided(base: KnowledgeBase) -> None:
    """Without all answers there is none: what may tell of it stays hidden."""

    def failing(request: Any) -> Any:
        return EndpointError("down") if "Ring 64." in request.messages[1].content else even(request)

    judge = ForgettingJudge(Context(StructuredChat(Scripted(failing)), base, Persona()))
    assert await judge.judge(doubt(2 * LINES_PER_CALL + 5)) is None


async def test_a_line_that_stays_hidden_is_logged_with_what_comes_next(base: KnowledgeBase) -> None:
    """At first the model will be asked again; an unusable answer later settles it."""
    kept: list[str] = []
    sink = logger.add(kept.append, format="{message}")
    logger.enable("souffleur")
    try:
        judge = ForgettingJudge(Context(StructuredChat(Scripted(lambda _: {})), base, Persona()))
        assert await judge.judge(doubt(1)) is None
        assert await judge.judge_later(doubt(2)) == [True, True]
    finally:
        logger.disable("souffleur")
        logger.remove(sink)
    first, second = (line.strip() for line in kept)
    assert first == (
        "1 line that may tell of something forgotten stays hidden; "
        "the model is asked again when it answers: AnswerError"
    )
    assert second == (
        "2 lines that may tell of something forgotten stay hidden "
        "until the forgetting is undone: AnswerError"
    )
