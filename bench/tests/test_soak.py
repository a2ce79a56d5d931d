"""The soak, for a second: no figure of it is a time."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.soak import Period, heap_per_turn, verdicts, watch_users
from tests.command import Run

CALM = Period(60.0, 300, 5, 12.0, 9.0, 4.0, 9.0, 2.0, 210.0, 90.0, 900, 400, 0.3)


async def test_every_period_is_told_as_it_ends() -> None:
    """Users talk and are judged; each period has its turns, and nobody waits at the end."""
    told: list[int] = []
    seen = await watch_users(
        3,
        0.4,
        rate=30,
        delay=0.0,
        period=0.2,
        spare=False,
        tell=lambda periods: told.append(len(periods)),
    )
    assert told == list(range(1, len(seen) + 1))
    assert all(one.turns > 0 and one.recall > 0 for one in seen)
    assert all(0 < one.busy <= one.held for one in seen)
    assert seen[-1].waiting < 10


def test_what_grows_is_named() -> None:
    """Flat figures meet every bar; each one that grows misses its own, and no other."""
    calm = [CALM] * 12
    assert set(verdicts(calm).values()) == {True}
    ends = {"memory": 240, "objects": 1100, "files": 500, "recall": 9, "waiting": 900}
    for name, at_end in ends.items():
        grown = [replace(CALM, **{name: at_end}) if n > 8 else CALM for n in range(12)]
        assert list(verdicts(grown).values()).count(False) == 1
    held = verdicts([*calm[:-1], replace(CALM, held=31.0)])
    assert [what for what, met in held.items() if not met] == [
        "the event loop is held for at most 30 ms"
    ]


def test_the_heap_is_held_against_the_turns() -> None:
    """What grows in a period of the warm-up is left out."""
    growing = [replace(CALM, memory=200 + 300 * n / 1024) for n in range(12)]
    assert heap_per_turn([replace(CALM, memory=10.0), *growing]) == pytest.approx(1.0)
    assert heap_per_turn([CALM]) == 0


def test_the_command(run: Run, tmp_path: Path) -> None:
    """What is printed as JSON stands in the file."""
    options = (
        "--users",
        "2",
        "--minutes",
        "0.003",
        "--rate",
        "20",
        "--period",
        "0.1",
        "--no-spare",
    )
    code, out, _ = run("soak", *options, "--out", str(tmp_path / "soak.json"), "--json")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "soak.json").read_text())
