"""Clocks out of order: a machine that takes it for the year 1 or 9999 remembers all the same."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from souffleur.settings import Settings
from tests.place import where
from tests.scripted import Scripted, add, answer
from tests.stores import open_empty

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize("now", [FIRST, datetime(1899, 12, 31, tzinfo=UTC), LAST])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
async def test_a_clock_out_of_order_is_none(tmp_path: Path, now: datetime, zone: str) -> None:
    """What is said is judged, found and whispered, and runs end, whatever the clock shows."""
    chosen = Settings(**where(tmp_path), embedder="hash:64", timezone=zone)
    chat = Scripted([answer(add("Ann likes tea.", "I like tea"))])
    async with open_empty(chosen, chat=chat, clock=lambda: now) as memory:
        receipt = memory.observe(user_id="ann", user="Since last week I like tea.", assistant="ok")
        assert await memory.flush()
        recall = await memory.recall(user_id="ann", text="Some tea, as yesterday?")
        assert "Ann likes tea" in recall.text
        assert (receipt.error, recall.error, memory.error) == ("", "", "")
        await memory.ask("What did I say last year?", user_id="ann")
        await memory.run("decay")
        assert len(await memory.search("tea", user_id="ann")) == 1
