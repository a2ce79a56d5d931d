"""End to end on a public set: memories take its conversations, then its questions are answered.

python -m bench answering locomo locomo.jsonl.gz --conversations 1 --questions 40
python -m bench answering locomo locomo.jsonl.gz --systems souffleur,mem0,langmem,whole

Each system takes each conversation in the same batches, into a fresh store. Then each question
drawn is asked: what the system brings goes into the prompt, the same model replies from that alone,
and a judge that does not see whose they are grades all replies to a question against the reference
answer. --max-calls limits the requests; with --record, what was answered is not asked again.
The sets are not shipped: `bench.sets` lists those that can be read.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.command import (
    Embedder,
    MaxCalls,
    Record,
    Recorded,
    SetFile,
    SetName,
    ToJson,
    need_one_mode,
    open_source,
    source_settings,
)
from bench.sets.asking import SystemAnswers, as_json, report
from bench.sets.conversation import Sample, draw
from bench.sets.registry import read_set
from bench.systems.answers import AnswerSetup, run
from bench.systems.contestant import check_contestant
from bench.systems.side_by_side import OURS
from souffleur.agents.model.recording import Recorder, prune
from souffleur.errors import InputError
from souffleur.evals.fixture import scratch

RECALL_TIMEOUT = 600.0
"""Seconds that recall may wait for the embedder: a busy machine must not change the result."""


def answering(
    set_name: SetName,
    path: SetFile,
    systems: Annotated[
        str, typer.Option(help="Systems to compare: souffleur, mem0, langmem, whole.")
    ] = OURS,
    named: Annotated[str, typer.Option(help="Ids of the conversations; default: drawn.")] = "",
    conversations: Annotated[
        int | None, typer.Option(help="Conversations to draw; default: all.")
    ] = None,
    questions: Annotated[int | None, typer.Option(help="Questions to draw; default: all.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    embedder: Embedder = "hash:512",
    judge_every: Annotated[
        int, typer.Option(min=0, max=20, help="Turns written in one go; 0 for a session.")
    ] = 1,
    memories: Annotated[
        int, typer.Option(min=1, help="Memories that another system's search returns.")
    ] = 20,
    parallel: Annotated[
        int, typer.Option(min=1, help="Conversations, and then questions, at the same time.")
    ] = 12,
    write_only: Annotated[
        bool, typer.Option("--write-only", help="Write the conversations, and ask nothing.")
    ] = False,
    record: Record = None,
    recorded: Recorded = None,
    max_calls: MaxCalls = None,
    to_json: ToJson = False,
) -> None:
    """Write the conversations of a public set into memories, and answer its questions from them."""
    need_one_mode(record, recorded)
    contestants = tuple(dict.fromkeys(name.strip() for name in systems.split(",")))
    for name in contestants:
        check_contestant(name)
    drawn = draw(
        read_set(set_name, path),
        named=[name.strip() for name in named.split(",") if name.strip()],
        max_conversations=conversations,
        max_questions=questions,
        seed=seed,
    )
    if not drawn:
        raise InputError(f"No question of {path} was drawn: there is nothing to ask.")
    chosen = {"embedder": embedder, "judge_every": judge_every, "recall_timeout": RECALL_TIMEOUT}
    setup = AnswerSetup(
        source_settings(recorded, **chosen),
        set_name,
        contestants,
        memories=memories,
        parallel=parallel,
        write_only=write_only,
    )
    found = asyncio.run(_run(drawn, setup, record, recorded, max_calls))
    if to_json:
        print(as_json(found, setup.conditions))
    else:
        report(found, Console(highlight=False, width=140))


async def _run(
    drawn: Sequence[Sample],
    setup: AnswerSetup,
    record: Path | None,
    recorded: Path | None,
    most: int | None,
) -> list[SystemAnswers]:
    with scratch() as folder:
        async with open_source(setup.settings, record=record, recorded=recorded, most=most) as chat:
            found = await run(drawn, setup, chat, folder)
    troubled = any(one.troubles for one in found)
    if record and isinstance(chat, Recorder) and not troubled and not setup.write_only:
        prune(record, chat.used)
    return found
