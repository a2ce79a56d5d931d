"""`souffleur run`, `schedule` and `worker`, as a person and a program see them."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Kind
from souffleur.knowledge.operation import ActorKind, Add
from souffleur.service.jobs import RUNS, jobs_of
from souffleur.settings import Settings
from tests.build import NOW, days, open_base, verdict
from tests.command import Run, data, on_disk
from tests.place import variables, where
from tests.scripted import by_name
from tests.stub import Body, Stub, fail, say


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Memories of long ago: three facts that have faded, and a plan that is over."""
    folder = tmp_path / "store"

    async def fill() -> None:
        base = await open_base(folder, dimension=64)
        plan = {"kind": Kind.TODO, "expires_at": NOW + days(8)}
        adds = [Add(reason="r", quote="", content=f"Ann likes tea {n}.") for n in range(3)]
        adds.append(Add(reason="r", quote="", content="Ann has an exam.", **plan))
        await base.apply(verdict(*adds, who=ActorKind.HOST))
        await base.close()

    asyncio.run(fill())
    return folder


def reviewer(body: Body) -> str:
    """Looks something up, then keeps the first and lets the others go."""
    if len(body["messages"]) == 2:
        return json.dumps({"reason": "is it so?", "query": "tea"})
    shown = re.findall(r"(?m)^(m\d+) \(.*(tea \d+)", body["messages"][1]["content"])
    keep = {"action": "KEEP", "reason": "she may want it"}
    drop = {"action": "DELETE", "reason": "nobody asks"}
    each = [{"id": id, **(keep if tea == "tea 0" else drop)} for id, tea in shown]
    return json.dumps({"reason": "of three teas one matters", "decisions": each})


@on_disk
def test_decay_lets_go_what_is_over(run: Run, store: Path) -> None:
    """A dry run only says so; without a model, faded facts go as well, at the last threshold."""
    code, out, _ = run("run", "decay", "--dry-run")
    assert code == 0
    assert "would be: 1 ARCHIVE · 3 FORGET" in out
    assert len(data(run, "list", "--everybody")) == 3  # the plan is over and is listed no more
    code, out, _ = run("run", "decay")
    assert "decay: 1 ARCHIVE · 3 FORGET" in out
    assert "expired on 2026-01-11" in out
    assert run("run", "decay")[1].strip() == "decay: nothing was due"


@on_disk
def test_review_asks_a_model(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """Each decision is told with its reason and what was looked up, and stands in the ledger."""
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(reviewer)).base_url)
    report = data(run, "run", "review", "--dry-run")
    assert sorted(line["op"] for line in report["lines"]) == ["DELETE", "DELETE", "KEEP"]
    code, out, _ = run("run", "review")
    assert code == 0
    for text in ("she may want it", "is it so? | SEARCH tea", "2 DELETE · 1 KEEP", "2 calls"):
        assert text in out
    (kept,) = data(run, "list", "--everybody")
    assert kept["content"] == "Ann likes tea 0."
    assert data(run, "history", kept["id"])[-1]["by"]["who"] == "reviewer"


@on_disk
def test_what_could_not_be_asked_is_told(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """With the endpoint down the exit code is 1, and all is as it was."""
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(fail(500, "oops")).base_url)
    code, out, _ = run("run", "review")
    assert code == 1
    assert "1 FAILED" in out
    assert len(data(run, "list", "--everybody")) == 3


@pytest.mark.parametrize(
    "name", ["review", "consolidate", "audit", "profile", "cues", "boundaries"]
)
def test_what_asks_a_model_needs_one(run: Run, name: str) -> None:
    """Without a model the error says what to set."""
    code, _, err = run("run", name)
    assert (code, "SOUFFLEUR_BASE_URL" in err) == (2, True)


@on_disk
def test_the_report_counts_and_is_told_of(run: Run, store: Path) -> None:
    """Its numbers are printed, and `report` names it among the latest runs."""
    _, out, _ = run("run", "report")
    assert "states: 4 active" in " ".join(out.split())
    assert "health: warning" in run("report")[1]
    assert run("run", "purge")[1].strip() == "purge: nothing was due"


def test_an_interrupt_ends_it_cleanly(store: Path, stub: Callable[..., Stub]) -> None:
    """What is under way ends, the report is printed, and the next run does the rest."""

    async def more() -> None:
        base = await open_base(store, dimension=64)
        adds = [Add(reason="r", quote="", content=f"Ann likes tea {n}.") for n in range(3, 11)]
        await base.apply(verdict(*adds, who=ActorKind.HOST, name="more"))
        await base.close()

    asyncio.run(more())

    def slow(body: Body) -> str:
        time.sleep(1)
        return reviewer(body)

    endpoint = stub(say(slow))
    settings: dict[str, Any] = {
        **variables(store),
        "SOUFFLEUR_EMBEDDER": "hash:64",
        "SOUFFLEUR_BASE_URL": endpoint.base_url,
    }
    command = [sys.executable, "-P", "-m", "souffleur", "run", "review", "--json"]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}
    )
    while not endpoint.requests:
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=30)
    report = json.loads(out)
    assert child.returncode == 0
    assert report["stopped"] == "it was asked to stop"
    assert len(report["lines"]) == 10


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


def test_a_worker_needs_a_server_and_a_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them it says which setting is missing, and ends as for a wrong setting."""
    code, _, said = run("worker")
    assert code == 2
    assert "SOUFFLEUR_QDRANT_URL" in said
    monkeypatch.setenv("SOUFFLEUR_QDRANT_URL", "http://127.0.0.1:1")
    code, _, said = run("worker")
    assert code == 2
    assert "SOUFFLEUR_BASE_URL" in said
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", "http://127.0.0.1:1/v1")
    code, _, said = run("worker")
    assert code == 1
    assert "gave no usable answer" in said
