"""All that is known is whispered while it fits; beyond, what is worth most for the message."""

from pathlib import Path

from souffleur.knowledge.memory import Kind
from souffleur.knowledge.operation import Importance
from souffleur.recall.compose import Recall
from souffleur.settings import WhisperBudget
from tests.build import NOW, days
from tests.scripted import by_name, portrait
from tests.stage import Stage, staged

KNOWN = (
    "Ann plays the violin.",
    "Ann has a brother, Ben.",
    "Ann is afraid of flying.",
    "Ann works at a dairy.",
)
KNOWS, BEARS = "### What you know (oldest first)", "### What bears on this moment"


async def know(stage: Stage, *sentences: str, kind: Kind = Kind.FACT) -> None:
    """Store these sentences, a day apart."""
    for place, one in enumerate(sentences):
        at = NOW - days(len(sentences) - place)
        await stage.memory.remember(one, user_id="ann", kind=kind, at=at)


async def recalled(stage: Stage, text: str) -> Recall:
    """Recall for a message of a session of its own."""
    return await stage.memory.recall(user_id="ann", session_id="other", text=text)


def lines(recall: Recall, heading: str) -> list[str]:
    """The lines below a heading."""
    part = recall.text.partition(f"{heading}\n")[2].partition("\n\n")[0]
    return [line.removeprefix("- ") for line in part.splitlines()]


async def test_everything_is_there_while_it_fits(tmp_path: Path) -> None:
    """The oldest first and without the portrait, whatever is said; what bears on it comes last."""
    script = by_name(portrait=portrait("Ann paints.", "She lives.", "She sleeps."))
    async with staged(tmp_path, script) as stage:
        await know(stage, *KNOWN)
        await stage.memory.write_portrait(user_id="ann")
        flying, small = await recalled(stage, "shall I be flying?"), await recalled(stage, "hm")
    assert lines(flying, KNOWS) == lines(small, KNOWS) == list(KNOWN)
    assert lines(flying, BEARS) == ["Ann is afraid of flying."]
    assert BEARS not in small.text
    assert flying.portrait is None
    assert flying.text.startswith(small.text)  # so that a provider's cache serves it
    assert len(set(flying.ids)) == len(flying.ids) == len(KNOWN)


async def test_only_what_bears_on_it_may_be_found_used(tmp_path: Path) -> None:
    """The judge is not told of each line of a life that the companion was reminded of it."""
    async with staged(tmp_path, by_name()) as stage:
        await know(stage, *KNOWN)
        flying, small = await recalled(stage, "shall I be flying?"), await recalled(stage, "hm")
        kept = {one.content: one.id for one in await stage.memory.list(user_id="ann")}
    assert flying.judgeable_ids == (kept["Ann is afraid of flying."],)
    assert small.judgeable_ids == ()


async def test_beyond_the_budget_what_bears_on_the_message_is_there(tmp_path: Path) -> None:
    """The block holds its budget; the portrait comes where less than a third fits."""
    script = by_name(portrait=portrait("Ann paints.", "She lives.", "She sleeps."))
    many = [f"Ann saw the film number {place} with Ben in a small cinema." for place in range(40)]
    async with staged(tmp_path, script, whisper=WhisperBudget(whole=200)) as stage:
        await know(stage, "Ann is afraid of flying.", *many)
        await stage.memory.write_portrait(user_id="ann")
        recall = await recalled(stage, "shall I be flying?")
    assert "Ann is afraid of flying." in lines(recall, KNOWS)
    assert 5 < len(lines(recall, KNOWS)) < 20
    assert recall.portrait


async def test_what_a_boundary_speaks_of_stays_out_until_it_is_raised(tmp_path: Path) -> None:
    """The rest is there all the same, and so is the boundary."""
    told = "Ann does not want the violin to be brought up."
    async with staged(tmp_path, by_name()) as stage:
        await know(stage, *KNOWN)
        await stage.memory.remember(
            told, user_id="ann", kind=Kind.BOUNDARY, importance=Importance.HIGH
        )
        small, raised = await recalled(stage, "hm"), await recalled(stage, "my violin squeaks")
    assert lines(small, KNOWS) == [*KNOWN[1:], told]
    assert lines(raised, KNOWS) == [*KNOWN, told]
