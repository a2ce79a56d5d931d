"""Guarding: what is hardly meant, when files or a store have lost too much at once."""

import re
from collections.abc import Mapping, Set as AbstractSet
from pathlib import Path

from souffleur.errors import FileError
from souffleur.integrations.mirror.comparing import Wishes
from souffleur.integrations.mirror.files import Written
from souffleur.integrations.mirror.markdown import Page

_MARKER = re.compile(r"(?:<{7}|>{7}|\|{7})(?:\s|$)")
"""How lines begin that git leaves where two versions differ."""
FEW = 5
"""So many entries may go at once; of more, only up to half."""


def check_merged(texts: Mapping[str, str | None], folder: Path) -> None:
    """Raise FileError if a file has the markers of a merge that is not finished."""
    for name, text in texts.items():
        for number, line in enumerate((text or "").split("\n"), 1):
            if _MARKER.match(line):
                raise FileError(
                    f"'{folder / name}' has a marker of a merge conflict in line {number}: decide "
                    "between the versions and delete the markers, or, if it belongs to a memory, "
                    "put a backslash before it. Nothing was changed."
                )


def check_removals(wishes: Mapping[str, Wishes], pages: Mapping[str, Page]) -> None:
    """Raise FileError if a file has lost so much that it was hardly meant."""
    for name, wish in wishes.items():
        gone, left = len(wish.removals), len(pages[name].entries)
        if gone > max(FEW, left):
            raise FileError(
                f"{gone} of {gone + left} entries are gone from {name}. If they are to be "
                "forgotten, run `souffleur mirror` with --removals; if not, bring them back: "
                f"{name}.bak has the last version, or delete {name}, and it is written anew."
            )


def check_store(
    pages: Mapping[str, Page], written: Written, there: AbstractSet[str], folder: Path
) -> None:
    """Raise FileError if the store has none of what the files show: it is hardly theirs.

    `there` are the ids of the user's memories in any state. A few may have been erased for good, as
    long as the user is known.
    """
    shown = {id for last in written.values() for id in last}
    shown |= {one.id for page in pages.values() for one in page.entries if one.mark}
    if shown.isdisjoint(there) and len(shown) > (FEW if there else 0):
        raise FileError(
            f"the store has none of the {len(shown)} memories that '{folder}' shows: is it another "
            "one (see `souffleur config`)? Nothing was changed. If they were erased, run "
            "`souffleur mirror` with --removals, or delete the files. To take the entries over as "
            "new memories, delete the comments `<!-- … -->` behind their headings, and the file "
            "`.mirror.json`."
        )
