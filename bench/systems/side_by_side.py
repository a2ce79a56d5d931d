"""Several systems on the same scripts: played side by side, and their results compared.

Intervals come from the same bootstrap as the suite's (see `bootstrap`). Differences are paired:
both systems are drawn alike, script by script.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from pydantic import Field

from bench.systems import SystemFactory, SystemInputs
from bench.systems.script_runner import (
    TOLD_PREFIX,
    count_whispered,
    mark_alike,
    play_ours,
    play_theirs,
)
from souffleur.agents.model.chat import Chat
from souffleur.agents.model.recording import Player, Recorder, prune
from souffleur.demo.dialogue import as_recorded
from souffleur.errors import RecordingError, SouffleurError
from souffleur.evals.fixture import Listener, script_settings
from souffleur.evals.metrics import Metric, PairedDifference, compare_pairs, count, measured, ratio
from souffleur.evals.result import Measured, ScriptResult
from souffleur.evals.script import Script, read_script
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.search.embedder import Embedder
from souffleur.parts import settings_embedder
from souffleur.settings import Settings, default_settings


class SystemResult(Frozen):
    """The results of one system on all scripts."""

    system: str
    version: str = ""
    tells_ops: bool = False
    scripts: tuple[ScriptResult, ...]
    """The scripts, sorted by name."""
    metrics: dict[str, Measured] = Field(default_factory=dict)
    ops: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Counts of right, wrong, met and missed, for each op that it reported or should have."""

    @property
    def name(self) -> str:
        """The name with the version."""
        return f"{self.system} {self.version}".strip()

    @property
    def troubles(self) -> list[str]:
        """The reasons why scripts, or turns of scripts, failed."""
        return [f"{one.name}: {trouble}" for one in self.scripts for trouble in one.troubles]


class SystemDifference(Frozen):
    """The difference of one metric: ours minus another system's."""

    metric: str
    system: str
    """The other system."""
    value: float
    low: float
    """The lower end of the 95 % interval; likewise `high`."""
    high: float
    better: Literal["ours", "theirs", ""]
    """Which one is better beyond noise; empty if neither is."""


class SystemComparison(Frozen):
    """A file of results; ours comes first."""

    format: Literal[1] = 1
    model: str
    embedder: str
    mode: Literal["recorded", "live"]
    scripts: int
    """The number of scripts that count: those in which no system failed."""
    sides: tuple[SystemResult, ...]
    gaps: tuple[SystemDifference, ...] = ()

    @property
    def troubles(self) -> list[str]:
        """The reasons why scripts, or turns of scripts, failed."""
        return [
            f"{result.system}: {trouble}" for result in self.sides for trouble in result.troubles
        ]


def to_text(comparison: SystemComparison) -> str:
    """Return the comparison as JSON; the same comparison always gives the same text."""
    plain = comparison.model_dump(mode="json")
    return json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def compare_systems(
    sides: Sequence[SystemResult],
    *,
    models: Sequence[str],
    embedders: Sequence[str],
    mode: Literal["recorded", "live"],
) -> SystemComparison:
    """Compare what was played and compute the metrics; the first side must be ours."""
    failed = {one.name for result in sides for one in result.scripts if one.failure}
    counted = [[one.counts for one in result.scripts if one.name not in failed] for result in sides]
    metrics = [metric for metric in SYSTEM_METRICS if _is_told(metric, counted)]
    measured_sides = tuple(
        result.model_copy(
            update={"metrics": measured(counts, metrics), "ops": _ops(result, counts)}
        )
        for result, counts in zip(sides, counted, strict=True)
    )
    gaps = [
        _difference(result.system, paired)
        for result, counts in zip(sides[1:], counted[1:], strict=True)
        for paired in compare_pairs(counts, counted[0], metrics)
    ]
    return SystemComparison(
        model=", ".join(sorted({one for one in models if one})),
        embedder=", ".join(sorted({one for one in embedders if one})),
        mode=mode,
        scripts=len(counted[0]),
        sides=measured_sides,
        gaps=tuple(gaps),
    )


def _is_told(metric: Metric, counted: Sequence[Sequence[dict[str, float]]]) -> bool:
    """Tell whether a metric applies: seconds are only known if a model was asked."""
    if metric.group != "latency":
        return True
    return any("timed" in counts for result in counted for counts in result)


def _difference(system: str, paired: PairedDifference) -> SystemDifference:
    better: Literal["ours", "theirs", ""] = ""
    if paired.low > 0 or paired.high < 0:
        better = "ours" if (paired.low > 0) == (paired.metric.good == "high") else "theirs"
    return SystemDifference(
        metric=paired.metric.name,
        system=system,
        value=round(paired.b - paired.a, 6),
        low=paired.low,
        high=paired.high,
        better=better,
    )


def _ops(result: SystemResult, counted: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    if not result.tells_ops:
        return {}
    ops: dict[str, dict[str, float]] = {}
    for counts in counted:
        for name, number in counts.items():
            if name.startswith(TOLD_PREFIX):
                op, _, what = name.removeprefix(TOLD_PREFIX).rpartition(".")
                row = ops.setdefault(op, dict.fromkeys(("right", "wrong", "met", "missed"), 0.0))
                row[what] += number
    return dict(sorted(ops.items()))


SYSTEM_METRICS: tuple[Metric, ...] = (
    ratio("holds at the end", "details", "holds.right", "holds.all", about="once, where so asked"),
    ratio("lacks at the end", "details", "gone.right", "gone.all"),
    ratio("learned at its turn", "details", "learned.right", "learned.all"),
    count("breaches", "breaches", about="written, and never to be"),
    count("held twice", "held_twice", about="of what there is to be once"),
    count("near-duplicates", "near", about="at the end, by cosine"),
    ratio("recall brings", "recall", "brings.hit", "brings.all"),
    ratio("recall lacks", "recall", "lacks.kept", "lacks.all"),
    ratio("written per turn", "cost", "wrote", "turns", good="low"),
    ratio("memories at the end", "cost", "memories", "scripts", good="low"),
    ratio("calls per turn", "cost", "calls", "turns", good="low"),
    ratio("tokens in per turn", "cost", "tokens.in", "turns", good="low"),
    ratio("tokens out per turn", "cost", "tokens.out", "turns", good="low"),
    ratio("dollars per turn", "cost", "cost", "turns", good="low"),
    ratio("model seconds per turn", "latency", "seconds", "turns", good="low"),
)


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
