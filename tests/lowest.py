"""Prints the lowest version of each dependency that pyproject.toml allows, and what tests need."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("serve", "mcp", "langchain", "telemetry")
"""The extras that tests use."""
_FLOOR = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)\s*(?:>=|==)\s*(?P<version>[0-9.]+)")


def floors(text: str) -> list[str]:
    r"""Return a requirement for each direct dependency: its floor; of tests' own, as they are.

    >>> project = 'dependencies=["a>=1.2,<2"]\noptional-dependencies={mcp=["c>=4"],local=["d>=5"]}'
    >>> floors(f"[project]\n{project}\n[dependency-groups]\ndev=['b>=3']\nbuild=[]")
    ['a==1.2', 'c==4', 'b>=3']
    """
    whole = tomllib.loads(text)
    project, groups = whole["project"], whole["dependency-groups"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *(one for name in EXTRAS for one in extras.get(name, ()))]
    lowest = [
        f"{found['name']}=={found['version']}" for found in map(_FLOOR.match, direct) if found
    ]
    return [*lowest, *groups["dev"], *groups["build"]]


if __name__ == "__main__":
    print("\n".join(floors(Path("pyproject.toml").read_text(encoding="utf-8"))))
