"""What tests build their scenes from: memories, verdicts, and a store in a folder."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from souffleur.knowledge import decay
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    LedgerEntry,
    Op,
    Said,
    Verdict,
    derive_id,
)
from souffleur.knowledge.policy import COMPANION, Policy
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.search.embedding_models import HashEmbeddings
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.engine.collection import Filter, read_all
from souffleur.knowledge.store.opening import Opener, open_knowledge
from souffleur.knowledge.turn import Turn, turn_point_id
from tests.place import located

NOW = datetime(2026, 1, 3, 10, 0, tzinfo=UTC)


def days(count: float) -> timedelta:
    """That many days."""
    return timedelta(days=count)


def memory(content: str = "Ann likes tea.", policy: Policy = COMPANION, **fields: Any) -> Memory:
    """A memory made at NOW, with its due time set."""
    base: dict[str, Any] = {
        "id": derive_id("test", content),
        "user_id": "ann",
        "content": content,
        "anchor_at": NOW,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return decay.scheduled(Memory(**{**base, **fields}), policy)


def turn(
    user: str, assistant: str = "", *, turn_id: str = "1", user_id: str = "ann", **fields: Any
) -> Turn:
    """A turn of session s1 at NOW."""
    base: dict[str, Any] = {
        "id": turn_point_id(user_id, "default", "s1", turn_id),
        "turn_id": turn_id,
        "user_id": user_id,
        "session_id": "s1",
        "at": NOW,
        "user": user,
        "assistant": assistant,
    }
    return Turn(**{**base, **fields})


def verdict(
    *ops: Op,
    user: str = "",
    assistant: str = "",
    who: ActorKind = ActorKind.MONITOR,
    name: object = "v1",
    **fields: Any,
) -> Verdict:
    """A verdict on one turn in which `user` and `assistant` said so."""
    said = [(Speaker.USER, user), (Speaker.ASSISTANT, assistant)]
    base: dict[str, Any] = {
        "id": derive_id("test verdict", name),
        "user_id": "ann",
        "by": Actor(who=who),
        "at": NOW,
        "ops": ops,
        "said": [Said(turn_id="t1", speaker=s, text=text, at=NOW) for s, text in said if text],
        "called": ("Ann", "Mo"),
    }
    return Verdict(**{**base, **fields})


async def open_base(
    folder: Path,
    policy: Policy = COMPANION,
    *,
    require_confirmation: bool = False,
    dimension: int = 128,
    opener: Opener | None = None,
) -> KnowledgeBase:
    """A store in a folder, with the embedder that needs no model."""
    embedder = make_embedder(f"hash:{dimension}")
    return await open_knowledge(
        located(folder),
        embedder,
        policy,
        require_confirmation=require_confirmation,
        opener=opener,
    )


def an_add(content: str = "Ann likes green tea.", **fields: Any) -> Add:
    """An ADD without a quote."""
    return Add(**{"reason": "new", "quote": "", "content": content, **fields})


async def keep(base: KnowledgeBase, content: str = "Ann likes green tea.", **fields: Any) -> Memory:
    """Have a memory in the store."""
    told = verdict(an_add(content, **fields), who=ActorKind.HOST, name=content)
    (outcome,) = await base.apply(told)
    return outcome.changes[0].after


async def fill(base: KnowledgeBase, *memories: Memory) -> None:
    """Put memories into the store as they are."""
    vectors = await base.embedder.embed([one.searchable for one in memories])
    await base.memories.put([to_point(one, v) for one, v in zip(memories, vectors, strict=True)])


async def words_of(knowledge: KnowledgeBase) -> str:
    """Every word in the store."""
    both = (knowledge.memories, knowledge.journal.collection)
    found = [point.payload for one in both for point in await read_all(one, Filter())]
    return json.dumps(found, ensure_ascii=False)


async def by_hand(base: KnowledgeBase, op: Any, **fields: Any) -> LedgerEntry:
    """Have the user do something."""
    (outcome,) = await base.apply(verdict(op, who=ActorKind.USER, name=(op, fields), **fields))
    return outcome


class Sulking(Embeddings):
    """Embeddings that can be put out of order."""

    well = True

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self.well:
            raise RuntimeError("out of order")
        return HashEmbeddings(64).embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
