"""Where tests keep stores: in a folder or, with SOUFFLEUR_TEST_QDRANT_URL, on that server.

On a server, the names of collections are made from the folder, and they go with the test.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from souffleur.knowledge.store.opening import StoreLocation

SERVER = os.environ.get("SOUFFLEUR_TEST_QDRANT_URL")

in_folder = pytest.mark.skipif(SERVER is not None, reason="about the folder of an embedded store")
"""Marks a test of what only an embedded store has: files, a lock, an owner."""

at_once = pytest.mark.skipif(
    SERVER is not None, reason="reads at once what a server has a moment later"
)
"""Marks a test that looks at the store right after `observe`; servers have tests of their own."""

lasts_hours = pytest.mark.skipif(
    SERVER is not None, reason="lets hours pass, and with a server each second takes one"
)
"""Marks a test of simulated time that is too long where answers take real time."""


def prefix(folder: Path) -> str:
    """How the names of collections of a folder's store begin."""
    return "test" + str(folder).replace("/", ".") + "."


def where(folder: Path) -> dict[str, Any]:
    """The settings of a store."""
    there = {"qdrant_url": SERVER, "qdrant_prefix": prefix(folder)} if SERVER else {}
    return {"path": folder, **there}


def located(folder: Path) -> StoreLocation:
    """The location of a store."""
    if SERVER is None:
        return StoreLocation(folder=folder)
    return StoreLocation(url=SERVER, prefix=prefix(folder))


def variables(folder: Path) -> dict[str, str]:
    """The environment of a command that works on a store."""
    return {f"SOUFFLEUR_{name.upper()}": str(value) for name, value in where(folder).items()}


def bytes_below(folder: Path) -> bytes:
    """All that the files beneath a folder hold."""
    return b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


def drop(folder: Path) -> None:
    """Delete what the stores beneath a folder have on the server."""
    from qdrant_client import QdrantClient  # takes 0.7 s, which processes of tests do not need

    client = QdrantClient(url=SERVER, check_compatibility=False)
    for one in client.get_collections().collections:
        if one.name.startswith(prefix(folder)):
            client.delete_collection(one.name)
    client.close()
