"""The store: where the two collections are, how they are opened, and what they were made with."""

from dataclasses import dataclass
from pathlib import Path

from souffleur.errors import SouffleurError, StoreMismatchError
from souffleur.knowledge import journal as journal_records, records
from souffleur.knowledge.collection import Collection, Layout
from souffleur.knowledge.embedder import Embedder
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import SCHEMA
from souffleur.knowledge.policy import Policy

COLLECTIONS = {"memories": records.INDEXES, "journal": journal_records.INDEXES}
"""All that a store is: there is no second database."""


@dataclass(frozen=True)
class Place:
    """Where a store is: a folder of this process, or a Qdrant server."""

    folder: Path | None = None
    power_safe: bool = False
    """Embedded: a finished write survives a power cut."""
    url: str | None = None
    api_key: str | None = None
    shards: int = 1
    replicas: int = 1

    def __str__(self) -> str:
        return self.url or str(self.folder)


async def open_knowledge(
    place: Place, embedder: Embedder, policy: Policy, *, hold: bool = False, raw_days: int = 30
) -> KnowledgeBase:
    """Open a store, made there if there is none.

    Raises StoreBusyError where another process has the folder, StoreMismatchError where the data
    were made with another schema, embedder or dimension.
    """
    dimension = await embedder.find_dimension()
    opened: list[Collection] = []
    try:
        opened.append(await open_collection(place, Layout("memories", dimension, records.INDEXES)))
        opened.append(
            await open_collection(place, Layout("journal", dimension, journal_records.INDEXES))
        )
        journal = await Journal.open(opened[1])
        await _check_made_with(journal, place, embedder, dimension, policy)
    except SouffleurError:
        for collection in opened:
            await collection.close()
        raise
    return KnowledgeBase(opened[0], journal, embedder, policy, hold=hold, raw_days=raw_days)


async def open_collection(place: Place, layout: Layout) -> Collection:
    """One collection of a store, made there if there is none."""
    if place.url:
        from souffleur.knowledge.server import ServerCollection

        return await ServerCollection.open(
            place.url,
            layout,
            api_key=place.api_key,
            shards=place.shards,
            replicas=place.replicas,
        )
    from souffleur.knowledge.edge import EdgeCollection

    assert place.folder is not None
    return EdgeCollection.open(place.folder, layout, power_safe=place.power_safe)


async def _check_made_with(
    journal: Journal, place: Place, embedder: Embedder, dimension: int, policy: Policy
) -> None:
    """Compare with what the store says it was made with; a new store is told."""
    made_with = await journal.meta()
    if made_with is None:
        await journal.set_meta(
            {
                "schema": SCHEMA,
                "embedder": embedder.name,
                "dimension": dimension,
                "policy": policy.name,
            }
        )
        return
    if made_with["schema"] != SCHEMA:
        raise StoreMismatchError(
            f"The store at {place} has schema {made_with['schema']} and this version reads "
            f"{SCHEMA}: copy it with `souffleur migrate NEW_PATH`."
        )
    if made_with["embedder"] != embedder.name:
        raise StoreMismatchError(
            f"The store at {place} was made with the embedder {made_with['embedder']!r}, not "
            f"{embedder.name!r}: set SOUFFLEUR_EMBEDDER={made_with['embedder']}, or copy it, "
            "embedded anew, with `souffleur migrate NEW_PATH`."
        )
    if made_with["policy"] != policy.name:
        raise StoreMismatchError(
            f"The memories at {place} live by the policy {made_with['policy']!r}, not "
            f"{policy.name!r}: set SOUFFLEUR_POLICY={made_with['policy']}, or copy them, with "
            "new due times, with `souffleur migrate NEW_PATH`."
        )
