"""Routes on the store: health, runs and what waits."""

from datetime import UTC
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import PlainTextResponse

from souffleur.report.quality import Quality
from souffleur.server.access import Memory, UserId
from souffleur.server.problems import RequestError
from souffleur.server.schemas import (
    Alive,
    Answered,
    Counted,
    FlushBody,
    RetryBody,
    RunAnswer,
    RunBody,
)
from souffleur.service.health import Health
from souffleur.service.run import RunLimits, RunOptions, RunResult
from souffleur.times import moment

router = APIRouter(tags=["store"])
RunName = Annotated[str, Path(description="One of the runs of docs/decay.md.", examples=["decay"])]


@router.get("/health")
@router.head("/health", include_in_schema=False)
async def alive() -> Alive:
    """Say that the server answers; needs no token and tells of nobody."""
    return Alive()


@router.get("/api/health")
async def health(memory: Memory) -> Health:
    """Show whether turns are judged and stored; asks no endpoint."""
    return await memory.health()


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(memory: Memory) -> PlainTextResponse:
    """Show the metrics, as Prometheus reads them."""
    kept = memory.parts.metrics
    if kept is None:
        raise RequestError(404, "nothing is measured: set SOUFFLEUR_METRICS=true")
    await kept.refresh()
    return PlainTextResponse(kept.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/report")
async def report(memory: Memory, user_id: UserId = None) -> Quality:
    """Report on the store, or one user's part of it, in numbers: reads all of it."""
    return await memory.report(user_id=user_id)


@router.post("/api/runs/{name}")
async def run(memory: Memory, name: RunName, body: RunBody | None = None) -> RunAnswer:
    """Do what is due now of one kind; waits until it is done."""
    from souffleur.service.jobs import RUNS

    if name in RUNS and RUNS[name].asks and not memory.has_model:
        raise RequestError(503, "no model is configured: set SOUFFLEUR_BASE_URL of the server")
    asked = body or RunBody()
    limits = RunLimits(asked.memories, asked.calls, asked.deletions, asked.parallel)
    now = moment(asked.now, now=memory.clock(), zone=UTC)
    options = RunOptions(now, asked.of_user, limits, asked.dry_run)
    return _answer(await memory.run(name, options))


@router.post("/api/retry")
async def retry(memory: Memory, body: RetryBody | None = None) -> Counted:
    """Have turns that were set aside as failed judged again; return their number."""
    return Counted(await memory.retry(user_id=body.of_user if body else None))


@router.post("/api/flush")
async def flush(memory: Memory, body: FlushBody | None = None) -> Answered:
    """Wait until everything due is judged, summarised and on disk. Whether it is."""
    return Answered(await memory.flush(body.seconds if body else None))


def _answer(result: RunResult) -> RunAnswer:
    error = f"{type(result.error).__name__}: {result.error}" if result.error else ""
    return RunAnswer(
        name=result.name,
        now=result.options.now,
        due=result.due,
        items=result.items,
        calls=result.calls,
        tokens=result.tokens,
        cost=result.cost,
        stopped=result.stopped,
        outages=result.outages,
        error=error,
        data=result.data,
    )
