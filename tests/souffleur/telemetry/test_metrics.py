"""Metrics for Prometheus: the work done, and the work that waits."""

import asyncio
import logging
import re
import socket
import urllib.error
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Reply, Request, Usage
from souffleur.errors import EndpointError, SettingsError
from souffleur.settings import Settings
from souffleur.telemetry import metrics_text
from tests.scripted import SKIP, add, answer
from tests.stage import staged
from tests.stores import open_empty

pytest.importorskip("prometheus_client")

TEA = answer(add("Ann likes green tea.", "I like green tea", kind="preference"))
INVENTED = answer(add("Ann owns a yacht.", "my yacht is called Nina"))


def value(text: str, name: str, **labels: str) -> float:
    """The value of a sample; 0 if it is missing."""
    inside = ",".join(f'{key}="{word}"' for key, word in sorted(labels.items()))
    sample = f"{name}{{{inside}}}" if inside else name
    found = re.search(rf"(?m)^{re.escape(sample)} (\S+)$", text)
    return float(found[1]) if found else 0.0


async def scrape(port: int) -> str:
    """The page that Prometheus reads."""
    url = f"http://127.0.0.1:{port}/metrics"
    page = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read())
    return str(page.decode())


@pytest.fixture
def port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def test_work_is_counted(tmp_path: Path) -> None:
    """Turns, changes, refusals by reason, calls, tokens, times and memories are counted."""
    async with staged(tmp_path, [TEA, INVENTED, SKIP], metrics=True) as stage:
        for line in ("I like green tea", "What a day", "Bye"):
            await stage.say(line)
        await stage.memory.recall(user_id="ann", text="tea?")
        text = await metrics_text(stage.memory)
    assert value(text, "souffleur_turns_observed_total") == 3
    assert value(text, "souffleur_turns_judged_total") == 3
    assert value(text, "souffleur_operations_total", op="ADD", by="monitor") == 1
    assert value(text, "souffleur_operations_total", op="SKIP", by="monitor") == 1
    assert value(text, "souffleur_refusals_total", reason="ungrounded") == 1
    asked = {"model": "gpt-4.1-mini", "prompt": "monitor", "result": "ok"}
    assert value(text, "souffleur_model_calls_total", **asked) == 3
    assert value(text, "souffleur_model_tokens_total", model="gpt-4.1-mini", kind="input") == 300
    assert value(text, "souffleur_memories", kind="preference") == 1
    assert value(text, "souffleur_up", part="judging") == 1
    assert value(text, "souffleur_cache_requests_total", cache="embedding", result="hit") > 0
    assert value(text, "souffleur_cache_requests_total", cache="points", result="miss") > 0
    for name in ("recall_seconds", "observe_seconds", "judgement_seconds"):
        assert value(text, f"souffleur_{name}_count") == (1 if name == "recall_seconds" else 3)
        assert f'souffleur_{name}_bucket{{le="+Inf"}}' in text
    called = {"collection": "journal", "call": "put_now"}
    assert value(text, "souffleur_engine_seconds_count", **called) >= 3


async def test_nobody_is_named(tmp_path: Path) -> None:
    """No user, session or word becomes a label."""
    async with staged(tmp_path, [TEA], metrics=True) as stage:
        await stage.say("I like green tea", session="evening")
        text = await metrics_text(stage.memory)
    assert not [word for word in ("ann", "evening", "green") if word in text.casefold()]


async def test_what_waits_is_told(tmp_path: Path) -> None:
    """While the endpoint fails, the queue has a length and an age, and judging is down.

    Its age is that of the wait: what is imported was said long before.
    """
    down = EndpointError("it is down", status=503)
    async with staged(tmp_path, lambda _: down, metrics=True, tries=1) as stage:
        long_ago = stage.clock.at - timedelta(days=400)
        stage.memory.observe(user_id="ann", user="Hello", assistant="Hi", at=long_ago)
        await stage.memory.flush(1.0)
        stage.clock.at += timedelta(seconds=90)
        text = await metrics_text(stage.memory)
    assert value(text, "souffleur_turns_waiting") == 1
    assert value(text, "souffleur_oldest_waiting_turn_seconds") == 90
    assert value(text, "souffleur_up", part="judging") == 0
    assert value(text, "souffleur_judgements_failed_total", error="EndpointError") >= 1


async def test_an_answer_that_is_no_good_costs_too(tmp_path: Path) -> None:
    """Dollars are added for every call."""

    async def chat(request: Request) -> Reply:
        return Reply("no JSON", usage=Usage(1, 1000, 400, 50, 0.25))

    options: Any = {"path": tmp_path, "embedder": "hash:64", "tries": 1, "metrics": True}
    async with open_empty(Settings(**options), chat=chat) as memory:
        memory.observe(user_id="ann", user="Hello", assistant="Hi")
        await memory.flush(5.0)
        text = await metrics_text(memory)
    assert value(text, "souffleur_model_cost_dollars_total", model="gpt-4.1-mini") == 0.5
    cached = {"model": "gpt-4.1-mini", "kind": "cached"}
    assert value(text, "souffleur_model_tokens_total", **cached) == 800
    assert value(text, "souffleur_turns_set_aside") == 1


async def test_prometheus_finds_them_on_a_port(tmp_path: Path, port: int) -> None:
    """The page is served on the loopback while the memory is open, with what waits as it is now."""
    async with staged(tmp_path, [TEA], metrics=port) as stage:
        await stage.say("I like green tea")
        text = await scrape(port)
        assert value(text, "souffleur_memories", kind="preference") == 1
    with pytest.raises(urllib.error.URLError):
        await scrape(port)


async def test_a_port_that_is_taken_stops_nobody(
    tmp_path: Path, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Memory works without its metrics, and the host's logger says so."""
    with socket.socket() as other, caplog.at_level(logging.WARNING, "souffleur"):
        other.bind(("127.0.0.1", port))
        other.listen()
        async with staged(tmp_path, [TEA], metrics=port) as stage:
            await stage.say("I like green tea")
            assert await stage.memory.list(user_id="ann")
    assert "SOUFFLEUR_METRICS_PORT" in caplog.text


async def test_nothing_is_measured_unasked(tmp_path: Path) -> None:
    """Without the setting, the error says which one."""
    async with staged(tmp_path, []) as stage:
        with pytest.raises(SettingsError, match="SOUFFLEUR_METRICS=true"):
            await metrics_text(stage.memory)


async def test_what_is_left_of_the_budget_is_told(tmp_path: Path) -> None:
    """The limit of a day and what was spent of it; nothing where nothing is limited."""
    async with staged(tmp_path, [TEA, SKIP], metrics=True, calls_per_day=9) as stage:
        assert value(await metrics_text(stage.memory), "souffleur_budget_limit", unit="calls") == 9
        await stage.say("I like green tea")
        text = await metrics_text(stage.memory)
    assert value(text, "souffleur_budget_spent_today", unit="calls") == 1
    assert 'unit="dollars"' not in text
