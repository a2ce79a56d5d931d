"""Residue: whether words are anywhere in the files of a folder, however they are encoded there."""

import json
from collections.abc import Iterator
from pathlib import Path

from souffleur.knowledge.store.engine.checksums import data_blocks


def found_in(folder: Path, words: str) -> list[str]:
    """Return the files that hold the words: in UTF-8, UTF-16, or escaped as in JSON."""
    sought = list(encodings(words))
    return [
        file.relative_to(folder).as_posix()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and _has(bytes_of(file), sought)
    ]


def names_in(folder: Path) -> list[str]:
    """Return the names of what is in a folder."""
    return sorted(file.name for file in folder.iterdir())


def _has(data: bytes, sought: list[bytes]) -> bool:
    return any(one in data for one in sought)


def bytes_of(file: Path) -> bytes:
    """Return the bytes of a file, without the holes and zeros of a sparse one."""
    parts: list[bytes] = []
    ends = 0
    for start, block in data_blocks(file):
        parts += [block] if start == ends else [b"\0", block]
        ends = start + len(block)
    return b"".join(parts)


def encodings(words: str) -> Iterator[bytes]:
    """Yield the words as bytes, as each encoding has them."""
    for form in dict.fromkeys((words, words.lower())):
        yield form.encode()
        yield form.encode("utf-16-le")
        yield form.encode("utf-16-be")
        escaped = json.dumps(form)[1:-1]
        yield escaped.encode()
        yield escaped.upper().replace("\\U", "\\u").encode()
