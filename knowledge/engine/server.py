"""Collections kept by a Qdrant server or cluster, which several processes may share."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from souffleur.errors import StoreError
from souffleur.knowledge.engine.collection import (
    CollectionSchema,
    Filter,
    Hit,
    Order,
    Payload,
    Point,
    Search,
)
from souffleur.knowledge.engine.server_encoding import (
    SCHEMAS,
    encode_filter,
    encode_index,
    encode_order,
    encode_point,
    encode_search,
)
from souffleur.knowledge.engine.vectors import (
    DENSE,
    LEXICAL,
    check_given,
    check_stored,
    one_line,
    to_point,
    writing,
)
from souffleur.knowledge.privacy.addresses import bare_address

Answer = TypeVar("Answer")

CONFLICT = 409
REFUSED = (401, 403)


class ServerCollection:
    """A collection of a server of version 1.19 or later: older ones cannot count rarity per user.

    The blocking client is called in threads; an in-memory one, which is not thread-safe and has
    no indexes, under one lock.
    """

    def __init__(
        self, client: QdrantClient, layout: CollectionSchema, url: str, *, owned: bool
    ) -> None:
        self.layout = layout
        self.trouble = ""
        self._client = client
        self._url = bare_address(url)
        self._owned = owned
        self._closed = False
        self._local = is_local(client)
        self._lock: AbstractContextManager[object] = (
            threading.Lock() if self._local else nullcontext()
        )

    @classmethod
    async def open(
        cls,
        url: str,
        layout: CollectionSchema,
        *,
        api_key: str | None = None,
        timeout: int = 10,  # noqa: ASYNC109 of one request, in seconds, and so the client's to keep
        shards: int = 1,
        replicas: int = 1,
        client: QdrantClient | None = None,
    ) -> "ServerCollection":
        """The collection of the server at `url`, made there if it is not.

        A `client` given is used instead of connecting, and is left open by `close`. Raises
        StoreMismatchError if the collection was made with another dimension.
        """
        owned = client is None
        if client is None:
            client = await asyncio.to_thread(connect, url, api_key, timeout)
        collection = cls(client, layout, url, owned=owned)
        try:
            await collection._ask("open", lambda: collection._prepare(shards, replicas))
            stored = await collection._ask("open", collection._build_indexes)
            check_stored(layout, stored, bare_address(url))
        except StoreError:
            await collection.close()
            raise
        return collection

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points; of a crashed server, all or none come back per shard."""
        if points:
            check_given(self.layout, [point.dense for point in points])
            self._call("put points into", lambda: self._upsert(points))

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """The points that exist, in the order of `ids`, without vectors."""
        return self._call("read", lambda: self._retrieve(ids)) if ids else []

    async def put(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points."""
        await asyncio.to_thread(self.put_now, points)

    async def replace(self, point: Point, *, revision: int) -> bool:
        """Replace the point if its stored `revision` is the one given, and say whether it was.

        The server does not tell, so the point is read back: should another writer have replaced
        it again in between, the answer is False although both took place.
        """
        check_given(self.layout, [point.dense])
        stored = await self._ask("replace a point of", lambda: self._replace(point, revision))
        return any(writing(found) == writing(point) for found in stored)

    async def merge_payload(self, ids: Sequence[str], payload: Payload) -> None:
        """Set these payload fields on the points that exist; a None removes the field."""
        # By filter: by ids the server answers 404 where one is unknown.
        points = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
        await self._ask(
            "change points of",
            lambda: self._client.set_payload(self.layout.name, payload, points, wait=True),
        )

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """The points that exist, in the order of `ids`."""
        if not ids:  # the server would be asked all the same
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
        """Up to `limit` matching points by id or in order, and the cursor for the next page."""
        records, following = await self._ask(
            "read",
            lambda: self._client.scroll(
                self.layout.name,
                scroll_filter=encode_filter(filter),
                limit=limit,
                order_by=encode_order(order) if order else None,
                offset=after,
                with_vectors=vectors,
            ),
        )
        after = None if following is None else str(following)
        return [to_point(record) for record in records], after

    async def search(self, queries: Sequence[Search]) -> list[list[Hit]]:
        """The nearest points for each query."""
        if not queries:
            return []
        check_given(self.layout, [query.vector for query in queries])
        batch = [encode_search(query) for query in queries]
        answers = await self._ask(
            "search", lambda: self._client.query_batch_points(self.layout.name, batch)
        )
        return [[Hit(to_point(found), found.score) for found in a.points] for a in answers]

    async def count(self, filter: Filter) -> int:
        """How many points match."""
        condition = encode_filter(filter)
        answer = await self._ask("count", lambda: self._client.count(self.layout.name, condition))
        return answer.count

    async def delete(self, ids: Sequence[str]) -> None:
        """Remove the points for good; unknown ids are ignored."""
        if ids:
            points = models.PointIdsList(points=list(ids))
            await self._ask(
                "delete from", lambda: self._client.delete(self.layout.name, points, wait=True)
            )

    async def flush(self) -> None:
        """Nothing to do: every write is in the server's log, which it syncs as it is set up to."""

    async def close(self) -> None:
        """Let go of the connection."""
        if self._owned and not self._closed:
            self._closed = True
            await self._ask("close", self._client.close)

    async def _ask(self, doing: str, call: Callable[[], Answer]) -> Answer:
        return await asyncio.to_thread(self._call, doing, call)

    def _call(self, doing: str, call: Callable[[], Answer]) -> Answer:
        with self._lock, client_errors(doing, self.layout.name, self._url):
            return call()

    def _prepare(self, shards: int, replicas: int) -> None:
        name = self.layout.name
        if self._client.collection_exists(name):
            return
        try:
            self._client.create_collection(
                name,
                vectors_config={
                    DENSE: models.VectorParams(
                        size=self.layout.dimension, distance=models.Distance.COSINE
                    )
                },
                sparse_vectors_config={
                    LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)
                },
                shard_number=shards,
                replication_factor=replicas,
            )
        except UnexpectedResponse as error:
            if error.status_code != CONFLICT:  # another process has just made it
                raise

    def _build_indexes(self) -> int:
        info = self._client.get_collection(self.layout.name)
        for key, kind in self.layout.indexes.items():
            present = info.payload_schema.get(key)
            if not self._local and (present is None or present.data_type != SCHEMAS[kind]):
                self._client.create_payload_index(self.layout.name, key, encode_index(kind))
        vectors = info.config.params.vectors
        return vectors[DENSE].size if isinstance(vectors, dict) else 0

    def _upsert(self, points: Sequence[Point]) -> None:
        self._client.upsert(self.layout.name, [encode_point(point) for point in points], wait=True)

    def _replace(self, point: Point, revision: int) -> list[Point]:
        condition = models.FieldCondition(key="revision", match=models.MatchValue(value=revision))
        # Strong, so that all replicas see rival writes in the same order.
        self._client.upsert(
            self.layout.name,
            [encode_point(point)],
            wait=True,
            ordering=models.WriteOrdering.STRONG,
            update_filter=models.Filter(must=[condition]),
            update_mode=models.UpdateMode.UPDATE_ONLY,
        )
        return self._retrieve([point.id], consistency=models.ReadConsistencyType.MAJORITY)

    def _retrieve(
        self,
        ids: Sequence[str],
        *,
        vectors: bool = False,
        consistency: models.ReadConsistencyType | None = None,
    ) -> list[Point]:
        records = self._client.retrieve(
            self.layout.name, list(ids), with_vectors=vectors, consistency=consistency
        )
        found = {str(record.id): record for record in records}
        return [to_point(found[point_id]) for point_id in ids if point_id in found]


def connect(url: str, api_key: str | None, timeout: int) -> QdrantClient:
    """A client, not yet connected."""
    # The key as a header and no check of versions: both would warn instead of raising.
    with client_errors("open", "", bare_address(url)):
        return QdrantClient(
            url=url,
            https=api_key is not None,
            headers={"api-key": api_key} if api_key else None,
            timeout=timeout,
            check_compatibility=False,
        )


async def stored_dimension(url: str, api_key: str | None, name: str) -> int | None:
    """Dimension of the dense vectors of a collection of the server; None if there is none."""

    def look() -> int | None:
        client = connect(url, api_key, timeout=10)
        with client_errors("open", name, bare_address(url)):
            try:
                if not client.collection_exists(name):
                    return None
                vectors = client.get_collection(name).config.params.vectors
                return vectors[DENSE].size if isinstance(vectors, dict) else None
            finally:
                client.close()

    return await asyncio.to_thread(look)


def is_local(client: QdrantClient) -> bool:
    """Whether the client keeps the points itself."""
    options = client.init_options
    return options["location"] == ":memory:" or options["path"] is not None


@contextmanager
def client_errors(doing: str, name: str, url: str) -> Iterator[None]:
    """Raise what the client raises as a StoreError that names what was done, and where."""
    try:
        yield
    except ResponseHandlingException as error:
        raise StoreError(
            f"Qdrant at {url} gave no usable answer ({one_line(error.source)}); check that it runs "
            "there and can be reached, or correct SOUFFLEUR_QDRANT_URL."
        ) from error
    except Exception as error:  # of the client, of pydantic, and of local mode's own Python
        if isinstance(error, UnexpectedResponse) and error.status_code in REFUSED:
            raise StoreError(
                f"Qdrant at {url} refused the key; set SOUFFLEUR_QDRANT_API_KEY to one that may "
                "read and write."
            ) from error
        raise StoreError(
            f"Qdrant at {url} could not {doing} the collection '{name}': {one_line(error)}; "
            "correct that and try again."
        ) from error
