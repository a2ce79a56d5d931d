"""Python's garbage collector, in a process of our own.

Whenever the objects that live long have become a quarter more, it visits all of them, and
everything waits. The imported modules alone have some 190,000: 50 to 150 ms.
"""

import gc


def spare_what_is_there() -> None:
    """Have it visit no object that is there now again. Call it once, when all is open.

    Objects still go when nothing refers to them; of those that are there now, a cycle that becomes
    garbage stays until the process ends.

    >>> spare_what_is_there()
    >>> gc.get_freeze_count() > 1000
    True
    >>> gc.unfreeze()
    """
    gc.collect()
    gc.freeze()
