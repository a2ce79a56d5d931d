"""Spans: what a host's tracer sees of the work done."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from souffleur.errors import EndpointError
from souffleur.telemetry import spans as naming
from tests.scripted import add, answer
from tests.stage import staged
from tests.traced import exporter

trace = pytest.importorskip("opentelemetry.trace")
pytest.importorskip("opentelemetry.sdk.trace")

TEA = answer(add("Ann likes green tea.", "I like green tea", kind="preference"))
Ended = Callable[[], list[Any]]


@pytest.fixture
def ended() -> Iterator[Ended]:
    """The spans that have ended since the test began."""
    exporter().clear()
    yield lambda: list(exporter().get_finished_spans())
    exporter().clear()


def named(spans: list[Any], name: str) -> list[Any]:
    """The spans of that name."""
    return [span for span in spans if span.name == name]


async def test_a_turn_is_traced(tmp_path: Path, ended: Ended) -> None:
    """A judgement is a trace of its own, linked to the turn's, with the model's call within."""
    async with staged(tmp_path, [TEA], traces="on") as stage:
        await stage.say("I like green tea")
    spans = ended()
    (observed,), (judged,) = named(spans, "souffleur.observe"), named(spans, "souffleur.judge")
    (asked,) = named(spans, "chat gpt-4.1-mini")
    assert judged.parent is None
    assert [link.context.span_id for link in judged.links] == [observed.context.span_id]
    assert asked.parent.span_id == judged.context.span_id
    assert (judged.attributes["user.id"], judged.attributes["gen_ai.conversation.id"]) == (
        "ann",
        "s1",
    )
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4.1-mini",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.prompt.name": "monitor",
        "gen_ai.output.type": "json",
    }
    assert expected.items() <= dict(asked.attributes).items()
    (applied,) = named(spans, "souffleur.apply")
    assert applied.attributes["souffleur.done"] == ("ADD",)


async def test_a_recall_is_traced_with_its_queries(tmp_path: Path, ended: Ended) -> None:
    """The engine's calls are spans within the recall, within the host's own span."""
    async with staged(tmp_path, [TEA], traces="on") as stage:
        await stage.say("I like green tea")
        with trace.get_tracer("host").start_as_current_span("request") as request:
            await stage.memory.recall(user_id="ann", session_id="s1", text="Which tea?")
    (recalled,) = named(ended(), "souffleur.recall")
    assert recalled.parent.span_id == request.get_span_context().span_id
    inside = [s for s in ended() if s.parent and s.parent.span_id == recalled.context.span_id]
    searches = named(inside, "search memories")
    assert searches[0].attributes["db.system.name"] == "qdrant"
    assert searches[0].kind is trace.SpanKind.CLIENT


async def test_every_span_of_the_engine_is_part_of_ours(tmp_path: Path, ended: Ended) -> None:
    """What the background reads on its own account makes no traces of single queries."""
    async with staged(tmp_path, [TEA], traces="on") as stage:
        await stage.say("I like green tea")
        await stage.end()
    spans = ended()
    ids = {span.context.span_id for span in spans}
    engine = [span for span in spans if "db.system.name" in span.attributes]
    assert engine
    assert [span.name for span in engine if span.parent.span_id not in ids] == []


@pytest.mark.parametrize("content", [False, True])
async def test_words_are_traced_only_if_asked(tmp_path: Path, ended: Ended, content: bool) -> None:
    """Messages, whispers, prompts and answers are in the spans if so set, or nowhere."""
    options: dict[str, Any] = {"traces": "content" if content else "on"}
    async with staged(tmp_path, [TEA], **options) as stage:
        await stage.say("I like green tea", reply="So do all prompters")
        await stage.memory.recall(user_id="ann", session_id="s1", text="And which cake?")
    told = "\n".join(span.to_json() for span in ended())
    words = ("I like green tea", "So do all prompters", "Ann likes green tea", "And which cake?")
    assert [word in told for word in words] == [content] * len(words)
    if content:
        (asked,) = named(ended(), "chat gpt-4.1-mini")
        (said,) = json.loads(asked.attributes["gen_ai.input.messages"])
        assert said["role"] == "user"
        assert "I like green tea" in said["parts"][0]["content"]


async def test_an_error_is_told_by_its_type(tmp_path: Path, ended: Ended) -> None:
    """The span of a failed call has the type of the error, without its text."""
    down = EndpointError("it is down and quotes: I like green tea", status=503)
    async with staged(tmp_path, lambda _: down, traces="on", tries=1) as stage:
        stage.memory.observe(user_id="ann", user="I like green tea", assistant="Fine")
        await stage.memory.flush(1.0)
    asked = named(ended(), "chat gpt-4.1-mini")[0]
    assert asked.attributes["error.type"] == "EndpointError"
    assert not asked.status.is_ok
    assert "quotes" not in "\n".join(span.to_json() for span in ended())


def test_names_are_those_of_the_conventions() -> None:
    """Each name exists in the published conventions."""
    base = "opentelemetry.semconv._incubating.attributes"
    known: set[object] = set()
    for area in ("gen_ai", "db", "server", "user"):
        module = pytest.importorskip(f"{base}.{area}_attributes")
        known |= {value for value in vars(module).values() if isinstance(value, str)}
    always = {name for each in naming._ALWAYS.values() for name in each}
    assert {*naming.NAMES.values(), *always} - known == set()
