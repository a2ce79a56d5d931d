"""Spans of watched work, by OpenTelemetry's conventions for generative AI and databases.

Spans go to the tracer provider of the host; without a provider, they are dropped.
https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
)

from souffleur.knowledge.watching import Note, What

MAX_REMEMBERED = 10_000
"""Maximum waiting turns whose spans are remembered, so that their judgement links to them."""

_BACKGROUND = frozenset({"judge", "tell", "run"})
"""Work with its own trace: it may end long after the work that caused it."""
_PARTS = frozenset({"engine", "embed", "apply"})
"""Work that is traced only within other work."""

NAMES: Mapping[str, str] = {
    "user": "user.id",
    "session": "gen_ai.conversation.id",
    "model": "gen_ai.request.model",
    "answered_by": "gen_ai.response.model",
    "prompt": "gen_ai.prompt.name",
    "output_type": "gen_ai.output.type",
    "temperature": "gen_ai.request.temperature",
    "max_tokens": "gen_ai.request.max_tokens",
    "finish": "gen_ai.response.finish_reasons",
    "input_tokens": "gen_ai.usage.input_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "dimension": "gen_ai.embeddings.dimension.count",
    "instructions": "gen_ai.system_instructions",
    "messages": "gen_ai.input.messages",
    "reply": "gen_ai.output.messages",
    "address": "server.address",
    "port": "server.port",
    "collection": "db.collection.name",
    "call": "db.operation.name",
}
"""The attribute for each note by the conventions; any other note is `souffleur.<name>`."""

_ALWAYS: Mapping[str, Mapping[str, str]] = {
    "recall": {"gen_ai.operation.name": "retrieval"},
    "judge": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "knowledge-monitor"},
    "chat": {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"},
    "embed": {"gen_ai.operation.name": "embeddings"},
    "engine": {"db.system.name": "qdrant"},
}
_KINDS = {"chat": SpanKind.CLIENT, "embed": SpanKind.CLIENT, "engine": SpanKind.CLIENT}


class Spans:
    """A `Watch` that writes spans."""

    def __init__(self, tracer: Tracer, *, content: bool = False) -> None:
        """With `content`, spans contain words: messages, prompts, answers."""
        self._tracer = tracer
        self._content = content
        self._observed: OrderedDict[str, SpanContext] = OrderedDict()
        self._alone = Lock()

    @contextmanager
    def __call__(self, what: What, **about: Note) -> Iterator["_Noted"]:
        """Trace the work within this context."""
        if what in _PARTS and not get_current_span().is_recording():
            yield _Noted(INVALID_SPAN, self._content)
            return
        with self._tracer.start_as_current_span(
            _name(what, about),
            context=Context() if what in _BACKGROUND else None,
            kind=_KINDS.get(what, SpanKind.INTERNAL),
            attributes=_ALWAYS.get(what),
            links=self._links(about) if what == "judge" else None,
            record_exception=False,  # the text of an exception may quote the talk
            set_status_on_exception=False,
        ) as span:
            noted = _Noted(span, self._content)
            noted.note(**about)
            try:
                yield noted
            except BaseException as error:
                _fail(span, type(error).__name__)
                raise
            finally:
                if what == "observe" and noted.turn:
                    self._remember(noted.turn, span.get_span_context())

    def _remember(self, turn: str, context: SpanContext) -> None:
        with self._alone:
            self._observed[turn] = context
            if len(self._observed) > MAX_REMEMBERED:
                self._observed.popitem(last=False)

    def _links(self, about: Mapping[str, Note]) -> Sequence[Link]:
        named = about.get("turn_ids")
        ids = named if isinstance(named, tuple) else ()
        with self._alone:
            each = [self._observed.pop(one, None) for one in ids]
        return [Link(context) for context in each if context]


class _Noted:
    """Writes notes into a span."""

    def __init__(self, span: Span, content: bool) -> None:
        self._span = span
        self._content = content
        self.turn = ""

    def note(self, **about: Note) -> None:
        """Set attributes; words of the talk are set only with `content`."""
        if not self._span.is_recording():
            return
        for name, value in about.items():
            if name == "error":  # the text of an error may quote the talk
                if value:
                    _fail(self._span, "incomplete")
                continue
            if callable(value):
                value = _masked(value) if self._content else None
            if name == "turn":
                self.turn = str(value)
            if value is not None:
                self._span.set_attribute(NAMES.get(name, f"souffleur.{name}"), _plain(name, value))


def _name(what: str, about: Mapping[str, Note]) -> str:
    """Return the name of a span.

    >>> _name("chat", {"model": "m"}), _name("engine", {"collection": "journal", "call": "get"})
    ('chat m', 'get journal')
    >>> _name("recall", {"user": "ann"})
    'souffleur.recall'
    """
    if what == "chat":
        return f"chat {about.get('model')}".strip()
    if what == "embed":
        return f"embeddings {about.get('model')}"
    if what == "engine":
        return f"{about.get('call')} {about.get('collection')}"
    return f"souffleur.{what}"


def _masked(words: Callable[[], str]) -> str | None:
    from souffleur.knowledge.privacy.secrets import mask  # the module takes long to load

    try:
        return mask(words())
    except Exception:  # noqa: BLE001  a host may pass any object as words
        return None


def _plain(name: str, value: Any) -> Any:
    if name == "finish":
        return (str(value),)
    if isinstance(value, str | bool | int | float):
        return value
    return tuple(map(str, value)) if isinstance(value, tuple | list) else type(value).__name__


def _fail(span: Span, error_type: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR))
