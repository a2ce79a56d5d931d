"""A secret that is said, named or answered anywhere: what is stored, shown, logged and traced."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from souffleur.errors import SettingsError
from souffleur.knowledge.operation import Refusal
from souffleur.knowledge.search.query import Query, Scope
from tests.build import NOW
from tests.place import SERVER, bytes_below
from tests.scripted import SKIP, add, answer, by_name, episode
from tests.stage import Stage, staged

SIGN = "canary7"
"""What every secret of this file begins with."""


def secret(place: str) -> str:
    """Return a sentence with a password of that place."""
    return f"The wifi password is {SIGN}{place}!"


class Judge:
    """A model that repeats secrets wherever it may: a memory, a reason, a cue, no answer at all."""

    def __call__(self, request: Any) -> Any:
        """Answer as a careless model would, each turn in another way."""
        told = request.messages[1].content
        if "unreadable" in told:
            return f"{secret('broken')} and this is no JSON"
        if "Deployed" in told:
            kept = add("Ann deploys with care.", "The wifi", cues=[secret("cue"), "releases"])
            leaked = add(secret("memory"), "The wifi", entities=["wifi"])
            reason = secret("reason")
            return answer({**kept, "reason": secret("op")}, leaked, reason=reason)
        return SKIP


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """All lines that a host may log."""
    kept: list[str] = []
    sink = logger.add(lambda line: kept.append(str(line)), level="DEBUG", format="{message}{extra}")
    logger.enable("souffleur")
    yield kept
    logger.remove(sink)


async def _live(stage: Stage) -> list[Any]:
    """Say secrets in every place that the interface has; return what the host was told."""
    memory = stage.memory
    told: list[Any] = []
    await stage.say(secret("user"), reply=f"Deployed with sk-live-{SIGN}Assistant0123456789")
    turn: dict[str, Any] = {"user_id": "ann", "session_id": "s1", "turn_id": secret("turn")}
    told += [memory.observe(**turn, user="hello"), memory.observe(**turn, user="hello")]
    told.append(memory.observe(user_id="ann", session_id="s1", user="this is unreadable"))
    await memory.flush()
    await stage.end()
    told.append(await memory.remember(secret("by hand"), user_id="ann"))
    told.append(await memory.define(agent_id="mo", what=[secret("system")]))
    for naming in (
        memory.introduce(user_id="ann", title=secret("title")),
        memory.introduce_persona(agent_id="mo", name=secret("name")),
    ):
        with pytest.raises(SettingsError, match="holds a password") as refused:
            await naming
        told.append(refused.value)
    return told


async def _shown(stage: Stage) -> list[Any]:
    """Return what can be read of the person's memories and talk."""
    memory, knowledge = stage.memory, stage.memory.knowledge
    asked: dict[str, Any] = {"user_id": "ann", "session_id": "s2"}
    scope = (Scope.MEMORIES, Scope.EPISODES, Scope.TURNS)
    found = await knowledge.search(Query("ann", "wifi password deployed", NOW, scope=scope))
    return [
        await memory.recall(**asked, text="What is the wifi password? What was deployed?"),
        await memory.ask("the wifi password", **asked),
        found,
        await memory.list(user_id="ann"),
        await knowledge.journal.entries("ann"),
        await knowledge.people.find("ann", "mo"),
        await memory.health(),
        await memory.report(user_id="ann"),
        memory.error,
    ]


@pytest.mark.parametrize("treated", ["redact", "refuse"])
async def test_no_secret_is_stored_or_told(tmp_path: Path, lines: list[str], treated: str) -> None:
    """It is in no memory, cue, episode, ledger entry, whisper, log line, error or receipt.

    With `redact` no byte of the store has it, and the model is not told.
    """
    script = by_name(monitor=Judge(), episode=episode(secret("episode"), key_facts=["tea"]))
    refused = ("secrets",) if treated == "refuse" else ()
    async with staged(tmp_path, script, refuse=refused, retry_pause=0.0, kept=True) as stage:
        told, shown = await _live(stage), await _shown(stage)
        entries = await stage.knowledge.journal.entries("ann")
        asked = "".join(str(one.messages[:2]) for one in stage.chat.requests)
    seen = "\n".join(map(repr, (*told, *shown, *lines)))
    assert "Ann deploys with care." in seen
    assert "[secret]" in seen
    assert any("answer" in line for line in lines)
    assert {one.refused for one in entries} >= {None, Refusal.SENSITIVE}
    if treated == "refuse":  # the id of a turn is the host's
        seen = seen.replace(repr(secret("turn"))[1:-1], "")
    assert SIGN not in seen
    assert (SIGN in asked) is (treated == "refuse")
    if treated == "redact" and SERVER is None:
        stored = bytes_below(tmp_path)
        assert b"The wifi password is [secret]" in stored
        assert SIGN.encode() not in stored
        assert SIGN.encode("utf-16-le") not in stored
