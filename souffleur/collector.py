"""Python's garbage collector, set so that it stops a server only for a short time.

A full collection visits all objects that live long, and all other work waits. The imported modules
have about 190,000 objects: 50 to 150 ms. The caches of a hundred users have 80,000: 35 to 60 ms.
"""

import gc
from collections.abc import Mapping

FULL = 2
"""The generation of a full collection, which visits all objects."""
OFTEN = 2
"""Number of middle collections, of about 7,000 objects each, before a full collection."""
SELDOM = 10
"""The same number while the remaining objects are not spared; it is Python's default."""
LITTLE = 100
"""Maximum garbage objects in a full collection after which the remaining objects are spared. If a
full collection finds more garbage, as while answers of a model fail, many of the remaining objects
may become garbage too, and would never be deleted."""


def spare_what_lasts() -> None:
    """Let the collector skip all present objects, and the objects that full collections leave.

    Full collections become more frequent and shorter: each visits only the objects made since the
    last full collection.

    Call it once, when all parts are open. An object without references is still deleted. But a
    cycle of spared objects that becomes garbage stays until the process ends.

    >>> before = gc.get_threshold()
    >>> spare_what_lasts()
    >>> gc.get_freeze_count() > 1000
    True
    >>> gc.callbacks.remove(spare_what_is_left)
    >>> gc.set_threshold(*before)
    >>> gc.unfreeze()
    """
    _collect_everything_after(OFTEN)
    gc.collect()
    gc.freeze()
    if spare_what_is_left not in gc.callbacks:
        gc.callbacks.append(spare_what_is_left)


def spare_what_is_left(phase: str, info: Mapping[str, int]) -> None:
    """Spare the objects that a full collection has just left, if few objects were garbage.

    >>> usual, before = gc.get_threshold(), gc.get_freeze_count()
    >>> spare_what_is_left("stop", {"generation": 2, "collected": LITTLE + 1})
    >>> spare_what_is_left("stop", {"generation": 1, "collected": 0})
    >>> gc.get_freeze_count() > before
    False
    >>> spare_what_is_left("stop", {"generation": 2, "collected": LITTLE})
    >>> gc.get_freeze_count() > before
    True
    >>> gc.set_threshold(*usual)
    """
    if phase == "stop" and info["generation"] == FULL:
        little = info["collected"] <= LITTLE
        _collect_everything_after(OFTEN if little else SELDOM)
        if little:
            gc.freeze()


def _collect_everything_after(times: int) -> None:
    newest, middle, _ = gc.get_threshold()
    gc.set_threshold(newest, middle, times)
