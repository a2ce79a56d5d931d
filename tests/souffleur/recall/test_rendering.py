"""How the block is written: one line each, no headings but ours, cuts only after a sentence."""

from dataclasses import replace
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.memory import Category, MemoryState
from souffleur.knowledge.text.sentences import sentences
from souffleur.recall.rank import leading
from souffleur.recall.rendering import (
    MAX_SIDE_TOKENS,
    OPEN_FOR,
    RenderOptions,
    clean,
    ended_at,
    estimate_tokens,
    tell,
)
from tests.build import NOW, days, memory, turn

SHANGHAI = ZoneInfo("Asia/Shanghai")
ZH = RenderOptions("主人", "小祥", "zh", SHANGHAI, NOW)
EN = RenderOptions("Ann", "Mo", "en", ZoneInfo("America/Los_Angeles"), NOW)
texts = st.text(alphabet='ab3 茶ラ。！.!?…\n\r\u2028#[-*=>"”)', max_size=80)


def told(content: str, *, long: bool = False, options: RenderOptions = ZH, **data: object) -> str:
    """An episode's line."""
    one = memory(content, category=Category.EPISODE, data=data)
    return tell(one, options, estimate_tokens, long=long)


def exchange(user: str, assistant: str = "", options: RenderOptions = ZH) -> str:
    """A raw turn's line."""
    return tell(turn(user, assistant), options, estimate_tokens, long=True)


@given(texts)
def test_no_line_of_a_narrative_poses_as_a_heading(text: str) -> None:
    """Neither a heading, a rule, an underline, a list nor a bracket starts a line."""
    for line in clean(text).splitlines():
        assert not line.startswith(("#", "- ", "* ", "> ", "[", "---", "===", " "))
    assert "\n\n\n" not in clean(text)
    assert clean(clean(text)) == clean(text)


def test_a_narrative_keeps_its_paragraphs() -> None:
    """Blank lines stay, and so do lines within a paragraph."""
    assert clean("  One.\n\n\nTwo,\nthree.  \n") == "One.\n\nTwo,\nthree."


@given(texts)
def test_sentences_are_the_whole_text(text: str) -> None:
    """Put together they are the text, to the last space."""
    assert "".join(sentences(text)) == text
    assert all(sentences(text))


@given(st.text(alphabet='ab3 茶.!?…\n")*', max_size=80))
def test_no_sentence_ends_in_a_word_or_number(text: str) -> None:
    """Between two of them is white space, or a character of a script without spaces begins."""
    for one, following in pairwise(sentences(text)):
        assert not one[-1].isalnum()
        assert one[-1].isspace() or following[0] == "茶"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Costs 3.5 at a.b.com! Or 4.", ["Costs 3.5 at a.b.com! ", "Or 4."]),
        ("1. Chop.\n2. Boil.", ["1. Chop.\n", "2. Boil."]),
        ("“走吗？”“走！”他说……好", ["“走吗？”", "“走！”", "他说……", "好"]),
        ("e.g., tea (hot.) So", ["e.g., tea (hot.) ", "So"]),
        ("好！！走吗？!走", ["好！！", "走吗？!", "走"]),
        ("no stop\nat all", ["no stop\n", "at all"]),
        ("版本3.5好。", ["版本3.5好。"]),
        ("", []),
    ],
)
def test_where_a_sentence_ends(text: str, expected: list[str]) -> None:
    """At stops and new lines, closing marks included; not at a list's number."""
    assert sentences(text) == expected


def test_a_long_run_of_stops_is_read_in_time() -> None:
    """Half a million stops before a letter take no longer than other text."""
    assert len(sentences("." * 500_000 + "a")) == 1


@given(texts, st.integers(0, 60))
def test_leading_takes_as_many_sentences_as_fit(text: str, room: int) -> None:
    """All, or the longest front that has room for the mark after it, or nothing."""
    cut = leading(text, lambda part: len(part) <= room, "~")
    if len(text) <= room:
        assert cut == text
    else:
        parts = sentences(text)
        fronts = ["".join(parts[: n + 1]).rstrip() + "~" for n in range(len(parts))]
        assert cut == max((f for f in fronts if len(f) <= room), key=len, default="")


def test_an_episode_is_its_dated_line() -> None:
    """Short, it is what it says, and the unresolved matter in a bracket."""
    assert told("[2026-01-03 18:00] 聊了\n看展。") == "[2026-01-03 18:00] 聊了 看展。"
    assert (
        told("[…] 聊了看展。", unresolved="周末\n去不去") == "[…] 聊了看展。（未了：周末 去不去）"
    )
    assert told("[…] Tea.", options=EN, unresolved="Which?") == "[…] Tea. (open: Which?)"


def test_what_a_talk_left_open_is_not_open_for_ever() -> None:
    """A month later the talk is told without it."""
    later = replace(EN, now=NOW + OPEN_FOR + days(1))
    assert told("[…] Tea.", options=later, unresolved="Which?") == "[…] Tea."


def test_an_episode_at_length_has_its_key_facts() -> None:
    """They follow the line, set off as the language does; the open matter stays last."""
    facts = ["喜欢莫奈", "", "展到\n三月"]
    assert told("[…] 聊了看展。", key_facts=facts, long=True) == "[…] 聊了看展。喜欢莫奈；展到 三月"
    assert told("[…] 聊了看展", key_facts=facts, long=True) == "[…] 聊了看展：喜欢莫奈；展到 三月"
    english = told("[…] Tea", options=EN, key_facts=["Green", "Hot"], unresolved="When?", long=True)
    assert english == "[…] Tea: Green; Hot (open: When?)"


@pytest.mark.parametrize("facts", [None, [], [""], "not a list", 7])
def test_an_episode_without_key_facts_is_its_line(facts: object) -> None:
    """Data of another shape is left out; nothing fails."""
    assert told("[…] Tea.", options=EN, key_facts=facts, long=True) == "[…] Tea."


def test_a_raw_turn_is_told_by_the_users_clock() -> None:
    """10:00 UTC is the evening in Shanghai and two at night in Los Angeles."""
    assert exchange("想吃\n拉面", "好") == "[2026-01-03 18:00] 主人：想吃 拉面 / 小祥：好"
    assert exchange("Tea?", "Yes", EN) == "[2026-01-03 02:00] Ann: Tea? / Mo: Yes"


def test_the_date_of_a_raw_turn_is_the_local_one() -> None:
    """In Auckland it was already tomorrow."""
    late = turn("hi").model_copy(update={"at": turn("hi").at.replace(hour=23)})
    there = RenderOptions("Ann", "Mo", "en", ZoneInfo("Pacific/Auckland"), NOW)
    assert tell(late, there, len, long=False).startswith("[2026-01-04 12:00]")


def test_a_side_that_was_not_said_is_not_told() -> None:
    """A lone greeting has one side; a turn whose words have expired has no line."""
    assert exchange("", "早") == "[2026-01-03 18:00] 小祥：早"
    assert exchange(" ", "\n") == ""


def test_a_long_side_keeps_its_first_sentences() -> None:
    """Whole sentences within 200 tokens, then an ellipsis; the other side is as it was."""
    one = "我今天去看了海边的灯塔。"
    line = exchange(one * 50, "真好。")
    said = line.removeprefix("[2026-01-03 18:00] 主人：").removesuffix(" / 小祥：真好。")
    times = said.count(one)
    assert said == one * times + "…"
    assert estimate_tokens(said) <= MAX_SIDE_TOKENS < estimate_tokens(one * (times + 1) + "…")


def test_a_side_without_an_early_stop_is_left_out() -> None:
    """Where not even the first sentence fits, half a sentence is not told."""
    assert exchange("茶" * 500 + "。", "嗯。") == "[2026-01-03 18:00] 小祥：嗯。"
    assert exchange("茶" * 500) == ""


def test_a_new_line_ends_a_sentence_of_a_raw_turn() -> None:
    """Lines without stops are cut between lines, and shown on one."""
    line = exchange("\n".join(["Three cups of tea and 3.5 of milk"] * 100), options=EN)
    said = line.removeprefix("[2026-01-03 02:00] Ann: ")
    assert said.endswith("of milk…")
    assert "\n" not in said


def test_what_is_over_says_since_when() -> None:
    """A plan after its time, a fact after its end, and what was replaced; not what only faded."""

    def line(**fields: Any) -> str:
        return tell(memory("Ann rows.", **fields), EN, len, long=False)

    assert line(valid_until=NOW) == line(expires_at=NOW) == "Ann rows. (until 2026-01-03)"
    assert line(state=MemoryState.SUPERSEDED) == "Ann rows. (until 2026-01-03)"
    assert line(valid_until=NOW + days(1)) == line(state=MemoryState.ARCHIVED) == "Ann rows."


def test_an_end_before_it_was_told_is_not_its_end() -> None:
    """What was replaced held until it was replaced, whatever day its successor names."""
    told = memory("Ann gave up smoking on 9 June.", created_at=NOW, valid_until=NOW - days(2))
    replaced = {"state": MemoryState.SUPERSEDED, "updated_at": NOW + days(3)}
    assert ended_at(told.model_copy(update=replaced), NOW + days(9)) == NOW + days(3)
    assert ended_at(told, NOW + days(9)) is None
