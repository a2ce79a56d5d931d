"""The quality report: a store with a bit of everything, in numbers, as page, JSON and health."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from souffleur.cli.report import print_report
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Add, Op, Skip
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.turn import TurnState
from souffleur.report.page import to_html
from souffleur.report.quality import Cost, Failure, MemoryRef, Pair, Quality, measure
from souffleur.report.report import Status, health, to_json
from tests.build import NOW, days, memory, turn, verdict

EVIL = "<script>alert('é')</script>"
ZONE = ZoneInfo("Asia/Shanghai")


def aged(content: str, age: float, **fields: Any) -> Memory:
    """A memory made, anchored and last changed so many days ago."""
    then = NOW - days(age)
    at = {"anchor_at": then, "created_at": then, "updated_at": then}
    return memory(content, **{**at, **fields})


async def put(base: KnowledgeBase, memories: Sequence[Memory]) -> None:
    vectors = await base.embedder.embed([one.content for one in memories])
    await base.memories.put([to_point(*both) for both in zip(memories, vectors, strict=True)])


async def keep_memories(base: KnowledgeBase) -> None:
    """Ten of ann's that are active, one of bob's, and three that are not."""
    chess = "Ann plays chess with Tom on a Sunday."
    await put(
        base,
        [
            memory("Ann likes tea.", importance=2.5, created_at=NOW - days(1)),
            memory("ann likes  TEA", importance=0.7),
            memory("Ann likes tea.", id=bob_id(), user_id=EVIL),
            memory("Ann plays chess with Tom on Sundays.", kind=Kind.PATTERN),
            memory(chess, created_at=NOW - days(3), expires_at=NOW + days(3)),
            aged("Ann once had a cold.", 100, kind=Kind.CONTEXT),
            aged("Ann is a baker.", 120, category=Category.CORE, importance=3.0),
            aged("Ann talked about films.", 40, category=Category.EPISODE),
            aged("Ann lives in Lyon.", 2),
            aged("Ann lives in Oslo.", 1),
            aged("Ann has two cats.", 2),
            aged("Ann has no cats, but dogs.", 1, valid_until=NOW),
            memory("Ann used to smoke.", state=MemoryState.SUPERSEDED),
            memory("Ann owes Bob.", state=MemoryState.FORGOTTEN),
            memory("Ann may move.", state=MemoryState.PENDING),
        ],
    )


def bob_id() -> str:
    return memory("of bob").id


async def keep_talk(base: KnowledgeBase) -> None:
    """Five turns, of which two were judged in one call; segments and portraits, one of each bad."""
    said = [turn("tea?", "ok", turn_id=str(n), at=NOW - days((4 - n) / 1440)) for n in range(5)]
    for one in said:
        base.journal.record(one)
    turns = await base.journal.turns()
    ops: list[Op] = [
        Add(reason="r", quote="two cups", content="Ann drinks two cups."),
        Add(reason="r", quote="never said", content="Ann drinks wine."),
    ]
    two, _ = await base.apply(verdict(*ops, user="two cups"), turns=turns[:2])
    await base.apply(verdict(Skip(reason="r"), name=2), turns=turns[2:3])
    cost = {"calls": 2, "input_tokens": 900, "output_tokens": 40, "cost": 0.01}
    await base.journal.mark(turns[:2], judged={"reason": "r", **cost})
    await base.journal.mark(turns[2:3], judged={"reason": "r", **cost})
    await base.journal.mark(turns[3:4], state=TurnState.FAILED, tries=3, error="500: oops")
    await base.undo(two.id, by=Actor(who=ActorKind.USER), now=NOW, user_id=None)
    base.sessions.end("ann", "s1")
    (left,) = await base.sessions.waiting_segments()
    failed = left.model_copy(update={"tries": 2, "error": "cut off"})
    await base.sessions.save([failed, left.model_copy(update={"id": bob_id()})])
    await base.sessions.save_portrait_status(
        PortraitStatus(user_id="ann", tries=1, error="lost a name")
    )
    await base.sessions.save_portrait_status(PortraitStatus(user_id=EVIL))


def contents(mentions: Sequence[MemoryRef]) -> list[str]:
    return [one.content for one in mentions]


def both(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    return [(pair.first.content, pair.second.content) for pair in pairs]


async def test_what_is_kept_is_counted(base: KnowledgeBase) -> None:
    """States are of all memories; categories, kinds and values of the active ones."""
    await keep_memories(base)
    found = await measure(base, NOW)
    assert found.users == 2
    assert found.states == {"active": 12, "forgotten": 1, "pending": 1, "superseded": 1}
    assert found.categories == {"fact": 10, "core": 1, "episode": 1}
    assert found.kinds == {"fact": 10, "context": 1, "pattern": 1}
    # nothing: the cold and the films; 0.7: tea; 1.0: the usual; 2.5: tea; 3.0: the core
    assert found.importance == (2, 0, 1, 0, 7, 0, 0, 0, 0, 0, 1, 0, 1)
    assert sum(found.importance) == found.active == 12


async def test_what_is_due_is_counted(base: KnowledgeBase) -> None:
    """By what for: soon, overdue, overdue for more than a day; and by day for a month."""
    await keep_memories(base)
    found = await measure(base, NOW)
    assert found.due_soon == {"expire": 1}
    assert found.overdue == {"forget": 1, "promotion": 1, "review": 1}
    assert found.late == {"forget": 1, "review": 1}
    assert {day: n for day, n in enumerate(found.due_by_day) if n} == {
        3: 1,
        13: 1,
        18: 2,
        19: 2,
        20: 2,
    }
    half = await measure(base, NOW + days(0.5))
    assert (half.overdue["promotion"], half.late) == (1, {"forget": 1, "review": 1})
    later = await measure(base, NOW + days(3))
    assert later.overdue == {"expire": 1, "forget": 1, "promotion": 1, "review": 1}
    assert later.late["promotion"] == 1


async def test_what_stands_beside_each_other(base: KnowledgeBase) -> None:
    """Doubles and near-doubles of a user, the older one first."""
    await keep_memories(base)
    found = await measure(base, NOW)
    assert both(found.duplicates) == [("Ann likes tea.", "ann likes  TEA")]
    chess = ("Ann plays chess with Tom on a Sunday.", "Ann plays chess with Tom on Sundays.")
    assert both(found.near_duplicates) == [chess]
    assert found.near_duplicates[0].cosine == pytest.approx(0.9994, abs=0.001)
    assert (found.compared, found.is_cut) == (12, False)


async def test_what_is_unused(base: KnowledgeBase) -> None:
    """Stale is old and worth little; episodes are never said to be never recalled."""
    await keep_memories(base)
    found = await measure(base, NOW)
    assert contents(found.stale) == ["Ann once had a cold."]
    assert found.stale[0].value == pytest.approx(0.95**93)
    assert contents(found.never_recalled) == ["Ann is a baker.", "Ann once had a cold."]
    await base.note_recalled([found.stale[0].id])
    assert contents((await measure(base, NOW)).never_recalled) == ["Ann is a baker."]


async def test_what_was_said_and_decided(base: KnowledgeBase) -> None:
    """Turns, segments, failures, ops and refusals; what was judged in one call is paid once."""
    await keep_talk(base)
    found = await measure(base, NOW)
    assert found.turns == {"judged": 3, "failed": 1, "pending": 1}
    assert found.segments == {"waiting": 2}
    assert (found.waiting, found.waiting_since) == (3, NOW)
    assert [(one.what, one.user_id, one.tries, one.error) for one in found.failures] == [
        ("portrait", "ann", 1, "lost a name"),
        ("segment", "ann", 2, "cut off"),
        ("turn", "ann", 3, "500: oops"),
    ]
    assert found.verdicts == {"ADD": 1, "SKIP": 1, "UNDO": 1}
    assert (found.refusals, found.undone) == ({"ungrounded": 1}, 1)
    assert found.cost == Cost(4, 1800, 80, 0.02)


async def test_a_cost_counts_once(base: KnowledgeBase) -> None:
    """That of a review or an episode, which has no turn, and that of a turn, noted twice."""
    spent = {"calls": 2, "input_tokens": 900, "output_tokens": 40, "cost": 0.01}
    base.journal.record(turn("tea?", "ok"))
    turns = await base.journal.turns()
    await base.apply(verdict(Skip(reason="r"), Skip(reason="r"), cost=spent), turns=turns)
    await base.apply(verdict(Skip(reason="r"), name=2, cost=spent))
    assert (await measure(base, NOW)).cost == Cost(4, 1800, 80, 0.02)


async def test_costs_by_day_and_user(base: KnowledgeBase) -> None:
    """The latest day first, then the dearest, by the days of the zone; together they are all."""

    async def spend(user_id: str, at: datetime, dollars: float) -> None:
        cost = {"calls": 1, "input_tokens": 300, "output_tokens": 20, "cost": dollars}
        asked = verdict(Skip(reason="r"), user_id=user_id, name=dollars, at=at, cost=cost)
        await base.apply(asked)

    late = NOW.replace(hour=23, minute=30)  # there, the next day has begun
    await spend("ann", NOW, 0.01)
    await spend("ann", NOW, 0.02)
    await spend("bob", NOW, 0.04)
    await spend("ann", late, 0.08)
    base.journal.record(turn("tea?", "ok"))
    failed = {"calls": 2, "input_tokens": 50, "output_tokens": 5, "cost": 0.03}
    await base.journal.mark(await base.journal.turns(), spent=failed)
    found = await measure(base, NOW, zone=ZONE)
    said = [(str(one.day), one.user_id, one.cost) for one in found.spending]
    assert said == [
        ("2026-01-04", "ann", Cost(1, 300, 20, 0.08)),
        ("2026-01-03", "ann", Cost(4, 650, 45, 0.06)),
        ("2026-01-03", "bob", Cost(1, 300, 20, 0.04)),
    ]
    assert sum(one.cost.dollars for one in found.spending) == pytest.approx(found.cost.dollars)
    page = " ".join(" ".join(Tags(to_html(found, title="t", zone=ZONE)).words).split())
    assert "Cost by day and user: 3 day user calls tokens in tokens out dollars" in page
    assert "2026-01-03 bob 1 300 20 0.0400" in page
    first = json.loads(json.dumps(to_json(found)))["spending"]["first"][0]
    assert (first["day"], first["cost"]["calls"]) == ("2026-01-04", 1)


async def test_one_user_alone(base: KnowledgeBase) -> None:
    """A report about one user has no number of another."""
    await keep_memories(base)
    await keep_talk(base)
    found = await measure(base, NOW, user_id=EVIL)
    assert (found.users, found.active, found.turns, found.verdicts) == (1, 1, {}, {})
    assert (found.duplicates, found.failures) == ((), ())
    assert "Lyon" not in to_html(found, title="t", zone=ZONE)


async def test_an_empty_store(base: KnowledgeBase) -> None:
    """All is nought, and well; the page is there."""
    found = await measure(base, NOW)
    assert (found.users, found.states, found.turns, found.compared) == (0, {}, {}, 0)
    assert (found.importance, found.due_by_day) == ((0,) * 13, (0,) * 30)
    assert (found.waiting_since, found.cost) == (None, Cost())
    assert health(found) == (Status.OK, [])
    assert "There is nothing to do." in to_html(found, title="t", zone=ZONE)
    assert to_json(found)["duplicates"] == {"count": 0, "first": []}


async def test_a_large_store_is_compared_in_part(base: KnowledgeBase) -> None:
    """The newest are compared, with all of the same user; the page says how many of how many."""
    old = aged("Ann plays chess with Tom on Sundays.", 3)
    others = [aged(f"Ann met {name} once.", 9) for name in ("Tom", "Kim", "Lee")]
    theirs = aged(old.content, 4, id=bob_id(), user_id="bob")
    await put(base, [old, *others, theirs, memory("Ann plays chess with Tom on a Sunday.")])
    found = await measure(base, NOW, max_compared=1)
    assert (found.compared, found.is_cut, len(found.near_duplicates)) == (1, True, 1)
    assert "Only the 1 newest of 6 were compared" in to_html(found, title="t", zone=ZONE)


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects their names and what they point to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


async def test_the_page_is_whole_and_harmless(base: KnowledgeBase) -> None:
    """Tags are closed, nothing is fetched or run, and what people wrote is text wherever it is."""
    await keep_talk(base)
    await put(base, [memory(EVIL), memory(f"{EVIL}!"), aged(f"old {EVIL}", 200, user_id=EVIL)])
    evil = {"state": TurnState.FAILED, "error": EVIL}
    await base.journal.mark((await base.journal.turns())[4:], **evil)
    found = await measure(base, NOW)
    for page in (
        to_html(found, title=EVIL, zone=ZONE),
        to_html(await measure(base, NOW, user_id=EVIL), title="t", zone=ZONE),
    ):
        tags = Tags(page)
        assert not tags.names & {"script", "link", "img", "iframe", "image", "use", "a"}
        assert not tags.attributes & {"src", "href", "style", "onload"}
        assert "url(" not in page
        assert "@import" not in page
        assert tags.words.count(EVIL) >= 2
    words = Tags(to_html(found, title=EVIL, zone=ZONE)).words
    assert [words.count(text) for text in (f"{EVIL}!", f"old {EVIL}")] == [1, 2]


@given(st.text(alphabet="<>&\"'`/!-\n\u202eaé{%}#", max_size=20))
def test_any_words_stay_words(words: str) -> None:
    """Whatever a memory, a user or an error is called, the page has the same tags."""
    one = MemoryRef("1" * 32, words, words, 1.0, NOW)
    fields: dict[str, Any] = {"duplicates": (Pair(one, one),), "stale": (one,)}

    def tags(words: str) -> tuple[set[str], set[str]]:
        failed = Failure("turn", one.id, words, NOW, 1, words)
        found = replace(well(), user_id=words, failures=(failed,), kinds={words: 1}, **fields)
        page = Tags(to_html(found, title=words, zone=ZONE))
        assert words in "".join(page.words)
        return page.names, page.attributes

    assert tags(words) == tags("a")


async def test_the_page_shows_what_was_measured(base: KnowledgeBase) -> None:
    """Plots have a column for each bin and day, in the reader's time; tables are counted."""
    await keep_memories(base)
    await keep_talk(base)
    page = to_html(await measure(base, NOW), title="Ann's store", zone=ZONE)
    words = " ".join(Tags(page).words)
    assert "2026-01-03 18:00" in words
    for told in ("1 to 1.25: 7", "3 and more: 1", "24 hours from 2026-01-06 18:00: 1", "Stale: 1"):
        assert told in words
    assert "500: oops" in words
    assert page.count("<title>") == 1 + 13 + 30
    assert "light-dark(" in page
    many = [aged(f"Ann saw film {n}.", 200) for n in range(60)]
    await put(base, many)
    found = await measure(base, NOW)
    words = " ".join(Tags(to_html(found, title="t", zone=ZONE)).words)
    assert len(to_json(found)["stale"]["first"]) == 50
    assert "Stale: 61" in words
    assert "and 11 more" in words


async def test_the_json_is_plain(base: KnowledgeBase) -> None:
    """All of it can be written as JSON; lists are counted, and named up to a limit."""
    await keep_memories(base)
    await keep_talk(base)
    told = json.loads(json.dumps(to_json(await measure(base, NOW))))
    assert (told["at"], told["user_id"]) == ("2026-01-03T10:00:00+00:00", None)
    assert told["importance"][4] == 7
    assert told["cost"]["input_tokens"] == 1800
    assert told["stale"]["count"] == 1
    assert told["stale"]["first"][0]["content"] == "Ann once had a cold."
    assert told["duplicates"]["first"][0]["second"]["content"] == "ann likes  TEA"
    assert told["health"]["state"] == "broken"


def well() -> Quality:
    """An empty store, as if it had been measured."""
    none: dict[str, int] = {}
    counts: dict[str, Any] = dict.fromkeys(
        ("states", "categories", "kinds", "due_soon", "overdue", "late", "turns", "segments"), none
    )
    lists: dict[str, Any] = dict.fromkeys(
        (
            "duplicates",
            "near_duplicates",
            "stale",
            "never_recalled",
            "failures",
            "runs",
            "spending",
        ),
        (),
    )
    return Quality(
        at=NOW,
        user_id=None,
        users=0,
        importance=(0,) * 13,
        due_by_day=(0,) * 30,
        compared=0,
        waiting_since=None,
        verdicts=none,
        refusals=none,
        undone=0,
        cost=Cost(),
        **counts,
        **lists,
    )


def mention(name: str) -> MemoryRef:
    return MemoryRef(name, "ann o'hara", "Ann likes tea.", 1.0, NOW)


def test_the_older_of_a_pair_stands_first() -> None:
    """However the two were found."""
    old, new = replace(mention("z"), created_at=NOW - days(1)), mention("a")
    assert Pair.of(old, new) == Pair.of(new, old) == Pair(old, new)


FAILED = Failure("turn", "t", "ann", NOW, 3, "oops")
PAIR = Pair(mention("m1"), mention("m2"))


@pytest.mark.parametrize(
    ("trouble", "state", "advice"),
    [
        (
            {"turns": {"failed": 2}, "failures": (FAILED,)},
            Status.BROKEN,
            "2 turns were set aside|souffleur retry`",
        ),
        ({"failures": (Failure("segment", "s", "ann", NOW, 1, "oops"),)}, Status.WARNING, "(oops)"),
        ({"late": {"promotion": 1, "review": 1}}, Status.WARNING, "2 memories|run review`"),
        ({"late": {"expire": 1}}, Status.WARNING, "1 memory has been due|run decay`"),
        ({"overdue": {"review": 9}, "due_soon": {"review": 9}}, Status.OK, ""),
        ({"duplicates": (PAIR,)}, Status.WARNING, "souffleur forget m2 --user 'ann o'\"'\"'hara'`"),
        ({"near_duplicates": (PAIR,)}, Status.OK, ""),
    ],
)
def test_each_trouble_has_its_sentence(trouble: dict[str, Any], state: Status, advice: str) -> None:
    """Each problem has one sentence with advice; a normal state has no sentence."""
    found, findings = health(replace(well(), **trouble))
    assert found is state
    assert len(findings) == bool(advice)
    for part in filter(None, advice.split("|")):
        assert part in findings[0]


@pytest.mark.parametrize(
    ("waited", "state"),
    [(0.04, Status.OK), (0.05, Status.WARNING), (6.9, Status.WARNING), (7.1, Status.BROKEN)],
)
def test_waiting_is_no_trouble_for_an_hour(waited: float, state: Status) -> None:
    """After an hour it is worth a look; after a week nothing seems to judge at all."""
    turns = {"pending": 3}
    found = health(replace(well(), turns=turns, waiting_since=NOW - days(waited)))
    assert found[0] is state
    assert found[1] == [] or "3 turns and segments wait" in found[1][0]


def test_the_worst_is_said_first() -> None:
    """What breaks stands above what warns."""
    late = replace(well(), late={"review": 1}, turns={"failed": 1})
    state, findings = health(late)
    assert state is Status.BROKEN
    assert [finding.split()[1] for finding in findings] == ["turn", "memory"]


async def test_the_report_in_a_terminal(
    base: KnowledgeBase, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person sees tables, a program JSON; markup in what people wrote is text."""
    await keep_memories(base)
    await keep_talk(base)
    await put(base, [aged("Ann likes [red]wine[/red].", 200)])
    found = await measure(base, NOW)
    print_report(found, ZoneInfo("Asia/Shanghai"))
    out = capsys.readouterr().out
    for told in ("health: broken", "2026-01-03 18:00", "[red]wine[/red]", "stale: 2", "500: oops"):
        assert told in out
    print_report(well(), ZoneInfo("UTC"))
    assert "health: ok" in capsys.readouterr().out
