"""The page of the report in a browser: as `souffleur report --html` writes it, seen in Chromium."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import Add
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.runs import run_log
from souffleur.knowledge.store.runs.run_log import RunRecord
from souffleur.knowledge.turn import TurnState
from tests.browser import (
    WIDTHS,
    check_contrasts,
    logged,
    needs_browser,
    open_browser,
    requested,
    set_width,
)
from tests.build import days, memory, open_base, turn, verdict

pytestmark = needs_browser
EVIL = """<script>alert(1)</script></style></title>"><img src=x onerror=alert(2)>'&amp;"""
LONG = "https://example.org/" + "averylongaddress" * 12
PLOTS = """
return [...document.querySelectorAll('svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  const bars = [...svg.querySelectorAll('rect')].map(bar => bar.getBoundingClientRect());
  const drawn = bars.filter(bar => bar.height > 0).map(bar => [bar.width, bar.height]);
  const columns = svg.classList.contains('columns');
  return {columns, width: box.width, height: box.height, bars: drawn};
});
"""
"""Of each drawing its size, and those of its bars."""

OUTSIDE = """
return [...document.querySelectorAll('main *')].filter(one => {
  const box = one.getBoundingClientRect();
  const holder = (one.closest('svg') ?? document.documentElement).getBoundingClientRect();
  return box.width && (box.left < holder.left - 1 || box.right > holder.right + 1);
}).map(one => one.outerHTML.slice(0, 99));
"""
"""What reaches out of the screen, or of its drawing."""

OVERLAPS = """
return [...document.querySelectorAll('svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')];
  const boxes = texts.map(one => one.getBoundingClientRect());
  return texts.filter((_, here) => boxes.some((box, there) => there > here &&
    box.left < boxes[here].right && boxes[here].left < box.right &&
    box.top < boxes[here].bottom && boxes[here].top < box.bottom)).map(one => one.textContent);
});
"""
"""Words in a drawing that are set upon others."""

LINES = """
return [...document.querySelectorAll('.rows .short, .rows th')].map(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const tops = new Set([...range.getClientRects()].map(box => box.top));
  return [cell.textContent, tops.size];
});
"""
"""Of short cells the words, and on how many lines they stand."""


async def keep_memories(base: KnowledgeBase, now: datetime) -> None:
    """Memories of every age and worth, three users' words among them that are hard to show."""
    old: dict[str, Any] = {"anchor_at": now - days(120), "created_at": now - days(120)}
    fresh: dict[str, Any] = {"anchor_at": now, "created_at": now, "updated_at": now}
    facts = [
        memory(
            f"Ann saw film number {n} with a friend.",
            importance=0.3 + n % 9 * 0.3,
            kind=list(Kind)[n % len(Kind)],
            **{**fresh, "anchor_at": now - days(n)},
        )
        for n in range(40)
    ]
    plans = [
        memory(f"Ann has exam {n}.", expires_at=now + timedelta(hours=n * 9), **fresh)
        for n in range(1, 30)
    ]
    lyon = memory("安住在里昂，喜欢喝乌龙茶。", **fresh)
    oslo = memory("Ann lives in Oslo.", **fresh)
    odd = [
        lyon,
        oslo,
        memory("Ann plays chess with Tom on Sundays.", **fresh),
        memory("Ann plays chess with Tom on a Sunday.", **fresh),
        memory(EVIL, **fresh),
        memory(EVIL + " ", id=memory("again").id, **fresh),
        memory(f"old {EVIL}", user_id=EVIL, updated_at=now - days(100), **old),
        memory(LONG, category=Category.CORE, updated_at=now - days(100), **old),
        memory("Ann once had a cold.", updated_at=now - days(100), **old),
        memory("Ann used to smoke.", state=MemoryState.SUPERSEDED, **fresh),
    ]
    await put(base, [*facts, *plans, *odd])


async def put(base: KnowledgeBase, memories: list[Memory]) -> None:
    vectors = await base.embedder.embed([one.content for one in memories])
    await base.memories.put([to_point(*both) for both in zip(memories, vectors, strict=True)])


async def keep_the_rest(base: KnowledgeBase, now: datetime) -> None:
    """Turns judged, failed and waiting; ops carried out and refused; runs, one of them failed."""
    for n in range(4):
        base.journal.record(turn("two cups", "ok", turn_id=str(n), at=now - days(2)))
    turns = await base.journal.turns()
    adds = [
        Add(reason=EVIL, quote=quote, content=f"Ann drinks {quote}.")
        for quote in ("two cups", "?!")
    ]
    await base.apply(verdict(*adds, user="two cups", at=now), turns=turns[:1])
    await base.journal.mark(turns[1:2], state=TurnState.FAILED, tries=3, error=EVIL + LONG)
    begun: dict[str, Any] = {"began": now - days(1), "ended": now - days(1) + timedelta(seconds=75)}
    for record in (
        RunRecord(name="decay", counts={"FORGET": 12, "ARCHIVE": 3}, due=15, **begun),
        RunRecord(
            name="review",
            counts={"KEEP": 4, "FAILED": 2},
            due=6,
            errors=(EVIL,),
            **begun | {"calls": 7, "tokens": 9500, "cost": 0.0123},
        ),
        RunRecord(name="consolidate", stopped="it may make 1000 calls", of_user=EVIL, **begun),
    ):
        await run_log.keep(base.journal, record)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written by the real command, in a process of its own."""
    folder = tmp_path_factory.mktemp("report")

    async def fill() -> None:
        base, now = await open_base(folder / "store", dimension=64), datetime.now(UTC)
        await keep_memories(base, now)
        await keep_the_rest(base, now)
        await base.close()

    asyncio.run(fill())
    command = [sys.executable, "-P", "-m", "souffleur", "report", "--html", "page.html"]
    ours = {"SOUFFLEUR_PATH": str(folder / "store"), "SOUFFLEUR_EMBEDDER": "hash:64"}
    subprocess.run(command, cwd=folder, env={**os.environ, **ours}, check=True)
    return folder / "page.html"


@pytest.fixture(scope="module")
def chromium(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser that has opened the page."""
    with open_browser(tmp_path_factory.mktemp("profile"), page) as browser:
        yield browser


@pytest.fixture(params=WIDTHS)
def width(chromium: Chrome, request: pytest.FixtureRequest) -> int:
    """Of the screen the page is now on, in pixels."""
    wide = WIDTHS[request.param]
    set_width(chromium, wide)
    return wide


def test_nothing_is_fetched_or_complained_of(chromium: Chrome, page: Path) -> None:
    """The file itself is all that is asked for, and the console is silent."""
    assert requested(chromium) == {page.as_uri()}
    assert chromium.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert logged(chromium, "browser") == []


def test_what_people_wrote_is_text(chromium: Chrome) -> None:
    """Markup in a memory, a name, an error or a run is shown letter by letter, and not run."""
    shown = chromium.find_element(By.TAG_NAME, "body").text
    assert shown.count(EVIL) >= 7
    assert LONG in shown
    strange = "script, img, iframe, link, object, embed, [onerror], [onload], [href], [src]"
    assert chromium.find_elements(By.CSS_SELECTOR, strange) == []
    assert len(chromium.find_elements(By.TAG_NAME, "style")) == 1
    assert chromium.title == "Souffleur"


def test_every_plot_is_drawn(chromium: Chrome, width: int) -> None:
    """No drawing is empty, and in each the longest bar takes the room there is."""
    plots = chromium.execute_script(PLOTS)
    assert sum(plot["columns"] for plot in plots) == 2
    assert len(plots) >= 20
    for plot in plots:
        assert min(plot["width"], plot["height"]) > 8, plot
        assert plot["bars"], plot
        assert all(min(bar) > 0.5 for bar in plot["bars"]), plot
    histogram, month = (plot for plot in plots if plot["columns"])
    for drawn in (histogram, month):
        assert max(high for _, high in drawn["bars"]) == pytest.approx(140)
    assert max(wide / plot["width"] for plot in plots for wide, _ in plot["bars"]) == 1


def test_nothing_is_wider_than_the_screen(chromium: Chrome, width: int) -> None:
    """It reads without scrolling sideways; no word or label is cut off or set upon another."""
    assert chromium.execute_script("return innerWidth") == width
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    assert chromium.execute_script(OUTSIDE) == []
    assert chromium.execute_script(OVERLAPS) == []


def test_short_cells_stay_on_one_line(chromium: Chrome, width: int) -> None:
    """A time or a number is not broken in two, nor the head of a column."""
    lines = dict(chromium.execute_script(LINES))
    assert len(lines) >= 7
    assert {text for text, many in lines.items() if many > 1} == set()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_by_day_and_night(chromium: Chrome, scheme: str) -> None:
    """All text stands out from its ground by 4.5 to 1, bars by 3 to 1 (WCAG 2.2, 1.4.3, 1.4.11)."""
    check_contrasts(chromium, scheme)


def test_it_has_an_order(chromium: Chrome) -> None:
    """There is one top heading, no level is skipped; drawings and tables have labels."""
    headings = chromium.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4, h5, h6")
    levels = [int(one.tag_name[1]) for one in headings]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(later <= former + 1 for former, later in pairwise(levels))
    assert all(one.text for one in headings)
    assert "Runs" in [one.text for one in headings]
    assert chromium.execute_script("return document.documentElement.lang") == "en"
    assert chromium.find_element(By.CSS_SELECTOR, "body > :only-child").aria_role == "main"
    for drawing in chromium.find_elements(By.CSS_SELECTOR, "svg:not([aria-hidden])"):
        assert (drawing.aria_role, bool(drawing.accessible_name)) == ("image", True)


def test_tables_stay_tables(chromium: Chrome, width: int) -> None:
    """On a phone each row is a card, and to a screen reader still a row of cells."""
    for path, role in ((".rows", "table"), (".rows tbody tr", "row"), (".rows td", "cell")):
        assert chromium.find_element(By.CSS_SELECTOR, path).aria_role == role
    cell = chromium.find_element(By.CSS_SELECTOR, ".rows td")
    assert (cell.value_of_css_property("display") == "block") is (width == 400)


def test_memories_open_to_their_history(chromium: Chrome, width: int) -> None:
    """Opened, each tells its words and its ledger, fits the screen, and runs nothing."""
    toggle = "document.querySelectorAll('.memory').forEach(one => one.open = arguments[0])"
    chromium.execute_script(toggle, True)
    shown = [one.text for one in chromium.find_elements(By.CSS_SELECTOR, ".memory")]
    assert len(shown) == 80
    (tea,) = (text for text in shown if "Ann drinks two cups." in text.splitlines()[0])
    assert "user “two cups”" in tea
    assert f"ADD by monitor: {EVIL}" in tea
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    assert chromium.execute_script(OUTSIDE) == []
    assert chromium.find_elements(By.CSS_SELECTOR, "script, img, [onerror]") == []
    chromium.execute_script(toggle, False)


def test_a_plot_is_told_by_keyboard(chromium: Chrome) -> None:
    """Tab goes from one drawing to the next, then to memories; Enter opens a memory."""
    details = chromium.find_elements(By.TAG_NAME, "details")[:4]
    reached = []
    for _ in details:
        ActionChains(chromium).send_keys(Keys.TAB).perform()
        reached.append(chromium.switch_to.active_element)
        assert (
            chromium.execute_script(
                "return getComputedStyle(arguments[0]).outlineStyle", reached[-1]
            )
            != "none"
        )
        ActionChains(chromium).send_keys(Keys.ENTER).perform()
    assert reached == chromium.find_elements(By.TAG_NAME, "summary")[:4]
    lines = [one.text.splitlines()[1:] for one in details]
    assert sum(int(line.rpartition(": ")[2]) for line in lines[0]) == 79
    assert all("24 hours from" in line for line in lines[1])
    assert len(lines[1]) > 9
    assert all("Learnt" in line for line in (lines[2][0], lines[3][0]))
