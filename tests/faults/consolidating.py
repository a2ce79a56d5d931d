"""A consolidation that kills itself before a given write, over a store that a test has filled."""

import asyncio
import random
import re
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from souffleur.agents.consolidator import Consolidator
from souffleur.agents.model.chat import Request
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.grouping import find_groups
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import derive_id
from tests.build import NOW, days, memory
from tests.faults.reviewing import PERSONA, ROUNDS, deadly
from tests.scripted import Answer, Scripted

LATER = NOW + days(120)
"""When all of it is old enough."""
TOPICS = (
    ("tea", "Ann drank {} cups of tea.", (2, 4, 6)),
    ("garden", "In the garden grow {} plums.", (30, 31, 32, 33)),
    ("running", "She ran {} kilometres before work.", (3, 5, 8, 13, 21)),
    ("chess", "Ann won {} games of chess.", (7, 9, 11)),
)
"""Of each group what it is about, a sentence, and the detail that no other one has."""
GROUPS = len(TOPICS)
"""Of each user."""


def notes(users: int) -> list[Memory]:
    """Four groups of three to five old memories of each user."""
    made = []
    for user_id in (f"user{number}" for number in range(users)):
        for topic, sentence, details in TOPICS:
            for place, detail in enumerate(details):
                content = sentence.format(detail)
                at = NOW + timedelta(hours=place)
                made.append(
                    memory(
                        content,
                        id=derive_id(user_id, content),
                        user_id=user_id,
                        topics=(topic, f"{topic} at home"),
                        created_at=at,
                        anchor_at=at,
                    )
                )
    return made


def model(chance: random.Random) -> Scripted:
    """Puts the memories one after the other, in another order each life; or errs, or fails."""

    def answered(request: Request) -> Answer:
        question = "\n".join(message.content for message in request.messages)
        shown = dict(re.findall(r"^(m\d+) \[[^]]*\] (.+)$", question, re.MULTILINE))
        handles = chance.sample(sorted(shown), k=len(shown))
        told = " ".join(shown[handle] for handle in handles)
        lossy = {"from": handles, "content": shown[handles[0]]}
        whole = {"from": handles, "content": told}
        good: Answer = {"reason": "alike", "merged": [whole], "left": []}
        lost: Answer = {"reason": "alike", "merged": [lossy], "left": []}
        return chance.choice([good, good, good, lost, "I cannot.", EndpointError("busy")])

    return Scripted(answered)


async def consolidate(knowledge: KnowledgeBase, chance: random.Random) -> None:
    """Until there is no group any more."""
    agent = Consolidator(Context(StructuredChat(model(chance)), knowledge, PERSONA))
    users = sorted({one.user_id for one in await knowledge.list(None)})
    for _ in range(ROUNDS):
        found = [one for user_id in users for one in await find_groups(knowledge, user_id, LATER)]
        if not found:
            return
        for group in found:
            with suppress(AnswerError, EndpointError):
                await agent.run(group, now=LATER)
    raise RuntimeError("some groups are still there")


async def _main(folder: Path, writes: int, seed: int) -> None:
    knowledge = await deadly(folder, writes)
    print("open", flush=True)
    await consolidate(knowledge, random.Random(seed))
    await knowledge.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
