"""The fields of answers: what a model may write in them, and what becomes of it."""

import json
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, strategies as st
from pydantic import BaseModel, ValidationError

from souffleur.agents.answers import read_answer
from souffleur.agents.fields import MAX_QUOTE_LENGTH, MAX_REMARK_LENGTH, Until
from souffleur.agents.verdict import AddAnswer, MonitorAnswer, ParseContext, to_ops
from souffleur.errors import AnswerError
from souffleur.knowledge.memory import MAX_CONTENT_LENGTH
from souffleur.knowledge.operation import Add, Skip, Update
from tests.build import NOW
from tests.scripted import add, answer, update

BLANKS = ["", " ", "\u3000\n", "\u200b", "\u200b\u2060 \ufeff", "\u3164", "\u202e\u202c"]
DATED = [lambda **days: add("x", "q", **days), lambda **days: update("m1", "x", "q", **days)]
WORDED = [lambda text: add(text, "q"), lambda text: update("m1", text, "q")]
SHANGHAI = ParseContext(now=NOW, zone=ZoneInfo("Asia/Shanghai"))
FAR = ["9999-12-31", "9999-12-24", "9999-12", "9999", "2200-01-01", "2200-01", "12026-01-01",
       "9999-12-31T23:59:59Z", "99991231", "9999-99-99"]  # fmt: skip
OUTSIDE = ["0001-01-01", "0001-01", "1899-12-31", "0001-01-01T00:00:00+14:00"]


def read(*ops: dict[str, Any]) -> MonitorAnswer:
    return MonitorAnswer.model_validate(answer(*ops))


def refused(*ops: dict[str, Any]) -> str:
    """What the model is told of an answer with these operations."""
    with pytest.raises(AnswerError) as caught:
        read_answer(json.dumps(answer(*ops)), MonitorAnswer, lines=True)
    return str(caught.value)


@pytest.mark.parametrize("day", FAR)
@pytest.mark.parametrize("make", DATED)
def test_a_day_that_never_comes_is_no_end(make: Any, day: str) -> None:
    """Models write 9999-12-31 for "for ever": from the year 2200 on, there is no end."""
    (op,) = to_ops(read(make(until=day)), SHANGHAI)
    assert isinstance(op, Add | Update)
    assert op.expires_at is None


@pytest.mark.parametrize(
    ("field", "day"),
    [("since", day) for day in OUTSIDE + FAR] + [("until", day) for day in OUTSIDE],
)
def test_a_day_that_cannot_be_meant_is_told(field: str, day: str) -> None:
    """A start in the year 1 or 9999, or an end before 1900, goes back to the model."""
    assert f"ops.0.{field}: must be a date" in refused(add("x", "q", **{field: day}))


DAYS = st.one_of(
    st.dates().map(str),
    st.dates().map(lambda day: f"{day:%Y-%m}"),
    st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat()),
    st.text("0123456789-T:+Z", max_size=12),
    st.text(max_size=12),
)


@given(DAYS, DAYS, st.timezones())
@example("1900-01-01", "2199-12-31", ZoneInfo("Pacific/Kiritimati"))
@example("1900-01", "2199-12", ZoneInfo("Etc/GMT+12"))
def test_any_day_is_read_or_told(since: str, until: str, zone: ZoneInfo) -> None:
    """Whatever stands for a day, it becomes an operation or a fault that is told."""
    try:
        said = read(add("x", "q", since=since, until=until), update("m1", "x", "q", since=since))
    except ValidationError:
        return
    for op in to_ops(said, ParseContext(now=NOW, zone=zone)):
        assert isinstance(op, Add | Update)
        for moment in (op.valid_from, getattr(op, "expires_at", None)):
            assert moment is None or 1899 <= moment.year <= 2200


def test_days_within_the_span_are_kept() -> None:
    """The first and the last day of the span are days like others."""

    class Plan(BaseModel):
        until: Until = None

    for day in (str(date(1900, 1, 1)), "2199-12-31", "2199-12"):
        assert Plan(until=day).until == day


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("make", WORDED)
def test_a_content_that_says_nothing_is_told(make: Any, blank: str) -> None:
    """White space and what cannot be seen is no memory."""
    assert "ops.0.content: must not be blank" in refused(make(blank))


@pytest.mark.parametrize("make", WORDED)
def test_a_content_is_stripped_and_then_measured(make: Any) -> None:
    """What fits without the space around it fits; one character more is told."""
    full = "x" * MAX_CONTENT_LENGTH
    (op,) = to_ops(read(make(f" {full}\n")), SHANGHAI)
    assert isinstance(op, Add | Update)
    assert op.content == full
    assert f"at most {MAX_CONTENT_LENGTH:,} characters" in refused(make(full + "x"))


def test_a_quote_is_short() -> None:
    """A quote that is a whole talk is told, and how to do better."""
    assert to_ops(read(add("x", "q" * MAX_QUOTE_LENGTH)), SHANGHAI)
    assert "copy as few words as will do" in refused(add("x", "q" * (MAX_QUOTE_LENGTH + 1)))


def test_reasons_are_cut() -> None:
    """A novel of a reason is kept to its first thousand characters."""
    novel = "why " * 9999
    said = read({**add("x", "q"), "reason": novel}, {"op": "SKIP", "reason": novel})
    for op in said.ops:
        assert (len(op.reason), op.reason[-1]) == (MAX_REMARK_LENGTH, "…")


def test_names_are_names() -> None:
    """Blank names and sentences are left out, and of a long list twenty stay."""
    given_names = ["Mo", " ", "\u200b", " Lyon ", "x" * 101, "y" * 100]
    (op,) = to_ops(read(add("x", "q", entities=given_names)), SHANGHAI)
    assert isinstance(op, Add)
    assert op.entities == ("Mo", "Lyon", "y" * 100)
    (op,) = to_ops(read(add("x", "q", entities=[str(n) for n in range(50)])), SHANGHAI)
    assert isinstance(op, Add)
    assert len(op.entities) == 20


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026/11/01", "2026-11-01"),
        ("2026/3/6", "2026-03-06"),
        ("2026-3-6", "2026-03-06"),
        ("2026.11", "2026-11"),
        ("2026年3月6日", "2026-03-06"),
        ("2026年3月", "2026-03"),
        ("2026年", "2026"),
    ],
)
def test_a_date_that_begins_with_the_year_is_read(written: str, day: str) -> None:
    """However its parts are divided, such a date has one meaning."""
    (part,) = read(add("x", "q", since=written)).ops
    assert isinstance(part, AddAnswer)
    assert part.since == day


@pytest.mark.parametrize("written", ["03/01/2026", "1/2/26", "2026/13/01", "2026-1-2-3", "26/1/2"])
def test_a_date_that_may_be_another_is_told(written: str) -> None:
    """What could be read in two ways, or in none, goes back to the model."""
    assert "ops.0.since: must be a date such as" in refused(add("x", "q", since=written))


def test_null_is_an_empty_list() -> None:
    """A list that is null is empty, a flag no, and a remark is left out."""
    op = {**add("x", "q"), "entities": None, "cues": None, "reason": None}
    read_ = read_answer(
        json.dumps({"reason": None, "big": None, "next": None, "ops": [op]}),
        MonitorAnswer,
        lines=True,
    )
    assert read_ == MonitorAnswer(reason="", ops=[AddAnswer(**{**add("x", "q"), "reason": ""})])
    nothing = read_answer('{"reason": "no", "ops": null}', MonitorAnswer, lines=True)
    assert to_ops(nothing, SHANGHAI) == (Skip(reason="no"),)


@pytest.mark.parametrize(
    "dress", ["{}", "```json\n{}\n```", "Here it is: {}", "<think>hm</think>{}"]
)
def test_operations_alone_are_an_answer(dress: str) -> None:
    """A list of operations, or a single one, lacks nothing but an argument."""
    ops = [add("x", "q"), update("m1", "y", "q")]
    several = read_answer(dress.format(json.dumps(ops)), MonitorAnswer, lines=True)
    assert several == MonitorAnswer(reason="", ops=ops)
    one = read_answer(dress.format(json.dumps(ops[0])), MonitorAnswer, lines=True)
    assert one == MonitorAnswer(reason="", ops=ops[:1])


@pytest.mark.parametrize("name", ["NOOP", "none", " No-Op ", "NO_OP"])
def test_no_operation_is_a_skip(name: str) -> None:
    """What other memories call a SKIP is one here."""
    said = json.dumps({"reason": "", "ops": [{"op": name, "reason": "small talk"}]})
    for text in (said, f"[{name}] small talk") if name in ("NOOP", "none") else (said,):
        answered = read_answer(text, MonitorAnswer, lines=True)
        assert to_ops(answered, SHANGHAI) == (Skip(reason="small talk"),)


@pytest.mark.parametrize(("rated", "meant"), [(0.8, "high"), (0.5, "medium"), (0.1, "low")])
def test_a_part_of_one_is_an_importance(rated: float, meant: str) -> None:
    """A fraction says in which third it lies; a mark on an unknown scale goes back."""
    (part,) = read(add("x", "q", importance=rated)).ops
    assert isinstance(part, AddAnswer)
    assert part.importance == meant
    for odd in (1, 3, 0.0, 7.5, "4/5"):
        assert "importance: must be one of" in refused(add("x", "q", importance=odd))
