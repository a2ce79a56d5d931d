"""The life of a memory: values, due times, reinforcement, review, against tables worked by hand."""

import math
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge import decay
from souffleur.knowledge.memory import Category, Due, Kind, Memory, MemoryState
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.policy import COMPANION, EVERBOT, POLICIES, STUDIO, Policy
from tests.build import NOW, days, memory

ages = st.floats(min_value=0, max_value=4000)
values = st.floats(min_value=0.01, max_value=2.99)
policies = st.sampled_from(list(POLICIES.values()))
categories = st.sampled_from([Category.FACT, Category.SKILL, Category.EPISODE])


@pytest.mark.parametrize(
    ("policy", "category", "importance", "grace", "age", "expected"),
    [
        (COMPANION, "fact", 1.0, 7, 7, 1.0),
        (COMPANION, "fact", 1.0, 7, 8, 0.95),
        (COMPANION, "fact", 1.0, 7, 17, 0.95**10),
        (COMPANION, "fact", 2.0, 14, 15, 1.9),
        (COMPANION, "episode", 1.0, 7, 9, 0.64),
        (COMPANION, "skill", 1.0, 30, 130, 0.99**100),
        (COMPANION, "core", 3.0, 0, 3650, 3.0),
        (COMPANION, "fact", 3.0, 7, 3650, 3.0),
        (EVERBOT, "fact", 0.8, 7, 7, 0.8),
        (EVERBOT, "fact", 0.8, 7, 107, 0.8 * 0.99**100),
        (STUDIO, "fact", 0.9, 0, 0, 0.9),
        (STUDIO, "fact", 0.9, 0, 100, 0.9 * math.exp(-1)),
    ],
)
def test_the_value_is_what_the_table_says(
    policy: Policy, category: str, importance: float, grace: float, age: float, expected: float
) -> None:
    """Each policy gives the value worked out by hand."""
    one = memory(category=category, importance=importance, grace_days=grace)
    assert decay.effective(one, NOW + days(age), policy) == pytest.approx(expected)


def test_studio_counts_uses() -> None:
    """In `studio` the value grows by 1 + ln(1 + uses)."""
    one = memory(importance=0.5, uses=3)
    assert decay.effective(one, NOW, STUDIO) == pytest.approx(0.5 * (1 + math.log(4)))


@pytest.mark.parametrize(("importance", "expected"), [(0.7, 13.56), (1.0, 20.51), (1.49, 28.29)])
def test_an_unused_fact_comes_up_for_review(importance: float, expected: float) -> None:
    """Low and medium facts are due for review after about 14 and 21 days, the best after 28."""
    one = memory(importance=importance)
    assert one.due_for is Due.REVIEW
    assert one.due_at is not None
    assert (one.due_at - NOW) / timedelta(days=1) == pytest.approx(expected, abs=0.01)


@given(policies, categories, values, ages, ages)
def test_a_value_never_grows_by_waiting(
    policy: Policy, category: Category, importance: float, age: float, more: float
) -> None:
    """Time alone never makes a memory worth more."""
    one = memory(category=category, importance=importance, grace_days=7)
    later = decay.effective(one, NOW + days(age + more), policy)
    assert later <= decay.effective(one, NOW + days(age), policy)


@given(policies, categories, values, ages, ages, st.integers(0, 9), st.booleans(), st.booleans())
def test_the_value_is_that_of_the_formula(
    policy: Policy,
    category: Category,
    importance: float,
    grace: float,
    age: float,
    uses: int,
    asked: bool,
    expires: bool,
) -> None:
    """A memory's value is its base, faded after the grace period, and never below its floor."""
    one = memory(
        category=category,
        importance=importance,
        grace_days=grace,
        uses=uses,
        asked_at=NOW if asked else None,
        expires_at=NOW if expires else None,
    )
    rate, below = policy.rule(category).rate, policy.rule(category).review_below
    lasts, awaits = decay.never_fades(one, policy), decay.awaits_reviewer(one, policy)
    for then in (NOW + days(age), NOW - days(age)):
        late = max(0.0, one.since(then) - grace)
        value = decay.base_value(one, policy) * (1 if lasts else math.pow(rate, late))
        assert decay.effective(one, then, policy) == max(value, (awaits and below) or 0.0)


@given(policies, categories, values, values, ages)
def test_the_stronger_stays_the_stronger(
    policy: Policy, category: Category, one: float, other: float, age: float
) -> None:
    """Of two memories alike but for importance, the more important never falls below the other."""
    weak, strong = sorted((one, other))
    then = NOW + days(age)
    assert decay.effective(memory(category=category, importance=weak), then, policy) <= (
        decay.effective(memory(category=category, importance=strong), then, policy)
    )


@given(policies, values, st.floats(min_value=0.05, max_value=2.0))
def test_a_crossing_is_where_the_value_crosses(
    policy: Policy, importance: float, below: float
) -> None:
    """An hour before the crossing the value is not below the threshold; an hour after, it is."""
    one = memory(importance=importance)
    crossing = decay.falls_below_at(one, below, policy)
    if crossing is None or crossing == one.anchor_at:
        return
    hour = timedelta(hours=1)
    assert decay.effective(one, crossing - hour, policy) >= below
    assert decay.effective(one, crossing + hour, policy) < below


@given(policies, values, ages)
def test_use_never_makes_a_memory_worth_less(policy: Policy, importance: float, age: float) -> None:
    """After a boost the value is at least what it was."""
    then = NOW + days(age)
    one = memory(importance=importance)
    boosted = decay.boosted(one, then, policy)
    assert decay.effective(boosted, then, policy) >= decay.effective(one, then, policy)
    assert boosted.uses == one.uses + 1


def test_a_boost_adds_to_what_is_left() -> None:
    """In `companion` a boost gives the effective value plus 0.3, anchored now."""
    then = NOW + days(17)
    boosted = decay.boosted(memory(importance=1.0), then, COMPANION)
    assert boosted.importance == pytest.approx(0.95**10 + 0.3)
    assert boosted.anchor_at == then


def test_boosts_alone_never_reach_core() -> None:
    """However often it is used, a fact stops at 2.9 and only a reviewer lets it reach 3.0."""
    one = memory(importance=1.5)
    for _ in range(100):
        one = decay.boosted(one, NOW, COMPANION)
    assert one.importance == pytest.approx(2.9)


def test_everbot_boosts_approach_one() -> None:
    """In `everbot` 0.6 becomes 0.68, then 0.744."""
    once = decay.boosted(memory(importance=0.6), NOW, EVERBOT)
    assert once.importance == pytest.approx(0.68)
    assert decay.boosted(once, NOW, EVERBOT).importance == pytest.approx(0.744)


def test_a_valuable_fact_is_due_for_promotion_at_once() -> None:
    """From 2.5 on a reviewer is asked whether it is core."""
    assert memory(importance=2.5).due_for is Due.PROMOTION
    assert memory(importance=2.5).due_at == NOW


high = st.floats(min_value=1.5, max_value=2.9)


@given(high, ages)
def test_what_matters_does_not_fade_below_review_before_it_was_asked_about(
    importance: float, age: float
) -> None:
    """Told as important, it is due for promotion at once, and is never below 0.5 until then."""
    one = memory(importance=importance)
    assert (one.due_at, one.due_for) == (NOW, Due.PROMOTION)
    assert decay.effective(one, NOW + days(age), COMPANION) >= 0.5
    assert decay.falls_below_at(one, 0.5, COMPANION) is None
    assert not decay.has_faded(one, NOW + days(age), COMPANION)


@given(high, ages)
def test_a_refused_promotion_leads_to_the_ordinary_course(importance: float, late: float) -> None:
    """Kept instead, it loses nothing at that moment, fades like any other, and is reviewed once."""
    then = NOW + days(late)
    one = memory(importance=importance)
    kept = decay.scheduled(decay.kept(one, then, COMPANION), COMPANION)
    assert decay.effective(kept, then, COMPANION) >= decay.effective(one, then, COMPANION)
    assert not decay.awaits_reviewer(kept, COMPANION)
    assert kept.due_at is not None
    assert kept.due_at > then
    again = decay.effective(kept, kept.due_at + timedelta(hours=1), COMPANION)
    assert kept.due_for is Due.PROMOTION or again < 0.5


def test_an_important_fact_used_before_the_first_review_counts_as_told() -> None:
    """Used after two months without a review, it is worth 0.3 more than when it was told."""
    one = decay.boosted(memory(importance=1.5), NOW + days(60), COMPANION)
    assert one.importance == pytest.approx(1.8)
    assert decay.awaits_reviewer(one, COMPANION)


@pytest.mark.parametrize(
    "one",
    [
        memory(importance=1.5, expires_at=NOW + days(30)),
        memory(importance=1.5, category=Category.EPISODE),
        memory(importance=1.5, asked_at=NOW, asked_value=1.5),
        memory(policy=STUDIO, importance=1.5),
    ],
)
def test_what_nobody_will_be_asked_about_fades(one: Memory) -> None:
    """A plan, an episode and what was asked about have no floor; nor is there one in `studio`."""
    policy = STUDIO if one.due_for is Due.FORGET and one.category is Category.FACT else COMPANION
    assert not decay.awaits_reviewer(one, policy)
    assert one.due_for is not Due.PROMOTION
    assert decay.effective(one, NOW + days(400), policy) < 0.1


def test_after_keep_a_promotion_is_not_asked_again_soon() -> None:
    """KEEP rests the question for 30 days, or until the value has risen by 0.6."""
    kept = decay.scheduled(decay.kept(memory(importance=2.5), NOW, COMPANION), COMPANION)
    assert kept.due_for is Due.REVIEW  # by day 30 it will have fallen below 2.5
    used = {"importance": 2.8, "asked_value": 2.1, "anchor_at": NOW + days(1)}
    raised = decay.scheduled(kept.model_copy(update=used), COMPANION)
    assert (raised.due_for, raised.due_at) == (Due.PROMOTION, NOW + days(1))


def test_a_question_answered_late_is_not_due_again_at_once() -> None:
    """A memory that has faded since it became due is kept, and rests, as it was not used since."""
    late = NOW + days(20)
    kept = decay.scheduled(decay.kept(memory(importance=2.9), late, COMPANION), COMPANION)
    assert kept.asked_value is not None
    assert kept.asked_value < 2.3
    assert kept.due_at is not None
    assert kept.due_at > late


def test_keep_answers_every_question_that_was_due() -> None:
    """Asked about promotion when it has long faded, a kept memory is not due for review at once."""
    late = NOW + days(90)
    kept = decay.scheduled(decay.kept(memory(importance=2.6), late, COMPANION), COMPANION)
    assert (kept.importance, kept.grace_days, kept.due_for) == (0.5, 28.0, Due.REVIEW)
    assert kept.due_at is not None
    assert kept.due_at > late


def test_what_survives_review_is_asked_about_less_and_less() -> None:
    """KEEP in a decay review sets 0.5, and the grace grows: 7, 28, 112 … at most a year."""
    one, then, graces = memory(importance=0.5), NOW, []
    for _ in range(6):
        then = then + days(one.grace_days + 1)
        one = decay.scheduled(decay.kept(one, then, COMPANION), COMPANION)
        graces.append(one.grace_days)
        assert one.importance == pytest.approx(0.5)
        assert one.due_at == then + days(one.grace_days)
    assert graces == [28, 112, 365, 365, 365, 365]


def test_promotion_makes_a_core_memory_that_lasts() -> None:
    """PROMOTE sets core and 3.0; ten years later the value is the same and nothing is due."""
    core = decay.scheduled(decay.promoted(memory(importance=2.6), NOW, COMPANION), COMPANION)
    assert (core.category, core.importance, core.due_at) == (Category.CORE, 3.0, None)
    assert decay.effective(core, NOW + days(3650), COMPANION) == 3.0


def test_an_episode_is_gone_at_two_weeks() -> None:
    """An episode is due to go 14 days after it was made, whatever its value."""
    episode = memory(category=Category.EPISODE, importance=1.0)
    assert (episode.due_at, episode.due_for) == (NOW + days(14), Due.FORGET)


def test_everbot_archives_before_it_forgets() -> None:
    """In `everbot` a memory is due for the archive where it falls below 0.2."""
    one = memory(policy=EVERBOT, importance=0.4)
    assert one.due_for is Due.ARCHIVE
    assert one.due_at is not None
    assert decay.effective(one, one.due_at, EVERBOT) == pytest.approx(0.2)


def test_a_plan_is_due_when_it_expires() -> None:
    """What comes first is due first."""
    assert memory(expires_at=NOW + days(2)).due_for is Due.EXPIRE


def test_nothing_is_due_for_what_is_gone() -> None:
    """A forgotten memory waits for nothing."""
    assert memory(state=MemoryState.FORGOTTEN).due_at is None


def test_the_kind_sets_the_start_in_studio() -> None:
    """`studio` starts by kind, the others by the judge's label."""
    assert decay.initial_importance(Kind.LESSON, Importance.LOW, STUDIO) == 0.85
    assert decay.initial_importance(Kind.LESSON, Importance.LOW, COMPANION) == 0.7


def test_times_beyond_the_calendar_are_its_end() -> None:
    """A crossing thousands of years away is no error."""
    slow = COMPANION.model_copy(
        update={"rules": {"fact": COMPANION.rule("fact").model_copy(update={"rate": 1 - 1e-9})}}
    )
    far: Memory = memory(policy=slow, importance=1.4)
    assert far.due_at is not None
    assert far.due_at.year == 9999
