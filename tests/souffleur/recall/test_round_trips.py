"""How often a recall and a judge ask the store: counted, as the time depends on the machine."""

from pathlib import Path
from typing import Any

from souffleur.agents.model.chat import Reply, Request
from souffleur.knowledge.memory import Category, Kind
from souffleur.settings import Settings
from tests.build import NOW, days, keep
from tests.counted import Tripped
from tests.stores import open_empty

ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}


async def test_an_ordinary_recall_takes_three_round_trips(tmp_path: Path) -> None:
    """Once warm, a statement takes at most three, and one that was said before only two."""
    chosen = Settings(path=tmp_path, embedder="hash:64")
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        base = memory.knowledge
        for number in range(60):
            await keep(base, f"Ann likes tea number {number}.", entities=("Tofu", f"cup {number}"))
        await keep(base, "Never mention Ann's ex.", kind=Kind.BOUNDARY)
        await keep(base, "Ann is allergic to nuts.", category=Category.CORE)
        await keep(base, "They talked about tea.", category=Category.EPISODE)
        await keep(base, "Ann goes to Lyon.", kind=Kind.TODO, expires_at=NOW + days(9))
        memory.observe(**ME, user="My cat Tofu sleeps", assistant="Sweet.")
        base.memories, talk = Tripped(base.memories), Tripped(base.journal.collection)
        base.journal.collection = talk

        async def count_trips(text: str) -> int:
            base.memories.trips = talk.trips = 0  # type: ignore[attr-defined]
            whisper = await memory.recall(**ME, text=text)
            assert not whisper.error
            assert "allergic" in whisper.text
            return int(base.memories.trips + talk.trips)  # type: ignore[attr-defined]

        cold = await count_trips("I drink tea with Tofu")
        assert cold > 3, "what counts does not count"
        assert await count_trips("I drink green tea with Tofu") <= 3
        assert await count_trips("I drink green tea with Tofu") <= 2
        assert await count_trips("What did we say about tea yesterday?") <= 7
        await memory.remember("Ann likes mint.", user_id="ann")
        assert await count_trips("Mint tea it is") <= 5


async def test_a_turn_that_changes_nothing_asks_for_the_memories_once(tmp_path: Path) -> None:
    """What a judge is shown comes in a search and a read; a portrait is looked for in two."""

    async def nothing(request: Request) -> Reply:
        return Reply(text='{"reason": "", "ops": []}', model="m")

    chosen = Settings(path=tmp_path, embedder="hash:64")
    async with open_empty(chosen, chat=nothing, clock=lambda: NOW) as memory:
        base = memory.knowledge
        for number in range(60):
            await keep(base, f"Ann likes tea number {number}.")

        async def count_trips(said: str) -> int:
            memory.observe(**ME, user=said, assistant="Sweet.")
            base.memories.trips = 0  # type: ignore[attr-defined]
            assert await memory.flush()
            return int(base.memories.trips)  # type: ignore[attr-defined]

        base.memories = Tripped(base.memories)
        assert await count_trips("My cat Tofu sleeps") > 4, "what counts does not count"
        assert await count_trips("My cat Tofu drinks tea") <= 4
