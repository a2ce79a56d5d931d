"""The person's own page in Chromium: what it shows, what can be done on it, and by whom."""

import asyncio
import inspect
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from souffleur.knowledge.forgetting import topic
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import ActorKind, Op, Refusal
from souffleur.knowledge.store.runs import run_log
from souffleur.server.tokens import Role
from souffleur.service.jobs import RUNS
from souffleur.service.run import RunOptions
from tests.browser import logged, needs_browser, set_width
from tests.build import NOW, memory as a_memory
from tests.page_scene import EVIL, Page, Scene, opened, put

pytestmark = needs_browser
AXE = Path(os.environ.get("SOUFFLEUR_TEST_AXE", "node_modules/axe-core/axe.min.js"))
MANY = int(os.environ.get("SOUFFLEUR_TEST_MANY", "2000"))
VIEWS = (
    *("portrait", "memories", "memory", "names", "days", "why"),
    *("asked", "topic", "figures", "settings"),
)
POINT = """
const one = document.querySelector(`.picture [data-name="${arguments[0]}"]`);
one.dispatchEvent(new MouseEvent("click"));
"""
"""Presses a name in the picture."""
SPOKEN = "return document.documentElement.lang"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("page"), many=MANY) as found:
        yield found


def test_the_portrait_comes_first(page: Page, scene: Scene) -> None:
    """After the token: name, portrait, latest memories; little is sent, and soon."""
    page.browser.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    page.enter(scene.secrets["ann"])
    page.see(".narrative", "Ann draws at night.")
    assert page.see("h1").text == "Ann"
    assert "Illustrator" in page.text
    sent = page.browser.execute_script(
        "return performance.getEntries().filter(one => one.encodedBodySize)"
        ".map(one => [one.name, one.encodedBodySize])"
    )
    assert 10_000 < sum(size for _, size in sent) < 100_000, sent
    assert {name.split("/")[2] for name, _ in sent} == {scene.url.split("/")[2]}


def test_hostile_words_stay_words(page: Page, scene: Scene) -> None:
    """Markup in a memory, a talk or an episode is shown letter by letter; nothing runs."""
    page.show(scene.secrets["ann"], "portrait")
    for view in ("portrait", "memories", "names", "days", "why"):
        page.go(view)
        page.see("main", EVIL)
        assert page.all("main img, main script, main b:not(.over b), a[href^=javascript]") == []
    lines = [one["message"] for one in logged(page.browser, "browser")]
    assert [one for one in lines if "401 (Unauthorized)" not in one] == []  # before the token


def test_delete_undo_edit_confirm_pin_restore(page: Page, scene: Scene) -> None:
    """Each is done with a press, told, and found in the store and in the life of the memory."""
    page.show(scene.secrets["ann"], "portrait")
    now = scene.memory.clock()
    bike = a_memory("Ann has a bike.", anchor_at=now, created_at=now, updated_at=now)
    scene.call(put(scene.memory, [bike]))
    id = bike.id

    def kept() -> Memory:
        return scene.call(scene.memory.get(id, user_id="ann"))

    page.go(f"memory/{id}")
    page.press(".buttons button", "Forget")
    page.see(".buttons button", "Restore")
    page.press(".notice button", "Undo")
    page.press(".buttons button", "Forget")
    page.press(".buttons button", "Restore")
    page.press(".buttons button", "Correct")
    page.until(lambda: kept().verified)
    page.press(".buttons button", "Edit")
    area = page.see("textarea")
    area.clear()
    area.send_keys("Ann has a red bike.")
    page.press("form.editing button", "Save")
    page.see("h1", "Ann has a red bike.")
    page.press(".buttons button", "Pin")
    page.until(lambda: kept().category is Category.CORE)
    page.until(
        lambda: all(one in page.text for one in ("Now always in mind", "Edited by you", "Restored"))
    )
    page.press(".life li:last-child button", "Undo")
    page.until(lambda: kept().category is Category.FACT)


def test_what_it_rests_on_opens(page: Page, scene: Scene) -> None:
    """The quote leads to the turn in which it was said."""
    page.show(scene.secrets["ann"], "portrait")
    hers = scene.call(scene.memory.list(user_id="ann"))
    asked = next(one for one in hers if "asked for tea" in one.content)
    page.go(f"memory/{asked.id}")
    page.see("blockquote", "Which tea tonight?")
    page.press("button", "Open the talk")
    page.see(".here .reply", "An oolong, as you like it.")


def test_why_did_you_say_that(page: Page, scene: Scene) -> None:
    """Below a reply stands what was whispered before it, and why."""
    page.show(scene.secrets["ann"], "why")
    page.press(".reply-of button", "Why did you say that?")
    page.see(".because", "About what you said · 1")
    page.see(".because .words", "oolong tea")


def test_names_and_what_joins_them(page: Page, scene: Scene) -> None:
    """A name, pressed in the list or the picture, shows its memories and what it goes with."""
    page.show(scene.secrets["ann"], "names")
    page.press(".list-of-names button", "Mei")
    page.see(".chosen .words", "Mei works at the Uji mill.")
    page.press(".goes button", "Kyoto")
    page.see(".chosen h2", "Kyoto")
    assert page.see("[aria-pressed=true]").text == "Kyoto 2"
    page.until(lambda: len(page.all(".picture .name")) == 7)
    page.browser.execute_script(POINT, "Rex")
    page.see(".chosen .words", "Ann walks Rex on Sundays.")
    assert len(page.all(".picture .tie.open")) == 1


def test_figures(page: Page, scene: Scene) -> None:
    """What is due next, how strong memories are, what was decided, and the runs are shown."""
    scene.call(scene.memory.run("decay", RunOptions(scene.memory.clock(), "ann")))
    page.show(scene.secrets["ann"], "figures")
    page.see(".due li", "may become permanent")
    assert "Mei" in page.text
    bars = page.see(".bars").accessible_name
    assert bars.startswith("Due in the next 30 days – in 0 days: 0,")
    assert "Remembered" in page.text
    assert "Mia" not in page.text
    page.show(scene.tokens.make(Role.USER, "cy", now=NOW), "figures")
    page.see("section", "How strong memories are now\nNone yet.")
    assert not page.all(".bars")


def test_search_and_filters(page: Page, scene: Scene) -> None:
    """A text, a kind and a state leave what fits; a slash leads to the search from anywhere."""
    page.show(scene.secrets["ann"], "portrait")
    page.see("body").send_keys("/")
    page.see("input[type=search]")
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("type") == "search")
    page.see("input[type=search]").send_keys("sister")
    page.until(
        lambda: (
            [one.text for one in page.all(".window .words")] == ["Ann's sister Mei lives in Kyoto."]
        )
    )
    page.see("input[type=search]").clear()
    page.see("input[type=search]").send_keys("x", Keys.BACKSPACE)
    page.press("button.fold", "Filters")
    Select(page.see("select[aria-label=Kind]")).select_by_value("preference")
    page.until(lambda: page.words() == [EVIL])
    Select(page.see("select[aria-label=Kind]")).select_by_value("")
    Select(page.see("select[aria-label=State]")).select_by_value("forgotten")
    page.until(lambda: page.all(".window .card:not(.forgotten)") == [])
    Select(page.see("select[aria-label=State]")).select_by_value("active")


def test_an_empty_list_leads_back_to_all(page: Page, scene: Scene) -> None:
    """Where nothing fits, a press shows everything again; where nothing is known, that is said."""
    page.show(scene.secrets["ann"], "memories")
    page.press("button.fold", "Filters")
    Select(page.see("select[aria-label=State]")).select_by_value("archived")
    page.see("input[type=search]").send_keys("zxqv")
    page.see("[role=status]", "Nothing matches.")
    page.see("[role=status]", "Only words are compared")  # its embedder knows no meanings
    page.press("[role=status] button", "Show all")
    page.see(".window .words", "oolong")
    assert page.see("input[type=search]").get_attribute("value") == ""
    page.show(scene.tokens.make(Role.USER, "cy", now=NOW), "memories")
    page.see("[role=status]", "Nothing is remembered yet.")
    page.go("portrait")
    page.see(".narrative", "We have only just met.")


def test_a_list_is_left_where_it_is_by_the_keyboard(page: Page, scene: Scene) -> None:
    """Whoever forgets a card by the keyboard is at the next one, and takes it back by Ctrl+Z."""
    page.show(scene.secrets["ann"], "memories")
    page.see(".window .words", "oolong")
    first, second = page.words()[:2]
    page.see(".window .actions button", "Forget").send_keys(Keys.ENTER)
    page.until(lambda: page.words()[0] == second)
    page.until(lambda: page.browser.switch_to.active_element.text == second)
    page.see(".notice", "Forgotten.")
    undo = ActionChains(page.browser).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL)
    undo.perform()
    page.until(lambda: page.words()[0] == first)


def test_what_happens_is_seen_as_it_happens(page: Page, scene: Scene) -> None:
    """What a turn brings appears by itself, with a notice in the user's language; no other's."""
    scene.call(scene.memory.introduce(user_id="ann", language="zh"))
    page.show(scene.secrets["ann"], "memories")
    page.see(".window .words", "oolong")
    scene.call(asyncio.sleep(0.3))
    scene.call(scene.memory.remember("Ben sings, too.", user_id="ben"))
    scene.say("ann", "I play the oboe")
    page.see(".window .words", "Ann plays the oboe.")
    page.see(".notice", "已记住：Ann plays the oboe.")
    assert "Ben" not in page.text
    page.press(".notice button", "Undo")
    page.until(lambda: "Ann plays the oboe." not in page.words())
    scene.call(scene.memory.introduce(user_id="ann", language="en"))


def test_a_portrait_is_written_anew_once_that_was_said_twice(page: Page, scene: Scene) -> None:
    """It is told once, and the one before is back after a press."""
    page.show(scene.secrets["ann"], "portrait")
    page.press(".narrative button", "Rewrite it")
    page.see(".narrative [role=alert]", "in place of this one?")
    page.press(".narrative button", "Yes, do it")
    page.see(".narrative", "Ann drinks tea.")
    page.see(".notice", "Your portrait was written.")
    assert len(page.all(".notice")) == 1
    page.press(".notice button", "Undo")
    page.see(".narrative", "Ann draws at night.")


def test_a_tab_that_nobody_looks_at_holds_no_stream(page: Page, scene: Scene) -> None:
    """Behind another tab nothing is streamed; what happened meanwhile is told on coming back."""
    watchers = scene.memory.knowledge.journal._watchers
    page.show(scene.secrets["ann"], "portrait")
    page.until(lambda: len(watchers) == 1)
    scene.call(asyncio.sleep(0.3))
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.until(lambda: not watchers)
    scene.say("ann", "I play the oboe")
    page.browser.close()
    page.browser.switch_to.window(first)
    page.see(".notice", "Remembered: Ann plays the oboe.")
    page.press(".notice button", "Undo")
    page.see(".notice", "Undone.")


def test_another_user_sees_their_own(page: Page, scene: Scene) -> None:
    """Ben's token shows Ben's memories alone; a wrong one nothing, and why."""
    page.show(scene.secrets["ben"], "memories")
    page.see(".window .words", "Ben plays the cello.")
    assert "Ann" not in page.text
    page.browser.execute_script("sessionStorage.clear(); localStorage.clear()")
    page.browser.get(f"{page.url}/me")
    page.see("input[type=password]").send_keys("wrong", Keys.ENTER)
    page.see("[role=alert]", "unknown")


def test_an_admin_chooses_whose_page_it_is(page: Page, scene: Scene) -> None:
    """The users are listed; of the one that is chosen an admin sees also what runs did for all."""
    run = {"began": NOW, "ended": NOW, "counts": {"FORGET": 7}}
    record = run_log.RunRecord(name="decay", **run)
    scene.call(run_log.keep(scene.memory.knowledge.journal, record))
    page.enter(scene.tokens.make(Role.ADMIN, "", now=NOW), ".users")
    page.press(".users button", "ann")
    page.see(".narrative", "Ann draws at night.")
    page.go("figures")
    page.see(".due", "Forgotten 7")
    page.show(scene.secrets["ann"], "figures")
    page.see(".due", "Fading")
    assert "Forgotten 7" not in page.text


def test_thousands_of_memories(page: Page, scene: Scene) -> None:
    """Only what is in view is in the document, and the list goes on as one scrolls."""
    page.show(scene.secrets["mia"], "memories")
    page.see("[role=status]", f"{MANY:,} memories")
    page.until(lambda: len(page.all(".window li")) > 3)
    for _ in range(6):
        page.browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        page.until(lambda: int(page.all(".window li")[-1].get_attribute("aria-posinset") or 0) > 0)
        scene.call(asyncio.sleep(0.15))
    assert len(page.all(".window li")) < 60
    page.until(lambda: int(page.all(".window li")[-1].get_attribute("aria-posinset") or 0) > 250)


@pytest.mark.parametrize(
    ("language", "title", "gone"),
    [
        ("zh", "我眼中的你", "它已经不在了。"),
        ("ja", "私の知るあなた", "それはもうありません。"),
    ],
)
def test_languages(page: Page, scene: Scene, language: str, title: str, gone: str) -> None:
    """The page speaks Chinese and Japanese, in every view and of what the server refuses."""
    page.show(scene.secrets["ann"], "settings")
    Select(page.see(".settings select")).select_by_value(language)
    page.until(lambda: bool(page.browser.execute_script(SPOKEN) == language))
    page.see("nav")
    page.go("portrait")
    page.see(".overline", title)
    page.browser.execute_script("location.hash = '#/memory/unknown'")
    page.see("main [role=alert]", gone)


def test_every_word_is_in_every_language() -> None:
    """No key is missing or twice; only English, which has a plural, has forms for one."""
    folder = ROOT / "souffleur" / "server" / "page" / "static" / "strings"
    pairs = {
        file.stem: json.loads(file.read_text("utf-8"), object_pairs_hook=list)
        for file in folder.glob("*.json")
    }
    assert all(len(dict(words)) == len(words) for words in pairs.values())
    keys = {
        name: {key for key, _ in words if not key.endswith(".one")} for name, words in pairs.items()
    }
    assert keys["en"] == keys["zh"] == keys["ja"]
    named: dict[str, Any] = {
        "kind": Kind,
        "category": Category,
        "who": ActorKind,
        "refused": Refusal,
        "run": RUNS,
    }
    named["op"] = {one.model_fields["op"].default for one in get_args(get_args(Op)[0])}
    assert {f"{name}.{one}" for name, kinds in named.items() for one in kinds} <= keys["en"]


def test_what_a_run_did_is_in_every_language() -> None:
    """Each outcome that a run tells of a memory has words on the page."""
    keys = json.loads((ROOT / "souffleur/server/page/static/strings/en.json").read_text("utf-8"))
    sources = [file.read_text("utf-8") for file in (ROOT / "souffleur/service").glob("*_runs.py")]
    told = {one for text in sources for one in re.findall(r'"([A-Z]{4,})"', text)}
    assert {"WAITS", "CHANGED", "PORTRAY", "PURGE"} <= told
    assert [one for one in sorted(told) if f"op.{one}" not in keys] == []


def test_why_a_trace_goes_is_in_every_language() -> None:
    """Each reason that a preview of a topic gives has words on the page."""
    keys = json.loads((ROOT / "souffleur/server/page/static/strings/en.json").read_text("utf-8"))
    source = inspect.getsource(topic)
    reasons = set(re.findall(r'"((?:its?|an?|all|the) [a-z][^"{]+?)(?: \(|")', source))
    assert len(reasons) >= 13
    silent = [one for one in reasons if not any(key.startswith(f"trace.{one}") for key in keys)]
    assert silent == []


def test_the_programs_own_reasons_are_in_every_language() -> None:
    """Each reason in the life of a memory that no model has given has words on the page."""
    keys = json.loads((ROOT / "souffleur/server/page/static/strings/en.json").read_text("utf-8"))
    sources = [*(ROOT / "souffleur").rglob("*.py"), *(ROOT / "knowledge").rglob("*.py")]
    given = r'(?:\breason(?:: str)? ?=|\bREASON =) ?f?"([a-z][^"{]+)[{"]'
    found = {one for file in sources for one in re.findall(given, file.read_text("utf-8"))}
    reasons = {one.removesuffix(" ") for one in found}
    assert {"told to remember", "takes back", "expired on", "written into"} <= reasons
    assert [one for one in reasons if f"why.{one}" not in keys] == []


def complaints(page: Page) -> list[list[str]]:
    """What axe finds serious or critical."""
    page.browser.execute_script(AXE.read_text("utf-8"))
    found: list[list[str]] = page.browser.execute_async_script(
        "axe.run().then(one => arguments[0](one.violations.filter(v =>"
        " ['serious', 'critical'].includes(v.impact)).map(v => [v.id, v.nodes[0].html])))"
    )
    return found


@pytest.mark.parametrize(("wide", "scheme"), [(390, "dark"), (1440, "light")])
def test_it_can_be_read_by_everybody(page: Page, scene: Scene, wide: int, scheme: str) -> None:
    """Nothing is wider than the screen; axe finds nothing serious in any view."""
    set_width(page.browser, wide)
    page.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.show(scene.secrets["ann"], "portrait")
    id = scene.call(scene.memory.list(user_id="ann"))[0].id
    views = (
        "portrait",
        "memories",
        f"memory/{id}",
        "days",
        "why",
        "asked",
        "topic",
        "names",
        "figures",
        "settings",
    )
    scene.ask_ann()
    for view in views:
        page.go(view)
        if view == "topic":
            page.see(".topic input").send_keys("oolong", Keys.ENTER)
            page.see(".trace")
        if view == "names":
            page.press(".list-of-names button", "Tom")
        scene.call(asyncio.sleep(0.2))
        if shots := os.environ.get("SOUFFLEUR_TEST_SHOTS"):
            page.picture(Path(shots) / f"{view.partition('/')[0]}-{wide}-{scheme}.png")
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= wide
        if AXE.exists():
            assert complaints(page) == [], view
    if not AXE.exists():
        pytest.skip("only widths: no axe-core; `npm install axe-core`, or SOUFFLEUR_TEST_AXE")


def test_forgetting_everything_needs_the_name(page: Page, scene: Scene) -> None:
    """Only who types the name can press the button; then nothing is left, and nobody signed in."""
    set_width(page.browser, 1440)
    page.show(scene.secrets["ben"], "settings")
    page.see("form button.danger:disabled")
    page.see("form input[autocomplete=off]").send_keys("ben")
    page.press("form button.danger:enabled")
    page.see("input[type=password]")
    page.see("[role=status]", "Everything about you has been erased.")
    assert scene.call(scene.memory.list(user_id="ben", state=None)) == []


def test_the_files_are_strict_about_what_they_load() -> None:
    """No file of the page holds another address, an inline script or style, or sets HTML."""
    folder = ROOT / "souffleur" / "server" / "page" / "static"
    for file in folder.rglob("*.*"):
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        foreign = [one for one in ("http:", "https:", "innerHTML", 'style="') if one in text]
        assert foreign == [], file
