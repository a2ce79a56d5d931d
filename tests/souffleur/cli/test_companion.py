"""The terminal companion, and the benchmark: both over the real runtime."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from souffleur.cli.companion import converse
from souffleur.evals.performance import measure, report
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from tests.scripted import add, answer
from tests.stub import Body, Stub, say

KEPT = json.dumps(answer(add("Ann likes tea.", "I like tea")))


async def test_a_talk_in_the_terminal(
    tmp_path: Path,
    stub: Callable[..., Stub],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is typed is answered with the memories in the prompt, and remembered."""

    def reply(body: Body) -> str:
        if "response_format" in body:
            return KEPT
        return "Tea [again]!" if "Ann likes tea." in body["messages"][0]["content"] else "Noted."

    endpoint = stub(say(reply))
    settings = Settings(
        path=tmp_path, embedder="hash:64", base_url=endpoint.base_url, user_title="Ann"
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("I like tea\n"))
    await converse(settings, "ann", "s")
    monkeypatch.setattr(sys, "stdin", io.StringIO("some tea?\n\n"))
    await converse(settings, "ann", "s")
    said = capsys.readouterr().out
    assert "Noted." in said
    assert "Tea [again]!" in said


async def test_a_talk_goes_on_when_the_endpoint_fails(
    tmp_path: Path,
    stub: Callable[..., Stub],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A failed reply is told in one line; nothing of that turn is kept."""
    settings = Settings(path=tmp_path, embedder="hash:64", base_url=stub(say("")).base_url)
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n"))
    await converse(settings, "ann", "s")
    assert capsys.readouterr().out.strip()
    async with Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory:
        assert await memory.knowledge.journal.turns() == []


async def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Every operation is timed at every size, and a table is printed."""
    timings = await measure((3,), rounds=3)
    assert len({one.name for one in timings}) == len(timings) == 4
    assert all(0 < one.median <= one.slow for one in timings)
    report(timings)
    assert "recall" in capsys.readouterr().out
