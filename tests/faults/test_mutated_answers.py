"""Whatever an endpoint or a model sends for an answer: nothing unfounded is kept, nothing lost."""

from datetime import datetime
from pathlib import Path

import pytest

from souffleur.knowledge.turn import TurnState
from tests.build import NOW, days
from tests.faults.campaign import Campaign, running
from tests.faults.monitor_campaign import MonitorCampaign
from tests.faults.mutations import (
    OF_EPISODES,
    OF_PORTRAITS,
    OF_REVIEWS,
    OF_THE_MONITOR,
    Family,
)
from tests.faults.narrator_campaigns import EpisodeCampaign, PortraitCampaign
from tests.faults.reviewer_campaign import ReviewerCampaign

CAMPAIGNS: dict[type[Campaign], tuple[dict[str, Family], datetime, int]] = {
    MonitorCampaign: (OF_THE_MONITOR, NOW, 30),
    EpisodeCampaign: (OF_EPISODES, NOW, 5),
    PortraitCampaign: (OF_PORTRAITS, NOW, 5),
    ReviewerCampaign: (OF_REVIEWS, NOW + days(60), 2),
}
"""Of each: its families, when it begins, and the attempts of each family in a long campaign."""
A_STORE = 15
"""Attempts in one store: it grows, and all of it is read after each."""
EVERY = 48
"""Of the families one in so many is tried in a short campaign, and those that are sharpest."""
SHARPEST = (
    "fields: with a quote not said",
    "fields: with a quote of the assistant",
    "fields: with a long content",
    "fields: with a blank content",
    "fields: with a secret in its content",
    "fields: with a secret in its reason",
    "fields: with a secret refused for more",
    "ops: touching the protected",
    "ops: deleting all",
    "values: secret words",
    "values: values many times",
    "bodies: repeating what it was asked",
    "episodes: of nothing",
    "episodes: with a long line",
    "portraits: far too long",
    "portraits: excusing anything",
    "portraits: losing details",
    "portraits: secrets beside it",
    "reviews: searching for others",
    "reviews: arguing with secrets",
    "reviews: arguing at length",
)


@pytest.mark.parametrize("kind", CAMPAIGNS, ids=lambda kind: kind.__name__)
async def test_an_answer_of_some_families(tmp_path: Path, kind: type[Campaign]) -> None:
    """After each, all invariants hold."""
    families, at, _ = CAMPAIGNS[kind]
    chosen = {*list(families)[::EVERY], *(name for name in SHARPEST if name in families)}
    seeds = {name: 1 + (name in SHARPEST) for name in chosen}
    attempts = [(name, families[name], at) for name in seeds for at in range(seeds[name])]
    await _attempt_all(kind, tmp_path, at, attempts)


async def test_turns_are_judged_set_aside_or_wait(tmp_path: Path) -> None:
    """What becomes of a turn depends on what its answer is like."""
    names = ["ops: no ops", "wording: prose", "bodies: broken down"]
    async with running(MonitorCampaign, tmp_path) as campaign:
        for name in names:
            for seed in range(3):
                await campaign.attempt(OF_THE_MONITOR[name], name, seed)
        assert set(campaign.states) == set(TurnState)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, (families, *_) in CAMPAIGNS.items() for name in families],
)
async def test_many_answers_of_a_family(tmp_path: Path, kind: type[Campaign], name: str) -> None:
    """After each, all invariants hold."""
    families, at, each = CAMPAIGNS[kind]
    for first in range(1, each + 1, A_STORE):
        seeds = range(first, min(first + A_STORE, each + 1))
        attempts = [(name, families[name], seed) for seed in seeds]
        await _attempt_all(kind, tmp_path / str(first), at, attempts)


async def _attempt_all(
    kind: type[Campaign], folder: Path, at: datetime, attempts: list[tuple[str, Family, int]]
) -> None:
    async with running(kind, folder, at) as campaign:
        for name, family, seed in attempts:
            try:
                await campaign.attempt(family, name, seed)
            except AssertionError as error:
                told = f"after an answer of the family {name!r}, with the seed {seed}: {error}"
                raise AssertionError(told) from error
        assert campaign.answers >= len(attempts)
