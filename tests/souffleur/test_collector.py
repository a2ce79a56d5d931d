"""What Python's garbage collector still visits, in a process of its own."""

import subprocess
import sys

SPARED = """
import gc
from souffleur.collector import OFTEN, spare_what_lasts

spare_what_lasts()
newest, middle, often = gc.get_threshold()
assert often == OFTEN
kept, most = [], 0
for n in range(300_000):
    kept.append([n])
    most = max(most, len(gc.get_objects())) if n % 1_000 == 0 else most
print(most / (newest * middle * (OFTEN + 2)))
"""


def test_what_lasts_is_visited_once() -> None:
    """However many objects are kept, no collection visits more than have come since the last."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", SPARED], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1


FAILING = """
import gc
from souffleur.collector import LITTLE, SELDOM, spare_what_lasts

spare_what_lasts()
spared = gc.get_freeze_count()
gc.disable()
for _ in range(LITTLE):
    cycle = []
    cycle.append([cycle])
del cycle
assert gc.collect() > LITTLE
print(gc.get_freeze_count() <= spared and gc.get_threshold()[2] == SELDOM)
"""


def test_what_may_be_garbage_is_not_spared() -> None:
    """Where cycles become garbage, what a collection leaves is looked at again, as usual."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", FAILING], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
