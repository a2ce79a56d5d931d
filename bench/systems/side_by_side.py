"""Versus: the same scripts through other memory systems, with the same model and embedder.

Ours is played first, and determines how many memories each message may recall: the others' own
search gives as many. All are marked by what the store holds and recall returns; ops are listed
separately for the systems that report them.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.systems import SystemFactory, SystemInputs
from bench.systems.comparison import SystemComparison, SystemResult, compare_systems
from bench.systems.script_runner import count_whispered, mark_alike, play_ours, play_theirs
from souffleur.agents.model.chat import Chat
from souffleur.agents.model.recording import Player, Recorder, prune
from souffleur.dialogue import as_recorded
from souffleur.errors import RecordingError, SouffleurError
from souffleur.evals.fixture import Listener, script_settings
from souffleur.evals.result import ScriptResult
from souffleur.evals.script import Script, read_script
from souffleur.knowledge.search.embedder import Embedder
from souffleur.parts import settings_embedder
from souffleur.settings import Settings, default_settings

OURS = "souffleur"
DISTRIBUTION_NAMES = {"mem0": "mem0ai"}
"""Names of systems on PyPI, if they differ."""

Progress = Callable[[int, int], None]
"""Callback with the number of finished scripts and of all scripts."""


@dataclass(frozen=True)
class SystemSetup:
    """The model and settings that one system plays one script with."""

    settings: Settings
    chat: Chat
    timed: bool = False
    done: Callable[[], None] = lambda: None
    """Called if the script was played without trouble."""


SetupSource = Callable[[str, str], SystemSetup]
"""Returns the setup for a system and a script. Raises RecordingError if there is no recording."""


def live_setups(settings: Settings, chat: Chat) -> SetupSource:
    """Return setups that all ask the endpoint."""
    return lambda system, script: SystemSetup(settings, chat, timed=True)


def recording_setups(settings: Settings, chat: Chat, folder: Path, now: datetime) -> SetupSource:
    """Return setups that ask the endpoint and keep the answers in FOLDER/SYSTEM/SCRIPT.jsonl."""

    def setup(system: str, script: str) -> SystemSetup:
        path = _recording(folder, system, script)
        recorder = Recorder(chat, path, model=settings.model, now=now)
        return SystemSetup(settings, recorder, done=lambda: prune(path, recorder.used))

    return setup


def recorded_setups(folder: Path) -> SetupSource:
    """Return setups that play recorded answers."""

    def setup(system: str, script: str) -> SystemSetup:
        player = Player(_recording(folder, system, script))
        # A recorded failure is the same at every try.
        update = {**as_recorded(player), "tries": 1}
        return SystemSetup(default_settings().model_copy(update=update), player)

    return setup


async def play_side_by_side(
    files: Sequence[Path],
    factories: Mapping[str, SystemFactory],
    setups: SetupSource,
    *,
    live: bool = True,
    parallel: int = 8,
    step: Progress = lambda done, total: None,
) -> SystemComparison:
    """Play the scripts with ours and the other systems, several scripts concurrently.

    A failure in one script does not stop the others; a script counts if no system failed.
    """
    slots = asyncio.Semaphore(parallel)
    finished: Counter[str] = Counter()

    async def one(file: Path) -> _ScriptResults:
        async with slots:
            done = await _script(file, factories, setups)
        finished["scripts"] += 1
        step(finished["scripts"], len(files))
        return done

    done = await asyncio.gather(*(one(file) for file in files))
    sides = [
        SystemResult(
            system=name,
            version=version_of(name),
            tells_ops=any(some.tells.get(name, False) for some in done),
            scripts=tuple(sorted((some.played[name] for some in done), key=lambda it: it.name)),
        )
        for name in (OURS, *factories)
    ]
    return compare_systems(
        sides,
        models=[some.model for some in done],
        embedders=[some.embedder for some in done],
        mode="live" if live else "recorded",
    )


def version_of(system: str) -> str:
    """Return the installed version; empty if it is not a package."""
    try:
        return version(DISTRIBUTION_NAMES.get(system, system))
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class _ScriptResults:
    """The results of all systems on one script."""

    played: dict[str, ScriptResult]
    tells: dict[str, bool]
    model: str = ""
    embedder: str = ""


async def _script(
    file: Path, factories: Mapping[str, SystemFactory], setups: SetupSource
) -> _ScriptResults:
    names = (OURS, *factories)
    try:
        script = read_script(file)
        setup = setups(OURS, script.name)
        ours = await _ours(script, setup)
    except Exception as error:  # noqa: BLE001  the edge of a script
        failed = ScriptResult(name=file.stem, failure=_why(error, OURS, file.stem))
        others = ScriptResult(name=file.stem, failure=f"not played: {OURS} failed")
        return _ScriptResults({name: failed if name == OURS else others for name in names}, {})
    limits = [max(1, count_whispered(one.whisper)) for one in ours.steps]
    played, tells = {OURS: ours}, {OURS: True}
    for name, factory in factories.items():
        try:
            played[name], tells[name] = await _theirs(script, name, factory, setups, limits)
        except Exception as error:  # noqa: BLE001  the edge of another system's script
            failure = _why(error, name, file.stem)
            played[name] = ScriptResult(name=script.name, about=script.about, failure=failure)
    return _ScriptResults(
        played, tells, setup.settings.model, _embedder(script, setup.settings).name
    )


async def _ours(script: Script, setup: SystemSetup) -> ScriptResult:
    run = await play_ours(script, setup.settings, Listener(setup.chat, setup.timed))
    marked = await mark_alike(script, run, _embedder(script, setup.settings))
    return _ended(marked, setup)


async def _theirs(
    script: Script, name: str, factory: SystemFactory, setups: SetupSource, limits: Sequence[int]
) -> tuple[ScriptResult, bool]:
    setup = setups(name, script.name)
    listener = Listener(setup.chat, setup.timed)
    embedder = _embedder(script, setup.settings)
    system = factory(SystemInputs(script, setup.settings, listener, embedder))
    run = await play_theirs(script, system, listener, limits)
    return _ended(await mark_alike(script, run, embedder), setup), run.tells_ops


def _ended(played: ScriptResult, setup: SystemSetup) -> ScriptResult:
    if not played.troubles:
        setup.done()
    return played


def _embedder(script: Script, settings: Settings) -> Embedder:
    """Return a fresh embedder of the same model as ours."""
    return settings_embedder(script_settings(script, settings))


def _recording(folder: Path, system: str, script: str) -> Path:
    return folder / system / f"{script}.jsonl"


def _why(error: Exception, system: str, script: str) -> str:
    if isinstance(error, RecordingError):
        said = str(error).partition(": it has no answer")[0].partition(": make one")[0].rstrip(".")
        rivals = "mem0 langmem" if system == OURS else system
        command = f"python -m bench versus {rivals} --record FOLDER --only {script}"
        return f"{said}: record it with `{command}`"
    return str(error) if isinstance(error, SouffleurError) else repr(error)
