"""What goes with a memory that was to be forgotten."""

from pathlib import Path

import pytest

from souffleur.knowledge.forgetting import tells
from souffleur.knowledge.memory import Category, Kind, State
from souffleur.knowledge.operation import Add, By, Delete, Forget, Refusal, Who
from souffleur.knowledge.plan import Scene, withdrawn
from souffleur.knowledge.policy import COMPANION
from tests.build import NOW, memory, open_base, turn, verdict


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
    ],
)
def test_what_tells_of_it(text: str, content: str, names: tuple[str, ...], told: bool) -> None:
    """A text tells of it by a name of its own, or by three quarters of its three or more words."""
    assert tells(text, content, names) is told


async def test_what_the_user_did_not_ask_for_stays(tmp_path: Path) -> None:
    """A memory that was merely wrong goes alone; one that was to be forgotten takes the rest."""
    base = await open_base(tmp_path)
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
        verdict(episode, *known, who=Who.SUMMARIZER, said=said.said()), turns=[said]
    )
    told, one, two = (entry.changes[0].after for entry in outcomes)
    wrong = Delete(target=one.id, reason="r", quote="I never met him")
    await base.apply(verdict(wrong, user="I never met him", name=2))
    assert (await base.get(told.id)).state is State.ACTIVE
    assert not (await base.journal.turn(said.id)).hidden
    asked = Delete(target=two.id, reason="r", quote="forget Tom")
    (gone,) = await base.apply(verdict(asked, user="please forget Tom", name=3))
    assert {change.after.id for change in gone.changes} == {two.id, told.id}
    assert (await base.journal.turn(said.id)).hidden
    await base.undo(gone.id, by=By(who=Who.USER), now=NOW)
    assert (await base.get(told.id)).state is State.ACTIVE
    assert not (await base.journal.turn(said.id)).hidden
    await base.close()


async def test_forgetting_by_hand_takes_the_rest_too(tmp_path: Path) -> None:
    """`forget` is asking in so many words; another user's episode and words stay."""
    base = await open_base(tmp_path)
    add = Add(reason="r", quote="", content="Ann met Tom.", entities=("Tom",))
    tale = {"reason": "r", "quote": "", "category": Category.EPISODE, "kind": Kind.MOMENT}
    mine, theirs = (
        Add(content=f"[2026-01-03 11:00] {who} met Tom.", **tale) for who in ("Ann", "Bob")
    )
    (kept,) = await base.apply(verdict(add, who=Who.HOST))
    await base.apply(verdict(mine, who=Who.SUMMARIZER, name=2))
    await base.apply(verdict(theirs, who=Who.SUMMARIZER, name=3, user_id="bob"))
    said = [turn("Ann met Tom", user_id=name) for name in ("ann", "bob")]
    for one in said:
        base.journal.record(one)
    forget = Forget(target=kept.memory_ids[0], reason="r")
    await base.apply(verdict(forget, who=Who.USER, name=4))
    assert await base.list("ann") == []
    assert len(await base.list("bob")) == 1
    assert [(await base.journal.turn(one.id)).hidden for one in said] == [True, False]
    await base.close()


async def test_what_could_not_be_forgotten_takes_nothing_along(tmp_path: Path) -> None:
    """A memory that another process changed meanwhile stays, and so do the words that tell it."""
    base = await open_base(tmp_path)
    said = turn("I met Tom", "ok")
    base.journal.record(said)
    add = Add(reason="r", quote="", content="Ann met Tom.", entities=("Tom",))
    (kept,) = await base.apply(verdict(add, who=Who.HOST))
    forget = Forget(target=kept.memory_ids[0], reason="r")
    planned = await base.writer.plan(verdict(forget, who=Who.USER, name=2), [])
    await base.memories.merge_payload([forget.target], {"revision": 5, "written_by": "somebody"})
    await base.journal.write(planned)
    (outcome,) = await base.writer.carry_out(planned)
    assert outcome.refused is Refusal.CONFLICT
    assert not (await base.journal.turn(said.id)).hidden
    await base.close()


async def test_two_memories_that_one_episode_tells_go_together(tmp_path: Path) -> None:
    """Forgotten by one verdict, both are gone and so is the episode; nothing is a conflict."""
    base = await open_base(tmp_path)
    tale = {"reason": "r", "quote": "", "category": Category.EPISODE, "kind": Kind.MOMENT}
    known = [
        Add(reason="r", quote="", content=f"Ann met {name}.", entities=(name,))
        for name in ("Tom", "Jim")
    ]
    episode = Add(content="[2026-01-03 11:00] Ann met Tom and Jim.", **tale)
    made = await base.apply(verdict(*known, episode, who=Who.HOST))
    ops = [Forget(target=outcome.memory_ids[0], reason="r") for outcome in made[:2]]
    outcomes = await base.apply(verdict(*ops, who=Who.USER, name=2))
    assert [outcome.refused for outcome in outcomes] == [None, None]
    assert await base.list("ann") == []
    await base.close()


def test_what_was_left_out_before_is_left_out_again() -> None:
    """A portrait that was brought back remembers all that it may not tell."""
    portrait = memory("Ann lives.", category=Category.PROFILE, data={"without": ["Tom"]})
    gone = withdrawn(portrait, "Jim", Scene(verdict(), 0, COMPANION)).after
    assert (gone.state, gone.data["without"]) == (State.FORGOTTEN, ["Tom", "Jim"])
