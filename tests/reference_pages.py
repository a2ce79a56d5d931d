"""Writes the tables of docs/settings.md from the code, for `make docs`.

Each page has a part written by hand, down to `MARK`; all below is replaced.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from souffleur.settings import ServeSettings, Settings, all_fields, variable_of
from tests.fields import fields_in

DOCS = Path(__file__).parent.parent / "docs"
MARK = "<!-- Written by `make docs` from here on. -->\n"

SECTIONS = {
    "path": "The store",
    "base_url": "The model",
    "embedder": "The embedder",
    "policy": "Fading, names, language",
    "judge_every": "Judging, sessions, raw turns",
    "whisper": "What is whispered",
    "tries": "Work in the background",
    "upstream_url": "Serving",
}
"""Headings of the settings, by the first setting under each."""


def settings_tables(by_hand: str) -> str:
    """Return a table for each section, without the settings that a table above already has."""
    told = dict([*_told(Settings), *_told(ServeSettings)])
    lines = ["", "## Rarely needed"]
    for name, field in all_fields().items():
        if name in SECTIONS:
            lines += ["", f"### {SECTIONS[name]}", ""]
            lines += ["| variable | default | meaning |", "|---|---|---|"]
        if f"\n| `{variable_of(name)}` |" in by_hand:
            continue
        cells = (f"`{variable_of(name)}`", default_of(field), choices(field) + told[name])
        lines.append(f"| {' | '.join(one.replace('|', '/') for one in cells)} |")
    return "\n".join([*lines, ""])


def choices(field: FieldInfo) -> str:
    """Return what a setting may be, if that is one of a few words.

    >>> choices(FieldInfo(annotation=Literal["a", "b"])), choices(FieldInfo(annotation=float))
    ('`a` or `b`: ', '')
    """
    (kind, *_) = (one for one in _united(field.annotation) if one is not NoneType)
    if get_origin(kind) is not Literal:
        return ""
    return " or ".join(f"`{one}`" for one in get_args(kind)) + ": "


def default_of(field: FieldInfo) -> str:
    """Return the default of a setting; a dash if there is none."""
    if field.default in (None, ""):
        return "-"
    text = str(field.default)
    return f"`{text.lower() if isinstance(field.default, bool) else text}`"


def _united(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type alone."""
    plain = get_origin(annotation) in (None, Literal, dict)
    return (annotation,) if plain else get_args(annotation)


def _told(settings: type) -> Iterator[tuple[str, str]]:
    """Yield the name of each field, and the text under it."""
    (tree,) = ast.parse(inspect.getsource(settings)).body
    for signature, text in fields_in(tree):
        yield signature.partition(":")[0], " ".join(text.split())


PAGES = {
    "settings.md": settings_tables,
}


def current(page: str) -> str:
    """Return the text that a page should have: its own part, and the generated one."""
    by_hand, mark, _ = (DOCS / page).read_text(encoding="utf-8").partition(MARK)
    assert mark, f"docs/{page} has no line {MARK!r}"
    return by_hand + MARK + PAGES[page](by_hand)


if __name__ == "__main__":
    for page in PAGES:
        (DOCS / page).write_text(current(page), encoding="utf-8")
