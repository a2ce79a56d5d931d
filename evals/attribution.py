"""Attribution: which of the turns judged in one call an op belongs to."""

from collections.abc import Sequence

from souffleur.evals.fixture import to_op_records
from souffleur.evals.result import OpRecord
from souffleur.evals.scoring import could_meet
from souffleur.evals.script import ScriptTurn
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.text.match import find_quote
from souffleur.knowledge.turn import Turn


def share_out(
    entries: Sequence[LedgerEntry], turns: Sequence[Turn], parts: Sequence[ScriptTurn]
) -> list[tuple[OpRecord, ...]]:
    """Return the ops of each turn; `parts` are what the script expects of them, one for each."""
    shared: list[list[OpRecord]] = [[] for _ in turns]
    for entry in entries:
        for done in to_op_records([entry]):
            shared[_place(entry, done, turns, parts)].append(done)
    return [tuple(ops) for ops in shared]


def _place(
    entry: LedgerEntry, done: OpRecord, turns: Sequence[Turn], parts: Sequence[ScriptTurn]
) -> int:
    """Return the index of the turn that an op quotes, or else in which its memory was whispered.

    A boost quotes nothing. Where its memory was whispered in several turns, it can only be marked
    for the group as a whole: it belongs to the first that expects it, else to one that allows it,
    else to one that forbids it, else to the last.
    """
    own = [place for place, turn in enumerate(turns) if turn.id in entry.turn_ids]
    for place in own:
        if find_quote(entry.quote, turns[place].words):
            return place
    touched = set(entry.memory_ids)
    whispered = [place for place in own if touched.intersection(turns[place].injected)] or own
    for kind in ("expect", "may", "never"):
        for place in whispered:
            if any(could_meet(one, done) for one in getattr(parts[place], kind)):
                return place
    return whispered[-1]
