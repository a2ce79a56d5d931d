"""The report of a store: whether it is healthy, and its quality as JSON and as one HTML page."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from html import escape
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from souffleur.knowledge.memory import Due
from souffleur.knowledge.quality import BIN, DAY, Counts, Failure, Mention, Pair, Quality
from souffleur.knowledge.turn import TurnState

SHOWN = 50
"""Of a list, so many are named; the rest is counted."""
WAITS_LONG = timedelta(days=1)
WAITS_IN_VAIN = timedelta(days=7)
"""From then on it seems that nothing judges at all."""

_REVIEWED = (Due.PROMOTION, Due.REVIEW)
"""What `souffleur run review` does; everything else that is due is done by `decay`."""


class Health(StrEnum):
    """How a store is."""

    OK = "ok"
    WARNING = "warning"
    """Something should be looked after; nothing is lost meanwhile."""
    BROKEN = "broken"
    """Something that was said is not remembered, and will not be until somebody acts."""


def health(quality: Quality) -> tuple[Health, list[str]]:
    """How the store is, and for each finding a sentence that says what to do; the worst first."""
    since = quality.waiting_since
    waited = quality.at - since if since else timedelta()
    broken = list(_set_aside(quality))
    warnings = [*_failing(quality), *_late(quality), *_wrong(quality)]
    if waited > WAITS_LONG:
        wait = count(quality.waiting, "turn or segment waits", "turns and segments wait")
        finding = (
            f"{wait}, the oldest for {count(waited // DAY, 'day')}: check that a model is "
            "configured and that the host runs, or have all of it judged with `souffleur retry`."
        )
        (broken if waited > WAITS_IN_VAIN else warnings).append(finding)
    state = Health.BROKEN if broken else Health.WARNING if warnings else Health.OK
    return state, [*broken, *warnings]


def to_json(quality: Quality) -> dict[str, Any]:
    """Plain data for a program: of each list of memories the count, and the first `SHOWN`."""
    state, findings = health(quality)
    told = {one.name: _plain(getattr(quality, one.name)) for one in fields(quality)}
    return {"health": {"state": str(state), "findings": findings}, **told}


def count(many: int, one: str, several: str = "") -> str:
    """A number and what it is of.

    >>> count(1, "turn"), count(1200, "turn"), count(2, "memory", "memories")
    ('1 turn', '1,200 turns', '2 memories')
    """
    return f"{many:,} {one if many == 1 else several or one + 's'}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(part) for key, part in asdict(value).items()}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        if value and isinstance(value[0], int):
            return list(value)
        return {"count": len(value), "first": [_plain(one) for one in value[:SHOWN]]}
    return value


def _set_aside(quality: Quality) -> Iterable[str]:
    if failed := quality.turns.get(TurnState.FAILED, 0):
        yield (
            f"{count(failed, 'turn was', 'turns were')} set aside, since no try to judge them "
            "succeeded: see why with `souffleur list --failed`, correct that, and run "
            "`souffleur retry`."
        )


def _failing(quality: Quality) -> Iterable[str]:
    failing = [one for one in quality.failures if one.what != "turn"]
    if failing:
        error = " ".join(failing[0].error.split())[:160]
        yield (
            f"{count(len(failing), 'episode or portrait', 'episodes or portraits')} could not be "
            f"written yet and will be tried again ({error}): correct that, or wait."
        )


def _late(quality: Quality) -> Iterable[str]:
    runs: dict[str, int] = {}
    for what, many in quality.late.items():
        run = "review" if what in _REVIEWED else "decay"
        runs[run] = runs.get(run, 0) + many
    for run, many in sorted(runs.items()):
        yield (
            f"{count(many, 'memory has', 'memories have')} been due for more than a day: run "
            f"`souffleur run {run}`, by cron if need be."
        )


def _wrong(quality: Quality) -> Iterable[str]:
    if many := len(quality.duplicates):
        newer = quality.duplicates[0].second
        example = f"souffleur forget {newer.id} --user {shlex.quote(newer.user_id)}"
        yield (
            f"{count(many, 'memory says', 'memories say')} word for word what another one says: "
            f"forget one of each pair, such as with `{example}`."
        )
    if many := len(quality.contradictions):
        yield (
            f"{count(many, 'pair')} of memories cannot both be so: forget the one that is not so "
            "with `souffleur forget`."
        )


def to_html(quality: Quality, *, title: str, zone: ZoneInfo) -> str:
    """One page that needs nothing else: no script, no file, no network. `zone`: of its times."""
    page = _Page(quality, zone)
    parts = (page.head, page.kept, page.worth, page.due, page.said_twice, page.unused)
    body = "\n".join(part() for part in (*parts, page.talk, page.ledger))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{body}
</body>
</html>
"""


class _Page:
    """The sections of the page, each with a sentence that says what it shows."""

    def __init__(self, quality: Quality, zone: ZoneInfo) -> None:
        self._quality = quality
        self._zone = zone

    def head(self) -> str:
        q = self._quality
        state, findings = health(q)
        whose = f"of {_text(q.user_id)}" if q.user_id is not None else "of everybody"
        listed = "".join(f"<li>{_text(one)}</li>" for one in findings)
        found = f"<ul>{listed}</ul>" if findings else "<p>There is nothing to do.</p>"
        numbers = {
            "users": q.users,
            "active memories": q.active,
            "turns": sum(q.turns.values()),
            "waiting": q.waiting,
            "failures": len(q.failures),
        }
        tiles = "".join(f"<div><b>{n:,}</b>{name}</div>" for name, n in numbers.items())
        when = f"{self._time(q.at)} ({_text(self._zone)})"
        return (
            f"<p>The memories {whose}, as they were on {when}.</p>"
            f'\n<div class="tiles">{tiles}</div>\n'
            f'<section class="{state}"><h2>Health: {state}</h2>{found}</section>'
        )

    def kept(self) -> str:
        q = self._quality
        return _section(
            "What is kept",
            "Only active memories are recalled; superseded, archived and forgotten ones are kept "
            "as history. Categories and kinds are those of the active ones.",
            _bars("States", q.states),
            _bars("Categories", q.categories),
            _bars("Kinds", q.kinds),
        )

    def worth(self) -> str:
        counts = self._quality.importance
        low = [f"{place * BIN:g}" for place in range(len(counts))]
        spans = [*(f"{a} to {b}" for a, b in pairwise(low)), f"{low[-1]} and more"]
        return _section(
            "What it is worth",
            "Active memories by their importance now, after fading. What nobody uses moves to the "
            "left; at the far right is what never fades.",
            _columns("Active memories by importance", counts, [*low[:-1], low[-1] + "+"], spans),
        )

    def due(self) -> str:
        q = self._quality
        begins = [q.at + place * DAY for place in range(len(q.due_by_day))]
        days = [f"{one.astimezone(self._zone):%m-%d}" for one in begins]
        labels = [day if place % 5 == 0 else "" for place, day in enumerate(days)]
        spans = [f"24 hours from {self._time(one)}" for one in begins]
        return _section(
            "What is due",
            "When something must next happen to a memory: a review, or that it goes. Each column "
            "is 24 hours, counted from the time of this report.",
            _columns("Memories due in the next 30 days", q.due_by_day, labels, spans),
            _bars("Due within 7 days", q.due_soon),
            _bars("Overdue", q.overdue),
            _bars("Overdue for more than a day", q.late),
        )

    def said_twice(self) -> str:
        q = self._quality
        cut = f" Only the {q.compared:,} newest of {q.active:,} were compared." if q.is_cut else ""
        return _section(
            "What stands beside each other and should not",
            "Memories of one user that say the same, or cannot both be so. Near-duplicates may be "
            f"meant: a judge can keep both.{cut}",
            self._pairs("The same words", q.duplicates),
            self._pairs("Nearly the same", q.near_duplicates),
            self._pairs("Open contradictions", q.contradictions),
        )

    def unused(self) -> str:
        q = self._quality
        return _section(
            "What may not be needed",
            "Stale: unchanged for 90 days and worth less than 0.5. Never recalled: older than 30 "
            "days and not once called for by a message.",
            self._mentions("Stale", q.stale),
            self._mentions("Never recalled", q.never_recalled),
        )

    def talk(self) -> str:
        q = self._quality
        since = (
            f" The oldest has waited since {self._time(q.waiting_since)}."
            if q.waiting_since
            else ""
        )
        rows = [self._failure(one) for one in q.failures[:SHOWN]]
        head = ("what", "user", "said", "tries", "why it failed")
        return _section(
            "What was said",
            "Turns are judged one by one; segments are stretches of talk that become episodes."
            f" {count(q.waiting, 'of them waits', 'of them wait')}.{since}",
            _bars("Turns", q.turns),
            _bars("Segments", q.segments),
            _table("Failures", len(q.failures), head, rows),
        )

    def ledger(self) -> str:
        q = self._quality
        cost = q.cost
        spent = {
            "calls": f"{cost.calls:,}",
            "tokens in": f"{cost.input_tokens:,}",
            "tokens out": f"{cost.output_tokens:,}",
            "dollars": f"{cost.dollars:.4f}",
        }
        tiles = "".join(f"<div><b>{number}</b>{name}</div>" for name, number in spent.items())
        return _section(
            "What was decided",
            f"Every op stands in the ledger, carried out or refused; {q.undone:,} of them were "
            "undone since. Cost is that of judging turns, as far as it was noted.",
            _bars("Carried out", q.verdicts),
            _bars("Refused", q.refusals),
            f'<h3>Cost</h3><div class="tiles">{tiles}</div>',
        )

    def _pairs(self, heading: str, pairs: Sequence[Pair]) -> str:
        rows = [
            [
                _text(pair.first.user_id),
                *(f"{_text(one.content)} {_id(one.id)}" for one in (pair.first, pair.second)),
                *([] if pair.cosine is None else [f"{pair.cosine:.3f}"]),
            ]
            for pair in pairs[:SHOWN]
        ]
        cosine = ["cosine"] if any(pair.cosine is not None for pair in pairs) else []
        return _table(heading, len(pairs), ["user", "older", "newer", *cosine], rows)

    def _mentions(self, heading: str, mentions: Sequence[Mention]) -> str:
        rows = [
            [
                _text(one.user_id),
                f"{_text(one.content)} {_id(one.id)}",
                f"{one.value:.2f}",
                self._time(one.created_at),
            ]
            for one in mentions[:SHOWN]
        ]
        return _table(heading, len(mentions), ("user", "memory", "worth", "learnt"), rows)

    def _failure(self, one: Failure) -> list[str]:
        at = self._time(one.at) if one.at else ""
        return [
            f"{one.what} {_id(one.id)}",
            _text(one.user_id),
            at,
            str(one.tries),
            _text(one.error),
        ]

    def _time(self, moment: datetime) -> str:
        return f"{moment.astimezone(self._zone):%Y-%m-%d %H:%M}"


def _section(heading: str, sentence: str, *parts: str) -> str:
    body = "\n".join(parts)
    return f"<section><h2>{heading}</h2><p>{sentence}</p>\n{body}\n</section>"


def _bars(heading: str, counts: Counts) -> str:
    """Names, bars as long as the counts are high, and the counts."""
    if not counts:
        return f"<h3>{heading}</h3><p>None.</p>"
    most = max(counts.values())
    rows = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td class="bar"><svg aria-hidden="true">'
        f'<rect width="{100 * many / most:.1f}%" height="100%" rx="2"/></svg></td>'
        f'<td class="number">{many:,}</td></tr>'
        for name, many in counts.items()
    )
    return f'<h3>{heading}</h3><table class="bars">{rows}</table>'


def _columns(
    heading: str, counts: Sequence[int], labels: Sequence[str], spans: Sequence[str]
) -> str:
    """A column for each count; `spans` say what each is of, where the pointer rests."""
    most, step = max(counts), 100 / len(counts)
    drawn = []
    for place, (many, label, span) in enumerate(zip(counts, labels, spans, strict=True)):
        height = max(2.0, _HEIGHT * many / most) if many else 0.0
        top, middle = _HEIGHT + 16 - height, (place + 0.5) * step
        crowded = len(counts) > 13 and place != counts.index(most)
        number = "" if crowded or not many else _words(middle, top - 4, f"{many:,}")
        drawn.append(
            f"<g><title>{escape(span)}: {many:,}</title>"
            f'<rect x="{(place + 0.1) * step:.2f}%" width="{0.8 * step:.2f}%" y="{top:.1f}" '
            f'height="{height:.1f}"/>{number}{_words(middle, _HEIGHT + 32, label)}</g>'
        )
    line = f'<line x1="0" x2="100%" y1="{_HEIGHT + 16.5}" y2="{_HEIGHT + 16.5}"/>'
    return (
        f'<h3>{heading}</h3><svg class="columns" role="img" aria-label="{heading}" '
        f'height="{_HEIGHT + 40}">{line}{"".join(drawn)}</svg>'
    )


def _words(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.2f}%" y="{y:.1f}">{escape(words)}</text>' if words else ""


def _table(heading: str, total: int, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells that are HTML already."""
    if not rows:
        return f"<h3>{heading}: 0</h3>"
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>and {total - len(rows):,} more</p>" if total > len(rows) else ""
    return (
        f"<h3>{heading}: {total:,}</h3><table><thead><tr>{names}</tr></thead>"
        f"<tbody>{lines}</tbody></table>{more}"
    )


def _text(words: object) -> str:
    """Somebody's words, escaped, and kept from turning the direction of what follows."""
    return f"<bdi>{escape(str(words))}</bdi>"


def _id(name: str) -> str:
    return f"<code>{escape(name[:8])}</code>"


_HEIGHT = 140
"""Of the highest column, in pixels."""

_STYLE = """
:root { --ground: #fbfaf8; --card: #fff; --ink: #23211e; --soft: #6b665e; --line: #dcd7ce;
  --bar: #3b6ea5; --good: #2f7d4f; --warn: #a86400; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #191817; --card: #232120; --ink: #ece8e1; --soft: #a59f95; --line: #3f3b37;
    --bar: #7fb0e6; --good: #6fc48f; --warn: #e8ad4a; --bad: #f2897f; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 0; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .3rem 0; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem; margin-top: 1rem; }
.ok, .warning, .broken { border-left: .4rem solid var(--good); }
.warning { border-left-color: var(--warn); }
.broken { border-left-color: var(--bad); }
ul { margin: .4rem 0; padding-left: 1.2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .6rem;
  margin-top: .8rem; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .5rem .8rem; color: var(--soft); }
.tiles b { display: block; font-size: 1.4rem; color: var(--ink); }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; }
thead th, tbody td { border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; }
.bars th { width: 9rem; font-weight: 400; }
.bars td { border: 0; }
.bars .number { width: 5rem; text-align: right; font-variant-numeric: tabular-nums; }
.bar svg { display: block; width: 100%; height: .8rem; margin-top: .3rem; }
.columns { display: block; width: 100%; }
rect { fill: var(--bar); }
line { stroke: var(--line); }
text { fill: var(--soft); font-size: 11px; text-anchor: middle; }
code { color: var(--soft); font-size: .8rem; }
"""
