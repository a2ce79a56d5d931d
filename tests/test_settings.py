"""Settings: from the environment, checked, and plain about what is wrong."""

from pathlib import Path

import pytest

from souffleur.errors import SettingsError
from souffleur.settings import Settings, load_settings, need_model


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """SOUFFLEUR_<NAME> sets a field."""
    monkeypatch.setenv("SOUFFLEUR_PATH", "/tmp/elsewhere")
    monkeypatch.setenv("SOUFFLEUR_WINDOW", "12")
    settings = load_settings()
    assert (settings.folder, settings.window) == (Path("/tmp/elsewhere"), 12)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SOUFFLEUR_POLICY", "elephant", "SOUFFLEUR_POLICY: there is no policy 'elephant'"),
        ("SOUFFLEUR_TIMEZONE", "Mars/Olympus", "SOUFFLEUR_TIMEZONE: there is no time zone"),
        ("SOUFFLEUR_WINDOW", "many", "SOUFFLEUR_WINDOW"),
        ("SOUFFLEUR_LANGUAGE", "tlh", "SOUFFLEUR_LANGUAGE"),
        ("SOUFFLEUR_RAW_DAYS", "3", "SOUFFLEUR_RAW_DAYS: must be 7 to 365 days, or 0"),
        (
            "SOUFFLEUR_WINDOW",
            "9",
            "right: SOUFFLEUR_WINDOW_KEEP must be less than SOUFFLEUR_WINDOW",
        ),
    ],
)
def test_what_cannot_be_right_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    """The error names the variable and what it takes."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=message):
        load_settings()


def test_a_key_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither repr nor str of the settings shows a key, and OpenAI's own variable is taken."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed")
    settings = load_settings()
    assert settings.has_model
    assert "very-secret" not in repr(settings)


def test_no_model_is_a_plain_error() -> None:
    """The error says which variable to set."""
    with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
        need_model(Settings())


def test_settings_are_frozen() -> None:
    """They are made once at the edge, and stay."""
    with pytest.raises(ValueError, match="frozen"):
        Settings().window = 4  # type: ignore[misc]
