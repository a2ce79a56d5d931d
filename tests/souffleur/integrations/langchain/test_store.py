"""SouffleurStore does what LangGraph's InMemoryStore does, and keeps it in the store's folder."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from souffleur import BlockingSouffleur, Settings, Souffleur
from souffleur.errors import BlockingError, InputError
from souffleur.integrations.langchain import SouffleurStore, label, unlabel
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.search.embedding_models import HashEmbeddings
from souffleur.knowledge.store.opening import StoreLocation
from souffleur.knowledge.store.repair import find_broken
from souffleur.knowledge.store.transfer import copy_store

DIMENSION = 64


def opened(folder: Path) -> BlockingSouffleur:
    return BlockingSouffleur.open(Settings(path=folder, embedder=f"hash:{DIMENSION}"))


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingSouffleur]:
    """A memory for all tests."""
    with opened(tmp_path_factory.mktemp("store")) as memory:
        yield memory


@pytest.fixture
def store(memory: BlockingSouffleur) -> SouffleurStore:
    """A store without records."""
    memory.call(lambda inner: _empty(inner))
    return SouffleurStore(memory)


async def _empty(memory: Souffleur) -> None:
    items = await memory.knowledge.items.within(())
    await memory.knowledge.items.delete([(one.namespace, one.key) for one in items])


def test_what_is_put_is_got(store: SouffleurStore) -> None:
    """Any JSON object, as it was; put again it is replaced, deleted it is gone."""
    value = {"n": 2**70, "x": [1.5, None, {"é": "猫"}], "": {}, "half": "\ud83d"}
    store.put(("ann", "notes"), "one", value)
    (first,) = store.search(("ann",))
    assert (first.namespace, first.key, first.value) == (("ann", "notes"), "one", value)
    store.put(("ann", "notes"), "one", {"n": 1})
    second = store.get(("ann", "notes"), "one")
    assert second is not None
    assert second.value == {"n": 1}
    assert second.created_at == first.created_at < second.updated_at
    store.delete(("ann", "notes"), "one")
    store.delete(("ann", "notes"), "never")
    assert store.get(("ann", "notes"), "one") is None
    assert store.list_namespaces() == []


@pytest.mark.parametrize("namespace", [(), ("a", "b.c"), ("a", ""), ("langgraph", "a")])
def test_names_that_langgraph_refuses(store: SouffleurStore, namespace: tuple[str, ...]) -> None:
    """They are refused here, too."""
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "key", {})


@pytest.mark.parametrize(
    "value",
    [
        *({"when": {1, 2}}, {"f": print}, {("a",): 1}, {1: "a", "1": "b"}),
        *({"x": [float("nan")]}, {"x": float("-inf")}),
        *([1], [], [("a", 1)], "text", 7, False),
    ],
)
def test_what_is_no_json_object_is_refused(store: SouffleurStore, value: Any) -> None:
    """Nothing of the batch is written, and nothing is deleted."""
    store.put(("ann",), "old", {})
    ops = [PutOp(("ann",), "fine", {}), PutOp(("ann",), "old", None), PutOp(("ann",), "odd", value)]
    with pytest.raises(InputError, match=r"must be JSON|value.*: Input should be a valid"):
        store.batch(ops)
    assert [one.key for one in store.search(("ann",))] == ["old"]


@pytest.mark.parametrize(
    "op",
    [
        *(GetOp("ann", "k"), GetOp((1,), "k"), GetOp(("ann",), 7)),  # type: ignore[arg-type]
        *(SearchOp(("ann",), "n"), SearchOp(("ann",), [("n", 1)])),  # type: ignore[arg-type]
        *(SearchOp((), limit=1.5), SearchOp((), limit=None)),  # type: ignore[arg-type]
        *(SearchOp((), query=5), ListNamespacesOp(max_depth="x")),  # type: ignore[arg-type]
        ListNamespacesOp((MatchCondition("middle", ("ann",)),)),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_looked_for_is_told(store: SouffleurStore, op: Op) -> None:
    """The error names the argument; a put beside it is not carried out."""
    with pytest.raises(InputError, match=r"this cannot be looked for: \w+.*: Input should be"):
        store.batch([PutOp(("ann",), "fine", {}), op])
    assert store.search(("ann",)) == []


def test_odd_places_and_paths_are_told(store: SouffleurStore) -> None:
    """So is a time to live, which a batch does not check."""
    for op in (PutOp("ann", "k", {}), PutOp(("ann",), "k", {}, index="text")):  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"this cannot be put: (namespace|index)"):
            store.batch([op])
    with pytest.raises(NotImplementedError):
        store.batch([PutOp(("ann",), "k", {}, ttl=1.0)])
    assert store.search(()) == []


def test_unknown_comparisons_are_refused(store: SouffleurStore) -> None:
    """The error lists those that there are."""
    store.put(("ann",), "one", {"n": 1})
    with pytest.raises(InputError, match=r"'\$in' is no comparison: choose one of \$eq"):
        store.search(("ann",), filter={"n": {"$in": [1]}})
    with pytest.raises(NotImplementedError):
        store.put(("ann",), "one", {}, ttl=1)


def embed(texts: Sequence[str]) -> list[list[float]]:
    """The vectors that the store under test has for its texts."""
    return HashEmbeddings(DIMENSION).embed_documents(list(texts))


def test_random_operations_have_the_results_of_langgraph_s_own_store(
    store: SouffleurStore,
) -> None:
    """Gets, searches with filters and queries bring the same records, with the same scores."""
    chance, fields = random.Random(7), ["text"]
    ours = SouffleurStore(store._access.memory, fields=fields)
    theirs = InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": fields})
    for _ in range(60):
        ops = [_some_op(chance) for _ in range(chance.randint(1, 4))]
        found, wanted = ours.batch(ops), theirs.batch(ops)
        for op, one, other in zip(ops, found, wanted, strict=True):
            assert _told(one) == _told(other), op


def _some_op(chance: random.Random) -> Op:
    namespace = (chance.choice("ab"), *chance.choices("xyz", k=chance.randint(0, 2)))
    key = chance.choice("12345")
    kind = chance.randint(0, 6)
    if kind <= 3:
        words = " ".join(chance.choices(["tea", "cake", "rain", "Lisbon", "shoes"], k=3))
        words += f" {chance.random()}"  # InMemoryStore takes no text twice in a batch
        value = {"text": words, "n": chance.randint(0, 5), "color": chance.choice(["red", "blue"])}
        index = chance.choice([None, None, ["text"]])
        return PutOp(namespace, key, value if chance.random() < 0.9 else None, index)
    if kind == 4:
        return GetOp(namespace, key)
    prefix = namespace[: chance.randint(0, len(namespace))]
    wanted = [None, {"color": "red"}, {"n": {"$gte": 2, "$ne": 4}}, {"n": {"$lt": 3}}]
    query = chance.choice([None, "tea and cake", "rain in Lisbon"])
    return SearchOp(prefix, chance.choice(wanted), limit=100, query=query)


def _told(result: Any) -> Any:
    """A result without times; what scores the same has no order, nor has a search by filter."""
    if isinstance(result, list):
        return sorted(map(str, map(_told, result)))
    if hasattr(result, "value"):
        score = getattr(result, "score", None)
        nearness = None if score is None else abs(round(score, 3))
        return result.namespace, result.key, sorted(result.value.items()), nearness
    return result


def test_the_nearest_come_first(store: SouffleurStore) -> None:
    """Pages do not overlap; what has no text comes last."""
    store.put(("ann",), "tea", {"text": "green tea"})
    store.put(("ann",), "cake", {"text": "a cake with tea"})
    store.put(("ann",), "rain", {"text": "it rains"})
    store.put(("ann",), "none", {"text": "green tea"}, index=False)
    found = store.search(("ann",), query='{"text": "green tea"}', limit=10)
    assert [one.key for one in found] == ["tea", "cake", "rain", "none"]
    assert [one.score is None for one in found] == [False, False, False, True]
    pages = [store.search(("ann",), query="green tea", limit=3, offset=at) for at in (0, 3, 6)]
    assert sorted(one.key for page in pages for one in page) == ["cake", "none", "rain", "tea"]


def test_namespaces_by_pattern(store: SouffleurStore) -> None:
    """They are listed by prefix, suffix and any label, cut to a depth, each once, in pages."""
    for namespace in (("a", "x", "1"), ("a", "x", "2"), ("a", "y"), ("b", "x")):
        store.put(namespace, "key", {})
    assert store.list_namespaces(prefix=("a",), max_depth=2) == [("a", "x"), ("a", "y")]
    assert store.list_namespaces(suffix=("x",)) == [("b", "x")]
    assert store.list_namespaces(prefix=("*", "x")) == [
        ("a", "x", "1"),
        ("a", "x", "2"),
        ("b", "x"),
    ]
    assert store.list_namespaces(limit=2, offset=1) == [("a", "x", "2"), ("a", "y")]


async def test_it_serves_an_event_loop(tmp_path: Path, store: SouffleurStore) -> None:
    """With a Souffleur: in its loop, from other threads; a call that would wait forever raises."""
    await store.aput(("ann",), "one", {"n": 1})
    assert (await store.asearch(("ann",)))[0].value == {"n": 1}
    async with Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory:
        own = SouffleurStore(memory)
        await own.aput(("ann",), "two", {"n": 2})
        assert await asyncio.to_thread(own.get, ("ann",), "two") == await own.aget(("ann",), "two")
        with pytest.raises(BlockingError, match="use the asynchronous form"):
            own.get(("ann",), "two")
        assert await asyncio.to_thread(asyncio.run, own.aget(("bob",), "two")) is None


def test_records_are_no_memories(store: SouffleurStore, memory: BlockingSouffleur) -> None:
    """They are neither found nor whispered nor counted, and go with their user alone."""
    ann, bob = "ann@example.org", "bob"
    words = {"text": "Ann likes green tea."}
    store.put((label(ann), "notes"), "tea", words)
    store.put((bob, "notes"), "tea", words)
    memory.remember("Cy likes cocoa.", user_id="cy")
    assert memory.call(lambda inner: inner.knowledge.items.count(())) == 2
    assert memory.recall(user_id=ann, text="green tea?").text == ""
    assert memory.search("green tea", user_id=ann, scope=["memories", "episodes", "turns"]) == []
    assert memory.list(user_id=ann) == []
    assert memory.call(lambda inner: find_broken(inner.knowledge)) == []
    assert memory.erase_user(user_id=ann).counts == {"item": 1}
    assert store.list_namespaces() == [(bob, "notes")]
    assert unlabel(label(ann)) == ann


def test_the_user_s_place_in_a_namespace(store: SouffleurStore, memory: BlockingSouffleur) -> None:
    """Any label can be the user with whom a record is erased, or no label."""
    second = SouffleurStore(memory, user_at=1)
    second.put(("notes", "ann"), "one", {})
    second.put(("notes",), "two", {})
    SouffleurStore(memory, user_at=None).put(("ann",), "three", {})
    memory.erase_user(user_id="ann")
    assert [one.key for one in store.search(())] == ["two", "three"]


async def test_records_outlive_the_process_and_move_with_the_store(tmp_path: Path) -> None:
    """Opened again, restored from a backup, or migrated to another embedder, they are there."""
    here, there = tmp_path / "here", tmp_path / "there"
    async with Souffleur.open(Settings(path=here, embedder="hash:64")) as memory:
        await SouffleurStore(memory).aput(("ann",), "tea", {"text": "green tea"})
        made = await memory.backup(tmp_path / "backup.zip")
    assert made.counts["item"] == 1
    embedder = make_embedder("hash:32")
    await copy_store(StoreLocation(here), StoreLocation(there), embedder, COMPANION)
    await Souffleur.restore(tmp_path / "backup.zip", Settings(path=tmp_path / "again"))
    for folder, name in ((here, 64), (there, 32), (tmp_path / "again", 64)):
        async with Souffleur.open(Settings(path=folder, embedder=f"hash:{name}")) as memory:
            (found,) = await SouffleurStore(memory).asearch(("ann",), query="tea")
            assert found.value == {"text": "green tea"}
            assert found.score is not None
            assert found.score > 0.1
