"""The page of a report: what was measured in a store, drawn as one HTML file that needs nothing."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from souffleur.knowledge.upkeep.quality import Quality
from souffleur.knowledge.upkeep.tally import BIN, DAY, Failure, Mention, Pair
from souffleur.reporting.drawing import (
    STYLE,
    advice,
    bars,
    columns,
    page,
    section,
    short_id,
    table,
    text,
)
from souffleur.reporting.report import SHOWN, count, duration, health, outcome, spent


def to_html(quality: Quality, *, title: str, zone: ZoneInfo) -> str:
    """One page that needs nothing else: no script, no file, no network. `zone`: of its times."""
    told = _Page(quality, zone)
    parts = (told.head, told.kept, told.worth, told.due, told.said_twice, told.unused)
    body = "\n".join(part() for part in (*parts, told.talk, told.ledger, told.runs))
    return page(title, STYLE, body)


class _Page:
    """The sections of the page, each with a sentence that says what it shows."""

    def __init__(self, quality: Quality, zone: ZoneInfo) -> None:
        self._quality = quality
        self._zone = zone

    def head(self) -> str:
        q = self._quality
        state, findings = health(q)
        whose = f"of {text(q.user_id)}" if q.user_id is not None else "of everybody"
        listed = "".join(f"<li>{advice(one)}</li>" for one in findings)
        found = f"<ul>{listed}</ul>" if findings else "<p>There is nothing to do.</p>"
        numbers = {
            "users": q.users,
            "active memories": q.active,
            "turns": sum(q.turns.values()),
            "waiting": q.waiting,
            "failures": len(q.failures),
        }
        tiles = "".join(f"<div><b>{n:,}</b>{name}</div>" for name, n in numbers.items())
        when = f"{self._time(q.at)} ({text(self._zone)})"
        return (
            f"<p>The memories {whose}, as they were on {when}.</p>"
            f'\n<div class="tiles">{tiles}</div>\n'
            f'<section class="{state}"><h2>Health: {state}</h2>{found}</section>'
        )

    def kept(self) -> str:
        q = self._quality
        return section(
            "What is kept",
            "Only active memories are recalled; superseded, archived and forgotten ones are kept "
            "as history. Categories and kinds are those of the active ones.",
            bars("States", q.states),
            bars("Categories", q.categories),
            bars("Kinds", q.kinds),
        )

    def worth(self) -> str:
        counts = self._quality.importance
        low = [f"{place * BIN:g}" for place in range(len(counts))]
        spans = [*(f"{a} to {b}" for a, b in pairwise(low)), f"{low[-1]} and more"]
        return section(
            "What it is worth",
            "Active memories by their importance now, after fading. What nobody uses moves to the "
            "left; at the far right is what never fades.",
            columns("Active memories by importance", counts, [*low[:-1], low[-1] + "+"], spans),
        )

    def due(self) -> str:
        q = self._quality
        begins = [q.at + place * DAY for place in range(len(q.due_by_day))]
        days = [f"{one.astimezone(self._zone):%m-%d}" for one in begins]
        labels = [day if place % 5 == 2 else "" for place, day in enumerate(days)]
        spans = [f"24 hours from {self._time(one)}" for one in begins]
        return section(
            "What is due",
            "When something must next happen to a memory: a review, or that it goes. Each column "
            "is 24 hours, counted from the time of this report.",
            columns("Memories due in the next 30 days", q.due_by_day, labels, spans),
            bars("Due within 7 days", q.due_soon),
            bars("Overdue", q.overdue),
            bars("Overdue for more than a day", q.late),
        )

    def said_twice(self) -> str:
        q = self._quality
        cut = f" Only the {q.compared:,} newest of {q.active:,} were compared." if q.is_cut else ""
        return section(
            "What stands beside each other and should not",
            "Memories of one user that say the same, or cannot both be so. Near-duplicates may be "
            f"meant: a judge can keep both.{cut}",
            self._pairs("The same words", q.duplicates),
            self._pairs("Nearly the same", q.near_duplicates),
            self._pairs("Open contradictions", q.contradictions),
        )

    def unused(self) -> str:
        q = self._quality
        return section(
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
        head = ("what", "user", "when", "tries", "why it failed")
        return section(
            "What was said",
            "Turns are judged one by one; segments are stretches of talk that become episodes."
            f" {count(q.waiting, 'of them waits', 'of them wait')}.{since}",
            bars("Turns", q.turns),
            bars("Segments", q.segments),
            table("Failures", len(q.failures), head, rows),
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
        return section(
            "What was decided",
            f"Every op stands in the ledger, carried out or refused; {q.undone:,} of them were "
            "undone since. Cost is that of all models, as far as it was noted.",
            bars("Carried out", q.verdicts),
            bars("Refused", q.refusals),
            f'<h3>Cost</h3><div class="tiles">{tiles}</div>',
        )

    def runs(self) -> str:
        runs = self._quality.runs
        rows = [
            [
                f"{text(run.name)} of {text(run.of_user or 'everybody')}",
                self._time(run.began),
                duration(run.ended - run.began),
                text(outcome(run)),
                spent(run),
            ]
            for run in runs
        ]
        return section(
            "Runs",
            "What was done without being asked for in a message, the latest first. What failed in "
            "a run stays due for the next one."
            + (f" These have cost {spent(*runs)} together." if runs else ""),
            table("Latest runs", len(runs), ("run", "began", "took", "result", "cost"), rows),
        )

    def _pairs(self, heading: str, pairs: Sequence[Pair]) -> str:
        rows = [
            [
                text(pair.first.user_id),
                *(f"{text(one.content)} {short_id(one.id)}" for one in (pair.first, pair.second)),
                *([] if pair.cosine is None else [f"{pair.cosine:.3f}"]),
            ]
            for pair in pairs[:SHOWN]
        ]
        cosine = ["cosine"] if any(pair.cosine is not None for pair in pairs) else []
        return table(heading, len(pairs), ["user", "older", "newer", *cosine], rows)

    def _mentions(self, heading: str, mentions: Sequence[Mention]) -> str:
        rows = [
            [
                text(one.user_id),
                f"{text(one.content)} {short_id(one.id)}",
                f"{one.value:.2f}",
                self._time(one.created_at),
            ]
            for one in mentions[:SHOWN]
        ]
        return table(heading, len(mentions), ("user", "memory", "worth", "learnt"), rows)

    def _failure(self, one: Failure) -> list[str]:
        at = self._time(one.at) if one.at else ""
        whose = text(one.user_id or "everybody")
        return [f"{one.what} {short_id(one.id)}", whose, at, str(one.tries), text(one.error)]

    def _time(self, moment: datetime) -> str:
        return f"{moment.astimezone(self._zone):%Y-%m-%d %H:%M}"
