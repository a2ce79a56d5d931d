"""The profile run: writes new portraits that are due, even if nobody talks."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.runs.run import RunItem, RunOptions, RunResult, side_by_side

if TYPE_CHECKING:
    from souffleur.background.narrator import DuePortrait, Narrator
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def run_profile(
    knowledge: "KnowledgeBase", narrator: "Narrator", options: RunOptions
) -> RunResult:
    """Write each portrait that is due: after five episodes, a week, or something big."""
    due: defaultdict[str, list[tuple[Memory, DuePortrait]]] = defaultdict(list)
    for user_id, anchor in (await _talked_with(knowledge, options.user_id)).items():
        if user_id not in options.resting:
            due[user_id] += [(anchor, one) for one in await narrator.due(user_id)]
    result = RunResult("profile", options, due=sum(map(len, due.values())))

    async def one(task: tuple[Memory, "DuePortrait"]) -> Sequence[RunItem]:
        anchor, wanted = task
        if options.dry_run:
            return [RunItem(anchor, "PORTRAY", wanted.why)]
        try:
            portrait = await narrator.write_portrait(anchor.user_id, wanted.why, wanted.sphere)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the former portrait stays
            return [result.failed_item(anchor, error)]
        for entry in await knowledge.history(portrait.id, user_id=portrait.user_id):
            result.spend(entry.cost)
        return [RunItem(portrait, "PORTRAY", wanted.why)]

    await side_by_side(result, due, one)
    return result


async def _talked_with(knowledge: "KnowledgeBase", user_id: str | None) -> dict[str, Memory]:
    """Return the users with an episode or a withdrawn portrait, each with one of these."""
    talked_with, withdrawn = (
        (Category.EPISODE, MemoryState.ACTIVE),
        (Category.PROFILE, MemoryState.FORGOTTEN),
    )
    found: dict[str, Memory] = {}
    for category, state in (talked_with, withdrawn):
        for memory in await knowledge.list(user_id, states=(state,), category=category):
            found.setdefault(memory.user_id, memory)
    return dict(sorted(found.items()))
