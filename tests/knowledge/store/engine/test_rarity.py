"""Servers that count the rarity of terms over the whole collection only."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from souffleur.errors import StoreError
from souffleur.knowledge.store.engine.collection import Filter, Hit, Is, Point, Search, Sparse
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.engine.rarity import Rarity, Words
from souffleur.knowledge.store.engine.server import ServerCollection
from tests.knowledge.store.engine.test_collection import LAYOUT, Older, name, number, point

WHOLE = Filter((Is("user_id", "u0"),))
ASKED = Search(Sparse((1, 2), (1.0, 1.0)), WHOLE, idf_within=WHOLE)


@asynccontextmanager
async def opened(version: str) -> AsyncIterator[ServerCollection]:
    """A collection of a server that says to have this version."""

    class Server(Older):
        told = version

    client = Server(":memory:")
    yield await ServerCollection.open("http://q", LAYOUT, client=client)
    client.close()


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeCollection]:
    collection = EdgeCollection.open(tmp_path_factory.mktemp("edge"), LAYOUT)
    yield collection
    asyncio.run(collection.close())


def some_points() -> list[Point]:
    """Points of a user who speaks of one thing, and of two who speak of others."""
    chance = random.Random(7)
    made = []
    for n in range(240):
        user = n % 3
        terms = tuple(sorted({int(chance.paretovariate(0.6)) * (user + 1) % 60 for _ in range(6)}))
        words = Sparse(terms, tuple(chance.uniform(0.5, 2.0) for _ in terms))
        made.append(
            replace(point(n, {"user_id": f"u{user}"}, lexical=words), cue_words=words)
            if n % 5
            else point(n, {"user_id": f"u{user}"}, lexical=words)
        )
    return made


@pytest.mark.parametrize("by_cues", [False, True])
async def test_an_older_server_ranks_like_the_embedded_engine(
    edge: EdgeCollection, by_cues: bool
) -> None:
    """Hits, their order and their scores are the same as where a user's rarity is counted."""
    points = some_points()
    await edge.put(points)
    asks = [
        Search(Sparse(terms, (1.0, 0.5, 1.0)), mine, idf_within=mine, limit=12, by_cues=by_cues)
        for mine in (Filter((Is("user_id", f"u{user}"),)) for user in range(3))
        for terms in ((1, 2, 3), (2, 4, 6), (3, 10, 57))
    ]
    async with opened("1.18.1") as older:
        await older.put(points)
        ours, theirs = await edge.search(asks), await older.search(asks)
    assert any(ours)
    for mine, other in zip(ours, theirs, strict=True):
        assert [hit.score for hit in other] == pytest.approx([hit.score for hit in mine], rel=1e-4)
        assert by_score(other[:-1]) <= by_score(mine)
    assert all(hit.point.lexical is None for hits in theirs for hit in hits)


def by_score(hits: list[Hit]) -> set[tuple[int, float]]:
    """Numbers of the points, with their scores."""
    return {(number(hit.point), round(hit.score, 3)) for hit in hits}


@pytest.mark.parametrize(
    ("version", "remark"),
    [("1.18.1", "version 1.18.1 .* 1.19"), ("1.19.0", "^$"), ("1.20.0-dev", "^$"), ("", "unknown")],
)
async def test_a_server_says_what_it_lacks(version: str, remark: str) -> None:
    """An older one is told by its version, and one whose version is unknown is taken for one."""
    async with opened(version) as collection:
        assert re.search(remark, collection.remark)


async def test_a_server_that_ignores_conditions_is_refused() -> None:
    """One before 1.18 is not opened, and nothing is created on it."""
    with pytest.raises(StoreError, match=r"version 1\.17\.1.*upgrade it to 1\.19"):
        async with opened("1.17.1"):
            pass


class Corpus:
    """A corpus of points with one term each, which counts how often it is read."""

    def __init__(self, size: int, total: int | None = None) -> None:
        words = [Sparse((n % 2 + 1,), (1.0,)) for n in range(size)]
        self.points = [Point(name(n), {}, lexical=one) for n, one in enumerate(words)]
        self.total = total or size
        self.read = 0

    async def words(self, corpus: Filter, limit: int) -> Words:
        self.read += 1
        return Words(self.points[:limit], self.total)


async def ranked(rarity: Rarity, corpus: Corpus, writes: int = 0) -> list[float]:
    hits = [Hit(one, 1.0) for one in corpus.points[:2]]
    (found,) = await rarity.rescore([ASKED], [hits], writes=writes)
    return [hit.score for hit in found]


async def test_rarity_in_many_points_is_extrapolated() -> None:
    """From a tenth of the points, rarity is about what it is among all of them."""
    part, all_of_them = Corpus(100, total=1000), Corpus(1000)
    found = await ranked(Rarity(part.words), part)
    assert found == pytest.approx(await ranked(Rarity(all_of_them.words), all_of_them), rel=1e-3)


@pytest.mark.parametrize(("size", "again"), [(20, 2), (1000, 1)])
async def test_a_small_corpus_is_counted_after_each_write(size: int, again: int) -> None:
    """In a large one, a write changes little; without writes, both are read once."""
    corpus = Corpus(size)
    rarity = Rarity(corpus.words, lambda: 0.0)
    for _ in range(3):
        await ranked(rarity, corpus, writes=1)
    assert corpus.read == 1
    await ranked(rarity, corpus, writes=2)
    assert corpus.read == again


async def test_counts_are_believed_for_a_time() -> None:
    """What another process writes is counted soon: sooner where fewer points are to be read."""
    corpus, times = Corpus(100), iter([0.0, 5.9, 6.1])
    rarity = Rarity(corpus.words, lambda: next(times))
    reads = []
    for _ in range(3):
        await ranked(rarity, corpus)
        reads.append(corpus.read)
    assert reads == [1, 1, 2]
