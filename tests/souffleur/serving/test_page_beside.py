"""The page while something happens beside it: another window, a lost connection, another token."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.browser import needs_browser, open_browser
from tests.page_scene import Page, Scene, opened

pytestmark = needs_browser
FOCUSED = """
const one = document.activeElement;
return [one.textContent, one.closest("[data-id]")?.querySelector(".words").textContent];
"""
"""What has the focus, and the words of its card."""
HOLD = """
const [words, name] = arguments;
const card = [...document.querySelectorAll(".card")].find(one => one.textContent.includes(words));
[...card.querySelectorAll("button")].find(one => one.textContent === name).focus();
"""
"""Leads the focus to a button of the card with these words."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("page")) as found:
        yield found


@pytest.fixture(scope="module")
def page(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("profile"), scene.url) as browser:
        yield Page(browser, scene.url)


def test_the_focus_stays_in_its_card(page: Page, scene: Scene) -> None:
    """A card that comes before it leaves the focus on the same button of the same memory."""
    for told in ("Ann keeps bees.", "Ann paints barns."):
        scene.call(scene.memory.remember(told, user_id="ann"))
    page.show(scene.secrets["ann"], "portrait")
    page.see(".cards", "Ann keeps bees.")
    scene.call(asyncio.sleep(0.3))
    page.browser.execute_script(HOLD, "Ann keeps bees.", "Forget")
    scene.call(scene.memory.remember("Ann sails on lakes.", user_id="ann"))
    page.see(".cards", "Ann sails on lakes.")
    held = page.browser.execute_script(FOCUSED)
    assert held == ["Forget", "Ann keeps bees."]
