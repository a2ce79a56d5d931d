"""What the tests of the page share."""

from collections.abc import Iterator

import pytest

from tests.browser import open_browser
from tests.page_scene import Page, Scene


@pytest.fixture(scope="module")
def page(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of a module's scene, in a browser of its own."""
    with open_browser(tmp_path_factory.mktemp("profile"), scene.url) as browser:
        yield Page(browser, scene.url)
