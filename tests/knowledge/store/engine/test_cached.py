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
from souffleur.knowledge.store.engine.cache import MANY, CachedCollection
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
    FILTERS_KEPT,
    MADE_OF,
    POINTS_KEPT,
    SHARED_LIFE,
    Memo,
)
from tests.counted import Tripped

LAYOUT = CollectionSchema(
    "memories",
    3,
    {"user_id": "tenant", "state": "keyword", "due_at": "datetime", "rank": "float"},
    cues=True,
)
NOON = datetime(2026, 1, 3, 12, 0, tzinfo=UTC)
ANN = Filter((Is("user_id", "ann"), Is("state", "on")))
UP = (0.0, 0.0, 1.0)


def point(n: int, user_id: str = "ann", **payload: object) -> Point:
    """The numbered point."""
    return Point(str(UUID(int=n)), {"user_id": user_id, "state": "on", **payload}, dense=UP)


def numbers(points: list[Point]) -> list[int]:
    """The numbers of points."""
    return [UUID(one.id).int for one in points]


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeCollection]:
    """One for all tests."""
    collection = EdgeCollection.open(tmp_path_factory.mktemp("edge"), LAYOUT)
    yield collection
    asyncio.run(collection.close())


@pytest.fixture
async def tripped(edge: EdgeCollection) -> Tripped:
    """An empty collection that counts its round trips."""
    left, _ = await edge.scroll(Filter(), limit=1000)
    await edge.delete([one.id for one in left])
    edge.memo = Memo()
    return Tripped(edge)


async def look(cached: CachedCollection) -> tuple[list[int], int, list[Payload], list[int]]:
    """A list, a count, some points and a search by cues, asked at once."""
    ids = [point(n).id for n in range(6)]
    page, count, points, hits = await asyncio.gather(
        cached.scroll(ANN, limit=3),
        cached.count(ANN),
        cached.get(ids),
        cached.search([Search(UP, ANN, by_cues=True)]),
    )
    found = [hit.point for hit in hits[0]]
    return numbers(page[0]), count, [one.payload for one in points], numbers(found)


async def test_nothing_is_read_twice(tripped: Tripped) -> None:
    """What was read before is not asked for again until it may have changed."""
    cached = CachedCollection(tripped)
    await tripped.put([point(0), point(1), point(2, "bob")])
    before = await look(cached)
    tripped.trips = 0
    assert await look(cached) == before
    assert tripped.trips == 0
    await tripped.put([point(3, "bob")])
    assert (await look(cached))[:2] == ([0, 1], 2)
    assert tripped.trips == 1, "only the point itself was not known"


async def test_every_write_shows_at_once(tripped: Tripped) -> None:
    """Put, replaced, merged, deleted: the next read has it."""
    cached = CachedCollection(tripped)
    seen = []
    writes: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: tripped.put([point(0, revision=1), point(1), point(2, "bob")]),
        lambda: tripped.replace(point(0, revision=2, state="off"), revision=1),
        lambda: tripped.merge_payload([point(0).id], {"state": "on"}),
        lambda: tripped.merge_payload([point(1).id], {"recalls": 1}),
        lambda: tripped.put([Point(**{**vars(point(4)), "cues": (UP,)})]),
        lambda: tripped.delete([point(1).id]),
    )
    for write in writes:
        await write()
        seen.append(await look(cached))
    pages = [page for page, _, _, _ in seen]
    assert pages == [[0, 1], [1], [0, 1], [0, 1], [0, 1, 4], [0, 4]]
    assert [count for _, count, _, _ in seen] == [2, 1, 2, 2, 3, 2]
    assert [hits for _, _, _, hits in seen] == [[], [], [], [], [4], [4]]
    assert seen[3][2][1] == {"user_id": "ann", "state": "on", "recalls": 1}
    tripped.put_now([point(5)])
    assert (await look(cached))[0] == [0, 4, 5]


async def test_a_write_of_one_type_leaves_what_is_known_of_others(tripped: Tripped) -> None:
    """A turn that was put and is then judged changes no list and no count of anything else."""
    cached = CachedCollection(tripped)
    turn, draft = point(0, type="turn"), point(2, type="draft")
    await tripped.put([turn, point(1, type="segment", state="off"), draft])

    async def known() -> list[object]:
        kinds = [Filter((*ANN.must, Is("type", type))) for type in ("turn", "segment", "entry")]
        pages = [numbers((await cached.scroll(kind, limit=3))[0]) for kind in kinds]
        return [*pages, *[await cached.count(kind) for kind in kinds]]

    assert await known() == [[0], [], [], 1, 0, 0]
    for change, trips in ({"state": "off"}, 2), ({"state": "on", "hidden": True}, 3):
        await tripped.merge_payload([turn.id], change)
        tripped.trips = 0
        on = change["state"] == "on"
        assert await known() == [[0] * on, [], [], int(on), 0, 0]
        assert tripped.trips == trips, "the list of turns, their number, and the turn if it is in"
    await tripped.merge_payload([draft.id], {"type": "entry"})
    assert await known() == [[0], [], [2], 1, 0, 1]
    await tripped.merge_payload([draft.id], {"state": "off"})
    assert await known() == [[0], [], [], 1, 0, 0]


WRITES = st.tuples(
    st.sampled_from(["put", "merge", "where", "delete"]),
    st.integers(0, 5),
    st.sampled_from(["on", "off"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(WRITES, min_size=1, max_size=8))
def test_random_writes_show_at_once(
    edge: EdgeCollection, writes: list[tuple[str, int, str]]
) -> None:
    """Lists and counts, of users and types and of all, are those of the collection itself."""
    kinds = [(), (Is("type", "turn"),), (Is("user_id", "ann"),), (*ANN.must, Is("type", "note"))]
    filters = [Filter((*kind, Is("state", "on"))) for kind in kinds]

    async def compare() -> None:
        cached = CachedCollection(edge)
        edge.memo = cached.memo = Memo()
        await edge.delete([one.id for one in (await edge.scroll(Filter(), limit=100))[0]])
        for what, n, state in writes:
            kind, user = ("turn", "note")[n % 2], ("ann", "bob")[n % 3 == 2]
            if what == "put":
                others = point(9, "cid", state=state), point(8, type="turn", state=state)
                rank = n / 10 if state == "on" else 1.05 - n / 10
                await edge.put([*others, point(n, user, type=kind, state=state, rank=rank)])
            elif what == "merge":
                await edge.merge_payload([point(n).id], {"state": state})
            elif what == "where":
                await edge.merge_payload([point(n).id], {"tries": n}, where=Is("state", state))
            else:
                await edge.delete([point(n).id])
            for one in filters:
                for order in (None, Order("rank", descending=True), Order("rank")):
                    page = await cached.scroll(one, limit=2, order=order)
                    assert page == await edge.scroll(one, limit=2, order=order)
                assert await cached.count(one) == await edge.count(one)

    asyncio.run(compare())


async def test_a_list_of_the_first_is_read_anew_only_if_one_may_come_before(
    tripped: Tripped,
) -> None:
    """What comes after the last of a full list leaves it as it is; else it is read anew."""
    cached, highest = CachedCollection(tripped), Order("rank", descending=True)
    await tripped.put([point(n, rank=n / 10) for n in (4, 5, 6)])

    async def first(limit: int) -> tuple[list[int], int]:
        tripped.trips = 0
        page, _ = await cached.scroll(ANN, limit=limit, order=highest)
        return numbers(page), tripped.trips

    assert [await first(2), await first(2)] == [([6, 5], 2), ([6, 5], 0)]
    for written, expected in (
        (point(1, rank=0.1), ([6, 5], 0)),
        (point(4, rank=0.2, recalls=1), ([6, 5], 0)),
        (point(2), ([6, 5], 0)),
        (point(8, rank=0.8), ([8, 6], 2)),
        (point(6, rank=0.3), ([8, 5], 1)),
        (point(9, rank=0.9, state="off"), ([8, 5], 0)),
    ):
        await tripped.put([written])
        assert await first(2) == expected
    assert (await first(9))[0] == [8, 5, 6, 4, 1]
    await tripped.put([point(0, rank=0.0)])
    assert (await first(9))[0] == [8, 5, 6, 4, 1, 0], "it was not full"


async def test_what_ends_with_time_is_left_out(tripped: Tripped) -> None:
    """A list that is remembered is that of the moment asked for, also of an earlier one."""
    cached = CachedCollection(tripped)
    await tripped.put([point(n, due_at=(NOON + timedelta(hours=n)).isoformat()) for n in range(30)])
    await tripped.put([point(40, due_at=None)])
    for order in (None, Order("due_at")):
        for hour in (0, 3, 28, 40, 1):
            ended = Between("due_at", high=NOON + timedelta(hours=hour))
            left = Filter(ANN.must, (ended,))
            expected = await tripped.scroll(left, limit=2, order=order)
            assert await cached.scroll(left, limit=2, order=order) == expected


class Heard(Tripped):
    """Keeps the filters of what is searched for."""

    def __init__(self, edge: EdgeCollection) -> None:
        super().__init__(edge)
        self.filters: list[Filter] = []

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Search, and keep the filters."""
        self.filters += [one.filter for one in queries if not isinstance(one, Listing)]
        found: list[list[Hit]] = await super().search(queries)
        return found


async def test_alternatives_that_all_points_meet_are_not_tested(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """A search is spared them until a point is written that does not meet them."""
    heard = Heard(edge)
    here = AnyOf((Missing("state"), OneOf("state", ("on", "up"))))
    mine = Is("user_id", "ann")
    cached = CachedCollection(heard)

    async def nearest() -> list[int]:
        ((*hits,),) = await cached.search([Search(UP, Filter((mine, here)))])
        return sorted(numbers([hit.point for hit in hits]))

    await tripped.put([point(0), point(1, state="up"), point(2, "bob", state="off")])
    assert [await nearest(), await nearest()] == [[0, 1], [0, 1]]
    await tripped.put([point(3), point(4, "bob", state="off")])
    assert await nearest() == [0, 1, 3]
    await tripped.merge_payload([point(1).id], {"state": "off"})
    assert await nearest() == [0, 3]
    await tripped.put([point(1, state="up")])
    assert await nearest() == [0, 1, 3]
    await tripped.put([point(5, state="off")])
    assert await nearest() == [0, 1, 3]
    shorter = [here not in asked.must for asked in heard.filters]
    assert shorter == [False, True, True, False, False, False]


async def test_whose_points_are_found_is_not_tested_while_all_are_one_users(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """Nobody's point is found by another, however it comes: the test is made again from then on."""
    heard = Heard(edge)
    mine = Filter((Is("user_id", "ann"),))
    cached = CachedCollection(heard)

    async def nearest() -> list[int]:
        with edge.memo.reading() as reading:
            edge.memo.keep_count(mine, MANY, reading)
        words = Search(Sparse((1,), (1.0,)), mine, idf_within=mine)
        found = await cached.search([words, Search(UP, mine)])
        return sorted({UUID(hit.point.id).int for hits in found for hit in hits})

    def worded(n: int, user_id: str = "ann") -> Point:
        return replace(point(n, user_id), lexical=Sparse((1,), (1.0,)))

    await tripped.put([worded(0)])
    assert [await nearest(), await nearest()] == [[0], [0]]
    await tripped.put([worded(1)])
    assert await nearest() == [0, 1]
    await tripped.put([worded(2, "bob")])
    assert [await nearest(), await nearest()] == [[0, 1], [0, 1]]
    await tripped.delete([worded(2, "bob").id])
    assert [await nearest(), await nearest()] == [[0, 1], [0, 1]]
    untested = [asked == Filter() for asked in heard.filters[::2]]
    assert untested == [False, True, True, False, False, False, True]


async def test_alternatives_are_tested_again_if_a_point_comes_meanwhile(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """What another thread writes during a search is not found unless it meets all conditions."""

    class Slow(Tripped):
        async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
            if self.trips:
                edge.put_now([point(self.trips, state="off")])
            found: list[list[Hit]] = await super().search(queries)
            return found

    here = AnyOf((Missing("state"), OneOf("state", ("on", "up"))))
    cached = CachedCollection(Slow(edge))
    await tripped.put([point(0)])
    for _ in range(3):
        ((*hits,),) = await cached.search([Search(UP, Filter((Is("user_id", "ann"), here)))])
        assert numbers([hit.point for hit in hits]) == [0]


async def test_what_is_written_during_a_read_is_not_remembered_as_it_was(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """A read that began before a write is not taken for what is there after it."""

    class Slow(Tripped):
        async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
            found: list[list[Hit]] = await super().search(queries)
            edge.put_now([point(1), point(0, state="off")])
            return found

        async def count(self, filter: Filter) -> int:
            found = await super().count(filter)
            edge.put_now([point(3)])
            return found

    await edge.put([point(0)])
    cached = CachedCollection(Slow(edge))
    assert await cached.count(ANN) == 1
    assert numbers((await cached.scroll(ANN, limit=9))[0]) == [0, 3]
    quiet = CachedCollection(edge)
    assert numbers((await quiet.scroll(ANN, limit=9))[0]) == [1, 3]
    assert await quiet.count(ANN) == 2
    assert (await quiet.get([point(0).id]))[0].payload["state"] == "off"


async def test_another_process_is_believed_for_a_short_time_only(
    edge: EdgeCollection, tripped: Tripped
) -> None:
    """What someone else writes is seen after some seconds; a revision that is found, at once."""
    now = [0.0]
    edge.memo = Memo(life=SHARED_LIFE, clock=lambda: now[0])
    cached = CachedCollection(tripped)
    await edge.put([point(0, revision=1)])
    nearest = [Search(UP, ANN)]
    await asyncio.gather(cached.get([point(0).id]), cached.count(ANN), cached.search(nearest))
    unseen, edge.memo = edge.memo, Memo()  # as another process, which has a memo of its own
    await edge.put([point(0, revision=2), point(1)])
    edge.memo = unseen
    assert (await cached.get([point(0).id]))[0].payload["revision"] == 1
    assert await cached.count(ANN) == 1
    ((first, second),) = await cached.search(nearest)
    assert {one.point.payload.get("revision") for one in (first, second)} == {2, None}
    now[0] += SHARED_LIFE
    assert (await cached.get([point(0).id]))[0].payload["revision"] == 2
    assert await cached.count(ANN) == 2


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


async def test_a_failure_reaches_all_who_wait(tripped: Tripped) -> None:
    """What cannot be asked fails for each, and the next question is asked anew."""
    cached = CachedCollection(tripped)
    wrong = [Search((1.0,), ANN)]
    both = await asyncio.gather(
        cached.search(wrong), cached.scroll(ANN, limit=1), return_exceptions=True
    )
    assert all(isinstance(one, StoreError) for one in both)
    assert await cached.scroll(ANN, limit=1) == ([], None)


def test_a_memo_is_bounded() -> None:
    """It keeps the points that were read last, most of them as bytes, and returns them whole."""
    memo = Memo()
    with memo.reading() as reading:
        for n in range(POINTS_KEPT + 1):
            memo.keep(str(n), Point(str(n), {"n": n, "tags": [["a"], None, 0.5]}), reading)
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


async def test_a_list_of_a_moment_is_not_remembered(tripped: Tripped) -> None:
    """It is never asked for again, so it takes no room from lists that are."""
    cached = CachedCollection(tripped)
    await tripped.put([point(0, due_at=NOON.isoformat())])
    before = await cached.scroll(ANN, limit=3)
    for minute in range(1, FILTERS_KEPT + 1):
        soon = Between("due_at", high=NOON + timedelta(minutes=minute))
        assert await cached.scroll(Filter((*ANN.must, soon)), limit=3) == before
        first = Between("place", high=minute)
        assert await cached.scroll(Filter((*ANN.must, first)), limit=3) == ([], None)
    tripped.trips = 0
    assert await cached.scroll(ANN, limit=3) == before
    assert tripped.trips == 0


def test_what_many_users_are_asked_is_kept_once() -> None:
    """An answer is each user's own; the question is one object for all, and dropped for one."""
    memo = Memo()
    users = [f"u{n}" for n in range(200)]

    def asked(user: str) -> Listing:
        return Listing(Filter((Is("user_id", user), Is("state", "on"))), 3)

    gc.collect()
    before = sum(isinstance(one, Listing) for one in gc.get_objects())
    with memo.reading() as reading:
        for user in users:
            memo.keep_list(asked(user), [user], reading)
            memo.keep_count(asked(user).filter, len(user), reading)
    assert sum(isinstance(one, Listing) for one in gc.get_objects()) == before + 1
    with memo.writing(points=[point(0, "u7"), point(1, "u8", state="off")]):
        pass
    found = [(memo.find_list(asked(one)), memo.find_count(asked(one).filter)) for one in users]
    dropped = [n for n, one in enumerate(found) if one == (None, None)]
    assert dropped == [7, 8]
    assert all(
        one in (((user,), len(user)), (None, None)) for user, one in zip(users, found, strict=True)
    )
    assert memo.find_list(Listing(Filter((Is("state", "on"),)), 3)) is None


@pytest.mark.parametrize("off", [0, 3, 70], ids=["none", "few", "most"])
async def test_what_the_engine_does_not_test_is_tested_after_it(
    edge: EdgeCollection, tripped: Tripped, off: int
) -> None:
    """Of a user with many points, hits are those of the engine's own tests, however many fail."""
    hand = CachedCollection(edge)
    for n in range(1, 101):
        kind = (
            {"state": "off"}
            if 95 - off < n <= 95
            else {"due_at": "2026-01-03T11:00:00Z"}
            if n > 95
            else {}
        )
        await edge.put([replace(point(n, **kind), dense=(float(n), 1.0, 0.0))])
    with edge.memo.reading() as reading:
        edge.memo.keep_count(Filter((Is("user_id", "ann"),)), MANY, reading)
    over = Filter(ANN.must, (Between("due_at", high=NOON), OneOf("kind", ("tale",))))
    wanted = Search((1.0, 0.0, 0.0), over, 20)
    for _ in range(2):
        (plain,), (kept,) = await edge.search([wanted]), await hand.search([wanted])
        assert [hit.point.id for hit in kept] == [hit.point.id for hit in plain]
        assert len(kept) == 20


@pytest.mark.parametrize("waits", [0, 1], ids=["before it begins", "before it is answered"])
async def test_who_stops_waiting_keeps_no_answer_from_others(
    edge: EdgeCollection, tripped: Tripped, waits: int
) -> None:
    """What is asked at once is asked of the engine in one request, whoever asked first."""
    await edge.put([point(1)])
    hand = CachedCollection(tripped)
    asking = [asyncio.create_task(hand.search([Search(UP, ANN, 3)])) for _ in range(3)]
    for _ in range(waits):
        await asyncio.sleep(0)
    asking[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking[0]
    found = await asyncio.gather(*asking[1:])
    assert [numbers([hit.point for hit in hits]) for (hits,) in found] == [[1], [1]]
    assert tripped.trips == 2  # the search, the read


@pytest.mark.parametrize(("off", "read"), [(0, 20), (3, 26)], ids=["none", "few"])
async def test_of_the_hits_in_reserve_no_more_are_read_than_needed(
    edge: EdgeCollection, tripped: Tripped, off: int, read: int
) -> None:
    """As many as are asked for, and of those behind them two for each that fails."""
    await edge.put(
        [
            replace(point(n, state="off" if n > 60 - off else "on"), dense=(float(n), 1.0, 0.0))
            for n in range(1, 61)
        ]
    )
    with edge.memo.reading() as reading:
        edge.memo.keep_count(Filter((Is("user_id", "ann"),)), MANY, reading)
    before = edge.memo.misses
    wanted = Search((1.0, 0.0, 0.0), ANN, 20)
    hand = CachedCollection(tripped)
    for _ in range(2):
        (kept,) = await hand.search([wanted])
        assert numbers([hit.point for hit in kept]) == list(range(60 - off, 40 - off, -1))
    assert edge.memo.misses == before + read
    assert tripped.trips == 2 + 1 + (off > 0)  # the searches, the reads


def test_an_answer_that_came_during_a_write_is_not_remembered() -> None:
    """It may be that of the time before, whichever thread asked."""
    memo, listing = Memo(), Listing(ANN, 3)
    with memo.writing(points=[point(1)]), memo.reading() as reading:
        memo.keep_list(listing, [], reading)
        memo.keep_count(ANN, 0, reading)
        assert (memo.find_list(listing), memo.find_count(ANN)) == ((), 0)
    assert (memo.find_list(listing), memo.find_count(ANN)) == (None, None)


def test_what_was_made_is_dropped_when_a_point_of_its_users_is_written() -> None:
    """It is not kept, either, if one was written meanwhile; others' points do not count."""
    memo, owners = Memo(), ("ann", "all")
    memo.keep_made(owners, "list", "made", 1, memo.versions(owners))
    with memo.writing(points=[point(1, "bob")]):
        assert memo.find_made("ann", "list") == "made"
    for written in (point(1), point(1, "all")):
        begun = memo.versions(owners)
        memo.keep_made(owners, "list", "made", 1, begun)
        assert memo.find_made("ann", "list") == "made"
        with memo.writing(points=[written]):
            assert memo.find_made("ann", "list") is None
            memo.keep_made(owners, "list", "made", 1, memo.versions(owners))
        assert memo.find_made("ann", "list") is None
        memo.keep_made(owners, "list", "made", 1, begun)
        assert memo.find_made("ann", "list") is None
    memo.keep_made(owners, "list", "made", 1, memo.versions(owners))
    with memo.writing(["unknown"], fields=["uses"]):
        assert memo.find_made("ann", "list") is None


def test_what_was_made_holds_no_more_than_so_many_points() -> None:
    """The longest unread is dropped."""
    memo = Memo()
    for name in ("ann", "bob", "cid"):
        memo.keep_made((name,), "list", name, MADE_OF // 2, memo.versions((name,)))
    assert memo.find_made("ann", "list") is None
    assert memo.find_made("bob", "list") == "bob"
