"""The estimated cost of a replay: requests and tokens by name, and dollars if prices are set.

The requests for monitor and episodes follow from the dialogue and the window rule. The lengths of
known memories and of answers are typical values. The real number is up to a quarter higher,
because some answers are asked for again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rich import box
from rich.console import Console
from rich.table import Table

from souffleur.dialogue import Dialogue, Exchange
from souffleur.knowledge.portrait_rule import EPISODES_PER_PORTRAIT, MAX_PORTRAIT_AGE
from souffleur.knowledge.session import (
    MIN_EPISODE_MESSAGES,
    Segment,
    Session,
    WindowEntry,
    append_turn,
    close_window,
)
from souffleur.prompts import language_of, render
from souffleur.recall.rendering import estimate_tokens
from souffleur.settings import Settings

KNOWN_TOKENS = 600
"""Tokens of the known memories that the monitor sees."""
EARLIER_TURNS = 3
"""Earlier turns that the monitor sees as well."""
PORTRAIT_TOKENS = 1500
"""Tokens of the sources of a portrait."""
BLOCK_TOKENS = 1500
"""Tokens of a whispered block."""
ANSWER_TOKENS = {"monitor": 150, "episode": 300, "portrait": 500, "answer": 60, "grade": 100}
"""Tokens of an answer, by name of request."""


@dataclass(frozen=True)
class Cost:
    """The cost of some requests; costs can be added.

    >>> Cost(1, 900, 40) + Cost(2, 100, 10)
    Cost(calls=3, tokens_in=1000, tokens_out=50)
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
        )

    def dollars(self, settings: Settings) -> float:
        """Return the price in dollars; 0 if the settings have no prices."""
        return (
            self.tokens_in * settings.price_in + self.tokens_out * settings.price_out
        ) / 1_000_000


Estimate = Mapping[str, Cost]
"""Costs by name of request."""


@dataclass(frozen=True)
class Limit:
    """The amount that may be spent without asking."""

    calls: int | None = None
    dollars: float | None = None

    def allows(self, whole: Cost, settings: Settings) -> bool:
        """Tell whether a limit is set and all limits that are set are kept.

        A limit in dollars is not kept if no prices are set.
        """
        priced = bool(settings.price_in or settings.price_out)
        kept = []
        if self.calls is not None:
            kept.append(whole.calls <= self.calls)
        if self.dollars is not None:
            kept.append(priced and whole.dollars(settings) <= self.dollars)
        return bool(kept) and all(kept)


def replay_estimate(dialogue: Dialogue, settings: Settings) -> Estimate:
    """Estimate the requests of a replay: monitor, episodes and portraits."""
    monitor = Cost()
    for session in dialogue.sessions:
        size = settings.judge_every or len(session.turns)
        for start in range(0, len(session.turns), size):
            seen = session.turns[max(0, start - EARLIER_TURNS) : start + size]
            judged = "\n".join(f"{turn.user}\n{turn.assistant}" for turn in seen)
            monitor += _asked("monitor", judged, KNOWN_TOKENS)
    segments = list(_segments(dialogue, settings))
    told = (_asked("episode", _words(dialogue, segment)) for segment in segments)
    portraits = _portraits(dialogue, (segment.at for segment in segments))
    rules = estimate_tokens(render("portrait", "en", **_NAMES))
    return {
        "monitor": monitor,
        "episode": sum_costs(told),
        "portrait": Cost(
            portraits, portraits * (rules + PORTRAIT_TOKENS), portraits * ANSWER_TOKENS["portrait"]
        ),
    }


def sum_estimates(estimates: Iterable[Estimate]) -> Estimate:
    """Return the sum of several estimates."""
    added: dict[str, Cost] = {}
    for estimate in estimates:
        for name, cost in estimate.items():
            added[name] = added.get(name, Cost()) + cost
    return added


def sum_costs(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs."""
    return sum(costs, start=Cost())


def show_estimate(estimate: Estimate, settings: Settings, console: Console) -> None:
    """Print the cost by name of request, and in total."""
    priced = bool(settings.price_in or settings.price_out)
    head = ("requests", "about", "tokens in", "tokens out", *(("dollars",) if priced else ()))
    table = Table(*head, box=box.SIMPLE_HEAD)
    for name, cost in [*estimate.items(), ("all", sum_costs(estimate.values()))]:
        figures = (f"{cost.calls:,}", f"{cost.tokens_in:,}", f"{cost.tokens_out:,}")
        dollars = (f"{cost.dollars(settings):.2f}",) if priced else ()
        table.add_row(name, *figures, *dollars)
    console.print(table)
    if not priced:
        console.print("No prices are set (SOUFFLEUR_PRICE_IN, SOUFFLEUR_PRICE_OUT): no dollars.")


_NAMES = {"user": "the user", "assistant": "the assistant"}


def _asked(name: str, text: str, besides: int = 0) -> Cost:
    rules = render(name, language_of(text), **_NAMES)
    return Cost(1, estimate_tokens(rules) + estimate_tokens(text) + besides, ANSWER_TOKENS[name])


def _segments(dialogue: Dialogue, settings: Settings) -> Iterable[Segment]:
    """Yield the segments of the dialogue that become episodes."""
    for part in dialogue.sessions:
        first = part.turns[0].at
        session = Session(id=part.id, user_id="", session_id=part.id, since=first, at=first)
        for index, turn in enumerate(part.turns):
            held = WindowEntry(id=str(index), at=turn.at, messages=_messages(turn))
            session, left = append_turn(session, held, settings.window_rule)
            yield from (segment for segment in left if segment.messages >= MIN_EPISODE_MESSAGES)
        _, left = close_window(session)
        yield from (segment for segment in left if segment.messages >= MIN_EPISODE_MESSAGES)


def _words(dialogue: Dialogue, segment: Segment) -> str:
    (session,) = (one for one in dialogue.sessions if one.id == segment.session_id)
    turns = [session.turns[int(id)] for id in segment.turn_ids]
    return "\n".join(f"{turn.user}\n{turn.assistant}" for turn in turns)


def _portraits(dialogue: Dialogue, told: Iterable[datetime]) -> int:
    """Count the portraits that become due; `told` are the times of the episodes.

    The rule for important news is left out.
    """
    said = (turn.at for session in dialogue.sessions for turn in session.turns)
    moments = sorted([*((at, 0) for at in said), *((at, 1) for at in told)])
    count, since = 0, 0
    began: datetime | None = None
    for at, new in moments:
        since += new
        if not since:
            continue
        began = began or at
        if since >= EPISODES_PER_PORTRAIT or at - began >= MAX_PORTRAIT_AGE:
            count, since, began = count + 1, 0, at
    return count


def _messages(turn: Exchange) -> int:
    return bool(turn.user) + bool(turn.assistant)
