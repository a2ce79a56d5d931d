"""Settings: from the environment, checked, and plain about what is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest

from souffleur.agents.model.chat import Message, Request
from souffleur.api import Souffleur
from souffleur.errors import SettingsError
from souffleur.overrides import Overrides
from souffleur.parts import make_endpoint
from souffleur.settings import (
    OPENAI_URL,
    Settings,
    all_fields,
    change_settings,
    check_settings,
    load_settings,
    need_model,
    variable_of,
)
from tests.stub import Stub

LAXER = [
    *("path", "qdrant_api_key", "api_key", "openai_api_key", "embedder_api_key"),
    *("redact", "refuse", "whisper", "mirror", "upstream_api_key", "tokens"),
]
"""Settings that are also taken as texts, sequences or mappings."""


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
        ("SOUFFLEUR_PATH", " ", "SOUFFLEUR_PATH: must not be empty"),
        (
            "SOUFFLEUR_EXTRA_BODY",
            "think=no",
            "SOUFFLEUR_EXTRA_BODY: must be a JSON object, such as",
        ),
        ("SOUFFLEUR_EXTRA_BODY", "[1]", "SOUFFLEUR_EXTRA_BODY: must be a JSON object, such as"),
        ("SOUFFLEUR_EXTRA_BODY", '{"a": NaN}', "SOUFFLEUR_EXTRA_BODY: must be a JSON object"),
        ("SOUFFLEUR_EXTRA_BODY", '{"model": "m"}', "not hold 'model': set SOUFFLEUR_MODEL"),
        ("SOUFFLEUR_RAW_DAYS", "3", "SOUFFLEUR_RAW_DAYS: must be 7 to 365 days, none,"),
        ("SOUFFLEUR_WHISPER", "500", "SOUFFLEUR_WHISPER: "),
        ("SOUFFLEUR_WHISPER", "related", "SOUFFLEUR_WHISPER: must be a JSON object, such as"),
        ("SOUFFLEUR_WHISPER", '{"relatd": 5}', "SOUFFLEUR_WHISPER, relatd"),
        ("SOUFFLEUR_METRICS", "70000", "SOUFFLEUR_METRICS: must be true, false, or a port"),
    ],
)
def test_what_cannot_be_right_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    """The error names the variable and what it takes."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=message):
        load_settings()


@pytest.mark.parametrize("name", all_fields())
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A variable that compose has made of nothing changes nothing, whichever it is."""
    monkeypatch.setenv(variable_of(name), "")
    assert load_settings() == Settings()


@pytest.mark.parametrize("name", ["path", "tokens", "mirror"])
def test_no_home_is_told(name: str) -> None:
    """Where a user has no home, as many in containers, the variable to set is named."""
    settings = check_settings({name: Path("~nobody-here/x")})
    with pytest.raises(SettingsError, match=f"SOUFFLEUR_{name.upper()} is ~.*no home folder"):
        _ = settings.folder, settings.tokens_file, settings.mirror_folder


def test_no_secret_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither repr nor str of the settings shows a key, or what an address holds beside it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed")
    monkeypatch.setenv("SOUFFLEUR_API_KEY", "very-secret-too")
    address = "https://me:very-secret@model.example/v1?key=very-secret"
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", address)
    monkeypatch.setenv("SOUFFLEUR_UPSTREAM_URL", address)
    monkeypatch.setenv("SOUFFLEUR_QDRANT_URL", "https://me:very-secret@qdrant.example:6333")
    monkeypatch.setenv("SOUFFLEUR_EXTRA_BODY", '{"api_key": "very-secret-4711"}')
    for shown in (repr(load_settings()), str(load_settings())):
        assert "very-secret" not in shown
        assert "https://model.example/v1" in shown


HERE, THERE = "http://localhost:1/v1", "http://there.example/v1"


@pytest.mark.parametrize(
    ("given", "model", "its_key", "embedder_key"),
    [
        ({"OPENAI_API_KEY": "o"}, None, "o", "o"),
        ({"OPENAI_API_KEY": "o", "SOUFFLEUR_MODEL": "m"}, OPENAI_URL, "o", "o"),
        ({"OPENAI_API_KEY": "o", "SOUFFLEUR_BASE_URL": OPENAI_URL}, OPENAI_URL, "o", "o"),
        ({"OPENAI_API_KEY": "o", "SOUFFLEUR_BASE_URL": HERE}, HERE, None, None),
        ({"OPENAI_API_KEY": "o", "SOUFFLEUR_API_KEY": "s"}, OPENAI_URL, "s", "s"),
        ({"SOUFFLEUR_API_KEY": "s", "SOUFFLEUR_BASE_URL": HERE}, HERE, "s", "s"),
        (
            {
                "SOUFFLEUR_API_KEY": "s",
                "SOUFFLEUR_BASE_URL": HERE,
                "SOUFFLEUR_EMBEDDER_BASE_URL": THERE,
            },
            HERE,
            "s",
            None,
        ),
        (
            {"SOUFFLEUR_EMBEDDER_BASE_URL": THERE, "SOUFFLEUR_EMBEDDER_API_KEY": "e"},
            None,
            None,
            "e",
        ),
    ],
)
def test_a_key_goes_to_its_own_address_alone(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    model: str | None,
    its_key: str | None,
    embedder_key: str | None,
) -> None:
    """OpenAI's to OpenAI, and talk to nobody unless a SOUFFLEUR_ variable says so."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.has_model == bool(model)
    assert (settings.endpoint_url if model else None) == model
    keys = (settings.endpoint_key, settings.embedder_key)
    assert [key.get_secret_value() if key else None for key in keys] == [its_key, embedder_key]


def test_the_key_of_the_environment_stays_out_of_settings_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Settings made by hand, or changed by name, know nothing of the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "o")
    monkeypatch.setenv("SOUFFLEUR_WINDOW", "12")
    for settings in (Settings(), change_settings(Settings(model="m"), timeout=3.0)):
        assert (settings.openai_api_key, settings.window, settings.has_model) == (None, 30, False)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            '{"think": false, "options": {"num_ctx": 16384}}',
            {"think": False, "options": {"num_ctx": 16384}},
        ),
        ("{}", {}),
        ("none", None),
    ],
)
def test_fields_of_the_endpoint_are_json(
    monkeypatch: pytest.MonkeyPatch, text: str, fields: dict[str, object] | None
) -> None:
    """They are read from a JSON object, and may be given by name as well."""
    monkeypatch.setenv("SOUFFLEUR_EXTRA_BODY", text)
    assert load_settings().extra_body == fields
    assert load_settings(extra_body={"think": True}).extra_body == {"think": True}


async def test_fields_of_the_endpoint_are_sent(
    monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """Each request of the configured model carries them, beside what is asked."""
    server = stub()
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", server.base_url)
    monkeypatch.setenv("SOUFFLEUR_EXTRA_BODY", '{"think": false}')
    await make_endpoint(load_settings())(Request((Message("user", "tea?"),), "companion"))
    (sent,) = server.requests
    assert (sent["think"], sent["messages"]) == (False, [{"role": "user", "content": "tea?"}])


def test_none_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes no temperature is given none, by variable or by argument."""
    monkeypatch.setenv("SOUFFLEUR_TEMPERATURE", "none")
    assert load_settings().temperature is None
    monkeypatch.setenv("SOUFFLEUR_USER_TITLE", "None")
    assert load_settings().user_title == "None"
    monkeypatch.delenv("SOUFFLEUR_TEMPERATURE")
    assert load_settings(temperature=None).temperature is None
    assert change_settings(Settings(temperature=0.5), temperature=None).temperature is None


def test_a_mistyped_override_is_refused(tmp_path: Path) -> None:
    """It says which was meant, and no store is made anywhere."""
    for mistyped in (
        lambda: load_settings(paht=tmp_path),
        lambda: change_settings(Settings(), paht=tmp_path),
        lambda: Souffleur.open(paht=tmp_path),  # type: ignore[call-arg]
        lambda: Souffleur.open(Settings(), paht=tmp_path),  # type: ignore[call-arg]
    ):
        with pytest.raises(SettingsError, match="there is no setting 'paht': did you mean path"):
            mistyped()


async def test_an_embedder_may_be_named(tmp_path: Path) -> None:
    """A string is the setting of that name, with settings of one's own or without."""
    async with Souffleur.open(path=tmp_path / "a", embedder="hash:64") as memory:
        assert memory.knowledge.embedder.name == "hash:64"
    async with Souffleur.open(Settings(path=tmp_path / "b"), embedder="hash:64") as memory:
        assert memory.knowledge.embedder.name == "hash:64"


def test_a_mistyped_variable_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Variables that are no settings are named; options of commands are not."""
    monkeypatch.setenv("SOUFFLEUR_PTAH", "/tmp")
    monkeypatch.setenv("SOUFFLEUR_USER", "ann")
    load_settings()
    told = [one.getMessage() for one in caplog.records]
    assert told == ["no setting is SOUFFLEUR_PTAH: did you mean SOUFFLEUR_PATH?"]


def test_no_model_is_a_plain_error() -> None:
    """The error says which variable to set."""
    with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
        need_model(Settings())


def test_settings_are_frozen() -> None:
    """They are made once at the edge, and stay."""
    with pytest.raises(ValueError, match="frozen"):
        Settings().window = 4  # type: ignore[misc]


def test_each_setting_can_be_given_by_name() -> None:
    """An editor completes the names of all settings, and a checker knows their types."""
    given = get_type_hints(Overrides)
    assert {*given, "embedder"} == set(all_fields())
    fixed = {name: one.annotation for name, one in all_fields().items() if name in given}
    assert [name for name, kind in fixed.items() if given[name] != kind] == LAXER


def test_the_commonest_slip_is_explained() -> None:
    """A memory that nobody awaited says what to write."""
    with pytest.raises(AttributeError, match="write `await Souffleur"):
        _ = Souffleur.open(Settings()).recall
    with pytest.raises(AttributeError, match="has no attribute 'recal'"):
        _ = Souffleur.open(Settings()).recal
