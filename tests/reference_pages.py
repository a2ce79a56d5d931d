"""Writes the tables of docs/settings.md from the code, for `make docs`.

Each page has a part written by hand, down to `MARK`; all below is replaced.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
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

_WORDS = {str: "text", Path: "path", SecretStr: "key", int: "number", float: "number"}


def settings_tables(by_hand: str) -> str:
    """Return a table for each section, without the settings that a table above already has."""
    told = dict([*_told(Settings), *_told(ServeSettings)])
    lines = ["", "## Rarely needed"]
    for name, field in all_fields().items():
        if name in SECTIONS:
            lines += ["", f"### {SECTIONS[name]}", ""]
            lines += ["| variable | values | default | meaning |", "|---|---|---|---|"]
        if f"\n| `{variable_of(name)}` |" in by_hand:
            continue
        cells = (f"`{variable_of(name)}`", values(field), default_of(field), told[name])
        lines.append(f"| {' | '.join(one.replace('|', '/') for one in cells)} |")
    return "\n".join([*lines, ""])


def values(field: FieldInfo) -> str:
    """Return the values that a setting may have, in words.

    >>> values(FieldInfo(annotation=Literal["a", "b"])), values(FieldInfo(annotation=float | None))
    ('`a`, `b`', 'number, or `none`')
    """
    kinds = [one for one in _united(field.annotation) if one is not NoneType]
    optional = ", or `none`" if len(kinds) < len(_united(field.annotation)) else ""
    if bool in kinds:
        return "`true`, `false`"
    if get_origin(kinds[0]) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(kinds[0])) + optional
    return (_range(field) or _WORDS.get(kinds[0], "JSON object")) + optional


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


def _range(field: FieldInfo) -> str:
    limits = {
        key: getattr(one, key)
        for one in field.metadata
        for key in ("ge", "gt", "le")
        if hasattr(one, key)
    }
    if "gt" in limits:
        return f"above {limits['gt']}"
    if "ge" in limits:
        return f"{limits['ge']} to {limits['le']}" if "le" in limits else f"{limits['ge']} or more"
    return ""


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
