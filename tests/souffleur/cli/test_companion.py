"""The terminal companion, and the benchmark: both over the real runtime."""

import asyncio
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from souffleur.api import Souffleur
from souffleur.cli.companion import converse
from souffleur.settings import Settings
from tests.place import where
from tests.scripted import SKIP, SMALL_TALK, add, answer
from tests.stub import Behaviour, Body, Response, Stub, fail, say, slow

Start = Callable[..., Stub]


class Typist:
    """Types lines one after the other; a pattern is waited for, a signal is sent."""

    def __init__(self, *typed: str | re.Pattern[str] | signal.Signals) -> None:
        self._typed = list(typed)
        self.told: list[str] = []
        """What stands on the screen, without its colours."""
        self._changed = asyncio.Event()

    async def read(self) -> str | None:
        while self._typed:
            match self._typed.pop(0):
                case str() as line:
                    return line
                case re.Pattern() as pattern:
                    async with asyncio.timeout(60):
                        while not self.saw(pattern):
                            self._changed.clear()
                            await self._changed.wait()
                case signal.Signals() as number:
                    os.kill(os.getpid(), number)
                    await asyncio.sleep(10)
        return None

    def tell(self, *lines: str) -> None:
        self.told += [Text.from_markup(line).plain for line in lines]
        self._changed.set()

    def saw(self, pattern: re.Pattern[str] | str) -> bool:
        return re.search(pattern, "\n".join(self.told)) is not None


def model(**answers: Any) -> Behaviour:
    """A model that answers each kind of request by its name; `companion` is the reply."""

    def respond(body: Body) -> Response:
        form = body.get("response_format", {}).get("json_schema", {"name": "companion"})["name"]
        made = ({"monitor": SKIP, "episode": SMALL_TALK, "companion": "Noted."} | answers)[form]
        if callable(made):
            made = made(body)
        behaviour: Behaviour = made if callable(made) else say(_text(made))
        return behaviour(body)

    return respond


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


def keeps_tea(body: Body) -> Any:
    said = body["messages"][-1]["content"].rpartition("##")[2]
    return answer(add("Ann likes tea.", "I like tea")) if "I like tea" in said else SKIP


def settings(folder: Path, server: Stub, **more: Any) -> Settings:
    usual = {**where(folder), "embedder": "hash:64", "base_url": server.base_url}
    return Settings(**{**usual, "user_title": "Ann", "retry_pause": 0.0, **more})


async def test_a_talk_in_the_terminal(tmp_path: Path, stub: Start) -> None:
    """A turn is judged while the next one is typed, and shapes the reply after it."""

    def reply(body: Body) -> str:
        return "Tea [again]!" if "Ann likes tea." in body["messages"][0]["content"] else "Noted."

    server = stub(model(monitor=keeps_tea, companion=reply))
    typist = Typist("I like tea", re.compile("ADD  Ann likes tea.  because new"), "", "some tea?")
    await converse(settings(tmp_path, server), "ann", "s", typist)
    order = ["the assistant  Noted.", "ADD  Ann", "whispered  Ann likes tea.", r"Tea \[again]!"]
    assert typist.saw(re.compile(".*".join([*order, "SKIP", "all is judged"]), re.DOTALL))


async def test_commands_look_at_memories_and_change_them(
    tmp_path: Path, stub: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of them reaches the model, an unknown one neither; a change can be taken back."""
    server = stub(model(monitor=keeps_tea))
    typist = Typist(
        *("/why", "/undo", "I like tea", re.compile("ADD"), "some tea?", re.compile("SKIP")),
        *("/why", "/forget", "/forget unicorns", "/forget tea", "/undo", "/memories", "/undo"),
        *("/dance now", "/HELP", "/quit", "never sent"),
    )
    await converse(settings(tmp_path, server), "ann", "s", typist)
    for told in (
        "nothing has been whispered yet",
        "nothing was changed in this talk",
        r"Ann likes tea.  because it goes with what you said \(",
        "judged last, “some tea\\?”:\n  SKIP",
        "say what to forget: /forget WORDS",
        "no memory is clearly meant by “unicorns”",
        "FORGET  Ann likes tea.(.|\n)*UNDO  Ann likes tea.(.|\n)*UNDO  Ann likes tea.",
        "there is no command /dance: /help lists them",
        "/undo +take back",
    ):
        assert typist.saw(told), told
    assert "Ann likes tea." in capsys.readouterr().out
    sent = [body["messages"][-1]["content"] for body in server.requests]
    assert [text for text in sent if "##" not in text] == ["I like tea", "some tea?"]
    async with Souffleur.open(Settings(**where(tmp_path), embedder="hash:64")) as memory:
        assert await memory.knowledge.list("ann") == []


async def test_a_talk_goes_on_when_the_endpoint_fails(tmp_path: Path, stub: Start) -> None:
    """A failed reply is a line of text, nothing of that turn is kept, and the next one is."""
    replies = iter([fail(400, "no such luck"), say("")])
    server = stub(model(companion=lambda _: next(replies, "Noted.")))
    typist = Typist("one", "two", "three", re.compile("SKIP"))
    await converse(settings(tmp_path, server), "ann", "s", typist)
    assert typist.saw("no such luck(.|\n)*The answer was empty(.|\n)*Noted.")
    async with Souffleur.open(Settings(**where(tmp_path), embedder="hash:64")) as memory:
        assert [turn.user for turn in await memory.knowledge.journal.turns()] == ["three"]


async def test_an_outage_of_the_judge_is_told(tmp_path: Path, stub: Start) -> None:
    """The talk goes on, and says at the end what waits for the next start."""
    server = stub(model(monitor=lambda _: fail(401, "bad key")))
    typist = Typist("one", re.compile("bad key"), "two")
    await converse(settings(tmp_path, server), "ann", "s", typist)
    assert typist.saw("the assistant  Noted.(.|\n)*bad key(.|\n)*the assistant  Noted.")
    assert typist.told[-1] == "2 turns are kept, and will be judged at the next start"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_one_signal_ends_it(tmp_path: Path, stub: Start, number: signal.Signals) -> None:
    """What is not judged within the given time is kept, and said to be."""
    server = stub(model(monitor=lambda _: slow(30, say(json.dumps(SKIP)))))
    typist = Typist("one", number, "never sent")
    await converse(settings(tmp_path, server, shutdown_timeout=0.1), "ann", "s", typist)
    assert typist.told[-1] == "1 turn is kept, and will be judged at the next start"
    typist = Typist()
    server = stub(model())
    await converse(settings(tmp_path, server), "ann", "s", typist)
    assert typist.told[-1] == "all is judged"
