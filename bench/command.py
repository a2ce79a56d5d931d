"""Options that several commands share, and the model behind one: an endpoint, or a recording."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.sets.registry import SETS
from souffleur.agents.model.chat import Chat
from souffleur.agents.model.recording import Player, Recorder
from souffleur.evals.runner import eval_settings
from souffleur.replay import as_recorded
from souffleur.settings import Settings, default_settings, load_settings, need_model
from souffleur.wiring import make_endpoint

SetName = Annotated[str, typer.Argument(metavar="SET", help=f"One of {', '.join(SETS)}.")]
SetFile = Annotated[Path, typer.Argument(metavar="PATH", help="The set's file.")]
Embedder = Annotated[str, typer.Option(help="hash:512, openai:MODEL, fastembed:MODEL …")]
Record = Annotated[
    Path | None, typer.Option(help="Ask the model, and keep its answers in this file.")
]
Recorded = Annotated[
    Path | None, typer.Option(help="Take the answers from this file; no model is asked.")
]
OnlyEstimate = Annotated[bool, typer.Option("--estimate", help="Only estimate the cost.")]
ToJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def need_one_mode(record: Path | None, recorded: Path | None, estimate: bool = False) -> None:
    """Raise a usage error if more than one of these modes is given."""
    given = {"--record": record, "--recorded": recorded, "--estimate": estimate}
    named = [name for name, value in given.items() if value]
    if len(named) > 1:
        raise typer.BadParameter(f"{' and '.join(named)} exclude each other: give one of them")


def source_settings(recorded: Path | None, **chosen: Any) -> Settings:
    """Return the default settings with the environment's endpoint, or as recorded; and `chosen`.

    Raises SettingsError, RecordingError.
    """
    if recorded is None:
        return eval_settings(load_settings()).model_copy(update=chosen)
    # A recorded failure is the same at every try.
    update = {**as_recorded(Player(recorded)), "tries": 1, **chosen}
    return default_settings().model_copy(update=update)


@asynccontextmanager
async def open_source(
    settings: Settings, *, record: Path | None = None, recorded: Path | None = None
) -> AsyncIterator[Chat]:
    """Open the recording, or the endpoint, whose answers are kept in `record` if that is given.

    Raises SettingsError without a model, RecordingError.
    """
    if recorded:
        yield Player(recorded)
        return
    endpoint = make_endpoint(need_model(settings))
    try:
        if record:
            yield Recorder(endpoint, record, model=settings.model, now=datetime.now(UTC))
        else:
            yield endpoint
    finally:
        await endpoint.aclose()
