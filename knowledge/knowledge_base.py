"""KnowledgeBase: reading and changing memories. Every change goes through `apply`."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence, Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from souffleur.errors import NotFoundError
from souffleur.knowledge import undo
from souffleur.knowledge.decay import by_age, effective, near_expiries
from souffleur.knowledge.forgetting.request import Doubt, JudgeDoubt, doubts_of
from souffleur.knowledge.forgetting.subject import SubjectFinder
from souffleur.knowledge.identity import (
    COMMON,
    agent_of,
    check_id,
    knows,
    sphere_conditions,
    user_conditions,
)
from souffleur.knowledge.memory import NARRATIVE, Category, Due, Memories, Memory, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    LedgerEntries,
    LedgerEntry,
    Verdict,
    is_id,
)
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.portrait_rule import (
    FORGOTTEN_TEXTS,
    forgotten_in,
    is_withdrawn,
    without_forgotten,
    without_outdated,
)
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.search.memories import search
from souffleur.knowledge.search.query import (
    INSTANT,
    Found,
    Query,
    Scope,
    expired_conditions,
    memories_filter,
    ranking_key,
    turns_filter,
)
from souffleur.knowledge.search.turns import read_around, search_turns
from souffleur.knowledge.store.codecs import (
    fingerprint,
    masked_reader,
    to_entry,
    to_memories,
    to_memory,
)
from souffleur.knowledge.store.engine.cache import CachedCollection
from souffleur.knowledge.store.engine.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Order,
    Search as VectorSearch,
    read_all,
)
from souffleur.knowledge.store.introductions import Choices, People
from souffleur.knowledge.store.items import Items
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read_each, read_matching
from souffleur.knowledge.store.sessions import Sessions
from souffleur.knowledge.store.topics import Removals
from souffleur.knowledge.store.upgrade import Progress, fill
from souffleur.knowledge.turn import Turn
from souffleur.knowledge.watching import Watch, unwatched
from souffleur.knowledge.writer import Writer

NEAR_DUPLICATE = 0.95
"""Minimum cosine of two near-duplicate memories."""
TURNS_PER_REQUEST = 64
"""Number of raw turns embedded in one request."""
TURNS_AT_ONCE = 8
"""The same number for an embedder that blocks the event loop for 1 ms per turn."""


class KnowledgeBase:
    """The memories of all users in one store, with their history.

    Every read is of one user, unless it says otherwise. Changes to one user's memories are made one
    at a time; changes of different users run concurrently. Changes that combine several verdicts
    are functions: see `proposals` and `erasure`.
    """

    def __init__(
        self,
        memories: Collection,
        journal: Journal,
        embedder: Embedder,
        policy: Policy,
        *,
        require_confirmation: bool = False,
        raw_days: int | None = None,
        withheld: AbstractSet[Group] = NEVER_KEPT,
        called: Sequence[str] = (),
        aclose: Callable[[], Awaitable[None]] | None = None,
        watch: Watch = unwatched,
    ) -> None:
        """Create a knowledge base over opened collections.

        If `require_confirmation` is set, changes proposed by a model wait for the user's consent:
        see `proposals`. For `raw_days` see the settings. Sensitive data of the `withheld` groups
        is refused in memories and masked in raw turns. `called` are the usual names of user and
        persona. `aclose` closes the store; without it, the collections are closed.
        """
        self.memories = memories
        """The collection of memories."""
        self.journal = journal
        """Turns and ledger."""
        self.sessions = Sessions(journal)
        """The windows of sessions, and their segments."""
        self.people = People(journal)
        """Introduced users and personas."""
        self.choices = Choices(journal)
        """The preferences of users."""
        self.embedder = embedder
        """Turns texts into vectors."""
        self.items = Items(journal.collection, embedder)
        """The host's own JSON records, which are not memories."""
        self.policy = policy
        """The rules by which memories fade."""
        self.raw_days = raw_days
        """Days for which raw turns are kept: `None` until they are erased, 0 until summarised."""
        self.withheld = withheld
        """Groups of sensitive data that no memory may hold."""
        self.watch = watch
        """Watches the changes that are carried out."""
        self._aclose = aclose
        self.writer = Writer(
            memories,
            journal,
            embedder,
            policy,
            require_confirmation=require_confirmation,
            withheld=withheld,
            called=called,
        )
        """Carries out verdicts."""
        self.judge_told: JudgeDoubt | None = None
        """Asks a model which lines repeat forgotten content; `None` without a model."""
        self.removals = Removals(memories, journal, embedder)
        """Erases the records about a topic."""
        self._compacting = asyncio.Lock()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._cache: KnowledgeBase | None = None

    @property
    def cache(self) -> "KnowledgeBase":
        """A cache of this store, to be read before each reply; its writes raise StoreError.

        On a server, it may lack writes of other processes in the last `memo.SHARED_LIFE` seconds.
        Raises StoreError if the store is closed or belongs to another process.
        """
        self.memories.check_usable()
        memories, journal = self.memories, self.journal.collection
        cache = self._cache
        if cache is None or not (
            _caches(cache.memories, memories) and _caches(cache.journal.collection, journal)
        ):
            cache = self._cache = KnowledgeBase(
                CachedCollection(memories, ranked=Is("state", MemoryState.ACTIVE)),
                Journal(CachedCollection(journal), last_seq=0),
                self.embedder,
                self.policy,
                raw_days=self.raw_days,
                withheld=self.withheld,
            )
        return cache

    @property
    def current(self) -> "KnowledgeBase":
        """The cache, if it is complete because this process alone writes; else the store."""
        return self if self.memories.shared else self.cache

    async def apply(self, verdict: Verdict, *, turns: Sequence[Turn] = ()) -> LedgerEntries:
        """Carry out a verdict and return one ledger entry per op.

        The verdict is written to the ledger before any memory changes; `turns` become `judged`
        with it. Applying the same verdict again changes nothing and returns the same entries.
        Records that may repeat something forgotten are hidden until a model has been asked.
        """
        with self.watch("apply", user=verdict.user_id, by=verdict.by.who) as work:
            async with self.alone(verdict.user_id):
                entries = await self.writer.apply(verdict, turns)
            if self.judge_told and any(map(doubts_of, entries)):
                entries = await self._spare(entries, self.judge_told, verdict.at)
            work.note(done=[one.op for one in entries if not one.refused and not one.waits])
            work.note(refused=[one.refused for one in entries if one.refused])
        return entries

    async def settle_doubts(self, user_id: str, judge: JudgeDoubt, *, now: datetime) -> None:
        """Ask again about records that are hidden in doubt. Raises the errors of `judge`."""
        for entry in await self.current.journal.entries(user_id, in_doubt=True):
            await self._spare([entry], judge, now)

    async def _spare(
        self, entries: LedgerEntries, judge: JudgeDoubt, now: datetime
    ) -> LedgerEntries:
        """Show hidden records again if a model says that they do not repeat forgotten content."""
        first = entries[0]
        lines = [line for entry in entries for line in doubts_of(entry)]
        found = await self.journal.get_turns([line.id for line in lines if not line.text])
        said = {turn.id: turn.masked(self.withheld).words for turn in found}
        asked = {line: line.text or said.get(line.id, "") for line in lines}
        doubt = Doubt(
            first.user_id,
            first.agent_id,
            tuple(entry.changes[0].after.content for entry in entries if doubts_of(entry)),
            tuple(dict.fromkeys(asked.values())),
        )
        answer = await judge(doubt)
        if answer is None:
            return entries
        told = dict(zip(doubt.lines, answer, strict=True))
        by, done = Actor(who=ActorKind.MONITOR), []
        async with self.alone(first.user_id):
            for entry in entries:
                entry = await self.journal.entry(entry.id)  # it may have been undone meanwhile
                if doubts := doubts_of(entry):
                    tells = [told[asked[line]] for line in doubts]
                    entry = await self.writer.spare(entry, tells, by=by, now=now)
                done.append(entry)
        return done

    def alone(self, user_id: str) -> asyncio.Lock:
        """Return the lock under which one user's memories are changed."""
        return self._locks.setdefault(user_id, asyncio.Lock())  # weak: an unused lock is deleted

    async def undo(
        self, entry_id: str, *, user_id: str | None, by: Actor, now: datetime
    ) -> LedgerEntry:
        """Undo a ledger entry of a user (`None`: of any user) and return the UNDO entry.

        Raises NotFoundError if this user has no such entry, UndoError if it was refused or undone
        already, or if a later change depends on it.
        """
        owner = user_id if user_id is None else check_id(user_id)
        entry = await self.journal.entry(entry_id)
        if owner not in {None, entry.user_id}:
            raise NotFoundError(f"there is no ledger entry with the id {entry_id!r}")
        async with self.alone(entry.user_id):
            current = {id: await self.get(id, user_id=entry.user_id) for id in entry.memory_ids}
            outcome = undo.plan_undo(entry, current, by=by, now=now, policy=self.policy)
            await self.journal.write([outcome])
            return (await self.writer.carry_out([outcome]))[0]

    async def compact(self) -> list[str]:
        """Rewrite the files of the store without the deleted bytes; the store may be in use.

        Returns remarks about places where an engine still keeps deleted bytes.
        """
        async with self._compacting:
            said = [await one.compact() for one in (self.memories, self.journal.collection)]
        return list(dict.fromkeys(filter(None, said)))

    async def search(self, query: Query) -> list[Found]:
        """Return the records that match the query within its scope, best first."""
        found = await search(self.memories, self.embedder, self.policy, query)
        if Scope.TURNS not in query.scope:
            return found
        raw = replace(query, raw_since=self._raw_since(query.now))
        found += await search_turns(self.journal.collection, self.embedder, raw, self.withheld)
        return sorted(found, key=ranking_key)[: query.limit]

    async def turns_around(
        self, query: Query, turns: Sequence[Turn], *, before: int, after: int
    ) -> list[Turn]:
        """Return these turns and those up to `before` and `after` places from them, unordered.

        The query's text and time are ignored.
        """
        raw = replace(query, raw_since=self._raw_since(query.now), since=None, until=None)
        steps = range(-before, after + 1)
        return await read_around(self.journal.collection, raw, turns, steps, self.withheld)

    async def turns_and_episodes_between(self, query: Query) -> list[Memory | Turn]:
        """Return the episodes and raw turns between `since` and `until`, oldest first.

        Returns up to `query.limit` of each, the latest ones. The query's text is ignored.
        """
        raw = turns_filter(replace(query, raw_since=self._raw_since(query.now)))
        created, said = Order("created_at", descending=True), Order("at", descending=True)
        episodes, (turns, _) = await asyncio.gather(
            self._page(memories_filter(query, Scope.EPISODES), query.limit, created),
            self.journal.collection.scroll(raw, limit=query.limit, order=said),
        )
        masked = read_each(reversed(turns), masked_reader(self.withheld))
        return [*reversed(episodes), *masked]

    async def memories_learned_between(self, query: Query) -> list[Found]:
        """Return the memories first learned between `since` and `until`, oldest first.

        The query's text is ignored.
        """
        found = await self._page(memories_filter(query), query.limit, Order("created_at"))
        return [Found(one, 1.0, 1.0, effective(one, query.now, self.policy)) for one in found]

    async def episodes(
        self, user_id: str, *, limit: int, now: datetime, sphere: str | None = COMMON
    ) -> Memories:
        """Return the latest episodes of a user, newest first."""
        allowed = memories_filter(Query(user_id, "", now, sphere=sphere), Scope.EPISODES)
        return await self._page(allowed, limit, Order("created_at", descending=True))

    async def portraits(self, user_id: str, sphere: str | None = COMMON) -> Memories:
        """Return all versions of a user's portrait in a sphere, in any state, newest first."""
        of = (Is("user_id", check_id(user_id)), has("category", Category.PROFILE))
        must = (*of, *sphere_conditions(sphere))
        found = to_memories(await read_all(self.memories, Filter(must)))
        return sorted(found, key=lambda memory: -int(memory.data.get("version", 0)))

    async def portrait(self, user_id: str, sphere: str | None = COMMON) -> Memory | None:
        """Return the current portrait of a user in a sphere; `None` if there is no portrait yet."""
        must = (
            Is("user_id", check_id(user_id)),
            has("category", Category.PROFILE),
            Is("state", MemoryState.ACTIVE),
            *sphere_conditions(sphere),
        )
        latest = Order("created_at", descending=True)
        return next(iter(await self._page(Filter(must), 1, latest)), None)

    async def cut_portrait(self, user_id: str, sphere: str = COMMON) -> Memory | None:
        """Return the latest portrait without what was forgotten in it, until a new one is written.

        `None` if nothing in it was forgotten, or nothing else is left.
        """
        last = next(iter(await self.portraits(user_id, sphere)), None)
        if last is None or not is_withdrawn(last):
            return None
        called = await self.writer.called(user_id, agent_of(sphere) or "default")
        left = without_forgotten(last, SubjectFinder(forgotten_in(last, called)))
        data = {key: one for key, one in left.data.items() if key not in FORGOTTEN_TEXTS}
        return left.model_copy(update={"data": data}) if left.content else None

    async def current_portrait(self, user_id: str, sphere: str | None = COMMON) -> Memory | None:
        """Return the current portrait without the sentences that tell what was replaced since."""
        portrait = await self.portrait(user_id, sphere)
        return await self.without_outdated(portrait) if portrait else None

    async def without_outdated(self, portrait: Memory) -> Memory:
        """Return a portrait without the sentences that tell what was replaced since."""
        user_id, sphere = portrait.user_id, portrait.sphere
        replaced = Filter(
            (
                Is("user_id", user_id),
                Is("state", MemoryState.SUPERSEDED),
                Between("updated_at", low=portrait.created_at + INSTANT),
                *sphere_conditions(sphere),
            )
        )
        held = await read_matching(self.memories, replaced, to_memory)
        if not held:
            return portrait
        wanted = {one.superseded_by for one in held if one.superseded_by}
        while more := await self.get_many(user_id, sorted(wanted - {one.id for one in held})):
            held += more
            wanted = {one.superseded_by for one in more if one.superseded_by}
        core = await self.list(user_id, category=Category.CORE, sphere=sphere)
        return without_outdated(portrait, [*held, *core])

    async def embed_turns(
        self, user_id: str | None = None, *, progress: Progress | None = None
    ) -> int:
        """Embed raw turns so that they can be found; return their number."""
        count, total = 0, await self.sessions.count_unembedded(user_id) if progress else 0
        most = TURNS_AT_ONCE if self.embedder.holds_the_loop else TURNS_PER_REQUEST
        while turns := await self.sessions.unembedded(user_id, limit=most, withheld=self.withheld):
            texts = list(dict.fromkeys(said.text for turn in turns for said in turn.said()))
            vectors = await self.embedder.embed(texts)
            await self.sessions.embed(turns, dict(zip(texts, vectors, strict=True)))
            count += len(turns)
            if progress:
                progress(count, max(count, total))
            if len(turns) < most:
                break
            await asyncio.sleep(0)  # a local embedder may never yield to the loop
        return count

    async def _page(self, wanted: Filter, limit: int, order: Order) -> Memories:
        page, _ = await self.memories.scroll(wanted, limit=limit, order=order)
        return to_memories(page)

    def _raw_since(self, now: datetime) -> datetime | None:
        return now - timedelta(days=self.raw_days) if self.raw_days else None

    async def get(self, memory_id: str, *, user_id: str | None) -> Memory:
        """Return a memory of a user (`None`: of any user) by its id, in any state.

        Raises NotFoundError if this user has no such memory, UnreadableError if the record is
        invalid.
        """
        owner = user_id if user_id is None else check_id(user_id)
        found = await self.memories.get([memory_id] if is_id(memory_id) else [])
        if not found or owner not in {None, found[0].payload.get("user_id")}:
            raise NotFoundError(f"there is no memory with the id {memory_id!r}")
        return to_memory(found[0])

    async def get_many(self, user_id: str, memory_ids: Sequence[str]) -> Memories:
        """Return the active memories of a user among these ids, in the given order."""
        check_id(user_id)
        memories = to_memories(await self.memories.get(memory_ids))
        return [m for m in memories if m.user_id == user_id and m.state is MemoryState.ACTIVE]

    async def count(self, *, user_id: str | None = None, agent_id: str | None = None) -> int:
        """Return the number of memories of a user, or learned by a persona, in any state."""
        learned = (has("agent_id", check_id(agent_id, "agent_id")),) if agent_id is not None else ()
        return await self.memories.count(Filter((*user_conditions(user_id), *learned)))

    async def find_usable(
        self, user_id: str, memory_ids: Sequence[str], *, sphere: str = COMMON
    ) -> tuple[str, ...]:
        """Return the ids of memories that a reply may have used: no episodes and no portraits.

        The memories belong to this user, are known in the sphere, and may be in any state.
        """
        check_id(user_id)
        memories = to_memories(await self.memories.get(memory_ids))
        mine = (one for one in memories if one.user_id == user_id and knows(sphere, one.sphere))
        return tuple(memory.id for memory in mine if memory.category not in NARRATIVE)

    async def list(
        self,
        user_id: str | None,
        *,
        states: Sequence[MemoryState] = (MemoryState.ACTIVE,),
        category: str | None = None,
        kind: str | None = None,
        now: datetime | None = None,
        sphere: str | None = None,
    ) -> Memories:
        """Return the memories of a user (`None`: of all users), oldest first.

        With `now`, skips memories that have expired or ended by then; with `sphere`, skips memories
        that are not known there.
        """
        must: list[Condition] = [OneOf("state", tuple(states)), *user_conditions(user_id)]
        must += sphere_conditions(sphere)
        must += [has("category", category)] if category else []
        must += [has("kind", kind)] if kind else []
        wanted = Filter(tuple(must), expired_conditions(now) if now else ())
        return by_age(await read_matching(self.memories, wanted, to_memory))

    async def most_important(
        self,
        user_id: str,
        *,
        limit: int,
        categories: Sequence[str] = (),
        now: datetime,
        sphere: str | None = COMMON,
    ) -> Memories:
        """Return the active memories with the highest importance before decay, oldest first."""
        query = Query(user_id, "", now, categories=tuple(categories), sphere=sphere)
        order = Order("importance", descending=True)
        return by_age(await self._page(memories_filter(query), limit, order))

    async def most_valuable(
        self, user_id: str, *, limit: int, now: datetime, sphere: str | None = COMMON
    ) -> Memories:
        """Return the active memories with the highest value now, best first; ties by age and id."""
        found = await self.most_important(user_id, limit=2 * limit, now=now, sphere=sphere)
        valued = sorted(found, key=lambda one: -effective(one, now, self.policy))
        return valued[:limit]

    async def due(
        self, now: datetime, what: Sequence[Due], *, user_id: str | None = None, limit: int
    ) -> Memories:
        """Return the memories that are due for one of `what` by `now`, the earliest due first.

        Reads by index, without touching other memories. Skips users whose memory is off.
        """
        wanted = _due_by(now, what, user_id, await self.choices.resting())
        return await self._page(wanted, limit, Order("due_at"))

    async def count_due(
        self, now: datetime, what: Sequence[Due], *, user_id: str | None = None
    ) -> int:
        """Return the number of memories that `due` would find without a limit."""
        resting = await self.choices.resting()
        return await self.memories.count(_due_by(now, what, user_id, resting))

    async def plans_near(
        self,
        user_id: str,
        *,
        limit: int,
        now: datetime,
        sphere: str | None = COMMON,
    ) -> Memories:
        """Return active plans of the next three days and the last two, the earliest first."""
        low, high = near_expiries(now)
        near = Between("expires_at", low, high)
        allowed = memories_filter(Query(user_id, "", now, sphere=sphere))
        both = Filter((*allowed.must, near), allowed.must_not)
        return await self._page(both, limit, Order("expires_at"))

    async def history(self, memory_id: str, *, user_id: str | None) -> LedgerEntries:
        """Return all ledger entries of a memory of a user (`None`: of any user), oldest first."""
        memory = await self.get(memory_id, user_id=user_id)
        return await self.journal.entries(memory.user_id, memory_id=memory_id)

    async def settled_entries(self, entry_ids: Sequence[str]) -> LedgerEntries:
        """Return the ledger entries with these ids, after finishing interrupted verdicts.

        Skips ids without an entry.
        """
        found = await self.journal.collection.get(entry_ids)
        if not all(point.payload["applied"] for point in found):
            await self.recover()
            found = await self.journal.collection.get(entry_ids)
        return [to_entry(point) for point in found]

    async def near_duplicates(self, verdict: Verdict) -> dict[int, Memory]:
        """Return an active near-duplicate of each ADD, if it exists, by the op's position."""
        adds = [
            (index, op)
            for index, op in enumerate(verdict.ops)
            if isinstance(op, Add) and not op.keep_both
        ]
        if not adds:
            return {}
        vectors = await self.embedder.embed([op.content for _, op in adds])
        known = sphere_conditions(verdict.sphere)
        mine = Filter((Is("user_id", verdict.user_id), Is("state", MemoryState.ACTIVE), *known))
        hits = await self.current.memories.search([VectorSearch(v, mine, 1) for v in vectors])
        near = {
            index: memory
            for (index, _), hit in zip(adds, hits, strict=True)
            for memory in to_memories(one.point for one in hit if one.score >= NEAR_DUPLICATE)
        }
        return {
            index: near[index] for index, op in adds if index in near and not _same(op, near[index])
        }

    async def note_recalled(self, memory_ids: Sequence[str]) -> None:
        """Count a retrieval of each memory; this does not reinforce them."""
        alike = defaultdict[int, list[str]](list)  # each write takes the engine the same time
        for point in await self.memories.get(memory_ids):
            alike[int(point.payload.get("recalls", 0)) + 1].append(point.id)
        for recalls, ids in alike.items():
            await self.memories.merge_payload(ids, {"recalls": recalls})

    async def recover(self, user_id: str | None = None) -> int:
        """Finish the verdicts that a crash interrupted; return their number.

        Use `None` only while nobody else writes: at the start, or in a command of its own.
        """
        if user_id is None:
            return await self.writer.finish()
        async with self.alone(user_id):
            return await self.writer.finish(user_id)

    async def embed_anew(self, progress: Progress = lambda done, total: None) -> int:
        """Embed memories that lost their vectors when the embedder changed; return their number.

        The store may be in use. Raises EmbedderError, StoreError.
        """
        return await fill(self.memories, self.journal, self.embedder, progress=progress)

    async def flush(self) -> None:
        """Return when all writes are safe from a power cut."""
        await asyncio.gather(self.memories.flush(), self.journal.collection.flush())

    async def close(self) -> None:
        """Flush and close the whole store, even if a part fails."""
        if self._aclose:
            await self._aclose()
            return
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.memories.close)
            closing.push_async_callback(self.journal.collection.close)

    @property
    def trouble(self) -> str:
        """Why recent writes may not survive a power cut; empty if there is no problem."""
        return self.memories.trouble or self.journal.collection.trouble


def _caches(cache: Collection, collection: Collection) -> bool:
    return isinstance(cache, CachedCollection) and cache.inner is collection


def _due_by(
    now: datetime, what: Sequence[Due], user_id: str | None, resting: frozenset[str]
) -> Filter:
    must: list[Condition] = [
        OneOf("state", (MemoryState.ACTIVE, MemoryState.ARCHIVED)),  # archived ones still fade
        OneOf("due_for", tuple(what)),
        Between("due_at", high=now + INSTANT),
    ]
    without = (OneOf("user_id", tuple(sorted(resting))),) if resting else ()
    return Filter((*must, *user_conditions(user_id)), without)


def _same(op: Add, memory: Memory) -> bool:
    return fingerprint(op.content) == fingerprint(memory.content)
