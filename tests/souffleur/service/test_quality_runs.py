"""The runs in the report of a store: which are told, which failures count, and how they look."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from souffleur.cli.report import print_report
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.store.runs import run_log
from souffleur.knowledge.store.runs.run_log import RunRecord
from souffleur.report.page import to_html
from souffleur.report.quality import RUNS_SHOWN, Failure, failed_runs, measure
from souffleur.report.report import Status, health, outcome, to_json
from tests.build import NOW, days

ZONE = ZoneInfo("Asia/Shanghai")


def ran(name: str, of_user: str | None = None, *, failed: int = 0, **fields: Any) -> RunRecord:
    """A run a day ago that took 75 seconds; of ten that were due, so many failed."""
    began = fields.pop("began", NOW - days(1))
    counts = {"KEEP": 10 - failed, "FAILED": failed}
    errors = ("TimeoutError: [no] <answer>",) if failed else ()
    base: dict[str, Any] = {"ended": began + timedelta(seconds=75), "due": 10, "errors": errors}
    fields = {**base, "counts": counts, **fields}
    return RunRecord(name=name, began=began, of_user=of_user, **fields)


async def test_the_latest_runs_are_told(base: KnowledgeBase) -> None:
    """Newest first, and of many only the latest; they do not count as users or turns."""
    for hour in range(RUNS_SHOWN + 3):
        await run_log.keep(base.journal, ran(f"run {hour}", began=NOW - timedelta(hours=hour)))
    found = await measure(base, NOW)
    assert [one.name for one in found.runs] == [f"run {hour}" for hour in range(RUNS_SHOWN)]
    assert (found.users, found.turns, found.failures) == (0, {}, ())


async def test_of_one_user_only_that_users_runs_are_told(base: KnowledgeBase) -> None:
    """What a run over everybody, or over another, did and failed at is not told."""
    for run in (ran("review", failed=1), ran("decay", "ann"), ran("decay", "bob", failed=2)):
        await run_log.keep(base.journal, run)
    found = await measure(base, NOW, user_id="ann")
    assert [(one.name, one.of_user) for one in found.runs] == [("decay", "ann")]
    assert found.failures == ()
    assert len((await measure(base, NOW)).failures) == 2


GOOD, BAD = 0, 3


@pytest.mark.parametrize(
    ("runs", "left"),
    [
        ([], []),
        ([("review", None, GOOD)], []),
        ([("review", None, BAD), ("review", None, BAD)], [0]),
        ([("review", None, GOOD), ("review", None, BAD)], []),
        ([("decay", None, GOOD), ("review", None, BAD)], [1]),
        ([("review", None, GOOD), ("review", "ann", BAD)], []),
        ([("review", "ann", GOOD), ("review", None, BAD)], [1]),
        ([("review", "ann", GOOD), ("review", "bob", BAD), ("review", "ann", BAD)], [1]),
    ],
)
def test_what_a_later_run_tried_again_is_no_failure(
    runs: list[tuple[str, str | None, int]], left: list[int]
) -> None:
    """Of runs, newest first, those count that no later one over the same memories made good."""
    records = [
        ran(name, user, failed=failed, began=NOW - days(place))
        for place, (name, user, failed) in enumerate(runs)
    ]
    found = list(failed_runs(records))
    assert [one.id for one in found] == [records[place].id for place in left]
    assert all((one.what, one.many) == ("run", BAD) for one in found)


async def test_a_failed_run_is_seen_everywhere(
    base: KnowledgeBase, capsys: pytest.CaptureFixture[str]
) -> None:
    """In health with what to do, in the terminal, in the JSON, and on the page, as text."""
    cost: dict[str, Any] = {"calls": 12, "tokens": 3400, "cost": 0.01}
    await run_log.keep(base.journal, ran("review", failed=3, **cost))
    found = await measure(base, NOW)
    error = "review: 3 of 10 failed: TimeoutError: [no] <answer>"
    began = NOW - days(1)
    assert found.failures == (Failure("run", found.runs[0].id, "", began, 1, error, 3),)
    state, (finding,) = health(found)
    assert state is Status.WARNING
    assert error in finding
    assert "the next run tries it again" in finding
    told = to_json(found)
    assert told["runs"][0]["counts"] == {"KEEP": 7, "FAILED": 3}
    assert told["failures"]["first"][0]["many"] == 3
    page = to_html(found, title="t", zone=ZONE)
    print_report(found, ZoneInfo("Asia/Shanghai"))
    shown = " ".join(capsys.readouterr().out.split())
    cost_told = "12 calls, 3,400 tokens, $0.0100"
    for words in ("2026-01-02 18:00", "1 min 15 s", "7 KEEP · 3 FAILED", cost_told):
        assert words in page
        assert words in shown
    assert "&lt;answer&gt;" in page
    assert (shown.count("[no] <answer>"), shown.count(cost_told)) == (3, 2)


async def test_costs_of_runs_are_added_up(base: KnowledgeBase) -> None:
    """Under the heading stands what the runs that are named have cost together."""
    for name in ("review", "portrait"):
        await run_log.keep(base.journal, ran(name, calls=2, tokens=100, cost=0.1))
    found = await measure(base, NOW)
    assert "4 calls, 200 tokens, $0.2000 together" in to_html(found, title="t", zone=ZONE)
    none = to_html(replace(found, runs=()), title="t", zone=ZONE)
    assert "Latest runs: 0" in none
    assert "together" not in none


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"counts": {}, "due": 0}, "nothing was due"),
        ({"counts": {}, "due": 0, "data": {"health": "warning"}}, "health: warning"),
        ({"counts": {}, "stopped": "it may make 0 calls"}, "nothing was done; stopped: it may"),
        ({"counts": {"KEEP": 1, "DELETE": 1, "WAITS": 1200}}, "1,200 WAITS · 1 DELETE · 1 KEEP"),
    ],
)
def test_what_came_of_a_run_is_one_line(fields: dict[str, Any], told: str) -> None:
    """The most frequent first, then why it ended early."""
    assert outcome(ran("decay", **fields)).startswith(told)
