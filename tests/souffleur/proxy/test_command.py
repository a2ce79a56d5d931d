"""`souffleur proxy` in the terminal: what it refuses, and commands while it has the store."""

from pathlib import Path

import pytest

from tests.command import Run, data, on_disk
from tests.souffleur.cli.test_cli_serve import serving


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--upstream", "http://x/v1", "--host", "0.0.0.0"], "souffleur token --admin"),
        ([], "--upstream URL"),
        (["--upstream", "localhost:11434"], "is no address of an endpoint"),
        (["--upstream", "http://x/v1", "--user", "a", "--many-users"], "exclude each other"),
    ],
)
@on_disk
def test_what_cannot_be_served(run: Run, options: list[str], told: str) -> None:
    """A wrong option ends it with code 2 and a line that says what to do."""
    code, _, err = run("proxy", *options)
    assert code == 2
    assert told in err


@on_disk
def test_commands_work_through_it(run: Run, tmp_path: Path) -> None:
    """While it has the store, they read and change it; a second proxy is told who has it."""
    upstream = ("--upstream", "http://127.0.0.1:9/v1")
    with serving(tmp_path / "store", *upstream, command="proxy") as (child, said):
        assert said.startswith("serving at http://127.0.0.1:")
        assert child.stdout is not None
        told = [child.stdout.readline() for _ in range(5)]
        assert "/v1 -> http://127.0.0.1:9/v1 (it does not answer: ConnectError)" in told[0]
        assert "NONE yet: nothing is judged until it answers" in told[1]
        assert data(run, "remember", "Me likes tea.")[0]["op"] == "ADD"
        assert [one["content"] for one in data(run, "list")] == ["Me likes tea."]
        code, _, err = run("proxy", *upstream, "--port", "0")
        assert (code, "served by another process" in err) == (4, True)
