"""The window of a session, and what leaves it."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from souffleur.errors import UnreadableError
from souffleur.knowledge.session import (
    Segment,
    SegmentState,
    Session,
    WindowEntry,
    WindowRule,
    append_turn,
    close_window,
    is_idle,
)
from souffleur.knowledge.store.codecs import packed_session_point, session_point, to_session
from souffleur.knowledge.store.engine.points import Point
from tests.build import NOW

RULE = WindowRule()
SILENCE = timedelta(minutes=31)

said = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from([timedelta(minutes=1), SILENCE])), max_size=120
)
rules = st.builds(
    WindowRule,
    size=st.integers(4, 40),
    keep=st.integers(1, 3),
    idle=st.sampled_from([None, timedelta(minutes=30)]),
)


def empty() -> Session:
    return Session(id="s", user_id="ann", session_id="s1", since=NOW, at=NOW)


def talk(
    turns: list[tuple[int, timedelta]], rule: WindowRule
) -> tuple[Session, list[Segment], list[WindowEntry]]:
    """A session after these turns, what left it, and all that was said."""
    session, left, every, at = empty(), list[Segment](), list[WindowEntry](), NOW
    for index, (messages, pause) in enumerate(turns):
        at += pause
        turn = WindowEntry(id=str(index), at=at, messages=messages)
        every.append(turn)
        session, segments = append_turn(session, turn, rule)
        left += segments
    return session, left, every


@given(said, rules)
def test_each_turn_is_in_one_segment_or_in_the_window(
    turns: list[tuple[int, timedelta]], rule: WindowRule
) -> None:
    """Segments and window together are what was said, in order, nothing twice."""
    session, left, every = talk(turns, rule)
    ids = [id for segment in left for id in segment.turn_ids] + [h.id for h in session.window]
    assert ids == [turn.id for turn in every]
    assert [segment.number for segment in left] == list(range(session.segments))
    assert sum(segment.messages for segment in left) + session.messages == sum(
        turn.messages for turn in every
    )


@given(said, rules)
def test_a_window_is_read_however_it_is_stored(
    turns: list[tuple[int, timedelta]], rule: WindowRule
) -> None:
    """As one text and entry by entry it is the same, and the rest of its session as well."""
    session, _, _ = talk(turns, rule)
    packed, plain = packed_session_point(session), session_point(session)
    assert isinstance(packed.payload["window"], str)
    assert {**packed.payload, "window": ""} == {**plain.payload, "window": ""}
    assert to_session(packed) == to_session(plain) == session


def test_a_damaged_window_is_told() -> None:
    """What is no window is an error that quotes nothing of it."""
    point = packed_session_point(empty())
    with pytest.raises(UnreadableError, match="window: json_invalid") as told:
        to_session(Point(point.id, {**point.payload, "window": "[secret"}))
    assert "secret" not in str(told.value)


@given(said, rules)
def test_the_window_never_overflows(turns: list[tuple[int, timedelta]], rule: WindowRule) -> None:
    """However the talk goes, no more than the rule's size is held."""
    session, _, _ = talk(turns, rule)
    assert session.messages <= rule.size


def test_the_newest_ten_stay() -> None:
    """At 32 messages 22 leave and 10 stay."""
    session, (segment,), _ = talk([(2, timedelta(minutes=1))] * 16, RULE)
    assert (segment.messages, session.messages) == (22, 10)
    assert segment.state is SegmentState.WAITING


def test_a_silence_ends_the_talk() -> None:
    """After half an hour the whole window leaves before the new turn enters it."""
    session, (segment,), _ = talk([(2, timedelta(minutes=1))] * 5 + [(2, SILENCE)], RULE)
    assert (segment.messages, session.messages) == (10, 2)


def test_without_an_idle_time_silence_ends_nothing() -> None:
    """Without an idle time only the host ends a session."""
    rule = WindowRule(idle=None)
    session, left, _ = talk([(2, timedelta(days=3))] * 5, rule)
    assert (left, session.messages) == ([], 10)
    assert not is_idle(session, NOW + timedelta(days=90), rule)


def test_fewer_than_three_messages_are_no_episode() -> None:
    """They leave the window and wait for nothing."""
    session, _, _ = talk([(2, timedelta(minutes=1))], RULE)
    session, (segment,) = close_window(session)
    assert segment.state is SegmentState.SMALL_TALK
    assert session.messages == 0
    assert close_window(session) == (session, [])


def test_a_replaced_reply_stays_in_its_place() -> None:
    """A turn seen again takes the place of its former version, and is not counted twice."""
    session, _, _ = talk([(2, timedelta(minutes=1))] * 3, RULE)
    again, left = append_turn(session, WindowEntry(id="1", at=NOW, messages=1), RULE)
    assert [held.id for held in again.window] == ["0", "1", "2"]
    assert (again.messages, left) == (5, [])


def test_idle_is_half_an_hour_of_silence() -> None:
    """A session is idle after half an hour, not a second sooner, never with an empty window."""
    session, _, _ = talk([(2, timedelta(0))], RULE)
    assert not is_idle(session, NOW + timedelta(minutes=30, seconds=-1), RULE)
    assert is_idle(session, NOW + timedelta(minutes=30), RULE)
    assert not is_idle(empty(), NOW + timedelta(days=1), RULE)
