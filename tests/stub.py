"""A model's endpoint on the loopback that does what a test tells it to, over real HTTP."""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True)
class Response:
    """What goes back over the wire."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    """If they say how long the body is, it is sent as it is, and the connection closed."""
    delay: float = 0.0
    """Seconds before it is sent; the stub's end cuts it short."""
    hang_up: bool = False
    """Closes the connection instead."""


Behaviour = Callable[[Body], Response]
"""From the body of a request to the response."""

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 400},
}


def say(
    words: str | Callable[[Body], str] | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    usage: Mapping[str, Any] | None = USAGE,
) -> Behaviour:
    """An ordinary answer, in these words or in what the function makes of the request."""

    def respond(body: Body) -> Response:
        content = words(body) if callable(words) else words
        message = {"role": "assistant", "content": content, "refusal": refusal}
        choice = {"index": 0, "finish_reason": finish, "message": message}
        return send(completion(choices=[choice], usage=usage))(body)

    return respond


def completion(**fields: object) -> Body:
    """The body of a chat completion, with these fields."""
    return {"id": "c1", "object": "chat.completion", "created": 0, "model": "stub-1", **fields}


def send(body: object, kind: str = "application/json", status: int = 200) -> Behaviour:
    """This body: a string as it is, anything else as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda _: Response(status, text.encode(), {"content-type": kind})


def fail(status: int, message: str = "no", /, **headers: str) -> Behaviour:
    """An error in OpenAI's shape; underscores in a header's name are hyphens."""
    body = json.dumps({"error": {"message": message, "type": "stub", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Response(status, body, {"content-type": "application/json", **named})


def hang_up(_: Body) -> Response:
    """Closes the connection without an answer."""
    return Response(hang_up=True)


def slow(seconds: float, behaviour: Behaviour) -> Behaviour:
    """The same, later."""
    return lambda body: replace(behaviour(body), delay=seconds)


def truncated(words: str) -> Behaviour:
    """The first half of an answer, from a server that says it is the whole."""
    return say(words[: len(words) // 2])


def fenced(words: str) -> Behaviour:
    """An answer in a Markdown fence."""
    return say(f"```json\n{words}\n```")


def thoughtful(words: str) -> Behaviour:
    """An answer after thoughts that hold a draft of another one."""
    return say(f'<think>\nPerhaps {{"ops": []}}? No.\n</think>\n\n{words}')


def chatty(words: str) -> Behaviour:
    """An answer in the midst of prose."""
    return say(f"Sure! Here is what I found:\n\n{words}\n\nLet me know if {{anything}} is off.")


def takes(form: str | None, words: str) -> Behaviour:
    """Answers requests whose `response_format` has this type, and refuses others by its name."""

    def respond(body: Body) -> Response:
        asked = body.get("response_format", {}).get("type")
        if asked == form:
            return say(words)(body)
        return fail(400, f"response_format of type {asked} is not supported")(body)

    return respond


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """A full queue would cost the caller a second."""

    def handle_error(self, *whose: Any) -> None:
        """Say nothing of a client that has hung up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*whose)


class Stub:
    """The endpoint: the n-th request meets the n-th behaviour, and later ones the last."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self._behaviours = behaviours or (say("ok"),)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.requests: list[Body] = []
        """The bodies so far."""
        self.paths: list[str] = []
        """Where they went, such as `/v1/chat/completions`."""
        self.headers: list[dict[str, str]] = []
        """Their headers, with names in lower case."""
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _respond(self, path: str, body: Body, headers: dict[str, str]) -> Response:
        with self._lock:
            place = min(len(self.requests), len(self._behaviours) - 1)
            self.requests.append(body)
            self.paths.append(path)
            self.headers.append(headers)
            behaviour = self._behaviours[place]
        response = behaviour(body)
        self._closing.wait(response.delay)
        return response

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                named = {name.lower(): value for name, value in self.headers.items()}
                response = stub._respond(self.path, json.loads(raw), named)
                if response.hang_up:
                    self.close_connection = True
                    return
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                if {"content-length", "transfer-encoding"} & response.headers.keys():
                    self.close_connection = True
                else:
                    self.send_header("content-length", str(len(response.body)))
                # Who has timed out does not listen any more.
                with suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(response.body)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        return Handler
