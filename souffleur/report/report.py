"""The report of a store: whether it is healthy, and its quality as plain data."""

import math
import shlex
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from souffleur.knowledge.memory import Due
from souffleur.knowledge.store.runs.run_log import RunRecord
from souffleur.knowledge.turn import TurnState
from souffleur.report.phrases import count, duration
from souffleur.report.quality import Quality

MAX_ROWS = 50
"""Maximum rows shown per list; the rest is only counted."""
LONG_WAIT = timedelta(hours=1)
HOPELESS_WAIT = timedelta(days=7)
"""Waiting time after which it seems that no judge runs."""

_REVIEWED = (Due.PROMOTION, Due.REVIEW)
"""Reasons of due memories that `souffleur run review` handles; `decay` handles the others."""


class Status(StrEnum):
    """The condition of a store, or of a part of it."""

    OK = "ok"
    WARNING = "warning"
    """Something needs attention; no memory is lost meanwhile."""
    BROKEN = "broken"
    """Turns are not remembered until somebody acts."""


Finding = tuple[Status, str]
"""A severity, and a sentence with advice."""


def health(quality: Quality, others: Iterable[Finding] = ()) -> tuple[Status, list[str]]:
    """Return the condition of the store, and a sentence for each finding, the worst first.

    `others` are findings about parts outside the store, like an endpoint.
    """
    since = quality.waiting_since
    waited = quality.at - since if since else timedelta()
    broken = [*_unreadable(quality), *_set_aside(quality)]
    warnings = [*_failing(quality), *_failed_runs(quality), *_late(quality), *_wrong(quality)]
    if waited > LONG_WAIT:
        wait = count(quality.waiting, "turn or segment waits", "turns and segments wait")
        finding = (
            f"{wait}, the oldest for {duration(waited)}: check that a model is "
            "configured and that the host runs, or have all of it judged with `souffleur retry`."
        )
        (broken if waited > HOPELESS_WAIT else warnings).append(finding)
    for status, sentence in others:
        (broken if status is Status.BROKEN else warnings).append(sentence)
    state = Status.BROKEN if broken else Status.WARNING if warnings else Status.OK
    return state, [*broken, *warnings]


def to_json(quality: Quality) -> dict[str, Any]:
    """Return plain data; of each list, the count and the first `MAX_ROWS` rows."""
    state, findings = health(quality)
    data = {one.name: _plain(getattr(quality, one.name)) for one in fields(quality)}
    data["runs"] = [run.model_dump(mode="json") for run in quality.runs]
    return {"health": {"state": str(state), "findings": findings}, **data}


def outcome(run: RunRecord) -> str:
    """Return the result of a run on one line: counts by op, an error, the reason why it stopped."""
    ranked = sorted(run.counts.items(), key=lambda item: (-item[1], item[0]))
    done = " · ".join(f"{number:,} {op}" for op, number in ranked if number)
    if "health" in run.data:
        done = f"health: {run.data['health']}"
    parts = [done or ("nothing was done" if run.due else "nothing was due")]
    parts += [f"failed: {run.errors[0]}"] if run.errors else []
    parts += [f"stopped: {run.stopped}"] if run.stopped else []
    return "; ".join(parts)


def spent(*runs: RunRecord) -> str:
    """Return the total cost of runs.

    >>> spent()
    'nothing'
    """
    calls, tokens = sum(run.calls for run in runs), sum(run.tokens for run in runs)
    cost = math.fsum(run.cost for run in runs)
    if not (calls or tokens or cost):
        return "nothing"
    return f"{count(calls, 'call')}, {count(tokens, 'token')}, ${cost:.4f}"


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(part) for key, part in asdict(value).items()}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        if value and isinstance(value[0], int):
            return list(value)
        return {"count": len(value), "first": [_plain(one) for one in value[:MAX_ROWS]]}
    return value


def _unreadable(quality: Quality) -> Iterable[str]:
    if number := sum(one.what == "record" for one in quality.failures):
        yield (
            f"{count(number, 'record of the store', 'records of the store')} cannot be read: "
            "take them out into a file with `souffleur store repair`, which restores what they had "
            "replaced."
        )


def _set_aside(quality: Quality) -> Iterable[str]:
    if failed := quality.turns.get(TurnState.FAILED, 0):
        yield (
            f"{count(failed, 'turn was', 'turns were')} set aside, since no try to judge them "
            "succeeded: see why with `souffleur list --failed`, correct that, and run "
            "`souffleur retry`."
        )


def _failing(quality: Quality) -> Iterable[str]:
    failing = [one for one in quality.failures if one.what in ("segment", "portrait")]
    if failing:
        error = " ".join(failing[0].error.split())[:160]
        yield (
            f"{count(len(failing), 'episode or portrait', 'episodes or portraits')} could not be "
            f"written yet and will be tried again ({error}): correct that, or wait."
        )


def _failed_runs(quality: Quality) -> Iterable[str]:
    for one in quality.failures:
        if one.what == "run":
            error = " ".join(one.error.split())[:160]
            yield (
                f"The latest run did not do all ({error}): correct that; what failed stays due, "
                "and the next run tries it again."
            )


def _late(quality: Quality) -> Iterable[str]:
    runs: dict[str, int] = {}
    for what, number in quality.late.items():
        run = "review" if what in _REVIEWED else "decay"
        runs[run] = runs.get(run, 0) + number
    for run, number in sorted(runs.items()):
        yield (
            f"{count(number, 'memory has', 'memories have')} been due for more than a day: run "
            f"`souffleur run {run}`, by cron if need be."
        )


def _wrong(quality: Quality) -> Iterable[str]:
    if number := len(quality.duplicates):
        newer = quality.duplicates[0].second
        example = f"souffleur forget {newer.id} --user {shlex.quote(newer.user_id)}"
        yield (
            f"{count(number, 'memory says', 'memories say')} word for word what another one says: "
            f"forget one of each pair, such as with `{example}`."
        )
