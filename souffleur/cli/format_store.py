"""What is in a store, in the terminal: backups."""

from collections.abc import Mapping
from pathlib import Path

from souffleur.cli.console import print_json, to_plain
from souffleur.knowledge.backup_file import Manifest
from souffleur.reporting.report import count

_NAMES = {
    "memory": ("memory", "memories"),
    "entry": ("ledger entry", "ledger entries"),
    "person": ("introduced user", "introduced users"),
    "persona": ("introduced persona", "introduced personas"),
    "upkeep": ("note on a portrait", "notes on portraits"),
    "run": ("record of a run", "records of runs"),
    "watermark": ("watermark of a job", "watermarks of jobs"),
}
_UNSAID = frozenset({"meta", "lease"})
"""Records that every store has."""


def print_backup(made: Manifest, file: Path, *, as_json: bool) -> None:
    """Print what was saved, and where."""
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size, **to_plain(made)})
    else:
        print(f"saved to {file}, {size / 1e6:,.1f} MB: {format_counts(made.counts)}")


def print_restored(made: Manifest, place: str, *, as_json: bool) -> None:
    """Print what was restored, and where."""
    if as_json:
        print_json({"store": place, **to_plain(made)})
    else:
        print(f"restored to {place}, as of {made.made_at:%Y-%m-%d %H:%M} UTC:")
        print(format_counts(made.counts))


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the number of records of each kind, in words.

    >>> format_counts({"memory": 2, "turn": 1, "meta": 1})
    '2 memories, 1 turn'
    """
    named = {kind: _NAMES.get(kind, (kind, f"{kind}s")) for kind in counts if kind not in _UNSAID}
    return ", ".join(count(counts[kind], *names) for kind, names in named.items()) or "nothing"
