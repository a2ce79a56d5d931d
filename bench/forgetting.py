"""Forgetting: whether a topic that is forgotten after a recorded dialogue is anywhere afterwards.

Each dialogue is played with a model's recorded answers; then each name that its memories mention is
forgotten in turn, in a store of its own, and looked for in all reads, the ledger, a backup, the log
and the bytes on the disk.
"""

import asyncio
import json
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from loguru import logger
from rich.console import Console
from typer import Argument, Option

from bench.residue import found_in
from souffleur.agents.model.recording import Player
from souffleur.api import Souffleur
from souffleur.demo.dialogue import as_recorded, replay
from souffleur.evals.fixture import ScriptedChat, open_fixture, perform_run, scratch
from souffleur.evals.runner import recording_of
from souffleur.evals.script import RunPart, Script, find_scripts, read_script
from souffleur.knowledge.memory import NARRATIVE
from souffleur.knowledge.store.engine.collection import Filter, read_all
from souffleur.settings import default_settings

SHORTEST = 4
"""Bytes of a name at least: it is looked for within other words, too, and "Ely" is in "merely"."""


@dataclass(frozen=True)
class TopicForgotten:
    """The traces of one topic after it was forgotten."""

    dialogue: str
    topic: str
    before: int
    """The number of places that yielded it before."""
    left: tuple[str, ...]
    """The places that still yield it: none, if all is well."""
    harmed: tuple[str, ...]
    """Memories that were not listed as meant and are not as they were: none, if all is well."""
    counts: dict[str, int]
    """The receipt."""


async def topics_of(script: Script, recordings: Path, most: int) -> list[str]:
    """Return the names that a dialogue's memories mention most often in the end."""
    async with _played(script, recordings) as memory:
        known = await memory.list(user_id=script.user.id)
    me = {script.user.title.casefold(), script.assistant.name.casefold()}
    names = Counter(name for one in known for name in one.entities)
    fit = [name for name, _ in names.most_common() if len(name.encode()) >= SHORTEST]
    return [name for name in fit if name.casefold() not in me][:most]


async def forget_one(script: Script, recordings: Path, topic: str) -> TopicForgotten:
    """Play a dialogue, forget a topic, and look for it everywhere. Raises RecordingError."""
    user_id = script.user.id
    with _logged() as lines:
        async with _played(script, recordings) as memory:
            folder = memory.settings.folder
            before = await _yielding(memory, user_id, topic, folder)
            lines.clear()  # what the talk itself has logged is no matter of forgetting
            preview = await memory.preview_topic(topic, user_id=user_id)
            meant = set(preview.ids)
            stay = [one for one in await memory.list(user_id=user_id) if one.id not in meant]
            gone = await memory.forget_topic(topic, user_id=user_id, ids=preview.ids)
            left = await _yielding(memory, user_id, topic, folder)
            now = {one.id: one.content for one in await memory.list(user_id=user_id)}
            harmed = [
                one.content
                for one in stay
                if one.category not in NARRATIVE and now.get(one.id) != one.content
            ]
    logged = ["log"] if any(topic.casefold() in line.casefold() for line in lines) else []
    return TopicForgotten(
        script.name, topic, len(before), (*left, *logged), tuple(harmed), gone.counts
    )


@asynccontextmanager
async def _played(script: Script, recordings: Path) -> AsyncIterator[Souffleur]:
    """Yield the runtime after all talks and runs of a dialogue."""
    player = Player(recording_of(Path(script.name), recordings))
    update = {**as_recorded(player), "tries": 1}
    settings = default_settings().model_copy(update=update)
    async with open_fixture(script, settings, ScriptedChat(script, player)) as (memory, clock):
        for part in script.sessions:
            if isinstance(part, RunPart):
                clock.at = max(clock.at, part.at)
                await memory.flush()
                await perform_run(memory, script, part)
            else:
                async for _ in replay(script.dialogue(part), memory, clock):
                    pass
        yield memory


async def _yielding(memory: Souffleur, user_id: str, topic: str, folder: Path) -> list[str]:
    """Return the places that yield a topic."""
    recalled = await memory.recall(user_id=user_id, text=topic)
    past = await memory.ask(topic, user_id=user_id)
    listed = await memory.list(user_id=user_id, state=None)
    ledger = await memory.ledger(user_id=user_id, limit=1000)
    collections = (memory.knowledge.memories, memory.knowledge.journal.collection)
    points = [point.payload for one in collections for point in await read_all(one, Filter())]
    await memory.knowledge.flush()
    with scratch() as elsewhere:
        await memory.backup(elsewhere / "backup.zip")
        with zipfile.ZipFile(elsewhere / "backup.zip") as whole:
            saved = b"".join(whole.read(name) for name in whole.namelist()).decode()
    said = {
        "recall": recalled.text,
        "ask": str(past.found),
        "list": str([one.model_dump() for one in listed]),
        "ledger": str([one.model_dump() for one in ledger]),
        "records": json.dumps(points, ensure_ascii=False),
        "backup": saved,
    }
    found = [place for place, text in said.items() if topic.casefold() in text.casefold()]
    return [*found, *await asyncio.to_thread(found_in, folder, topic)]


@contextmanager
def _logged() -> Iterator[list[str]]:
    lines: list[str] = []
    logger.enable("souffleur")
    sink = logger.add(lambda line: lines.append(str(line)), level="DEBUG")
    try:
        yield lines
    finally:
        logger.remove(sink)
        logger.disable("souffleur")


def report(done: Sequence[TopicForgotten], console: Console) -> None:
    """Print what is left of each topic."""
    for one in done:
        state = "gone" if not one.left else f"LEFT in {', '.join(one.left)}"
        harmed = f"; HARMED: {' | '.join(one.harmed)}" if one.harmed else ""
        counts = ", ".join(f"{number} {kind}" for kind, number in one.counts.items())
        console.print(
            f"{one.dialogue}: {one.topic!r} in {one.before} places: {state} ({counts}){harmed}"
        )
    well = sum(not one.left and not one.harmed for one in done)
    console.print(f"{well} of {len(done)} topics are nowhere any more, and nothing else is harmed")


def forgetting(
    dialogues: Annotated[Path, Argument(help="The folder of scripts.")],
    recordings: Annotated[Path, Argument(help="The folder of recorded answers.")],
    only: Annotated[str, Option(help="Only scripts with such a name.")] = "*",
    topics: Annotated[int, Option(help="Topics of each dialogue.")] = 2,
) -> None:
    """Forget topics after recorded dialogues, and look for them everywhere."""
    done = asyncio.run(_all(find_scripts(dialogues, only), recordings, topics))
    report(done, Console(highlight=False, width=140))
    if any(one.left or one.harmed for one in done):
        raise typer.Exit(1)


async def _all(files: Sequence[Path], recordings: Path, most: int) -> list[TopicForgotten]:
    done = []
    for file in files:
        script = read_script(file)
        if script.answers_itself:
            continue
        for topic in await topics_of(script, recordings, most):
            done.append(await forget_one(script, recordings, topic))
    return done
