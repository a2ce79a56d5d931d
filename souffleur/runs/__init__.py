"""Runs over what is due: reviews, decay, consolidation, portraits, contradictions, purge, report.

A run reads by index, changes through the ledger, and keeps no state of its own: what was done is
no longer due, so a stopped run resumes where it was, and a repeated one does nothing.
"""

from souffleur.runs.consolidate import run_consolidate
from souffleur.runs.contradictions import run_contradictions
from souffleur.runs.decay import run_decay
from souffleur.runs.profile import run_profile
from souffleur.runs.purge import run_purge
from souffleur.runs.review import run_review
from souffleur.runs.run import RunItem, RunLimits, RunOptions, RunResult

__all__ = [
    "RunItem",
    "RunLimits",
    "RunOptions",
    "RunResult",
    "run_consolidate",
    "run_contradictions",
    "run_decay",
    "run_profile",
    "run_purge",
    "run_review",
]
