"""Python's garbage collector, set so that it stops a server for a short time only.

A full collection visits all objects that live long, and all other work waits. The imported modules
have some 190,000 objects: 50 to 150 ms. The caches of a hundred users have 80,000: 35 to 60 ms.
"""

import gc
from collections.abc import Mapping

FULL = 2
"""The generation of a collection that visits everything."""
OFTEN = 2
"""Collections of the middle generation, of some 7,000 objects each, after which one is full."""
SELDOM = 10
"""The same, while the objects that they leave are not spared; Python's own number."""
LITTLE = 100
"""Objects that were garbage, at most, for what a full collection leaves to be spared from then on.
Where more become garbage that only it finds, as while answers of a model fail, more of what it
leaves would stay for ever."""


def spare_what_lasts() -> None:
    """Have the collector skip all objects of now, and those that a full collection leaves later.

    These become more frequent and short: each visits what has come since the last one.

    Call it once, when all is open. Objects still go when nothing refers to them; of those that were
    spared, a cycle that becomes garbage stays until the process ends.

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
    """Spare what a full collection has just left, if little was garbage.

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
