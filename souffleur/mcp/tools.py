"""The tools: what a client may look up, and change. All of it goes through Souffleur's methods."""

from typing import Annotated, Any, Literal

from pydantic import Field

from souffleur.errors import MemoryOffError, NotFoundError
from souffleur.knowledge.identity import knows
from souffleur.knowledge.memory import Kind, Memory, MemoryState
from souffleur.mcp.records import (
    ChangeList,
    ChangeRecord,
    FoundList,
    MemoryList,
    MemoryRecord,
    PastRecord,
    change_record,
    found_record,
    memory_record,
    past_record,
)
from souffleur.mcp.whose import Who

REASON = "asked for through MCP"
MAX_PAGE = 200
_ENTRIES = 500
"""Ledger entries that are read at a time."""

MemoryId = Annotated[str, Field(description="The id of a memory.")]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Maximum number of results.")]
Where = Literal["memories", "episodes", "turns"]


class Tools:
    """The tools of a server; the first argument of each says whose memories are meant."""

    def __init__(self, memory: Any) -> None:
        """`memory` is a Souffleur, or a client with the same methods."""
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
        persona = {} if who.agent_id is None else {"agent_id": who.agent_id}
        (entry,) = await self._memory.remember(
            text, user_id=who.user_id, kind=kind, reason=REASON, **persona
        )
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
    ) -> PastRecord:
        """Find what was talked about at the time that a question names, or about its topic."""
        persona = {} if who.agent_id is None else {"agent_id": who.agent_id}
        await self._need_memory(who)
        past = await self._memory.ask(question, user_id=who.user_id, limit=limit, **persona)
        return past_record(past)

    async def _need_memory(self, who: Who) -> None:
        """Raise MemoryOffError if the user wants nothing to be looked up for a reply."""
        if (await self._memory.preferences(user_id=who.user_id)).keeps_out:
            raise MemoryOffError("the user has turned the memory off: answer without it")

    async def _forget(self, who: Who, memory_id: str) -> ChangeRecord:
        entries = await self._memory.forget(memory_id, user_id=who.user_id, reason=REASON)
        return change_record(entries[0])

    async def _need_known_change(self, who: Who, change_id: str) -> None:
        """Raise NotFoundError for a change of a memory that the persona may not know."""
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
        """Return a memory that the user has and the persona may know. Raises NotFoundError."""
        found: Memory = await self._memory.get(memory_id, user_id=who.user_id)
        if who.agent_id is not None:
            cast = await self._memory.cast(user_id=who.user_id, agent_id=who.agent_id)
            if not knows(cast.sphere(who.agent_id), found.sphere):
                raise NotFoundError(f"there is no memory with the id {memory_id!r}")
        return found


def _ids(who: Who) -> dict[str, str | None]:
    return {"user_id": who.user_id, "agent_id": who.agent_id}
