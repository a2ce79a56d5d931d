"""The page of results in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from souffleur.evals.page import to_html
from souffleur.evals.result import ResultFile
from tests.browser import (
    WIDTHS,
    check_contrasts,
    logged,
    needs_browser,
    open_browser,
    requested,
    set_width,
)
from tests.evals.test_eval_page import NASTY, played, run

pytestmark = needs_browser

BROKEN = """
return [...document.querySelectorAll('.wide th, .wide td')].flatMap(cell => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
  while (walker.nextNode()) {
    for (const word of walker.currentNode.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(word[0]);
    }
  }
  return broken;
});
"""
"""Words in tables that go on in the next line."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models side by side, one of which says markup."""
    other = run("qwen-<y>", scripts=(played(NASTY),))
    file = tmp_path_factory.mktemp("evals") / "page.html"
    file.write_text(to_html(ResultFile(runs=(run(), other))), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def chromium(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser that has opened the page."""
    with open_browser(tmp_path_factory.mktemp("profile"), page) as browser:
        yield browser


def test_nothing_is_fetched_or_complained_of(chromium: Chrome, page: Path) -> None:
    """The file itself is all that is asked for, and the console is silent."""
    assert requested(chromium) == {page.as_uri()}
    assert logged(chromium, "browser") == []


def test_what_was_said_is_text(chromium: Chrome) -> None:
    """Markup is shown letter by letter."""
    assert "<script>alert('x')</script> &" in chromium.find_element(By.TAG_NAME, "body").text
    assert chromium.find_elements(By.CSS_SELECTOR, "script, img, [src], [onload]") == []


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_tables_break_no_word(chromium: Chrome, width: int) -> None:
    """A table that has no room is scrolled in its frame; the page is not."""
    set_width(chromium, width)
    opened = "document.querySelectorAll('details.all').forEach(one => one.open = true)"
    chromium.execute_script(opened)
    assert chromium.find_element(By.CSS_SELECTOR, "details.all td").is_displayed()
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    assert chromium.execute_script(BROKEN) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_by_day_and_night(chromium: Chrome, scheme: str) -> None:
    """All text stands out from its ground, and so do bars."""
    check_contrasts(chromium, scheme)
