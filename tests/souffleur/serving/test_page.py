"""The person's own page in Chromium: what it shows, what can be done on it, and by whom."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.memory_codec import to_point
from souffleur.runtime import Souffleur
from souffleur.serving.tokens import Role, TokenFile
from souffleur.settings import Settings
from tests.browser import logged, needs_browser, open_browser, set_width
from tests.build import NOW, days, memory as a_memory
from tests.scripted import SKIP, Scripted
from tests.served import served

pytestmark = needs_browser
T = TypeVar("T")
EVIL = "<img src=x onerror=alert(1)> [a](javascript:alert(2)) <b>bold</b>"
AXE = Path(os.environ.get("SOUFFLEUR_TEST_AXE", "node_modules/axe-core/axe.min.js"))
MANY = int(os.environ.get("SOUFFLEUR_TEST_MANY", "2000"))
CLICK = """
const [path, text] = arguments;
const one = [...document.querySelectorAll(path)].find(found => found.textContent.includes(text));
one?.click();
return Boolean(one);
"""
"""Presses the first element of a path that holds a text; whether there was one."""
SPOKEN = "return document.documentElement.lang"
ROOT = Path(__file__).parents[3]


class Scene:
    """A store with Ann, Ben and Mia, served from a thread of its own."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = folder
        self.tokens = TokenFile(folder / "tokens.json")
        who = ("ann", "ben", "mia")
        self.secrets = {one: self.tokens.make(Role.USER, one, now=NOW) for one in who}
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.done = asyncio.Event()
        self.memory: Souffleur
        self.url = ""

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def start(self) -> None:
        ready = asyncio.Event()
        self.serving = asyncio.run_coroutine_threadsafe(self._serve(ready), self.loop)
        self.call(_within(ready.wait(), 30))

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.done.set)
        self.serving.result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def _serve(self, ready: asyncio.Event) -> None:
        chosen = Settings(path=self.folder / "store", embedder="hash:64")
        async with Souffleur.open(chosen, chat=Scripted(lambda _: SKIP)) as self.memory:
            await fill(self.memory)
            async with served(self.memory, tokens=self.tokens.file, rate_limit=0) as self.url:
                ready.set()
                await self.done.wait()


async def _within(work: Awaitable[T], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await work


async def fill(memory: Souffleur) -> None:
    """Ann's talk, portrait, episode and hostile words; something of Ben's; very much of Mia's."""
    now = memory.clock()
    tea = await memory.remember("Ann likes oolong tea in the evening.", user_id="ann")
    core = tea[0].changes[0].after.id
    await memory.remember(EVIL, user_id="ann", kind=Kind.PREFERENCE)
    await memory.remember("Ann's sister Mei lives in Kyoto.", user_id="ann", kind=Kind.RELATIONSHIP)
    await memory.remember("Ben plays the cello.", user_id="ben")
    memory.observe(
        user_id="ann", session_id="s1", user=f"Which tea tonight? {EVIL}",
        assistant="An oolong, as you like it.", whisper=[core],
    )  # fmt: skip
    await memory.flush()
    turn = (await memory.knowledge.journal.turns(user_id="ann"))[0]
    quoted = {"turn_id": turn.id, "speaker": "user", "quote": "Which tea tonight?", "at": turn.at}
    fresh: dict[str, Any] = {"anchor_at": now, "created_at": now, "updated_at": now}
    ann: dict[str, Any] = {"name": "Ann", "occupation": "Illustrator"}
    talk: dict[str, Any] = {"key_facts": [EVIL], "tone": "calm"}
    episode = {"category": Category.EPISODE, "kind": Kind.MOMENT, "valid_from": now, **fresh}
    words = "Ann draws at night.\n\nShe has a cat."
    told = [
        a_memory(words, category=Category.PROFILE, data=ann, **fresh),
        a_memory("[2026-01-03 18:00] Tea and rain.", data=talk, **episode),
        a_memory("Ann asked for tea.", evidence=(quoted,), **fresh),
    ]
    kinds = list(Kind)
    many = [
        a_memory(f"Mia saw film number {n}.", user_id="mia", kind=kinds[n % 15], created_at=at)
        for n, at in ((n, now - days(n / 100)) for n in range(MANY))
    ]
    await put(memory, [*told, *many])


async def put(memory: Souffleur, memories: list[Memory]) -> None:
    base = memory.knowledge
    vectors = await base.embedder.embed([one.content for one in memories])
    await base.memories.put([to_point(*both) for both in zip(memories, vectors, strict=True)])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    found = Scene(tmp_path_factory.mktemp("page"))
    found.start()
    yield found
    found.stop()


class Page:
    """The page as its reader uses it."""

    def __init__(self, browser: Chrome, url: str) -> None:
        self.browser = browser
        self.url = url

    def enter(self, secret: str) -> None:
        """Sign in with a token, in a tab that knows none."""
        self.browser.get(f"{self.url}/health")
        self.browser.execute_script("sessionStorage.clear(); localStorage.clear()")
        self.browser.get(self.url)
        self.see("input[type=password]").send_keys(secret, Keys.ENTER)
        self.see("nav")

    def go(self, view: str) -> None:
        self.browser.execute_script("location.hash = arguments[0]", f"#/{view}")
        self.until(lambda: bool(self.all(f"main > .{view.partition('/')[0]} > *")))

    def all(self, path: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, path)

    def see(self, path: str, text: str = "") -> WebElement:
        """Return the first shown element that holds a text, as soon as there is one."""
        return WebDriverWait(
            self.browser, 15, 0.05, ignored_exceptions=[StaleElementReferenceException]
        ).until(
            lambda _: next((one for one in self.all(path) if text in one.text), None),
            f"{path} {text!r}",
        )  # type: ignore[return-value]

    def press(self, path: str, text: str = "") -> None:
        self.until(lambda: bool(self.browser.execute_script(CLICK, path, text)))

    def until(self, met: Callable[[], bool]) -> None:
        WebDriverWait(
            self.browser, 15, 0.05, ignored_exceptions=[StaleElementReferenceException]
        ).until(lambda _: met())

    def words(self) -> list[str]:
        """Return the words of the memories in the list."""
        return [one.text for one in self.all(".window .words")]

    @property
    def text(self) -> str:
        return self.browser.find_element(By.TAG_NAME, "body").text


@pytest.fixture(scope="module")
def page(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("profile"), scene.url) as browser:
        yield Page(browser, scene.url)


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
    page.enter(scene.secrets["ann"])
    for view in ("portrait", "memories", "days", "why"):
        page.go(view)
        page.see("main", EVIL)
        assert page.all("main img, main script, main b:not(.over b), a[href^=javascript]") == []
    lines = [one["message"] for one in logged(page.browser, "browser")]
    assert [one for one in lines if "401 (Unauthorized)" not in one] == []  # before the token


def test_delete_undo_edit_confirm_pin_restore(page: Page, scene: Scene) -> None:
    """Each is done with a press, told, and found in the store and in the life of the memory."""
    page.enter(scene.secrets["ann"])
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
    page.press(".buttons button", "That is right")
    page.until(lambda: kept().verified)
    page.press(".buttons button", "Edit")
    area = page.see("textarea")
    area.clear()
    area.send_keys("Ann has a red bike.")
    page.press("form.editing button", "Save")
    page.see("h1", "Ann has a red bike.")
    page.press(".buttons button", "Pin")
    page.until(lambda: kept().category is Category.CORE)
    page.until(lambda: all(one in page.text for one in ("Made core", "Edited", "Restored")))
    page.press(".life li:last-child button", "Undo")
    page.until(lambda: kept().category is Category.FACT)


def test_what_it_rests_on_opens(page: Page, scene: Scene) -> None:
    """The quote leads to the turn in which it was said."""
    page.enter(scene.secrets["ann"])
    hers = scene.call(scene.memory.list(user_id="ann"))
    asked = next(one for one in hers if "asked for tea" in one.content)
    page.go(f"memory/{asked.id}")
    page.see("blockquote", "Which tea tonight?")
    page.press("button", "Open the talk")
    page.see(".here .reply", "An oolong, as you like it.")


def test_why_did_you_say_that(page: Page, scene: Scene) -> None:
    """Below a reply stands what was whispered before it, and why."""
    page.enter(scene.secrets["ann"])
    page.go("why")
    page.press(".reply-of button", "Why did you say that?")
    page.see(".line", "What you said called for it")
    page.see(".line .words", "oolong tea")


def test_search_and_filters(page: Page, scene: Scene) -> None:
    """A text, a kind and a state leave what fits; a slash leads to the search from anywhere."""
    page.enter(scene.secrets["ann"])
    page.see("body").send_keys("/")
    page.see("input[type=search]")
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("type") == "search")
    page.see("input[type=search]").send_keys("Kyoto")
    page.until(
        lambda: (
            [one.text for one in page.all(".window .words")] == ["Ann's sister Mei lives in Kyoto."]
        )
    )
    page.see("input[type=search]").clear()
    page.see("input[type=search]").send_keys("x", Keys.BACKSPACE)
    Select(page.see("select[aria-label=Kind]")).select_by_value("preference")
    page.until(lambda: page.words() == [EVIL])
    Select(page.see("select[aria-label=Kind]")).select_by_value("")
    Select(page.see("select[aria-label=State]")).select_by_value("forgotten")
    page.until(lambda: page.all(".window .card:not(.forgotten)") == [])
    Select(page.see("select[aria-label=State]")).select_by_value("active")


def test_what_happens_is_seen_as_it_happens(page: Page, scene: Scene) -> None:
    """A new memory appears without a reload, with a notice; nothing of another user does."""
    page.enter(scene.secrets["ann"])
    page.go("memories")
    page.see(".window .words", "oolong")
    scene.call(asyncio.sleep(0.3))
    scene.call(scene.memory.remember("Ben sings, too.", user_id="ben"))
    scene.call(scene.memory.remember("Ann keeps bees.", user_id="ann"))
    page.see(".window .words", "Ann keeps bees.")
    assert "Ben" not in page.text


def test_another_user_sees_their_own(page: Page, scene: Scene) -> None:
    """Ben's token shows Ben's memories alone; a wrong one nothing, and why."""
    page.enter(scene.secrets["ben"])
    page.go("memories")
    page.see(".window .words", "Ben plays the cello.")
    assert "Ann" not in page.text
    page.browser.execute_script("sessionStorage.clear(); localStorage.clear()")
    page.browser.get(f"{page.url}/me")
    page.see("input[type=password]").send_keys("wrong", Keys.ENTER)
    page.see("[role=alert]", "unknown")


def test_thousands_of_memories(page: Page, scene: Scene) -> None:
    """Only what is in view is in the document, and the list goes on as one scrolls."""
    page.enter(scene.secrets["mia"])
    page.go("memories")
    page.see("[role=status]", f"{MANY:,} memories")
    page.until(lambda: len(page.all(".window li")) > 3)
    for _ in range(6):
        page.browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        page.until(lambda: int(page.all(".window li")[-1].get_attribute("aria-posinset") or 0) > 0)
        scene.call(asyncio.sleep(0.15))
    assert len(page.all(".window li")) < 60
    page.until(lambda: int(page.all(".window li")[-1].get_attribute("aria-posinset") or 0) > 250)


@pytest.mark.parametrize(("language", "title"), [("zh", "我眼中的你"), ("ja", "私の知るあなた")])
def test_languages(page: Page, scene: Scene, language: str, title: str) -> None:
    """The page speaks Chinese and Japanese, in every view."""
    page.enter(scene.secrets["ann"])
    page.go("settings")
    Select(page.see(".settings select")).select_by_value(language)
    page.until(lambda: bool(page.browser.execute_script(SPOKEN) == language))
    page.see("nav")
    page.go("portrait")
    page.see(".overline", title)


def test_every_word_is_in_every_language() -> None:
    """No key is missing; only English, which has a plural, has forms for one."""
    folder = ROOT / "souffleur" / "serving" / "page" / "static" / "strings"
    keys = {
        file.stem: {key for key in json.loads(file.read_text("utf-8")) if not key.endswith(".one")}
        for file in folder.glob("*.json")
    }
    assert keys["en"] == keys["zh"] == keys["ja"]
    assert {f"kind.{one}" for one in Kind} | {f"category.{one}" for one in Category} <= keys["en"]


@pytest.mark.parametrize("wide", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everybody(page: Page, scene: Scene, wide: int, scheme: str) -> None:
    """Nothing is wider than the screen; axe finds nothing serious in any view."""
    if not AXE.exists():
        pytest.skip("no axe-core: `npm install axe-core`, or name it by SOUFFLEUR_TEST_AXE")
    set_width(page.browser, wide)
    page.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.enter(scene.secrets["ann"])
    id = scene.call(scene.memory.list(user_id="ann"))[0].id
    for view in ("portrait", "memories", f"memory/{id}", "days", "why", "settings"):
        page.go(view)
        scene.call(asyncio.sleep(0.2))
        shots = os.environ.get("SOUFFLEUR_TEST_SHOTS")
        if shots:
            name = f"{view.partition('/')[0]}-{wide}-{scheme}.png"
            page.browser.save_screenshot(str(Path(shots) / name))
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= wide
        page.browser.execute_script(AXE.read_text("utf-8"))
        found = page.browser.execute_async_script(
            "axe.run().then(one => arguments[0](one.violations.filter(v =>"
            " ['serious', 'critical'].includes(v.impact)).map(v => [v.id, v.nodes[0].html])))"
        )
        assert found == [], view


def test_forgetting_everything_needs_the_name(page: Page, scene: Scene) -> None:
    """Only who types the name can press the button; then nothing is left, and nobody signed in."""
    set_width(page.browser, 1440)
    page.enter(scene.secrets["ben"])
    page.go("settings")
    page.see("form button.danger:disabled")
    page.see("form input[autocomplete=off]").send_keys("ben")
    page.press("form button.danger:enabled")
    page.see("input[type=password]")
    assert scene.call(scene.memory.list(user_id="ben", state=None)) == []


def test_the_files_are_strict_about_what_they_load() -> None:
    """No file of the page holds another address, an inline script or style, or sets HTML."""
    folder = ROOT / "souffleur" / "serving" / "page" / "static"
    for file in folder.rglob("*.*"):
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        foreign = [one for one in ("http:", "https:", "innerHTML", 'style="') if one in text]
        assert foreign == [], file
