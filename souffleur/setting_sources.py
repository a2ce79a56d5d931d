"""The settings in force, and where each of them comes from."""

import os
from dataclasses import dataclass
from typing import Any, Literal

from souffleur.settings import (
    Settings,
    check_settings,
    describe_unknown,
    read_environment,
    shown_value,
    variable_of,
)

Source = Literal["argument", "environment", "default"]


@dataclass(frozen=True)
class SettingInForce:
    """One setting, as it may be shown: secrets are masked."""

    name: str
    variable: str
    """The environment variable that sets it."""
    value: Any
    """A JSON value."""
    source: Source


@dataclass(frozen=True)
class SettingsInForce:
    """All settings, in the order of `Settings`."""

    settings: tuple[SettingInForce, ...]
    has_model: bool
    """Whether they configure a model."""
    unknown: tuple[str, ...]
    """A sentence for each SOUFFLEUR_… variable that is not a setting."""


def find_settings(**overrides: object) -> SettingsInForce:
    """Return the settings that `Souffleur.open(**overrides)` would use now.

    An argument wins over the environment, and that over the default. Raises SettingsError as
    `load_settings` does.
    """
    given = read_environment()
    settings = check_settings({**given, **overrides})
    values = settings.model_dump(mode="json")

    def source(name: str) -> Source:
        if name in overrides:
            return "argument"
        return "environment" if name in given else "default"

    found = (
        SettingInForce(name, variable_of(name), shown_value(name, values[name]), source(name))
        for name in Settings.model_fields
    )
    return SettingsInForce(tuple(found), settings.has_model, tuple(describe_unknown(os.environ)))
