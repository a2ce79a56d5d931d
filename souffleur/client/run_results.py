"""Results of runs, as the server tells them."""

from collections.abc import Mapping
from typing import Any

from souffleur.client.errors import named_error
from souffleur.server.schemas import RunAnswer
from souffleur.service.run import RunOptions, RunResult


def to_result(answer: RunAnswer, given: Mapping[str, Any]) -> RunResult:
    """Return the result of a run, with the options that were given."""
    kind, _, message = answer.error.partition(": ")
    return RunResult(
        name=answer.name,
        options=given["options"] or RunOptions(answer.now),
        due=answer.due,
        items=list(answer.items),
        calls=answer.calls,
        tokens=answer.tokens,
        cost=answer.cost,
        stopped=answer.stopped,
        outages=answer.outages,
        error=named_error(kind, message) if kind else None,
        data=answer.data,
    )
