"""The suite: plays and marks scripts concurrently; answers are recorded, live or to be recorded."""

import asyncio
import multiprocessing
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from souffleur.agents.model.chat import Chat
from souffleur.agents.model.recording import Player, Recorder, prune
from souffleur.agents.structured_chat import StructuredChat
from souffleur.demo.dialogue import AS_SAID, as_recorded
from souffleur.errors import RecordingError, SouffleurError
from souffleur.evals.fixture import BY_HAND, Listener, ScriptedChat, no_model
from souffleur.evals.marking import mark
from souffleur.evals.metrics import measure
from souffleur.evals.result import Run, ScriptResult
from souffleur.evals.script import Script, read_script
from souffleur.evals.script_runner import play
from souffleur.knowledge.store.opening import Opener
from souffleur.settings import Settings, default_settings

ENDPOINT_SETTINGS = (
    *("base_url", "api_key", "model", "timeout", "temperature", "max_tokens", "answer_form"),
    *("extra_body", "price_in", "price_out"),
)
"""Settings that come from the environment; all other settings are the same on every machine."""

Rules = dict[str, str]
Evaluated = tuple[ScriptResult, Rules]
Progress = Callable[[int, int], None]
"""Called with the number of finished scripts and the number of all scripts."""


@dataclass(frozen=True)
class Recorded:
    """A recorded run, and where its answers came from."""

    run: Run
    played: int
    """Number of answers that were in the recordings already."""
    asked: int
    """Number of answers that the model was asked for."""


@dataclass(frozen=True)
class EvalSetup:
    """The models and settings that a script is evaluated with."""

    settings: Settings
    chat: Chat
    """The model under test."""
    llm_judge: Chat
    """The model that decides where no pattern can."""
    timed: bool = False
    opener: Opener | None = None
    """Opens the stores; `None` makes a new store for each script."""


async def evaluate(script: Script, setup: EvalSetup) -> Evaluated:
    """Play and mark a script. Raises RecordingError, and the errors of the LLM judge's model."""
    listener = Listener(ScriptedChat(script, setup.chat), setup.timed)
    played = await play(script, setup.settings, listener, setup.opener)
    judge = StructuredChat(setup.llm_judge, form=setup.settings.answer_form)
    return await mark(script, played, judge), listener.rules


def eval_settings(settings: Settings) -> Settings:
    """Return the defaults with the endpoint of these settings, so that recordings fit."""
    chosen = {name: getattr(settings, name) for name in ENDPOINT_SETTINGS}
    return default_settings().model_copy(update={**chosen, **AS_SAID})


def recording_of(file: Path, recordings: Path) -> Path:
    """Return the file of recorded answers to a script."""
    return recordings / f"{file.stem}.jsonl"


def run_recorded(
    files: Sequence[Path],
    recordings: Path,
    *,
    processes: int | None = None,
    together: int = 1,
    opener: Opener | None = None,
    step: Progress = lambda done, total: None,
) -> Run:
    """Run a suite with recorded answers, in several processes, or in this one if one is enough.

    `together` is the number of turns of a session that are judged in a single call. `opener` opens
    the stores; without an opener, each script has a new store.
    """
    work = partial(_recorded, recordings=recordings, together=together, opener=opener)
    count = processes or min(os.cpu_count() or 1, len(files))
    played: list[tuple[ScriptResult, Rules, str]] = []
    if count == 1:
        for file in files:
            played.append(work(file))
            step(len(played), len(files))
    else:
        spawn = multiprocessing.get_context("spawn")  # the store's threads do not survive a fork
        with ProcessPoolExecutor(count, mp_context=spawn) as pool:
            for one in pool.map(work, files):
                played.append(one)
                step(len(played), len(files))
    models = sorted({model for *_, model in played if model})
    done = [(one, rules) for one, rules, _ in played]
    return make_run(done, ", ".join(models), "recorded")


async def run_live(
    files: Sequence[Path],
    setup: EvalSetup,
    *,
    parallel: int = 8,
    step: Progress = lambda done, total: None,
) -> Run:
    """Run a suite with a live model, several scripts concurrently."""

    async def one(script: Script) -> Evaluated:
        return await evaluate(script, setup)

    done = await _side_by_side(files, one, parallel, step)
    return make_run(done, setup.settings.model, "live")


async def record(
    files: Sequence[Path],
    recordings: Path,
    settings: Settings,
    chat: Chat,
    *,
    now: datetime | None = None,
    parallel: int = 8,
    step: Progress = lambda done, total: None,
) -> Recorded:
    """Run a suite with a live model and keep its answers, one file for each script.

    Answers that a file already has are not asked again. If a script was played to its end, answers
    that it no longer asks for are dropped.
    """
    begun, recorders = now or datetime.now(UTC), list[Recorder]()

    async def one(script: Script) -> Evaluated:
        path = recordings / f"{script.name}.jsonl"
        recorder = Recorder(chat, path, model=settings.model, now=begun)
        recorders.append(recorder)
        done = await evaluate(script, EvalSetup(settings, recorder, recorder))
        if not done[0].troubles:
            prune(path, recorder.used)
        return done

    run = make_run(await _side_by_side(files, one, parallel, step), settings.model, "recorded")
    asked = sum(one.asked for one in recorders)
    return Recorded(run, sum(len(one.used) for one in recorders) - asked, asked)


def make_run(done: Sequence[Evaluated], model: str, mode: str) -> Run:
    """Return a run with these results and their metrics."""
    scripts = tuple(sorted((played for played, _ in done), key=lambda one: one.name))
    rules = {key: text for _, some in done for key, text in sorted(some.items())}
    run = Run.model_validate({"model": model, "mode": mode, "scripts": scripts, "rules": rules})
    return run.model_copy(update={"metrics": measure(run.scripts)})


async def _side_by_side(
    files: Sequence[Path],
    one: Callable[[Script], Awaitable[Evaluated]],
    parallel: int,
    step: Progress,
) -> list[Evaluated]:
    slots = asyncio.Semaphore(parallel)
    finished = Counter[str]()

    async def guarded(file: Path) -> Evaluated:
        async with slots:
            done = await _guarded(file, one)
        finished["scripts"] += 1
        step(finished["scripts"], len(files))
        return done

    return list(await asyncio.gather(*(guarded(file) for file in files)))


async def _guarded(file: Path, one: Callable[[Script], Awaitable[Evaluated]]) -> Evaluated:
    """Return the result of a script, or its failure: a failure does not stop other scripts."""
    about = ""
    try:
        script = read_script(file)
        about = script.about
        return await one(script)
    except RecordingError as error:
        failure = _stale(str(error), file.stem)
    except Exception as error:  # noqa: BLE001  the edge of a script
        failure = str(error) if isinstance(error, SouffleurError) else repr(error)
    return ScriptResult(name=file.stem, about=about, failure=failure), {}


def _stale(said: str, name: str) -> str:
    """Return the text of a RecordingError with the command that records a script again."""
    if "souffleur eval replay" not in said:
        return said
    why = said.partition(": it has no answer")[0].partition(": ")[0].rstrip(".")
    asked = said.partition("it has no answer to ")[2].partition(", so the prompt")[0]
    seen = f" (no answer to {asked})" if asked else ""
    return f"{why}{seen}: record it with `souffleur eval record --only {name}` (see --recordings)"


def _recorded(
    file: Path, recordings: Path, together: int, opener: Opener | None
) -> tuple[ScriptResult, Rules, str]:
    """Evaluate a recorded script in its own process."""
    path = recording_of(file, recordings)

    async def one(script: Script) -> Evaluated:
        if script.answers_itself:
            settings = default_settings().model_copy(
                update={"model": BY_HAND, "retry_pause": 0.0, **AS_SAID}
            )
            return await evaluate(script, EvalSetup(settings, no_model, no_model, opener=opener))
        player = Player(path)
        # A recorded failure is the same in every attempt.
        update = {**as_recorded(player), "tries": 1, "judge_every": together}
        settings = default_settings().model_copy(update=update)
        return await evaluate(script, EvalSetup(settings, player, player, opener=opener))

    played, rules = asyncio.run(_guarded(file, one))
    model = ""
    with suppress(RecordingError):
        model = Player(path).model
    return played, rules, model
