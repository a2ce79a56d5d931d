"""Chromium, for tests that look at a page as its reader does."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="no browser: `apt-get install chromium chromium-driver` brings both programs",
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = {"desk": 1200, "phone": 400}

CONTRASTS = """
const parts = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => parts(colour).slice(0, 3)
  .map(one => one / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
  .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
const clear = colour => parts(colour)[3] === 0;
const ground = one => {
  const colour = getComputedStyle(one).backgroundColor;
  return clear(colour) && one.parentElement ? ground(one.parentElement) : light(colour);
};
const contrast = (one, colour) => {
  const both = [light(colour), ground(one)];
  return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), one.outerHTML.slice(0, 99)];
};
const all = [...document.body.querySelectorAll('*')];
const has = one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
const text = all.filter(one => has(one) && one.localName !== 'title').map(one =>
  contrast(one, getComputedStyle(one)[one.localName === 'text' ? 'fill' : 'color']));
const bars = all.filter(one => one.localName === 'rect').map(one =>
  contrast(one, getComputedStyle(one).fill));
return {text, bars, ground: ground(document.body)};
"""
"""Of each text and bar the contrast to its ground, by the relative luminance of WCAG 2.2."""


@contextmanager
def open_browser(profile: Path, page: Path | str) -> Iterator[Chrome]:
    """Open a page in a browser of its own, and close it."""
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with Chrome(options=options, service=ChromeService(DRIVER)) as browser:
        browser.get(page if isinstance(page, str) else page.as_uri())
        yield browser


def set_width(browser: Chrome, wide: int) -> None:
    """Show the page on a screen of so many pixels."""
    screen = {"width": wide, "height": 900, "deviceScaleFactor": 1, "mobile": wide < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def logged(browser: Chrome, kind: str) -> list[dict[str, Any]]:
    """Return what it has logged since it was last asked."""
    lines: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return lines


def requested(browser: Chrome) -> set[str]:
    """Return the addresses that were asked for."""
    entries = [json.loads(line["message"])["message"] for line in logged(browser, "performance")]
    sent = [one["params"] for one in entries if one["method"] == "Network.requestWillBeSent"]
    ours = [one for one in sent if not one["documentURL"].startswith("chrome:")]  # its own new tab
    return {one["request"]["url"] for one in ours}


def check_contrasts(browser: Chrome, scheme: str) -> None:
    """Check that text stands out from its ground by 4.5 to 1, and bars by 3 to 1."""
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    contrasts = browser.execute_script(CONTRASTS)
    assert contrasts["ground"] < 0.05 if scheme == "dark" else contrasts["ground"] > 0.9
    assert len(contrasts["text"]) > 100
    assert min(contrasts["text"])[0] >= 4.5, min(contrasts["text"])
    assert min(contrasts["bars"])[0] >= 3, min(contrasts["bars"])
