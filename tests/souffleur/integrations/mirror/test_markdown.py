"""The Markdown of a mirror: any words of a memory are read as they were written."""

from datetime import UTC, date, datetime

from hypothesis import example, given, strategies as st

from souffleur.integrations.mirror.markdown import (
    MEMORY,
    Entry,
    Page,
    Rejected,
    mark_of,
    parse_page,
    render_page,
)
from souffleur.knowledge.memory import Kind
from souffleur.knowledge.text.plain import is_blank

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
UGLY = ["#", "### [x] fact", "|", "\n", "\r\n", "\u2028", "\\", "<!--", "-->", "&#xd;", "&amp;"]
UGLY += ["## Active", "# Memory", "<!-- souffleur: a -->", "\u202eمرحبا", "\ufeff", "\t", "\x00"]
UGLY += [" ", "👩\u200d👩\u200d👧"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
WORDS = st.lists(st.one_of(st.sampled_from(UGLY), TEXT), min_size=1, max_size=12)
CONTENTS = WORDS.map("".join).map(str.strip).filter(lambda text: not is_blank(text))
IDS = st.uuids().map(str)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """An entry of a memory."""
    content = draw(CONTENTS)
    return Entry(
        content,
        draw(st.sampled_from(Kind)),
        id=draw(IDS),
        value=draw(st.integers(0, 10_000)) / 100,
        used_on=draw(st.dates(date(2000, 1, 1))),
        uses=draw(st.integers(0, 999)),
        mark=mark_of(content),
        archived=draw(st.booleans()),
    )


@given(st.lists(entries(), max_size=4), st.text(max_size=9))
@example([Entry("a\n### b\n#### c\n\\### d", Kind.FACT, "0" * 36)], "-->\n")
def test_what_is_written_is_read(some: list[Entry], user: str) -> None:
    """Every entry comes back as it was, also from a file that an editor saved its own way."""
    some = sorted(some, key=lambda one: one.archived)
    some = [Entry(**{**vars(one), "mark": mark_of(one.content)}) for one in some]
    text = render_page(MEMORY, user, Page(tuple(some)), NOW)
    assert parse_page(text) == Page(tuple(some))
    trimmed = "\r\n".join(line.rstrip() for line in text.split("\n"))
    assert parse_page("\ufeff" + trimmed.rstrip()) == Page(tuple(some))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60))
@example("### hobby\nSailing")
@example("a note\n\n## Active\n### fact\nAnn sings.\n### \n")
def test_no_text_is_lost(text: str) -> None:
    """Whatever stands in a file is an entry or is set aside, and stays so when written again."""
    page = parse_page(text)
    again = parse_page(render_page(MEMORY, "ann", page, NOW))
    assert [one.text for one in again.rejected] == [one.text for one in page.rejected]
    assert [one.content for one in again.entries] == [one.content for one in page.entries]


def test_what_is_broken_is_named_and_kept() -> None:
    """An unknown kind, a heading without words and loose text are rejected; the rest is read."""
    page = parse_page(
        "# Memory\n\nA note of mine.\n\n## Active\n\n### hobby | 0.9\nAnn sails.\n\n### fact\n\n"
        "### [new] preference | 0.5 |  | 0\nAnn likes tea.\nAnd cake.\n#### Really\n"
    )
    (entry,) = page.entries
    assert (entry.content, entry.kind) == ("Ann likes tea.\nAnd cake.\n#### Really", "preference")
    whys = [one.why for one in page.rejected]
    assert whys[0].startswith("text outside of an entry")
    assert whys[1].startswith("'hobby' is no kind of memory: write one of preference, fact")
    assert whys[2] == "there are no words below the heading"
    assert page.rejected[1] == Rejected("### hobby | 0.9\nAnn sails.", whys[1])
