"""A special category that is refused: where its words are on all paths, and where they are not."""

import json
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from souffleur.agents.model.chat import Request
from souffleur.integrations.mirror.mirror import Mirror
from tests.place import SERVER, bytes_below
from tests.scripted import SKIP, Answer, add, answer, episode, portrait, update
from tests.stage import Stage, staged

CANARY = "lupus"
SAID = f"I have {CANARY}, so I take the 9:40 train to Leeds."
TRAIN = "Ann takes the 9:40 train to Leeds."
ILL = f"Ann has {CANARY}."
WHY = f"she tells of her {CANARY}"


def judge(request: Request) -> Answer:
    """A model that names what it is asked to name, and is careless with all else of such an op."""
    asked = "special" in request.messages[0].content
    told = request.messages[-1].content
    ill = add(ILL, CANARY, reason=WHY, cues=[f"{CANARY} flare", "joints"], entities=[CANARY])
    train = add(TRAIN, "9:40 train")
    worse = update("m1", f"Ann travels for her {CANARY}.", f"My {CANARY}", reason=WHY)
    if "unreadable" in told:
        return f"{WHY}, and this is no JSON"
    if "clinic" in told:
        return answer(_named(worse, asked), reason=WHY)
    if "9:40" in told:
        return answer(_named(ill, asked), _named(train, asked, "none"), reason=WHY)
    return SKIP


def _named(op: dict[str, Any], asked: bool, special: str = "health") -> dict[str, Any]:
    return {**op, "special": special} if asked else op


def script(request: Request) -> Answer:
    """The judge; and two writers that leave out what they are told to leave out."""
    left_out = "Special categories" in request.messages[0].content
    trip = "by train to Leeds" if left_out else f"by train to Leeds, for her {CANARY}"
    if request.name == "episode":
        return episode(f"Ann goes {trip}.", key_facts=[trip], unresolved=trip)
    if request.name == "portrait":
        return portrait(f"Ann goes {trip}.", "She is early.", "She likes trains.")
    return judge(request)


async def live(stage: Stage) -> list[Any]:
    """Tell it on every way by which a judge hears; return what the host was told."""
    memory = stage.memory
    told: list[Any] = []
    await stage.say(SAID, f"My {CANARY} clinic moved to York.", reply=f"I am sorry about {CANARY}.")
    await stage.say(f"This is unreadable, like {CANARY}")
    told += await memory.remember([("user", SAID), ("assistant", "Safe trip.")], user_id="ann")
    await memory.set_preferences(user_id="ann", auto_extract=False, show_references=True)
    await stage.say(f"{SAID} Again.", "And so", "we", "talk on", session="s2")
    told += await memory.proposals(user_id="ann")
    for session in ("default", "s1", "s2"):
        await stage.end(session)
    told.append(await memory.write_portrait(user_id="ann"))
    return told


async def shown(stage: Stage) -> list[Any]:
    """Return what memories, ledger and all that is made of them show."""
    memory = stage.memory
    ann: dict[str, Any] = {"user_id": "ann"}
    kept = await memory.list(**ann, state=None)
    return [
        *(kept, await memory.ledger(**ann), await memory.notices(**ann)),
        *[await memory.history(one.id, **ann) for one in kept],
        *(await memory.episodes(**ann), await memory.portrait(**ann)),
        *(await memory.report(**ann), await memory.health(), memory.error),
    ]


async def beside(stage: Stage, folder: Path) -> tuple[list[str], str]:
    """Return the kinds of record of an export that hold the word, and what the mirror writes."""
    await stage.memory.export(folder / "ann.jsonl", user_id="ann")
    lines = (folder / "ann.jsonl").read_text("utf-8").splitlines()
    held = [json.loads(line) for line in lines if CANARY in line]
    policy = stage.knowledge.policy
    await Mirror(stage.memory, folder / "mirror", user_id="ann", policy=policy).sync()
    files = sorted((folder / "mirror").glob("*.md"))
    (folder / "ann.jsonl").unlink()
    kinds = [one["payload"].get("type", "memory") for one in held]
    return kinds, "".join(one.read_text("utf-8") for one in files)


@pytest.mark.parametrize(("special", "days"), [("keep", 30), ("refuse", 30), ("refuse", 0)])
async def test_where_its_words_are(tmp_path: Path, special: str, days: int) -> None:
    """Refused, they are among the raw turns alone, and with those they go from the disk.

    That is: in no memory, cue, evidence, episode, portrait, ledger entry, notice, proposal, log
    line or file of the mirror; in an export, and in a whisper, only as a raw turn.
    """
    lines: list[str] = []
    logger.enable("souffleur")
    sink = logger.add(lines.append, level=0)
    try:
        refused = ("special",) if special == "refuse" else ()
        fields: dict[str, Any] = {"refuse": refused, "raw_days": days, "retry_pause": 0.0}
        async with staged(tmp_path / "store", script, kept=not days, **fields) as stage:
            told, seen = await live(stage), await shown(stage)
            kinds, mirrored = await beside(stage, tmp_path)
            told.append(await stage.memory.recall(user_id="ann", session_id="s3", text=SAID))
            asked = await stage.memory.ask(f"When did I tell you about {CANARY}?", user_id="ann")
            if not days:
                await stage.memory.compact()
    finally:
        logger.remove(sink)
        logger.disable("souffleur")
    everywhere = repr((told, seen)), mirrored, "".join(map(str, lines))
    assert all("train to Leeds" in one for one in everywhere[:2])
    assert [CANARY in one for one in everywhere] == [special == "keep"] * 2 + [False]
    if special == "refuse":
        assert set(kinds) == ({"turn"} if days else set())
        assert (CANARY in repr(asked)) is bool(days)
    if not days and SERVER is None:
        assert CANARY.encode() not in bytes_below(tmp_path)
