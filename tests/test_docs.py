"""README and docs: examples run, links lead somewhere, figures and tables are current."""

import json
import re
import shlex
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from fastapi.routing import APIRoute
from typer.main import get_command

from souffleur import Souffleur
from souffleur.cli import app
from souffleur.evals.script import Expectation, read_script
from souffleur.integrations.mem0 import routes as mem0
from souffleur.knowledge.operation import Refusal
from souffleur.knowledge.policy import COMPANION
from souffleur.server.app import ROUTERS
from souffleur.service.jobs import HOUR, RUNS, WEEK
from souffleur.settings import all_fields, load_settings, variable_of
from tests import reference_pages
from tests.souffleur.integrations.langchain.agents import scripted
from tests.stub import Stub, say

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + DOCS
README = PAGES[0].read_text(encoding="utf-8")

JUDGED = '{"reason": "talk", "ops": [], "action": "UNKNOWN"}'
"""What the model of the examples says, as a judge and as the one that looks something up."""
OTHER_VARIABLES = {
    "SOUFFLEUR_USER",
    "SOUFFLEUR_TEST_QDRANT_URL",
    "SOUFFLEUR_TEST_MEM_ZERO",
}
"""Variables that are no settings: of commands, and of the tests."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def fenced(page: Path, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


class Host:
    """What the examples take for granted: a companion, its model, and messages that come in."""

    def __init__(self, memory: Souffleur) -> None:
        self.memory = memory
        self.asked: list[str] = []
        self.sent: list[str] = []

    def names(self) -> dict[str, Any]:
        """Return the names that an example may use."""
        return {
            "memory": self.memory,
            "message": "I like tea",
            "history": [{"role": "user", "content": "I like tea"}],
            "persona": "You are Mo.",
            "my_model": self._reply,
            "my_chat_model": scripted("Noted."),
            "send": self._send,
            "users_by_token": {},
        }

    async def play(self, code: str) -> None:
        """Run an example, and call the functions that it defines as a host would."""
        names = self.names()
        body = textwrap.indent(f"{code}\nreturn locals()", "    ")
        exec(f"async def example():\n{body}", names)
        made = await names["example"]()
        if "talk" in made:
            await made["talk"](self._messages())
        if "lifespan" in made:
            companion = SimpleNamespace(state=SimpleNamespace())
            async with made["lifespan"](companion):
                await made["answer"](companion, "u1", "s1", "I like tea")

    async def _reply(self, system: str, user: str) -> str:
        self.asked.append(system)
        return f"{user}? Noted."

    async def _send(self, reply: str) -> None:
        self.sent.append(reply)

    async def _messages(self) -> AsyncIterator[str]:
        yield "I like tea"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if fenced(page, "python")], ids=lambda page: page.name
)
async def test_python_examples_run(
    page: Path, tmp_path: Path, stub: Callable[..., Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pasted into a companion whose judge skips everything, each example does its work."""
    monkeypatch.setenv("SOUFFLEUR_PATH", str(tmp_path / "own"))
    monkeypatch.setenv("SOUFFLEUR_EMBEDDER", "hash:64")
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(JUDGED)).base_url)
    monkeypatch.chdir(tmp_path)  # an example may write a file
    async with Souffleur.open(path=tmp_path / "shared") as memory:
        host = Host(memory)
        for code in fenced(page, "python"):
            await host.play(code)
    assert set(host.asked) <= {"You are Mo."}
    if page.name != "README.md":
        return
    assert host.sent == ["I like tea? Noted."]
    async with Souffleur.open() as memory:
        (turn,) = await memory.knowledge.journal.turns()
        assert (turn.user, turn.assistant) == ("I like tea", "I like tea? Noted.")


def shell_lines(page: Path) -> Iterator[list[str]]:
    """Yield the words of each simple command in the shell blocks of a page."""
    for block in fenced(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words: list[str] = []
            for word in [*shlex.split(line, comments=True), "|"]:
                if word not in ("|", "&&", ";", "&"):
                    words.append(word)
                elif words:
                    yield words
                    words = []


def quoted_commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command of ours in the text of a page, unless it is abbreviated."""
    text = re.sub("```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for line in re.findall(r"`(souffleur [^`]+)`", text.partition(reference_pages.MARK)[0]):
        if "…" not in line:
            yield shlex.split(line)


def parse(words: list[str]) -> None:
    """Parse a command line of ours. Raises the usage error that a terminal would show."""
    command: Any = get_command(app)
    path, rest = words[0], words[1:]
    while hasattr(command, "list_commands") and rest and not rest[0].startswith("-"):
        path, rest = f"{path} {rest[0]}", rest[1:]
        command = command.get_command(None, path.split()[-1])
        assert command, f"there is no command `{path}`"
    if rest:
        command.make_context(path, rest)


@every_page
def test_command_lines_parse(page: Path) -> None:
    """Each command, option and make target that a page shows is there."""
    targets = set(re.findall("^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for words in [*shell_lines(page), *quoted_commands(page)]:
        while words and re.match("[A-Z_]+=", words[0]):
            words = words[1:]
        if words[:1] == ["souffleur"]:
            parse(words)
        elif words[:1] == ["make"]:
            assert set(words[1:]) <= targets, words


def test_the_page_of_commands_names_each_one() -> None:
    """Each command of the terminal is in docs/commands.md, by its whole name."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in command_names(get_command(app)) if f"`{name}" not in page] == []


def command_names(group: Any, path: str = "") -> Iterator[str]:
    """Yield the name of each command, with the names of the groups before it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from command_names(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


@every_page
def test_exports_are_settings(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `export` line of a page is valid, and one that names a model configures it."""
    for words in shell_lines(page):
        if words[0] != "export":
            continue
        with monkeypatch.context() as here:
            for name, value in (word.split("=", 1) for word in words[1:]):
                here.setenv(name, value)
            settings = load_settings()
            if len(words) > 2:
                assert settings.has_model, words


@every_page
def test_variables_exist(page: Path) -> None:
    """Each variable that a page names is a setting."""
    named = set(re.findall("SOUFFLEUR_[A-Z][A-Z_]+", page.read_text(encoding="utf-8")))
    known = {variable_of(name) for name in all_fields()} | OTHER_VARIABLES
    assert named <= known


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    """Each link within the repository leads to a file, and to a heading if it names one."""
    text = re.sub("```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if target.startswith(("http:", "https:")):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall("^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_the_index_names_every_page() -> None:
    """Each page of docs is in its index, and the README leads there."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in DOCS:
        if page.name != "README.md":
            assert f"]({page.name})" in index
    assert "](docs/README.md)" in README


def test_the_readme_is_short() -> None:
    """It is a screen and a half: what does not fit has its page in docs."""
    assert len(README.splitlines()) <= 115


@pytest.mark.parametrize("page", reference_pages.PAGES)
def test_generated_tables_are_current(page: str) -> None:
    """`make docs` would change nothing."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert text == reference_pages.current(page), "run `make docs`"


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/front-ends.md", "docs/running.md", "docs/measure.md", "bench/README.md"],
)
def test_what_a_turn_costs_is_one_number(page: str) -> None:
    """Each page that says what a turn costs has the tokens of evals/baseline.json."""
    kept = json.loads((ROOT / "evals" / "baseline.json").read_text())["runs"][0]["metrics"]
    into, out = (kept[f"tokens {way} per turn"]["value"] for way in ("in", "out"))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(rf"{into:,.0f}(?: tokens in)? and {out:.0f}\b", text)


@pytest.mark.parametrize("page", ["docs/measure.md"])
def test_figures_are_those_of_the_kept_result(page: str) -> None:
    """Precision, recall, errors and cost are those of evals/baseline.json, rounded."""
    kept = json.loads((ROOT / "evals" / "baseline.json").read_text())["runs"][0]["metrics"]
    value = {name: one["value"] for name, one in kept.items()}
    text = (ROOT / page).read_text(encoding="utf-8")
    ops = ("ADD", "UPDATE", "BOOST", "DELETE", "SKIP")
    for rate in ("precision", "recall"):
        row = " | ".join(f"{value[f'{op} {rate}']:.3f}" for op in ops)
        assert f"| {rate} | {row} |" in text
    calls, into, out = (value[f"{what} per turn"] for what in ("calls", "tokens in", "tokens out"))
    assert re.search(f"{calls:.1f} calls, {into:,.0f} tokens in(,| and) {out:.0f} out", text)
    assert counted(text, value) == {"invented", "wrong deletes", "breaches", "noise", "duplicates"}


def counted(text: str, value: dict[str, float]) -> set[str]:
    """Check the numbers of a table that is laid out in rows or columns; return the errors in it."""
    names = ("invented", "wrong deletes", "breaches", "noise", "duplicates")
    tables = re.findall(r"^\| (invented .*?) \|\n\|[-|]+\|\n\| (.*?) \|$", text, re.M)
    across = [
        pair
        for head, row in tables
        for pair in zip(head.split(" | "), row.split(" | "), strict=True)
    ]
    down = re.findall(r"^\| ([a-z ]+) \| ([\d.]+) \|", text, re.M)
    found = set()
    for name, number in [*across, *down]:
        for known in (one for one in names if name.startswith(one)):
            assert float(number) == value[known], name
            found.add(known)
    for name, number in down:
        if name in value:
            assert number in (f"{value[name]:.3f}", f"{value[name]:.0f}"), name
    return found


def test_the_table_of_routes_is_whole() -> None:
    """Each route of the server, but mem0's, has its method and path in a row of docs/running.md."""
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    rows = [_unnamed(row) for row in page.splitlines() if row.startswith("|")]
    routes = [
        (method, _unnamed(route.path))
        for router in ROUTERS
        if router is not mem0.router
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]
    assert len(routes) > 50
    assert [
        (method, path)
        for method, path in routes
        if not any(method in row and _is_named(path, row) for row in rows)
    ] == []


def _unnamed(path: str) -> str:
    """Return paths without the names of their parameters, and without a query."""
    return re.sub(r"\?\w+=…", "", re.sub(r"\{\w+\}", "{}", path))


def _is_named(path: str, row: str) -> bool:
    """Return whether a row has a path, or its end behind an ellipsis."""
    return f"{path}`" in row or f"…/{path.rpartition('/')[2]}`" in row


def test_refusals_and_runs_are_all_explained() -> None:
    """docs/memory.md names each reason to refuse an op, and each run with its cadence."""
    memory = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    assert {str(one) for one in Refusal} <= set(re.findall("`([a-z_]+)`", memory))
    rows = dict(re.findall(r"^\| `([a-z]+)` \| .* \| (hourly|daily|weekly) \|$", memory, re.M))
    told = {HOUR: "hourly", timedelta(days=1): "daily", WEEK: "weekly"}
    cadences = {name: told[run.every] for name, run in RUNS.items()}
    assert rows == cadences


@pytest.mark.parametrize("category", ["fact", "skill", "episode"])
def test_rates_of_decay_are_those_of_the_policy(category: str) -> None:
    """The table of docs/memory.md has the numbers of the policy `companion`."""
    page, rule = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8"), COMPANION.rule(category)
    (row,) = re.findall(rf"^\| `{category}`.*$", page, re.M)
    assert f"| {rule.grace_days:g} days | x {rule.rate:g} | {rule.review_below or '-'} |" in row
    end = f"below {rule.forget_below:g}" if rule.forget_below else f"after {rule.at_most_days:g}"
    assert end in row


def test_the_map_names_every_folder() -> None:
    """docs/map.md has each folder with code."""
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    for top in ("souffleur", "agents", "knowledge", "evals", "bench"):
        for init in (ROOT / top).rglob("__init__.py"):
            if not any(parent.is_symlink() for parent in init.parents):
                assert f"{init.parent.name}/" in page


def test_the_script_on_the_page_can_be_played(tmp_path: Path) -> None:
    """The example of docs/measure.md is a whole script, and its page names each list and field."""
    page = ROOT / "docs" / "measure.md"
    (text,) = fenced(page, "yaml")
    (tmp_path / "example.yaml").write_text(text, encoding="utf-8")
    assert read_script(tmp_path / "example.yaml").end.holds
    named = set(re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.M))
    assert named == {"expect", "may", "never", *Expectation.model_fields}


def test_the_map_names_what_is_there() -> None:
    """Each path of docs/map.md exists."""
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    folders = "agents|bench|evals|knowledge|prompts|souffleur|tests"
    named = re.findall(rf"`((?:{folders})/[\w./]*)`", page)
    assert len(named) > 50
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_picture_needs_nothing_else() -> None:
    """It is XML with a title, loads and runs nothing, and has colours for light and dark."""
    text = (ROOT / "docs" / "turn.svg").read_text(encoding="utf-8")
    drawn = list(ElementTree.fromstring(text).iter())
    assert drawn[1].tag.endswith("title")
    assert not {one.tag.rpartition("}")[2] for one in drawn} & {"script", "image", "foreignObject"}
    assert not [name for one in drawn for name in one.attrib if "href" in name or name[:2] == "on"]
    assert "@media (prefers-color-scheme: dark)" in text
    assert "url(http" not in text
