"""A line to a server that can be cut, mended and made slow: what a host sees of one that dies."""

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit


class Line:
    """Passes connections on to the server at `url`, from an own address, until it is closed."""

    def __init__(self, url: str) -> None:
        there = urlsplit(url)
        self._there = (there.hostname or "", there.port or 6333)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.delay = 0.0
        """Seconds for which each request is held."""
        self.requests = 0
        self.cut_at: int | None = None
        """The number of the request, from 1, that finds the line cut; it does not reach it."""
        self.lost_answer = False
        """Whether the request at which the line is cut reaches the server; its answer does not."""
        self._open: set[socket.socket] = set()
        self._alone = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """Break all connections, and refuse new ones."""
        self.cut_at = 0
        with self._alone:
            broken, self._open = self._open, set()
        for one in broken:
            _close(one)

    def mend(self) -> None:
        """Pass everything on again."""
        self.cut_at, self.requests = None, 0

    @property
    def is_cut(self) -> bool:
        """Whether nothing comes through."""
        return self.cut_at == 0

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                here, _ = self._listening.accept()
                threading.Thread(target=self._join, args=(here,), daemon=True).start()

    def _join(self, here: socket.socket) -> None:
        if self.is_cut:
            _close(here)
            return
        there = socket.create_connection(self._there)
        with self._alone:
            self._open |= {here, there}
        threading.Thread(target=self._pass, args=(there, here, False), daemon=True).start()
        self._pass(here, there, asking=True)

    def _pass(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        with suppress(OSError):
            while got := source.recv(1 << 16):
                if asking and got.startswith((b"GET ", b"PUT ", b"POST ", b"PATCH ", b"DELETE ")):
                    self.requests += 1
                    time.sleep(self.delay)
                    if self.requests == self.cut_at and not self.lost_answer:
                        self.cut()
                elif not asking and self.requests == self.cut_at:
                    self.cut()
                target.sendall(got)
        _close(source)
        _close(target)


def _close(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
