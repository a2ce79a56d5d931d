"""A store on a Qdrant server that dies, comes back, or is slow."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.errors import StoreError
from souffleur.knowledge.turn import TurnState
from souffleur.settings import Settings
from tests.build import NOW
from tests.line import Line
from tests.place import SERVER, where
from tests.scripted import Scripted, add, answer

pytestmark = pytest.mark.skipif(SERVER is None, reason="SOUFFLEUR_TEST_QDRANT_URL names no server")

STEPS, EVERY = 46, 5
"""Requests of a turn at which the line is cut: from the first to about the last."""
DRINKS = ("tea", "milk", "juice")


def over(line: Line, folder: Path) -> Settings:
    """Settings of a store that is reached over a line."""
    there: dict[str, Any] = {**where(folder), "qdrant_url": line.url}
    return Settings(**there, embedder="hash:64", retry_pause=0.0, user_title="Ann")


def likes(request: Any) -> Any:
    """The judge keeps each drink that is liked in what is judged, and is not known yet."""
    said = request.messages[-1].content
    new = [one for one in DRINKS if f"I like {one}" in said and f"Ann likes {one}" not in said]
    return answer(*(add(f"Ann likes {one}.", f"I like {one}") for one in new))


@pytest.fixture
def line() -> Any:
    assert SERVER
    with Line(SERVER) as made:
        yield made


async def test_what_is_said_while_the_server_is_away_is_kept(line: Line, tmp_path: Path) -> None:
    """It is on this machine's disk, and replies tell why; once the server is back, all is judged.

    Each turn is judged once.
    """
    async with Souffleur.open(
        over(line, tmp_path), chat=Scripted(likes), clock=lambda: NOW
    ) as memory:
        memory.observe(user_id="ann", user="I like tea", assistant="ok")
        await memory.flush()
        line.cut()
        for drink in DRINKS[1:]:
            assert memory.observe(user_id="ann", user=f"I like {drink}", assistant="ok").durable
        assert line.url in (await memory.recall(user_id="ann", text="tea?")).error
        line.mend()
        assert await memory.flush()
        turns = await memory.knowledge.journal.turns()
        assert [(turn.user, turn.state) for turn in turns] == [
            (f"I like {drink}", TurnState.JUDGED) for drink in DRINKS
        ]
        kept = sorted(one.content for one in await memory.knowledge.list("ann"))
        assert kept == sorted(f"Ann likes {drink}." for drink in DRINKS)
        assert "tea" in (await memory.recall(user_id="ann", text="tea?")).text


@pytest.mark.parametrize("lost_answer", [False, True])
async def test_the_server_may_go_at_any_request(
    line: Line, tmp_path: Path, lost_answer: bool
) -> None:
    """Wherever it goes, also after it has written, each turn is judged once when it is back."""
    line.lost_answer = lost_answer
    settings = over(line, tmp_path)
    async with Souffleur.open(settings, chat=Scripted(likes), clock=lambda: NOW) as memory:
        for step in range(1, STEPS, EVERY):
            user, where_cut = f"u{step}", step
            line.requests, line.cut_at = 0, where_cut
            memory.observe(user_id=user, user="I like tea", assistant="ok", turn_id="1")
            with suppress(StoreError):
                await memory.flush()
            line.mend()
            assert await memory.flush()
            (turn,) = await memory.knowledge.journal.turns(user_id=user)
            assert turn.state is TurnState.JUDGED, step
            (kept,) = await memory.knowledge.list(user)
            (entry,) = await memory.knowledge.journal.entries(user)
            assert entry.memory_ids == (kept.id,), step


async def test_a_slow_server_delays_and_loses_nothing(line: Line, tmp_path: Path) -> None:
    """With a fifth of a second for each request, all is judged and found."""
    async with Souffleur.open(
        over(line, tmp_path), chat=Scripted(likes), clock=lambda: NOW
    ) as memory:
        line.delay = 0.2
        assert memory.observe(user_id="ann", user="I like tea", assistant="ok").durable
        assert await memory.flush()
        assert "tea" in (await memory.recall(user_id="ann", text="tea?")).text
