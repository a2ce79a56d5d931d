"""`souffleur retry`: turns that could not be judged are judged again."""

import asyncio
from typing import TYPE_CHECKING

import typer

from souffleur.cli.event_loop import find_owner, inspect, run_async
from souffleur.cli.options import AnyUser

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory

_LOOK_SECONDS = 1.0
"""Seconds between two looks at how far the judging is."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(retry)


def retry(user: AnyUser = None) -> None:
    """Judge the turns that failed again, and those that wait; needs the model's endpoint."""
    from souffleur.report.report import count

    tried, left, error = run_async(_retry(user))
    why = f" ({error})" if error else ""
    typer.echo(f"{tried - left} of {count(tried, 'turn')} judged, {left} not{why}")
    raise typer.Exit(1 if left else 0)


async def _retry(user: str | None) -> tuple[int, int, str]:
    """Return how many turns were tried, how many are left, and why."""
    from souffleur.api import Souffleur
    from souffleur.errors import SettingsError
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            if (await owner.health()).endpoint == "none":
                raise SettingsError(
                    "no model is configured for the process that serves the store: start it with "
                    "SOUFFLEUR_BASE_URL or SOUFFLEUR_API_KEY"
                )
            return await _judge_again(owner, user)
    async with Souffleur.open(need_model(load_settings())) as memory:
        return await _judge_again(memory, user)


async def _judge_again(memory: "Memory", user: str | None) -> tuple[int, int, str]:
    from souffleur.knowledge.turn import TurnState

    inspection = inspect(memory)
    waiting = len(await inspection.turns(state=TurnState.PENDING, user_id=user))
    tried = waiting + await memory.retry(user_id=user)
    await _work_off(memory)
    states = (TurnState.FAILED, TurnState.PENDING)
    left = sum([len(await inspection.turns(state=state, user_id=user)) for state in states])
    return tried, left, await inspection.error()


async def _work_off(memory: "Memory") -> None:
    """Wait until everything due is judged and summarised, and show how far it is."""
    from souffleur.cli.console import progress

    total = (await memory.health()).waiting
    working = asyncio.create_task(memory.flush())
    try:
        with progress("judging") as show:
            while not working.done():
                await asyncio.wait([working], timeout=_LOOK_SECONDS)
                show(total - (await memory.health()).waiting, total)
        await working
    finally:
        working.cancel()
