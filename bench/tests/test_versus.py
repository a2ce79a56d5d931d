"""Versus: other systems through the same scripts, marked by what they hold and bring."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from typer.testing import CliRunner

from bench.systems import (
    StoredMemory,
    SystemFactory,
    SystemInputs,
    load_factory,
    side_by_side,
)
from bench.systems.langchain_adapter import Aliases, LangChainAdapter
from bench.systems.script_runner import count_near_duplicates, count_whispered
from bench.systems.side_by_side import (
    SystemComparison,
    SystemDifference,
    SystemResult,
    compare_systems,
    to_text,
)
from bench.versus import versus as command
from souffleur.agents.model.chat import Message, Request
from souffleur.demo.dialogue import Exchange
from souffleur.errors import AnswerError, EndpointError, RecordingError, SettingsError
from souffleur.evals.result import OpRecord, ScriptResult
from souffleur.evals.script import Known, read_script
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.settings import default_settings
from tests.build import NOW
from tests.scripted import SKIP, SMALL_TALK, Answer, Scripted, answer, by_name, update
from tests.stub import Body, Stub, say

MOVING = """
about: cascade
user: {id: lin, title: Lin, language: en}
assistant: {id: mo, name: Mo}
timezone: Asia/Singapore
known: [{content: Lin lives in Woodlands., at: "2026-01-03T18:00:00+08:00", importance: high}]
sessions:
  - id: s1
    turns:
      - at: "2026-03-05T20:00:00+08:00"
        user: I moved to Jurong East last week.
        assistant: From Woodlands to Jurong, congratulations!
        expect: [{op: UPDATE, of: Woodlands, pattern: [Jurong], about: moved}]
        never: [{op: ADD, pattern: [Jurong], why: it must be updated}]
        recall: {brings: [Woodlands], lacks: [Mars]}
      - at: "2026-03-05T20:02:00+08:00"
        user: I bought a rocket to Mars, ha.
        assistant: Send a postcard.
        never: [{op: ADD, pattern: Mars, why: a joke}]
  - {run: decay, at: "2026-03-20T04:00:00+08:00"}
asks:
  - {at: "2026-03-25T08:00:00+08:00", text: "Where do I live?", brings: [Jurong], lacks: [Woodl]}
end:
  holds: [{pattern: Jurong, once: true}]
  lacks: [Woodlands, Mars]
"""


class Diary:
    """A system that keeps whatever is said, word for word, and forgets nothing."""

    def __init__(self, inputs: SystemInputs) -> None:
        self.inputs = inputs
        self.kept: list[StoredMemory] = []
        self.limits: list[int] = []
        self.closed = False
        self._ops: tuple[OpRecord, ...] = ()

    async def open(self, known: Sequence[Known]) -> None:
        self.kept = [StoredMemory(f"known-{index}", one.content) for index, one in enumerate(known)]

    async def write(self, turns: Sequence[Exchange]) -> None:
        (turn,) = turns
        said = self.inputs.briefing(turn.at) + turn.user
        reply = await self.inputs.chat(Request((Message("user", said),), "diary"))
        self.kept.append(StoredMemory(str(len(self.kept)), reply.text))
        self._ops = (OpRecord(op="ADD", who="diary", content=reply.text),)

    async def recall(self, text: str, at: datetime, limit: int) -> Sequence[StoredMemory]:
        self.limits.append(limit)
        return self.kept[:limit]

    async def memories(self) -> Sequence[StoredMemory]:
        return tuple(self.kept)

    def ops(self) -> tuple[OpRecord, ...] | None:
        return self._ops

    async def close(self) -> None:
        self.closed = True


class Silent(Diary):
    """One that does not tell what it does."""

    def ops(self) -> None:
        return None


def model(request: Request) -> Answer:
    """Judges as the script wants; writes a diary as it hears."""
    said = request.messages[-1].content
    if request.name == "diary":
        return said.partition("conversation.")[2]
    if "moved to Jurong" in said.partition("## The exchange to judge")[2]:
        return answer(update("m1", "Lin lives in Jurong East.", "moved to Jurong East"))
    return SKIP


def written(folder: Path, **texts: str) -> list[Path]:
    files = [folder / f"{name}.yaml" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def met(
    folder: Path, chat: Scripted, factory: SystemFactory = Diary, name: str = "diary", **texts: str
) -> SystemComparison:
    settings = default_settings().model_copy(update={"model": "scripted", "tries": 1})
    setups = side_by_side.live_setups(settings, chat)
    files = written(folder, **(texts or {"moving": MOVING}))
    return asyncio.run(side_by_side.play_side_by_side(files, {name: factory}, setups))


def scripted(script: Callable[[Request], Answer] = model) -> Scripted:
    return Scripted(by_name(monitor=script, diary=script))


@pytest.fixture(scope="module")
def diaries() -> list[Diary]:
    return []


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory, diaries: list[Diary]) -> SystemComparison:
    """Played once for all tests."""

    def make(inputs: SystemInputs) -> Diary:
        diaries.append(Diary(inputs))
        return diaries[-1]

    return met(tmp_path_factory.mktemp("versus"), scripted(), make)


def value(result: SystemResult, metric: str) -> float | None:
    return result.metrics[metric].value if metric in result.metrics else None


def test_both_play_the_same_script_at_its_times(
    taken: SystemComparison, diaries: list[Diary]
) -> None:
    """Step by step; a run of ours is nothing to the other; what is known is there before."""
    ours, theirs = (result.scripts[0] for result in taken.sides)
    places = ["s1.1", "s1.2", "decay", "ask.1"]
    assert [one.place for one in ours.steps] == [one.place for one in theirs.steps] == places
    assert [one.at for one in ours.steps] == [one.at for one in theirs.steps]
    assert theirs.steps[0].ranked == ("Lin lives in Woodlands.",)
    assert theirs.steps[2].user == theirs.steps[2].whisper == ""
    assert diaries[0].closed
    assert taken.troubles == []
    assert (taken.model, taken.embedder, taken.scripts) == ("scripted", "hash:512", 1)


def test_as_many_are_called_up_as_ours_whispers(
    taken: SystemComparison, diaries: list[Diary]
) -> None:
    """At each step as many memories are recalled as ours whispers, at least one."""
    steps = taken.sides[0].scripts[0].steps
    ours = [count_whispered(one.whisper) for one in steps if one.place != "decay"]
    assert diaries[0].limits == [max(1, one) for one in ours] == [1, 1, 1]
    several = "## What you remember about Lin\nUse it.\n\n### Who Lin is\nPaints.\n\nSings.\n\n"
    assert count_whispered(f"{several}### Facts\n#### People\n- Likes tea.\n- Has a cat.\n") == 4
    assert count_whispered("") == 0


def test_both_are_marked_by_what_they_hold_and_bring(taken: SystemComparison) -> None:
    """By hand: ours updates the home; the diary keeps both homes, and the joke."""
    ours, theirs = taken.sides
    assert value(ours, "holds at the end") == value(theirs, "holds at the end") == 1
    assert (value(ours, "lacks at the end"), value(theirs, "lacks at the end")) == (1, 0)
    assert value(ours, "learned at its turn") == value(theirs, "learned at its turn") == 1
    assert (value(ours, "breaches"), value(theirs, "breaches")) == (0, 1)
    assert (value(ours, "recall brings"), value(theirs, "recall brings")) == (1, 0.5)
    assert (value(ours, "recall lacks"), value(theirs, "recall lacks")) == (1, 0.5)
    assert (value(ours, "memories at the end"), value(theirs, "memories at the end")) == (1, 3)
    assert (value(ours, "written per turn"), value(theirs, "written per turn")) == (0.5, 1)
    (joke,) = theirs.scripts[0].steps[1].judged.breaches
    assert joke == "ADD Mars: I bought a rocket to Mars, ha."


def test_what_both_spend_is_counted_at_the_endpoint(taken: SystemComparison) -> None:
    """The diary asks once a turn; seconds are those of a live run."""
    theirs = taken.sides[1]
    assert value(theirs, "calls per turn") == 1
    assert value(theirs, "tokens in per turn") == 100
    assert value(theirs, "tokens out per turn") == 10
    assert value(theirs, "model seconds per turn") is not None
    call = theirs.scripts[0].steps[0].calls[0]
    assert "The user is called Lin, the assistant Mo." in call.asked
    assert "2026-03-05, Thursday, at 20:00 (Asia/Singapore)" in call.asked


def test_ops_are_told_apart_where_a_system_tells_them(
    taken: SystemComparison, tmp_path: Path
) -> None:
    """An ADD where an UPDATE is due is wrong; a system that tells nothing has no ops."""
    ours, theirs = taken.sides
    assert ours.ops["UPDATE"] == {"right": 1, "wrong": 0, "met": 1, "missed": 0}
    assert theirs.ops["ADD"]["wrong"] == 2
    assert theirs.ops["UPDATE"]["missed"] == 1
    silent = met(tmp_path, scripted(), Silent, "silent").sides[1]
    assert (silent.tells_ops, silent.ops) == (False, {})
    assert silent.metrics == {**theirs.metrics, **seconds(silent)}


def seconds(result: SystemResult) -> dict[str, Any]:
    return {key: one for key, one in result.metrics.items() if "seconds" in key}


def test_a_difference_is_of_pairs(taken: SystemComparison) -> None:
    """With one script there is no noise: who is better is better; a low cost is good."""
    gaps = {difference.metric: difference for difference in taken.gaps}
    assert (gaps["recall brings"].value, gaps["recall brings"].better) == (0.5, "ours")
    assert (gaps["breaches"].value, gaps["breaches"].better) == (-1, "ours")
    assert (gaps["holds at the end"].value, gaps["holds at the end"].better) == (0, "")
    assert gaps["tokens in per turn"].better == ("theirs" if gaps_high(gaps) else "ours")


def gaps_high(gaps: dict[str, SystemDifference]) -> bool:
    return gaps["tokens in per turn"].value > 0


def test_a_script_counts_only_where_no_system_failed() -> None:
    """Otherwise one would be spared what the other must bear."""

    def side(system: str, *scripts: ScriptResult) -> SystemResult:
        return SystemResult(system=system, scripts=scripts)

    good, bad = {"brings.all": 1.0, "brings.hit": 1.0}, {"brings.all": 1.0}
    ours = side(
        "souffleur", ScriptResult(name="a", counts=good), ScriptResult(name="b", counts=bad)
    )
    theirs = side("x", ScriptResult(name="a", counts=good), ScriptResult(name="b", failure="down"))
    made = compare_systems([ours, theirs], models=["m", "m"], embedders=["e"], mode="live")
    assert (made.scripts, made.model) == (1, "m")
    assert value(made.sides[0], "recall brings") == 1
    assert made.troubles == ["x: b: down"]


def test_a_turn_that_fails_is_a_trouble_and_the_play_goes_on(tmp_path: Path) -> None:
    """A turn of either side that fails is a trouble, and nothing is written for it."""

    def down(request: Request) -> Answer:
        rocket = request.name == "diary" and "rocket" in request.messages[-1].content
        return EndpointError("it is down") if rocket else model(request)

    made = met(tmp_path, scripted(down))
    assert made.troubles == ["diary: moving: s1.2: EndpointError: it is down"]
    assert value(made.sides[1], "memories at the end") == 2
    assert value(made.sides[1], "breaches") == 0


def test_a_system_that_cannot_be_opened_fails_alone(tmp_path: Path) -> None:
    """The other systems are played; a script that cannot be read fails for all."""

    class Broken(Diary):
        async def open(self, known: Sequence[Known]) -> None:
            raise ValueError("no disk")

    made = met(tmp_path, scripted(), Broken, moving=MOVING, wrong="about: x")
    assert made.scripts == 0
    assert made.sides[0].scripts[0].failure == ""
    assert made.sides[1].scripts[0].failure == "ValueError('no disk')"
    assert "at sessions: Field required" in made.sides[0].scripts[1].failure
    assert made.sides[1].scripts[1].failure == "not played: souffleur failed"


def test_what_was_recorded_is_played_without_a_model(tmp_path: Path) -> None:
    """All systems, the same twice; what is not recorded names the command."""
    settings = default_settings().model_copy(update={"model": "scripted", "tries": 1})
    files = written(tmp_path, moving=MOVING)
    chat, folder = scripted(), tmp_path / "answers"

    def played(setups: side_by_side.SetupSource, live: bool = False) -> SystemComparison:
        return asyncio.run(
            side_by_side.play_side_by_side(files, {"diary": Diary}, setups, live=live)
        )

    first = played(side_by_side.recording_setups(settings, chat, folder, NOW))
    asked = len(chat.requests)
    assert sorted(path.name for path in folder.iterdir()) == ["diary", "souffleur"]
    again = played(side_by_side.recorded_setups(folder))
    assert to_text(again) == to_text(first)
    assert "model seconds per turn" not in again.sides[1].metrics
    assert len(chat.requests) == asked
    written(tmp_path, moving=MOVING.replace("rocket", "ticket"))
    stale = played(side_by_side.recorded_setups(folder))
    command = "python -m bench versus mem0 langmem --record FOLDER --only moving"
    assert stale.sides[0].scripts[0].failure.endswith(f"record it with `{command}`")
    (folder / "diary" / "moving.jsonl").unlink()
    written(tmp_path, moving=MOVING)
    absent = played(side_by_side.recorded_setups(folder))
    assert "There is no recording at" in absent.sides[1].scripts[0].failure
    assert "versus diary --record FOLDER" in absent.sides[1].scripts[0].failure


async def test_near_duplicates_are_counted_once_each() -> None:
    """Three that say the same are two too conversations."""
    embedder = make_embedder("hash:512")
    same = ["Lin likes green tea.", "Lin likes green tea", "Lin likes green tea!"]
    assert await count_near_duplicates([*same, "The train was late."], embedder) == 2
    assert await count_near_duplicates(same[:1], embedder) == 0


def test_a_system_that_is_not_there_is_named() -> None:
    """The error names the system, and the extra that brings it."""
    with pytest.raises(SettingsError, match="no system 'zep' to compare with: mem0, langmem"):
        load_factory("zep")
    for name in ("mem0", "langmem"):
        if find_spec(name) is None:
            with pytest.raises(SettingsError, match=r"pip install -e '.\[versus\]'"):
                load_factory(name)


def inputs(tmp_path: Path, chat: Scripted, **changed: Any) -> SystemInputs:
    (file,) = written(tmp_path, moving=MOVING)
    settings = default_settings().model_copy(update={"tries": 2, "retry_pause": 0, **changed})
    return SystemInputs(read_script(file), settings, chat, make_embedder("hash:64"))


TOOL = {"title": "Memory", "description": "Keep it.", "type": "object", "properties": {}}
RANDOM, OTHER = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679742540de944be07fc1f90ae7"


async def test_tools_are_told_in_words_and_called_in_json(tmp_path: Path) -> None:
    """As a chat model of LangChain's that has them; a random id is the same in every run."""

    def call(request: Request) -> Answer:
        told = request.messages[-1].content.rpartition(" ")[2]
        return {"calls": [{"tool": "Memory", "arguments": {"id": told}}]}

    chat = Scripted(call)
    adapter = LangChainAdapter(inputs(tmp_path, chat), "they")
    said = [SystemMessage("Keep."), HumanMessage(f"It is {RANDOM}")]
    bound = adapter.model.bind_tools([TOOL], tool_choice="any")
    reply = await bound.ainvoke(said)
    assert isinstance(reply, AIMessage)
    (made,) = reply.tool_calls
    assert (made["name"], made["args"], made["id"]) == ("Memory", {"id": RANDOM}, "call_1_0")
    (request,) = chat.requests
    assert (request.name, request.form) == ("they", "json_object")
    assert '"name": "Memory"' in request.messages[0].content
    assert "Call at least one." in request.messages[0].content
    assert RANDOM not in request.messages[1].content
    again = LangChainAdapter(inputs(tmp_path, chat), "they").model.bind_tools(
        [TOOL], tool_choice="any"
    )
    await again.ainvoke([said[0], HumanMessage("It is 7c9e6679-7425-40de-944b-e07fc1f90ae7")])
    assert chat.requests[1] == request
    result = ToolMessage("no such id", tool_call_id="call_1_0")
    await bound.ainvoke([HumanMessage("Go."), reply, result])
    system, _, called, failed = chat.requests[2].messages
    assert system.content.startswith("Answer by calling tools")
    assert json.loads(called.content)["calls"][0]["id"] == "call_1_0"
    assert (failed.role, failed.content) == ("user", "Result of the call call_1_0: no such id")


def test_an_alias_is_of_the_same_shape_and_leads_back() -> None:
    """With hyphens or without; other numbers stay; a list is in the same order in every run."""
    aliases = Aliases()
    hidden = aliases.hide(f"<session_{RANDOM}> {OTHER} 12345678")
    assert RANDOM not in hidden
    assert OTHER not in hidden
    assert hidden.endswith(" 12345678")
    assert [len(word) for word in hidden.split()] == [46, 32, 8]
    assert aliases.reveal(hidden) == f"<session_{RANDOM}> {OTHER} 12345678"
    one_way, other_way = f"('{RANDOM}', '{OTHER}')", f"('{OTHER}', '{RANDOM}')"
    assert aliases.hide(one_way) == aliases.hide(other_way)


async def test_an_answer_without_calls_is_words(tmp_path: Path) -> None:
    """A library sees no call, the check an error; the form is words where the settings say so."""
    chat = Scripted(["I would rather not.", "plain"])
    adapter = LangChainAdapter(inputs(tmp_path, chat, answer_form="text"), "they")
    reply = await adapter.model.bind_tools([TOOL]).ainvoke("Go.")
    assert (reply.text, getattr(reply, "tool_calls", None)) == ("I would rather not.", [])
    with pytest.raises(AnswerError):
        adapter.check()
    assert (await adapter.model.ainvoke("Go.")).text == "plain"
    assert {request.form for request in chat.requests} == {"text"}


async def test_what_a_library_swallows_is_raised_all_the_same(tmp_path: Path) -> None:
    """After as conversations tries as ours makes, where trying again may help."""
    chat = Scripted([EndpointError("busy"), "ok", EndpointError("busy"), EndpointError("down")])
    adapter = LangChainAdapter(inputs(tmp_path, chat), "they")
    assert (await adapter.model.ainvoke("Go.")).text == "ok"
    adapter.check()
    with pytest.raises(EndpointError, match="down"):
        await adapter.model.ainvoke("Go.")
    with pytest.raises(EndpointError, match="down"):
        adapter.check()
    adapter.check()
    wrong = [EndpointError("key", retryable=False), AnswerError("cut"), RecordingError("stale")]
    chat = Scripted(wrong)
    adapter = LangChainAdapter(inputs(tmp_path, chat), "they")
    for error in wrong:
        with pytest.raises(type(error)):
            await adapter.model.ainvoke("Go.")
    assert len(chat.requests) == 3


async def test_the_adapter_serves_other_threads(tmp_path: Path) -> None:
    """Chat and embedder wait for the loop; the vectors are ours."""
    adapter = LangChainAdapter(inputs(tmp_path, Scripted(["ok"])), "they")
    reply = await asyncio.to_thread(adapter.model.invoke, "Go.")
    assert reply.text == "ok"
    rows = await asyncio.to_thread(adapter.embeddings.embed_documents, ["tea", "milk"])
    (tea,) = await make_embedder("hash:64").embed(["tea"])
    assert rows[0] == list(tea)
    assert await asyncio.to_thread(adapter.embeddings.embed_query, "tea") == list(tea)


def needs(package: str) -> pytest.MarkDecorator:
    """Skips where a package is not installed."""
    why = f"{package} is not installed: pip install -e '.[versus]'"
    return pytest.mark.skipif(find_spec(package) is None, reason=why)


def they(body: Body) -> str:
    """An endpoint that judges for all three: the home is updated where that can be done."""
    rules, asked = (str(body["messages"][at]["content"]) for at in (0, -1))
    if "## New Messages" in asked:  # mem0
        new = asked.partition("## New Messages")[2].partition("## Observation Date")[0]
        home = {"id": "0", "text": "Lin lives in Jurong East."}
        return json.dumps({"memory": [home] if "Jurong" in new else []})
    if "You are a memory subroutine" in rules:  # langmem
        if "I moved to Jurong" not in asked.partition("<session_")[2]:
            return '{"calls": []}'
        home_id = rules.partition("<instance id=")[2].partition(" ")[0]
        patch = {"op": "replace", "path": "/content", "value": "Lin lives in Jurong East."}
        patched = {"json_doc_id": home_id, "planned_edits": "the home", "patches": [patch]}
        return json.dumps({"calls": [{"tool": "PatchDoc", "arguments": patched}]})
    messages = tuple(Message(one["role"], one["content"]) for one in body["messages"])
    if "## The exchange to judge" in asked:
        return json.dumps(model(Request(messages, "monitor")))
    return json.dumps(SMALL_TALK)


def commanded(*words: str) -> tuple[int, str, BaseException | None]:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    return result.exit_code, result.output, result.exception


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]) -> Stub:
    """A configured endpoint that judges."""
    serving = stub(say(they))
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", serving.base_url)
    return serving


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    """The options that say where scripts are."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    written(scripts, moving=MOVING)
    return ["--dialogues", str(scripts)]


def test_wrong_options_are_named(options: list[str]) -> None:
    """Two ways at once; no endpoint; a system that is not there."""
    _, _, error = commanded("mem0", *options, "--record", "a", "--recorded", "b")
    assert "give one of them" in str(error)
    _, _, error = commanded("zep", *options)
    assert "no system 'zep'" in str(error)


@needs("mem0")
@needs("langchain")
def test_mem0_adds_beside_what_it_knew(endpoint: Stub, options: list[str], tmp_path: Path) -> None:
    """Known verbatim without a call, dated by the script, its events told; and played back."""
    answers, first = str(tmp_path / "answers"), tmp_path / "first.json"
    code, output, error = commanded("mem0", *options, "--record", answers, "--out", str(first))
    assert (code, error) == (0, None), output
    made = json.loads(first.read_text(encoding="utf-8"))
    played = made["sides"][1]["scripts"][0]
    assert sorted(played["memories"]) == ["Lin lives in Jurong East.", "Lin lives in Woodlands."]
    assert played["steps"][0]["ranked"] == ["Lin lives in Woodlands."]
    assert [op["op"] for op in played["steps"][0]["ops"]] == ["ADD"]
    (call,) = played["steps"][0]["calls"]
    assert "## Observation Date\n2026-03-05\n" in call["asked"]
    assert "Lin lives in Woodlands." in call["asked"]
    assert "The user is called Lin" in call["asked"]
    asked = len(endpoint.requests)
    code, output, error = commanded("mem0", *options, "--recorded", answers, "--json")
    assert (code, error) == (0, None), output
    assert output == first.read_text(encoding="utf-8")
    assert len(endpoint.requests) == asked


@needs("langmem")
def test_langmem_patches_what_it_knew(endpoint: Stub, options: list[str], tmp_path: Path) -> None:
    """Found by its own search, patched by a tool; and played back, whatever its random ids."""
    answers, first = str(tmp_path / "answers"), tmp_path / "first.json"
    code, output, error = commanded("langmem", *options, "--record", answers, "--out", str(first))
    assert (code, error) == (0, None), output
    made = json.loads(first.read_text(encoding="utf-8"))
    played = made["sides"][1]["scripts"][0]
    assert played["memories"] == ["Lin lives in Jurong East."]
    (call,) = played["steps"][1]["calls"]
    assert "2026-03-05, Thursday" in call["asked"]
    assert "user: I moved to Jurong East last week." in call["asked"]
    assert made["sides"][1]["tells_ops"] is False
    asked = len(endpoint.requests)
    code, output, error = commanded("langmem", *options, "--recorded", answers, "--json")
    assert (code, error) == (0, None), output
    assert output == first.read_text(encoding="utf-8")
    assert len(endpoint.requests) == asked


@needs("mem0")
@needs("langmem")
def test_all_three_stand_side_by_side(endpoint: Stub, options: list[str]) -> None:
    """One table; an endpoint that fails is an exit code."""
    code, output, error = commanded("mem0", "langmem", *options)
    assert (code, error) == (0, None), output
    for words in ("souffleur", "mem0 2", "langmem 0", "less mem0", "recall brings", "tell its ops"):
        assert words in output
