"""The registry of sets, by name."""

from collections.abc import Callable
from pathlib import Path

from bench.sets.conversation import Conversation
from bench.sets.halumem_file import read_halumem
from bench.sets.memorybank import read_memorybank
from bench.sets.unified import Unified
from souffleur.errors import DialogueError

SETS: dict[str, Callable[[Path], list[Conversation]]] = {
    "locomo": Unified(("%I:%M %p on %d %B, %Y",)).read,
    "beam": Unified(("%B-%d-%Y",)).read,
    "longmemeval": Unified(("%Y-%m-%dT%H:%M:%S", "%Y/%m/%d %H:%M")).read,
    "madial": Unified(("%Y-%m-%d",)).read,
    "memdaily": Unified(("%Y年%m月%d日 %H:%M",), daily=True).read,
    "halumem": read_halumem,
    "memorybank": read_memorybank,
}

POOLED = {"memdaily": 20}
"""Conversations that are joined when a set is searched, if one alone has only a few messages."""


def read_set(name: str, path: Path) -> list[Conversation]:
    """Return the conversations of a set. Raises DialogueError for a bad name or file."""
    if name not in SETS:
        raise DialogueError(f"There is no set {name!r}: write one of {', '.join(SETS)}.")
    found = SETS[name](path)
    if not any(conversation.docs for conversation in found):
        raise DialogueError(f"{path} holds no conversation: give the file of the set {name}.")
    return found
