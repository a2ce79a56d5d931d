"""The watches that the settings ask for, and a chat whose calls are watched."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from souffleur.agents.model.chat import Chat, Message, Reply, Request, Usage
from souffleur.errors import AnswerError, EndpointError, SettingsError, to_install
from souffleur.knowledge.privacy.addresses import host_of
from souffleur.knowledge.watching import Note, Watch, What, Work, unwatched

if TYPE_CHECKING:
    from souffleur.settings import Settings
    from souffleur.telemetry.metrics import Metrics
    from souffleur.times import TimeSource


def make_metrics(settings: "Settings", times: "TimeSource") -> "Metrics | None":
    """Return the metrics, if the settings ask for them.

    Raises SettingsError if their package is missing.
    """
    if not settings.metrics:
        return None
    try:
        from souffleur.telemetry.metrics import Metrics
    except ImportError as error:
        raise _missing("metrics", error) from error
    return Metrics(times)


def make_watch(settings: "Settings", metrics: "Metrics | None") -> Watch:
    """Return the watch of the settings: no watch, the metrics, the traces, or both.

    Raises SettingsError if the package for traces is missing.
    """
    watches: list[Watch] = [metrics.measures] if metrics else []
    if settings.traces != "off":
        try:
            from opentelemetry.trace import get_tracer

            from souffleur.telemetry.spans import Spans
        except ImportError as error:
            raise _missing("traces", error) from error
        watches.append(Spans(get_tracer("souffleur"), content=settings.traces == "content"))
    if len(watches) < 2:
        return watches[0] if watches else unwatched
    return Together(watches)


@dataclass(frozen=True)
class Together:
    """A `Watch` of several watches."""

    watches: Sequence[Watch]

    @contextmanager
    def __call__(self, what: What, **about: Note) -> Iterator["_Works"]:
        """Let all watches watch the work within this context."""
        with ExitStack() as stack:
            yield _Works([stack.enter_context(watch(what, **about)) for watch in self.watches])


@dataclass(frozen=True)
class _Works:
    works: Sequence[Work]

    def note(self, **about: Note) -> None:
        """Add notes to the work of each watch."""
        for work in self.works:
            work.note(**about)


def _missing(what: str, error: ImportError) -> SettingsError:
    return SettingsError(
        f"The {what} need a package that is not installed ({error.name}): "
        f"{to_install('telemetry')}, or turn them off."
    )


def watched_chat(chat: Chat, watch: Watch, settings: "Settings") -> Chat:
    """Return a chat that watches each call: its prompt, tokens, cost and error."""
    known = {
        "model": settings.model,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "address": host_of(settings.endpoint_url) if settings.has_model else None,
    }

    async def watched(request: Request) -> Reply:
        form = "text" if request.form == "text" else "json"
        with watch("chat", prompt=request.name, output_type=form, **known) as call:
            call.note(instructions=lambda: _instructions(request.messages))
            call.note(messages=lambda: _messages(request.messages))
            try:
                reply = await chat(request)
            except (AnswerError, EndpointError) as error:
                _note_usage(call, Usage.of(error.usage))
                raise
            _note_usage(call, reply.usage)
            call.note(answered_by=reply.model or None, finish=reply.finish)
            call.note(reply=lambda: _answer(reply))
            return reply

    return watched


def _note_usage(call: Work, usage: Usage) -> None:
    call.note(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )


def _instructions(messages: Sequence[Message]) -> str:
    return _json([_part(one.content) for one in messages if one.role == "system"])


def _messages(messages: Sequence[Message]) -> str:
    others = (one for one in messages if one.role != "system")
    return _json([{"role": one.role, "parts": [_part(one.content)]} for one in others])


def _answer(reply: Reply) -> str:
    parts = [_part(reply.text)]
    return _json([{"role": "assistant", "parts": parts, "finish_reason": reply.finish}])


def _part(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
