"""What a person decides on their page: preferences, answers, a topic to forget, files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from souffleur.errors import NotFoundError
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import Delete, Update
from tests.browser import needs_browser
from tests.build import memory as a_memory, verdict
from tests.page_scene import Page, Scene, opened, put

pytestmark = needs_browser
ANN: dict[str, Any] = {"user_id": "ann"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("choices")) as found:
        yield found


def test_each_preference_is_a_switch(page: Page, scene: Scene) -> None:
    """Memory off, ask first, references and incognito are stored, and told where it matters."""
    page.show(scene.secrets["ann"], "settings")
    for name in ("Ask me first", "Show what a reply is based on", "Incognito", "Memory"):
        page.press(".wish label", name)
        page.see(".notice", "Saved.")
        page.press(".notice button", "×")

    def kept() -> tuple[bool | None, ...]:
        found = scene.call(scene.memory.preferences(**ANN))
        return found.memory, found.auto_extract, found.show_references, found.incognito

    page.until(lambda: kept() == (False, False, True, True))
    page.go("portrait")
    page.see(".told", "The memory is off")
    page.press(".told button", "Turn it on")
    page.see(".told", "Incognito")
    assert kept() == (True, False, True, True)
    scene.call(scene.memory.set_preferences(**ANN, auto_extract=True, incognito=False))


def test_what_waits_is_answered(page: Page, scene: Scene) -> None:
    """A new memory is reworded and confirmed, a change declined; the menu counts what waits."""
    told = a_memory("Ann rides a bike.")
    scene.call(put(scene.memory, [told]))
    page.show(scene.secrets["ann"], "portrait")
    assert page.all("nav a[href='#/asked']") == []
    scene.call(scene.memory.set_preferences(**ANN, auto_extract=False))
    quote = {"reason": "it was said", "quote": "I sold the bike"}
    change = Update(target=told.id, content="Ann has no bike.", **quote)
    scene.call(scene.memory.knowledge.apply(verdict(change, user="I sold the bike")))
    scene.say("ann", "I play the oboe")
    page.see(".notice", "Shall I remember this? Ann plays the oboe.")
    page.see("nav .badge", "2")
    page.see(".told", "2 changes wait for your answer")
    page.press(".notice button", "View")
    page.see(".question", "Ann rides a bike.")
    page.press(".question button", "Edit")
    area = page.see("textarea")
    area.clear()
    area.send_keys("Ann plays the oboe well.")
    page.press("form.editing button", "Save")
    page.see(".question .words", "Ann plays the oboe well.")
    asked = [one.text for one in page.all(".question h2 span")]
    place = asked.index("Shall I remember this?") + 1
    page.press(f".question:nth-child({place}) button", "Yes")
    page.until(lambda: len(page.all(".question")) == 1)
    page.press(".question button", "No")
    page.see("[role=alert]", "Leave it as it is?")
    page.press(".question button", "Yes, do it")
    page.see("p", "Nothing waits")
    kept = [one.content for one in scene.call(scene.memory.list(**ANN))]
    assert {"Ann plays the oboe well.", "Ann rides a bike."} <= set(kept)
    assert "Ann has no bike." not in kept


def test_all_are_answered_at_once(page: Page, scene: Scene) -> None:
    """Only who says so a second time, by the keyboard as well, answers all; then nothing waits."""
    told = [a_memory(f"Ann met Bo in Rome {n} times.") for n in (1, 2)]
    scene.call(put(scene.memory, told))
    scene.call(scene.memory.set_preferences(**ANN, auto_extract=False))
    for one in told:
        gone = Delete(target=one.id, reason="it was said", quote="never in Rome")
        asked = verdict(gone, user="I was never in Rome", name=one.id)
        scene.call(scene.memory.knowledge.apply(asked))
    page.show(scene.secrets["ann"], "asked")
    page.see("button", "Yes to all").send_keys(Keys.ENTER)
    page.see("[role=alert]", "Give all 2 the same answer?")
    assert len(scene.call(scene.memory.proposals(**ANN))) == 2
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.see("p", "Nothing waits")
    left = [one.content for one in scene.call(scene.memory.list(**ANN))]
    assert not [one for one in left if "Rome" in one]


def test_a_topic_is_forgotten(page: Page, scene: Scene) -> None:
    """What tells of it is shown and nothing goes; then what is left chosen goes, for good."""

    def known() -> str:
        found = scene.call(scene.memory.list(**ANN, state=None))
        return "\n".join(one.content for one in found)

    told = [a_memory("Bo moved to Oslo."), a_memory("Ann sends Bo tea.", entities=("Oslo",))]
    scene.call(put(scene.memory, told))
    page.show(scene.secrets["ann"], "topic")
    page.see("input").send_keys("Oslo", Keys.ENTER)
    page.see(".trace", "Bo moved to Oslo.")
    page.press(".trace label", "Ann sends Bo tea.")
    page.press("button", "for good")
    page.see("[role=alert]", "cannot be undone")
    assert "Oslo" in known()
    page.press("button", "Yes, do it")
    page.see(".found", "Forgotten for good")
    assert "Oslo" not in page.text
    assert "Bo moved" not in known()
    assert "Ann sends Bo tea." in known()


def test_a_memory_is_erased_for_good(page: Page, scene: Scene) -> None:
    """What was forgotten can be erased; then it can be restored no more."""
    boat = a_memory("Ann has a boat.", state=MemoryState.FORGOTTEN)
    scene.call(put(scene.memory, [boat]))
    page.show(scene.secrets["ann"], f"memory/{boat.id}")
    page.press(".buttons button", "Erase for good")
    page.press(".buttons button", "Yes, do it")
    page.see(".notice", "Erased for good.")
    with pytest.raises(NotFoundError):
        scene.call(scene.memory.get(boat.id, **ANN))


def test_files_go_out_and_come_in(page: Page, scene: Scene, tmp_path: Path) -> None:
    """The download is an export of this user; a file of mem0 is counted before it is taken."""
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    page.show(scene.secrets["ann"], "settings")
    page.press("button", "Download everything")
    page.until(lambda: bool(list(tmp_path.glob("*.jsonl"))))
    head, *lines = next(tmp_path.glob("*.jsonl")).read_text("utf-8").splitlines()
    assert json.loads(head)["user_id"] == "ann"
    assert "oolong" in "".join(lines)
    assert "cello" not in "".join(lines)
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"id": "1", "memory": "Ann skates."}]), "utf-8")
    page.see("input[type=file]").send_keys(str(file))
    page.see("p", "One record would be new")
    assert "Ann skates." not in str(scene.call(scene.memory.list(**ANN)))
    page.press("button", "Import them")
    page.see("p", "One record was imported.")
    assert "Ann skates." in str(scene.call(scene.memory.list(**ANN)))


def test_a_chat_is_counted_and_taken(page: Page, scene: Scene, tmp_path: Path) -> None:
    """Turns, calls and what is left out are told first; then the turns are there, to be judged."""
    file = tmp_path / "talk.json"
    said = [("assistant", "Hello!"), ("user", "I play the oboe"), ("assistant", "Lovely.")]
    lines = [{"role": role, "content": words} for role, words in [*said, ("cat", "Meow.")]]
    file.write_text(json.dumps(lines), "utf-8")
    page.show(scene.secrets["ben"], "settings")
    page.see("input[type=file]").send_keys(str(file))
    page.see("p", "One record would be new")
    page.see("p", "calls of the model and")
    page.press("summary", "What is left out")
    page.see("details li", "before the user says anything: 1")
    page.see("details li", "message 3: 'cat' is no role")
    assert scene.call(scene.memory.knowledge.journal.turns(user_id="ben")) == []
    page.press("button", "Import them")
    page.see("p", "One record was imported.")
    (turn,) = scene.call(scene.memory.knowledge.journal.turns(user_id="ben"))
    assert turn.user == "I play the oboe"
