"""`souffleur proxy` in the terminal: what it refuses before it opens a store."""

import pytest

from tests.command import Run


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--upstream", "http://x/v1", "--host", "0.0.0.0"], "SOUFFLEUR_PROXY_TOKEN"),
        ([], "--upstream URL"),
        (["--upstream", "localhost:11434"], "is no address of an endpoint"),
        (["--upstream", "http://x/v1", "--user", "a", "--many-users"], "exclude each other"),
    ],
)
def test_what_cannot_be_served(run: Run, options: list[str], told: str) -> None:
    """A wrong option ends it with code 2 and a line that says what to do."""
    code, _, err = run("proxy", *options)
    assert code == 2
    assert told in err
