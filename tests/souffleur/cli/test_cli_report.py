"""`souffleur report` and `souffleur doctor`."""

import asyncio
import json
from pathlib import Path
from typing import Any

from souffleur.knowledge.turn import TurnState
from tests.build import open_base, turn
from tests.command import Run, data, on_disk

ME = ("--user", "ann")


def test_a_store_is_reported(run: Run, tmp_path: Path) -> None:
    """The report is for a person, a program, or a page, and of one user or of all."""
    run("remember", "Ann likes <b>tea</b>.", *ME)
    run("remember", "Bob likes milk.", "--user", "bob")
    whole = data(run, "report")
    assert (whole["users"], whole["health"]["state"]) == (2, "ok")
    assert data(run, "report", *ME)["states"] == {"active": 1}
    assert "active" in run("report")[1]
    page = tmp_path / "page.html"
    assert f"written to {page}" in run("report", "--html", str(page))[1].replace("\n", "")
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "<b>tea</b>" not in text
    assert run("report", "--html", "-")[1].strip().startswith("<!doctype html>")
    assert not Path("-").exists()
    assert run("list", "--user", "")[0] == 1  # an empty variable of a script names nobody


@on_disk
def test_the_doctor_has_an_exit_code(run: Run, tmp_path: Path) -> None:
    """0 where all is well, 1 where turns could not be judged, with what to do; costs are told."""
    assert run("doctor")[0] == 0

    async def break_it() -> None:
        base = await open_base(tmp_path / "store", dimension=64)
        base.journal.record(turn("hello", "hi"))
        failed: dict[str, Any] = {"state": TurnState.FAILED, "error": "no model"}
        failed["spent"] = {"calls": 2, "input_tokens": 1800, "output_tokens": 40, "cost": 0.0123}
        await base.journal.mark(await base.journal.turns(), **failed)
        await base.close()

    asyncio.run(break_it())
    code, out, _ = run("doctor", "--json")
    assert (code, json.loads(out)["state"]) == (1, "broken")
    code, out, _ = run("doctor")
    assert code == 1
    assert "souffleur retry" in out
    told = " ".join(run("report")[1].split())
    assert "cost by day and user: 1" in told
    assert "2026-01-03 2 1,800 40 0.0123 ann" in told
