"""Neglect: what has long been due in an embedded store that no run looks at."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from souffleur.knowledge.upkeep import run_log
from souffleur.reporting.report import count, duration
from souffleur.runs.decay import DUE_BY_RULE
from souffleur.runs.review import REVIEWED_DUE

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.settings import Settings

NEGLECTED_AFTER = timedelta(days=2)
"""Time for which something may be due, and no run come, before it is told."""


@dataclass(frozen=True)
class Neglect:
    """What is due by now, and which runs would do it."""

    memories: int
    """Number of memories that have been due for longer than `NEGLECTED_AFTER`."""
    waited: timedelta
    """How long the first of them has been due."""
    runs: tuple[str, ...]
    """Names of the runs that would look at them."""

    @property
    def text(self) -> str:
        """What it means, and what to do, in two sentences."""
        commands = " and ".join(f"`souffleur run {name}`" for name in self.runs)
        return (
            f"Nothing reviews memories or lets them go: "
            f"{count(self.memories, 'memory has', 'memories have')} long been due, the first "
            f"for {duration(self.waited)}. While a host has an embedded store open, no other "
            "process can: open it with schedule=True (SOUFFLEUR_SCHEDULE=true), or run "
            f"{commands} by cron while the host is stopped (schedule=False hides this)."
        )


async def find_neglect(
    knowledge: "KnowledgeBase", settings: "Settings", now: datetime, *, has_model: bool
) -> Neglect | None:
    """Return what has been due for two days in which no run came that would have looked at it.

    `None` if there is nothing, if the store is on a server, where a schedule may run beside the
    host, or if `schedule` was set, be it to `False`.
    """
    if settings.qdrant_url or "schedule" in settings.model_fields_set:
        return None
    before = now - NEGLECTED_AFTER
    kinds = {"review": REVIEWED_DUE, "decay": DUE_BY_RULE} if has_model else {"decay": DUE_BY_RULE}
    number, since, runs = 0, now, []
    for name, what in kinds.items():
        first = await knowledge.due(before, what, limit=1)
        latest = await run_log.latest(knowledge.journal, name=name, limit=1)
        if first and first[0].due_at and (not latest or latest[0].ended < before):
            number += await knowledge.count_due(before, what)
            since = min(since, first[0].due_at)
            runs.append(name)
    return Neglect(number, now - since, tuple(runs)) if runs else None
