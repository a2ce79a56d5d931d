"""The three policies against tables worked by hand from the formulas they are taken from.

Not one number below comes from the code: each is a logarithm or a power on a pocket calculator,
to six digits, and its row says which. What `test_life.py` has of `companion` is not repeated.
"""

from collections import defaultdict
from pathlib import Path

import pytest

from souffleur.knowledge import decay
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Due, Kind, Memory
from souffleur.knowledge.operation import ActorKind, Add, Boost, Importance
from souffleur.knowledge.plan import PlanContext, plan
from souffleur.knowledge.policy import COMPANION, EVERBOT, STUDIO, Policy
from souffleur.service.rule_runs import run_decay
from souffleur.service.run import RunOptions
from tests.build import NOW, days, verdict
from tests.stores import empty_base

LOW, MEDIUM, HIGH = Importance.LOW, Importance.MEDIUM, Importance.HIGH
DAYS = (0, 7, 8, 30, 70, 100)
"""The columns of the tables of values."""

Fall = tuple[int, str]
"""A day on which something happens for the first time, and what."""


def told(
    content: str = "Ann likes tea.", kind: Kind = Kind.FACT, label: Importance = MEDIUM
) -> Add:
    """What is to be remembered, and how much it matters."""
    category = Category.EPISODE if kind is Kind.MOMENT else None
    return Add(
        reason="r", quote="", content=content, kind=kind, category=category, importance=label
    )


def born(policy: Policy, kind: Kind = Kind.FACT, label: Importance = MEDIUM) -> Memory:
    """A memory as it is when it is new: the policy alone says what it starts with."""
    add = told(kind=kind, label=label)
    (change,) = plan(add, (), PlanContext(verdict(add, who=ActorKind.HOST), 0, policy))
    return change.after


def used(memory: Memory, policy: Policy, *at: int) -> Memory:
    """The memory after it shaped replies on these days."""
    for day in at:
        memory = decay.boosted(memory, NOW + days(day), policy)
    return memory


def worth(memory: Memory, policy: Policy, day: float) -> float:
    return decay.effective(memory, NOW + days(day), policy)


@pytest.mark.parametrize(
    ("policy", "kind", "label", "values"),
    [
        # 0.95^(d - 7): 0.95^1, 0.95^23 = e^-1.179747, 0.95^63 = e^-3.231480, 0.95^93 = e^-4.770281
        (COMPANION, Kind.FACT, MEDIUM, (1.0, 1.0, 0.95, 0.307357, 0.039499, 0.008478)),
        # 0.7 x the row above
        (COMPANION, Kind.FACT, LOW, (0.7, 0.7, 0.665, 0.215150, 0.027649, 0.005935)),
        # 1.5 x; 1.5 x 0.307357 = 0.461035 and what follows are below 0.5: nobody was asked yet
        (COMPANION, Kind.GOAL, HIGH, (1.5, 1.5, 1.425, 0.5, 0.5, 0.5)),
        # 0.99^(d - 30): 0.99^40 = e^-0.402013 = 0.668972, 0.99^70 = e^-0.703524 = 0.494839
        (COMPANION, Kind.SKILL, MEDIUM, (1.0, 1.0, 1.0, 1.0, 0.668972, 0.494839)),
        # 1.5 x
        (COMPANION, Kind.LESSON, HIGH, (1.5, 1.5, 1.5, 1.5, 1.003458, 0.742258)),
        # 0.9 x e^(-d / 100): e^-0.07 = 0.932394, e^-0.08 = 0.923116, e^-0.3 = 0.740818,
        # e^-0.7 = 0.496585, e^-1 = 0.367879; the kind says 0.9, whatever the label
        (STUDIO, Kind.PREFERENCE, LOW, (0.9, 0.839154, 0.830805, 0.666736, 0.446927, 0.331091)),
        # 0.8 x, 0.85 x, 0.7 x, 0.4 x the same powers
        (STUDIO, Kind.FACT, LOW, (0.8, 0.745915, 0.738493, 0.592655, 0.397268, 0.294304)),
        (STUDIO, Kind.LESSON, LOW, (0.85, 0.792535, 0.784649, 0.629695, 0.422098, 0.312698)),
        (STUDIO, Kind.GOAL, HIGH, (0.7, 0.652676, 0.646181, 0.518573, 0.347610, 0.257516)),
        (STUDIO, Kind.CONTEXT, HIGH, (0.4, 0.372958, 0.369247, 0.296327, 0.198634, 0.147152)),
        # 0.99^(d - 7): 0.99^23 = e^-0.231158 = 0.793614, 0.99^63 = e^-0.633171 = 0.530906,
        # 0.99^93 = e^-0.934681 = 0.392711; x 0.4, x 0.6, x 0.8, whatever the kind
        (EVERBOT, Kind.FACT, LOW, (0.4, 0.4, 0.396, 0.317446, 0.212362, 0.157084)),
        (EVERBOT, Kind.WORKFLOW, MEDIUM, (0.6, 0.6, 0.594, 0.476169, 0.318543, 0.235627)),
        (EVERBOT, Kind.PREFERENCE, HIGH, (0.8, 0.8, 0.792, 0.634891, 0.424724, 0.314169)),
    ],
)
def test_an_unused_memory_fades_as_the_table_says(
    policy: Policy, kind: Kind, label: Importance, values: tuple[float, ...]
) -> None:
    """New, at the end of the first week, a day later, and after 30, 70 and 100 days."""
    one = born(policy, kind, label)
    assert [worth(one, policy, day) for day in DAYS] == pytest.approx(values, abs=6e-7)


@pytest.mark.parametrize(
    ("day", "value"),
    # 0.8^1, 0.8^3, 0.8^6
    [(7, 1.0), (8, 0.8), (10, 0.512), (13, 0.262144)],
)
def test_an_episode_fades_within_its_second_week(day: int, value: float) -> None:
    """In `companion` by a fifth a day, from the eighth day on."""
    assert worth(born(COMPANION, Kind.MOMENT), COMPANION, day) == pytest.approx(value)


@pytest.mark.parametrize(
    ("policy", "kind", "label", "at", "day", "value"),
    [
        # 0.307357 + 0.3 on day 30; a week of rest; then 0.607357 x 0.95
        (COMPANION, Kind.FACT, MEDIUM, (30,), 30, 0.607357),
        (COMPANION, Kind.FACT, MEDIUM, (30,), 37, 0.607357),
        (COMPANION, Kind.FACT, MEDIUM, (30,), 38, 0.576989),
        # 0.7 + 0.3 + 0.3 + 0.3 within the grace: nothing is lost between
        (COMPANION, Kind.FACT, LOW, (1, 2, 3), 3, 1.6),
        # 0.668972 + 0.3 on day 70; a skill rests for 30 days; 0.968972 x 0.99
        (COMPANION, Kind.SKILL, MEDIUM, (70,), 100, 0.968972),
        (COMPANION, Kind.SKILL, MEDIUM, (70,), 101, 0.959282),
        # 0.8 x (1 + ln 2) = 0.8 x 1.693147, and the days count from the use: x e^-0.7 = 0.496585
        (STUDIO, Kind.FACT, LOW, (30,), 30, 1.354518),
        (STUDIO, Kind.FACT, LOW, (30,), 100, 0.672634),
        # 0.4 x (1 + ln 4) = 0.4 x 2.386294, x e^-0.08 = 0.923116
        (STUDIO, Kind.CONTEXT, LOW, (0, 0, 0), 0, 0.954518),
        (STUDIO, Kind.CONTEXT, LOW, (0, 0, 0), 8, 0.881131),
        # 0.9 x (1 + ln 10) = 0.9 x 3.302585
        (STUDIO, Kind.PREFERENCE, LOW, (0,) * 9, 0, 2.972327),
        # 0.212362 + 0.787638 x 0.2 on day 70; a week of rest; then x 0.99
        (EVERBOT, Kind.FACT, LOW, (70,), 70, 0.369890),
        (EVERBOT, Kind.FACT, LOW, (70,), 77, 0.369890),
        (EVERBOT, Kind.FACT, LOW, (70,), 78, 0.366191),
        # 1 - 0.4 x 0.8^6 = 1 - 0.4 x 0.262144: each use gives less, and none reaches 1
        (EVERBOT, Kind.FACT, MEDIUM, (0,) * 6, 0, 0.895142),
        # 1 - 0.2 x 0.8^3
        (EVERBOT, Kind.FACT, HIGH, (1, 2, 3), 3, 0.8976),
    ],
)
def test_use_reinforces_as_the_table_says(
    policy: Policy, kind: Kind, label: Importance, at: tuple[int, ...], day: int, value: float
) -> None:
    """What has faded stays lost, use adds to what is left, and the fading begins anew."""
    one = used(born(policy, kind, label), policy, *at)
    assert worth(one, policy, day) == pytest.approx(value, abs=1e-6)
    assert one.uses == len(at)


@pytest.mark.parametrize("policy", [COMPANION, STUDIO, EVERBOT], ids=lambda policy: policy.name)
def test_a_core_memory_is_worth_the_same_in_ten_years(policy: Policy) -> None:
    """What the reviewer promoted has 3.0 in `companion` and 1.0 where values end at 1."""
    one = decay.promoted(born(policy), NOW, policy)
    top = {"companion": 3.0, "studio": 1.0, "everbot": 1.0}[policy.name]
    assert worth(one, policy, 3650) == top
    assert decay.due(one, policy) is None


async def falls(base: KnowledgeBase, until: int) -> dict[str, list[Fall]]:
    """What a run at ten each morning does to whom, by content, where there is no reviewer."""
    found: dict[str, list[Fall]] = defaultdict(list)
    asked: set[str] = set()
    for day in range(1, until + 1):
        for one in await base.due(NOW + days(day), [Due.REVIEW], limit=99):
            if one.id not in asked:
                found[one.content].append((day, "REVIEW"))
            asked.add(one.id)
        report = await run_decay(base, RunOptions(NOW + days(day)), has_reviewer=False)
        for line in report.items:
            if line.op != "WAITS":
                found[line.memory.content].append((day, line.op))
    return dict(found)


async def lived(
    folder: Path, policy: Policy, adds: list[Add], until: int, boosts: tuple[int, ...] = ()
) -> dict[str, list[Fall]]:
    """What becomes, day by day, of memories in a store; those of `boosts` are used at once."""
    base = await empty_base(folder, policy, dimension=64)
    entries = await base.apply(verdict(*adds, who=ActorKind.HOST))
    for count, index in enumerate(boosts):
        boost = Boost(target=entries[index].memory_ids[0], reason="r")
        await base.apply(verdict(boost, who=ActorKind.HOST, name=count))
    found = await falls(base, until)
    await base.close()
    return found


async def test_companion_asks_and_forgets_on_the_day(tmp_path: Path) -> None:
    """Asked about below 0.5, and where nobody is asked gone below 0.3 (a skill: 0.2).

    What is high waits for a reviewer, however long.
    """
    adds = [told(f"{kind} {label}", kind, label) for kind in (Kind.FACT, Kind.SKILL) for label in
            (LOW, MEDIUM, HIGH)]  # fmt: skip
    adds.append(told("an evening", Kind.MOMENT))
    assert await lived(tmp_path, COMPANION, adds, until=235) == {
        # 7 + ln(0.5 / v) / ln 0.95, 7 + ln(0.3 / v) / ln 0.95 with ln 0.95 = -0.0512933:
        "fact low": [(14, "REVIEW"), (24, "FORGET")],  # 13.56, 23.52
        "fact medium": [(21, "REVIEW"), (31, "FORGET")],  # 20.51, 30.47
        # 30 + ln(0.5 / v) / ln 0.99, 30 + ln(0.2 / v) / ln 0.99 with ln 0.99 = -0.0100503:
        "skill low": [(64, "REVIEW"), (155, "FORGET")],  # 63.48, 154.65
        "skill medium": [(99, "REVIEW"), (191, "FORGET")],  # 98.97, 190.14
        "an evening": [(14, "ARCHIVE")],
    }


async def test_studio_forgets_on_the_day(tmp_path: Path) -> None:
    """Below 0.1, whoever might be asked; use pays in days, not only in rank."""
    kinds = (Kind.PREFERENCE, Kind.FACT, Kind.LESSON, Kind.GOAL, Kind.CONTEXT)
    adds = [*(told(kind, kind) for kind in kinds), told("used once"), told("thrice", Kind.CONTEXT)]
    assert await lived(tmp_path, STUDIO, adds, until=265, boosts=(5, 6, 6, 6)) == {
        # 100 x ln(v / 0.1):
        "preference": [(220, "FORGET")],  # ln 9 = 2.197225
        "fact": [(208, "FORGET")],  # ln 8 = 2.079442
        "lesson": [(215, "FORGET")],  # ln 8.5 = 2.140066
        "goal": [(195, "FORGET")],  # ln 7 = 1.945910
        "context": [(139, "FORGET")],  # ln 4 = 1.386294
        # 100 x ln(8 x (1 + ln 2)) = 100 x ln 13.545177, 100 x ln(4 x (1 + ln 4)) = ln 9.545177
        "used once": [(261, "FORGET")],  # 2.606031
        "thrice": [(226, "FORGET")],  # 2.256036
    }


EVERBOT_DAYS = {
    # 7 + ln(0.2 / v) / ln 0.99, 7 + ln(0.05 / v) / ln 0.99 with ln 0.99 = -0.0100503:
    "low": [(76, "ARCHIVE"), (214, "FORGET")],  # ln 2 = 0.693147: 75.97; ln 8: 213.90
    "medium": [(117, "ARCHIVE"), (255, "FORGET")],  # ln 3 = 1.098612: 116.31; ln 12: 254.25
    "high": [(145, "ARCHIVE"), (283, "FORGET")],  # ln 4 = 1.386294: 144.94; ln 16: 282.87
    # 0.68 after one use: ln 3.4 = 1.223775: 128.76; ln 13.6 = 2.610070: 266.70
    "used": [(129, "ARCHIVE"), (267, "FORGET")],
}


async def _everbot(folder: Path, until: int) -> dict[str, list[Fall]]:
    adds = [told(label, label=label) for label in (LOW, MEDIUM, HIGH)]
    return await lived(folder, EVERBOT, [*adds, told("used")], until, boosts=(3,))


async def test_everbot_archives_on_the_day(tmp_path: Path) -> None:
    """A memory is archived on the day on which its value falls below 0.2."""
    first = {content: falls[:1] for content, falls in EVERBOT_DAYS.items()}
    assert await _everbot(tmp_path, until=150) == first


async def test_everbot_forgets_what_it_archived_on_the_day(tmp_path: Path) -> None:
    """An archived memory is forgotten on the day on which its value falls below 0.05."""
    assert await _everbot(tmp_path, until=290) == EVERBOT_DAYS
