"""What goes with a memory that was to be forgotten."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from souffleur.errors import StoreError
from souffleur.knowledge.forgetting.likeness import Likeness, SoughtMemory, stands_in
from souffleur.knowledge.forgetting.request import Doubt
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Add, Delete, Forget, Refusal
from souffleur.knowledge.plan import PlanContext, withdrawn
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.turn import TurnState
from souffleur.knowledge.undo import plan_sparing
from tests.build import NOW, keep, memory, turn, verdict
from tests.scripted import add, answer, by_name
from tests.stage import staged
from tests.stores import empty_base

LETTERS = "abdehlnorstuxABJLTéßжя"
HAN = "安周雯文王小明田中太郎茶里昂"


@pytest.mark.parametrize(
    ("text", "content", "names", "told"),
    [
        ("[2026-01-03 18:00] Ann met Tom at noon.", "Tom is Ann's ex.", ("Tom",), Likeness.SURE),
        ("Ann met Anna.", "Tom is Ann's ex.", ("Tom",), Likeness.NONE),
        ("主人聊了前任周雯。", "主人的前任叫周雯。", ("周雯",), Likeness.SURE),
        ("主人每天早上喝黑咖啡，后来去上班。", "主人每天早上喝黑咖啡。", (), Likeness.SURE),
        ("主人每天早上去跑步。", "主人每天早上喝黑咖啡。", (), Likeness.NONE),
        (
            "Ann smokes ten cigarettes and wants to stop.",
            "Ann smokes cigarettes.",
            (),
            Likeness.SURE,
        ),
        ("Ann wants to stop early today.", "Ann smokes ten cigarettes.", (), Likeness.NONE),
        ("Ann smokes cigars at noon.", "Ann smokes ten cigarettes.", (), Likeness.POSSIBLE),
        ("I smoke.", "Ann smokes.", (), Likeness.SURE),
        ("My brother smokes.", "Ann smokes.", (), Likeness.POSSIBLE),
        ("Ann came home late.", "Ann is out of work.", (), Likeness.NONE),
        ("", "Ann smokes.", (), Likeness.NONE),
    ],
)
def test_what_tells_of_it(text: str, content: str, names: tuple[str, ...], told: Likeness) -> None:
    """A text tells of it by a name of its own, or by most of its rare words; some leave a doubt."""
    assert SoughtMemory(content, names=names, called=("Ann", "主人")).in_text(text) is told


@pytest.mark.parametrize(
    ("text", "names", "stands"),
    [
        ("We talked about Al's car.", ("Al",), True),
        ("I also needed it", ("Al", "Ed"), False),
        ("she enjoyed it, I'd like more", ("Jo", "Li", "D"), False),
        ("Don't go", ("Don",), False),
        ("DON’S boat, or Don'll go", ("don",), True),
        ("ｏｎ　Ｔｏｍ", ("TOM",), True),
        ("昨天和Tom吃饭", ("Tom",), True),
        ("昨天和Tommy吃饭", ("Tom",), False),
        ("met Ann  Roux, again", ("ann roux",), True),
        ("met Ann, Bob Roux", ("Ann Roux",), False),
        ("she has GPT-4.1 now", ("GPT-4",), False),
        ("she has gpt 4 now", ("GPT-4",), True),
        ("昨天去了里昂", ("天", "里"), False),
        ("周雯雯昨天来了", ("周雯",), True),
        ("見た。田中　太郎さん", ("田中太郎",), True),
        ("爱因斯坦阿尔伯特来了", ("爱因斯坦·阿尔伯特",), True),
        ("어제 김철수가 왔다", ("김 철수",), True),
        ("anything at all… a-b - c", ("-", "…", "a", "", "·", "、", "A."), False),
        ("王Anna来了", ("王Anna",), True),
        ("王 Annabel 来了", ("王Anna",), False),
    ],
)
def test_where_a_name_stands(text: str, names: tuple[str, ...], stands: bool) -> None:
    """As whole words, or as characters in a run."""
    assert stands_in(text, names) is stands


@given(st.text(LETTERS, min_size=1, max_size=4), st.lists(st.text(LETTERS, max_size=7), max_size=9))
def test_a_name_hides_no_text_in_which_it_is_no_word(name: str, words: list[str]) -> None:
    """Whatever letters stand around it: part of a word is not the name."""
    around = ["also", "needed", *words, f"x{name}", f"{name}x", f"x{name}'s"]
    text = " ".join(word for word in around if word.casefold() != name.casefold())
    assert not stands_in(text, (name,))
    if len(name) > 1:
        assert stands_in(f"{text} ({name.upper()}’s)", (name,))


@given(st.text(max_size=3).filter(lambda name: sum(map(str.isalnum, name)) == 0), st.text())
def test_what_has_no_letter_hides_nothing(name: str, text: str) -> None:
    """A dash or an ellipsis that was taken for a name is none."""
    assert not stands_in(text, (name,))


@given(st.text(HAN, min_size=1, max_size=3), st.text(HAN, max_size=5), st.text(HAN, max_size=5))
def test_a_name_without_spaces_around_it_is_found(name: str, before: str, after: str) -> None:
    """In Chinese and Japanese a name is found within a run; one character alone is no name."""
    assert stands_in(before + name + after, (name,)) is (len(name) > 1)
    if name not in before:
        assert not stands_in(before, (name,))


async def none_tells(doubt: Doubt) -> list[bool]:
    """A judge by whom no doubtful line tells of what was forgotten."""
    return [False] * len(doubt.lines)


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
    base.judge_told = none_tells
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
    gone = withdrawn(portrait, ["Jim"], ["Jo"], PlanContext(verdict(), 0, COMPANION)).after
    assert (gone.state, gone.data["without"]) == (MemoryState.FORGOTTEN, ["Tom", "Jim"])
    assert gone.data["without_names"] == ["Jo"]


async def told_twice(base: KnowledgeBase, *lines: str) -> tuple[str, list[str]]:
    """A memory of peanuts and these turns; its id, and theirs."""
    said = [turn(line, turn_id=str(place)) for place, line in enumerate(lines)]
    for one in said:
        base.journal.record(one)
    known = await keep(base, "Ann is allergic to peanuts.")
    return known.id, [one.id for one in said]


async def hidden(base: KnowledgeBase, ids: list[str]) -> list[bool]:
    """Whether these turns are hidden."""
    return [(await base.journal.turn(id)).hidden for id in ids]


async def test_all_is_hidden_while_the_judge_thinks(tmp_path: Path) -> None:
    """What only may tell it is shown again once it is called something else, and not before."""
    base = await empty_base(tmp_path)
    lines = "I'm allergic to peanuts", "a peanut bar for the dog", "the sun shines"
    other = await keep(base, "Ann sells peanut butter.")
    id, said = await told_twice(base, *lines)

    async def judged(doubt: Doubt) -> list[bool]:
        assert doubt.forgotten == ("Ann is allergic to peanuts.",)
        assert doubt.lines == ("Ann sells peanut butter.", *lines[1:])
        assert (await hidden(base, said), await base.list("ann")) == ([True] * 3, [])
        return [False, True, False]

    base.judge_told = judged
    (entry,) = await base.apply(verdict(Forget(target=id, reason="r"), who=ActorKind.USER))
    assert [one.id for one in await base.list("ann")] == [other.id]
    assert await hidden(base, said) == [True, True, False]
    (told,) = [one for one in await base.journal.entries("ann") if one.op == "RESTORE"]
    assert told.memory_ids == (other.id,)
    assert "doubtful" not in str(entry.details)
    await base.undo(entry.id, by=Actor(who=ActorKind.USER), now=NOW, user_id="ann")
    assert {one.content for one in await base.list("ann")} == {
        "Ann is allergic to peanuts.",
        "Ann sells peanut butter.",
    }
    assert await hidden(base, said) == [False] * 3
    await base.close()


async def test_a_crash_before_the_answer_hides(tmp_path: Path) -> None:
    """What a judge calls something else is shown by the next start, or else stays hidden."""
    base = await empty_base(tmp_path)
    id, said = await told_twice(base, "a peanut bar for the dog")

    async def dies(doubt: Doubt) -> list[bool]:
        raise StoreError("killed")

    base.judge_told = dies
    with pytest.raises(StoreError):
        await base.apply(verdict(Forget(target=id, reason="r"), who=ActorKind.USER))
    assert await base.recover() == 0
    assert await hidden(base, said) == [True]
    (entry,) = [one for one in await base.journal.entries("ann") if one.op == "FORGET"]
    current = {id: await base.get(id, user_id="ann")}
    by = Actor(who=ActorKind.MONITOR)
    outcome = plan_sparing(entry, current, said, [], by=by, now=NOW, policy=COMPANION)
    await base.journal.write([outcome])  # and killed again
    assert await base.recover() == 1
    assert await hidden(base, said) == [False]
    assert (await base.get(id, user_id="ann")).state is MemoryState.FORGOTTEN
    await base.close()


async def test_what_two_forgettings_hide_is_hidden_until_both_are_undone(tmp_path: Path) -> None:
    """Undoing one shows nothing that the other hides."""
    base = await empty_base(tmp_path)
    nuts, said = await told_twice(base, "I'm allergic to peanuts and have psoriasis")
    skin = await keep(base, "Ann has psoriasis.")
    done = []
    for place, id in enumerate((nuts, skin.id)):
        asked = verdict(Forget(target=id, reason="r"), who=ActorKind.USER, name=place)
        done += await base.apply(asked)
    for entry, left in zip(done, (True, False), strict=True):
        await base.undo(entry.id, by=Actor(who=ActorKind.USER), now=NOW, user_id="ann")
        assert await hidden(base, said) == [left]
    await base.close()


async def test_no_judge_reads_what_was_forgotten(tmp_path: Path) -> None:
    """Neither as earlier messages, nor if it still waits to be judged: it is not learnt again."""
    script = by_name(monitor=answer(add("Ann is allergic to peanuts.", "allergic to peanuts")))
    async with staged(tmp_path, script, judge_every=9) as stage:
        base = stage.knowledge
        known = await keep(base, "Ann is allergic to peanuts.")
        stage.memory.observe(user_id="ann", session_id="s1", user="I'm allergic to peanuts")
        await stage.memory.forget(known.id, user_id="ann")
        await stage.say("the sun shines")
        await stage.end()
        (request,) = stage.asked("monitor")
        assert "peanuts" not in str(request.messages)
        assert [one.content for one in await base.list("ann")] == []
        states = {one.state for one in await base.journal.turns(user_id="ann")}
        assert states == {TurnState.JUDGED}


def test_one_word_of_a_long_memory_is_chance() -> None:
    """It is a doubt only if it is a good part of the memory: who told much forgets little else."""
    sought = SoughtMemory(
        "In March the police came for the tandem trailer that Ann had bought off Barry Cleave for"
        " $2,200 to carry firewood and gravel; it stood behind the garage, its deck just painted.",
        called=("Ann",),
    )
    others = ("Ann's garage has a new roof.", "Ann carries a knife.", "Jo came down the step.")
    assert [sought.in_memory(one) for one in others] == [Likeness.NONE] * 3
    assert sought.in_memory("Ann paid Barry for a trailer.") is Likeness.POSSIBLE
