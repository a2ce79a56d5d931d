"""Where a command writes a page: into a file, or to standard output."""

from pathlib import Path

from souffleur.cli.options import STANDARD_OUTPUT


def write_page(page: str, file: Path, told: str) -> None:
    """Write a page and print `told`; print the page alone if the file is standard output."""
    if file == STANDARD_OUTPUT:
        print(page)
        return
    file.write_text(page, encoding="utf-8")
    print(told)
