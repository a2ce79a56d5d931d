"""What a question about the past brings: raw turns, their neighbours, and what is over."""

from pathlib import Path
from typing import Any

from tests.build import days
from tests.scripted import by_name
from tests.stage import Stage, staged


async def asked(stage: Stage, text: str) -> str:
    """The block for a question in a new session."""
    ask: Any = {"user_id": "ann", "session_id": "z", "text": text}
    return (await stage.memory.recall(**ask)).text


async def test_words_stay_until_they_are_erased(tmp_path: Path) -> None:
    """A year later they are found; without `raw_days` no round of upkeep deletes them."""
    async with staged(tmp_path, by_name()) as stage:
        await stage.say("my first kite was red", "it flew over the barn")
        await stage.end()
        stage.clock.at += days(365)
        await stage.memory.flush()
        assert "kite was red" in await asked(stage, "what did I say about my first kite?")
