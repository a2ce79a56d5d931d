"""A year of one person with all scheduled runs: how often a model is asked."""

import re
from collections import Counter
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from souffleur.agents.model.chat import Request
from souffleur.service.jobs import RUNS
from souffleur.service.run import RunOptions
from tests.build import NOW, days
from tests.scripted import SKIP, add, answer, by_name, decided, episode, portrait, update
from tests.stage import staged

SITTINGS = 22
TURNS = 80
TALK = frozenset({"monitor", "episode"})
"""What is asked of a talk itself; all other requests are of scheduled runs."""
MOST = 100
"""Maximum requests of all scheduled runs in a year."""


def thing(turn: int) -> str:
    """Words that no other turn has, so that nothing is near anything else."""
    chance = Random(turn)
    return " ".join("".join(chance.choices("abdefgiklmnoprstuz", k=7)) for _ in range(3))


def judged(request: Request) -> dict[str, Any]:
    """Four turns of five bring a memory; every ninth changes one, and some of them are big."""
    said = re.findall(r"(?m)^Ann: turn (\d+)$", request.messages[1].content)
    turn = int(said[-1])
    if turn % 5 == 4:
        return SKIP
    quote = f"turn {turn}"
    known = re.findall(r"(?m)^(m\d+)\S* \[", request.messages[1].content)
    if turn % 9 == 8 and known:
        op = update(known[0], f"Ann {thing(turn)} now.", quote)
    else:
        kind = "boundary" if turn in {10, 41} else "fact"
        importance = ("high", "medium", "medium", "low")[turn % 4]
        fields = {"kind": kind, "importance": importance, "cues": ["a cue"]}
        op = add(f"Ann {thing(turn)}.", quote, **fields)
    return {**answer(op), "big": turn % 13 == 1}


def reviewed(request: Request) -> dict[str, Any]:
    """What lasts becomes core, and the rest is kept; every other time it looks something up."""
    first = len(request.messages) == 2
    if first and len(request.messages[1].content) % 2:
        return {"reason": "has it ended?", "query": "thing", "decisions": []}
    kept = decided(request, "KEEP")
    core = re.findall(r"(?m)^(m\d+) \(core", request.messages[1].content)[:1]
    promoted = [{**one, "action": "PROMOTE"} for one in kept["decisions"] if one["id"] in core]
    rest = [one for one in kept["decisions"] if one["id"] not in core]
    return {**kept, "decisions": [*promoted, *rest]}


def linked(request: Request) -> dict[str, Any]:
    """No boundary speaks of anything."""
    shown = re.findall(r"(?m)^(b\d+) ", request.messages[1].content)
    each = [{"id": one, "reason": "-", "memories": []} for one in shown]
    return {"reason": "-", "boundaries": each}


def left(request: Request) -> dict[str, Any]:
    """Nothing belongs together."""
    shown = re.findall(r"(?m)^(m\d+) ", request.messages[1].content)
    return {"reason": "-", "merged": [], "left": shown}


def portrayed(request: Request) -> dict[str, Any]:
    """Some of the latest memories, one a paragraph."""
    known = re.findall(r"(?m)^- \[\w+\] (Ann .*)$", request.messages[1].content)
    return portrait(*(f"{one} So it is." for one in (known * 3)[-3:] or ["Ann."] * 3))


async def test_all_runs_of_a_year_ask_at_most_a_hundred_times(tmp_path: Path) -> None:
    """80 turns in 22 sittings, every run at its time: the portrait, the reviews and the audits."""
    script = by_name(
        monitor=judged,
        episode=episode("They talked."),
        review=reviewed,
        audit={"reason": "all fits"},
        boundaries=linked,
        consolidate=left,
        portrait=portrayed,
    )
    async with staged(tmp_path, script, embedder="hash:512") as s:
        turns = iter(range(TURNS))
        for day in range(365):
            s.clock.at = NOW + days(day)
            if day % (365 // SITTINGS) == 0:
                for turn in islice(turns, TURNS // SITTINGS + 1):
                    await s.say(f"turn {turn}", session=f"s{day}")
                await s.end(f"s{day}")
            s.clock.at += timedelta(hours=17)
            for run in RUNS.values():
                if (run.asks or run.name == "decay") and day % max(1, run.every.days) == 0:
                    await s.memory.run(run.name, RunOptions(s.clock()))
        asked = Counter(request.name for request in s.chat.requests)
        held = len(await s.knowledge.list("ann", now=s.clock()))
    runs = Counter({name: count for name, count in asked.items() if name not in TALK})
    print(f"{runs.total()} requests of runs in a year: {dict(runs)}; {held} memories")
    assert asked["monitor"] >= TURNS - 10
    assert runs["audit"] <= 25
    assert runs.total() <= MOST
