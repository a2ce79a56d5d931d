"""The MCP tools: each calls a method of Souffleur for the user of the request."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NamedTuple

from loguru import logger
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AwareDatetime, Field

from souffleur.errors import MemoryOffError, NotFoundError, SouffleurError
from souffleur.knowledge.identity import check_id, knows
from souffleur.knowledge.memory import Frozen, Kind, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.turn import Turn
from souffleur.telemetry.log_lines import describe, trace_bug


class MemoryRecord(Frozen):
    """A memory."""

    id: str
    memory: str = Field(description="One sentence about the user.")
    kind: str = Field(description="What it is about: preference, fact, promise, …")
    category: str = Field(description="core: never fades; fact, skill, episode, profile: may fade.")
    state: str = Field(description="active, or pending: it waits for the user's confirmation.")
    created_at: AwareDatetime
    updated_at: AwareDatetime
    evidence: list[str] = Field(description="The words that it rests on.")


class FoundRecord(Frozen):
    """A memory, a summary of a talk, or a turn."""

    id: str
    text: str
    type: Literal["memory", "episode", "turn"]
    at: AwareDatetime = Field(description="When it was learned or said.")
    score: float = Field(description="How well it matches; higher is better.")


class MemoryList(Frozen):
    """A page of memories."""

    memories: list[MemoryRecord]
    total: int = Field(description="Number of memories on all pages.")


class FoundList(Frozen):
    """What matches, best first."""

    results: list[FoundRecord]


class PastRecord(Frozen):
    """What was talked about."""

    since: AwareDatetime | None = Field(description="Beginning of the time asked about, if any.")
    until: AwareDatetime | None = Field(description="End of that time.")
    results: list[FoundRecord]
    error: str = Field(description="Why something may be missing; empty if nothing is.")
    answer: str | None = Field(
        description="With `think`: the answer, which rests on the results; null if not known."
    )


class ChangeRecord(Frozen):
    """A change, carried out or refused."""

    id: str = Field(description="Id of the change; `undo` takes it.")
    op: str = Field(description="ADD, UPDATE, EDIT, FORGET, UNDO, …")
    memory_ids: list[str]
    before: list[str] = Field(description="What the memories said before.")
    after: list[str] = Field(description="What they say now.")
    at: AwareDatetime
    by: str = Field(description="Who decided it.")
    reason: str
    done: bool = Field(description="False: it was refused, or waits for the user's consent.")
    why_not: str = Field(description="Why it was refused; empty if it was not.")
    undone: bool


class ChangeList(Frozen):
    """Changes, oldest first."""

    changes: list[ChangeRecord]


def memory_record(memory: Memory) -> MemoryRecord:
    """Return the record of a memory for a model."""
    return MemoryRecord(
        id=memory.id,
        memory=memory.content,
        kind=memory.kind,
        category=memory.category,
        state=memory.state,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        evidence=[one.quote for one in memory.evidence],
    )


def found_record(found: Found) -> FoundRecord:
    """Return the record of a search result for a model."""
    episode: Literal["memory", "episode"] = "episode" if found.scope == "episodes" else "memory"
    return FoundRecord(
        id=found.item.id,
        text=found.text,
        type="turn" if isinstance(found.item, Turn) else episode,
        at=found.at,
        score=round(found.score, 3),
    )


def change_record(entry: LedgerEntry) -> ChangeRecord:
    """Return the record of a ledger entry for a model."""
    return ChangeRecord(
        id=entry.id,
        op=entry.op,
        memory_ids=list(entry.memory_ids),
        before=[change.before.content for change in entry.changes if change.before],
        after=[change.after.content for change in entry.changes],
        at=entry.at,
        by=entry.by.who,
        reason=entry.reason,
        done=entry.refused is None and not entry.waits,
        why_not=entry.detail,
        undone=entry.undone_by is not None,
    )


class Who(NamedTuple):
    """A user and a persona."""

    user_id: str
    agent_id: str | None = None
    """The persona, which limits the memories; `None` means all memories of the user."""


Resolve = Callable[[Context[Any, Any], str | None], Who]
"""Returns the user and persona of a request; the second argument is the user that it names."""
Method = Callable[..., Awaitable[Any]]

_FAILED = "the memory failed at this call, its log says where: go on without it"
NO_USER = None
USER = Annotated[str, Field(description="The id of the user whose memories are meant.")]
OPTIONAL_USER = Annotated[
    str | None,
    Field(description="The id of the user whose memories are meant; omit it for your own."),
]


def check_who(user_id: object, agent_id: str | None) -> Who:
    """Return valid ids as a Who. Raises InputError."""
    return Who(check_id(user_id), None if agent_id is None else check_id(agent_id, "agent_id"))


def tool_function(method: Method, resolve: Resolve, user_type: Any) -> Method:
    """Return the function of a tool that calls a method with the Who of the request.

    `user_type` is the type of the tool's argument `user_id`: USER, OPTIONAL_USER or NO_USER. Errors
    of Souffleur become errors that the calling model reads.
    """

    async def call(context: Context[Any, Any], **given: Any) -> Any:
        named = given.pop("user_id", None)
        try:
            return await method(resolve(context, named), **given)
        except SouffleurError as error:
            raise ToolError(str(error)) from error
        except Exception as error:  # noqa: BLE001  its text may quote the talk
            logger.error("a tool failed: {}", describe(error))
            trace_bug(logger, error)
            raise ToolError(_FAILED) from None

    signature = inspect.signature(method, eval_str=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", kind, annotation=Context[Any, Any])]
    if user_type is not NO_USER:
        default = inspect.Parameter.empty if user_type is USER else None
        parameters.append(inspect.Parameter("user_id", kind, annotation=user_type, default=default))
    parameters += [one.replace(kind=kind) for one in [*signature.parameters.values()][1:]]
    types = {one.name: one.annotation for one in parameters}
    described: Any = call
    described.__name__ = getattr(method, "__name__", "")
    described.__doc__ = inspect.getdoc(method)
    described.__signature__ = signature.replace(parameters=parameters)
    described.__annotations__ = {**types, "return": signature.return_annotation}
    return call


REASON = "asked for through MCP"
MAX_PAGE = 200
_ENTRIES = 500
"""Number of ledger entries that are read at once."""

MemoryId = Annotated[str, Field(description="The id of a memory.")]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Maximum number of results.")]
Where = Literal["memories", "episodes", "turns"]


class Tools:
    """The tools of a server; the first argument of each is the user and persona."""

    def __init__(self, memory: Any) -> None:
        """`memory` is a Souffleur or an AsyncClient."""
        self._memory = memory

    async def add_memory(
        self,
        who: Who,
        text: Annotated[
            str,
            Field(
                description="One self-contained sentence about the user, in the third person, "
                "with absolute dates: 'Ann moved to Oslo in May 2026.'"
            ),
        ],
        kind: Annotated[Kind, Field(description="What it is about.")] = Kind.FACT,
    ) -> ChangeRecord:
        """Remember one lasting fact about the user.

        Use it when the user asks you to remember something, or tells you what will matter in later
        conversations. Do not store small talk, your own guesses, secrets or what is known already:
        such a change is refused, and `why_not` says why. To correct what is known, use
        update_memory.
        """
        (entry,) = await self._memory.remember(text, **_named(who), kind=kind, reason=REASON)
        return change_record(entry)

    async def search_memories(
        self,
        who: Who,
        query: Annotated[str, Field(description="What to look for, in a few words.")],
        scope: Annotated[
            list[Where],
            Field(
                min_length=1,
                description="memories: facts about the user; episodes: summaries of past "
                "conversations; turns: what was said, word for word.",
            ),
        ] = ["memories"],  # noqa: B006  never changed, and shown in the schema
        limit: Limit = 10,
    ) -> FoundList:
        """Find what is remembered about a topic, best match first.

        Use it before you answer whenever something about the user could matter. For a question
        about a time ("what did we talk about last week?"), use ask.
        """
        await self._need_memory(who)
        found = await self._memory.search(query, **_ids(who), scope=scope, limit=limit)
        return FoundList(results=[found_record(one) for one in found if round(one.score, 2) > 0])

    async def get_memories(
        self,
        who: Who,
        kind: Annotated[Kind | None, Field(description="Only this kind.")] = None,
        limit: Limit = 50,
        offset: Annotated[int, Field(ge=0, description="Number of memories to skip.")] = 0,
    ) -> MemoryList:
        """List what is remembered about the user, oldest first, in pages."""
        await self._need_memory(who)
        known = await self._memory.list(**_ids(who), kind=kind)
        page = known[offset : offset + limit]
        return MemoryList(memories=[memory_record(one) for one in page], total=len(known))

    async def get_memory(self, who: Who, memory_id: MemoryId) -> MemoryRecord:
        """Get one memory with the words that it rests on."""
        return memory_record(await self._known(who, memory_id))

    async def update_memory(
        self,
        who: Who,
        memory_id: MemoryId,
        text: Annotated[str, Field(description="The new sentence, whole.")],
    ) -> ChangeRecord:
        """Replace the words of a memory, when the user corrects it. Can be undone."""
        await self._known(who, memory_id)
        return change_record(await self._memory.edit(memory_id, text, user_id=who.user_id))

    async def delete_memory(self, who: Who, memory_id: MemoryId) -> ChangeRecord:
        """Forget one memory, when the user asks for it. Can be undone."""
        await self._known(who, memory_id)
        return await self._forget(who, memory_id)

    async def delete_all_memories(self, who: Who) -> ChangeList:
        """Forget everything that is remembered about the user.

        Only when the user clearly asks for all of it. Each change can be undone by its id.
        """
        states = (MemoryState.ACTIVE, MemoryState.PENDING)
        known = [one for s in states for one in await self._memory.list(**_ids(who), state=s)]
        return ChangeList(changes=[await self._forget(who, one.id) for one in known])

    async def history(self, who: Who, memory_id: MemoryId) -> ChangeList:
        """Show how a memory came about: each change, who decided it, when and why."""
        await self._known(who, memory_id)
        entries = await self._memory.history(memory_id, user_id=who.user_id)
        return ChangeList(changes=[change_record(one) for one in entries])

    async def undo(
        self, who: Who, change_id: Annotated[str, Field(description="The id of a change.")]
    ) -> ChangeRecord:
        """Take back one change, by the id that the change or `history` has."""
        await self._need_known_change(who, change_id)
        return change_record(await self._memory.undo(change_id, user_id=who.user_id))

    async def ask(
        self,
        who: Who,
        question: Annotated[
            str,
            Field(description="A question in words, such as 'What did we plan last week?'"),
        ],
        limit: Limit = 8,
        think: Annotated[
            bool,
            Field(
                description="Let the memory's own model search and answer, for a question that one "
                "search does not answer; takes some seconds."
            ),
        ] = False,
    ) -> PastRecord:
        """Find what was talked about at the time that a question names, or about its topic."""
        await self._need_memory(who)
        past = await self._memory.ask(question, **_named(who), limit=limit, think=think)
        return PastRecord(
            since=past.since,
            until=past.until,
            results=[found_record(one) for one in past.found],
            error=past.error,
            answer=past.thought.answer or None if past.thought else None,
        )

    async def _need_memory(self, who: Who) -> None:
        """Raise MemoryOffError if the user allows no lookup for a reply."""
        if (await self._memory.preferences(user_id=who.user_id)).keeps_out:
            raise MemoryOffError("the user has turned the memory off: answer without it")

    async def _forget(self, who: Who, memory_id: str) -> ChangeRecord:
        entries = await self._memory.forget(memory_id, user_id=who.user_id, reason=REASON)
        return change_record(entries[0])

    async def _need_known_change(self, who: Who, change_id: str) -> None:
        """Raise NotFoundError if the change is of a memory that the persona may not know."""
        if who.agent_id is None:
            return
        after = 0
        while page := await self._memory.ledger(user_id=who.user_id, after=after, limit=_ENTRIES):
            for entry in (one.entry for one in page if one.entry.id == change_id):
                for memory_id in entry.memory_ids:
                    await self._known(who, memory_id)
                return
            after = page[-1].seq

    async def _known(self, who: Who, memory_id: str) -> Memory:
        """Return a memory that the persona may know. Raises NotFoundError."""
        found: Memory = await self._memory.get(memory_id, user_id=who.user_id)
        if who.agent_id is not None:
            cast = await self._memory.cast(user_id=who.user_id, agent_id=who.agent_id)
            if not knows(cast.sphere(who.agent_id), found.sphere):
                raise NotFoundError(f"there is no memory with the id {memory_id!r}")
        return found


def _ids(who: Who) -> dict[str, str | None]:
    return {"user_id": who.user_id, "agent_id": who.agent_id}


def _named(who: Who) -> dict[str, str]:
    """Return the ids that are set; a method has its own default for the persona."""
    return {name: id for name, id in _ids(who).items() if id is not None}
