"""Commands that check a store and its settings: doctor, config."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from souffleur.cli.command import Result, on_memory, printed
from souffleur.cli.options import flag
from souffleur.cli.report import print_health
from souffleur.errors import EmbedderError, EndpointError

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.report.report import Finding
    from souffleur.settings import SettingsInForce

_USUAL_LENGTH = 40
"""Maximum characters of a value in its column; the source moves behind longer values."""


@printed
@on_memory
async def doctor(memory: "Memory") -> Result:
    """Check store, model and embedder, and say what to do. Exits with 1 if one is broken.

    Model and embedder are asked once. If another process has the store, it tells how they are.
    """
    from souffleur.api import Souffleur
    from souffleur.report.report import Status, health

    here = isinstance(memory, Souffleur)
    of_endpoints = await _endpoint_findings() if here else await _owner_findings(memory)
    found = [*of_endpoints, *await _store_findings(memory)]
    state, findings = health(await memory.report(), found)
    return Result(
        {"state": str(state), "findings": findings},
        lambda: print_health(state, findings),
        code=int(state is Status.BROKEN),
    )


async def _owner_findings(memory: "Memory") -> "list[Finding]":
    """Return the faults that the process with the store knows of its model and embedder."""
    from souffleur.report.report import Status
    from souffleur.settings import NO_MODEL

    state = await memory.health()
    if state.endpoint == "none":
        return [(Status.WARNING, f"Nobody judges what is said, it only waits: {NO_MODEL}")]
    return [(Status.WARNING, state.error)] if state.error else []


async def _endpoint_findings() -> "list[Finding]":
    """Ask model and embedder once each, and return their faults."""
    from souffleur.parts import make_endpoints, settings_embedder
    from souffleur.report.report import Status
    from souffleur.settings import NO_MODEL, load_settings

    settings, found = load_settings(), []
    async with make_endpoints(settings, settings_embedder(settings)) as endpoints:
        if not settings.has_model:
            found.append((Status.WARNING, f"Nobody judges what is said, it only waits: {NO_MODEL}"))
        try:
            await endpoints.probe()
        except EndpointError as error:
            status = Status.WARNING if error.retryable else Status.BROKEN
            found.append((status, f"The model does not answer, so nothing is judged: {error}"))
        try:
            await endpoints.probe_embedder()
        except EmbedderError as error:
            found.append((Status.WARNING, f"Memories are found by words alone: {error}"))
    return found


async def _store_findings(memory: "Memory") -> "list[Finding]":
    """Return warnings about due work that no schedule will do.

    A process that serves the store warns of this itself.
    """
    from souffleur.api import Souffleur
    from souffleur.report.report import Status
    from souffleur.service.rule_runs import find_neglect

    if not isinstance(memory, Souffleur):
        return []
    settings = memory.settings
    neglect = await find_neglect(
        memory.knowledge, settings, memory.clock(), has_model=settings.has_model
    )
    return [(Status.WARNING, neglect.text)] if neglect else []


@printed
def config(
    all: Annotated[bool, flag("--all", "Show the settings that nobody set, too.")] = False,
) -> Result:
    """Show the settings that differ from the default; needs no store and no model."""
    from souffleur.settings import find_settings

    found = find_settings()
    return Result(asdict(found), lambda: print("\n".join(_format_settings(found, every=all))))


def _format_settings(found: "SettingsInForce", *, every: bool) -> list[str]:
    """Return a line for each setting that is set (or every one), and the remarks about all."""
    from souffleur.settings import NO_MODEL

    listed = [one for one in found.settings if every or one.source != "default"]
    shown = [_shown(one.value) for one in listed]
    wide = max((len(one.variable) for one in listed), default=0)
    long = min(max(map(len, shown), default=0), _USUAL_LENGTH)
    lines = [
        f"{one.variable:{wide}}  {value:{long}}  {one.source}"
        for one, value in zip(listed, shown, strict=True)
    ]
    usual = len(found.settings) - len(listed)
    lines += ["", f"{usual} settings have their defaults: see --all"] if usual else [""]
    lines += ["arguments of Souffleur.open() win over the environment; no .env file is read"]
    return [*lines, *([] if found.has_model else [NO_MODEL]), *found.unknown]


def _shown(value: Any) -> str:
    """Return a value as its variable would be written.

    >>> _shown(None), _shown(True), _shown("UTC"), _shown(0.0)
    ('none', 'true', 'UTC', '0.0')
    """
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
