"""Plans: what new words, a merge and a change of kind make of a memory."""

from collections.abc import Callable

import pytest

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Due, Kind, Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Boost,
    Confirm,
    Edit,
    Forget,
    Guard,
    Importance,
    Keep,
    Merge,
    Op,
    Promote,
    Restore,
    Update,
)
from tests.build import NOW, an_add, by_hand, days, keep, verdict

USER = Actor(who=ActorKind.USER)


@pytest.mark.parametrize(
    ("uses", "importance", "worth"),
    [(2, None, 1.6), (2, Importance.LOW, 1.6), (0, Importance.LOW, 1.0), (0, Importance.HIGH, 1.5)],
)
async def test_an_update_makes_nothing_worth_less(
    base: KnowledgeBase, uses: int, importance: Importance | None, worth: float
) -> None:
    """New words are worth what the old ones were, and more if they are said to be."""
    old = await keep(base, "Ann uses Vue.")
    for count in range(uses):
        await by_hand(base, Boost(target=old.id, reason=f"r{count}"))
    words = {"reason": "r", "quote": "", "content": "Ann uses React."}
    outcome = await by_hand(base, Update(target=old.id, importance=importance, **words))
    assert outcome.changes[0].after.importance == worth


async def test_what_is_said_anew_is_asked_about_anew(base: KnowledgeBase) -> None:
    """A reviewer kept the old words; the new ones, which matter, are due for promotion at once."""
    old = await keep(base, "Ann's mother is ill.", importance=Importance.HIGH)
    kept = (await by_hand(base, Keep(target=old.id, reason="r"))).changes[0].after
    assert (kept.asked_at, kept.due_for) == (NOW, Due.REVIEW)
    words = {"reason": "r", "quote": "", "content": "Ann's mother died."}
    op = Update(target=old.id, importance=Importance.HIGH, **words)
    new = (await by_hand(base, op)).changes[0].after
    assert (new.asked_at, new.asked_value, new.due_for) == (None, None, Due.PROMOTION)


async def test_a_kind_that_changes_brings_its_way_of_life(base: KnowledgeBase) -> None:
    """A problem that was solved is a lesson, and fades as one; a core memory stays core."""
    problem = await keep(base, "Docker finds no proxy.")
    core = await keep(base, "Ann is a pilot.", category=Category.CORE)
    lives = []
    for old in (problem, core):
        content = f"{old.content} Solved."
        op = Update(target=old.id, reason="r", quote="", content=content, kind=Kind.LESSON)
        new = (await by_hand(base, op)).changes[0].after
        lives.append((new.kind, new.category, new.grace_days))
    assert lives == [(Kind.LESSON, Category.SKILL, 30), (Kind.LESSON, Category.CORE, 0)]


async def test_what_is_pinned_never_expires(base: KnowledgeBase) -> None:
    """A plan that is made core has no end, nor has what replaces it; undo brings the end back."""
    end = NOW + days(9)
    plan = await keep(base, "Ann sees Zoe in May.", kind=Kind.TODO, expires_at=end)
    pinned = await by_hand(base, Promote(target=plan.id, reason="r"))
    assert (pinned.changes[0].after.expires_at, pinned.changes[0].after.due_at) == (None, None)
    words = {"reason": "r", "quote": "in June", "content": "Ann sees Zoe in June."}
    op = Update(target="m1", expires_at=end, **words)
    told = verdict(op, user="I see Zoe in June", shown={"m1": plan.id}, name="judge")
    (judged,) = await base.apply(told)
    assert judged.changes[0].after.expires_at is None
    for entry in (judged, pinned):
        await base.undo(entry.id, by=USER, now=NOW, user_id=None)
    assert (await base.get(plan.id, user_id=None)).expires_at == end


def an_edit(**fields: str) -> Edit:
    """An edit of what is told, by its target."""
    return Edit(content=f"Ann saw Zoe: {fields['target']}", **fields)


@pytest.mark.parametrize("op", [Confirm, Restore, an_edit])
async def test_what_a_person_wants_in_use_is_not_gone_at_once(
    base: KnowledgeBase, op: Callable[..., Op]
) -> None:
    """A time that is over is no end any more; one that is to come stays."""
    ends = []
    for end in (NOW - days(1), NOW + days(1)):
        plan = await keep(base, f"Ann sees Zoe on {end:%d}.", kind=Kind.TODO, expires_at=end)
        if op is Restore:
            await by_hand(base, Forget(target=plan.id, reason="r"))
        done = await by_hand(base, op(target=plan.id, reason="r"))
        ends.append(done.changes[0].after.expires_at)
    assert ends == [None, NOW + days(1)]


async def test_a_merged_memory_has_what_its_parts_had(base: KnowledgeBase) -> None:
    """True since the earliest, used as often as all of them, on the words of each."""
    parts = []
    for index, word in enumerate(("tea", "milk")):
        add = an_add(f"Ann likes {word}.", quote=word, entities=(word,), topics=("drinks", word))
        told = verdict(add, user=word, name=word, at=NOW + days(index))
        parts.append((await base.apply(told))[0].memory_ids[0])
    for part, uses in zip(parts, (1, 2), strict=True):
        for count in range(uses):
            await by_hand(base, Boost(target=part, reason=f"r{count}"), at=NOW + days(2 + uses))
    await base.note_recalled(parts)
    op = Merge(targets=tuple(parts), reason="r", content="Ann likes tea and milk.")
    one = (await by_hand(base, op, at=NOW + days(9))).changes[0].after
    assert (one.valid_from, one.last_used_at) == (NOW, NOW + days(4))
    assert (one.uses, one.recalls) == (3, 0)
    assert (one.entities, one.topics) == (("tea", "milk"), ("drinks", "tea", "milk"))
    assert [item.quote for item in one.evidence] == ["tea", "milk"]
    assert (one.created_at, one.anchor_at) == (NOW + days(9), NOW + days(9))


async def test_a_merged_boundary_guards_what_its_parts_guarded(base: KnowledgeBase) -> None:
    """Until it is judged anew; it keeps no mark of what they were judged against."""
    told = [await keep(base, f"Ann had {one}.") for one in ("tea", "milk")]
    parts = [await keep(base, f"No word of {one.id}.", kind=Kind.BOUNDARY) for one in told]
    for part, one in zip(parts, told, strict=True):
        words = {"reason": "r", "memories": (one.id,), "judged": ("mark",)}
        await by_hand(base, Guard(target=part.id, **words))
    ids = tuple(part.id for part in parts)
    merged = await by_hand(base, Merge(targets=ids, reason="r", content="No word of either."))
    one = merged.changes[0].after
    assert (one.guarded, one.judged) == (frozenset(one.id for one in told), ())


async def test_a_merged_memory_is_as_sure_as_its_parts(base: KnowledgeBase) -> None:
    """It is verified only if each of those that it replaces is."""
    unsure, sure, surer = [
        (await base.apply(verdict(an_add(f"Ann drinks {tea} tea."), who=who, name=tea)))[0]
        for tea, who in (
            ("green", ActorKind.HOST),
            ("black", ActorKind.USER),
            ("white", ActorKind.USER),
        )
    ]
    for parts, verified in (((unsure, sure), False), ((sure, surer), True)):
        ids = tuple(outcome.memory_ids[0] for outcome in parts)
        op = Merge(targets=ids, reason="r", content=f"Ann drinks tea, {verified}.")
        merged = await base.writer.plan(verdict(op, who=ActorKind.CONSOLIDATOR))
        assert merged[0].changes[0].after.verified is verified


async def test_a_memory_rests_on_the_users_words_first(base: KnowledgeBase) -> None:
    """Where both said the quote, the user's message is its evidence."""
    told = verdict(an_add(quote="green tea"), user="green tea!", assistant="green tea?")
    (evidence,) = (await base.apply(told))[0].changes[0].after.evidence
    assert (evidence.speaker, evidence.quote) == (Speaker.USER, "green tea")
