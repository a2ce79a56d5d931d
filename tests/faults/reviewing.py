"""A review that kills itself before a given write, over a store that a test has filled."""

import asyncio
import random
import re
import sys
from pathlib import Path

from souffleur.agents.brief import Persona
from souffleur.agents.model.chat import Request
from souffleur.agents.reviewer import MemoryReviewer
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Due, Memory
from souffleur.knowledge.operation import derive_id
from souffleur.service.model_runs import run_review
from souffleur.service.run import RunOptions
from tests.build import NOW, days, memory, open_base
from tests.faults.teller import Countdown, Deadly
from tests.scripted import Answer, Scripted

LATER = NOW + days(40)
"""When every plain fact of NOW is due for review."""
ASKED = (Due.PROMOTION, Due.REVIEW)
USERS = ("ann", "bob", "cem")
PERSONA = Persona(user="Ann", assistant="Mo")
ROUNDS = 50
"""More than enough, although a model fails now and then: who is not done by then never will be."""


def things(each: int) -> list[Memory]:
    """So many of each user: valued and faded ones that are due, and every fifth that is not."""
    made = []
    for user_id in USERS:
        for place in range(each):
            kind = [("fact", 1.0, 40), ("fact", 2.6, 1), ("skill", 0.6, 99), ("fact", 0.4, 2)]
            category, value, age = [*kind, ("core", 3.0, 40)][place % 5]
            content = f"{user_id.title()} likes thing {place}."
            made.append(
                memory(
                    content,
                    id=derive_id(user_id, content),
                    user_id=user_id,
                    category=Category(category),
                    importance=value,
                    anchor_at=LATER - days(age),
                    created_at=LATER - days(age),
                )
            )
    return made


def model(chance: random.Random) -> Scripted:
    """Decides as it pleases, each life anew; looks something up first, or fails, now and then."""

    def answered(request: Request) -> Answer:
        if chance.random() < 0.1:
            return EndpointError("busy")
        if len(request.messages) == 2 and chance.random() < 0.2:
            return {"reason": "unsure", "query": "thing"}
        decisions = [_decision(chance, *one) for one in _asked(request)]
        return {"reason": "because", "decisions": decisions}

    return Scripted(answered)


def _asked(request: Request) -> list[tuple[str, str]]:
    """The handles of a question, and what is asked about each."""
    return re.findall(r"(?m)^(m\d+) \((core|stay)\?", request.messages[1].content)


def _decision(chance: random.Random, handle: str, question: str) -> dict[str, str]:
    may = ["KEEP", "DELETE", *(["PROMOTE"] if question == "core" else [])]
    return {"id": handle, "reason": "because", "action": chance.choice(may)}


async def deadly(folder: Path, writes: int) -> KnowledgeBase:
    """The store, which kills its process before one of its writes, recovered as at each start."""
    base, count = await open_base(folder, dimension=64), Countdown(writes)
    base.journal.collection = Deadly(base.journal.collection, count)
    memories = Deadly(base.memories, count)
    knowledge = KnowledgeBase(memories, base.journal, base.embedder, base.policy)
    await knowledge.recover()
    return knowledge


async def review(knowledge: KnowledgeBase, chance: random.Random) -> None:
    """Runs until nothing is due any more: each may delete a few only, and leaves what failed."""
    reviewer = MemoryReviewer(Context(StructuredChat(model(chance)), knowledge, PERSONA))
    for _ in range(ROUNDS):
        if not await knowledge.count_due(LATER, ASKED):
            return
        await run_review(knowledge, reviewer, RunOptions(LATER))
    raise RuntimeError("some are still due")


async def _main(folder: Path, writes: int, seed: int) -> None:
    knowledge = await deadly(folder, writes)
    print("open", flush=True)
    await review(knowledge, random.Random(seed))
    await knowledge.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
