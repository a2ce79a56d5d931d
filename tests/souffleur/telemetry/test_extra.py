"""The extra `telemetry`: the error without its packages."""

import subprocess
import sys
from pathlib import Path

OPENS = """
import asyncio, sys
from souffleur import Souffleur, SettingsError

async def talk(**options):
    async with Souffleur.open(path=sys.argv[1], embedder="hash:64", **options) as memory:
        memory.observe(user_id="ann", user="Hello", assistant="Hi")
        assert not (await memory.recall(user_id="ann", text="Hello")).error
"""
WITHOUT = f"""{OPENS}
sys.modules["prometheus_client"] = sys.modules["opentelemetry.trace"] = None
asyncio.run(talk())
for option in ({{"metrics": True}}, {{"traces": "on"}}):
    try:
        asyncio.run(talk(**option))
    except SettingsError as error:
        print(error)
"""


def test_without_the_packages_memory_works(tmp_path: Path) -> None:
    """Nothing imports them but the settings that ask for them, and these say what to install."""
    command = [sys.executable, "-c", WITHOUT, str(tmp_path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(said) == 2
    assert all("pip install '.[telemetry]'" in line for line in said)
