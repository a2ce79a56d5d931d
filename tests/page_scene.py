"""The person's own page in a browser, served with a store in which there is something to see."""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.errors import EndpointError
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import Update
from souffleur.knowledge.store.codecs import to_point
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import Settings
from tests.build import NOW, days, memory as a_memory, verdict
from tests.scripted import SKIP, Answer, Scripted, add, answer, by_name, portrait
from tests.served import served

T = TypeVar("T")
EVIL = "<img src=x onerror=alert(1)> [a](javascript:alert(2)) <b>bold</b>"
SWITCH = """
sessionStorage.clear(); localStorage.clear();
if (arguments[0]) sessionStorage.setItem("souffleur", JSON.stringify({token: arguments[0]}));
"""
"""Signs in, in a tab of the same server."""
CLICK = """
const [path, text] = arguments;
const one = [...document.querySelectorAll(path)].find(found => found.textContent.includes(text));
one?.click();
return Boolean(one);
"""
"""Presses the first element of a path that holds a text; whether there was one."""


class Scene:
    """A store with Ann, Ben and Mia, served from a thread of its own."""

    def __init__(self, folder: Path, *, many: int = 0, empty: bool = False) -> None:
        self.many = many
        self.empty = empty
        self.loop = asyncio.new_event_loop()
        self.folder = folder
        self.tokens = TokenFile(folder / "tokens.json")
        who = ("ann", "ben", "mia")
        self.secrets = {one: self.tokens.make(Role.USER, one, now=NOW) for one in who}
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.done = asyncio.Event()
        self.is_down = False
        """Whether the model does not answer."""
        self.memory: Souffleur
        self.url = ""

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def say(self, user_id: str, text: str) -> None:
        """Have a user say something, and wait until it is judged, unless the model is down."""

        async def said() -> None:
            self.memory.observe(user_id=user_id, session_id="s1", user=text, assistant="I see.")
            if not self.is_down:
                await self.memory.flush()

        self.call(said())

    def ask_ann(self) -> None:
        """Have two changes wait for Ann's yes."""
        self.call(self.memory.set_preferences(user_id="ann", auto_extract=False))
        found = self.call(self.memory.list(user_id="ann"))
        mei = next(one for one in found if "Mei" in one.content)
        quote = {"reason": "she moved", "quote": "Mei moved to Nara"}
        moved = Update(target=mei.id, content="Ann's sister Mei lives in Nara.", **quote)
        asked = verdict(moved, user="Mei moved to Nara", at=self.memory.clock())
        self.call(self.memory.knowledge.apply(asked))
        self.say("ann", "I play the oboe")

    def answer(self, request: Request) -> Answer:
        """Answer as the model, unless it is down."""
        if self.is_down:
            return EndpointError("no connection", outage=True)
        return by_name(monitor=judged, portrait=likeness)(request)

    @contextmanager
    def below(self, path: str) -> Iterator[str]:
        """Yield the address at which a reverse proxy has the server below a path."""
        server = served(self.memory, tokens=self.tokens.file, below=path, rate_limit=0)
        yield self.call(server.__aenter__())
        self.call(server.__aexit__(None, None, None))

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
        async with Souffleur.open(chosen, chat=Scripted(self.answer)) as memory:
            self.memory = memory
            if not self.empty:
                await fill(memory, self.many)
            async with served(memory, tokens=self.tokens.file, rate_limit=0) as self.url:
                ready.set()
                await self.done.wait()


async def _within(work: Awaitable[T], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await work


def judged(request: Request) -> Answer:
    """The judge, which keeps what is said of an oboe."""
    if "I play the oboe" not in request.messages[-1].content:
        return SKIP
    return answer(add("Ann plays the oboe.", "I play the oboe"))


def likeness(_: Request) -> Answer:
    """A portrait in other words."""
    return portrait("Ann drinks tea.", "She has a cat.", "She draws.")


@contextmanager
def opened(folder: Path, *, many: int = 0, empty: bool = False) -> Iterator[Scene]:
    """Yield a scene that is served."""
    scene = Scene(folder, many=many, empty=empty)
    scene.start()
    yield scene
    scene.stop()


async def fill(memory: Souffleur, many: int) -> None:
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
        *named(fresh),
    ]
    kinds = list(Kind)
    films = [
        a_memory(f"Mia saw film number {n}.", user_id="mia", kind=kinds[n % 15], created_at=at)
        for n, at in ((n, now - days(n / 100)) for n in range(many))
    ]
    await put(memory, [*told, *films])


def named(fresh: dict[str, Any]) -> list[Memory]:
    """Memories of Ann's that mention people and places."""
    told = {
        "Mei sent Ann tea from Kyoto.": ("Mei", "Kyoto"),
        "Mei works at the Uji mill.": ("Mei", "Uji"),
        "Ann and Tom were in Kyoto in May.": ("Tom", "Kyoto"),
        "Tom has a dog called Rex.": ("Tom", "Rex"),
        "Ann walks Rex on Sundays.": ("Rex",),
        "Mei met Tom at Lake Biwa.": ("Mei", "Tom", "Lake Biwa"),
        f"{EVIL} is a name.": (EVIL, "Tom"),
    }
    return [a_memory(words, entities=names, **fresh) for words, names in told.items()]


async def put(memory: Souffleur, memories: list[Memory]) -> None:
    base = memory.knowledge
    vectors = await base.embedder.embed([one.content for one in memories])
    await base.memories.put([to_point(*both) for both in zip(memories, vectors, strict=True)])


class Page:
    """The page as its reader uses it."""

    def __init__(self, browser: Chrome, url: str) -> None:
        self.browser = browser
        self.url = url
        self.visits = 0

    def enter(self, secret: str, first: str = "nav") -> None:
        """Sign in with a token, in a tab that knows none."""
        self.browser.execute_script(SWITCH, "")
        self.browser.get(self.url)
        self.see("input[type=password]").send_keys(secret, Keys.ENTER)
        self.see(first)

    def show(self, secret: str, view: str) -> None:
        """Show a view to whom a token belongs, in a tab that knows it already."""
        self.browser.execute_script(SWITCH, secret)
        self.visits += 1
        self.browser.get(f"{self.url}/me?{self.visits}#/{view}")  # another address is read anew
        self.see("nav")
        self.until(lambda: bool(self.all(f"main > .{view.partition('/')[0]} > *")))

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

    def picture(self, file: Path) -> None:
        """Save a picture of the whole page."""
        seen = self.browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        whole = {"captureBeyondViewport": True, "clip": {**seen, "scale": 1}}
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", whole)
        file.write_bytes(b64decode(shot["data"]))

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
