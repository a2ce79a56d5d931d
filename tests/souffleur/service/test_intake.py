"""What a host may give to `observe`, `recall` and `remember`: taken, or refused in plain words."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings as profile, strategies as st

from souffleur.api import Souffleur
from souffleur.errors import InputError, SouffleurError
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock, moment_or_now
from tests.build import NOW
from tests.command import Run
from tests.place import at_once
from tests.stores import empty_base

PARIS = ZoneInfo("Europe/Paris")
NOON = datetime(2026, 1, 3, 12, tzinfo=PARIS)
anything = st.one_of(
    st.none(),
    st.text(alphabet=st.characters(), max_size=20),
    st.integers(),
    st.binary(max_size=5),
    st.lists(st.text(max_size=3), max_size=2),
    st.datetimes(),
)


async def opened(folder: Path) -> Souffleur:
    base = await empty_base(folder, dimension=16)
    return Souffleur(
        Parts(base, times=from_clock(lambda: NOW)),
        Settings(path=folder, timezone="Europe/Paris"),
    )


@pytest.mark.parametrize(
    ("given_", "at", "odd"),
    [
        (None, NOW, ""),
        (NOON.replace(tzinfo=None), NOON, ""),
        (NOW - timedelta(days=1), NOW - timedelta(days=1), ""),
        (datetime.max.replace(tzinfo=UTC), NOW, "year 9999"),
        (datetime.min.replace(tzinfo=UTC), NOW, "year 1:"),
        ("2026-01-03T11:00:00+00:00", NOON, ""),
        ("2026-01-03 12:00", NOON, ""),
        (NOON.timestamp(), NOON, ""),
        (NOON.timestamp() * 1000, NOON, ""),
        (int(NOON.timestamp()) * 10**6, NOON, ""),
        (int(NOON.timestamp()) * 10**9, NOON, ""),
        (f" {NOON.timestamp():.0f} ", NOON, ""),
        (f"{NOON.timestamp():.3f}", NOON, ""),
        (f"{NOON.timestamp() * 1000:.0f}", NOON, ""),
        (datetime(1960, 1, 1, tzinfo=UTC).timestamp() * 1000, datetime(1960, 1, 1, tzinfo=UTC), ""),
        (10**20, NOW, "is no time: give a datetime, an ISO 8601"),
        ("²²²²²²²²²²", NOW, "is no time"),
        ("yesterday", NOW, "'yesterday' is no time"),
        (float("nan"), NOW, "nan is no time"),
        (True, NOW, "True is no time"),
        (NOW.astimezone(timezone(timedelta(hours=14))), NOW, ""),
    ],
    ids=str,
)
def test_when_something_was_said(given_: Any, at: datetime, odd: str) -> None:
    """Without a zone it is the settings'; what is no time is now, and said to be odd."""
    found, why = moment_or_now(given_, now=NOW, zone=PARIS)
    assert found == at
    assert odd in why
    assert bool(odd) == bool(why)


@at_once
async def test_thoughts_are_not_observed(tmp_path: Path) -> None:
    """They are taken out of a reply, which may be none then; what the user writes stays."""
    memory = await opened(tmp_path)
    memory.observe(user_id="ann", user="<think>a</think>", assistant="Sad.</think>Dinner at eight!")
    memory.observe(user_id="ann", user="b", assistant="<think>I must not tell her.")
    turns = await memory.knowledge.journal.turns()
    assert [(turn.user, turn.assistant) for turn in turns] == [
        ("<think>a</think>", "Dinner at eight!"),
        ("b", ""),
    ]
    assert not memory.observe(user_id="ann", assistant="<think>I must not tell her.").new
    await memory.close()


@at_once
async def test_half_an_emoji_loses_no_turn(tmp_path: Path) -> None:
    """The words are kept, with the halves marked; recall and remember take them as well."""
    memory = await opened(tmp_path)
    assert memory.observe(user_id="ann", user="nice \ud83d", assistant="\ude00 ok").durable
    (turn,) = await memory.knowledge.journal.turns()
    assert (turn.user, turn.assistant) == ("nice \ufffd", "\ufffd ok")
    assert (await memory.recall(user_id="ann", text="nice \ud83d")).error == ""
    (kept,) = await memory.remember("Ann likes \ud83d tea.", user_id="ann")
    assert kept.changes[0].after.content == "Ann likes \ufffd tea."
    await memory.close()


async def test_nothing_said_is_nothing_kept(tmp_path: Path) -> None:
    """A picture without words: no turn, no trouble, and the lasting memories all the same."""
    memory = await opened(tmp_path)
    nothing: Any = None
    receipt = memory.observe(user_id="ann", user=nothing, assistant=nothing)
    assert (receipt.new, receipt.error, receipt.durable) == (False, "", True)
    assert memory.observe(user_id="ann", user=nothing, assistant="[a picture]").new
    await memory.remember("Ann likes tea.", user_id="ann")
    assert "Ann likes tea." in (await memory.recall(user_id="ann", text=nothing)).text
    await memory.close()


@at_once
async def test_parts_and_messages_are_read(tmp_path: Path) -> None:
    """What a chat interface holds can be given as it is: to recall by, and to observe."""
    memory = await opened(tmp_path)
    await memory.remember("Ann likes tea.", user_id="ann")
    asked = [{"type": "text", "text": "Tea?"}, {"type": "image_url", "image_url": {"url": "x"}}]
    whisper = await memory.recall(user_id="ann", text=asked)
    assert [hit.memory.content for hit in whisper.found] == ["Ann likes tea."]
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Green tea."}]}
    assert memory.observe(user_id="ann", user=asked, assistant=reply).durable
    calls: Any = {"role": "assistant", "content": None, "tool_calls": [{}]}
    assert memory.observe(user_id="ann", user="And?", assistant=calls, at="2026-01-03 12:00").new
    turns = await memory.knowledge.journal.turns()
    said = [("Tea?\n[image]", "Green tea."), ("And?", "")]
    assert [(turn.user, turn.assistant) for turn in turns] == said
    assert turns[1].at == NOON
    odd = memory.observe(user_id="ann", user={1, 2})
    assert (odd.durable, "user: set is no text: give a string" in odd.error) == (False, True)
    await memory.close()


@at_once
async def test_an_odd_time_loses_no_turn(tmp_path: Path) -> None:
    """The turn is kept at the present time, and the receipt says so."""
    memory = await opened(tmp_path)
    receipt = memory.observe(user_id="ann", user="hi", at=datetime.max)  # noqa: DTZ901 a wrong clock
    assert (receipt.durable, "year 9999" in receipt.error) == (True, True)
    (turn,) = await memory.knowledge.journal.turns()
    assert turn.at == NOW
    assert "'noon' is no time" in (await memory.recall(user_id="ann", text="hi", at="noon")).error
    with pytest.raises(InputError, match="'noon' is no time"):
        await memory.ask("what did we say", user_id="ann", at="noon")
    await memory.close()


def test_nothing_makes_observe_or_recall_raise(tmp_path: Path) -> None:
    """Whatever is given, a receipt comes back; what is not durable says why."""
    with asyncio.Runner() as runner:
        memory = runner.run(opened(tmp_path))

        @given(st.dictionaries(st.sampled_from(["user", "assistant", "at", "turn_id"]), anything))
        @profile(max_examples=100)
        def try_out(said: dict[str, Any]) -> None:
            runner.run(tried(memory, said))

        try_out()
        runner.run(memory.close())


async def tried(memory: Souffleur, said: dict[str, Any]) -> None:
    """Say something odd, and have it recalled."""
    receipt = memory.observe(**{"user_id": "ann", "user": "hi", **said})
    assert receipt.durable or receipt.error
    await memory.recall(user_id="ann", text=said.get("user", ""), at=said.get("at"))


@at_once
@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"what": ""}, "content: must not be blank"),
        ({"what": " \u200b"}, "content: must not be blank"),
        ({"what": "x" * 2001}, "content: must have at most 2,000 characters"),
        ({"what": "tea", "kind": "bogus"}, "kind: "),
        ({"what": "tea", "importance": "vast"}, "importance: "),
        ({"what": [("user", "hi", 3)]}, "message 0: it is no pair"),
        ({"what": 7}, "messages"),
        ({"what": "tea", "at": "noon"}, "`at`: 'noon' is no time"),
        ({"what": [("user", "hi")], "at": "noon"}, "'noon' is no time"),
    ],
    ids=["empty", "blank", "long", "kind", "importance", "triple", "number", "time", "times"],
)
async def test_what_cannot_be_remembered_is_said(
    tmp_path: Path, given_: dict[str, Any], why: str
) -> None:
    """It is a InputError that says what is wrong, and no other error gets out."""
    memory = await opened(tmp_path)
    with pytest.raises(InputError, match=why):
        await memory.remember(**{"user_id": "ann", **given_})
    await memory.close()


@pytest.mark.parametrize("text", [None, 7, ["tea"]], ids=str)
async def test_what_is_no_question_is_said(tmp_path: Path, text: Any) -> None:
    """Asking or forgetting what is no text is a InputError."""
    memory = await opened(tmp_path)
    for call in (memory.ask, memory.forget):
        with pytest.raises(SouffleurError, match="text"):
            await call(text, user_id="ann")
    await memory.close()


@pytest.mark.parametrize(
    "words",
    [
        ("remember", ""),
        ("report", "--html", "/nonexistent/x.html"),
        ("store", "repair", "--out", "/nonexistent/x.jsonl"),
        ("search", "tea", "--user", " "),
        ("eval", "replay", "/nonexistent/x.yaml"),
    ],
    ids=" ".join,
)
def test_no_command_ends_in_a_traceback(run: Run, words: tuple[str, ...]) -> None:
    """One line says what is wrong."""
    code, _, err = run(*words)
    assert code in {0, 1, 2, 3}
    assert "Traceback" not in err
    assert code == 0 or len(err.strip().splitlines()) == 1
