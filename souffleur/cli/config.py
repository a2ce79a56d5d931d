"""`souffleur config`: the settings in force."""

import json
from typing import TYPE_CHECKING, Any

import typer

from souffleur.cli.options import AsJson

if TYPE_CHECKING:
    from souffleur.settings import SettingsInForce

_USUAL_LENGTH = 40
"""Characters of a value; longer ones move what stands behind them."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(config)


def config(as_json: AsJson = False) -> None:
    """Show the settings in force, and where each comes from; needs no store and no model."""
    from dataclasses import asdict

    from souffleur.settings import find_settings

    found = find_settings()
    if as_json:
        print(json.dumps(asdict(found), ensure_ascii=False, indent=2))
    else:
        print("\n".join(format_settings(found)))


def format_settings(found: "SettingsInForce") -> list[str]:
    """Return a line for each setting, and what there is to say about all of them."""
    from souffleur.settings import NO_MODEL

    shown = [_shown(one.value) for one in found.settings]
    wide = max(len(one.variable) for one in found.settings)
    long = min(max(map(len, shown)), _USUAL_LENGTH)
    lines = [
        f"{one.variable:{wide}}  {value:{long}}  {one.source}"
        for one, value in zip(found.settings, shown, strict=True)
    ]
    lines += ["", "arguments of Souffleur.open() win over the environment; no .env file is read"]
    return [*lines, *([] if found.has_model else [NO_MODEL]), *found.unknown]


def _shown(value: Any) -> str:
    """Return a value as its variable would be written.

    >>> _shown(None), _shown(True), _shown("UTC"), _shown(0.0)
    ('none', 'true', 'UTC', '0.0')
    """
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
