"""`souffleur mirror`: what is written into the files by hand, while nothing runs."""

from pathlib import Path

from tests.command import Run


def test_the_command(run: Run, tmp_path: Path) -> None:
    """Edits made while nothing ran are found; what is not taken over is said on standard error."""
    run("remember", "Kim likes tea.", "--user", "kim")
    folder = tmp_path / "notes"
    code, out, err = run("mirror", str(folder), "--user", "kim")
    assert (code, out, err) == (0, "wrote MEMORY.md and LEARNINGS.md\n", "")
    file = folder / "MEMORY.md"
    text = file.read_text("utf-8")
    new = "Kim likes cocoa.\n\n### hobby\nKim sails."
    file.write_text(text.replace("Kim likes tea.", new), "utf-8")
    code, out, err = run("mirror", str(folder), "--user", "kim")
    assert (code, out) == (0, "1 edited; wrote MEMORY.md\n")
    assert err.startswith("not taken over: MEMORY.md: 'hobby' is no kind of memory")
    assert "Kim likes cocoa." in run("list", "--user", "kim")[1]
