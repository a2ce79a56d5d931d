"""A cached collection answers as the collection itself, whatever is written meanwhile."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from souffleur.errors import StoreError
from souffleur.knowledge.store.engine.cache import READ_FIRST, CachedCollection
from souffleur.knowledge.store.engine.collection import (
    AnyOf,
    Between,
    CollectionSchema,
    Filter,
    Hit,
    Is,
    Listing,
    Missing,
    OneOf,
    Order,
    Payload,
    Point,
    Search,
    Sparse,
)
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.engine.memo import (
    DECODED_KEPT,
    IDLE,
    POINTS_HELD,
    POINTS_KEPT,
    SHARED_LIFE,
    Memo,
)
from tests.counted import Tripped

LAYOUT = CollectionSchema(
    "memories",
    3,
    {
        "user_id": "tenant",
        "state": "keyword",
        "labels": "keyword",
        "sphere": "keyword",
        "due_at": "datetime",
        "rank": "float",
    },
    cues=True,
)
NOON = datetime(2026, 1, 3, 12, 0, tzinfo=UTC)
ON = Is("state", "on")
ANN = Filter((Is("user_id", "ann"), ON))
UP = (0.0, 0.0, 1.0)


def point(n: int, user_id: str = "ann", **payload: object) -> Point:
    """The numbered point, with vectors that only it has."""
    side = 1 / (n + 2)
    dense = (side, 0.0, (1 - side**2) ** 0.5)
    words = Sparse((1, n + 10), (1.0, 0.5 + n / 10))
    return Point(str(UUID(int=n)), {"user_id": user_id, "state": "on", **payload}, dense, words)


def cued(n: int, user_id: str = "ann", **payload: object) -> Point:
    """The numbered point, with two cues."""
    cues = ((1.0, 0.0, 0.0), (0.0, (1 - 1 / (n + 2) ** 2) ** 0.5, 1 / (n + 2)))
    return replace(point(n, user_id, **payload), cues=cues, cue_words=Sparse((7, n + 20), (1, 2)))


def numbers(points: Sequence[Point]) -> list[int]:
    """The numbers of points."""
    return [UUID(one.id).int for one in points]


def in_memory(collection: EdgeCollection | Tripped) -> CachedCollection:
    """What ranks the points that are on in memory."""
    return CachedCollection(collection, ranked=ON)


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeCollection]:
    """One for all tests."""
    collection = EdgeCollection.open(tmp_path_factory.mktemp("edge"), LAYOUT)
    yield collection
    asyncio.run(collection.close())


@pytest.fixture
async def tripped(edge: EdgeCollection) -> Tripped:
    """An empty collection that counts its round trips."""
    await empty(edge)
    return Tripped(edge)


async def empty(edge: EdgeCollection) -> None:
    """Delete all points, and forget what is known of them."""
    left, _ = await edge.scroll(Filter(), limit=5000)
    await edge.delete([one.id for one in left])
    edge.memo = Memo()


FILTERS = (
    ANN,
    Filter((Is("user_id", "bob"), OneOf("state", ("on",)))),
    Filter(ANN.must, (OneOf("labels", ("tea", "cat")),)),
    Filter((*ANN.must, AnyOf((Missing("sphere"), OneOf("sphere", ("", "*")))))),
    Filter((*ANN.must, Between("due_at", NOON, NOON + timedelta(hours=2)))),
    Filter(ANN.must, (Between("due_at", high=NOON + timedelta(hours=2)),)),
    Filter((*ANN.must, Is("labels", "tea"), Between("rank", low=0.2))),
    Filter((Is("user_id", "ann"), Is("state", "off"))),
    Filter((Is("user_id", "ann"), OneOf("state", ("on", "off")))),
    Filter((*ANN.must, Is("text", "hi"))),
    Filter((ON,)),
)
PAYLOADS: tuple[Payload, ...] = (
    {},
    {"labels": ["tea", "x"], "rank": 0.1, "sphere": "*"},
    {"labels": ["cat"], "rank": 0.3, "due_at": NOON.isoformat(), "sphere": "@mo"},
    {"labels": [], "rank": 0.2, "due_at": (NOON + timedelta(hours=2)).isoformat(), "sphere": None},
    {"labels": ["tea"], "rank": 0.7, "due_at": None, "text": "hi", "sphere": ""},
)


async def compare(cached: CachedCollection, edge: EdgeCollection) -> None:
    """See that every kind of question has the answers of the engine."""
    for one in FILTERS:
        assert await cached.count(one) == await edge.count(one)
        for order in (None, Order("due_at"), Order("rank", descending=True)):
            page = await cached.scroll(one, limit=3, order=order)
            ranks = [found.payload.get("rank") for found in page[0]]
            plain = await edge.scroll(one, limit=3, order=order)
            if order and order.key == "rank":  # equal ranks have no order
                assert ranks == [found.payload.get("rank") for found in plain[0]]
            elif order is None:
                assert page == plain
        corpus = Filter((Is("user_id", one.by_owner[0]), ON)) if one.by_owner[0] else None
        queries = [
            Search(vector, one, 4, corpus if isinstance(vector, Sparse) else None, by_cues)
            for vector in ((0.6, 0.0, 0.8), Sparse((1, 7, 11, 22), (1.0, 0.5, 1.0, 1.0)))
            for by_cues in (False, True)
        ]
        found = zip(await cached.search(queries), await edge.search(queries), strict=True)
        for kept, right in found:
            scores = [hit.score for hit in kept]
            assert scores == pytest.approx([hit.score for hit in right], abs=1e-6)
            assert all(hit.point.payload for hit in kept)


WRITES = st.tuples(
    st.sampled_from(["put", "cued", "merge", "vectors", "delete"]),
    st.integers(0, 6),
    st.sampled_from(["on", "off"]),
    st.sampled_from(PAYLOADS),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(WRITES, min_size=1, max_size=7))
def test_random_writes_show_at_once(
    edge: EdgeCollection, writes: list[tuple[str, int, str, dict[str, object]]]
) -> None:
    """Lists, counts and hits, of users and of all, are those of the collection itself."""

    async def play() -> None:
        await empty(edge)
        cached = in_memory(edge)
        for what, n, state, payload in writes:
            user = ("ann", "bob")[n % 3 == 2]
            make = cued if what == "cued" else point
            if what in {"put", "cued"}:
                await edge.put([make(n, user, **{**payload, "state": state})])
            elif what == "merge":
                await edge.merge_payload([point(n).id], {"state": state, "labels": ["cat"]})
            elif what == "vectors" and await edge.get([point(n).id]):
                await edge.set_vectors([replace(cued(n, user), dense=(0.0, 1.0, 0.0))])
            else:
                await edge.delete([point(n).id])
            await compare(cached, edge)

    asyncio.run(play())


async def look(cached: CachedCollection) -> tuple[list[int], int, int, list[int]]:
    """A list, a count, the use of a point and a search by cues."""
    page, _ = await cached.scroll(ANN, limit=3)
    (hits,) = await cached.search([Search(UP, ANN, by_cues=True)])
    uses = sum(one.payload.get("recalls", 0) for one in await cached.get([point(0).id]))
    return numbers(page), await cached.count(ANN), uses, numbers([hit.point for hit in hits])


async def test_nothing_is_read_twice(tripped: Tripped) -> None:
    """What was read before is not asked for again; of what was written, only that is."""
    cached = in_memory(tripped)
    await tripped.put([cued(0), point(1), point(2, "bob")])
    assert await look(cached) == ([0, 1], 2, 0, [0])
    tripped.trips = 0
    assert await look(cached) == ([0, 1], 2, 0, [0])
    await tripped.put([point(2, "bob")])
    assert await look(cached) == ([0, 1], 2, 0, [0])
    assert tripped.trips == 0
    await tripped.merge_payload([point(0).id], {"recalls": 1})
    assert await look(cached) == ([0, 1], 2, 1, [0])
    assert tripped.trips == 1, "the point; no vectors, as nothing is ranked by its recalls"


async def test_every_way_to_write_shows_at_once(tripped: Tripped) -> None:
    """Put, replaced, merged, deleted: the next read has it."""
    cached = in_memory(tripped)
    seen = []
    writes: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: tripped.put([point(0, revision=1), point(1), point(2, "bob")]),
        lambda: tripped.replace(point(0, revision=2, state="off"), revision=1),
        lambda: tripped.merge_payload([point(0).id], {"state": "on"}),
        lambda: tripped.put([cued(4)]),
        lambda: tripped.delete([point(1).id]),
    )
    for write in writes:
        await write()
        seen.append((await look(cached))[0])
    assert seen == [[0, 1], [1], [0, 1], [0, 1, 4], [0, 4]]
    tripped.put_now([point(5)])
    assert (await look(cached))[0] == [0, 4, 5]


async def test_many_points_are_read_while_the_engine_answers(tripped: Tripped) -> None:
    """The first answers wait for no load; after it, the engine is not asked."""
    many = READ_FIRST + 100
    await tripped.put([cued(n) for n in range(many)])
    cached, near = in_memory(tripped), [Search(UP, ANN, 3, by_cues=True)]

    async def nearest() -> list[int]:
        ((*hits,),) = await cached.search(near)
        return numbers([hit.point for hit in hits])

    assert await nearest() == [0, 1, 2]
    tripped.put_now([cued(0, state="off")])
    while tripped.trips:
        tripped.trips = 0
        await asyncio.sleep(0.01)
        assert await nearest() == [1, 2, 3]
    assert await cached.count(ANN) == many - 1


async def test_rarity_among_other_points_is_counted_by_the_engine(tripped: Tripped) -> None:
    """A search that counts words over fewer points has the engine's scores."""
    await tripped.put([point(0, labels=["tea"]), point(1), point(2)])
    few = Filter((*ANN.must, Is("labels", "tea")))
    query = Search(Sparse((1,), (1.0,)), few, 3, idf_within=few)
    assert await in_memory(tripped).search([query]) == await tripped.search([query])


async def test_what_is_held_is_bounded(edge: EdgeCollection, tripped: Tripped) -> None:
    """Without room the engine answers, until a user was not asked for ten minutes."""
    now = [0.0]
    edge.memo = memo = Memo(clock=lambda: now[0])
    await tripped.put([point(0)])
    memo.hold("bob", LAYOUT).stale = dict.fromkeys(map(str, range(POINTS_HELD)), 0)
    cached = in_memory(tripped)

    async def trips() -> int:
        tripped.trips = 0
        assert await cached.count(ANN) == 1
        return tripped.trips

    assert [await trips(), await trips()] == [2, 2]
    now[0] += IDLE + 1
    assert [await trips(), await trips()] == [3, 0], "a count, a list, the vectors"


async def test_an_index_of_dropped_rows_is_made_anew() -> None:
    """A point that is often written does not fill the memory."""
    memo = Memo()
    worn = memo.hold("ann", LAYOUT)
    for _ in range(200):
        worn.index.put(point(1))
    assert memo.hold("ann", LAYOUT) is not worn


async def test_what_is_written_during_a_read_is_not_remembered_as_it_was(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """A read that began before a write is not taken for what is there after it."""

    class Slow(Tripped):
        async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
            found: list[Point] = await super().get(ids, vectors=vectors)
            edge.put_now([point(1), point(0, state="off")])
            return found

    await edge.put([point(0)])
    await in_memory(Slow(edge)).scroll(ANN, limit=9)
    quiet = in_memory(edge)
    assert numbers((await quiet.scroll(ANN, limit=9))[0]) == [1]
    assert await quiet.count(ANN) == 1
    assert (await quiet.get([point(0).id]))[0].payload["state"] == "off"


async def test_what_was_read_before_a_write_does_not_count_after_it() -> None:
    """A slow read leaves a point stale that was written meanwhile, or that another has read."""
    memo = Memo()
    held = memo.hold("ann", LAYOUT)
    with memo.writing(points=[point(1)]):
        since = held.stale[point(1).id]
    assert not memo.is_read(held, point(1).id, since)
    assert memo.is_read(held, point(1).id, memo.writes)
    assert not memo.is_read(held, point(1).id, memo.writes)


async def test_another_process_is_believed_for_a_short_time_only(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """What someone else writes is seen after some seconds, by its revision; the rest is kept."""
    now = [0.0]
    edge.memo = Memo(life=SHARED_LIFE, clock=lambda: now[0])
    cached = in_memory(tripped)
    await edge.put([point(0, revision=1), point(2, revision=1), point(3, revision=1)])

    async def seen() -> tuple[list[int], int]:
        (hits,) = await cached.search([Search(UP, ANN)])
        (one,) = await cached.get([point(0).id])
        return sorted(numbers([hit.point for hit in hits])), one.payload["revision"]

    assert await seen() == ([0, 2, 3], 1)
    unseen, edge.memo = edge.memo, Memo()  # as another process, which has a memo of its own
    await edge.put([point(0, revision=2), point(1, revision=1)])
    await edge.delete([point(2).id])
    edge.memo = unseen
    assert (await cached.get([point(0).id]))[0].payload["revision"] == 1
    now[0] += SHARED_LIFE
    tripped.trips = 0
    assert await seen() == ([0, 1, 3], 2)
    assert tripped.trips == 4, "a count, the revisions, and what changed: its vectors, its fields"
    await edge.put([point(5, revision=1)])
    assert await seen() == ([0, 1, 3, 5], 2), "what this process writes shows at once"


async def test_it_is_only_read(tripped: Tripped) -> None:
    """A write through it is refused."""
    cached = CachedCollection(tripped)
    for write in (
        cached.put([point(0)]),
        cached.replace(point(0), revision=1),
        cached.merge_payload([point(0).id], {}),
        cached.delete([point(0).id]),
    ):
        with pytest.raises(StoreError, match="only read"):
            await write


async def test_what_cannot_be_read_is_read_again(edge: EdgeCollection, tripped: Tripped) -> None:
    """A failure reaches who asked, and the next question is asked anew."""

    class Failing(Tripped):
        async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
            self.trips += 1
            if self.trips < 2:
                raise StoreError("the disk is gone")
            found: list[Point] = await super().get(ids, vectors=vectors)
            return found

        async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
            found: list[list[Hit]] = await edge.search(queries)
            return found

        async def count(self, filter: Filter) -> int:
            return await edge.count(filter)

    await edge.put([point(0)])
    cached = in_memory(Failing(edge))
    with pytest.raises(StoreError, match="gone"):
        await cached.scroll(ANN, limit=1)
    assert numbers((await cached.scroll(ANN, limit=1))[0]) == [0]


def test_a_memo_is_bounded() -> None:
    """It keeps the points that were read last, most of them as bytes, and returns them whole."""
    memo = Memo()
    for n in range(POINTS_KEPT + 1):
        memo.keep(str(n), Point(str(n), {"n": n, "tags": [["a"], None, 0.5]}), memo.writes)
    assert memo.find("0") is None
    for n in (1, POINTS_KEPT):
        kept = memo.find(str(n))
        assert kept is not None
        assert kept.point == Point(str(n), {"n": n, "tags": [["a"], None, 0.5]})
    first = memo.find(str(POINTS_KEPT))
    assert first is not None
    assert memo.find(str(POINTS_KEPT)) == first
    gc.collect()
    assert sum(type(one) is Point for one in gc.get_objects()) < DECODED_KEPT + POINTS_KEPT // 2
