"""What goes with a memory that was to be forgotten."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.forgetting import mentions
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Add, Delete, Forget, Refusal
from souffleur.knowledge.plan import PlanContext, withdrawn
from souffleur.knowledge.policy import COMPANION
from tests.build import NOW, memory, turn, verdict
from tests.stores import empty_base

LETTERS = "abdehlnorstuxABJLTéßжя"
HAN = "安周雯文王小明田中太郎茶里昂"


@pytest.mark.parametrize(
    ("text", "content", "names", "told"),
    [
        ("[2026-01-03 18:00] Ann met Tom at noon.", "Tom is Ann's ex.", ("Tom",), True),
        ("Ann met Anna.", "Tom is Ann's ex.", ("Tom",), False),
        ("主人聊了前任周雯。", "主人的前任叫周雯。", ("周雯",), True),
        ("主人每天早上喝黑咖啡，后来去上班。", "主人每天早上喝黑咖啡。", (), True),
        ("主人每天早上去跑步。", "主人每天早上喝黑咖啡。", (), False),
        (
            "Ann smokes ten cigarettes a day and wants to stop.",
            "Ann smokes ten cigarettes.",
            (),
            True,
        ),
        ("Ann wants to stop early today.", "Ann smokes ten cigarettes.", (), False),
        ("Ann smokes ten cigars.", "Ann smokes ten cigarettes.", (), True),
        ("Ann smokes no cigars.", "Ann smokes ten cigarettes.", (), False),
        ("Ann smokes cigars at noon.", "Ann smokes cigars.", (), True),
        ("Ann smokes cigars at noon.", "Ann smokes.", (), False),
        ("", "Ann smokes.", (), False),
        ("We talked about Al's car.", "x", ("Al",), True),
        ("I also needed it", "x", ("Al", "Ed"), False),
        ("she enjoyed it, I'd like more", "x", ("Jo", "Li", "D"), False),
        ("Don't go", "x", ("Don",), False),
        ("DON’S boat, or Don'll go", "x", ("don",), True),
        ("ｏｎ　Ｔｏｍ", "x", ("TOM",), True),
        ("昨天和Tom吃饭", "x", ("Tom",), True),
        ("昨天和Tommy吃饭", "x", ("Tom",), False),
        ("met Ann  Roux, again", "x", ("ann roux",), True),
        ("met Ann, Bob Roux", "x", ("Ann Roux",), False),
        ("she has GPT-4.1 now", "x", ("GPT-4",), False),
        ("she has gpt 4 now", "x", ("GPT-4",), True),
        ("昨天去了里昂", "x", ("天", "里"), False),
        ("周雯雯昨天来了", "x", ("周雯",), True),
        ("見た。田中　太郎さん", "x", ("田中太郎",), True),
        ("爱因斯坦阿尔伯特来了", "x", ("爱因斯坦·阿尔伯特",), True),
        ("어제 김철수가 왔다", "x", ("김 철수",), True),
        ("anything at all… a-b - c", "x", ("-", "…", "a", "", "·", "、", "A."), False),
        ("王Anna来了", "x", ("王Anna",), True),
        ("王 Annabel 来了", "x", ("王Anna",), False),
    ],
)
def test_what_tells_of_it(text: str, content: str, names: tuple[str, ...], told: bool) -> None:
    """A text tells of it by a name of its own, or by three quarters of its three or more words."""
    assert mentions(text, content, names) is told


@given(st.text(LETTERS, min_size=1, max_size=4), st.lists(st.text(LETTERS, max_size=7), max_size=9))
def test_a_name_hides_no_text_in_which_it_is_no_word(name: str, words: list[str]) -> None:
    """Whatever letters stand around it: part of a word is not the name."""
    around = ["also", "needed", *words, f"x{name}", f"{name}x", f"x{name}'s"]
    text = " ".join(word for word in around if word.casefold() != name.casefold())
    assert not mentions(text, "", (name,))
    if len(name) > 1:
        assert mentions(f"{text} ({name.upper()}’s)", "", (name,))


@given(st.text(max_size=3).filter(lambda name: sum(map(str.isalnum, name)) == 0), st.text())
def test_what_has_no_letter_hides_nothing(name: str, text: str) -> None:
    """A dash or an ellipsis that was taken for a name is none."""
    assert not mentions(text, "", (name,))


@given(st.text(HAN, min_size=1, max_size=3), st.text(HAN, max_size=5), st.text(HAN, max_size=5))
def test_a_name_without_spaces_around_it_is_found(name: str, before: str, after: str) -> None:
    """In Chinese and Japanese a name is found within a run; one character alone is no name."""
    assert mentions(before + name + after, "", (name,)) is (len(name) > 1)
    if name not in before:
        assert not mentions(before, "", (name,))


async def test_what_the_user_did_not_ask_for_stays(tmp_path: Path) -> None:
    """A memory that was merely wrong goes alone; one that was to be forgotten takes the rest."""
    base = await empty_base(tmp_path)
    said = turn("I met Tom", "ok")
    base.journal.record(said)
    episode = Add(
        reason="r",
        quote="",
        content="[2026-01-03 11:00] Ann met Tom.",
        category=Category.EPISODE,
        kind=Kind.MOMENT,
    )
    known = [
        Add(reason="r", quote="met Tom", content=f"Ann met Tom {n}.", entities=(f"Tom {n}",))
        for n in (1, 2)
    ]
    outcomes = await base.apply(
        verdict(episode, *known, who=ActorKind.SUMMARIZER, said=said.said()), turns=[said]
    )
    told, one, two = (entry.changes[0].after for entry in outcomes)
    wrong = Delete(target=one.id, reason="r", quote="I never met him")
    await base.apply(verdict(wrong, user="I never met him", name=2))
    assert (await base.get(told.id, user_id=None)).state is MemoryState.ACTIVE
    assert not (await base.journal.turn(said.id)).hidden
    asked = Delete(target=two.id, reason="r", quote="forget Tom")
    (gone,) = await base.apply(verdict(asked, user="please forget Tom", name=3))
    assert {change.after.id for change in gone.changes} == {two.id, told.id}
    assert (await base.journal.turn(said.id)).hidden
    await base.undo(gone.id, by=Actor(who=ActorKind.USER), now=NOW, user_id=None)
    assert (await base.get(told.id, user_id=None)).state is MemoryState.ACTIVE
    assert not (await base.journal.turn(said.id)).hidden
    await base.close()


async def test_a_short_name_hides_no_other_talk(tmp_path: Path) -> None:
    """Forgetting Al hides what was said of Al, and not what was also said."""
    base = await empty_base(tmp_path)
    lines = ("Al called", "I also needed sugar – again", "阿尔 called")
    said = [turn(line, "ok", turn_id=str(index)) for index, line in enumerate(lines)]
    for one in said:
        base.journal.record(one)
    add = Add(reason="r", quote="", content="Ann met Al.", entities=("Al", "–", "尔"))
    (kept,) = await base.apply(verdict(add, who=ActorKind.HOST))
    forget = Forget(target=kept.memory_ids[0], reason="r")
    await base.apply(verdict(forget, who=ActorKind.USER, name=2))
    assert [(await base.journal.turn(one.id)).hidden for one in said] == [True, False, False]
    await base.close()


async def test_forgetting_by_hand_takes_the_rest_too(tmp_path: Path) -> None:
    """`forget` is asking in so many words; another user's episode and words stay."""
    base = await empty_base(tmp_path)
    add = Add(reason="r", quote="", content="Ann met Tom.", entities=("Tom",))
    tale = {"reason": "r", "quote": "", "category": Category.EPISODE, "kind": Kind.MOMENT}
    mine, theirs = (
        Add(content=f"[2026-01-03 11:00] {who} met Tom.", **tale) for who in ("Ann", "Bob")
    )
    said = [turn("Ann met Tom", user_id=name) for name in ("ann", "bob")]
    for one in said:
        base.journal.record(one)
    (kept,) = await base.apply(verdict(add, who=ActorKind.HOST))
    await base.apply(verdict(mine, who=ActorKind.SUMMARIZER, name=2))
    await base.apply(verdict(theirs, who=ActorKind.SUMMARIZER, name=3, user_id="bob"))
    forget = Forget(target=kept.memory_ids[0], reason="r")
    await base.apply(verdict(forget, who=ActorKind.USER, name=4))
    assert await base.list("ann") == []
    assert len(await base.list("bob")) == 1
    assert [(await base.journal.turn(one.id)).hidden for one in said] == [True, False]
    await base.close()


async def test_what_could_not_be_forgotten_takes_nothing_along(tmp_path: Path) -> None:
    """A memory that another process changed meanwhile stays, and so do the words that tell it."""
    base = await empty_base(tmp_path)
    said = turn("I met Tom", "ok")
    base.journal.record(said)
    add = Add(reason="r", quote="", content="Ann met Tom.", entities=("Tom",))
    (kept,) = await base.apply(verdict(add, who=ActorKind.HOST))
    forget = Forget(target=kept.memory_ids[0], reason="r")
    planned = await base.writer.plan(verdict(forget, who=ActorKind.USER, name=2), [])
    await base.memories.merge_payload([forget.target], {"revision": 5, "written_by": "somebody"})
    await base.journal.write(planned)
    (outcome,) = await base.writer.carry_out(planned)
    assert outcome.refused is Refusal.CONFLICT
    assert not (await base.journal.turn(said.id)).hidden
    await base.close()


async def test_two_memories_that_one_episode_tells_go_together(tmp_path: Path) -> None:
    """Forgotten by one verdict, both are gone and so is the episode; nothing is a conflict."""
    base = await empty_base(tmp_path)
    tale = {"reason": "r", "quote": "", "category": Category.EPISODE, "kind": Kind.MOMENT}
    known = [
        Add(reason="r", quote="", content=f"Ann met {name}.", entities=(name,))
        for name in ("Tom", "Jim")
    ]
    episode = Add(content="[2026-01-03 11:00] Ann met Tom and Jim.", **tale)
    made = await base.apply(verdict(*known, episode, who=ActorKind.HOST))
    ops = [Forget(target=outcome.memory_ids[0], reason="r") for outcome in made[:2]]
    outcomes = await base.apply(verdict(*ops, who=ActorKind.USER, name=2))
    assert [outcome.refused for outcome in outcomes] == [None, None]
    assert await base.list("ann") == []
    await base.close()


def test_what_was_left_out_before_is_left_out_again() -> None:
    """A portrait that was brought back remembers all that it may not tell."""
    portrait = memory("Ann lives.", category=Category.PROFILE, data={"without": ["Tom"]})
    gone = withdrawn(portrait, "Jim", PlanContext(verdict(), 0, COMPANION)).after
    assert (gone.state, gone.data["without"]) == (MemoryState.FORGOTTEN, ["Tom", "Jim"])
