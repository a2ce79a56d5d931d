"""A host on a disk that fills up: it observes as many turns as its input says."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from souffleur.api import Souffleur
from souffleur.errors import StoreError
from souffleur.settings import Settings

SAID = "word " * 100


@dataclass(frozen=True)
class Answer:
    """What became of some turns."""

    durable: tuple[str, ...] = ()
    """Ids of the turns that were on disk when `observe` returned."""
    held: tuple[str, ...] = ()
    """Of those that wait in memory for the store."""
    trouble: str = ""
    """That of the last one."""


def observe(memory: Souffleur, first: int, count: int) -> Answer:
    """Observe so many turns."""
    durable: list[str] = []
    held: list[str] = []
    trouble = ""
    for place in range(first, first + count):
        receipt = memory.observe(user_id="ann", user=SAID, assistant=SAID, turn_id=str(place))
        (durable if receipt.durable else held).append(receipt.turn_id)
        trouble = receipt.error
    return Answer(tuple(durable), tuple(held), trouble)


async def settle(work: Coroutine[Any, Any, object]) -> Answer:
    """Flush or close."""
    try:
        await work
    except StoreError as error:
        return Answer(trouble=str(error))
    return Answer()


def tell(answer: Answer) -> None:
    """Answer."""
    print(json.dumps(asdict(answer)), flush=True)


async def main() -> None:
    """Open the store in a folder, and do as each line says until it is to be closed."""
    loop, done = asyncio.get_running_loop(), 0
    try:
        memory = await Souffleur.open(Settings(path=Path(sys.argv[1]), embedder="hash:16"))
    except StoreError as error:
        tell(Answer(trouble=str(error)))
        return
    tell(Answer())
    while (order := (await loop.run_in_executor(None, sys.stdin.readline)).strip()) != "close":
        if order == "flush":
            tell(await settle(memory.flush()))
            continue
        count = int(order)
        tell(observe(memory, done, count))
        done += count
    tell(await settle(memory.close()))


if __name__ == "__main__":
    asyncio.run(main())
