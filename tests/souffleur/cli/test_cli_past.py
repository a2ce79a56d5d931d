"""The commands about the past: ask, episodes, profile, as a person and a program see them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from souffleur.knowledge.privacy.secrets import MASK
from tests.command import Run, data
from tests.scripted import SKIP, add, answer, episode, portrait
from tests.stub import Body, Stub, say

ME = ("--user", "ann")
FACTS = ["Ann drinks sencha.", "Ann Roux lives in Lyon."]
TOLD = episode("Ann talked about tea.", key_facts=FACTS, unresolved="which tea to buy")
THOUGHT = {"reason": "", "action": "ANSWER", "query": None, "answer": "Sencha.", "ids": ["n1"]}
THREE = ("Ann lives in Lyon.", "She drinks sencha.", "She looks for tea.")


def model(portraits: list[dict[str, object]]) -> Callable[[Body], str]:
    """Answers by the name of the schema asked for."""

    def reply(body: Body) -> str:
        name = body["response_format"]["json_schema"]["name"]
        kept = answer(add("Ann likes tea.", "I like tea"))
        said = "I like tea" in body["messages"][1]["content"].rpartition("## ")[2]
        monitor = kept if said else SKIP
        answers = {"monitor": monitor, "episode": TOLD, "think": THOUGHT}
        return json.dumps(answers[name] if name in answers else portraits.pop(0))

    return reply


def dialogue(folder: Path) -> Path:
    """Two turns of yesterday."""
    at = (datetime.now(UTC) - timedelta(days=1)).replace(hour=12, minute=0, second=0)
    turns = [
        {"at": at.isoformat(), "user": "I like tea", "assistant": "Noted"},
        {"at": (at + timedelta(minutes=1)).isoformat(), "user": "bye", "assistant": "Bye"},
    ]
    who = {"user": {"id": "ann", "title": "Ann"}, "assistant": {"id": "mo", "name": "Mo"}}
    file = folder / "tea.yaml"
    file.write_text(json.dumps({**who, "sessions": [{"id": "s1", "turns": turns}]}))
    return file


@pytest.fixture
def told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> Run:
    """A store in which yesterday's talk was told; two portraits can be written."""
    first = portrait(*THREE, name="Ann Roux", occupation="baker")
    changed = [*THREE[:2], "She found her tea."]
    second = {**first, "paragraphs": changed, "changes": ["She found her tea."]}
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(model([first, second]))).base_url)
    monkeypatch.setenv("SOUFFLEUR_USER_TITLE", "Ann")
    code, out, err = run("eval", "replay", str(dialogue(tmp_path)), "--keep")
    assert (code, err) == (0, "")
    assert "EPISODE" in out
    return run


def test_ask_about_yesterday(told: Run) -> None:
    """What was talked about is shown with its date; for a program with the span and the item."""
    _, out, _ = told("ask", "what did we talk about yesterday?", *ME)
    assert "Ann talked about tea." in out
    assert "Ann drinks sencha." in out
    past = data(told, "ask", "昨天我们聊了什么", *ME)
    assert past["phrase"] == "昨天"
    assert past["since"] < past["found"][0]["at"] < past["until"]
    assert "nothing is known" in told("ask", "what did we talk about last month?", *ME)[1]
    words = data(told, "ask", "who said that they like tea?", *ME)
    assert {item["scope"] for item in words["found"]} >= {"memories", "turns"}


def test_the_model_answers(told: Run) -> None:
    """Its answer is shown above what it rests on; a program also gets what it took."""
    _, out, _ = told("ask", "which tea do I drink?", "--think", *ME)
    assert out.index("Sencha.") < out.index("tea")
    past = data(told, "ask", "which tea do I drink?", "--think", *ME)
    assert (past["thought"]["known"], past["thought"]["usage"]["calls"]) == (True, 1)
    assert len(past["found"]) == 1


def test_without_a_model_only_thinking_is_refused(
    told: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the setting."""
    monkeypatch.delenv("SOUFFLEUR_BASE_URL")
    code, _, err = told("ask", "which tea do I drink?", "--think", *ME)
    assert (code, "SOUFFLEUR_BASE_URL" in err) == (2, True)
    assert told("ask", "which tea do I drink?", *ME)[0] == 0


def test_episodes_are_listed(told: Run) -> None:
    """Newest first, with facts and what is open."""
    _, out, _ = told("list", "--episodes", *ME)
    for text in ("Ann talked about tea.", "- Ann drinks sencha.", "? which tea to buy", "to share"):
        assert text in out
    listed = data(told, "list", "--episodes", *ME)
    assert (len(listed["episodes"]), listed["waiting"]) == (1, [])
    assert told("list", "--episodes", "--user", "bob")[1].strip() == "no episodes"


def test_a_placeholder_is_listed_with_its_trouble(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """What could not be summarised yet is shown, and why."""
    monkeypatch.setenv("SOUFFLEUR_RETRY_PAUSE", "0")
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say("no idea")).base_url)
    run("eval", "replay", str(dialogue(tmp_path)), "--keep")
    _, out, _ = run("list", "--episodes", *ME)
    assert "4 messages wait" in out
    assert "no JSON object" in out


def test_the_profile_is_written_shown_and_compared(told: Run) -> None:
    """Cold start is a plain sentence; then there are versions, and what changed."""
    assert "nothing is known yet" in told("user", "profile", *ME)[1]
    assert data(told, "user", "profile", *ME) is None
    _, out, _ = told("user", "profile", "--write", *ME)
    assert "Ann Roux · baker · version 1" in out
    assert "She looks for tea." in out
    told("user", "profile", "--write", *ME)
    _, out, _ = told("user", "profile", "--history", *ME)
    assert out.index("version 2") < out.index("version 1")
    assert "changed  She found her tea." in out
    _, out, _ = told("user", "profile", "--diff", *ME)
    assert "- She looks for tea." in out
    assert "+ She found her tea." in out
    assert data(told, "user", "profile", *ME)["data"]["version"] == 2
    assert "+ She found her tea." in data(told, "user", "profile", "--diff", *ME)
    assert [one["data"]["version"] for one in data(told, "user", "profile", "--history", *ME)] == [
        2,
        1,
    ]


def test_raw_turns_can_be_searched(told: Run) -> None:
    """`search --scope` looks where it is told, and names what it knows."""
    hits = data(told, "search", "tea", "--scope", "turns", *ME)
    assert (hits[0]["scope"], hits[0]["content"]) == ("turns", "I like tea\nNoted")
    code, _, err = told("search", "tea", "--scope", "dreams", *ME)
    assert code == 2
    assert "memories, episodes, turns" in err


def test_no_command_shows_a_secret(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """Neither a search, nor a question, nor the list of failed turns, for a person or a program."""
    said = dialogue(tmp_path)
    said.write_text(said.read_text().replace("I like tea", "I like tea, password hunter2024!"))
    monkeypatch.setenv("SOUFFLEUR_RETRY_PAUSE", "0")
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say("no idea")).base_url)
    assert run("eval", "replay", str(said), "--keep")[0] == 0
    for words in (
        ("search", "tea", "--scope", "turns", *ME),
        ("ask", "what did I say yesterday?", *ME),
        ("ask", "who said that they like tea?", *ME),
        ("list", "--failed", *ME),
    ):
        for form in ((), ("--json",)):
            _, out, err = run(*words, *form)
            assert "hunter2024" not in out + err
            assert MASK in out
    assert data(run, "search", "hunter2024", "--scope", "turns", *ME) == []


def test_writing_a_profile_needs_a_model(run: Run) -> None:
    """Without a model the error says what to set."""
    code, _, err = run("user", "profile", "--write", *ME)
    assert code == 2
    assert "SOUFFLEUR_BASE_URL" in err


def test_why_says_what_was_whispered(told: Run) -> None:
    """The latest reply stands first, with each memory that came before it and the reason."""
    code, out, _ = told("why", *ME)
    assert code == 0
    assert out.index("bye") < out.index("I like tea")
    assert "nothing was whispered" in out
    latest, first = data(told, "why", *ME)
    assert [one["memory"]["content"] for one in latest["reasons"]] == ["Ann likes tea."]
    assert "about what was said  Ann likes tea." in out
    assert first["reasons"] == []
