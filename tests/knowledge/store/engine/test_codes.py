"""A search that selects by codes finds what one by the vectors themselves finds."""

from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from souffleur.knowledge.store.engine.collection import CollectionSchema, Filter, Is, Point, Search
from souffleur.knowledge.store.engine.edge import EdgeCollection

SIZE, DIMENSION = 3000, 64


@pytest.mark.parametrize("limit", [1, 40, 200])
async def test_the_nearest_are_those_by_the_vectors(tmp_path: Path, limit: int) -> None:
    """Points that lie close together are found with the cosines of their vectors, best first."""
    random = np.random.default_rng(3)
    middles = random.standard_normal((30, DIMENSION))
    vectors = middles[np.arange(SIZE) % 30] + 0.4 * random.standard_normal((SIZE, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    collection = EdgeCollection.open(
        tmp_path, CollectionSchema("memories", DIMENSION, {"user_id": "tenant"})
    )
    await collection.put(
        [
            Point(str(UUID(int=n)), {"user_id": "ann" if n % 3 else "bob"}, tuple(vector))
            for n, vector in enumerate(vectors.tolist())
        ]
    )
    mine = np.arange(SIZE) % 3 > 0
    ann = Filter((Is("user_id", "ann"),))
    asked = middles[:10] / np.linalg.norm(middles[:10], axis=1, keepdims=True)
    found = await collection.search([Search(tuple(one), ann, limit) for one in asked.tolist()])
    for vector, hits in zip(asked, found, strict=True):
        cosines = np.where(mine, vectors @ vector, -1.0)
        nearest = np.argsort(-cosines)[:limit]
        assert [UUID(hit.point.id).int for hit in hits] == nearest.tolist()
        assert np.allclose([hit.score for hit in hits], cosines[nearest], atol=1e-6)
    await collection.close()
