"""Collections on the local disk, read and written in this process by Qdrant Edge."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock, RLock
from typing import Any, cast
from uuid import UUID

import qdrant_edge as qdrant
from loguru import logger

from souffleur.errors import StoreBusyError, StoreError
from souffleur.knowledge.store.engine import checksums, files
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
    read_pages,
)
from souffleur.knowledge.store.engine.edge_encoding import (
    NEAREST,
    SCHEMAS,
    encode_condition,
    encode_config,
    encode_filter,
    encode_index,
    encode_listing,
    encode_searches,
    encode_upsert,
    encode_vectors,
)
from souffleur.knowledge.store.engine.files import SYNCS_MAPS, Sync, sync_data, sync_log
from souffleur.knowledge.store.engine.memo import Memo
from souffleur.knowledge.store.engine.points import bare
from souffleur.knowledge.store.engine.vectors import (
    CUES,
    DENSE,
    check_given,
    check_stored,
    dense_vectors,
    one_line,
    to_point,
)

PANIC = "PanicException"
"""Name of the type raised by a bug in the engine. It is no `Exception` and cannot be imported."""

POINTS_PER_COPY = 64
"""Number of points that a compaction copies at once; a larger number delays the event loop."""

Room = Callable[[Path], int]
"""A function that returns the free bytes on the disk of a path. Raises OSError."""

CHECKPOINT_WRITES = 2_000
"""Number of writes after which the engine flushes. After a kill, it replays 10,000 per second."""
NAMES_KNOWN = 4096
"""Number of points without payload that `_named` caches."""
QUIET_PERIODS = 5
"""Number of `flush_every` periods without a write after which the engine flushes."""


class EdgeCollection:
    """A collection in a folder, for one process, which must hold `folder_lock.locked_folder`.

    A write returns when it is in the log (WAL), so it survives a killed process. `flush` syncs the
    log to the disk. This happens automatically within `flush_every` seconds of a write in an event
    loop; with `power_safe`, it happens before each write returns. The engine itself flushes after
    `checkpoint_after` writes and when there are no writes: a restart then replays a shorter log.
    """

    shared = False

    # The engine holds the GIL while it works, usually for a few milliseconds at most. A thread
    # would not free the event loop, so async methods call the engine directly. Threads are used
    # only to wait for the disk.

    def __init__(
        self,
        shard: qdrant.EdgeShard,
        path: Path,
        schema: CollectionSchema,
        *,
        flush_every: float,
        power_safe: bool,
        room: Room,
        sync: Sync = sync_log,
        checkpoint_after: int = CHECKPOINT_WRITES,
    ) -> None:
        self.schema = schema
        self.trouble = ""
        """Why the last flush failed; empty if it succeeded or is still due."""
        self.changes = Changes()
        self.memo = Memo()
        """The cache of readers. It never expires, as only this process writes to the folder."""
        self._opened = shard
        self._path = path
        self._flush_every = flush_every
        self._power_safe = power_safe
        self._room = room
        self._pid = os.getpid()
        self._alone = RLock()
        """Lock held during each call of the engine, as `compact` replaces the opened files."""
        self._sync = sync
        self._checkpoint_after = checkpoint_after
        self._unsynced = False
        """Whether there were writes since the log was last synced."""
        self._written = 0
        """Number of writes since the engine last flushed."""
        self._syncing = Lock()
        """Lock held while waiting for the disk. Always acquired before `_alone`, never after it."""
        self._flushing_in: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        folder: Path,
        schema: CollectionSchema,
        *,
        flush_every: float = 1.0,
        power_safe: bool = False,
        room: Room = files.free_bytes,
        sync: Sync = sync_log,
        checkpoint_after: int = CHECKPOINT_WRITES,
    ) -> "EdgeCollection":
        """Open the collection in `folder`, or create it. `flush_every` is in seconds.

        Raises StoreBusyError if another process has the collection open, StoreMismatchError if it
        has another dimension, StoreError if it cannot be read or the disk is nearly full.
        """
        path = folder / schema.name
        with engine_errors("open", path):
            files.finish_compaction(path)
            checksums.check_sums(path)
        stored = stored_dimension(path)
        if stored is not None:
            check_stored(schema, stored, str(folder))
        with engine_errors("open", path):
            path.mkdir(parents=True, exist_ok=True)
            files.need(files.BYTES_TO_OPEN, path, room)
            checksums.drop_sums(path)
        return cls(
            _load(path, schema),
            path,
            schema,
            flush_every=flush_every,
            power_safe=power_safe,
            room=room,
            sync=sync,
            checkpoint_after=checkpoint_after,
        )

    @property
    def _shard(self) -> qdrant.EdgeShard:
        if self._closed:
            raise StoreError(f"The store at '{self._path.parent}' is closed: open it again.")
        if os.getpid() != self._pid:
            raise StoreError(
                f"The store at '{self._path.parent}' was opened before this process was forked "
                f"from {self._pid}, which owns it: open the store after the fork."
            )
        return self._opened

    @contextmanager
    def _engine(self, doing: str) -> Iterator[None]:
        """Hold the engine's lock during a call. Raises StoreError.

        A forked process raises before it waits for the lock: the lock's thread may exist only in
        the parent process.
        """
        with engine_errors(doing, self._path):
            self.check_usable()
            with self._alone:
                yield

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points: all or no points, as the log has one record for them."""
        if points:
            check_given(self.schema, dense_vectors(points))
            ids = [point.id for point in points]
            with self.memo.writing(points=points):
                self._write("put points into", ids, lambda: encode_upsert(points))

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors."""
        return self._get(ids, vectors=False)

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Insert new points, and replace points whose stored revision is the given revision."""
        stored = {one.id: one.payload for one in self.get_now([point.id for point in points])}

        def may_write(point: Point) -> bool:
            if point.id not in stored:
                return True
            wanted = revisions.get(point.id, -1)
            return wanted is None or wanted == (stored[point.id].get("revision") or 0)

        written = [point for point in points if may_write(point)]
        self.put_now(written)
        return {point.id for point in written if "revision" in point.payload}

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Run `swap_now`."""
        return self.swap_now(points, revisions)

    async def put(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points."""
        self.put_now(points)

    async def replace(self, point: Point, *, revision: int) -> bool:
        """Replace the point if its stored `revision` is the given revision; return the result."""
        check_given(self.schema, dense_vectors([point]))
        # Python compares the revisions, not a conditional upsert. After kill -9, the engine replays
        # the log and checks the condition again, by pages that may be newer than its last flush;
        # then it would drop the write. There is no race: only this process has the folder, and
        # this method awaits nothing.
        stored = self.get_now([point.id])
        if not stored or stored[0].payload.get("revision") != revision:
            return False
        self.put_now([point])
        return True

    async def merge_payload(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Set these payload fields of the existing points; the value `None` removes a field."""
        self.merge_now(ids, payload, where=where)

    def merge_now(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Set these payload fields of the existing points; the value `None` removes a field."""
        if not ids:
            return
        # A filter is used because the engine refuses a list of ids if any id is unknown.
        such = [encode_condition(where)] if where else []
        points = qdrant.Filter(must=[qdrant.HasIdCondition(set(ids)), *such])
        with self.memo.writing(ids, fields=payload):
            self._write(
                "change points of",
                ids,
                lambda: qdrant.UpdateOperation.set_payload_by_filter(points, payload),
            )

    async def set_vectors(self, points: Sequence[Point]) -> None:
        """Set the vectors of existing points."""
        if points:
            check_given(self.schema, dense_vectors(points))
            ids = [point.id for point in points]
            with self.memo.writing(points=points):
                self._write("change points of", ids, lambda: encode_vectors(points))

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Return the existing points in the order of `ids`."""
        return self._get(ids, vectors=vectors)

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
        with self._engine("read"):
            listing = Listing(filter, limit, order)
            request = encode_listing(listing, after=after, vectors=vectors)
            records, following = self._shard.scroll(request)
        after = None if following is None else str(following)
        return [to_point(record) for record in records], after

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the nearest points for each query, found without an index graph."""
        searches = [query for query in queries if isinstance(query, Search)]
        check_given(self.schema, [query.vector for query in searches])
        with self._engine("search"):
            batch = qdrant.QueryBatchRequest(encode_searches(searches))
            answers = iter(self._shard.query_batch(batch) if searches else [])
            return [self._hits(query, answers) for query in queries]

    def _hits(
        self, query: Search | Listing, answers: "Iterator[list[qdrant.ScoredPoint]]"
    ) -> list[Hit]:
        read = _name_of if query.fields == () else to_point
        if isinstance(query, Search):
            return [Hit(read(one), one.score) for one in next(answers)]
        records, _ = self._shard.scroll(encode_listing(query))
        return [Hit(read(one), 0.0) for one in records]

    async def count(self, filter: Filter) -> int:
        """Return the number of matching points."""
        with self._engine("count"):
            return self._shard.count(qdrant.CountRequest(filter=encode_filter(filter)))

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete the points; skips unknown ids."""
        if ids:
            with self.memo.writing(ids):
                self._write(
                    "delete from", ids, lambda: qdrant.UpdateOperation.delete_points(list(ids))
                )

    def check_usable(self) -> None:
        """Raise StoreError if the collection is closed or was opened before a fork."""
        _ = self._shard

    async def flush(self) -> None:
        """Sync all writes to the disk, so that they survive a power cut. Raises StoreError."""
        if self._unsynced or self.trouble or self._syncing.locked():
            await asyncio.to_thread(self._flush)

    async def compact(self) -> str:
        """Rewrite the files without the bytes of deleted points; return "".

        The collection may be used meanwhile, and the process may be killed at any moment. Only one
        compaction may run at a time.
        """
        try:
            await self._compact()
        finally:
            with engine_errors("compact", self._path):
                files.finish_compaction(self._path)
        return ""

    async def _compact(self) -> None:
        making = files.compacting_folder(self._path)
        fresh = EdgeCollection.open(making, self.schema, room=self._room)
        try:
            with self.changes.noted() as changed:
                async for page in read_pages(self, Filter(), size=POINTS_PER_COPY, vectors=True):
                    fresh.put_now(page)
                with self._alone, engine_errors("compact", self._path):
                    self._copy_again(fresh, changed)
                    self._move_to(fresh)
        finally:
            fresh._shut()

    def _copy_again(self, fresh: "EdgeCollection", changed: set[str]) -> None:
        """Copy the changed points again, and delete those that are gone."""
        found = self._get(sorted(changed), vectors=True)
        fresh.put_now(found)
        gone = changed - {point.id for point in found}
        with engine_errors("delete from", self._path):
            fresh._opened.update(qdrant.UpdateOperation.delete_points(sorted(gone)))

    def _move_to(self, fresh: "EdgeCollection") -> None:
        """Replace the collection's files by the files of its copy, and open them."""
        usable = self._shard  # raises if the collection is closed
        fresh._flush(checkpoint=True)
        fresh._shut()
        usable.close()
        try:
            files.replace_by_compacted(self._path)
            self._opened = _load(self._path, self.schema)
        except BaseException:
            self._closed = True  # the old or the new files are complete: the next opening continues
            raise

    def _shut(self) -> None:
        if not self._closed:
            self._closed = True
            self._opened.close()

    async def close(self) -> None:
        """Flush and close the collection."""
        if self._closed or os.getpid() != self._pid:
            return
        try:
            await asyncio.to_thread(self._flush, checkpoint=True)
        finally:
            self._shut()
        try:
            checksums.note_sums(self._path)
        except OSError as error:
            logger.warning("damage to the store will not be noticed: {}", error)

    def _get(self, ids: Sequence[str], *, vectors: bool) -> list[Point]:
        if not ids:
            return []
        with self._engine("read"):
            records = self._shard.retrieve(list(ids), with_payload=True, with_vector=vectors)
        found = {point.id: point for point in map(to_point, records)}
        return [found[point_id] for point_id in ids if point_id in found]

    def _write(
        self, doing: str, ids: Sequence[str], operation: Callable[[], qdrant.UpdateOperation]
    ) -> None:
        self.changes.note(ids)
        with self._engine(doing):
            files.need(files.BYTES_TO_WRITE, self._path, self._room)
            self._shard.update(operation())
        self._unsynced = True
        self._written += 1
        if self._power_safe:
            self._flush()
        else:
            self._flush_soon()

    def _flush_soon(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no event loop: the next write in a loop, `flush` or `close` flushes
        if self._flushing_in is not loop:
            self._flushing_in = loop
            loop.call_later(self._flush_every, self._flush_due, loop)

    def _flush_due(self, loop: asyncio.AbstractEventLoop) -> None:
        self._flushing_in = None
        if not self._closed:
            written = self._written
            loop.run_in_executor(None, self._flush_unasked)
            loop.call_later(QUIET_PERIODS * self._flush_every, self._flush_if_quiet, loop, written)

    def _flush_if_quiet(self, loop: asyncio.AbstractEventLoop, written: int) -> None:
        if not self._closed and written and self._written == written:
            loop.run_in_executor(None, partial(self._flush_unasked, checkpoint=True))

    def _flush_unasked(self, *, checkpoint: bool = False) -> None:
        try:
            self._flush(checkpoint=checkpoint)
        except StoreError as error:  # `trouble` reports the error; the next write tries again
            logger.error("what was written may not survive a power cut: {}", error)

    def _flush(self, *, checkpoint: bool = False) -> None:
        """Sync the log; let the engine flush too if it is due or requested. Raises StoreError."""
        with self._syncing:
            if self._closed:
                return
            try:
                with engine_errors("flush", self._path):
                    self._sync_written()
                    many = self._written >= self._checkpoint_after
                    if checkpoint or many or self.trouble or not SYNCS_MAPS:
                        if self._written:  # a full disk crashes the engine in its mapped files
                            files.need(files.BYTES_TO_WRITE, self._path, self._room)
                        sync_data(self._path)
                        with self._alone:
                            self._opened.flush()
                        self._written = 0
            except StoreError as error:
                self.trouble = str(error)
                raise
            self.trouble = ""

    def _sync_written(self) -> None:
        if self._unsynced:
            self._unsynced = False  # first, as the sync may miss writes from now on
            try:
                self._sync(self._path)
            except OSError:
                self._unsynced = True
                raise


def _name_of(record: qdrant.ScoredPoint | qdrant.Record) -> Point:
    """Return the point of a record, with an empty payload: the query requested no fields."""
    return _named(cast(UUID, record.id).int)


@lru_cache(maxsize=NAMES_KNOWN)
def _named(number: int) -> Point:
    """Return the point whose UUID has this integer value, with an empty payload."""
    return bare(str(UUID(int=number)), {})


@contextmanager
def engine_errors(doing: str, path: Path) -> Iterator[None]:
    """Convert errors of the engine to a StoreError with the action and the folder."""
    try:
        yield
    except StoreError:
        raise
    except BaseException as error:  # the engine raises plain Exception; only the text differs
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        if "WouldBlock" in str(error):
            raise StoreBusyError(
                f"The collection at '{path}' is in use by another process; close it there."
            ) from error
        raise StoreError(
            f"Qdrant Edge could not {doing} the collection '{path.name}' at '{path.parent}': "
            f"{one_line(error)}; correct that and try again."
        ) from error


def _load(path: Path, schema: CollectionSchema) -> qdrant.EdgeShard:
    vectors = stored_vectors(path)
    with engine_errors("open", path):
        # `load` creates missing files, so a first start that was killed can be repeated.
        shard = qdrant.EdgeShard.load(str(path), encode_config(schema, vectors))
        try:
            _index(shard, schema)
            shard.flush()  # new files, and writes that a killed process left only in the log
        except BaseException:
            shard.close()
            raise
    return shard


def _index(shard: qdrant.EdgeShard, schema: CollectionSchema) -> None:
    present = shard.info().payload_schema
    for key, kind in schema.indexes.items():
        if key not in present or present[key].data_type != SCHEMAS[kind]:
            shard.update(encode_index(key, kind))


def stored_dimension(path: Path) -> int | None:
    """Return the dense dimension of the collection in a folder; `None` without a collection.

    Raises StoreError if the folder's configuration cannot be read.
    """
    with engine_errors("open", path):
        config = _stored_config(path)
        if config is None:
            return None
        size: int = config["vectors"].get(DENSE, {}).get("size", 0)
    return size


def resize_vectors(folder: Path, schema: CollectionSchema) -> None:
    """Drop the dense vectors of a closed collection, and set the dimension of the schema.

    Payloads and sparse vectors stay. The process may be killed at any moment, and the call
    repeated. Raises StoreError.
    """
    path, make = folder / schema.name, qdrant.UpdateOperation
    with engine_errors("open", path):
        files.finish_compaction(path)
    size, stored = stored_dimension(path) or schema.dimension, stored_vectors(path)
    with engine_errors("open", path):
        checksums.check_sums(path)
        checksums.drop_sums(path)
        config = encode_config(replace(schema, dimension=size), stored)
        shard = qdrant.EdgeShard.load(str(path), config)
        try:
            shard.flush()  # older points in the log would not fit the new dimension in a replay
            dropped = [name for name in (CUES, DENSE) if name in (stored or ())]
            for name in dropped:
                shard.update(make.delete_vector_name(name))
            cosine = qdrant.Distance.Cosine
            shard.update(make.create_dense_vector(DENSE, schema.dimension, cosine))
            shard.update(make.create_dense_vector(CUES, schema.dimension, cosine, NEAREST))
            shard.flush()
        finally:
            shard.close()


def stored_vectors(path: Path) -> set[str] | None:
    """Return the names of the vectors of the collection in a folder; `None` without a collection.

    Raises StoreError if the folder's configuration cannot be read.
    """
    with engine_errors("open", path):
        config = _stored_config(path)
        return None if config is None else {*config["vectors"], *config["sparse_vectors"]}


def _stored_config(path: Path) -> Any:
    for folder in (path, files.compacted_folder(path)):
        config = folder / "edge_config.json"
        if config.exists():
            return json.loads(config.read_text())
    return None
