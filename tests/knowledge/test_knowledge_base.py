"""KnowledgeBase: applying, refusing, searching, history and undo, on a real store."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from souffleur.errors import NotFoundError, StoreMismatchError, UndoError
from souffleur.knowledge import proposals
from souffleur.knowledge.decay import effective
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import (
    Category,
    Kind,
    Memory,
    MemoryState,
    Relation,
    Source,
)
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Archive,
    Boost,
    Confirm,
    Delete,
    Edit,
    Forget,
    Keep,
    Merge,
    Op,
    Promote,
    Refusal,
    Restore,
    Skip,
    Update,
)
from souffleur.knowledge.policy import COMPANION, EVERBOT
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.search.query import Query
from souffleur.knowledge.store.opening import open_knowledge
from tests.build import NOW, an_add, by_hand, days, keep, open_base, turn, verdict
from tests.place import at_once, located
from tests.stores import empty_base

USER = Actor(who=ActorKind.USER)


async def test_the_same_verdict_writes_once(base: KnowledgeBase) -> None:
    """Applied twice, a verdict leaves one memory and returns the same outcomes."""
    told = verdict(an_add(quote="green tea"), user="I like green tea")
    assert await base.apply(told) == await base.apply(told)
    assert len(await base.list("ann")) == 1
    assert len(await base.journal.entries("ann")) == 1


async def test_an_update_keeps_history(base: KnowledgeBase) -> None:
    """The old memory is superseded until the day the new one holds; each names the other."""
    old = await keep(base, "Ann uses Vue.")
    since = NOW + days(3)
    op = Update(target=old.id, reason="r", quote="", content="Ann uses React.", valid_from=since)
    new, gone = (change.after for change in (await by_hand(base, op)).changes)
    assert (gone.state, gone.superseded_by, gone.valid_until) == (
        MemoryState.SUPERSEDED,
        new.id,
        since,
    )
    assert (new.supersedes, new.valid_from) == ((old.id,), since)
    assert [memory.content for memory in await base.list("ann")] == ["Ann uses React."]


async def test_an_edit_that_was_refused_can_be_made_later(base: KnowledgeBase) -> None:
    """Words that another memory had are taken once that one is forgotten."""
    milk, tea = await keep(base, "Ann likes milk."), await keep(base, "Ann likes tea.")
    first = await proposals.edit(base, milk.id, "Ann likes tea.", user_id="ann", by=USER, now=NOW)
    await by_hand(base, Forget(target=tea.id, reason="r"))
    at = NOW + days(1)
    second = await proposals.edit(base, milk.id, "Ann likes tea.", user_id="ann", by=USER, now=at)
    assert (first.refused, second.refused) == (Refusal.DUPLICATE, None)


async def test_what_was_true_then_can_be_asked(base: KnowledgeBase) -> None:
    """`as_of` finds the superseded memory before the change, and the new one after it."""
    old = await keep(base, "Ann uses Vue for the web.")
    since = NOW + days(30)
    op = Update(
        target=old.id, reason="r", quote="", content="Ann uses React for the web.", valid_from=since
    )
    await by_hand(base, op, at=since)

    async def then(moment: Any) -> list[str]:
        query = Query("ann", "what does Ann use for the web", NOW + days(60), as_of=moment)
        return [found.memory.content for found in await base.search(query)]

    assert await then(NOW + days(10)) == ["Ann uses Vue for the web."]
    assert await then(NOW + days(40)) == ["Ann uses React for the web."]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (Delete(target="x", reason="r", quote=""), {"state": MemoryState.FORGOTTEN}),
        (Forget(target="x", reason="r"), {"state": MemoryState.FORGOTTEN}),
        (Archive(target="x", reason="r"), {"state": MemoryState.ARCHIVED}),
        (Boost(target="x", reason="r"), {"uses": 1, "importance": 1.3}),
        (Promote(target="x", reason="r"), {"category": Category.CORE, "importance": 3.0}),
        (Keep(target="x", reason="r"), {"grace_days": 28.0}),
        (Confirm(target="x", reason="r"), {"verified": True, "confidence": 1.0}),
        (Edit(target="x", reason="r", content="Ann loves tea."), {"content": "Ann loves tea."}),
    ],
)
async def test_each_op_does_what_it_says(
    base: KnowledgeBase, op: Any, expected: dict[str, object]
) -> None:
    """Every op on one memory changes just the fields it stands for, and can be undone."""
    one = await keep(base)
    outcome = await by_hand(base, op.model_copy(update={"target": one.id}))
    after = await base.get(one.id, user_id=None)
    assert after == outcome.changes[0].after
    assert {key: getattr(after, key) for key in expected} == expected
    await base.undo(outcome.id, by=USER, now=NOW, user_id=None)
    back = await base.get(one.id, user_id=None)
    ignored = {"revision", "updated_at", "written_by"}
    assert back.model_dump(exclude=ignored) == one.model_dump(exclude=ignored)


async def test_a_forgotten_memory_can_be_restored(base: KnowledgeBase) -> None:
    """RESTORE brings a tombstone back to life, or what was replaced; it fades from then on."""
    one, old = await keep(base), await keep(base, "Ann uses Vue.")
    await by_hand(base, Forget(target=one.id, reason="r"))
    await by_hand(base, Update(target=old.id, reason="r", quote="", content="Ann uses React."))
    later = NOW + days(90)
    for gone in (one, old):
        op = Restore(target=gone.id, reason="r")
        back = (await by_hand(base, op, at=later)).changes[0].after
        assert (back.state, back.superseded_by, back.valid_until) == (
            MemoryState.ACTIVE,
            None,
            None,
        )
        assert effective(back, later, COMPANION) == 1.0
    assert {one.id, old.id} <= {memory.id for memory in await base.list("ann")}


async def test_what_is_restored_after_its_time_is_there(base: KnowledgeBase) -> None:
    """A plan that was archived when it expired is in use again, one that lies ahead as before."""
    past, ahead = NOW + days(7), NOW + days(90)
    plans = [
        await keep(base, f"Ann flies on day {n}.", expires_at=until)
        for n, until in enumerate((past, ahead))
    ]
    later = NOW + days(30)
    for plan, until in zip(plans, (None, ahead), strict=True):
        await by_hand(base, Archive(target=plan.id, reason="it is over"))
        op = Restore(target=plan.id, reason="r")
        back = (await by_hand(base, op, at=later)).changes[0].after
        assert back.expires_at == until
    assert {one.id for one in await base.list("ann", now=later)} == {one.id for one in plans}


async def test_a_merge_links_and_archives_the_originals(base: KnowledgeBase) -> None:
    """Several become one; nothing of where they came from is lost."""
    first, second = await keep(base, "Ann likes tea."), await keep(base, "Ann drinks tea daily.")
    op = Merge(targets=(first.id, second.id), reason="r", content="Ann likes tea and has it daily.")
    one = (await by_hand(base, op)).changes[0].after
    assert set(one.supersedes) == {first.id, second.id}
    archived = await base.get(first.id, user_id=None)
    assert (archived.state, archived.relations[0].to) == (MemoryState.ARCHIVED, one.id)


async def test_history_tells_all_in_order(base: KnowledgeBase) -> None:
    """Each change of a memory is in its history with its reason."""
    one = await keep(base)
    await by_hand(base, Boost(target=one.id, reason="it helped"))
    await by_hand(base, Forget(target=one.id, reason="enough"))
    assert [(o.op, o.reason) for o in await base.history(one.id, user_id=None)] == [
        ("ADD", "new"),
        ("BOOST", "it helped"),
        ("FORGET", "enough"),
    ]


async def test_undoing_an_add_forgets_it(base: KnowledgeBase) -> None:
    """What an entry made is gone and never due; the ledger shows it; a second undo is refused."""
    outcome = await by_hand(base, an_add())
    undone = await base.undo(outcome.id, by=USER, now=NOW, user_id=None)
    assert await base.list("ann") == []
    assert (await base.get(outcome.memory_ids[0], user_id=None)).due_at is None
    assert (await base.journal.entry(outcome.id)).undone_by == undone.id
    with pytest.raises(UndoError, match="undone already"):
        await base.undo(outcome.id, by=USER, now=NOW, user_id=None)


async def test_undoing_an_update_brings_the_old_one_back(base: KnowledgeBase) -> None:
    """The former sentence is active again and the new one gone; what was read since is counted."""
    old = await keep(base, "Ann uses Vue.")
    op = Update(target=old.id, reason="r", quote="", content="Ann uses React.")
    outcome = await by_hand(base, op)
    await base.note_recalled([old.id])
    await base.undo(outcome.id, by=USER, now=NOW, user_id=None)
    (back,) = await base.list("ann")
    assert (back.content, back.recalls) == ("Ann uses Vue.", 1)


async def test_each_retrieval_is_counted(base: KnowledgeBase) -> None:
    """Each memory has the number of its own retrievals, whichever were retrieved with it."""
    tea, cat, oslo = [
        (await keep(base, text)).id for text in ("Ann likes tea.", "Ann has a cat.", "Oslo is far.")
    ]
    for ids in ([tea, cat], [tea], [tea, cat, oslo]):
        await base.note_recalled(ids)
    assert [one.recalls for one in await base.get_many("ann", [tea, cat, oslo])] == [3, 2, 1]


async def test_a_later_change_stands_in_the_way_of_undo(base: KnowledgeBase) -> None:
    """What was edited since is not silently thrown away."""
    outcome = await by_hand(base, an_add())
    edit = Edit(target=outcome.memory_ids[0], reason="r", content="Ann adores green tea.")
    await by_hand(base, edit)
    with pytest.raises(UndoError, match="changed again since"):
        await base.undo(outcome.id, by=USER, now=NOW, user_id=None)


async def test_a_refused_op_cannot_be_undone(base: KnowledgeBase) -> None:
    """There is nothing to take back where nothing was changed."""
    (refused,) = await base.apply(verdict(an_add(quote="never said"), user="hello"))
    with pytest.raises(UndoError, match="changed nothing"):
        await base.undo(refused.id, by=USER, now=NOW, user_id=None)


async def test_a_refused_op_is_in_the_ledger(base: KnowledgeBase) -> None:
    """The reason is there by name and in words, and no memory was made."""
    (refused,) = await base.apply(verdict(an_add(quote="never said"), user="hello"))
    assert (refused.refused, refused.changes) == (Refusal.UNGROUNDED, ())
    assert (await base.journal.entries("ann"))[0] == refused


async def test_a_refused_secret_is_not_in_the_ledger(base: KnowledgeBase) -> None:
    """That something was refused is told, and what it was is not."""
    key = "sk-test-9fQ2demoXb71LkZt04"
    op = an_add(f"Ann's key is {key}", quote=key, reason=f"{key} is new")
    (refused,) = await base.apply(verdict(op, user=f"my key: {key}"))
    assert refused.refused is Refusal.SENSITIVE
    assert "sk-test" not in (await base.journal.entry(refused.id)).model_dump_json()


async def test_a_secret_beside_what_is_judged_is_masked_in_the_ledger(base: KnowledgeBase) -> None:
    """In an argument, in a deletion's quote, and in an op that is refused for another fault."""
    secret, tea = "password is hunter2000!", await keep(base)
    said = turn(f"a cat; forget that my {secret}")
    base.journal.record(said)
    ops: list[Op] = [
        an_add("Ann has a cat.", quote="a cat", reason=f"her {secret}"),
        Delete(target=tea.id, reason=secret, quote=f"forget that my {secret}"),
        Update(target=tea.id, reason="r", quote="a cat", content=f"Her {secret}", topics=(secret,)),
    ]
    told = verdict(*ops, user=said.user, reason=f"Her {secret}")
    added, deleted, changed = await base.apply(told, turns=[said])
    assert (added.refused, deleted.refused, changed.refused) == (None, None, Refusal.TOO_MANY)
    assert (added.reason, deleted.quote) == (
        "her password is [secret]",
        "forget that my password is [secret]",
    )
    assert changed.details["content"] == "Her password is [secret]"
    kept = [*await base.journal.entries("ann"), *await base.list(None, states=tuple(MemoryState))]
    assert "hunter2000" not in "".join(one.model_dump_json() for one in kept)
    other = turn("hm", turn_id="2")
    base.journal.record(other)
    await base.apply(verdict(name="v2", reason=f"Her {secret}"), turns=[other])
    assert (await base.journal.turn(other.id)).judged["reason"] == "Her password is [secret]"


async def test_the_same_text_is_kept_once(base: KnowledgeBase) -> None:
    """An ADD that differs only in case, width or punctuation is a duplicate."""
    await keep(base, "主人喜欢绿茶。")
    op = an_add("主人 喜欢绿茶", quote="绿茶")
    (outcome,) = await base.apply(verdict(op, user="我喜欢绿茶"))
    assert outcome.refused is Refusal.DUPLICATE


async def test_a_verdict_cannot_say_the_same_twice(base: KnowledgeBase) -> None:
    """Of two equal ADDs in one verdict the second is refused."""
    op = an_add(quote="green tea")
    outcomes = await base.apply(verdict(op, op, user="green tea"))
    assert [o.refused for o in outcomes] == [None, Refusal.DUPLICATE]


async def test_what_is_nearly_the_same(base: KnowledgeBase) -> None:
    """An ADD in other words than a memory in force; not if both are wanted, or it was let go."""
    one = await keep(base)
    texts = ("Ann likes the green tea", "Ann likes green tea a lot.", "ann likes green tea")
    both = an_add(texts[0], keep_both=True)
    near = verdict(Skip(reason="r"), *map(an_add, texts), both)
    assert await base.near_duplicates(near) == {1: one}
    await by_hand(base, Archive(target=one.id, reason="r"))
    assert await base.near_duplicates(near) == {}


async def test_what_was_whispered_is_not_learnt_again(base: KnowledgeBase) -> None:
    """An ADD with nothing beyond an injected memory is an echo."""
    one = await keep(base, "Ann likes green tea and white cats.")
    op = an_add("Ann likes white cats.", quote="white cats")
    told = verdict(op, user="white cats", injected=frozenset({one.id}))
    assert (await base.apply(told))[0].refused is Refusal.ECHO


async def test_handles_stand_for_what_was_shown(base: KnowledgeBase) -> None:
    """m1 is the memory shown under it, and noted by its id; one that was not shown is refused."""
    one = await keep(base)
    ops = Boost(target="m1", reason="r"), Boost(target="m2", reason="r")
    known, unknown = await base.apply(verdict(*ops, shown={"m1": one.id}))
    assert known.memory_ids == (one.id,)
    assert unknown.refused is Refusal.UNKNOWN_ID
    assert [entry.details["target"] for entry in (known, unknown)] == [one.id, "m2"]


async def test_no_verdict_reaches_another_user(base: KnowledgeBase) -> None:
    """A memory of somebody else is as unknown as one that does not exist."""
    one = await keep(base)
    told = verdict(Forget(target=one.id, reason="r"), who=ActorKind.USER, user_id="bob")
    assert (await base.apply(told))[0].refused is Refusal.UNKNOWN_ID
    with pytest.raises(NotFoundError):
        await base.get(one.id, user_id="bob")


async def test_reading_makes_nothing_younger(base: KnowledgeBase) -> None:
    """A retrieval is counted, and nothing else about the memory changes."""
    one = await keep(base)
    await base.search(Query("ann", "green tea", NOW + days(5)))
    await base.note_recalled([one.id, one.id])
    after = await base.get(one.id, user_id=None)
    assert after.recalls > 0
    assert after.model_copy(update={"recalls": 0}) == one


async def test_search_finds_by_word_and_says_why(base: KnowledgeBase) -> None:
    """The right memory comes first, with the parts of its score."""
    await keep(base, "主人喜欢喝绿茶。")
    await keep(base, "主人住在里昂。")
    best, *_ = await base.search(Query("ann", "来杯茶吗？绿茶", NOW))
    assert best.memory.content == "主人喜欢喝绿茶。"
    assert best.relevant
    assert {"cosine", "lexical", "importance", "recency"} <= best.parts.keys()


async def test_nothing_relevant_passes_the_gate(base: KnowledgeBase) -> None:
    """A message about something else calls nothing up."""
    await keep(base, "Ann's birthday is on 16 March.")
    hits = await base.search(Query("ann", "Any idea why my docker build fails?", NOW))
    assert [hit for hit in hits if hit.relevant] == []


async def test_a_name_leads_to_what_else_is_known_about_it(base: KnowledgeBase) -> None:
    """One hop along an entity brings a memory that shares no word with the question."""
    await keep(base, "Ann's cat is called Tofu.", entities=("Tofu",))
    other = await keep(base, "Allergic to chicken since the vet's visit.", entities=("Tofu",))
    hits = await base.search(Query("ann", "How is Tofu, your cat?", NOW))
    assert other.id in [hit.memory.id for hit in hits if hit.parts["hop"]]


@pytest.mark.parametrize(
    "state",
    [MemoryState.SUPERSEDED, MemoryState.ARCHIVED, MemoryState.FORGOTTEN, MemoryState.PENDING],
)
async def test_what_is_not_active_is_in_no_default_read(
    base: KnowledgeBase, state: MemoryState
) -> None:
    """Neither search nor list nor ranking returns it."""
    one = await keep(base)
    await base.memories.merge_payload([one.id], {"state": state})
    assert await base.search(Query("ann", "green tea", NOW)) == []
    assert await base.list("ann") == []
    assert await base.most_valuable("ann", limit=5, now=NOW) == []
    assert await base.get_many("ann", [one.id]) == []


async def test_a_relation_leads_to_what_may_be_read(base: KnowledgeBase) -> None:
    """A linked memory comes along while it is in force, and not once it has expired."""
    other = await keep(base, "Vet visit paid in cash.", expires_at=NOW + days(1))
    tofu = await keep(base, "Ann's cat is called Tofu.")
    link = {"to": other.id, "type": "supports", "strength": 0.5}
    await base.memories.merge_payload([tofu.id], {"relations": [link]})

    async def found(now: datetime) -> list[str]:
        hits = await base.search(Query("ann", "How is Tofu, your cat?", now))
        return [hit.memory.id for hit in hits if hit.relevant]

    assert await found(NOW) == [tofu.id, other.id]
    assert await found(NOW + days(2)) == [tofu.id]


async def test_what_has_expired_is_in_no_default_read(base: KnowledgeBase) -> None:
    """A plan whose time is over is not found any more."""
    await keep(base, "Ann has an exam.", expires_at=NOW + days(1))
    assert await base.search(Query("ann", "exam", NOW))
    assert await base.search(Query("ann", "exam", NOW + days(2))) == []
    assert await base.list("ann", now=NOW + days(2)) == []
    assert await base.most_valuable("ann", limit=5, now=NOW + days(2)) == []


async def test_proposals_wait_where_extraction_is_off(tmp_path: Path) -> None:
    """What a model adds is pending until the user confirms it; what the user adds is not."""
    base = await empty_base(tmp_path, require_confirmation=True)
    (outcome,) = await base.apply(verdict(an_add(quote="tea"), user="tea"))
    proposed = await base.get(outcome.memory_ids[0], user_id=None)
    assert proposed.state is MemoryState.PENDING
    assert (await by_hand(base, an_add("Ann likes milk."))).changes[
        0
    ].after.state is MemoryState.ACTIVE
    await by_hand(base, Confirm(target=proposed.id, reason="yes"))
    assert (await base.get(proposed.id, user_id=None)).state is MemoryState.ACTIVE
    await base.close()


async def test_who_said_it_is_kept(base: KnowledgeBase) -> None:
    """The user's own entries are verified, a model's are not."""
    mine = (await by_hand(base, an_add())).changes[0].after
    (outcome,) = await base.apply(verdict(an_add("Ann likes cats.", quote="cats"), user="cats"))
    theirs = outcome.changes[0].after
    assert (mine.source, mine.verified) == (Source.USER, True)
    assert (theirs.source, theirs.verified) == (Source.BACKGROUND_AI, False)


async def test_know_how_lives_as_a_skill(base: KnowledgeBase) -> None:
    """A lesson goes into the category that fades slowest."""
    lesson = await keep(base, "Docker needs proxy-env.", kind=Kind.LESSON)
    assert (lesson.category, lesson.grace_days) == (Category.SKILL, 30)


async def test_a_crash_between_ledger_and_memory_is_finished(base: KnowledgeBase) -> None:
    """A verdict that was only written down is carried out by `recover`, once."""
    one = turn("I like green tea", "noted")
    base.journal.record(one)
    planned = await base.writer.plan(verdict(an_add(quote="green tea"), user=one.user), [one])
    await base.journal.write(planned)
    assert await base.recover() == 1
    assert await base.recover() == 0
    assert [memory.content for memory in await base.list("ann")] == ["Ann likes green tea."]
    assert (await base.journal.turn(one.id)).state == "judged"


@at_once
async def test_half_a_verdict_is_as_none(base: KnowledgeBase) -> None:
    """A verdict that was not written down whole is dropped, and its turn still waits."""
    one = turn("green tea, cats", "noted")
    base.journal.record(one)
    ops = an_add(quote="green tea"), an_add("Ann likes cats.", quote="cats")
    planned = await base.writer.plan(verdict(*ops, user=one.user), [one])
    await base.journal.write(planned[:1])
    assert await base.recover() == 0
    assert await base.list("ann") == []
    assert await base.journal.entries("ann") == []
    assert (await base.journal.turn(one.id)).state == "pending"


async def test_a_change_by_another_process_is_not_overwritten(base: KnowledgeBase) -> None:
    """A memory that moved on between planning and writing is left alone, and the ledger says so."""
    one = await keep(base)
    planned = await base.writer.plan(
        verdict(Boost(target=one.id, reason="r"), who=ActorKind.USER), []
    )
    await base.memories.merge_payload([one.id], {"revision": 5, "written_by": "somebody"})
    await base.journal.write(planned)
    (outcome,) = await base.writer.carry_out(planned)
    assert outcome.refused is Refusal.CONFLICT
    assert (await base.journal.entry(outcome.id)).refused is Refusal.CONFLICT
    assert (await base.get(one.id, user_id=None)).uses == 0


async def test_another_embedder_is_a_plain_error(tmp_path: Path) -> None:
    """A store opened with an embedder of the same dimension but another name says what to set."""
    await (await open_base(tmp_path)).close()
    other = make_embedder("hash:128")
    other.name = "openai:other"
    with pytest.raises(StoreMismatchError, match="SOUFFLEUR_EMBEDDER=hash:128"):
        await open_knowledge(located(tmp_path), other, COMPANION)


async def test_another_policy_is_a_plain_error(tmp_path: Path) -> None:
    """Memories do not silently start to live by another policy."""
    await (await open_base(tmp_path)).close()
    with pytest.raises(StoreMismatchError, match="SOUFFLEUR_POLICY=companion"):
        await open_base(tmp_path, EVERBOT)


async def test_skip_changes_nothing(base: KnowledgeBase) -> None:
    """A SKIP is in the ledger and nowhere else."""
    (outcome,) = await base.apply(verdict(Skip(reason="small talk")))
    assert (outcome.op, outcome.changes, outcome.refused) == ("SKIP", (), None)


async def link_both(base: KnowledgeBase, one: str, other: str) -> None:
    """Link a memory with another, which it supports and contradicts."""
    links = [Relation(to=other, type=type).model_dump() for type in ("supports", "contradicts")]
    await base.memories.merge_payload([one], {"relations": links})


def linked(one: Memory) -> list[tuple[str, str]]:
    return [(link.to, link.type) for link in one.relations]


async def test_new_words_exclude_nothing_yet(base: KnowledgeBase) -> None:
    """What an UPDATE or MERGE makes keeps the links, except those of contradictions."""
    old, new = await keep(base, "Ann lives in Lyon."), await keep(base, "Ann lives in Oslo.")
    await link_both(base, old.id, new.id)
    update = Update(target=old.id, reason="r", quote="", content="Ann lives in Rome.")
    made = (await by_hand(base, update)).changes[0].after
    assert linked(made) == [(new.id, "supports")]
    await link_both(base, made.id, new.id)
    other = await keep(base, "Ann has a flat.")
    merge = Merge(targets=(made.id, other.id), reason="r", content="Ann has a flat in Rome.")
    one = (await by_hand(base, merge)).changes[0].after
    assert linked(one) == [(new.id, "supports")]


async def test_memories_are_counted_in_whatever_state(base: KnowledgeBase) -> None:
    """All, those of a user, or those that a persona learned; a forgotten memory is still held."""
    one = await keep(base, "Ann likes green tea.")
    await by_hand(base, Forget(target=one.id, reason="r"))
    assert await base.count() == await base.count(user_id="ann") == 1
    assert await base.count(user_id="bob") == 0
    assert await base.count(agent_id=one.agent_id) == 1
    assert await base.count(agent_id="nobody") == 0
    assert await base.memories.get([one.id])
