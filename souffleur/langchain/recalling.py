"""`recall_memory`: a tool with which an agent looks for what it was told."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool
from loguru import logger
from pydantic import Field

from souffleur.errors import SouffleurError
from souffleur.knowledge.finding.search import EVERYWHERE, Found, Scope
from souffleur.knowledge.language.plain_text import single_line
from souffleur.langchain.access import Access
from souffleur.langchain.talk import Talk, talk_of

if TYPE_CHECKING:
    from souffleur.langchain.access import AnyMemory

Words = Annotated[str, Field(description="What to look for, in a few words.")]
Where = Annotated[
    Literal["memories", "episodes", "turns", "everything"],
    Field(
        description="memories: facts about the user; episodes: summaries of past talks; "
        "turns: what was said, word for word; everything: all of these."
    ),
]
When = Annotated[
    str,
    Field(description="A time in words, such as 'last week' or '2026-03'; empty for any time."),
]
Run = ToolRuntime[Any, Any]

LIMIT = 8
"""Maximum records that one call returns."""
NOTHING = "Nothing is remembered about that."
NO_TIME = (
    "The time was not understood. Write it as a person would, such as 'last week', 'in May', "
    "'2026-03-14' or '上周', or leave it out."
)
IN_TROUBLE = "The memory cannot be read at the moment."


def recall_tool(memory: "AnyMemory", *, agent_id: str | None = None) -> BaseTool:
    """Return the tool `recall_memory`, for any agent of LangChain or LangGraph.

    User and persona are those of the run (see `Talk`): a model cannot name others.
    """
    access = Access(memory)

    async def arecall_memory(
        query: Words, runtime: Run, scope: Where = "everything", when: When = ""
    ) -> str:
        talk = talk_of(runtime.context, runtime.config, agent_id)
        return str(await access.reach(lambda held: _look(held, talk, query, scope, when)))

    def recall_memory(
        query: Words, runtime: Run, scope: Where = "everything", when: When = ""
    ) -> str:
        talk = talk_of(runtime.context, runtime.config, agent_id)
        return str(access.wait(lambda held: _look(held, talk, query, scope, when)))

    return StructuredTool.from_function(
        recall_memory,
        arecall_memory,
        name="recall_memory",
        description="Look up what this user told you before, or what you talked about at some "
        "time. Use it when the user refers to something that you do not know.",
    )


async def _look(memory: Any, talk: Talk, query: str, scope: Where, when: str) -> str:
    try:
        zone = (await memory.cast(**talk.who)).zone(talk.user_id)
        scopes = EVERYWHERE if scope == "everything" else (Scope(scope),)
        if when.strip():
            return await _then(memory, talk, f"{query} ({when})", scopes, zone)
        found = await memory.search(query, **talk.who, scope=scopes, limit=LIMIT)
        return _list([one for one in found if one.relevant], zone)
    except SouffleurError as error:
        logger.warning("recall_memory: {}", error)
        return IN_TROUBLE


async def _then(memory: Any, talk: Talk, text: str, scopes: Sequence[Scope], zone: ZoneInfo) -> str:
    """Return what is known of the time that a text names."""
    past = await memory.ask(text, **talk.ids, limit=LIMIT)
    if past.period is None:
        return NO_TIME
    return _list([one for one in past.found if one.scope in scopes][:LIMIT], zone)


def _list(found: Sequence[Found], zone: ZoneInfo) -> str:
    """Return one line for each record, with its day."""
    lines = [f"- {_day(one.at, zone)}: {single_line(one.text)}" for one in found]
    return "\n".join(lines) or NOTHING


def _day(at: datetime, zone: ZoneInfo) -> str:
    return at.astimezone(zone).date().isoformat()
