"""The writer: turns verdicts into ledger entries, and entries into memories, once each."""

from collections import Counter
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from souffleur.errors import MemoryOffError, NotFoundError
from souffleur.knowledge import check, undo
from souffleur.knowledge.forgetting.request import (
    doubts_of,
    extend_deletions,
    ids_to_show_again,
    show_again,
)
from souffleur.knowledge.grounding import Grounds
from souffleur.knowledge.identity import SHARED, knows, sphere_conditions
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Boost,
    Change,
    Delete,
    Edit,
    LedgerEntries,
    LedgerEntry,
    Op,
    Refusal,
    Update,
    Verdict,
    is_id,
)
from souffleur.knowledge.people import Preferences, preferences_id, to_preferences
from souffleur.knowledge.plan import NO_MODELS, PlanContext, needs_confirmation, plan
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.hidden_words import conceal, mask_words
from souffleur.knowledge.privacy.secrets import mask
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.codecs import (
    embedded_point,
    fingerprint,
    state_mark,
    to_entry,
    to_memories,
    to_turn,
)
from souffleur.knowledge.store.engine.collection import Collection, Filter, Is, Point
from souffleur.knowledge.store.introductions import Choices, People
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.store.sessions import Sessions
from souffleur.knowledge.turn import Turn, TurnState

Vector = tuple[float, ...]

_TELLERS = frozenset({ActorKind.SUMMARIZER, ActorKind.PROFILE_WRITER})
_WORDS = frozenset({"content", "entities", "topics", "cues", "trail"})
"""Fields of an op whose words are masked; ids stay, although an id may look like a card number."""


_LOOKED_AT = ("entry", "turn", "preferences")


@dataclass(frozen=True)
class _Scene:
    """The journal's records for a verdict."""

    entries: LedgerEntries
    """The entries of the verdict, if it was written before."""
    turns: list[Turn]
    """The judged turns that still exist."""
    chosen: Preferences


class Writer:
    """The only class that changes memories; callers must run one verdict per user at a time."""

    def __init__(
        self,
        memories: Collection,
        journal: Journal,
        embedder: Embedder,
        policy: Policy,
        *,
        require_confirmation: bool = False,
        withheld: AbstractSet[Group] = NEVER_KEPT,
        called: Sequence[str] = (),
    ) -> None:
        """Create a writer; `called` are the usual names of user and persona."""
        self._memories = memories
        self._journal = journal
        self._sessions = Sessions(journal)
        self._choices = Choices(journal)
        self._embedder = embedder
        self._policy = policy
        self._require_confirmation = require_confirmation
        self._withheld = frozenset(withheld)
        self._called = tuple(called)

    async def apply(self, verdict: Verdict, turns: Sequence[Turn]) -> LedgerEntries:
        """Write a verdict to the ledger and carry it out; return its entries, also if repeated."""
        await self.finish(verdict.user_id)
        verdict = conceal(verdict)
        scene = await self._look(verdict, turns)
        done = scene.entries
        if not done:
            await self._check_there(verdict, turns, scene)
        entries = done or await self._plan(verdict, turns, scene.chosen)
        if not done:
            await self._vectors(entries)  # the embedder must fail before the ledger
            await self._mask_turns(verdict, turns, scene)
            await self._journal.write(entries)
        await self._judge(turns, verdict)
        return done or await self.carry_out(entries)

    async def finish(self, user_id: str | None = None) -> int:
        """Apply verdicts that a crash or an outage left unapplied; return their number."""
        unfinished = await self._journal.unsettled(user_id)
        for entries in unfinished:
            if entries[0].op != "UNDO":
                await self._journal.mark_judged(entries)
            await self.carry_out(entries)
        return len(unfinished)

    async def _look(self, verdict: Verdict, turns: Sequence[Turn]) -> _Scene:
        """Return the journal's records for a verdict, read in one request."""
        contexts = (PlanContext(verdict, place, self._policy) for place in range(len(verdict.ops)))
        entry_ids = [context.entry_id for context in contexts]
        chosen_id = preferences_id(verdict.user_id)
        ids = [id for id in (*entry_ids, *(turn.id for turn in turns)) if is_id(id)]
        points = await self._journal.collection.get([*ids, chosen_id])
        of = {
            type: [one for one in points if one.payload.get("type") == type] for type in _LOOKED_AT
        }
        chosen = read_each(of["preferences"], to_preferences)
        return _Scene(
            read_each(of["entry"], to_entry),
            read_each(of["turn"], to_turn),
            next(iter(chosen), Preferences(user_id=verdict.user_id)),
        )

    async def _check_there(self, verdict: Verdict, turns: Sequence[Turn], scene: _Scene) -> None:
        """Raise NotFoundError if the turns or the user were erased while a model judged."""
        if verdict.by.who in NO_MODELS:
            return
        recorded = [turn.id for turn in turns if turn.seq]
        there = [turn for turn in scene.turns if turn.id in recorded]
        if len(there) < len(recorded) or any(turn.expunged for turn in there):
            raise NotFoundError("the turns were erased while they were judged: nothing is kept")
        if not turns and (verdict.shown or verdict.by.who in _TELLERS):
            mine = Filter((Is("user_id", verdict.user_id),))
            if not (await self._memories.count(mine) or await self._journal.collection.count(mine)):
                raise NotFoundError("the user was erased meanwhile: nothing is kept")

    async def _mask_turns(self, verdict: Verdict, turns: Sequence[Turn], scene: _Scene) -> None:
        """Mask the hidden words of a verdict in its turns, before the ledger has the verdict.

        So no crash leaves a judged turn with these words. The turns are embedded anew.
        """
        if not verdict.hidden:
            return
        judged = {(turn.id, turn.version) for turn in turns}
        for turn in scene.turns:
            both = {"user": turn.user, "assistant": turn.assistant}
            masked = {name: mask_words(text, verdict.hidden) for name, text in both.items()}
            if (turn.id, turn.version) in judged and masked != both:
                await self._journal.mark([turn], **masked, embedded=False)

    async def plan(self, verdict: Verdict, turns: Sequence[Turn] = ()) -> LedgerEntries:
        """Return an entry for each op, with its changes or the refusal; writes nothing."""
        return await self._plan(verdict, turns, await self._choices.find(verdict.user_id))

    async def _plan(
        self, verdict: Verdict, turns: Sequence[Turn], chosen: Preferences
    ) -> LedgerEntries:
        injected = to_memories(await self._memories.get(sorted(verdict.injected)))
        mine = tuple(
            memory
            for memory in injected
            if memory.user_id == verdict.user_id and knows(verdict.sphere, memory.sphere)
        )
        entries: LedgerEntries = []
        asked: dict[str, PlanContext] = {}
        grounds = Grounds(verdict)
        asks_first = self._asks_first(verdict, chosen)
        added: set[str] = set()
        rests_on = [check.turns_of(op, verdict) for op in verdict.ops]
        deletions, touched = Counter[frozenset[str]](), frozenset[str]()
        changed: dict[str, Memory] = {}
        for index, op in enumerate(verdict.ops):
            stored, of_turns = await self._targets(op, verdict), rests_on[index]
            targets = tuple(changed.get(memory.id, memory) for memory in stored)
            check_context = check.CheckContext(
                verdict=verdict,
                targets=targets,
                twin=await self._twin(op, verdict, targets),
                injected=mine,
                turns=max(1, len(of_turns)),
                taken=rests_on[:index].count(of_turns),
                deletions=deletions[of_turns],
                touched=touched,
                withheld=self._withheld,
                grounds=grounds,
            )
            refused = check.refuse(op, check_context) or _said_twice(op, added)
            context = PlanContext(verdict, index, self._policy, require_confirmation=asks_first)
            entry = self._entry(op, targets, refused, context, turns)
            entries.append(entry)
            wished = check.was_asked_for(op, verdict)
            defines = any(one.category is Category.SYSTEM for one in targets)
            if entry.changes and wished and not defines:
                asked[entry.id] = context
            if refused is None:
                deletions[of_turns] += isinstance(op, Delete) and not wished
                changed |= {change.after.id: change.after for change in entry.changes}
                if not isinstance(op, Boost):  # what was used may also be different from now on
                    touched |= {memory.id for memory in targets} | set(entry.memory_ids)
                added |= {fingerprint(op.content)} if isinstance(op, Add | Update) else set()
        if not asked:
            return entries
        called = await self.called(verdict.user_id, verdict.agent_id)
        return await extend_deletions(entries, asked, self._memories, self._journal, called)

    async def called(self, user_id: str, agent_id: str) -> tuple[str, ...]:
        """Return the names of a user and a persona, including former names."""
        both = await People(self._journal).find(user_id, agent_id)
        names = [user_id, *self._called]
        names += [both[0].title or "", *both[0].former] if both[0] else []
        names += [both[1].name or "", *both[1].former] if both[1] else []
        return tuple(filter(None, names))

    def _entry(
        self,
        op: Op,
        targets: Sequence[Memory],
        refused: check.Refused | None,
        context: PlanContext,
        turns: Sequence[Turn],
    ) -> LedgerEntry:
        """Return the entry for an op: with changes, with a refusal, or waiting for consent."""
        verdict, asks_first = context.verdict, context.require_confirmation
        waits = refused is None and asks_first and needs_confirmation(op, targets, verdict)
        changes = () if refused or waits else plan(op, targets, context)
        entry = _ledger_entry(op, context, turns, changes, refused, self._withheld)
        if waits:
            known = {memory.id: state_mark(memory) for memory in targets}
            details = {**entry.details, "seen": known}
            return entry.model_copy(update={"waits": True, "details": details})
        return entry

    def _asks_first(self, verdict: Verdict, chosen: Preferences) -> bool:
        """Return whether a verdict waits for consent.

        Raises MemoryOffError if a model judged and the memory was turned off meanwhile.
        """
        if verdict.by.who in NO_MODELS:
            return False
        if not chosen.memory:
            raise MemoryOffError("the memory was turned off while it was judged: nothing is kept")
        return self.asks_first(chosen)

    def asks_first(self, chosen: Preferences) -> bool:
        """Return whether a model's changes wait for consent, by the preference or the settings."""
        by_setting = self._require_confirmation
        return by_setting if chosen.auto_extract is None else not chosen.auto_extract

    async def _targets(self, op: Op, verdict: Verdict) -> tuple[Memory, ...]:
        named = check.named_ids(op)
        shown = verdict.shown
        ids = [name if shown is None else shown.get(name, "") for name in named]
        points = await self._memories.get([id for id in ids if is_id(id)])
        memories = to_memories(points)
        return tuple(memory for memory in memories if memory.user_id == verdict.user_id)

    async def _twin(self, op: Op, verdict: Verdict, targets: Sequence[Memory]) -> Memory | None:
        """Return an active memory with the same text in the op's sphere, if any."""
        if not isinstance(op, Add | Update | Edit):
            return None
        lies_in = targets[0].sphere if targets else SHARED
        sphere = verdict.sphere if lies_in == SHARED else lies_in
        same = (
            Is("user_id", verdict.user_id),
            *sphere_conditions(sphere),
            Is("state", MemoryState.ACTIVE),
            has("fingerprint", fingerprint(op.content)),
        )
        page, _ = await self._memories.scroll(Filter(same), limit=1)
        return next(iter(to_memories(page)), None)

    async def _judge(self, turns: Sequence[Turn], verdict: Verdict) -> None:
        if turns:
            by = verdict.by.model_dump(mode="json")
            told = any(check.special_of(op) for op in verdict.ops)
            reason = "" if told else mask(verdict.reason, self._withheld)
            judged = {"reason": reason, **by, **verdict.cost}
            await self._journal.mark(turns, state=TurnState.JUDGED, error="", judged=judged)

    async def carry_out(self, entries: Sequence[LedgerEntry]) -> LedgerEntries:
        """Write the memories after every change of the entries. Idempotent."""
        vectors = await self._vectors(entries)
        done = []
        for entry in entries:
            lost = None
            for change in entry.changes:
                if await self._write(embedded_point(change.after, vectors), change):
                    continue
                if await self._journal.is_settled(entry.id):  # another process was faster
                    return list(entries)
                lost = await self._conflict(entry, change)
                break
            if entry.undoes and lost is None:
                undone = await self._journal.entry(entry.undoes)
                await self._journal.rewrite(undone.model_copy(update={"undone_by": entry.id}))
                await self._hide(undone, hidden=False)
            elif lost is None and "spares" in entry.details:
                await self._show_again(entry)
            elif lost is None:
                await self._hide(entry)
            done.append(lost or entry)
        await self._journal.settle(entries)
        return done

    async def spare(
        self, entry: LedgerEntry, tells: Sequence[bool], *, by: Actor, now: datetime
    ) -> LedgerEntry:
        """Show hidden records again if a judge says that they do not repeat forgotten content.

        `tells` says for each doubtful line whether it repeats that content. Returns the current
        entry of the forgetting, whose undo shows the other records again.
        """
        ids = ids_to_show_again(entry, tells)
        now_held = to_memories(await self._memories.get(list(entry.memory_ids)))
        current = {one.id: one for one in now_held}
        untold = [line.text for line, told in zip(doubts_of(entry), tells, strict=True) if not told]
        if not ids and not untold:
            settled = show_again(entry, ())
            await self._journal.rewrite(settled)
            return settled
        outcome = undo.plan_sparing(
            entry, current, ids, untold, by=by, now=now, policy=self._policy
        )
        await self._journal.write([outcome])
        await self.carry_out([outcome])
        return await self._journal.entry(entry.id)

    async def _show_again(self, outcome: LedgerEntry) -> None:
        """Show the turns of an outcome again, and note the turns that stay hidden."""
        entry = await self._journal.entry(outcome.details["spares"])
        if doubts_of(entry):  # otherwise this was done before a crash
            ids, before = outcome.details["ids"], entry.details["resting"]["segments"]
            left = show_again(entry, ids)
            await self._show(entry, ids)
            await self._sessions.settle_again(
                sorted({*before} - {*left.details["resting"]["segments"]})
            )
            await self._journal.rewrite(left)

    async def _hide(self, entry: LedgerEntry, *, hidden: bool = True) -> None:
        resting = entry.details.get("resting")
        if not resting:
            return
        if hidden:
            await self._sessions.hide(resting["turns"])
        else:
            await self._show(entry, resting["turns"])
        waiting = await self._sessions.waiting_segments(entry.user_id)
        touched = [one for one in waiting if set(one.turn_ids) & set(resting["turns"])]
        named = await self._sessions.get(resting["segments"])
        await self._sessions.requeue([*named, *(one for one in touched if one not in named)])

    async def _show(self, entry: LedgerEntry, ids: Sequence[str]) -> None:
        """Show the turns of an entry again, except those that another forgetting hides."""
        hiding = [
            one.details["resting"]["turns"]
            for one in await self._journal.entries(entry.user_id)
            if one.id != entry.id and one.undone_by is None and one.details.get("resting")
        ]
        elsewhere = {id for turns in hiding for id in turns}
        shown = set(entry.details["resting"]["turns"]) & set(ids) - elsewhere
        await self._sessions.hide(sorted(shown), hidden=False)

    async def _vectors(self, entries: Sequence[LedgerEntry]) -> dict[str, Vector]:
        """Return the embeddings of every `after`, by text; the embedder remembers the latest."""
        changes = (change for entry in entries for change in entry.changes)
        texts = {text: None for change in changes for text in change.after.embedded}
        return dict(zip(texts, await self._embedder.embed(list(texts)), strict=True))

    async def _write(self, point: Point, change: Change) -> bool:
        if change.before is None:
            await self._memories.swap([point], {})  # an existing point has the same source
            return True
        if await self._memories.replace(point, revision=change.before.revision):
            return True
        there = await self._memories.get([point.id])
        return (
            bool(there)
            and there[0].payload["revision"] >= change.after.revision
            and (there[0].payload["written_by"] == change.after.written_by)
        )

    async def _conflict(self, entry: LedgerEntry, change: Change) -> LedgerEntry:
        detail = f"memory {change.after.id} was changed by another process in the meantime"
        lost = entry.model_copy(
            update={"refused": Refusal.CONFLICT, "detail": detail, "changes": ()}
        )
        await self._journal.rewrite(lost)
        return lost


def _ledger_entry(
    op: Op,
    plan_context: PlanContext,
    turns: Sequence[Turn],
    changes: tuple[Change, ...],
    refused: check.Refused | None,
    withheld: frozenset[Group],
) -> LedgerEntry:
    verdict = plan_context.verdict
    harmless = refused is None or refused[0] is not Refusal.SENSITIVE
    return LedgerEntry(
        id=plan_context.entry_id,
        verdict_id=verdict.id,
        position=plan_context.position,
        of=len(verdict.ops),
        user_id=verdict.user_id,
        agent_id=verdict.agent_id,
        turn_ids=tuple(turn.id for turn in turns),
        session_id=turns[0].session_id if turns else "",
        host_turn_ids=tuple(turn.turn_id for turn in turns),
        by=verdict.by,
        at=verdict.at,
        op=op.op,
        details=_details(op, verdict, withheld) if harmless else {"withheld": _why_withheld(op)},
        reason=mask(op.reason, withheld) if harmless else "",
        quote=mask(getattr(op, "quote", ""), withheld) if harmless else "",
        changes=changes,
        refused=refused[0] if refused else None,
        detail=refused[1] if refused else "",
        cost={} if plan_context.position else verdict.cost,
    )


def _details(op: Op, verdict: Verdict, withheld: frozenset[Group]) -> dict[str, Any]:
    """Return the fields of an op, with real ids in place of handles and sensitive data masked.

    Data is masked even if the op was refused for another reason.
    """
    asked = op.model_dump(mode="json", exclude_defaults=True, exclude={"reason", "quote"})
    for name in _WORDS & asked.keys():
        words = asked[name]
        alone = isinstance(words, str)
        asked[name] = mask(words, withheld) if alone else [mask(part, withheld) for part in words]
    if "target" in asked and verdict.shown:
        asked["target"] = verdict.shown.get(asked["target"], asked["target"])
    return asked


def _why_withheld(op: Op) -> str:
    special = check.special_of(op)
    return f"it told of {special}" if special else "it held a secret"


def _said_twice(op: Op, added: set[str]) -> check.Refused | None:
    if isinstance(op, Add | Update) and fingerprint(op.content) in added:
        return Refusal.DUPLICATE, "an earlier op of this verdict says the same"
    return None
