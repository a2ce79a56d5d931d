"""The whispered block: order, budget, and what is left out first."""

from hypothesis import given, strategies as st

from souffleur.knowledge.memory import Category, Memory
from souffleur.knowledge.search import Found
from souffleur.tokens import estimate_tokens
from souffleur.whisper import Recall, Shelf, compose
from tests.build import NOW, days, memory

sentences = st.text(alphabet="abc 绿茶ラ。", min_size=1, max_size=80).filter(str.strip)


def found(content: str, relevance: float, age: float = 0) -> Found:
    one = memory(content, created_at=NOW + days(age))
    return Found(one, score=relevance, relevance=relevance, effective=1.0)


def block(shelf: Shelf, budget: int = 600) -> Recall:
    return compose(shelf, budget=budget, user="Ann", language="en")


def lines(recall: Recall) -> list[str]:
    return [line[2:] for line in recall.text.splitlines() if line.startswith("- ")]


def test_nothing_known_is_an_empty_block() -> None:
    """There is no heading without anything under it."""
    assert block(Shelf()).text == ""


def test_the_core_comes_first_and_in_a_fixed_order() -> None:
    """Whatever the message calls for, the beginning of the block stays the same."""
    core = [memory("B.", category=Category.CORE, created_at=NOW + days(1)), memory("A.")]
    one = block(Shelf(core=core, found=[found("X.", 0.9)]))
    other = block(Shelf(core=core[::-1], found=[found("Y.", 0.4)]))
    assert lines(one) == ["A.", "B.", "X."]
    assert lines(other)[:2] == lines(one)[:2]


def test_what_is_called_for_goes_before_what_accompanies() -> None:
    """Where there is room for one only, it is the best match."""
    shelf = Shelf(resident=[memory("Resident.")], found=[found("Best.", 0.9), found("Next.", 0.5)])
    room = estimate_tokens(block(Shelf(found=[found("Best.", 0.9)])).text)
    assert lines(block(shelf, budget=room)) == ["Best."]


def test_a_memory_stands_in_the_block_once() -> None:
    """What is both core and called for, or resident and called for, is said once."""
    one = found("Tea.", 0.9)
    assert lines(block(Shelf([one.memory], [one.memory], [one]))) == ["Tea."]


def test_the_ids_are_those_of_the_lines() -> None:
    """A host can show which memories were used, in the order of the text."""
    shelf = Shelf(found=[found("Later.", 0.9, age=2), found("Sooner.", 0.5, age=1)])
    recall = block(shelf)
    assert lines(recall) == ["Sooner.", "Later."]
    assert recall.ids == (shelf.found[1].memory.id, shelf.found[0].memory.id)


@given(
    st.lists(sentences, max_size=6, unique=True),
    st.lists(sentences, max_size=12, unique=True),
    st.integers(50, 400),
)
def test_the_budget_holds(core: list[str], called: list[str], budget: int) -> None:
    """No mix of memories makes a block longer than its budget, and none is cut in two."""
    shelf = Shelf(core=[memory(text) for text in core], found=[found(t, 0.5) for t in called])
    recall = block(shelf, budget)
    assert recall.tokens == estimate_tokens(recall.text) <= budget
    whole: dict[str, Memory] = {one.id: one for one in shelf.core}
    whole |= {one.memory.id: one.memory for one in shelf.found}
    assert lines(recall) == [" ".join(whole[id].content.split()) for id in recall.ids]
