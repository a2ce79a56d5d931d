"""Recorded answers of a real model, kept in a file and played back without the model.

A file is JSON lines. The first says where the answers come from:

    {"format": 1, "model": "…", "recorded_at": "…", "note": "…"}

Each other line is an answer or its failure, unchanged:

    {"key": "…", "name": "verdict", "seen": "…", "form": "json_schema", "answer": {"text": …}}
    {"key": "…", "name": "verdict", "seen": "…", "form": "text", "failure": {"message": …}}
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from souffleur.agents.fields import shorten
from souffleur.agents.model.chat import Chat, Form, Reply, Request, Usage, request_key
from souffleur.agents.model.concessions import FORM_LADDER
from souffleur.errors import AnswerError, RecordingError

RECORDING_FORMAT = 1

_MAX_SHOWN_LENGTH = 80
"""Maximum characters of the last user message that a line repeats for human readers."""

Entry = dict[str, Any]


@dataclass(frozen=True)
class _Recording:
    header: Entry
    entries: dict[str, Entry] = field(default_factory=dict)
    """Entries by request key, in file order; of two entries with the same key, the first counts."""


class Recorder:
    """A `Chat` that asks another chat, and writes each answer down before it is used.

    Requests with an answer in the file are not sent again, so an interrupted recording continues
    where it stopped. An EndpointError is not written down: it says nothing about the model.
    """

    def __init__(
        self, chat: Chat, path: Path | str, *, model: str, now: datetime, note: str = ""
    ) -> None:
        """Read the file, or begin it.

        Raises RecordingError if it holds another model's answers, or is not a recording.
        """
        self._chat = chat
        self._path = Path(path)
        self.used: list[str] = []
        """Keys of the requests so far, for `prune`."""
        self.asked = 0
        """Number of these requests that were sent to the other chat."""
        if not self._path.exists() or not self._path.stat().st_size:
            header = {
                "format": RECORDING_FORMAT,
                "model": model,
                "recorded_at": now.isoformat(),
                "note": note,
            }
            _replace(self._path, [header])
        recording = _load(self._path)
        if recording.header["model"] != model:
            raise RecordingError(
                f"{self._path} holds answers of {recording.header['model']}, not of {model}: name"
                " another place with --recordings (or --record FILE), or delete this file first."
            )
        _drop_torn_line(self._path)
        self._entries = recording.entries

    async def __call__(self, request: Request) -> Reply:
        """Return the answer, from the file or the model. Raises the errors of the model's chat."""
        key = request_key(request)
        self.used.append(key)
        if key not in self._entries:
            self.asked += 1
            entry = await _asked(self._chat, request, key)
            if key not in self._entries:
                self._append(entry)
                self._entries[key] = entry
        return _reply(self._entries[key])

    def _append(self, entry: Entry) -> None:
        with self._path.open("ab") as file:
            file.write(_line(entry))
            file.flush()


class Player:
    """A `Chat` that answers from a file alone."""

    def __init__(self, path: Path | str) -> None:
        """Read the file. Raises RecordingError if it is missing or not a recording."""
        self._path = Path(path)
        self._recording = _load(self._path)
        self.used: list[str] = []
        """Keys of the requests so far, for `prune`."""

    @property
    def model(self) -> str:
        """The model that was recorded."""
        return str(self._recording.header["model"])

    @property
    def recorded_on(self) -> str:
        """The day on which the recording was begun, as 2026-01-03."""
        return str(self._recording.header["recorded_at"])[:10]

    @property
    def form(self) -> Form:
        """The strictest recorded form; a StructuredChat with this player should start with it.

        Plain replies are recorded as `text`, even if the endpoint accepts stricter forms.
        """
        forms = {entry["form"] for entry in self._recording.entries.values()}
        return next((form for form in FORM_LADDER if form in forms), "json_schema")

    async def __call__(self, request: Request) -> Reply:
        """Return the recorded answer. Raises recorded failures; RecordingError for no answer."""
        key = request_key(request)
        if key not in self._recording.entries:
            header = self._recording.header
            raise RecordingError(
                f"The recording {self._path} is stale: it has no answer to {request.name} about"
                f" {_seen(request)!r}, so the prompt or the dialogue has changed since"
                f" {self.recorded_on}, when {header['model']} answered; record again"
                " with `souffleur eval replay FILE --record PATH`."
            )
        self.used.append(key)
        return _reply(self._recording.entries[key])


def prune(path: Path | str, used_keys: Iterable[str]) -> None:
    """Rewrite the file atomically, with only the answers to these requests, in their order.

    Raises RecordingError if the file is missing or not a recording.
    """
    recording = _load(Path(path))
    keys = [key for key in dict.fromkeys(used_keys) if key in recording.entries]
    _replace(Path(path), [recording.header, *(recording.entries[key] for key in keys)])


async def _asked(chat: Chat, request: Request, key: str) -> Entry:
    entry = {"key": key, "name": request.name, "seen": _seen(request), "form": request.form}
    try:
        return {**entry, "answer": asdict(await chat(request))}
    except AnswerError as error:
        failure = {"message": str(error), "text": error.answer, "usage": error.usage}
        return {**entry, "failure": failure}


def _reply(entry: Entry) -> Reply:
    if "failure" in entry:
        failure = entry["failure"]
        usage = failure.get("usage")  # older recordings lack it
        raise AnswerError(failure["message"], answer=failure["text"], usage=usage)
    answer = entry["answer"]
    return Reply(answer["text"], answer["finish"], Usage(**answer["usage"]), answer["model"])


def _seen(request: Request) -> str:
    said = [message.content for message in request.messages if message.role == "user"]
    return shorten(" ".join(said[-1].split()) if said else "", _MAX_SHOWN_LENGTH)


def _load(path: Path) -> _Recording:
    if not path.is_file():
        raise RecordingError(
            f"There is no recording at {path}: make one with `souffleur eval replay "
            "FILE --record PATH`."
        )
    lines = list(_read(path))
    if not lines or lines[0].get("format") != RECORDING_FORMAT or "model" not in lines[0]:
        raise RecordingError(
            f"{path} is no recording of format {RECORDING_FORMAT}: record again with "
            "`souffleur eval replay FILE --record PATH`."
        )
    entries: dict[str, Entry] = {}
    for entry in lines[1:]:
        entries.setdefault(entry["key"], entry)
    return _Recording(lines[0], entries)


def _read(path: Path) -> Iterator[Entry]:
    """Yield each line, except an unfinished last line after a power cut."""
    *whole, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(whole, start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or (number > 1 and not _complete(entry)):
            raise RecordingError(
                f"Line {number} of {path} cannot be read: delete it, and record again."
            )
        yield entry


def _complete(entry: Entry) -> bool:
    return {"key", "form"} <= entry.keys() and ("answer" in entry or "failure" in entry)


def _drop_torn_line(path: Path) -> None:
    whole = path.read_bytes().rpartition(b"\n")[0] + b"\n"
    if len(whole) < path.stat().st_size:
        os.truncate(path, len(whole))


def _line(entry: Entry) -> bytes:
    try:
        return json.dumps(entry, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8, but an escape.
        return json.dumps(entry).encode() + b"\n"


def _replace(path: Path, entries: Iterable[Entry]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    with draft.open("wb") as file:
        file.writelines(_line(entry) for entry in entries)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
