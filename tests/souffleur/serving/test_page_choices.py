"""What a person decides on their page: preferences, answers, a topic to forget, files."""

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from souffleur.knowledge.operation import Delete, Update
from tests.browser import needs_browser, open_browser
from tests.build import memory as a_memory, verdict
from tests.page_scene import Page, Scene, opened, put

pytestmark = needs_browser
ANN: dict[str, Any] = {"user_id": "ann"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("choices")) as found:
        yield found


@pytest.fixture(scope="module")
def page(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("profile"), scene.url) as browser:
        yield Page(browser, scene.url)


def test_each_preference_is_a_switch(page: Page, scene: Scene) -> None:
    """Memory off, ask first, references and incognito are stored, and told where it matters."""
    page.show(scene.secrets["ann"], "settings")
    for name in ("Ask me first", "Show what a reply rests on", "Incognito", "Memory"):
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
    page.see("[role=alert]", "Answer all 2 alike?")
    assert len(scene.call(scene.memory.proposals(**ANN))) == 2
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.see("p", "Nothing waits")
    left = [one.content for one in scene.call(scene.memory.list(**ANN))]
    assert not [one for one in left if "Rome" in one]
