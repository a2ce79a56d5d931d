"""A process that does with a store what each line of its standard input says, and answers."""

import asyncio
import contextlib
import io
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from souffleur import cli
from souffleur.api import Souffleur
from souffleur.errors import StoreError
from souffleur.settings import Settings

EMBEDDER = "hash:16"


@dataclass(frozen=True)
class Order:
    """What a racer is told."""

    folder: str
    name: str
    """Of the user whose turn and memory it keeps."""
    do: str = "open"
    """open, hold, or a command of the command line."""
    delay: float = 0.0
    """Seconds to wait first."""

    def line(self) -> str:
        """As it is sent."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Answer:
    """What came of it."""

    turn: str = ""
    """What the user said in a turn that was accepted as durable; empty if there is none."""
    memory: str = ""
    """A memory that was accepted."""
    refused: str = ""
    """The StoreError, or what the command printed to standard error."""
    code: int = 0
    """The exit code of the command."""
    pid: int = field(default_factory=os.getpid)


def settings(folder: Path) -> Settings:
    """The settings of all who race for a folder."""
    return Settings(path=folder, embedder=EMBEDDER)


async def keep(memory: Souffleur, name: str) -> Answer:
    """Have a turn and a memory of a user kept."""
    turn, sentence = f"{name} says hello.", f"{name} likes tea."
    receipt = memory.observe(user_id=name, user=turn, turn_id="1")
    (outcome,) = await memory.remember(sentence, user_id=name)
    kept = sentence if outcome.refused is None else ""
    return Answer(turn if receipt.durable else "", kept, receipt.error)


async def open_store(order: Order) -> Answer:
    """Open the store as a host does, keep something, and close it."""
    try:
        async with Souffleur.open(settings(Path(order.folder))) as memory:
            answer = await keep(memory, order.name)
            if order.do == "hold":
                tell(answer)
                await asyncio.sleep(3600)
            return answer
    except StoreError as error:
        return Answer(refused=str(error))


def command(order: Order) -> Answer:
    """Run a command over the store."""
    os.environ.update(SOUFFLEUR_PATH=order.folder, SOUFFLEUR_EMBEDDER=EMBEDDER)
    sys.argv, code, said = ["souffleur", *order.do.split()], 0, io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Answer(refused=said.getvalue(), code=code)


def tell(answer: Answer) -> None:
    """Answer one order."""
    print(json.dumps(asdict(answer)), flush=True)


def main() -> None:
    """Answer every order."""
    print("ready", flush=True)
    for line in sys.stdin:
        order = Order(**json.loads(line))
        time.sleep(order.delay)
        tell(asyncio.run(open_store(order)) if order.do in {"open", "hold"} else command(order))


if __name__ == "__main__":
    main()
