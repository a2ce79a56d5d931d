"""The report's page: what templates may use, and the memories on it with their histories."""

from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Kind
from souffleur.knowledge.operation import Forget, Update
from souffleur.report.page import MAX_CURRENT, read_memories, render, to_html
from souffleur.report.quality import measure
from tests.build import NOW, by_hand, keep, memory
from tests.souffleur.report.test_report import Tags, put
from tests.stores import empty_base

EVIL = "<script>alert('é')</script>"


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[KnowledgeBase]:
    """A store in which ann moved, wanted something forgotten, and said markup."""
    opened = await empty_base(tmp_path, dimension=64)
    await keep(opened, "Ann lives in Oslo.", kind=Kind.CONTEXT)
    (oslo,) = await opened.list("ann")
    moved = Update(target=oslo.id, reason=EVIL, quote="", content="Ann lives in Bergen.")
    await by_hand(opened, moved)
    crush = await keep(opened, "Ann is in love with Tom.")
    await by_hand(opened, Forget(target=crush.id, reason="told to"))
    await keep(opened, f"Ann says {EVIL}.")
    yield opened
    await opened.close()


async def page_of(base: KnowledgeBase, user_id: str | None = None) -> str:
    found = await measure(base, NOW, user_id=user_id)
    shown = await read_memories(base, NOW, user_id=user_id)
    return to_html(found, shown, title="t", zone=ZoneInfo("UTC"))


async def test_each_memory_tells_how_it_came_to_be(base: KnowledgeBase) -> None:
    """It has its value, kind and ledger; what replaced another one says so, and the other too."""
    shown = await read_memories(base, NOW)
    by_words = {one.memory.content: one for one in (*shown.current, *shown.former)}
    new, old = by_words["Ann lives in Bergen."], by_words["Ann lives in Oslo."]
    assert [event.entry.op for event in old.events] == ["ADD", "UPDATE"]
    assert old.events[1].others == (("replaced by", "Ann lives in Bergen."),)
    assert new.events[0].others == (("instead of", "Ann lives in Oslo."),)
    assert new.label == "context"
    assert new.value == pytest.approx(1.0)
    words = " ".join(" ".join(Tags(await page_of(base)).words).split())
    assert "1.00 Ann lives in Bergen. context · ann" in words
    assert "never fades" in words
    assert "replaced by “Ann lives in Bergen.”" in words


async def test_what_is_not_for_the_reader_is_not_shown(base: KnowledgeBase) -> None:
    """The page has no words of a forgotten memory, and a user's page none of another user."""
    await put(base, [memory("Bob has a secret crush.", user_id="bob")])
    assert "in love with Tom" not in await page_of(base)
    assert "secret crush" in await page_of(base)
    assert "secret crush" not in await page_of(base, "ann")


async def test_markup_in_memories_and_reasons_is_text(base: KnowledgeBase) -> None:
    """Whatever was said, there is no script on the page, and the words stand as they were."""
    tags = Tags(await page_of(base))
    assert not tags.names & {"script", "link", "img", "iframe", "a"}
    assert {EVIL, f"Ann says {EVIL}."} <= set(tags.words)


async def test_a_large_store_is_shown_in_part(base: KnowledgeBase) -> None:
    """The most valuable memories are shown, and the rest is counted."""
    many = [memory(f"Ann saw film {n}.", importance=0.5) for n in range(MAX_CURRENT)]
    await put(base, many)
    shown = await read_memories(base, NOW)
    assert (len(shown.current), shown.current_count) == (MAX_CURRENT, MAX_CURRENT + 2)
    assert {"Ann lives in Bergen.", f"Ann says {EVIL}."} <= {
        one.memory.content for one in shown.current
    }
    assert "and 2 more" in await page_of(base)


def test_what_a_template_lacks_is_an_error() -> None:
    """A name that was not given, and a file that is not there, are never shown as nothing."""
    with pytest.raises(UndefinedError, match="title"):
        render("souffleur.report", "layout.html", style="report.css")
    with pytest.raises(TemplateNotFound):
        render("souffleur.report", "evals.html")


def test_markup_is_escaped_in_every_template() -> None:
    """Whatever the file is called, and between quotes as well."""
    page = render("souffleur.report", "layout.html", title="""<b> & "'""", style="report.css")
    assert page.count("&lt;b&gt; &amp; &#34;&#39;") == 2
