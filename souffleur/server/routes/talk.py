"""Routes on talk: recall, observe, the end of a session, questions about the past, episodes."""

from typing import Annotated

from fastapi import APIRouter, Query

from souffleur.knowledge.identity import MAX_ID_LENGTH
from souffleur.knowledge.memory import Memory as OneMemory
from souffleur.knowledge.store.erasing import Erased
from souffleur.lookup import MAX_LIMIT
from souffleur.recall.compose import Recall
from souffleur.recall.gather import Past
from souffleur.server.access import Memory, Owner, Talker
from souffleur.server.schemas import Answered, AskBody, ObserveBody, RecallBody, SessionBody
from souffleur.service.intake import Receipt

router = APIRouter(prefix="/api", tags=["talk"])
TurnId = Annotated[str, Query(max_length=MAX_ID_LENGTH, examples=["msg-17"])]


@router.post("/recall")
async def recall(memory: Memory, whose: Talker, body: RecallBody) -> Recall:
    """Return what to remember for a reply; `error` says what may be missing."""
    return await memory.recall(
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        text=body.text,
        at=body.at,
        incognito=body.incognito,
    )


@router.post("/turns")
async def observe(memory: Memory, whose: Talker, body: ObserveBody) -> Receipt:
    """Store a turn, to be judged in the background; the same `turn_id` is one turn."""
    return memory.observe(
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        user=body.user,
        assistant=body.assistant,
        whisper=body.whisper,
        turn_id=body.turn_id,
        at=body.at,
        incognito=body.incognito,
        rewound=body.rewound,
    )


@router.delete("/turns")
async def erase_turn(memory: Memory, user_id: Owner, turn_id: TurnId) -> Erased:
    """Erase the words of one turn everywhere, and what rests on it alone, for good."""
    return await memory.erase_turn(turn_id, user_id=user_id)


@router.post("/sessions/end")
async def end_session(memory: Memory, whose: Talker, body: SessionBody) -> Answered:
    """End a session: what is left of it becomes an episode. Whether anything was left."""
    agent_id = whose.agent_id or "default"
    return Answered(
        memory.end_session(user_id=whose.user_id, session_id=body.session_id, agent_id=agent_id)
    )


@router.post("/ask")
async def ask(memory: Memory, whose: Talker, body: AskBody) -> Past:
    """Find what was talked about at the time that a text names, or its topic."""
    return await memory.ask(
        body.text,
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        at=body.at,
        limit=body.limit,
    )


@router.get("/episodes")
async def episodes(
    memory: Memory, whose: Talker, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 10
) -> list[OneMemory]:
    """List the latest episodes, newest first."""
    return await memory.episodes(user_id=whose.user_id, agent_id=whose.agent_id, limit=limit)
