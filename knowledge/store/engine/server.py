"""Collections on a Qdrant server or cluster, which several processes may share."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TypeVar
from weakref import WeakKeyDictionary

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from souffleur.errors import StoreError
from souffleur.knowledge.network.connections import connection
from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.knowledge.store.engine.collection import (
    Changes,
    CollectionSchema,
    Condition,
    Filter,
    Hit,
    Listing,
    Order,
    Payload,
    Point,
    Search,
    carry_through,
)
from souffleur.knowledge.store.engine.memo import SHARED_LIFE, Memo
from souffleur.knowledge.store.engine.server_encoding import (
    SCHEMAS,
    encode_condition,
    encode_dense,
    encode_filter,
    encode_index,
    encode_named,
    encode_order,
    encode_point,
    encode_query,
    encode_swap,
    encode_vectors,
    encode_words,
)
from souffleur.knowledge.store.engine.vectors import (
    CUES,
    DENSE,
    check_given,
    check_stored,
    dense_vectors,
    one_line,
    to_point,
    writing,
)

Answer = TypeVar("Answer")

CONFLICT, MISSING = 409, 404
REFUSED = (401, 403)
OLDEST = (1, 19)
"""The first version of Qdrant that counts the rarity of terms within the points of one user."""
MAX_REQUESTS = 32
"""Maximum number of requests to servers that one process runs at once; each needs a thread."""

_in_memory: WeakKeyDictionary[QdrantClient, threading.Lock] = WeakKeyDictionary()
"""The lock of each in-memory client. Several collections may share a client."""


class ServerCollection:
    """A collection on a Qdrant server of version 1.19 or later.

    The blocking client is called in threads. An in-memory client is called under a lock, as it is
    not thread-safe; it has no indexes.
    """

    shared = True

    def __init__(
        self,
        client: QdrantClient,
        schema: CollectionSchema,
        url: str,
        *,
        owned: bool,
        prefix: str = "",
    ) -> None:
        self.schema = schema
        self._name = prefix + schema.name
        self.trouble = ""
        self.changes = Changes()
        self.memo = Memo(life=SHARED_LIFE)
        """The cache of readers. It expires soon, as other processes may write to the server."""
        self._client = client
        self._url = bare_address(url)
        self._owned = owned
        self._closed = False
        self._local = is_local(client)
        self._lock: AbstractContextManager[object] = (
            _in_memory.setdefault(client, threading.Lock()) if self._local else nullcontext()
        )

    @classmethod
    async def open(
        cls,
        url: str,
        schema: CollectionSchema,
        *,
        prefix: str = "",
        api_key: str | None = None,
        timeout: int = 10,  # noqa: ASYNC109 seconds for one request, which the client limits
        client: QdrantClient | None = None,
    ) -> "ServerCollection":
        """Open the collection on the server at `url`, or create it.

        On the server, its name begins with `prefix`. A given `client` is used instead of a new
        connection, and `close` leaves it open. Raises StoreMismatchError if the collection has
        another dimension, StoreError if the server is older than 1.19.
        """
        owned = client is None
        if client is None:
            client = await asyncio.to_thread(connect, url, api_key, timeout)
        collection = cls(client, schema, url, owned=owned, prefix=prefix)
        try:
            await collection._check_version()
            await collection._ask("open", collection._prepare)
            stored = await collection._ask("open", collection._build_indexes)
            check_stored(schema, stored, bare_address(url))
        except StoreError:
            await collection.close()
            raise
        return collection

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points. After a server crash, each shard has all or no points."""
        if points:
            check_given(self.schema, dense_vectors(points))
            self.changes.note([point.id for point in points])
            with self.memo.writing(points=points):
                self._call("put points into", lambda: self._upsert(points))

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors."""
        return self._call("read", lambda: self._retrieve(ids)) if ids else []

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Insert new points, and replace points whose stored revision is the given revision."""
        if not points:
            return set()
        check_given(self.schema, dense_vectors(points))
        self.changes.note([point.id for point in points])
        given = {point.id: writing(point) for point in points if "revision" in point.payload}
        with self.memo.writing(points=points):
            found = self._call(
                "change points of", lambda: self._swap(points, revisions, list(given))
            )
        return {one.id for one in found if writing(one) == given[one.id]}

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Run `swap_now` in a thread."""
        return await carry_through(_in_thread(lambda: self.swap_now(points, revisions)))

    async def put(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points."""
        await carry_through(_in_thread(lambda: self.put_now(points)))

    async def replace(self, point: Point, *, revision: int) -> bool:
        """Replace the point if its stored `revision` equals the given one; return whether it did.

        The server does not report the result, so the point is read back. If another writer has
        replaced the point in the meantime, the result is False although both writes happened.
        """
        check_given(self.schema, dense_vectors([point]))
        self.changes.note([point.id])
        with self.memo.writing(points=[point]):
            stored = await carry_through(
                self._ask("replace a point of", lambda: self._replace(point, revision))
            )
        return any(writing(found) == writing(point) for found in stored)

    async def merge_payload(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Set these payload fields of the existing points; the value `None` removes a field."""
        await carry_through(_in_thread(lambda: self.merge_now(ids, payload, where=where)))

    def merge_now(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Set these payload fields of the existing points; the value `None` removes a field."""
        if not ids:
            return
        self.changes.note(ids)
        # A filter is used because the server answers 404 to a list of ids if any id is unknown.
        such = [encode_condition(where)] if where else []
        points = models.Filter(must=[models.HasIdCondition(has_id=list(ids)), *such])
        with self.memo.writing(ids, fields=payload):
            self._call(
                "change points of",
                lambda: self._client.set_payload(self._name, payload, points, wait=True),
            )

    async def set_vectors(self, points: Sequence[Point]) -> None:
        """Set the vectors of existing points."""
        if not points:
            return
        check_given(self.schema, dense_vectors(points))
        self.changes.note([point.id for point in points])
        vectors = [models.PointVectors(id=one.id, vector=encode_vectors(one)) for one in points]
        with self.memo.writing(points=points):
            await carry_through(
                self._ask(
                    "change points of",
                    lambda: self._client.update_vectors(self._name, vectors, wait=True),
                )
            )

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Return the existing points in the order of `ids`."""
        if not ids:  # without this, an empty request would go to the server
            return []
        return await self._ask("read", lambda: self._retrieve(ids, vectors=vectors))

    async def scroll(
        self,
        filter: Filter,
        *,
        limit: int,
        order: Order | None = None,
        after: str | None = None,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return up to `limit` matching points, sorted by id or `order`, and the next cursor."""
        records, following = await self._ask(
            "read",
            lambda: self._client.scroll(
                self._name,
                scroll_filter=encode_filter(filter),
                limit=limit,
                order_by=encode_order(order) if order else None,
                offset=after,
                with_vectors=vectors,
            ),
        )
        after = None if following is None else str(following)
        return [to_point(record) for record in records], after

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the nearest points for each query."""
        if not queries:
            return []
        check_given(self.schema, [one.vector for one in queries if isinstance(one, Search)])
        batch = [encode_query(query) for query in queries]
        answers = await self._ask(
            "search", lambda: self._client.query_batch_points(self._name, batch)
        )
        return [
            [
                Hit(to_point(found), found.score if isinstance(query, Search) else 0.0)
                for found in a.points
            ]
            for query, a in zip(queries, answers, strict=True)
        ]

    async def count(self, filter: Filter) -> int:
        """Return the number of matching points."""
        condition = encode_filter(filter)
        answer = await self._ask("count", lambda: self._client.count(self._name, condition))
        return answer.count

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete the points; skips unknown ids."""
        if ids:
            self.changes.note(ids)
            points = models.PointIdsList(points=list(ids))
            with self.memo.writing(ids):
                await carry_through(
                    self._ask(
                        "delete from", lambda: self._client.delete(self._name, points, wait=True)
                    )
                )

    def check_usable(self) -> None:
        """Raise StoreError if the collection is closed."""
        if self._closed:
            raise StoreError(f"The connection to {self._url} is closed: open it again.")

    async def flush(self) -> None:
        """Do nothing: every write is in the server's log, and the server syncs its log itself."""

    async def compact(self) -> str:
        """Do nothing, and return a remark about where the bytes of deleted points stay.

        Only the server's vacuum optimizer decides when to rewrite its files:
        https://qdrant.tech/documentation/concepts/optimizer/
        """
        return (
            f"The Qdrant server at {self._url} keeps the bytes of what was deleted in its segments "
            "and log until its optimizer rewrites them, for which a fifth of a segment and 1,000 "
            "points must be gone. To be rid of them at once, back the store up, restore it under "
            "another SOUFFLEUR_QDRANT_PREFIX, and delete the old collections and snapshots there."
        )

    async def close(self) -> None:
        """Close the connection."""
        if self._owned and not self._closed:
            self._closed = True
            await self._ask("close", self._client.close)

    async def _ask(self, doing: str, call: Callable[[], Answer]) -> Answer:
        return await _in_thread(lambda: self._call(doing, call))

    def _call(self, doing: str, call: Callable[[], Answer]) -> Answer:
        with self._lock, client_errors(doing, self._name, self._url):
            return call()

    def _find_version(self) -> tuple[int, ...]:
        """Return the server's version; empty if the server does not report it."""
        try:
            told = self._client.info().version
        except UnexpectedResponse:  # a proxy may allow only requests about collections
            return ()
        return tuple(map(int, re.findall(r"\d+", told)[:3]))

    async def _check_version(self) -> None:
        """Raise StoreError if the server reports a version before `OLDEST`."""
        version = await self._ask("open", self._find_version)
        if version and version < OLDEST:
            raise StoreError(
                f"Qdrant at {self._url} has version {'.'.join(map(str, version))}, which cannot "
                "count how rare words are among one user's memories: upgrade it to 1.19 or later."
            )

    def _prepare(self) -> None:
        name = self._name
        if self._client.collection_exists(name):
            return
        try:
            self._client.create_collection(
                name,
                vectors_config=encode_dense(self.schema),
                sparse_vectors_config=encode_words(self.schema),
            )
        except UnexpectedResponse as error:
            if error.status_code != CONFLICT:  # another process has just created it
                raise

    def _build_indexes(self) -> int:
        info = self._client.get_collection(self._name)
        for key, kind in self.schema.indexes.items():
            present = info.payload_schema.get(key)
            if not self._local and (present is None or present.data_type != SCHEMAS[kind]):
                self._client.create_payload_index(self._name, key, encode_index(kind))
        vectors = info.config.params.vectors
        return vectors[DENSE].size if isinstance(vectors, dict) else 0

    def _upsert(self, points: Sequence[Point]) -> None:
        self._client.upsert(self._name, [encode_point(point) for point in points], wait=True)

    def _replace(self, point: Point, revision: int) -> list[Point]:
        condition = models.FieldCondition(key="revision", match=models.MatchValue(value=revision))
        # With strong ordering, all replicas see competing writes in the same order.
        self._client.upsert(
            self._name,
            [encode_point(point)],
            wait=True,
            ordering=models.WriteOrdering.STRONG,
            update_filter=models.Filter(must=[condition]),
            update_mode=models.UpdateMode.UPDATE_ONLY,
        )
        return self._retrieve([point.id], consistency=models.ReadConsistencyType.MAJORITY)

    def _swap(
        self, points: Sequence[Point], revisions: Mapping[str, int | None], ids: Sequence[str]
    ) -> list[Point]:
        replaces = {point.id: revisions[point.id] for point in points if point.id in revisions}
        mode = models.UpdateMode.UPSERT if replaces else models.UpdateMode.INSERT_ONLY
        self._client.upsert(
            self._name,
            [encode_point(point) for point in points],
            wait=True,
            ordering=models.WriteOrdering.STRONG,
            update_filter=encode_swap(replaces) if replaces else None,
            update_mode=mode,
        )
        if not ids:
            return []
        majority = models.ReadConsistencyType.MAJORITY
        return self._retrieve(ids, consistency=majority, fields=["revision", "written_by"])

    def _retrieve(
        self,
        ids: Sequence[str],
        *,
        vectors: bool = False,
        consistency: models.ReadConsistencyType | None = None,
        fields: list[str] | bool = True,
    ) -> list[Point]:
        records = self._client.retrieve(
            self._name,
            list(ids),
            with_payload=fields,
            with_vectors=vectors,
            consistency=consistency,
        )
        found = {str(record.id): record for record in records}
        return [to_point(found[point_id]) for point_id in ids if point_id in found]


async def _in_thread(call: Callable[[], Answer]) -> Answer:
    return await asyncio.get_running_loop().run_in_executor(_threads(), call)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_REQUESTS, "souffleur-qdrant")


def connect(url: str, api_key: str | None, timeout: int) -> QdrantClient:
    """Return a client that has not connected yet. Raises SettingsError for an invalid variable."""
    way = connection(url)
    # The key is sent as a header, and the client checks no versions, because the client would
    # only warn where it should raise.
    with client_errors("open", "", bare_address(url)):
        return QdrantClient(
            url=url,
            https=api_key is not None,
            headers={"api-key": api_key} if api_key else None,
            timeout=timeout,
            check_compatibility=False,
            **way,
        )


async def stored_dimension(url: str, api_key: str | None, name: str) -> int | None:
    """Return the dense dimension of a collection on the server; `None` without a collection."""

    def look() -> int | None:
        client = connect(url, api_key, timeout=10)
        with client_errors("open", name, bare_address(url)):
            try:
                if not client.collection_exists(name):
                    return None
                vectors = client.get_collection(name).config.params.vectors
                if not isinstance(vectors, dict):
                    return None
                return vectors[DENSE].size if DENSE in vectors else 0
            finally:
                client.close()

    return await asyncio.to_thread(look)


async def resize_vectors(
    url: str, api_key: str | None, schema: CollectionSchema, name: str
) -> None:
    """Drop the dense vectors of the collection `name`, and set the dimension of the schema.

    Payloads and sparse vectors stay. The process may be killed at any moment, and the call
    repeated. Raises StoreError.
    """

    def resize() -> None:
        client = connect(url, api_key, timeout=60)
        with client_errors("change", name, bare_address(url)):
            try:
                stored = client.get_collection(name).config.params.vectors
                for kind in {CUES, DENSE} & set(stored if isinstance(stored, dict) else ()):
                    client.delete_vector_name(name, kind)
                for kind, params in encode_named(schema).items():
                    client.create_vector_name(name, kind, params)
            finally:
                client.close()

    await asyncio.to_thread(resize)


async def remove(url: str, api_key: str | None, names: Sequence[str]) -> None:
    """Delete these collections with all their points from the server. Raises StoreError."""

    def drop() -> None:
        client = connect(url, api_key, timeout=10)
        try:
            for name in names:
                with client_errors("remove", name, bare_address(url)):
                    client.delete_collection(name)
        finally:
            client.close()

    await asyncio.to_thread(drop)


def is_local(client: QdrantClient) -> bool:
    """Return whether the client stores the points itself, without a server."""
    options = client.init_options
    return options["location"] == ":memory:" or options["path"] is not None


@contextmanager
def client_errors(doing: str, name: str, url: str) -> Iterator[None]:
    """Convert errors of the client to a StoreError with the action and the server's address."""
    try:
        yield
    except ResponseHandlingException as error:
        raise StoreError(
            f"Qdrant at {url} gave no usable answer ({one_line(error.source)}); check that it runs "
            "there and can be reached, or correct SOUFFLEUR_QDRANT_URL."
        ) from error
    except Exception as error:  # from the client, pydantic, or the Python code of local mode
        if isinstance(error, UnexpectedResponse) and error.status_code in REFUSED:
            raise StoreError(
                f"Qdrant at {url} refused the key; set SOUFFLEUR_QDRANT_API_KEY to one that may "
                "read and write."
            ) from error
        if isinstance(error, UnexpectedResponse) and _is_gone(error):
            raise StoreError(
                f"Qdrant at {url} has no collection '{name}' any more: restore a backup before "
                "anything opens the store again, as that begins an empty one."
            ) from error
        raise StoreError(
            f"Qdrant at {url} could not {doing} the collection '{name}': {one_line(error)}; "
            "correct that and try again."
        ) from error


def _is_gone(error: UnexpectedResponse) -> bool:
    return error.status_code == MISSING and b"doesn't exist" in error.content
