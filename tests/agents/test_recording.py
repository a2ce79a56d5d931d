"""Recordings: what a model said is kept as it was, found again, and never made up."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from souffleur.agents.model.chat import Chat, Message, Reply, Request, Usage, request_key
from souffleur.agents.model.endpoint import Endpoint
from souffleur.agents.model.recording import Player, Recorder, prune
from souffleur.errors import AnswerError, EndpointError, RecordingError
from tests.stub import Stub, fail, say

Start = Callable[..., Stub]

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


def question(text: str) -> Request:
    return Request((Message("system", "s"), Message("user", text)), "verdict")


def recorder(chat: Chat, path: Path, model: str = "big-1") -> Recorder:
    return Recorder(chat, path, model=model, now=NOW, note="by hand")


async def parrot(request: Request) -> Reply:
    """A chat that repeats the last message."""
    return Reply(request.messages[-1].content, usage=Usage(1, 10, 2, 3, 0.5), model="parrot-1")


async def mute(request: Request) -> Reply:
    """A chat that must not be asked."""
    raise AssertionError(f"asked: {request}")


def kept(path: Path) -> bytes:
    return path.read_bytes()


def files(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def join(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes() + other.read_bytes().partition(b"\n")[2])


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a recording goes; its folder is not there yet."""
    return tmp_path / "recordings" / "tea.jsonl"


async def test_recording_plays_back(path: Path) -> None:
    """What was recorded is played back whole: words, ending, usage and model."""
    recorded = await recorder(parrot, path)(question("我喜欢茶"))
    player = Player(path)
    assert await player(question("我喜欢茶")) == recorded
    assert (player.model, player.form) == ("big-1", "text")


async def test_the_form_is_the_strictest_that_was_answered(path: Path) -> None:
    """However many plain words were asked for beside it."""
    recording = recorder(parrot, path)
    for number in range(3):
        await recording(question(f"茶 {number}"))
    await recording(replace(question("茶"), form="json_object"))
    assert Player(path).form == "json_object"


async def test_file_can_be_read_by_people(path: Path) -> None:
    """The file says where it comes from, and each line what was asked, in its own script."""
    await recorder(parrot, path)(question("茶 " * 60))
    header, line = kept(path).decode().splitlines()
    assert json.loads(header) == {
        "format": 1,
        "model": "big-1",
        "recorded_at": "2026-11-21T09:00:00+00:00",
        "note": "by hand",
    }
    entry = json.loads(line)
    assert entry["key"] == request_key(question("茶 " * 60))
    assert (entry["name"], entry["form"], len(entry["seen"])) == ("verdict", "text", 80)
    assert "茶" in line


async def test_unknown_request_is_stale(path: Path) -> None:
    """What was not recorded is an error that names question, model, date and the way out."""
    await recorder(parrot, path)(question("tea?"))
    with pytest.raises(RecordingError) as caught:
        await Player(path)(question("coffee?"))
    for words in (
        "verdict",
        "coffee?",
        "big-1",
        "2026-11-21",
        "souffleur eval replay FILE --record",
    ):
        assert words in str(caught.value)


async def test_recording_goes_on_where_it_stopped(path: Path) -> None:
    """What the file holds is not asked again, and what is new is added."""
    await recorder(parrot, path)(question("one"))
    before = kept(path)
    assert (await recorder(mute, path)(question("one"))).text == "one"
    assert kept(path) == before
    await recorder(parrot, path)(question("two"))
    assert kept(path).startswith(before)
    assert (await Player(path)(question("two"))).text == "two"


async def test_torn_line_is_asked_again(path: Path) -> None:
    """A line that was being written when the power went is dropped, and nothing else is."""
    first = recorder(parrot, path)
    await first(question("one"))
    whole = kept(path)
    await first(question("two"))
    tear(path)
    with pytest.raises(RecordingError):
        await Player(path)(question("two"))
    second = recorder(parrot, path)
    assert kept(path) == whole
    await second(question("two"))
    assert (await Player(path)(question("two"))).text == "two"


async def test_failed_answer_is_recorded(stub: Start, path: Path) -> None:
    """An unusable answer is part of what happened, and fails again when played back."""
    server = stub(say('{"ops"', finish="length"))
    model = Endpoint(base_url=server.base_url, model="m")
    for chat in (lambda: recorder(model, path), lambda: Player(path), lambda: recorder(mute, path)):
        with pytest.raises(AnswerError, match="cut off") as caught:
            await chat()(question("tea?"))
        assert caught.value.answer == '{"ops"'
        assert caught.value.usage["input_tokens"] == 1000


async def test_failed_endpoint_is_not_recorded(stub: Start, path: Path) -> None:
    """A fault of the endpoint leaves no trace, so that the next recording asks again."""
    server = stub(fail(503), say("ok"))
    chat = recorder(Endpoint(base_url=server.base_url, model="m"), path)
    with pytest.raises(EndpointError):
        await chat(question("tea?"))
    assert len(kept(path).splitlines()) == 1
    assert (await chat(question("tea?"))).text == "ok"


async def test_same_question_at_once_is_written_once(path: Path) -> None:
    """Two that ask the same at the same time get the same answer, and one line is written."""
    count = iter(range(9))

    async def fickle(_: Request) -> Reply:
        number = next(count)
        await asyncio.sleep(0)
        return Reply(str(number))

    chat = recorder(fickle, path)
    first, second = await asyncio.gather(chat(question("a")), chat(question("a")))
    assert first == second
    assert len(kept(path).splitlines()) == 2


async def test_another_models_answers_are_not_mixed_in(path: Path) -> None:
    """A file of one model cannot be continued with another."""
    recorder(parrot, path)
    with pytest.raises(RecordingError, match="big-1, not of small-1"):
        recorder(parrot, path, "small-1")


async def test_prune_keeps_what_was_used(path: Path) -> None:
    """After a prune the file holds the answers that were asked for, in that order, unedited."""
    chat = recorder(parrot, path)
    for text in "abc":
        await chat(question(text))
    header, a, _, c = kept(path).splitlines()
    player = Player(path)
    for text in "cac":
        await player(question(text))
    prune(path, [*player.used, "unknown"])
    assert kept(path).splitlines() == [header, c, a]
    assert files(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "There is no recording"),
        ("", "no recording of format 1"),
        ('{"format": 2, "model": "m"}\n', "no recording of format 1"),
        ('{"format": 1, "model": "m"}\n{"key": "x"}\n', "Line 2"),
        ('{"format": 1, "model": "m"}\n[1]\n', "Line 2"),
        ("hello\n", "Line 1"),
    ],
)
def test_unreadable_file_is_a_recording_error(path: Path, text: str | None, words: str) -> None:
    """What is no recording says so, and on which line."""
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    with pytest.raises(RecordingError, match=words):
        Player(path)


async def test_first_of_two_answers_counts(path: Path) -> None:
    """Where two processes have written one answer each, the first one is played back."""
    other = path.with_name("other.jsonl")
    for file, text in ((path, "one"), (other, "two")):

        async def chat(_: Request, text: str = text) -> Reply:
            return Reply(text)

        await recorder(chat, file)(question("a"))
    join(path, other)
    assert (await Player(path)(question("a"))).text == "one"


@given(st.text(st.characters()), st.text(st.characters()))
@example("\ud83d", "a\u2028b \ud83d\x85c")
def test_any_words_survive(tmp_path_factory: Any, asked: str, said: str) -> None:
    """Line separators, quotes, even half an emoji come back as they were said."""
    path = tmp_path_factory.mktemp("words") / "r.jsonl"

    async def chat(_: Request) -> Reply:
        return Reply(said)

    async def both() -> Reply:
        await recorder(chat, path)(question(asked))
        return await Player(path)(question(asked))

    assert asyncio.run(both()).text == said


BASE = Request((Message("user", "a"),), "verdict", {"type": "object", "enum": [1]}, "json_schema")


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, messages=(Message("user", "b"),)),
        replace(BASE, messages=(Message("assistant", "a"),)),
        replace(BASE, messages=(Message("user", "a"), Message("user", ""))),
        replace(BASE, name="review"),
        replace(BASE, form="json_object"),
        replace(BASE, schema=None),
        replace(BASE, schema={"type": "object", "enum": [2]}),
    ],
)
def test_key_tells_requests_apart(other: Request) -> None:
    """Every part of a request is in its key; the order of a schema's keys is not."""
    assert request_key(other) != request_key(BASE)
    turned = replace(BASE, schema={"enum": [1], "type": "object"})
    assert request_key(turned) == request_key(BASE)
