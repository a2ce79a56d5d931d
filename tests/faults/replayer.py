"""A host that is killed: it observes a long talk, judged by a script."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

from souffleur.agents.model.chat import Reply, Request
from souffleur.api import Souffleur
from souffleur.settings import Settings
from tests.place import where
from tests.scripted import SKIP, Scripted, add, answer, boost, delete, judged_told, update

TURNS = 200


def thing(place: int) -> str:
    """A word that nothing else shares, as what shares one with a forgotten memory is doubtful."""
    return "zo" + str(place).translate(str.maketrans("0123456789-", "bcdfghjklmn"))


def line(place: int) -> str:
    """What the user says at that place: mostly something new, sometimes on something known."""
    if place % 10 == 7:
        return f"used {thing(place - 21)}"  # what the window still holds is no BOOST
    if place % 10 == 8:
        return f"changed {thing(place - 3)}"
    if place % 10 == 9:
        return f"forget {thing(place - 5)}"
    return f"likes {thing(place)}"


def judge(request: Request) -> dict[str, Any]:
    """Judges every line of the exchange by its first word; no other line tells what one forgets."""
    if request.name == "forgotten":
        return judged_told(request)
    question = request.messages[1].content
    known, _, exchange = question.partition("## The exchange to judge")
    ops = [op for said in re.findall(r"^Ann: (.+)$", exchange, re.M) if (op := _op(said, known))]
    return answer(*ops) if ops else SKIP


def _op(said: str, known: str) -> dict[str, Any] | None:
    verb, _, what = said.partition(" ")
    if verb == "likes":
        return add(f"Ann likes {what}.", said)
    handle = re.search(rf"^(m\d+)\*? \[[^]]*\] Ann \w+ {what}\.$", known, re.M)
    if handle is None:
        return None
    if verb == "used":
        return boost(handle[1])
    if verb == "changed":
        return update(handle[1], f"Ann adores {what}.", said)
    return delete(handle[1], said)


async def talk(folder: Path) -> None:
    """Observe all turns from the start; those of a former life are known already."""

    async def chat(request: Request) -> Reply:
        await asyncio.sleep(0.002)
        return await Scripted([judge(request)])(request)

    settings = Settings(**where(folder), embedder="hash:64", user_title="Ann", assistant_name="Mo")
    async with Souffleur.open(settings, chat=chat) as memory:
        print("open", flush=True)
        for place in range(TURNS):
            text = line(place)
            await memory.recall(user_id="ann", session_id="s1", text=text)
            memory.observe(
                user_id="ann", session_id="s1", user=text, assistant="ok", turn_id=str(place)
            )
            if place % 3 == 0:
                await memory.flush()
        await memory.flush()
    print("done", flush=True)


def main() -> None:
    """Run as a process, on a folder."""
    asyncio.run(talk(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
