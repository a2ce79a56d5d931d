"""What bears on a message: by the words in common, not by what a memory is worth."""

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.query import Found
from souffleur.recall.bearing import MAX_BEARING, find_bearing
from tests.build import memory

LIFE = [
    memory("Graeme is allergic to penicillin."),
    memory("Graeme cannot stand okra.", cues=("what can I cook for him", "a slimy stew")),
    memory("Graeme drives to Ranfurly for his mother's eye.", importance=3.0),
    memory("Graeme sings bass."),
]


def bearing(text: str, life: list[Memory] = LIFE) -> list[str]:
    """What bears on a message, of a life that was found in whole."""
    hits = [Found(one, 0.9, 0.9, 1.0) for one in life]
    return [one.content for one in find_bearing(text, hits, ["Graeme", "Keld"])]


def test_a_cue_or_a_sentence_that_is_mostly_said_bears_on_the_message() -> None:
    """A message that has one word of many in common does not say it, nor one word of a cue."""
    assert bearing("Tonight I'll make a slimy stew") == ["Graeme cannot stand okra."]
    assert bearing("What do I cook tonight?") == []
    assert bearing("The chap wants to give me penicillin") == ["Graeme is allergic to penicillin."]
    assert bearing("Got something in my eye") == []


def test_nothing_bears_on_small_talk() -> None:
    """However much a memory is worth, and whatever name is said."""
    for text in ("Evening, Keld.", "Graeme here. Rain again!", "", "Ha!"):
        assert bearing(text) == []


def test_a_word_that_many_have_in_common_does_not_count() -> None:
    """Where all sing, singing calls nobody to mind; no more than eight bear on a message."""
    choir = [memory(f"{name} sings.") for name in ("Ann", "Ben", "Cleo", "Dan", "Eve")]
    assert bearing("I sang", choir) == []
    many = [memory(f"Tea {n}.", cues=(f"a cup number {n}",)) for n in range(30)]
    said = "a cup number " + " ".join(map(str, range(30)))
    assert len(bearing(said, many)) == MAX_BEARING
