"""The model behind an eval command: an endpoint that is asked, or a recording of one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from souffleur.agents.model.chat import Chat
from souffleur.agents.model.recording import Player, Recorder
from souffleur.evals.runner import eval_settings
from souffleur.replay import as_recorded
from souffleur.settings import Settings, default_settings, load_settings, need_model
from souffleur.wiring import make_endpoint


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
