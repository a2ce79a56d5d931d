"""A process that is killed: it writes without pause, and notes what was accepted."""

import asyncio
import random
import sys
import uuid
from pathlib import Path

from souffleur.knowledge.store.engine.collection import CollectionSchema, Filter, Point, Sparse
from souffleur.knowledge.store.engine.edge import EdgeCollection

LAYOUT = CollectionSchema(
    "points", 4, {"user_id": "tenant", "revision": "integer", "mark": "integer"}
)


def point(id: str, revision: int) -> Point:
    """A point of that revision."""
    payload = {"user_id": "ann", "revision": revision, "mark": 0, "written_by": f"w{revision}"}
    return Point(id, payload, (1.0, 0.0, 0.0, 0.0), Sparse((1, 2), (1.0, 1.0)))


async def write(folder: Path, log: Path, seed: int) -> None:
    """Insert, replace, mark and flush in random order, for ever."""
    chance = random.Random(seed)
    points = EdgeCollection.open(folder, LAYOUT, checkpoint_after=chance.choice((30, 10**6)))
    known = {p.id: p.payload["revision"] for p in (await points.scroll(Filter(), limit=10**6))[0]}
    with log.open("a", buffering=1) as accepted:
        while True:
            draw = chance.random()
            if draw < 0.4 or not known:
                id, revision = str(uuid.UUID(int=chance.getrandbits(128))), 1
                await points.put([point(id, revision)])
            else:
                id = chance.choice(list(known))
                revision = known[id] + 1
                if draw < 0.8:
                    assert await points.replace(point(id, revision), revision=known[id])
                else:
                    await points.merge_payload([id], {"mark": revision, "revision": revision})
            known[id] = revision
            accepted.write(f"{id} {revision}\n")
            if draw > 0.97:
                await points.flush()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
