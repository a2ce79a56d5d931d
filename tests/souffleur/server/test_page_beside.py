"""The page while something happens beside it: another window, token, address, no connection."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from souffleur.knowledge.memory import Category, Kind
from souffleur.server.tokens import Role, digest_of
from tests.browser import needs_browser, requested
from tests.build import NOW, days, memory as a_memory
from tests.page_scene import SWITCH, Page, Scene, opened, put

pytestmark = needs_browser
FOCUSED = """
const one = document.activeElement;
return [one.textContent, one.closest("[data-id]")?.querySelector(".words")?.textContent];
"""
"""What has the focus, and the words of its card."""
HOLD = """
const [words, name] = arguments;
const card = [...document.querySelectorAll(".card")].find(one => one.textContent.includes(words));
[...card.querySelectorAll("button")].find(one => one.textContent === name).focus();
"""
"""Leads the focus to a button of the card with these words."""
NAME = """
const session = JSON.parse(sessionStorage.getItem("souffleur"));
sessionStorage.setItem("souffleur", JSON.stringify({...session, user: arguments[0]}));
"""
"""Has an admin look at a user."""
WRITTEN = "Ann plays the oboe. And the flute."


@contextmanager
def connected(page: Page, *, offline: bool = False, latency: int = 0) -> Iterator[None]:
    """Let nothing of the server arrive, or later by so many milliseconds."""
    usual = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.enable", {})
    changed = {**usual, "offline": offline, "latency": latency}
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", changed)
    yield
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", usual)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("page")) as found:
        yield found


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


def test_the_focus_stays_in_the_menu(page: Page, scene: Scene) -> None:
    """What appears by itself leaves the focus on the way that is just being chosen."""
    page.show(scene.secrets["ann"], "portrait")
    page.see(".cards", "Ann")
    scene.call(asyncio.sleep(0.3))
    page.browser.execute_script("document.querySelector('nav a[href=\"#/days\"]').focus()")
    scene.call(scene.memory.remember("Ann skis in winter.", user_id="ann"))
    page.see(".cards", "Ann skis in winter.")
    assert page.browser.execute_script(FOCUSED)[0] == "Days"


def test_the_focus_goes_to_no_button_that_forgets(page: Page, scene: Scene) -> None:
    """After a memory was pinned by the keyboard, another Enter does not forget it."""
    told = scene.call(scene.memory.remember("Ann keeps hens.", user_id="ann"))
    page.show(scene.secrets["ann"], f"memory/{told[0].changes[0].after.id}")
    page.see(".buttons button", "Pin").send_keys(Keys.ENTER)
    page.see(".life", "Now always in mind")
    assert page.browser.execute_script("return document.activeElement.textContent") == "Edit"


def test_an_edit_that_has_begun_stays(page: Page, scene: Scene) -> None:
    """What was read before it does not take the place of what is being written."""
    geese = scene.call(scene.memory.remember("Ann keeps geese.", user_id="ann"))
    page.show(scene.secrets["ann"], f"memory/{geese[0].changes[0].after.id}")
    with connected(page, latency=1000):
        page.browser.execute_script("dispatchEvent(new Event('changed'))")
        scene.call(asyncio.sleep(0.3))
        page.press(".buttons button", "Edit")
        page.see("form.editing textarea").send_keys(" And hens.")
        scene.call(asyncio.sleep(2))
    assert page.see("form.editing textarea").get_property("value") == "Ann keeps geese. And hens."


def test_words_that_were_not_taken_stay(page: Page, scene: Scene) -> None:
    """A question reworded here that was answered elsewhere meanwhile leaves what was written."""
    scene.call(scene.memory.set_preferences(user_id="ann", auto_extract=False))
    scene.say("ann", "I play the oboe")
    page.show(scene.secrets["ann"], "asked")
    page.press(".question button", "Edit")
    page.see("form.editing textarea").send_keys(" And the flute.")
    scene.call(scene.memory.reject_all(user_id="ann"))
    scene.call(asyncio.sleep(0.3))
    page.press("form.editing button", "Save")
    page.see(".notice", "already forgotten")
    assert page.see("form.editing textarea").get_property("value") == WRITTEN
    page.press("form.editing button", "Cancel")
    scene.call(scene.memory.set_preferences(user_id="ann", auto_extract=True))


def test_what_came_while_one_wrote_is_seen_after_it(page: Page, scene: Scene) -> None:
    """Whoever breaks off an edit is at its button again, of the memory as it is now."""
    ducks = scene.call(scene.memory.remember("Ann keeps ducks.", user_id="ann"))
    id = ducks[0].changes[0].after.id
    page.show(scene.secrets["ann"], f"memory/{id}")
    page.see(".buttons button", "Edit").click()
    page.press("form.editing button", "Cancel")
    assert page.browser.execute_script(FOCUSED)[0] == "Edit"
    page.press(".buttons button", "Edit")
    page.see("form.editing")
    scene.call(scene.memory.forget(id, user_id="ann"))
    scene.call(asyncio.sleep(0.5))
    page.press("form.editing button", "Cancel")
    page.see(".buttons button", "Restore")


def test_who_signs_in_anew_begins_anew(page: Page, scene: Scene) -> None:
    """After a token was revoked the next one shows its user alone, and what happens to them."""
    secret = scene.tokens.make(Role.USER, "ann", now=NOW)
    page.show(secret, "memories")
    page.see("input[type=search]").send_keys("oolong")
    page.see(".window .words", "Ann likes oolong tea in the evening.")
    scene.tokens.revoke(digest_of(secret))
    page.browser.execute_script("location.hash = '#/days'")
    page.see("[role=alert]", "This token is unknown.")
    page.see("input[type=password]").send_keys(scene.secrets["ben"], Keys.ENTER)
    page.see("nav")
    page.go("memories")
    page.see(".window .words", "Ben plays the cello.")
    scene.call(asyncio.sleep(0.3))
    scene.call(scene.memory.remember("Ben sings.", user_id="ben"))
    page.see(".window .words", "Ben sings.")


def test_a_token_that_no_header_can_carry_is_unknown(page: Page, scene: Scene) -> None:
    """It is told as any wrong one, and another one can be entered after it."""
    page.browser.execute_script(SWITCH, "")
    page.browser.get(page.url)
    page.see("input[type=password]").send_keys("我的令牌", Keys.ENTER)
    page.see("[role=alert]", "This token is unknown.")
    page.browser.refresh()
    page.see("input[type=password]").send_keys(scene.secrets["ann"], Keys.ENTER)
    page.see("nav")


def test_what_is_no_id_is_told_and_another_chosen(page: Page, scene: Scene) -> None:
    """An admin who has named a user that cannot be is not asked for a token, but for a user."""
    page.enter(scene.tokens.make(Role.ADMIN, "", now=NOW), ".users")
    for named, why in (("x" * 600, "at most 512 characters"), ("  ", "blank")):
        page.browser.execute_script(NAME, named)
        page.browser.refresh()
        page.see(".notice", why)
    page.press(".users button", "ann")
    page.see("nav")


def test_the_page_opens_after_the_first_talk(page: Page, tmp_path: Path) -> None:
    """Before it nobody is there; after it nobody is asked whose memories are meant."""
    with opened(tmp_path, empty=True) as fresh:
        first = Page(page.browser, fresh.url)
        first.enter(fresh.tokens.make(Role.ADMIN, "", now=NOW), "label.field")
        first.see("h1", "Nobody has talked yet")
        fresh.say("me", "I play the oboe")
        first.see(".cards", "Ann plays the oboe.")
        assert first.see("h1").text == "You"  # the id `me` is no name
    page.browser.get(page.url)


def test_an_admin_may_choose_anew(page: Page, scene: Scene) -> None:
    """The menu has the name of the person, and leads back to the list of all."""
    scene.call(scene.memory.introduce(user_id="ben", title="Benedict"))
    page.enter(scene.tokens.make(Role.ADMIN, "", now=NOW), ".users")
    page.press(".users button", "ben")
    page.press(".who", "Benedict")
    page.see(".users button", "ann")


def test_that_all_was_erased_is_told_once(page: Page, scene: Scene) -> None:
    """Whoever signs in after it is not told that all of theirs is gone."""
    scene.call(scene.memory.remember("Cy has a cat.", user_id="cy"))
    secret = scene.tokens.make(Role.ADMIN, "", now=NOW)
    page.enter(secret, ".users")
    page.press(".users button", "cy")
    page.see("nav")
    page.go("settings")
    page.see("form input[autocomplete=off]").send_keys("cy")
    page.press("form button.danger:enabled")
    page.see("input[type=password]")
    page.see("[role=status]", "Everything about you has been erased.")
    page.see("input[type=password]").send_keys(secret, Keys.ENTER)
    page.see(".users button", "ann")
    assert [one.text for one in page.all("main [role=status]")] == []


def test_a_view_comes_when_the_server_is_back(page: Page, scene: Scene) -> None:
    """A view that was chosen while the server was away appears once it is there again."""
    page.show(scene.secrets["ann"], "memories")
    page.see(".window .words")
    scene.call(asyncio.sleep(0.3))
    with connected(page, offline=True):
        page.browser.execute_script("location.hash = '#/names'")
        page.see("main [role=alert]", "The server cannot be reached just now.")
    page.see(".list-of-names", "Kyoto")


@pytest.mark.parametrize(
    ("address", "shown"), [("%", ".portrait"), ("memory/%E0%A4%A", "[role=alert]")]
)
def test_an_address_that_was_not_made_here(
    page: Page, scene: Scene, address: str, shown: str
) -> None:
    """A view comes all the same."""
    page.show(scene.secrets["ann"], "names")
    page.browser.execute_script("location.hash = arguments[0]", f"#/{address}")
    page.until(lambda: page.all(f"main > {shown}") != [])


def test_what_was_erased_is_gone_from_another_tab(page: Page, scene: Scene) -> None:
    """Words that were erased while nobody looked at a tab are not on it when it is shown again."""
    told = scene.call(scene.memory.remember("Ann keeps goats.", user_id="ann"))
    page.show(scene.secrets["ann"], "memories")
    page.see(".window .words", "Ann keeps goats.")
    scene.call(asyncio.sleep(0.3))
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.until(lambda: not scene.memory.knowledge.journal._watchers)
    scene.call(scene.memory.erase_memory(told[0].changes[0].after.id, user_id="ann"))
    page.browser.close()
    page.browser.switch_to.window(first)
    page.until(lambda: "Ann keeps goats." not in page.text)


def test_that_nothing_can_be_learned_is_said(page: Page, scene: Scene) -> None:
    """While the model does not answer, each view says so and how much waits; then it is gone."""
    secret = scene.tokens.make(Role.USER, "gil", now=NOW)
    scene.is_down = True
    scene.say("gil", "I play the oboe")
    scene.say("gil", "And sing")
    page.until(lambda: scene.memory.error != "")
    page.show(secret, "portrait")
    since = page.see("#trouble").text
    assert since.startswith("I cannot learn just now: the model does not answer (since ")
    assert since.endswith("2 messages wait; none is lost.")
    page.see(".narrative", "What you said is kept.")
    page.go("memories")
    page.see("main [role=status]", "What you said is kept.")
    scene.is_down = False
    scene.call(scene.memory.flush())
    page.until(lambda: page.words() == ["Ann plays the oboe."])
    page.until(lambda: page.see("#trouble").text == "")


def test_what_is_hidden_in_doubt_is_told(page: Page, scene: Scene) -> None:
    """Who forgets a memory reads that others, which may say the same, are hidden as well."""
    secret = scene.tokens.make(Role.USER, "pia", now=NOW)
    nuts = scene.call(scene.memory.remember("Pia is allergic to peanuts.", user_id="pia"))
    scene.call(scene.memory.remember("Pia sells peanut butter.", user_id="pia"))
    scene.is_down = True
    page.show(secret, f"memory/{nuts[0].changes[0].after.id}")
    page.press(".buttons button", "Forget")
    page.see(".notice", "Some that may say the same are hidden, too")
    page.see(".life li", "Some that may say the same are hidden, too")
    page.press(".notice button", "Undo")
    page.until(lambda: "may say the same" not in page.text)
    scene.is_down = False


def test_why_the_page_cannot_begin_stays_on_it(page: Page, scene: Scene) -> None:
    """It is the content of the page, not a notice that goes and leaves nothing."""
    page.show(scene.secrets["ann"], "portrait")
    kept = scene.tokens.file.read_bytes()
    scene.tokens.file.write_text("damaged", "utf-8")
    page.browser.refresh()
    page.see("main [role=alert]", "The memory cannot be reached just now")
    scene.tokens.file.write_bytes(kept)


def test_only_what_was_changed_of_a_person_is_set(page: Page, scene: Scene) -> None:
    """Who sets the time zone alone is not called by their id from then on."""
    page.show(scene.tokens.make(Role.USER, "u-17", now=NOW), "settings")
    zone = page.see(".settings label", "Time zone").find_element(By.TAG_NAME, "input")
    zone.clear()
    zone.send_keys("Asia/Tokyo")
    page.press(".settings form button", "Save")
    page.see(".notice", "Saved.")
    cast = scene.call(scene.memory.cast())
    assert str(cast.zone("u-17")) == "Asia/Tokyo"
    assert cast.persona("u-17").user == cast.usual.user


def test_days_are_marked_however_many_talks_there_are(page: Page, scene: Scene) -> None:
    """A talk beyond the latest five hundred is in the month in which it was held."""
    told: dict[str, Any] = {"category": Category.EPISODE, "kind": Kind.MOMENT, "user_id": "dee"}
    latest: dict[str, Any] = {"valid_from": NOW, "created_at": NOW, "updated_at": NOW}
    before = NOW - days(31)
    first: dict[str, Any] = {"valid_from": before, "created_at": before, "updated_at": before}
    talks = [a_memory(f"Talk {n}.", **told, **latest) for n in range(500)]
    scene.call(put(scene.memory, [*talks, a_memory("The first talk.", **told, **first)]))
    page.show(scene.tokens.make(Role.USER, "dee", now=NOW), "days")
    page.press(".turning button", "‹")
    page.see(".days .words", "The first talk.")


def test_a_refusal_is_in_the_readers_language(page: Page, scene: Scene) -> None:
    """An edit that changes nothing, and what is no longer allowed, are told in Japanese."""
    yaks = scene.call(scene.memory.remember("Ann keeps yaks.", user_id="ann"))
    secret = scene.tokens.make(Role.USER, "ann", now=NOW)
    page.show(secret, f"memory/{yaks[0].changes[0].after.id}")
    page.browser.execute_script("localStorage.setItem('souffleur-language', 'ja')")
    page.browser.refresh()
    page.press(".buttons button", "編集")
    page.press("form.editing button", "保存")
    page.see(".notice", "何も変わらない")
    page.go("settings")
    scene.tokens.revoke(digest_of(secret))
    page.press("button", "すべてをダウンロード")
    page.see(".notice", "このトークン")


def test_the_page_is_whole_below_a_path(page: Page, scene: Scene) -> None:
    """Where a reverse proxy has it there, it shows and follows all, and asks for nothing above."""
    with scene.below("/our/own/page") as url:
        beneath = Page(page.browser, url)
        page.browser.get(f"{url}/")
        requested(page.browser)
        beneath.enter(scene.secrets["ann"])
        beneath.see(".narrative", "Ann draws at night.")
        beneath.go("memories")
        scene.call(scene.memory.remember("Ann keeps wasps.", user_id="ann"))
        beneath.see(".words", "Ann keeps wasps.")  # an event has told it
        beneath.show(scene.secrets["ann"], "settings")
        asked = {one for one in requested(page.browser) if one.startswith("http")}
        assert {one for one in asked if not one.startswith(f"{url}/")} == {url}
        parts = {one.removeprefix(f"{url}/").partition("/")[0] for one in asked - {url}}
        assert parts >= {"page", "api"}
