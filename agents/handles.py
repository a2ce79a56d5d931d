"""Handles: m1, m2, … stand for memories in a question, as a model would copy their ids wrongly."""

from collections.abc import Iterable, Mapping

from souffleur.knowledge.memory import Memory

Shown = Mapping[str, Memory]
"""Memories by the handles under which the model saw them."""


def by_handle(memories: Iterable[Memory], letter: str = "m") -> dict[str, Memory]:
    """Return memories by their handles, in this order."""
    return {f"{letter}{place}": memory for place, memory in enumerate(memories, start=1)}
