"""What is read of a user whatever is said is read from the engine once, until it changes."""

from pathlib import Path

from souffleur.agents.brief import Persona
from souffleur.knowledge.memory import Category, Kind
from souffleur.recall.finder import Asked
from souffleur.recall.gather import whisper_for
from souffleur.recall.rendering import estimate_tokens
from souffleur.settings import Settings
from tests.build import NOW, days, keep
from tests.counted import Tripped
from tests.stores import empty_base, open_empty

MINUTE = days(1 / 1440)


async def test_what_stands_is_read_once_until_it_is_written(tmp_path: Path) -> None:
    """Another message asks nothing; a new memory is whispered at once, another user's not."""
    chosen = Settings(path=tmp_path, embedder="hash:64")
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        base = memory.knowledge
        await keep(base, "Ann is allergic to nuts.", category=Category.CORE)
        base.memories = trips = Tripped(base.memories)

        async def tell(text: str) -> tuple[str, int]:
            trips.trips = 0
            return (await memory.recall(user_id="ann", text=text)).text, trips.trips

        assert (await tell("Good morning"))[1] > 1, "what counts does not count"
        assert (await tell("Hello there"))[1] == 0
        await keep(base, "Ann is afraid of dogs.", category=Category.CORE)
        text, taken = await tell("Good evening")
        assert "dogs" in text
        assert taken == 2, "its vectors, and the memory itself"
        await memory.remember("Bob is afraid of cats.", user_id="bob")
        assert (await tell("Good night"))[1] == 0


async def test_what_stands_holds_as_long_as_nothing_in_it_ends(tmp_path: Path) -> None:
    """At any time before and after, a recall says what one that reads everything anew does."""
    base = await empty_base(tmp_path)
    for number in range(3):
        ends = NOW + 30 * MINUTE
        await keep(base, f"Ann has cold {number}.", category=Category.CORE, expires_at=ends)
    for start in (0, 20, 59, 61):  # from when on it is one of these days
        ends = NOW + days(11) + start * MINUTE
        await keep(base, f"Ann goes out at {start}.", kind=Kind.TODO, expires_at=ends)
    for number in range(90):
        await keep(base, f"Ann likes tea {number}.", importance="high")
    said = set()
    for minutes in (0, 10, 21, 31, 60, 59, 62, 200, -60):
        asked = Asked("ann", "s1", "So tired", NOW + minutes * MINUTE, Persona())
        of = (Settings(), asked, estimate_tokens)
        known, anew = [await whisper_for(one, *of) for one in (base.cache, base)]
        assert known == anew
        said.add(anew.text)
    assert len(said) > 2, "the time changes nothing here"
    await base.close()


async def test_a_host_that_changes_data_changes_no_later_recall(tmp_path: Path) -> None:
    """The dictionaries in a recall are the host's own."""
    base = await empty_base(tmp_path)
    await keep(base, "They talked.", category=Category.EPISODE, data={"key_facts": ["It rained."]})
    asked = Asked("ann", "s1", "Good morning", NOW, Persona())
    for _ in range(3):
        recall = await whisper_for(base.cache, Settings(), asked, estimate_tokens)
        assert recall.episodes[0].data["key_facts"] == ["It rained."]
        recall.episodes[0].data["key_facts"].append("It hailed.")
    await base.close()
