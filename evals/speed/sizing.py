"""What a host needs for so many users, worked out from what was measured, with the arithmetic."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from souffleur.evals.command import ToJson, make_app

MILLION = 1e6
DAY = 86_400
"""Seconds of a day."""
MONTH = 30
"""Days of a month."""
YEAR = 365
"""Days of a year."""


@dataclass(frozen=True)
class Measured:
    """Figures that were measured; docs/sizing.md says how."""

    disk: float = 6.1
    """MB on disk for 1,000 memories with vectors of 512 numbers."""
    engine: float = 1.45
    """MB of the engine's own memory for 1,000 memories that are stored."""
    turn: float = 6.3
    """MB of the engine's own memory for 1,000 turns and their entries, which stay, wordless."""
    hot: float = 0.6
    """MB that 1,000 memories of a user who speaks take besides."""
    base: float = 84.0
    """MB of own memory of a process with an empty store."""
    calls: float = 1.5
    """Calls of the model for a turn, judged one by one: the turn's own, and what is shared."""
    tokens_in: float = 2_291.0
    """Tokens of prompts for a turn, judged one by one, in all its calls."""
    tokens_out: float = 179.0
    """Tokens of answers for a turn."""
    prompts: tuple[tuple[int, float], ...] = ((1, 2_454.0), (5, 525.0), (10, 281.0))
    """Turns in a call, and tokens of the judge's prompts for each of them, estimated."""
    processor: float = 0.010
    """Seconds of one core for a call that judges, beside the model; here for each turn."""

    def share(self, together: int) -> float:
        """Return the part of the judge's tokens that is left with so many turns to a call."""
        prompts = dict(self.prompts)
        return prompts[together] / prompts[1]


@dataclass(frozen=True)
class Assumed:
    """What a host has to know or guess."""

    users: int = 1_000
    memories: int = 1_000
    """Memories of a user."""
    active: float = 0.1
    """Share of the users whose memories are in use at the same time."""
    turns: float = 10.0
    """Turns of a user and day."""
    together: int = 1
    """Turns judged in one call: 1, 5 or 10."""
    peak: float = 3.0
    """Turns a second in the busiest hour, as a multiple of the day's mean."""
    delay: float = 2.0
    """Seconds that the model takes for a call."""
    price_in: float = 0.4
    """Dollars per million tokens of prompts."""
    price_out: float = 1.6
    """Dollars per million tokens of answers."""


@dataclass(frozen=True)
class Line:
    """One result."""

    name: str
    value: float
    unit: str
    arithmetic: str
    """How it was worked out."""


def size_host(assumed: Assumed, measured: Measured = Measured()) -> list[Line]:
    """Return what such a host needs.

    >>> lines = {one.name: one for one in size_host(Assumed(users=1_000))}
    >>> lines["disk"].value, lines["disk"].arithmetic
    (6.1, '1,000,000 / 1,000 x 6.1 MB')
    >>> lines["calls a day"].value, lines["dollars a day"].arithmetic
    (15000.0, '22.91 M x $0.4 + 1.79 M x $1.6')
    >>> coalesced = {one.name: one for one in size_host(Assumed(together=10))}
    >>> round(coalesced["calls a day"].value), round(coalesced["tokens in a day"].value, 1)
    (6000, 9.4)
    """
    return [*_stored(assumed, measured), *_asked(assumed, measured)]


def _stored(a: Assumed, m: Measured) -> Iterator[Line]:
    memories = a.users * a.memories
    yield Line("memories", memories, "", f"{a.users:,} users x {a.memories:,}")
    groups = f"{memories:,} / 1,000 x"
    yield Line("disk", memories / 1_000 * m.disk / 1_000, "GB", f"{groups} {m.disk:g} MB")
    engine = memories / 1_000 * m.engine
    yield Line("memory of the engine", engine / 1_000, "GB", f"{groups} {m.engine:g} MB")
    turns = a.users * a.turns * YEAR / 1_000 * m.turn
    told = f"{a.users:,} users x {a.turns:g} x {YEAR} / 1,000 x {m.turn:g} MB"
    yield Line("memory of the engine for a year's turns", turns / 1_000, "GB", told)
    hosts = memories * a.active / 1_000 * m.hot + m.base
    told = f"{memories:,} x {a.active:g} / 1,000 x {m.hot:g} MB + {m.base:g} MB"
    yield Line("memory of the hosts", hosts / 1_000, "GB", told)


def _asked(a: Assumed, m: Measured) -> Iterator[Line]:
    turns = a.users * a.turns
    yield Line("turns a day", turns, "", f"{a.users:,} users x {a.turns:g}")
    each = 1 / a.together + (m.calls - 1)
    calls = turns * each
    told = f"{turns:,.0f} x (1 / {a.together} + {m.calls - 1:g})"
    yield Line("calls a day", calls, "", told)
    own, rest = m.tokens_in / m.calls, m.tokens_in * (1 - 1 / m.calls)
    share = m.share(a.together)
    tokens_in, tokens_out = (
        turns * tokens / MILLION for tokens in (own * share + rest, m.tokens_out)
    )
    told = f"{turns:,.0f} x ({own:,.0f} x {share:.3g} + {rest:,.0f})"
    yield Line("tokens in a day", tokens_in, "M", told)
    yield Line("tokens out a day", tokens_out, "M", f"{turns:,.0f} x {m.tokens_out:g}")
    dollars = tokens_in * a.price_in + tokens_out * a.price_out
    told = f"{tokens_in:,.2f} M x ${a.price_in:g} + {tokens_out:,.2f} M x ${a.price_out:g}"
    yield Line("dollars a day", dollars, "$", told)
    yield Line("dollars a month", MONTH * dollars, "$", f"{MONTH} x ${dollars:,.2f}")
    a_user = MONTH * dollars / a.users
    yield Line("dollars of a user and month", a_user, "$", f"${MONTH * dollars:,.2f} / {a.users:,}")
    busy = turns / DAY * a.peak
    yield Line("turns a second, at the peak", busy, "", f"{turns:,.0f} / {DAY:,} x {a.peak:g}")
    told = f"{busy:,.2f} x {each:g} x {a.delay:g} s"
    yield Line("calls at once, at the peak", busy * each * a.delay, "", told)
    cores = busy * m.processor
    told = f"{busy:,.2f} x {1_000 * m.processor:g} ms"
    yield Line("cores that judge, at the peak", cores, "", told)


def to_markdown(lines: list[Line]) -> str:
    """Return the lines as a table of Markdown.

    >>> print(to_markdown([Line("disk", 8.1, "GB", "1,000 x 8.1 MB")]))
    | | | worked out |
    |---|---|---|
    | disk | 8.10 GB | 1,000 x 8.1 MB |
    """
    rows = [f"| {one.name} | {number(one)} | {one.arithmetic} |" for one in lines]
    return "\n".join(["| | | worked out |", "|---|---|---|", *rows])


def number(line: Line) -> str:
    """Return a value with its unit, to three figures or as whole.

    >>> number(Line("", 12.028, "$", "")), number(Line("", 15_000.0, "", ""))
    ('$12.0', '15,000')
    """
    rounded = f"{line.value:,.0f}" if line.value >= 100 else f"{line.value:#.3g}".rstrip(".")
    if line.unit == "$":
        return f"${rounded}"
    return f"{rounded} {line.unit}".rstrip()


def tables() -> str:
    """Return the generated part of docs/sizing.md."""
    parts = []
    for users in (1_000, 10_000_000):
        for together in (1, 10):
            how = "judged one by one" if together == 1 else f"{together} turns to a call"
            found = to_markdown(size_host(Assumed(users=users, together=together)))
            parts.append(f"\n## {users:,} users, {how}\n\n{found}\n")
    return "".join(parts)


def sizing(
    users: Annotated[int, typer.Option(min=1, help="Users.")] = Assumed.users,
    memories: Annotated[int, typer.Option(min=1, help="Memories of a user.")] = Assumed.memories,
    active: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the users who are there at a time.")
    ] = Assumed.active,
    turns: Annotated[float, typer.Option(min=0, help="Turns of a user and day.")] = Assumed.turns,
    together: Annotated[
        int, typer.Option(help="Turns judged in one call: 1, 5 or 10.")
    ] = Assumed.together,
    peak: Annotated[
        float, typer.Option(min=1, help="The busiest hour, as a multiple of the mean.")
    ] = Assumed.peak,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds that a call of the model takes.")
    ] = Assumed.delay,
    price_in: Annotated[
        float, typer.Option(min=0, help="Dollars per million tokens of prompts.")
    ] = Assumed.price_in,
    price_out: Annotated[
        float, typer.Option(min=0, help="Dollars per million tokens of answers.")
    ] = Assumed.price_out,
    as_json: ToJson = False,
) -> None:
    """Work out what so many users need: disk, memory, calls, dollars, cores."""
    known = [turns for turns, _ in Measured.prompts]
    if together not in known:
        raise typer.BadParameter(f"--together was measured for {', '.join(map(str, known))}")
    assumed = Assumed(users, memories, active, turns, together, peak, delay, price_in, price_out)
    lines = size_host(assumed)
    if as_json:
        print(json.dumps([asdict(one) for one in lines], indent=1))
    else:
        print(to_markdown(lines))


app = make_app(sizing)
