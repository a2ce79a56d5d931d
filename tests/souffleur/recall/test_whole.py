"""All that is known is whispered while it fits; beyond, what is worth most for the message."""

from pathlib import Path
from typing import Any

import pytest

from souffleur.knowledge.memory import Category, Kind
from souffleur.knowledge.operation import ActorKind, Add, Importance, Update
from souffleur.recall.compose import Recall
from souffleur.settings import WhisperBudget
from tests.build import NOW, days, verdict
from tests.scripted import by_name, portrait
from tests.stage import Stage, staged

KNOWN = (
    "Ann plays the violin.",
    "Ann has a brother, Ben.",
    "Ann is afraid of flying.",
    "Ann works at a dairy.",
)
KNOWS, BEARS = "### What you know", "### What bears on this moment"


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
    return [line[2:] for line in part.splitlines() if line.startswith("- ")]


async def test_everything_is_there_while_it_fits(tmp_path: Path) -> None:
    """The oldest first and without the portrait, whatever is said; what bears on it comes last."""
    script = by_name(portrait=portrait("Ann paints.", "She lives.", "She sleeps."))
    async with staged(tmp_path, script) as stage:
        await know(stage, *KNOWN)
        await stage.memory.write_portrait(user_id="ann")
        flying, small = await recalled(stage, "I shall be flying"), await recalled(stage, "hm")
    assert lines(flying, KNOWS) == lines(small, KNOWS) == list(KNOWN)
    assert lines(flying, BEARS) == ["Ann is afraid of flying."]
    assert BEARS not in small.text
    assert flying.portrait is None
    assert flying.text.startswith(small.text)  # so that a provider's cache serves it
    assert len(set(flying.ids)) == len(flying.ids) == len(KNOWN)


async def test_any_memory_of_the_block_may_be_found_used(tmp_path: Path) -> None:
    """The judge is told of each that stood there, whether it bears on the message or not."""
    async with staged(tmp_path, by_name()) as stage:
        await know(stage, *KNOWN)
        recall = await recalled(stage, "hm")
        kept = {one.id for one in await stage.memory.list(user_id="ann")}
    assert set(recall.judgeable_ids) == kept


async def test_beyond_the_budget_what_is_nearest_to_the_message_is_there(tmp_path: Path) -> None:
    """Beside what matters most for any message; the portrait tells the rest."""
    script = by_name(portrait=portrait("Ann paints.", "She lives.", "She sleeps."))
    many = [f"Ann saw the film number {place} with Ben in a small cinema." for place in range(40)]
    flying = "Ann is afraid of flying, above all over water and in the dark."
    async with staged(tmp_path, script, whisper=WhisperBudget(tokens=300)) as stage:
        await know(stage, *many[:20], flying, *many[20:])
        await stage.memory.write_portrait(user_id="ann")
        recall = await recalled(stage, "I shall be flying")
        small = await recalled(stage, "hm")
    assert flying in recall.text
    assert flying not in small.text
    assert lines(recall, KNOWS) == lines(small, KNOWS) != []
    assert recall.portrait
    assert recall.tokens <= 300


async def test_a_question_brings_the_rest_of_what_is_known(tmp_path: Path) -> None:
    """What had no place in the block comes before the words, though no word of it is asked for."""
    many = [f"Ann saw the film number {place} with Ben in a small cinema." for place in range(20)]
    async with staged(tmp_path, by_name(), whisper=WhisperBudget(tokens=300)) as stage:
        await know(stage, *many)
        asked = await recalled(stage, "what did I like so much?")
        told = await recalled(stage, "I liked it so much")
    assert [one in asked.text for one in many] == [True] * len(many)
    assert [one in told.text for one in many] != [True] * len(many)


async def test_a_new_form_of_address_is_whispered_at_once(tmp_path: Path) -> None:
    """What was learnt under the former name begins with the present one; friends keep theirs."""
    async with staged(tmp_path, by_name()) as stage:
        await know(stage, "Ann plays the violin.", "Ann Fisher is a friend.", "Ben is fond of Ann.")
        core = Add(content="Ann has a cat.", reason="r", quote="", category=Category.CORE)
        await stage.knowledge.apply(verdict(core, who=ActorKind.HOST))
        await stage.memory.introduce(user_id="ann", title="Nan")
        recall = await recalled(stage, "hm")
    assert "- Nan has a cat." in recall.text
    assert lines(recall, KNOWS) == [
        "Nan plays the violin.",
        "Ann Fisher is a friend.",
        "Ben is fond of Ann.",
    ]


async def test_a_question_about_the_past_brings_the_whole_topic(tmp_path: Path) -> None:
    """All memories of the topic of the best hits, although they do not match."""
    host: Any = {"reason": "r", "quote": ""}
    films = [f"Ann saw the film number {place} with Ben." for place in range(40)]
    books = ["Ann read Emma.", "Ann finished Dracula.", "Ann liked Ulysses."]
    adds = [Add(content=one, topics=(f"films {n % 20}",), **host) for n, one in enumerate(films)]
    adds += [Add(content=one, topics=("reading",), **host) for one in books]
    async with staged(tmp_path, by_name(), whisper=WhisperBudget(tokens=300)) as stage:
        await stage.knowledge.apply(verdict(*adds, who=ActorKind.HOST))
        asked = await recalled(stage, "What did I tell you of Emma?")
        small = await recalled(stage, "Emma!")
    assert all(one in asked.text for one in books)
    assert not all(one in small.text for one in books)


async def test_what_was_replaced_is_not_told_by_the_portrait(tmp_path: Path) -> None:
    """Where the portrait tells what has no room, that sentence is left out."""
    told = portrait("Ann lives in Rotterdam.", "She paints the sea.", "She sleeps little.")
    many = [f"Ann saw the film number {place} with Ben in a small cinema." for place in range(40)]
    budget = WhisperBudget(tokens=300)
    async with staged(tmp_path, by_name(portrait=told), whisper=budget) as stage:
        await know(stage, *many, "Ann lives in Rotterdam.")
        await stage.memory.write_portrait(user_id="ann")
        known = await stage.memory.list(user_id="ann")
        home = next(one for one in known if one.content == "Ann lives in Rotterdam.")
        stage.clock.at = NOW + days(1)
        moved = Update(target=home.id, reason="r", quote="", content="Ann lives in Porto.")
        await stage.knowledge.apply(verdict(moved, who=ActorKind.HOST, at=NOW + days(1)))
        recall = await recalled(stage, "hm")
    assert "She paints the sea." in recall.text
    assert "Rotterdam" not in recall.text


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


@pytest.mark.parametrize(
    "told",
    [
        "Annabel does not want Craig to be brought up.",  # her own name is no subject
        "Annabel does not want to play chess after nine.",  # a time
        "Annabel takes no lifts to play music.",  # an act
    ],
)
async def test_a_boundary_silences_nothing_else(tmp_path: Path, told: str) -> None:
    """In a small store, too, what it does not speak of is there, and bears on its message."""
    async with staged(tmp_path, by_name(), user_title="Annabel") as stage:
        await stage.memory.remember("Annabel plays the ukulele.", user_id="ann")
        await stage.memory.remember(told, user_id="ann", kind=Kind.BOUNDARY)
        recall = await recalled(stage, "I feel like playing something")
    assert "ukulele" in recall.text
