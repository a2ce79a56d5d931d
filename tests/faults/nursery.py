"""A process that has loaded everything, and starts a `souffleur worker` for each line it reads."""

import os
import signal
import sys

import souffleur.parts
from souffleur.api import Souffleur
from souffleur.cli.run import worker

LOADED = (souffleur.parts, Souffleur)


def main() -> None:
    """Say `ready`; then, for each line, the id of a new process, which says that it judges."""
    import qdrant_client  # noqa: F401  loaded once, and not by each worker

    from souffleur.knowledge.store.engine import server  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            worker()
            sys.stdout.flush()
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
