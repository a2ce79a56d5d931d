"""Routes on removal for good: a topic, by its preview; one memory; the bytes of what is gone."""

from fastapi import APIRouter

from souffleur.knowledge.forgetting.topic import TopicPreview
from souffleur.knowledge.store.topics import Forgotten
from souffleur.server.access import Memory, Owner
from souffleur.server.schemas import EraseBody, TopicBody, TopicPreviewBody

router = APIRouter(prefix="/api", tags=["removal"])


@router.post("/forget/preview")
async def preview_topic(memory: Memory, user_id: Owner, body: TopicPreviewBody) -> TopicPreview:
    """Show what tells of a topic, and what rests on it; nothing changes."""
    return await memory.preview_topic(body.topic, user_id=user_id, at=body.at)


@router.post("/forget")
async def forget_topic(memory: Memory, user_id: Owner, body: TopicBody) -> Forgotten:
    """Forget, for good, what was chosen of a preview by its ids, and nothing else."""
    return await memory.forget_topic(body.topic, user_id=user_id, ids=body.ids, at=body.at)


@router.post("/memories/{memory_id}/erase")
async def erase_memory(
    memory: Memory, user_id: Owner, memory_id: str, body: EraseBody | None = None
) -> Forgotten:
    """Erase a memory for good, with its words in quotations, ledger, episodes and portrait."""
    turns = bool(body and body.turns)
    return await memory.erase_memory(memory_id, user_id=user_id, turns=turns)


@router.post("/compact")
async def compact(memory: Memory) -> list[str]:
    """Rewrite the files of the store; return where bytes of what is deleted stay nevertheless."""
    return await memory.compact()
