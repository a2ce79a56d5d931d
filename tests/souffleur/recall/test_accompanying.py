"""What goes with a message: the order of places, and what a boundary holds back."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.memory import Category, Kind, Memory, Relation
from souffleur.knowledge.search.query import Found
from souffleur.recall.rank import find_guards, is_held_back, rank
from tests.build import NOW, days, memory

NO_CRAIG = memory("Ann asked that Craig never be brought up.", kind=Kind.BOUNDARY)
PAVLOVA = memory("Craig loves pavlova.")


def hit(one: Memory, relevance: float) -> dict[str, Found]:
    """What a search brings that found only this."""
    return {one.id: Found(one, relevance, relevance, 1.0)}


def guarding(content: str, *memories: Memory, **fields: Any) -> Memory:
    """A boundary that was found to speak of these."""
    links = tuple(Relation(to=one.id, type="guards", strength=1.0) for one in memories)
    return memory(content, kind=Kind.BOUNDARY, relations=links, **fields)


LOW = memory("Ann has a bike.", importance=0.5)


def order(*memories: Memory, text: str = "hello", **given: Any) -> list[Memory]:
    """The memories that are not held back, in the order in which they get a place."""
    guards, hits = find_guards(memories, text), given.pop("hits", {})
    return rank([one for one in memories if not is_held_back(one, guards)], hits.values(), {})


def ids(memories: list[Memory]) -> set[str]:
    """Return which they are."""
    return {one.id for one in memories}


def test_relevance_goes_before_value_and_boundaries_before_both() -> None:
    """What the judge expects counts as nearer; of equal memories the more valuable goes first."""
    near, worth, bike = memory("Ann rows."), memory("Ann is deaf."), memory("Ann has a bike.")
    values = {worth.id: 3.0, bike.id: 1.0}
    given = [bike, near, worth, NO_CRAIG]
    assert rank(given, hit(near, 0.4).values(), values) == [NO_CRAIG, near, worth, bike]
    assert rank(given, (), values, likely=[near.id])[1] == near


def test_topics_take_turns() -> None:
    """Of one that has many strong memories, one goes, then one of each other."""
    films = [memory(f"Ann saw film {n}.", topics=("films",)) for n in range(3)]
    knee = memory("Ann's knee hurts.", topics=("health",))
    values = {**{one.id: 3.0 - n for n, one in enumerate(films)}, knee.id: 0.1}
    assert rank([*films, knee], (), values) == [films[0], knee, *films[1:]]


def test_what_a_boundary_speaks_of_is_held_back() -> None:
    """It comes if the message itself raises it, and then with the boundary before or beside it."""
    assert order(PAVLOVA, NO_CRAIG, LOW, hits=hit(PAVLOVA, 0.9)) == [NO_CRAIG, LOW]
    raised = order(PAVLOVA, NO_CRAIG, LOW, text="Shall I call Craig?", hits=hit(PAVLOVA, 0.9))
    assert ids(raised[:2]) == ids([PAVLOVA, NO_CRAIG])


def test_a_boundary_knows_names_that_were_noted() -> None:
    """Where neither text tells it, the names noted with the memories do."""
    silent = memory("没有人可以提她。", kind=Kind.BOUNDARY, entities=("吴莉",))
    told = memory("她去了广东。", entities=("吴莉",))
    assert order(told, silent) == [silent]
    assert ids(order(told, silent, text="吴莉来信了")) == ids([told, silent])


def test_one_character_before_an_honorific_is_a_name() -> None:
    """A boundary in Japanese knows whom it speaks of, also where he is core."""
    silent = memory("航さんの事故のことは口にしないで。", kind=Kind.BOUNDARY)
    told = memory("弟の航さんは滑落した。", category=Category.CORE)
    assert is_held_back(told, find_guards([silent, told], "山の宿へ行く"))
    assert not is_held_back(told, find_guards([silent, told], "航さんの命日だ"))


def test_a_common_word_makes_no_boundary() -> None:
    """What many memories say is about none of them: nothing is held back for it."""
    many = [memory(f"Ann never eats {dish} alone.") for dish in ("fish", "eggs", "rice", "soup")]
    wish = memory("Ann never wants advice, never when alone.", kind=Kind.BOUNDARY)
    more = [memory(f"Ann never drinks {drink} alone.") for drink in ("tea", "milk")]
    assert ids(order(wish, *many, *more)) == ids([wish, *many, *more])


LOSS = memory("Lindiwe lost two pregnancies.")
NO_CHILD = guarding("Lindiwe does not want her own wish for a child to come up.", LOSS)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Baby shower's this Saturday and I've got nothing to bring. Ideas?", True),
        ("Lindiwe never loses anything, unless it comes up first.", True),
        ("Will I ever have a child?", False),
    ],
)
def test_what_a_boundary_is_linked_with_is_held_back(text: str, held: bool) -> None:
    """They need no word in common; a word of the boundary raises it, and comes beside it."""
    life = [LOSS, NO_CHILD, *(memory(f"Lindiwe owns rose {index}.") for index in range(6))]
    assert is_held_back(LOSS, find_guards(life, text)) is held
    first = order(*life, text=text, hits=hit(LOSS, 0.9))[:2]
    assert ids(first) == ids([NO_CHILD, LOSS]) if not held else LOSS not in first


def test_a_link_holds_for_core_memories_and_new_words() -> None:
    """Of what was superseded since, the boundary speaks until it is judged again."""
    core = memory("She miscarried twice.", category=Category.CORE)
    new = memory("She lost three pregnancies.", supersedes=(LOSS.id,))
    life = [guarding("No word of it.", core), NO_CHILD, core, new]
    guards = find_guards(life, "Baby shower!")
    assert is_held_back(core, guards)
    assert is_held_back(new, guards)


def test_a_name_that_only_guarded_memories_have_raises_them() -> None:
    """Who is in other memories as well may be spoken of without them."""
    loss = memory("They lost two pregnancies.", entities=("Tom", "Dr Imre"))
    life = [loss, guarding("No word of a child.", loss), memory("Tom rows.", entities=("Tom",))]
    assert is_held_back(loss, find_guards(life, "Tom is late again."))
    assert not is_held_back(loss, find_guards(life, "Imre rang today."))


def test_whom_a_boundary_is_about_raises_all_that_is_told_of_them() -> None:
    """However many memories that are: nothing else has the name."""
    told = [memory(f"Craig took the {thing}.") for thing in ("car", "dog", "mugs", "bed", "lamp")]
    life = [*told, memory("Ann has a bike."), guarding("Ann wants no word of Craig.", *told)]
    life.append(memory("Ann asked that Craig never be brought up.", kind=Kind.BOUNDARY))
    assert ids([one for one in told if is_held_back(one, find_guards(life, "hello"))]) == ids(told)
    raised = find_guards(life, "Shall I call Craig?")
    assert not any(is_held_back(one, raised) for one in told)


def test_words_in_which_boundaries_are_put_raise_nothing() -> None:
    """Neither do they hold anything back."""
    never = memory("Ann never mentions her weight.")
    assert not is_held_back(never, find_guards([NO_CRAIG, never], "hello"))
    linked = guarding("除非她主动提起，别说那件事。", LOSS)
    assert is_held_back(LOSS, find_guards([linked, LOSS], "他主动提起工资"))


kinds = st.sampled_from([*Kind])
lives = st.lists(
    st.builds(
        memory,
        st.text("ab茶酒 ", min_size=1).filter(lambda text: bool(text.strip())),
        kind=kinds,
        importance=st.floats(0, 5),
        category=st.sampled_from([Category.FACT, Category.CORE, Category.SKILL]),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


@given(lives, st.data())
def test_what_is_linked_comes_only_if_it_is_raised(life: list[Memory], data: Any) -> None:
    """All of it if the message has a word of the boundary, then with the boundary; else nothing."""
    others = [one for one in life if one.kind is not Kind.BOUNDARY]
    linked = data.draw(st.lists(st.sampled_from(others))) if others else []
    boundary = guarding("No word of lavender.", *linked)
    assert not ids(order(boundary, *life)) & ids(linked)
    assert ids(order(boundary, *life, text="lavender")) >= ids([boundary, *linked])


@given(lives, st.text("ab茶酒 "), st.randoms())
def test_the_order_is_whole_and_stable(life: list[Memory], text: str, chance: Any) -> None:
    """Nothing is doubled or made up, and the order of what is given does not matter."""
    ranked = order(*life, text=text)
    shuffled = list(life)
    chance.shuffle(shuffled)
    assert order(*shuffled, text=text) == ranked
    assert len({one.id for one in ranked}) == len(ranked)
    assert {one.id for one in ranked} <= {one.id for one in life}
    assert {one.id for one in life if one.kind is Kind.BOUNDARY} <= {one.id for one in ranked}


def test_what_ends_comes_before_what_lasts() -> None:
    """A plan ahead has a place before a lasting fact of more worth, if neither is nearer."""
    exam = memory("Ann sits an exam on 9 January.", expires_at=NOW + days(6))
    cat, tea = memory("Ann has a cat."), memory("Ann likes tea.")
    assert rank([cat, exam, tea], (), {cat.id: 2.0, tea.id: 1.0}) == [exam, cat, tea]
