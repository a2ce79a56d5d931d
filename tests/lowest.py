"""Prints the lowest version of each dependency that pyproject.toml allows, and what tests need."""

import re
import tomllib
from pathlib import Path

_FLOOR = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)\s*(?:>=|==)\s*(?P<version>[0-9.]+)")


def floors(text: str) -> list[str]:
    r"""Return a requirement for each direct dependency: its floor; of tests' own, as they are.

    >>> floors('project.dependencies=["a>=1.2,<2"]\ndependency-groups={dev=["b>=3"], build=[]}')
    ['a==1.2', 'b>=3']
    """
    project = tomllib.loads(text)
    lowest = [
        f"{found['name']}=={found['version']}"
        for found in map(_FLOOR.match, project["project"]["dependencies"])
        if found
    ]
    groups = project["dependency-groups"]
    return [*lowest, *groups["dev"], *groups["build"]]


if __name__ == "__main__":
    print("\n".join(floors(Path("pyproject.toml").read_text(encoding="utf-8"))))
