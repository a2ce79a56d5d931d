"""KnowledgeBase: all that may be done to memories. Every change goes through `apply`."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from souffleur.errors import NotFoundError
from souffleur.knowledge import check, undo
from souffleur.knowledge.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Order,
    Search as VectorSearch,
)
from souffleur.knowledge.embedder import Embedder
from souffleur.knowledge.journal import Journal, Turn, TurnState
from souffleur.knowledge.life import effective, ends
from souffleur.knowledge.memory import Memory, State
from souffleur.knowledge.operation import (
    Add,
    By,
    Change,
    Delete,
    Edit,
    Op,
    Outcome,
    Refusal,
    Update,
    Verdict,
    is_id,
)
from souffleur.knowledge.plan import Scene, plan
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.records import fingerprint, to_memory, to_point
from souffleur.knowledge.search import Found, Query, readable, search

Memories = list[Memory]
Outcomes = list[Outcome]
Vector = tuple[float, ...]

NEAR = 0.95
"""Cosine from which two memories are near-duplicates."""
_PAGE = 1000


class KnowledgeBase:
    """The memories of all users in one store, with their history.

    Every method takes or finds a user; none returns what belongs to another. Changes to one
    user's memories are made one after the other, users side by side.
    """

    def __init__(
        self,
        memories: Collection,
        journal: Journal,
        embedder: Embedder,
        policy: Policy,
        *,
        hold: bool = False,
    ) -> None:
        self.memories = memories
        self.journal = journal
        self.embedder = embedder
        self.policy = policy
        self.hold = hold
        """Proposals of a model wait as `pending`."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def apply(self, verdict: Verdict, *, turns: Sequence[Turn] = ()) -> Outcomes:
        """Carry out a verdict, op by op, and say what became of each.

        The verdict is written to the ledger before any memory changes; `turns` become `judged`
        with it. Applying the same verdict again changes nothing and returns the first outcomes.
        """
        async with self._locks[verdict.user_id]:
            done = await self._done(verdict)
            if done:
                return done
            outcomes = await self._plan(verdict, turns)
            await self._vectors(outcomes)  # an embedder that fails must fail before the ledger
            await self.journal.write(outcomes)
            await self._judge(turns, verdict)
            return await self._carry_out(outcomes)

    async def undo(self, entry_id: str, *, by: By, now: datetime) -> Outcome:
        """Take back a ledger entry; a new entry says so.

        Raises NotFoundError for an unknown entry, UndoError where it was refused, was undone, or
        where a later change stands on it.
        """
        entry = await self.journal.entry(entry_id)
        async with self._locks[entry.user_id]:
            current = {id: await self.get(id) for id in entry.memory_ids}
            outcome = undo.plan_undo(entry, current, by=by, now=now, policy=self.policy)
            await self.journal.write([outcome])
            done = await self._carry_out([outcome])
            return done[0]

    async def undo_turn(self, turn: Turn, *, by: By, now: datetime) -> Outcomes:
        """Take back, newest first, what a turn brought and what can still be taken back."""
        undone = []
        for entry in reversed(await self.journal.entries(turn.user_id, turn_id=turn.id)):
            if entry.op != "UNDO" and undo.can_undo(entry):
                undone.append(await self.undo(entry.id, by=by, now=now))
        return undone

    async def search(self, query: Query) -> list[Found]:
        """The memories a text calls for, best first."""
        return await search(self.memories, self.embedder, self.policy, query)

    async def get(self, memory_id: str, *, user_id: str | None = None) -> Memory:
        """A memory by its id, in whatever state; NotFoundError where this user has none such."""
        found = await self.memories.get([memory_id] if is_id(memory_id) else [])
        if not found or user_id not in {None, found[0].payload["user_id"]}:
            raise NotFoundError(f"no memory has the id {memory_id!r}")
        return to_memory(found[0])

    async def get_many(self, user_id: str, memory_ids: Sequence[str]) -> Memories:
        """The active ones of these memories of a user, in this order."""
        memories = [to_memory(point) for point in await self.memories.get(memory_ids)]
        return [m for m in memories if m.user_id == user_id and m.state is State.ACTIVE]

    async def list(
        self,
        user_id: str | None,
        *,
        states: Sequence[State] = (State.ACTIVE,),
        category: str | None = None,
        agent_id: str | None = None,
    ) -> Memories:
        """Memories of a user (None: of everybody, for the owner of the store), oldest first."""
        must: list[Condition] = [OneOf("state", tuple(states))]
        must += [Is("user_id", user_id)] if user_id is not None else []
        must += [Is("category", category)] if category else []
        must += [Is("agent_id", agent_id)] if agent_id else []
        memories: Memories = []
        after: str | None = None
        while True:
            page, after = await self.memories.scroll(Filter(tuple(must)), limit=_PAGE, after=after)
            memories += [to_memory(point) for point in page]
            if after is None:
                return sorted(memories, key=lambda memory: (memory.created_at, memory.id))

    async def most_valuable(
        self, user_id: str, *, limit: int, categories: Sequence[str] = (), now: datetime
    ) -> Memories:
        """The active memories of the highest value now, best first; ties by age and id."""
        allowed = readable(Query(user_id, "", now, categories=tuple(categories)))
        order = Order("importance", descending=True)
        page, _ = await self.memories.scroll(allowed, limit=2 * limit, order=order)
        memories = [to_memory(point) for point in page]
        memories.sort(key=lambda m: (-effective(m, now, self.policy), m.created_at, m.id))
        return memories[:limit]

    async def plans_near(self, user_id: str, *, limit: int, now: datetime) -> Memories:
        """Active memories of what happens within three days, or did in the last two."""
        near = Between("expires_at", ends(now - timedelta(days=3)), ends(now + timedelta(days=3)))
        allowed = readable(Query(user_id, "", now))
        both = Filter((*allowed.must, near), allowed.must_not)
        page, _ = await self.memories.scroll(both, limit=limit, order=Order("expires_at"))
        return [to_memory(point) for point in page]

    async def history(self, memory_id: str, *, user_id: str | None = None) -> Outcomes:
        """All that ever happened to a memory, oldest first."""
        memory = await self.get(memory_id, user_id=user_id)
        return await self.journal.entries(memory.user_id, memory_id=memory_id)

    async def near_duplicates(self, verdict: Verdict) -> dict[int, Memory]:
        """For each ADD, by position: an active memory that says nearly the same."""
        adds = [
            (place, op)
            for place, op in enumerate(verdict.ops)
            if isinstance(op, Add) and not op.keep_both
        ]
        vectors = await self.embedder.embed([op.content for _, op in adds])
        mine = Filter((Is("user_id", verdict.user_id), Is("state", State.ACTIVE)))
        hits = await self.memories.search([VectorSearch(v, mine, 1) for v in vectors])
        return {
            place: to_memory(hit[0].point)
            for (place, op), hit in zip(adds, hits, strict=True)
            if hit and hit[0].score >= NEAR and not _same(op, to_memory(hit[0].point))
        }

    async def note_recalled(self, memory_ids: Sequence[str]) -> None:
        """Count a retrieval. Nothing else changes: being read makes nothing younger."""
        for point in await self.memories.get(memory_ids):
            recalls = int(point.payload.get("recalls", 0)) + 1
            await self.memories.merge_payload([point.id], {"recalls": recalls})

    async def recover(self) -> int:
        """Finish what a crash interrupted; returns how many verdicts that were."""
        unfinished = await self.journal.unsettled()
        for outcomes in unfinished:
            if outcomes[0].op != "UNDO":
                await self.journal.mark_judged(outcomes)
            await self._carry_out(outcomes)
        return len(unfinished)

    async def flush(self) -> None:
        """Return when all that was written would survive a power cut."""
        await asyncio.gather(self.memories.flush(), self.journal.collection.flush())

    async def close(self) -> None:
        """Flush and let go of the store."""
        await self.memories.close()
        await self.journal.collection.close()

    async def _done(self, verdict: Verdict) -> Outcomes:
        ids = [Scene(verdict, place, self.policy).entry_id for place in range(len(verdict.ops))]
        found = await self.journal.collection.get(ids)
        return [await self.journal.entry(point.id) for point in found]

    async def _plan(self, verdict: Verdict, turns: Sequence[Turn]) -> Outcomes:
        injected = tuple(to_memory(p) for p in await self.memories.get(sorted(verdict.injected)))
        mine = tuple(memory for memory in injected if memory.user_id == verdict.user_id)
        outcomes: Outcomes = []
        added: set[str] = set()
        deletions, touched = 0, frozenset[str]()
        for place, op in enumerate(verdict.ops):
            targets = await self._targets(op, verdict)
            sight = check.Sight(
                verdict=verdict,
                targets=targets,
                twin=await self._twin(op, verdict.user_id),
                injected=mine,
                taken=place,
                deletions=deletions,
                touched=touched,
            )
            refused = check.refuse(op, sight) or _said_twice(op, added)
            scene = Scene(verdict, place, self.policy, hold=self.hold)
            changes = () if refused else plan(op, targets, scene)
            outcomes.append(_outcome(op, scene, turns, changes, refused))
            if refused is None:
                deletions += isinstance(op, Delete)
                touched |= {memory.id for memory in targets}
                added |= {fingerprint(op.content)} if isinstance(op, Add | Update) else set()
        return outcomes

    async def _targets(self, op: Op, verdict: Verdict) -> tuple[Memory, ...]:
        named = check.names(op)
        shown = verdict.shown
        ids = [name if shown is None else shown.get(name, "") for name in named]
        points = await self.memories.get([id for id in ids if is_id(id)])
        memories = [to_memory(point) for point in points]
        return tuple(memory for memory in memories if memory.user_id == verdict.user_id)

    async def _twin(self, op: Op, user_id: str) -> Memory | None:
        if not isinstance(op, Add | Update | Edit):
            return None
        same = (
            Is("user_id", user_id),
            Is("state", State.ACTIVE),
            Is("fingerprint", fingerprint(op.content)),
        )
        page, _ = await self.memories.scroll(Filter(same), limit=1)
        return to_memory(page[0]) if page else None

    async def _judge(self, turns: Sequence[Turn], verdict: Verdict) -> None:
        if turns:
            judged = {"reason": verdict.reason, **verdict.by.model_dump(mode="json")}
            await self.journal.mark(turns, state=TurnState.JUDGED, error="", judged=judged)

    async def _carry_out(self, outcomes: Sequence[Outcome]) -> Outcomes:
        """Write every `after`. Doing it again, after a crash, does no harm."""
        vectors = await self._vectors(outcomes)
        done = []
        for outcome in outcomes:
            lost = None
            for change in outcome.changes:
                if not await self._write(change, vectors[change.after.content]):
                    lost = await self._conflict(outcome, change)
                    break
            if outcome.undoes and lost is None:
                undone = await self.journal.entry(outcome.undoes)
                await self.journal.rewrite(undone.model_copy(update={"undone_by": outcome.id}))
            done.append(lost or outcome)
        await self.journal.settle(outcomes)
        return done

    async def _vectors(self, outcomes: Sequence[Outcome]) -> dict[str, Vector]:
        """The embedding of every `after`, by content; the embedder remembers the latest."""
        texts = {change.after.content: None for o in outcomes for change in o.changes}
        return dict(zip(texts, await self.embedder.embed(list(texts)), strict=True))

    async def _write(self, change: Change, vector: Vector) -> bool:
        point = to_point(change.after, vector)
        if change.before is None:
            there = await self.memories.get([point.id])
            if not there:
                await self.memories.put([point])
            return True
        if await self.memories.replace(point, revision=change.before.revision):
            return True
        there = await self.memories.get([point.id])
        return (
            bool(there)
            and there[0].payload["revision"] >= change.after.revision
            and (there[0].payload["written_by"] == change.after.written_by)
        )

    async def _conflict(self, outcome: Outcome, change: Change) -> Outcome:
        detail = f"memory {change.after.id} was changed by another process meanwhile"
        lost = outcome.model_copy(
            update={"refused": Refusal.CONFLICT, "detail": detail, "changes": ()}
        )
        await self.journal.rewrite(lost)
        return lost


def _outcome(
    op: Op,
    scene: Scene,
    turns: Sequence[Turn],
    changes: tuple[Change, ...],
    refused: check.Refused | None,
) -> Outcome:
    verdict = scene.verdict
    told = refused is None or refused[0] is not Refusal.SENSITIVE
    return Outcome(
        id=scene.entry_id,
        verdict_id=verdict.id,
        position=scene.position,
        of=len(verdict.ops),
        user_id=verdict.user_id,
        agent_id=verdict.agent_id,
        turn_ids=tuple(turn.id for turn in turns),
        by=verdict.by,
        at=verdict.at,
        op=op.op,
        details=_details(op, verdict) if told else {"withheld": "it held a secret"},
        reason=op.reason if told else "",
        quote=getattr(op, "quote", "") if told else "",
        changes=changes,
        refused=refused[0] if refused else None,
        detail=refused[1] if refused else "",
    )


def _details(op: Op, verdict: Verdict) -> dict[str, Any]:
    """The op as asked for, with real ids where it named handles that were shown."""
    asked = op.model_dump(mode="json", exclude_defaults=True, exclude={"reason", "quote"})
    if isinstance(asked.get("target"), str) and verdict.shown:
        asked["target"] = verdict.shown.get(asked["target"], asked["target"])
    return asked


def _same(op: Add, memory: Memory) -> bool:
    return fingerprint(op.content) == fingerprint(memory.content)


def _said_twice(op: Op, added: set[str]) -> check.Refused | None:
    if isinstance(op, Add | Update) and fingerprint(op.content) in added:
        return Refusal.DUPLICATE, "an earlier op of this verdict says the same"
    return None
