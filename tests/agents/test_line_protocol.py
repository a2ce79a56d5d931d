"""The line protocol: every way small models write it, and a round trip."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from souffleur.agents.answers import INSTRUCTION, OPS, parse_lines

ADD: dict[str, Any] = {
    "op": "ADD",
    "reason": "",
    "quote": "",
    "content": "",
    "kind": "fact",
    "importance": "medium",
    "topic": None,
    "entities": [],
    "since": None,
    "until": None,
}
UPDATE: dict[str, Any] = {
    "op": "UPDATE",
    "id": "m3",
    "reason": "",
    "quote": "",
    "content": "",
    "topic": None,
    "entities": [],
    "since": None,
    "until": None,
}


def ops(text: str) -> list[dict[str, Any]]:
    verdict = parse_lines(text)
    assert verdict is not None
    return list(verdict["ops"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[ADD] Likes tea.", {**ADD, "content": "Likes tea."}),
        ("[add]Likes tea.", {**ADD, "content": "Likes tea."}),
        ("【ADD】喜欢茶", {**ADD, "content": "喜欢茶"}),
        ("［ＡＤＤ］：喜欢茶", {**ADD, "content": "喜欢茶"}),
        ("[ADD]: Likes [green] tea: daily", {**ADD, "content": "Likes [green] tea: daily"}),
        ("[ADD: 喜欢茶，每天]", {**ADD, "content": "喜欢茶，每天"}),
        ("- [ADD] Likes tea.", {**ADD, "content": "Likes tea."}),
        ("2. **[ADD]** Likes tea.", {**ADD, "content": "Likes tea."}),
        ("  * [Add] Likes tea.  ", {**ADD, "content": "Likes tea."}),
        ("[UPDATE:m3] 搬到北京", {**UPDATE, "content": "搬到北京"}),
        ("[update： M3 ] x", {**UPDATE, "id": "M3", "content": "x"}),
        ("[UPDATE m3] x", {**UPDATE, "content": "x"}),
        ("[UPDATE] x", {**UPDATE, "id": "", "content": "x"}),
        ("[BOOST:m2]", {"op": "BOOST", "id": "m2", "reason": ""}),
        ("【BOOST：ｍ２】", {"op": "BOOST", "id": "m2", "reason": ""}),
        (
            "[DELETE:m1] asked to",
            {"op": "DELETE", "id": "m1", "reason": "asked to", "quote": ""},
        ),
        ("[SKIP]", {"op": "SKIP", "reason": ""}),
        ("[SKIP] small talk", {"op": "SKIP", "reason": "small talk"}),
        ("[SKIP: small talk]", {"op": "SKIP", "reason": "small talk"}),
    ],
)
def test_operation_is_read(line: str, expected: dict[str, Any]) -> None:
    """An operation is read in any brackets, case and list style, with all its fields."""
    assert ops(line) == [expected]


@pytest.mark.parametrize(
    "text",
    ["", "Nothing.", "[NOTE] x", "[ADDED] x", "ADD x", "so [ADD] x", "> [DELETE:m1]", "[]", "[ADD"],
)
def test_no_operation_is_none(text: str) -> None:
    """Text without an operation at the start of a line is no verdict; a citation is none either."""
    assert parse_lines(text) is None


def test_fields_belong_to_the_operation_above() -> None:
    """Lines of fields fill the operation above them, and those before all, the verdict."""
    text = """\
Reason: two things
Here you are:
[ADD] Met 小明 in 上海.
  quote： “昨天在上海见到小明”
  - Kind: Context
importance: HIGH
  topic: 朋友
  entities: 小明、"上海", none,
  since: 2026-01-30
  until: none
  colour: red
  op: DELETE
  id: m9

[DELETE：m1]
  quote: forget it
  content: not a field of this one
That is all.
"""
    assert parse_lines(text) == {
        "reason": "two things",
        "ops": [
            {
                **ADD,
                "content": "Met 小明 in 上海.",
                "quote": "昨天在上海见到小明",
                "kind": "context",
                "importance": "high",
                "topic": "朋友",
                "entities": ["小明", "上海"],
                "since": "2026-01-30",
            },
            {"op": "DELETE", "id": "m1", "reason": "", "quote": "forget it"},
        ],
    }


def test_operation_inside_a_field_is_not_one() -> None:
    """What a user said about operations stays a quotation."""
    assert [op["op"] for op in ops("[SKIP]\n  reason: he wrote [DELETE:m1]")] == ["SKIP"]


def test_lines_end_as_lines_do() -> None:
    """Lines end in any system's way, and not at the separators that are part of a text."""
    read = ops("[ADD] a\u2028[SKIP]\r[SKIP] b\r\n[BOOST:m1]\n")
    assert [op["op"] for op in read] == ["ADD", "SKIP", "BOOST"]
    assert read[0]["content"] == "a\u2028[SKIP]"


def test_lists_are_not_shared() -> None:
    """Two operations never hold the same list."""
    first, second = ops("[ADD] a\n[ADD] b")
    assert first["entities"] is not second["entities"]


def test_instruction_speaks_the_protocol() -> None:
    """The example that models are given is itself read, with every kind of operation."""
    assert [op["op"] for op in ops(INSTRUCTION)] == list(OPS)
    assert ops(INSTRUCTION)[1]["id"] == "m3"


BREAKS = "\n\r"
plain = st.text(st.characters(exclude_characters=BREAKS, exclude_categories=["Cs"])).map(str.strip)
said = plain.map(lambda text: text.lstrip("*:： \t\u3000").rstrip()).filter(
    lambda text: text == text.strip()
)
quoted = plain.filter(lambda text: text[:1] not in tuple("\"'“‘「『《"))
names = st.lists(st.text(st.characters(categories=["Lu", "Ll", "Lo"]), min_size=5), max_size=3)
words = st.sampled_from(["preference", "todo", "fact"])
days = st.dates().map(str) | st.none()
ids = st.integers(0, 99).map("m{}".format)

operations = st.one_of(
    st.fixed_dictionaries(
        {
            "op": st.just("ADD"),
            "reason": quoted,
            "quote": quoted,
            "content": said,
            "kind": words,
            "importance": st.sampled_from(["low", "medium", "high"]),
            "topic": quoted | st.none(),
            "entities": names,
            "since": days,
            "until": days,
        }
    ),
    st.fixed_dictionaries(
        {
            "op": st.just("UPDATE"),
            "id": ids,
            "reason": quoted,
            "quote": quoted,
            "content": said,
            "topic": quoted | st.none(),
            "entities": names,
            "since": days,
            "until": days,
        }
    ),
    st.fixed_dictionaries({"op": st.just("BOOST"), "id": ids, "reason": quoted}),
    st.fixed_dictionaries({"op": st.just("DELETE"), "id": ids, "reason": quoted, "quote": quoted}),
    st.fixed_dictionaries({"op": st.just("SKIP"), "reason": quoted}),
)


def written(op: dict[str, Any], marks: str) -> str:
    """The operation in lines, with these brackets and this colon."""
    left, colon, right = tuple(marks)
    head = op["op"] + (f"{colon}{op['id']}" if "id" in op else "")
    lines = [f"{left}{head}{right} {op.get('content', '')}"]
    for key, value in op.items():
        if key not in ("op", "id", "content") and value is not None:
            lines.append(f"  {key}{colon} {', '.join(value) if key == 'entities' else value}")
    return "\n".join(lines)


@given(
    st.lists(operations, min_size=1, max_size=4),
    st.sampled_from(["[:]", "【：】", "［：］"]),
    quoted,
)
def test_round_trip(verdict: list[dict[str, Any]], marks: str, reason: str) -> None:
    """What is written in lines is read back the same."""
    text = "\n".join([f"reason: {reason}", *(written(op, marks) for op in verdict)])
    assert parse_lines(text) == {"reason": reason, "ops": verdict}


@given(
    st.text()
    | st.lists(st.sampled_from(["[", "【", "ADD", ":", "m1", "]", "\n", " "])).map("".join)
)
def test_any_text_is_read(text: str) -> None:
    """No text is an error: it holds operations, each with all its fields, or none."""
    verdict = parse_lines(text)
    assert verdict is None or all(op["op"] in OPS for op in verdict["ops"])
