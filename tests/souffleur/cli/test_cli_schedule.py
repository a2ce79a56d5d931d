"""`souffleur schedule`, as a process of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Kind
from souffleur.knowledge.operation import ActorKind, Add
from souffleur.service.jobs import RUNS, jobs_of
from souffleur.settings import Settings
from tests.build import NOW, days, verdict
from tests.place import variables, where
from tests.scripted import by_name


async def test_a_scheduled_run_lets_go_what_is_over(tmp_path: Path) -> None:
    """Without a model there is decay alone, and it does what `run decay` does."""
    settings = Settings(**where(tmp_path), embedder="hash:64")
    async with Souffleur.open(settings, clock=lambda: NOW) as memory:
        plan = Add(reason="r", quote="", content="Exam.", kind=Kind.TODO, expires_at=NOW + days(1))
        await memory.knowledge.apply(verdict(plan, who=ActorKind.HOST))
        decay, *_ = jobs_of(memory.parts)
        assert decay.name == "decay"
        await decay.work(NOW + days(2))
        assert await memory.knowledge.list("ann") == []
    modelled = settings.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    async with Souffleur.open(modelled, chat=by_name()) as memory:  # type: ignore[arg-type]
        assert [job.name for job in jobs_of(memory.parts)] == list(RUNS)


def test_it_runs_until_it_is_stopped(tmp_path: Path) -> None:
    """It says what is scheduled, and an interrupt ends it with 0, the store closed."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "souffleur", "schedule"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables(tmp_path), "SOUFFLEUR_EMBEDDER": "hash:64"},
    )
    assert child.stdout is not None
    assert child.stdout.readline().startswith("scheduled: decay, purge, report;")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert child.returncode == 0
