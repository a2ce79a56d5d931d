"""The breaker: one request now and then while an endpoint is in trouble, all of them otherwise."""

from datetime import timedelta

from hypothesis import given, strategies as st

from souffleur.errors import AnswerError, EndpointError, OutageError
from souffleur.knowledge.network.breaker import MAX_PAUSE, Breaker, Outage
from tests.build import NOW

DOWN = EndpointError("down")
SLOW = EndpointError("slow", slow=True)
REFUSED = EndpointError("refused for its words", outage=False)


class Stand:
    """A breaker with seconds set by hand, and what it told."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.told: list[str] = []
        self.breaker = Breaker(
            "judging",
            pause=2.0,
            steady=lambda: self.seconds,
            now=lambda: NOW + timedelta(seconds=self.seconds),
            on_outage=lambda what, outage: self.told.append(f"{what} {outage.error}"),
            on_return=lambda: self.told.append("back"),
        )

    def ask(self, error: Exception | None = None) -> str:
        """What comes of a request that would end in this error."""
        try:
            with self.breaker.attempt():
                if error:
                    raise error
        except OutageError:
            return "not asked"
        except (EndpointError, AnswerError):
            return "failed"
        return "answered"


def test_after_a_failure_one_asks_at_a_time_less_and_less() -> None:
    """The pause doubles up to its bound, and is over with the first answer."""
    stand, pauses = Stand(), []
    stand.ask(DOWN)
    for _ in range(10):
        assert stand.ask() == "not asked"
        pauses.append(stand.breaker.retry_in)
        stand.seconds += stand.breaker.retry_in
        assert stand.ask(DOWN) == "failed"
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, MAX_PAUSE, MAX_PAUSE]
    assert stand.breaker.trouble == "judging has failed since 2026-01-03 10:00 UTC: down"
    stand.seconds += MAX_PAUSE
    assert [stand.ask(), stand.ask()] == ["answered", "answered"]
    assert (stand.breaker.trouble, stand.told) == ("", ["judging down", "back"])


def test_while_one_asks_the_others_do_not() -> None:
    """A pause that is over lets a single request through until it has ended."""
    stand = Stand()
    stand.ask(DOWN)
    stand.seconds = 99.0
    with stand.breaker.attempt():
        assert stand.ask() == "not asked"
    assert stand.ask() == "answered"


def test_an_endpoint_may_ask_for_a_longer_pause_within_bounds() -> None:
    """Retry-After counts if it is longer than ours, and not beyond the longest pause."""
    stand = Stand()
    stand.ask(EndpointError("busy", retry_after=30.0))
    assert stand.breaker.retry_in == 30.0
    stand.breaker.let_try()
    stand.ask(EndpointError("busy", retry_after=86400.0))
    assert stand.breaker.retry_in == MAX_PAUSE


def test_a_single_time_out_is_told_and_keeps_nobody_from_asking() -> None:
    """Two in a row neither; three do."""
    stand = Stand()
    assert [stand.ask(SLOW), stand.ask(SLOW)] == ["failed", "failed"]
    assert "slow" in stand.breaker.trouble
    assert [stand.ask(SLOW), stand.ask()] == ["failed", "not asked"]


def test_what_is_an_answer_ends_an_outage() -> None:
    """An endpoint that answers nonsense is there."""
    stand = Stand()
    stand.ask(DOWN)
    stand.seconds = 99.0
    assert stand.ask(AnswerError("no JSON")) == "failed"
    assert (stand.breaker.trouble, stand.told) == ("", ["judging down", "back"])


def test_a_refusal_ends_no_outage() -> None:
    """As each request may be refused; the next one may be asked at once, and tells."""
    stand = Stand()
    stand.ask(DOWN)
    stand.seconds = 99.0
    assert stand.ask(REFUSED) == "failed"
    stand.breaker.trip(REFUSED)
    assert stand.breaker.retry_in == 4.0
    stand.seconds += 4.0
    assert [stand.ask(REFUSED), stand.ask()] == ["failed", "answered"]
    assert (stand.breaker.trouble, stand.told) == ("", ["judging down", "back"])


@given(st.lists(st.sampled_from([None, DOWN, SLOW, REFUSED]), max_size=40), st.integers(0, 400))
def test_it_is_never_shut_for_good(ends: list[EndpointError | None], later: int) -> None:
    """Whatever came before, after the longest pause the next request is let through."""
    stand = Stand()
    for end in ends:
        stand.ask(end)
        stand.seconds += later
    stand.seconds += MAX_PAUSE
    assert stand.ask() == "answered"
    assert isinstance(stand.breaker.outage, Outage) is False
