"""Options that several commands share, and the model behind one: an endpoint, or a recording."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from bench.sets.registry import SETS
from souffleur.agents.model.chat import Chat, Reply, Request
from souffleur.agents.model.recording import Player, Recorder, prune
from souffleur.demo.dialogue import as_recorded
from souffleur.errors import RecordingError
from souffleur.evals.runner import eval_settings
from souffleur.parts import make_endpoint
from souffleur.settings import Settings, default_settings, load_settings, need_model

SetName = Annotated[str, Argument(metavar="SET", help=f"One of {', '.join(SETS)}.")]
SetFile = Annotated[Path, Argument(metavar="PATH", help="The set's file.")]
Embedder = Annotated[str, Option(help="hash:512, openai:MODEL, fastembed:MODEL …")]
Record = Annotated[Path | None, Option(help="Ask the model, and keep its answers in this file.")]
Recorded = Annotated[
    Path | None, Option(help="Take the answers from this file; no model is asked.")
]
MaxCalls = Annotated[int | None, Option(min=0, help="Most requests; default: any.")]
ToJson = Annotated[bool, Option("--json", help="Print JSON on standard output.")]


def source_settings(record: Path | None, recorded: Path | None, **chosen: Any) -> Settings:
    """Return the default settings with the environment's endpoint, or as recorded; and `chosen`.

    Raises SettingsError, RecordingError; BadParameter if both files are given.
    """
    if record and recorded:
        raise typer.BadParameter("--record and --recorded exclude each other: give one of them")
    if recorded is None:
        return eval_settings(load_settings()).model_copy(update=chosen)
    # A recorded failure is the same at every try.
    update = {**as_recorded(Player(recorded)), "tries": 1, **chosen}
    return default_settings().model_copy(update=update)


class LimitedChat:
    """A `Chat` that asks another one so many times at most."""

    def __init__(self, chat: Chat, most: int) -> None:
        self._chat = chat
        self._most = most
        self._asked = 0

    async def __call__(self, request: Request) -> Reply:
        """Return the other chat's reply. Raises RecordingError, which ends a run, at the limit."""
        if self._asked >= self._most:
            raise RecordingError(
                f"all {self._most} requests of --max-calls are made: allow more, with --record"
                " so that nothing is asked twice"
            )
        self._asked += 1
        return await self._chat(request)


@asynccontextmanager
async def open_source(
    settings: Settings,
    record: Path | None,
    recorded: Path | None,
    *,
    most: int | None = None,
    is_whole: Callable[[], bool] = lambda: True,
) -> AsyncIterator[Chat]:
    """Open the recording, or the endpoint, whose answers are kept in `record` if that is given.

    `most` limits the requests. Answers in `record` that were not used are removed at the end, if
    `is_whole` says that all was asked. Raises SettingsError without a model, RecordingError.
    """
    if recorded:
        yield Player(recorded)
        return
    endpoint = make_endpoint(need_model(settings))
    try:
        chat: Chat = endpoint if most is None else LimitedChat(endpoint, most)
        if not record:
            yield chat
            return
        recorder = Recorder(chat, record, model=settings.model, now=datetime.now(UTC))
        yield recorder
        if is_whole():
            prune(record, recorder.used)
    finally:
        await endpoint.aclose()
