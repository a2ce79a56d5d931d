"""The files of deploy/: what they name exists, and the settings they give are accepted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from souffleur.settings import all_fields, load_settings, variable_of
from tests.test_docs import parse

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
GIVEN = {
    "QDRANT_API_KEY": "a-key",
    "SOUFFLEUR_BASE_URL": "http://llm:8000/v1",
    "SOUFFLEUR_MODEL": "Qwen/Qwen3-8B",
}
"""What whoever starts it exports."""
SERVICE_KEYS = {
    *("build", "command", "depends_on", "deploy", "environment", "healthcheck", "image"),
    *("env_file", "extra_hosts", "ports", "restart", "stop_grace_period", "volumes"),
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file, with what is exported filled in."""

    def fill(found: re.Match[str]) -> str:
        name, _, usual = found.groups()
        if found[2] == ":?":
            return GIVEN[name]
        return GIVEN.get(name, usual)

    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    filled: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+)(:[?-])([^}]*)\}", fill, text))
    return filled


def test_services_name_only_what_is_there(compose: dict[str, Any]) -> None:
    """Keys, volumes, other services and the image's recipe."""
    services = compose["services"]
    assert set(services) == {"qdrant", "worker", "api"}
    assert services["worker"]["deploy"] == {"replicas": 2}
    for one in services.values():
        assert set(one) <= SERVICE_KEYS
        assert set(one.get("depends_on", ())) <= set(services)
        assert {volume.partition(":")[0] for volume in one.get("volumes", ())} <= set(
            compose["volumes"]
        )
        if build := one.get("build"):
            assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
        else:
            assert re.search(r":v\d+\.\d+\.\d+$", one["image"])


@pytest.mark.parametrize("name", ["worker", "api"])
def test_commands_and_settings_exist(
    compose: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command parses; each variable is a setting, and its value is accepted."""
    service = compose["services"][name]
    parse(["souffleur", *service["command"]])
    variables = {variable_of(field) for field in all_fields()}
    for variable, value in service["environment"].items():
        assert variable in variables
        assert isinstance(value, str | int)
        monkeypatch.setenv(variable, str(value))
    settings = load_settings()
    assert settings.has_model
    assert settings.qdrant_url == "http://qdrant:6333"
    assert settings.judge is (name == "worker")
    assert float(service["stop_grace_period"].rstrip("s")) > 2 * settings.shutdown_timeout


def test_one_key_for_both_sides(compose: dict[str, Any]) -> None:
    """Qdrant asks for the key that the others send."""
    services = compose["services"]
    keys = {services[name]["environment"]["SOUFFLEUR_QDRANT_API_KEY"] for name in ("worker", "api")}
    assert keys == {services["qdrant"]["environment"]["QDRANT__SERVICE__API_KEY"]}


def test_the_image_installs_what_there_is() -> None:
    """Each extra and each file that its recipe names; its folder is that of the compose file."""
    recipe = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", recipe)
    for extra in extras.split(","):
        assert f"\n{extra} = [" in project
    assert "requirements.lock" in recipe
    assert "SOUFFLEUR_PATH=/data" in recipe
    assert 'ENTRYPOINT ["souffleur"]' in recipe


def test_constraints_are_the_lock_without_its_hashes() -> None:
    """What `sed` leaves is one version a line, for every package of the lock."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    kept = re.sub(r"(?m)^ +--hash.*\n| \\$", "", lock)
    lines = [line for line in kept.splitlines() if not line.lstrip().startswith("#")]
    assert len(lines) == len(re.findall(r"(?m)^\S+==", lock))
    assert all(re.fullmatch(r"[\w.\[\],-]+==\S+( ; .+)?", line) for line in lines if line)


def test_the_dashboard_shows_metrics_that_exist() -> None:
    """Each metric that a panel asks for is one that is measured."""
    pytest.importorskip("prometheus_client")
    from prometheus_client import CollectorRegistry

    from souffleur.telemetry.metrics import Gauges, _counters, _histograms

    registry = CollectorRegistry()
    _histograms(registry)
    _counters(registry)
    Gauges(registry)
    known = set(registry._names_to_collectors)
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) > 10
    assert {name for expr in asked for name in re.findall(r"souffleur_\w+", expr)} <= known


def test_the_unit_starts_a_command_that_exists() -> None:
    """The systemd unit serves, with settings that exist."""
    unit = (DEPLOY / "souffleur.service").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ExecStart=\S+/souffleur (.+)$", unit, re.MULTILINE)
    parse(["souffleur", *command.split()])
    known = {variable_of(name) for name in all_fields()}
    assert set(re.findall(r"SOUFFLEUR_[A-Z_]+", unit)) <= known
