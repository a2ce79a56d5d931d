"""`souffleur worker`: what it needs before it begins."""

import pytest

from tests.command import Run


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
