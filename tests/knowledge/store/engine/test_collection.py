"""What every collection does, whichever engine keeps it."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import Headers
from hypothesis import given, settings, strategies as st
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from souffleur.errors import StoreBusyError, StoreError, StoreMismatchError
from souffleur.knowledge.store.engine.checksums import data_blocks
from souffleur.knowledge.store.engine.collection import (
    AnyOf,
    Between,
    Collection,
    CollectionSchema,
    Condition,
    Filter,
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
from souffleur.knowledge.store.engine.files import sync_log
from souffleur.knowledge.store.engine.server import ServerCollection, client_errors
from tests.shared import until

SERVER = os.environ.get("SOUFFLEUR_TEST_QDRANT_URL")

LAYOUT = CollectionSchema(
    "memories",
    3,
    {
        "user_id": "tenant",
        "state": "keyword",
        "topics": "keyword",
        "revision": "integer",
        "importance": "float",
        "due_at": "datetime",
        "verified": "bool",
    },
    cues=True,
)

PLAIN = replace(LAYOUT, indexes={}, cues=False)
"""Quicker to make, where no filter matters."""

NOON = datetime(2026, 1, 3, 12, 0, tzinfo=UTC)

LACKING = {
    "test_sorting_by_a_field_without_index_is_refused": "local mode has no indexes and sorts all",
}
"""What the client's in-memory mode cannot do, by test, and why."""


def name(number: int) -> str:
    """The id of the numbered point."""
    return str(UUID(int=number))


def number(point: Point) -> int:
    """The number of a point named above."""
    return UUID(point.id).int


def point(
    n: int,
    payload: Payload | None = None,
    *,
    dense: tuple[float, ...] | None = None,
    lexical: Sparse | None = None,
) -> Point:
    """The numbered point."""
    return Point(name(n), payload or {}, dense, lexical)


async def matching(
    collection: Collection, *must: Condition, no: tuple[Condition, ...] = ()
) -> set[int]:
    """Numbers of the points that match, by scroll; `count` must agree."""
    found, _ = await collection.scroll(Filter(must, no), limit=100_000)
    assert await collection.count(Filter(must, no)) == len(found)
    return {number(p) for p in found}


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeCollection]:
    """One for all tests below: making its indexes takes longer than most of them."""
    collection = EdgeCollection.open(tmp_path_factory.mktemp("edge"), LAYOUT)
    yield collection
    asyncio.run(collection.close())


async def empty(collection: Collection) -> None:
    """Delete all points."""
    left, _ = await collection.scroll(Filter(), limit=1000)
    await collection.delete([p.id for p in left])


@pytest.fixture(params=["edge", "memory", "server"])
async def collection(
    request: pytest.FixtureRequest, edge: EdgeCollection
) -> AsyncIterator[Collection]:
    """An empty collection of each engine."""
    engine = request.param
    test = request.node.originalname
    if engine == "memory" and test in LACKING:
        pytest.skip(LACKING[test])
    if engine == "server" and SERVER is None:
        pytest.skip("SOUFFLEUR_TEST_QDRANT_URL does not name a server to test with")
    if engine == "edge":
        await empty(edge)
        yield edge
    elif engine == "memory":
        client = QdrantClient(":memory:")
        yield await ServerCollection.open(":memory:", LAYOUT, client=client)
        client.close()
    else:
        assert SERVER is not None
        schema = replace(LAYOUT, name=f"test-{uuid4()}")
        served = await ServerCollection.open(SERVER, schema)
        yield served
        await served.close()
        client = QdrantClient(url=SERVER, check_compatibility=False)
        client.delete_collection(schema.name)
        client.close()


# Points


async def test_points_come_back_in_the_order_asked_for(collection: Collection) -> None:
    """get and get_now keep the order of the ids, and skip unknown ones."""
    await collection.put([point(n, {"revision": n}) for n in range(1, 6)])
    wanted = [name(4), name(9), name(1), name(3)]
    assert [number(p) for p in await collection.get(wanted)] == [4, 1, 3]
    assert [number(p) for p in collection.get_now(wanted)] == [4, 1, 3]
    assert await collection.get([]) == []


async def test_a_point_comes_back_as_it_was_put(collection: Collection) -> None:
    """The payload is equal, and vectors are equal to float32 where asked for."""
    payload: Payload = {
        "content": "她喜欢绿茶 🍵",
        "none": None,
        "empty": [],
        "deep": {"a": [1, {"b": 2.5}], "ok": True},
        "due_at": NOON.isoformat(),
    }
    lexical = Sparse((3, 9, 4_294_967_295), (1.0, 0.25, 2.0))
    collection.put_now([point(1, payload, dense=(0.6, 0.0, 0.8), lexical=lexical)])
    (plain,) = await collection.get([name(1)])
    (whole,) = await collection.get([name(1)], vectors=True)
    assert plain == Point(name(1), payload)
    assert whole.payload == payload
    assert whole.dense == pytest.approx((0.6, 0.0, 0.8), abs=1e-7)
    assert whole.lexical == lexical


async def test_a_point_needs_no_vector(collection: Collection) -> None:
    """A point without vectors is stored, found by filter, and no nearest neighbour of anything."""
    await collection.put([point(1, {"state": "active"}), point(2, dense=(1.0, 0.0, 0.0))])
    assert await matching(collection, Is("state", "active")) == {1}
    (bare,) = await collection.get([name(1)], vectors=True)
    assert (bare.dense, bare.lexical) == (None, None)
    (hits,) = await collection.search([Search((1.0, 0.0, 0.0), Filter())])
    assert [number(hit.point) for hit in hits] == [2]


async def test_a_point_is_found_by_its_cues(collection: Collection) -> None:
    """Of several cues the nearest counts, by sense and by words; what has none is not found."""
    east, north, up = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    words = Sparse((7,), (1.0,))
    await collection.put(
        [
            Point(name(1), {}, east, cues=(north, up), cue_words=words),
            Point(name(2), {}, up, cues=(north,)),
            point(3, dense=up, lexical=words),
        ]
    )
    by_sense, by_word, itself = await collection.search(
        [
            Search(up, Filter(), by_cues=True),
            Search(words, Filter(), by_cues=True),
            Search(up, Filter()),
        ]
    )
    assert [(number(hit.point), round(hit.score)) for hit in by_sense] == [(1, 1), (2, 0)]
    assert [number(hit.point) for hit in by_word] == [1]
    assert [number(hit.point) for hit in itself][2] == 1
    (whole,) = await collection.get([name(1)], vectors=True)
    assert (whole.cues, whole.cue_words) == ((north, up), words)


async def test_put_replaces_whole_points(collection: Collection) -> None:
    """Putting a point again leaves nothing of its old payload or vectors."""
    await collection.put([point(1, {"a": 1, "b": 1}, dense=(1.0, 0.0, 0.0))])
    await collection.put([point(1, {"b": 2}), point(1, {"b": 3})])
    assert await collection.get([name(1)], vectors=True) == [Point(name(1), {"b": 3})]


async def test_nothing_may_be_asked_of_no_points(collection: Collection) -> None:
    """Empty lists are no errors and change nothing."""
    await collection.put([point(1, {"a": 1})])
    collection.put_now([])
    await collection.put([])
    await collection.merge_payload([], {"a": 2})
    await collection.delete([])
    assert await collection.search([]) == []
    assert await collection.get([name(1)]) == [Point(name(1), {"a": 1})]


async def test_replace_wins_only_over_the_revision_it_names(collection: Collection) -> None:
    """The first of two rival writers wins; the loser changes nothing."""
    await collection.put([point(1, {"revision": 1, "written_by": "start"})])
    first = point(1, {"revision": 2, "written_by": "first"}, dense=(0.0, 1.0, 0.0))
    second = point(1, {"revision": 2, "written_by": "second"})
    assert await collection.replace(first, revision=1)
    assert not await collection.replace(second, revision=1)
    assert await collection.get([name(1)], vectors=True) == [first]
    assert await collection.replace(point(1, {"revision": 3, "written_by": "second"}), revision=2)


async def test_replace_inserts_nothing(collection: Collection) -> None:
    """Replacing a point that does not exist fails and leaves it absent."""
    absent = point(1, {"revision": 2, "written_by": "me"})
    assert not await collection.replace(absent, revision=1)
    assert await collection.get([name(1)]) == []


async def test_rival_replacements_have_one_winner(collection: Collection) -> None:
    """Of many concurrent writers over one revision exactly one is told that it won, and it did."""
    await collection.put([point(1, {"revision": 1, "written_by": ""})])
    rivals = [point(1, {"revision": 2, "written_by": f"writer {n}"}) for n in range(8)]
    won = await asyncio.gather(*(collection.replace(p, revision=1) for p in rivals))
    assert won.count(True) == 1
    assert await collection.get([name(1)]) == [rivals[won.index(True)]]


async def test_a_swap_writes_what_is_new_and_what_has_the_revision_named(
    collection: Collection,
) -> None:
    """Points of one swap are written each for itself, and only those written are named."""
    await collection.put([point(1, {"revision": 1}), point(2, {"revision": 1}), point(3, {"a": 1})])
    mine = {"revision": 2, "written_by": "me"}
    given = [point(n, mine) for n in (1, 2, 3, 4)]
    won = await collection.swap(given, {name(1): 1, name(2): 7})
    assert won == {name(1), name(4)}
    assert [p.payload for p in await collection.get([name(n) for n in (1, 2, 3, 4)])] == [
        mine,
        {"revision": 1},
        {"a": 1},
        mine,
    ]


async def test_a_swap_of_any_revision_or_of_none(collection: Collection) -> None:
    """None replaces whatever is stored, 0 what has no revision yet; without both, nothing is."""
    await collection.put([point(n, {"a": n, "state": "old"}) for n in (1, 2, 3)])
    mine = {"revision": 1, "written_by": "me"}
    given = [point(1, {"a": 9}), point(2, mine), point(3, mine)]
    assert collection.swap_now(given, {name(1): None, name(2): 0}) == {name(2)}
    stored = await collection.get([name(1), name(2), name(3)])
    assert [p.payload for p in stored] == [{"a": 9}, mine, {"a": 3, "state": "old"}]


async def test_rival_swaps_have_one_winner(collection: Collection) -> None:
    """Of many that insert or replace one point exactly one is told that it won, and it did."""
    for revision in (0, 1):
        rivals = [point(1, {"revision": revision + 1, "written_by": f"w{n}"}) for n in range(8)]
        swaps = (collection.swap([p], {name(1): revision} if revision else {}) for p in rivals)
        won = [bool(ids) for ids in await asyncio.gather(*swaps)]
        assert won.count(True) == 1
        assert await collection.get([name(1)]) == [rivals[won.index(True)]]


async def test_merging_where_something_matches(collection: Collection) -> None:
    """Only points that match the condition are changed."""
    await collection.put([point(1, {"revision": 1}), point(2, {"revision": 2})])
    await collection.merge_payload([name(1), name(2)], {"a": 1}, where=Is("revision", 2))
    payloads = [p.payload for p in await collection.get([name(1), name(2)])]
    assert payloads == [{"revision": 1}, {"revision": 2, "a": 1}]


async def test_vectors_are_set_beside_the_payload(collection: Collection) -> None:
    """The payload stays as it was, and the point is found by its new vectors."""
    await collection.put([point(1, {"a": 1})])
    lexical = Sparse((3,), (1.0,))
    vectors = Point(name(1), {}, (0.0, 1.0, 0.0), lexical, ((1.0, 0.0, 0.0),), lexical)
    await collection.set_vectors([vectors])
    (stored,) = await collection.get([name(1)], vectors=True)
    assert stored == replace(vectors, payload={"a": 1})


async def test_merging_keeps_the_rest(collection: Collection) -> None:
    """merge_payload sets the named fields of the points that exist; None removes a field."""
    lexical = Sparse((1,), (1.0,))
    await collection.put(
        [
            point(1, {"a": 1, "b": [1]}, dense=(0.0, 1.0, 0.0), lexical=lexical),
            point(2, {"a": 2}),
            point(3, {"a": 3}),
        ]
    )
    await collection.merge_payload([name(1), name(9), name(2)], {"b": None, "state": "done"})
    assert await collection.get([name(n) for n in (1, 2, 3, 9)], vectors=True) == [
        point(1, {"a": 1, "state": "done"}, dense=(0.0, 1.0, 0.0), lexical=lexical),
        point(2, {"a": 2, "state": "done"}),
        point(3, {"a": 3}),
    ]
    assert await matching(collection, Is("state", "done")) == {1, 2}


async def test_deleted_points_are_gone(collection: Collection) -> None:
    """delete removes the points from every read; unknown ids are ignored."""
    await collection.put([point(n, {}, dense=(1.0, 0.0, 0.0)) for n in (1, 2, 3)])
    await collection.delete([name(1), name(9), name(3)])
    assert [number(p) for p in await collection.get([name(n) for n in (1, 2, 3)])] == [2]
    assert await matching(collection) == {2}
    (hits,) = await collection.search([Search((1.0, 0.0, 0.0), Filter())])
    assert [number(hit.point) for hit in hits] == [2]


# Filters


@pytest.fixture
async def shelf(collection: Collection) -> Collection:
    """Points with all kinds of values, under an indexed key and under one that is not."""
    values: list[Payload] = [
        {"state": "a", "plain": "a"},
        {"state": "b", "plain": "b"},
        {"state": ["a", "c"], "plain": ["a", "c"]},
        {"state": [], "plain": []},
        {"state": None, "plain": None},
        {},
    ]
    await collection.put([point(n, value) for n, value in enumerate(values)])
    return collection


@pytest.mark.parametrize("key", ["state", "plain"])
async def test_equality_looks_into_lists(shelf: Collection, key: str) -> None:
    """Is and OneOf match a value and a list that holds it; nothing matches null or absence."""
    assert await matching(shelf, Is(key, "a")) == {0, 2}
    assert await matching(shelf, Is(key, "z")) == set()
    assert await matching(shelf, OneOf(key, ("b", "c", "z"))) == {1, 2}
    assert await matching(shelf, no=(Is(key, "a"),)) == {1, 3, 4, 5}


@pytest.mark.parametrize("key", ["state", "plain"])
async def test_none_of_no_values_matches(shelf: Collection, key: str) -> None:
    """OneOf without values and AnyOf without conditions match nothing, and negated everything."""
    for nothing in (OneOf(key, ()), AnyOf(())):
        assert await matching(shelf, nothing) == set()
        assert await matching(shelf, no=(nothing,)) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("key", ["state", "plain"])
async def test_missing_is_absent_null_or_empty(shelf: Collection, key: str) -> None:
    """Missing matches an absent field, null and an empty list; negated, all others."""
    assert await matching(shelf, Missing(key)) == {3, 4, 5}
    assert await matching(shelf, no=(Missing(key),)) == {0, 1, 2}
    assert await matching(shelf, Between(key)) == {0, 1, 2}


async def test_conditions_combine(shelf: Collection) -> None:
    """All of must, none of must_not, at least one of AnyOf, also nested."""
    either = AnyOf((Is("state", "b"), Missing("state")))
    assert await matching(shelf, either) == {1, 3, 4, 5}
    assert await matching(shelf, AnyOf((either, Is("plain", "c")))) == {1, 2, 3, 4, 5}
    assert await matching(shelf, Is("state", "a"), Is("plain", "c")) == {2}
    assert await matching(shelf, either, no=(Is("plain", "b"), Is("state", "a"))) == {3, 4, 5}
    assert await matching(shelf) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("key", ["verified", "plain"])
async def test_booleans_are_not_numbers(collection: Collection, key: str) -> None:
    """True matches true alone, 1 matches 1 alone."""
    values = [True, False, 1, 0, [True], "true"]
    await collection.put([point(n, {key: value}) for n, value in enumerate(values)])
    assert await matching(collection, Is(key, True)) == {0, 4}
    assert await matching(collection, Is(key, False)) == {1}
    assert await matching(collection, Is(key, 1)) == {2}


@pytest.mark.parametrize("key", ["importance", "revision", "plain"])
async def test_numbers_lie_in_half_open_ranges(collection: Collection, key: str) -> None:
    """The low bound is in, the high one out, either may be open; text never matches."""
    values = [1, 2, 3, [0, 9], None, "2"]
    await collection.put([point(n, {key: value}) for n, value in enumerate(values)])
    await collection.put([point(9)])
    assert await matching(collection, Between(key, 2, 3)) == {1}
    assert await matching(collection, Between(key, low=2.0)) == {1, 2, 3}
    assert await matching(collection, Between(key, high=2.0)) == {0, 3}
    assert await matching(collection, no=(Between(key, low=0.0),)) == {4, 5, 9}
    assert await matching(collection, Is(key, 2)) == {1}


@pytest.mark.parametrize("key", ["due_at", "plain"])
async def test_instants_compare_across_time_zones(collection: Collection, key: str) -> None:
    """The offset of neither the stored nor the given time matters; a microsecond does."""
    tokyo, tick = timezone(timedelta(hours=9)), timedelta(microseconds=1)
    times = [NOON, NOON.astimezone(tokyo), NOON - tick, NOON + tick]
    stored = [time.isoformat() for time in times] + [NOON.isoformat().replace("+00:00", "Z")]
    await collection.put([point(n, {key: time}) for n, time in enumerate(stored)])
    await collection.put([point(8, {key: None}), point(9)])
    lima = NOON.astimezone(timezone(timedelta(hours=-5)))
    assert await matching(collection, Between(key, low=lima)) == {0, 1, 3, 4}
    assert await matching(collection, Between(key, high=lima)) == {2}
    assert await matching(collection, Between(key, NOON, lima + tick)) == {0, 1, 4}


# Reading on


async def test_scroll_reaches_every_point_once(collection: Collection) -> None:
    """Page by page, every matching point comes exactly once, and the last page has no cursor."""
    await collection.put([point(n, {"state": "ab"[n % 2]}) for n in range(100)])
    seen, after, pages = [], None, 0
    while after is not None or not pages:
        page, after = await collection.scroll(Filter((Is("state", "a"),)), limit=7, after=after)
        seen += [number(p) for p in page]
        pages += 1
    assert sorted(seen) == list(range(0, 100, 2))
    assert pages == 8


async def test_a_full_last_page_ends_the_scroll(collection: Collection) -> None:
    """When the matches fill the last page there is no cursor to an empty one."""
    await collection.put([point(n) for n in range(4)])
    page, after = await collection.scroll(Filter(), limit=4)
    assert (len(page), after) == (4, None)


async def test_scroll_brings_vectors_where_asked(collection: Collection) -> None:
    """Vectors come with a scroll only when asked for."""
    stored = point(1, {"a": 1}, dense=(0.0, 1.0, 0.0), lexical=Sparse((1,), (0.5,)))
    await collection.put([stored])
    assert await collection.scroll(Filter(), limit=1, vectors=True) == ([stored], None)
    assert await collection.scroll(Filter(), limit=1) == ([point(1, {"a": 1})], None)


@pytest.mark.parametrize("key", ["due_at", "revision", "importance"])
async def test_scroll_sorts_both_ways(collection: Collection, key: str) -> None:
    """Ordered, the points come by the field, without those that lack it, on a single page."""
    days = (5, 2, 8, 1)
    for n, day in enumerate(days):
        value = (NOON + timedelta(days=day)).isoformat() if key == "due_at" else day
        await collection.put([point(n, {key: value, "state": "odd" if day % 2 else "even"})])
    await collection.put([point(8, {key: None}), point(9)])
    rising, after = await collection.scroll(Filter(), limit=10, order=Order(key))
    assert ([days[number(p)] for p in rising], after) == ([1, 2, 5, 8], None)
    falling = Order(key, descending=True)
    found, after = await collection.scroll(Filter(), limit=2, order=falling)
    assert ([days[number(p)] for p in found], after) == ([8, 5], None)
    odd = Filter((Is("state", "odd"),))
    found, _ = await collection.scroll(odd, limit=2, order=falling)
    assert [days[number(p)] for p in found] == [5, 1]


async def test_sorting_by_a_field_without_index_is_refused(collection: Collection) -> None:
    """Sorting by a field that is not indexed is a StoreError, not a wrong order."""
    await collection.put([point(1, {"plain": 1})])
    with pytest.raises(StoreError, match="could not read"):
        await collection.scroll(Filter(), limit=1, order=Order("plain"))


async def test_lists_and_searches_are_asked_together(collection: Collection) -> None:
    """A list is by id or in its order, each answer has its place, and brings the fields named."""
    await collection.put(
        [point(n, {"revision": 9 - n, "state": "on"}, dense=(0.0, 0.0, 1.0)) for n in range(4)]
    )
    on = Filter((Is("state", "on"),))
    by_id, nearest, ordered, bare = await collection.search(
        [
            Listing(on, 2),
            Search((0.0, 0.0, 1.0), on, 3, fields=("revision",)),
            Listing(on, 2, Order("revision")),
            Listing(on, 1, fields=()),
        ]
    )
    assert [number(hit.point) for hit in by_id] == [0, 1]
    assert [number(hit.point) for hit in ordered] == [3, 2]
    assert {hit.score for hit in (*by_id, *ordered)} == {0.0}
    assert [set(hit.point.payload) for hit in nearest] == [{"revision"}] * 3
    assert [hit.point.payload for hit in bare] == [{}]
    assert by_id[0].point.payload == {"revision": 9, "state": "on"}


# Search


async def test_dense_search_scores_by_cosine(collection: Collection) -> None:
    """Hits come by falling cosine, as many as asked for, with payloads and without vectors."""
    vectors = [(1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0)]
    await collection.put([point(n, {"n": n}, dense=v) for n, v in enumerate(vectors)])
    (hits,) = await collection.search([Search((1.0, 0.0, 0.0), Filter(), limit=3)])
    assert [hit.point for hit in hits] == [point(n, {"n": n}) for n in (0, 1, 2)]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.6, 0.0], abs=1e-6)


async def test_search_stays_within_its_filter(collection: Collection) -> None:
    """Each query of a batch sees the points of its own filter alone."""
    await collection.put(
        [
            point(n, {"user_id": f"u{n % 3}"}, dense=(1.0, 0.0, 0.0), lexical=Sparse((7,), (1.0,)))
            for n in range(30)
        ]
    )
    ours = [Filter((Is("user_id", f"u{user}"),)) for user in range(3)]
    queries = [Search((1.0, 0.0, 0.0), within) for within in ours]
    queries += [Search(Sparse((7,), (1.0,)), within, idf_within=within) for within in ours]
    answers = await collection.search(queries)
    for answer, user in zip(answers, (0, 1, 2, 0, 1, 2), strict=True):
        assert {number(hit.point) for hit in answer} == set(range(user, 30, 3))


async def test_rarity_is_counted_within_a_user(collection: Collection) -> None:
    """A term rare for this user outweighs one rare for everybody else."""
    tea, work = 1, 2
    mine = [(1, (tea,)), (2, (work,)), (3, (work,)), (4, (work,))]
    await collection.put(
        [
            point(n, {"user_id": "me"}, lexical=Sparse(terms, (1.0,) * len(terms)))
            for n, terms in mine
        ]
        + [point(n, {"user_id": "you"}, lexical=Sparse((tea,), (1.0,))) for n in range(10, 40)]
    )
    me = Filter((Is("user_id", "me"),))
    query = Search(Sparse((tea, work), (1.0, 1.0)), me)
    alone, everybody = await collection.search([replace(query, idf_within=me), query])
    assert number(alone[0].point) == 1
    assert number(everybody[-1].point) == 1
    # https://qdrant.tech/documentation/concepts/indexing/#idf-modifier : ln(1 + (N-n+½)/(n+½))
    assert alone[0].score == pytest.approx(1.2039728, abs=1e-5)


async def test_an_empty_query_finds_nothing(collection: Collection) -> None:
    """A text without a term is near to nothing, and may be stored."""
    await collection.put([point(1, {}, lexical=Sparse((1,), (1.0,))), point(2, lexical=Sparse())])
    (hits,) = await collection.search([Search(Sparse(), Filter())])
    assert hits == []


# Errors and ends


async def test_a_vector_of_another_dimension_is_refused_whole(collection: Collection) -> None:
    """Neither put, replace nor search take it, and no point of the batch is stored."""
    good, bad = point(1, {"revision": 1}, dense=(1.0, 0.0, 0.0)), point(2, dense=(1.0, 0.0))
    with pytest.raises(StoreMismatchError, match=r"of 3 dimensions .* one of 2: set"):
        await collection.put([good, bad])
    with pytest.raises(StoreMismatchError):
        collection.put_now([bad])
    with pytest.raises(StoreMismatchError):
        await collection.replace(bad, revision=1)
    with pytest.raises(StoreMismatchError):
        await collection.search([Search((1.0, 0.0), Filter())])
    assert await matching(collection) == set()


async def test_an_id_that_is_no_uuid_is_a_store_error(collection: Collection) -> None:
    """What the engine refuses comes out as one sentence naming the collection."""
    with pytest.raises(StoreError, match=r"could not put points into the collection '.+'") as error:
        await collection.put([Point("memory one", {})])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("engine", ["edge", "memory"])
async def test_flush_and_close_may_be_repeated(engine: str, tmp_path: Path) -> None:
    """Flushing and closing twice, in any state, is harmless."""
    client = QdrantClient(":memory:")
    collection: Collection
    if engine == "edge":
        collection = EdgeCollection.open(tmp_path, PLAIN)
    else:
        collection = await ServerCollection.open(":memory:", PLAIN, client=client)
    await collection.put([point(1)])
    for end in (collection.flush, collection.flush, collection.close, collection.close):
        await end()
    await collection.flush()
    client.close()


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns far more often than usual, so that what can collide does."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


async def test_calls_may_overlap(collection: Collection, often: None) -> None:
    """Many concurrent reads and writes neither fail nor lose a point."""
    ours = Filter((Is("state", "a"),))
    vector = (1.0, 0.0, 0.0)
    writes = [collection.put([point(n, {"state": "a"}, dense=vector)]) for n in range(150)]
    reads = [collection.search([Search(vector, ours)]) for _ in range(60)]
    await asyncio.gather(*(call for pair in zip_longest(writes, reads) for call in pair if call))
    assert await matching(collection, *ours.must) == set(range(150))


async def test_another_dimension_is_refused_at_opening_a_server() -> None:
    """A collection made with another dimension says which it has, and what to set."""
    client = QdrantClient(":memory:")
    await ServerCollection.open("http://q", LAYOUT, client=client)
    with pytest.raises(StoreMismatchError, match=r"of 3 dimensions.* makes 5: set SOUFFLEUR_EMB"):
        await ServerCollection.open("http://q", replace(LAYOUT, dimension=5), client=client)
    client.close()


async def test_several_stores_share_a_server() -> None:
    """By the beginning of its name each has its own points, and its schema keeps the plain name."""
    client = QdrantClient(":memory:")
    mine, yours = [
        await ServerCollection.open("http://q", LAYOUT, prefix=prefix, client=client)
        for prefix in ("my.", "your.")
    ]
    await mine.put([point(1)])
    assert (await matching(mine), await matching(yours)) == ({1}, set())
    assert mine.schema == yours.schema == LAYOUT
    client.close()


async def test_no_ids_are_no_request_to_a_server() -> None:
    """Without an id, nothing is found even if the server cannot be asked."""
    client = QdrantClient(":memory:")
    collection = await ServerCollection.open("http://q", LAYOUT, client=client)
    client.close()
    assert (await collection.get([]), collection.get_now([])) == ([], [])
    with pytest.raises(StoreError):
        await collection.get([name(1)])


async def test_an_unreachable_server_is_named() -> None:
    """Where nothing listens, the error names the address and the setting, also with a key."""
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(StoreError, match=f"{nowhere} gave no usable answer .*SOUFFLEUR_QDRANT_URL"):
        await ServerCollection.open(nowhere, LAYOUT, api_key="k", timeout=2)


@pytest.mark.parametrize(
    ("status", "message"),
    [(403, "refused the key; set SOUFFLEUR_QDRANT_API_KEY"), (500, "could not open .*memories")],
)
async def test_what_a_server_refuses_is_one_sentence(status: int, message: str) -> None:
    """The key is sent, also unencrypted, without a warning; a refusal names the address."""
    keys = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers["api-key"])
            self.send_error(status)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(StoreError, match=f"^Qdrant at {url} {message}") as error:
            await ServerCollection.open(url, LAYOUT, api_key="secret")
        server.shutdown()
    assert "\n" not in str(error.value)
    assert set(keys) == {"secret"}


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (404, "Not found: Collection `journal` doesn't exist!", "restore a backup before"),
        (404, "no such page", "could not read the collection 'journal'"),
    ],
)
def test_what_a_server_answers_is_told(status: int, said: str, told: str) -> None:
    """A collection that is gone, and a key that is refused, are named as what they are."""
    refusal = UnexpectedResponse(status, "no", said.encode(), Headers())
    with (
        pytest.raises(StoreError, match=told),
        client_errors("read", "journal", "http://127.0.0.1:6333"),
    ):
        raise refusal


# On disk


async def test_reopening_gives_the_same_points(tmp_path: Path) -> None:
    """What was put and changed is there, as it was, after closing and opening again."""
    stored = [
        point(n, {"state": "a"}, dense=(0.0, 0.6, 0.8), lexical=Sparse((n,), (1.0,)))
        for n in range(1, 50)
    ]
    collection = EdgeCollection.open(tmp_path, LAYOUT)
    await collection.put(stored)
    await collection.delete([name(1)])
    before, _ = await collection.scroll(Filter(), limit=100, vectors=True)
    await collection.close()
    collection = EdgeCollection.open(tmp_path, LAYOUT)
    after, _ = await collection.scroll(Filter((Is("state", "a"),)), limit=100, vectors=True)
    await collection.close()
    assert after == before
    assert len(after) == 48


async def test_indexes_are_built_when_they_are_asked_for(tmp_path: Path) -> None:
    """Opening with other indexes builds those that are new or of another type."""
    collection = EdgeCollection.open(tmp_path, replace(LAYOUT, indexes={"revision": "keyword"}))
    await collection.put([point(n, {"revision": n, "due_at": NOON.isoformat()}) for n in range(9)])
    await collection.close()
    collection = EdgeCollection.open(tmp_path, LAYOUT)
    (last,), _ = await collection.scroll(
        Filter((Between("due_at", NOON),)), limit=1, order=Order("revision", descending=True)
    )
    await collection.close()
    assert number(last) == 8


async def test_another_dimension_is_refused_at_opening_a_folder(tmp_path: Path) -> None:
    """The error says both dimensions and what to set; the points stay readable with the first."""
    collection = EdgeCollection.open(tmp_path, PLAIN)
    await collection.put([point(1)])
    await collection.close()
    with pytest.raises(StoreMismatchError, match=r"of 3 dim.* makes 5: set SOUFFLEUR_EMBEDDER"):
        EdgeCollection.open(tmp_path, replace(PLAIN, dimension=5))
    collection = EdgeCollection.open(tmp_path, PLAIN)
    assert await matching(collection) == {1}
    await collection.close()


async def test_a_closed_collection_says_so(tmp_path: Path) -> None:
    """Using a collection after closing it is a StoreError; closing it again is not."""
    collection = EdgeCollection.open(tmp_path, PLAIN)
    await collection.close()
    await collection.close()
    with pytest.raises(StoreError, match="is closed: open it again"):
        await collection.count(Filter())


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A path below a file is a StoreError that names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=f"'{tmp_path}/file'"):
        EdgeCollection.open(tmp_path / "file", LAYOUT)


CHILD = """
import sys
from pathlib import Path
from uuid import UUID
from souffleur.knowledge.store.engine.collection import CollectionSchema, Point
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.engine.edge_encoding import NEAREST
collection = EdgeCollection.open(Path(sys.argv[1]), CollectionSchema("memories", 3))
print("open", flush=True)
for batch in range(100_000 if sys.argv[2] == "write" else 0):
    ids = [str(UUID(int=batch * 50 + n)) for n in range(50)]
    collection.put_now([Point(i, {"batch": batch}, dense=(1.0, 0.0, 0.0)) for i in ids])
    print(batch, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts another process that opens the collection in tmp_path, to hold it or to write."""
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    pipe = subprocess.PIPE
    started: list[subprocess.Popen[str]] = []

    def start(task: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([*command, task], stdin=pipe, stdout=pipe, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


async def test_a_second_process_is_told_how_to_share(
    child: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    """While another process has the folder it cannot be opened; afterwards it can."""
    holder = child("hold")
    with pytest.raises(StoreBusyError, match=rf"'{tmp_path}/\w+' is in use by another process"):
        EdgeCollection.open(tmp_path, PLAIN)
    holder.communicate("")
    await EdgeCollection.open(tmp_path, PLAIN).close()


async def test_a_killed_process_loses_no_acknowledged_point(
    child: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    """After kill -9 every batch that put_now returned from is there, and none is there in part."""
    writer = child("write")
    assert writer.stdout is not None
    for _ in range(15):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    # Not `communicate`, which reads past the lines that `readline` has taken in advance.
    acknowledged = 15 + len(writer.stdout.read().splitlines())
    writer.wait()
    collection = EdgeCollection.open(tmp_path, PLAIN)
    total = await collection.count(Filter())
    counts = [await collection.count(Filter((Is("batch", n),))) for n in range(acknowledged)]
    assert len(await opened_from(tmp_path, "wal")) == total
    await collection.close()
    assert counts == [50] * acknowledged
    assert total in (50 * acknowledged, 50 * acknowledged + 50)


def copy_sparse(source: str, target: str) -> None:
    """Copy a file without its holes, of which the engine's are 100 MB."""
    old = Path(source)
    with Path(target).open("wb") as new:
        for start, block in data_blocks(old):
            new.seek(start)
            new.write(block)
        new.truncate(old.stat().st_size)


def copy_open(folder: Path, target: Path, *left_out: str) -> None:
    """Copy the files of an engine that is open, but for those that it renames once it has them."""
    without = shutil.ignore_patterns("tmp-*", *left_out)
    shutil.copytree(folder, target, dirs_exist_ok=True, ignore=without, copy_function=copy_sparse)


class Disk:
    """What a power cut would leave of a collection: its files as opened, its log as last synced."""

    def __init__(self, folder: Path) -> None:
        self._kept = folder

    def keep(self, path: Path) -> None:
        """Note the files of a collection that was just opened."""
        copy_open(path, self._kept / path.name)

    def sync(self, path: Path) -> None:
        """Sync the log, and note it."""
        sync_log(path)
        copy_open(path / "wal", self._kept / path.name / "wal")

    async def after_power_cut(self) -> set[int]:
        """Points that a start would find."""
        return await opened_from(self._kept)


async def opened_from(folder: Path, *left_out: str) -> set[int]:
    """Points that are found in a copy of a folder, without some of its files."""
    with TemporaryDirectory() as place:
        copy_open(folder, Path(place), "*.sums", *left_out)
        collection = EdgeCollection.open(Path(place), PLAIN)
        found = await matching(collection)
        await collection.close()
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """A disk, still empty."""
    return Disk(tmp_path / "disk")


def open_on(disk: Disk, folder: Path, **given: Any) -> EdgeCollection:
    """Open a collection whose log goes to a disk."""
    collection = EdgeCollection.open(folder, PLAIN, sync=disk.sync, **given)
    disk.keep(folder / PLAIN.name)
    return collection


async def test_flush_writes_through(tmp_path: Path, disk: Disk) -> None:
    """A power cut takes what was written after the last flush, and nothing before it."""
    collection = open_on(disk, tmp_path / "store", flush_every=3600)
    await collection.put([point(1)])
    await collection.flush()
    await collection.put([point(2)])
    assert await disk.after_power_cut() == {1}
    await collection.flush()
    assert await disk.after_power_cut() == {1, 2}
    await collection.close()


async def test_writes_are_flushed_in_groups(tmp_path: Path, disk: Disk) -> None:
    """Within flush_every of a write, it is flushed unasked; so is the next."""
    collection = open_on(disk, tmp_path / "store", flush_every=0.02)
    for n in (1, 2):
        collection.put_now([point(n)])
        await asyncio.sleep(0.08)
        assert await disk.after_power_cut() == set(range(1, n + 1))
    await collection.close()


def test_flushing_goes_on_in_the_next_event_loop(tmp_path: Path, disk: Disk) -> None:
    """A loop that ended before its flush was due does not keep the next one from flushing."""
    collection = open_on(disk, tmp_path / "store", flush_every=0.02)

    async def write(n: int, wait: float) -> None:
        await collection.put([point(n)])
        await asyncio.sleep(wait)

    asyncio.run(write(1, 0.0))
    asyncio.run(write(2, 0.08))
    assert asyncio.run(disk.after_power_cut()) == {1, 2}
    asyncio.run(collection.close())


async def test_power_safe_flushes_before_returning(tmp_path: Path, disk: Disk) -> None:
    """With power_safe each write is through when it returns, also outside an event loop."""
    collection = open_on(disk, tmp_path / "store", flush_every=3600, power_safe=True)
    collection.put_now([point(1)])
    assert await disk.after_power_cut() == {1}
    await collection.delete([name(1)])
    assert await disk.after_power_cut() == set()
    await collection.close()


async def test_the_engine_flushes_after_so_many_writes(tmp_path: Path) -> None:
    """Until then the log alone has what was written; then it is there without the log, too."""
    collection = EdgeCollection.open(tmp_path, PLAIN, flush_every=3600, checkpoint_after=2)
    for n, there in ((1, set()), (2, {1, 2})):
        await collection.put([point(n)])
        await collection.flush()
        assert await opened_from(tmp_path, "wal") == there
    await collection.put([point(3)])
    await collection.close()
    assert await opened_from(tmp_path, "wal") == {1, 2, 3}


async def test_the_engine_flushes_when_nothing_is_written(tmp_path: Path) -> None:
    """After a few periods without a write, all is there without the log."""
    asked: list[Path] = []

    def room(path: Path) -> int:
        asked.append(path)
        return 1 << 40

    collection = EdgeCollection.open(tmp_path, PLAIN, flush_every=0.02, room=room)
    await collection.put([point(1)])
    asked.clear()
    await until(lambda: bool(asked))  # before the engine flushes, it asks for room
    await collection.flush()  # it waits for the one that has begun
    assert await opened_from(tmp_path, "wal") == {1}
    await collection.close()


# Filters, in plain Python


def values(payload: Payload, key: str) -> list[object]:
    """What a condition on the key looks at."""
    value = payload.get(key)
    return value if isinstance(value, list) else [value]


def within(value: object, low: float | datetime | None, high: float | datetime | None) -> bool:
    """Between, of one value."""
    if low is None and high is None:
        return value is not None
    if isinstance(low, datetime) or isinstance(high, datetime):
        if not isinstance(value, str) or "T" not in value:
            return False
        value = datetime.fromisoformat(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (low is None or low <= value) and (high is None or value < high)  # type: ignore[operator]


def holds(condition: Condition, payload: Payload) -> bool:
    """Whether the condition holds of a payload, by the words of the seam."""
    match condition:
        case Is(key, value):
            return any(type(v) is type(value) and v == value for v in values(payload, key))
        case OneOf(key, choice):
            return any(v in choice for v in values(payload, key))
        case Between(key, low, high):
            return any(within(v, low, high) for v in values(payload, key))
        case Missing(key):
            return payload.get(key) in (None, [])
        case AnyOf(conditions):
            return any(holds(each, payload) for each in conditions)


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))])
TIMES = st.builds(
    lambda seconds, zone: (NOON + timedelta(seconds=seconds)).astimezone(zone),
    st.integers(-2, 2),
    ZONES,
)
TEXTS, NUMBERS = st.sampled_from("abc"), st.integers(-2, 2)
FLOATS = st.sampled_from([-1.5, -1.0, 0.0, 0.5, 1.0])
STAMPS = TIMES.map(datetime.isoformat)
KEYS: dict[str, st.SearchStrategy[Any]] = {
    "state": TEXTS,
    "revision": NUMBERS,
    "importance": FLOATS,
    "due_at": STAMPS,
    "verified": st.booleans(),
    "plain": TEXTS | NUMBERS | FLOATS | STAMPS | st.booleans(),
}
PAYLOADS = st.fixed_dictionaries(
    {}, optional={k: st.none() | v | st.lists(v, max_size=3) for k, v in KEYS.items()}
)
ANY_KEY = st.sampled_from(list(KEYS))
NUMBER_KEY = st.sampled_from(["revision", "importance", "plain"])
TIME_KEY = st.sampled_from(["due_at", "plain"])
LEAVES = st.one_of(
    st.builds(Is, ANY_KEY, TEXTS | NUMBERS | st.booleans() | STAMPS),
    st.builds(OneOf, ANY_KEY, st.lists(TEXTS | STAMPS, max_size=2).map(tuple)),
    st.builds(Between, NUMBER_KEY, st.none() | FLOATS, st.none() | FLOATS),
    st.builds(Between, TIME_KEY, st.none() | TIMES, st.none() | TIMES),
    st.builds(Missing, ANY_KEY),
)
CONDITIONS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3).map(lambda c: AnyOf(tuple(c))), max_leaves=4
)
LISTED = st.lists(CONDITIONS, max_size=2).map(tuple)


@settings(max_examples=100, deadline=None)
@given(
    payloads=st.lists(PAYLOADS, min_size=4, max_size=4),
    filter=st.builds(Filter, LISTED, LISTED),
)
def test_filters_mean_what_the_seam_says(
    edge: EdgeCollection, payloads: list[Payload], filter: Filter
) -> None:
    """A filter finds the points of which all of must and none of must_not hold."""
    asyncio.run(empty(edge))
    edge.put_now([point(n, payload) for n, payload in enumerate(payloads)])
    expected = {
        n
        for n, payload in enumerate(payloads)
        if all(holds(c, payload) for c in filter.must)
        and not any(holds(c, payload) for c in filter.must_not)
    }
    assert asyncio.run(matching(edge, *filter.must, no=filter.must_not)) == expected


class Server(QdrantClient):
    """The client's in-memory mode, which says to be a server of some version."""

    def __init__(self, version: str) -> None:
        super().__init__(":memory:")
        self._version = version

    def info(self) -> models.VersionInfo:
        return models.VersionInfo(title="qdrant", version=self._version)


@pytest.mark.parametrize("version", ["1.19.0", "1.20.0-dev", ""])
async def test_a_server_may_be_new_or_not_tell_its_version(version: str) -> None:
    """Both are used; a proxy may offer collections only."""
    await (await ServerCollection.open("http://q", PLAIN, client=Server(version))).close()


@pytest.mark.parametrize("version", ["1.17.1", "1.18.1"])
async def test_an_old_server_is_refused(version: str) -> None:
    """The error says which version is needed, and nothing is created on the server."""
    client = Server(version)
    with pytest.raises(StoreError, match=rf"version {version}.*upgrade it to 1\.19"):
        await ServerCollection.open("http://q", PLAIN, client=client)
    assert not client.collection_exists(PLAIN.name)
