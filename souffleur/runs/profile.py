"""The profile run: portraits that are due are written anew, also where nobody talks."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.runs.run import RunItem, RunOptions, RunResult, side_by_side

if TYPE_CHECKING:
    from souffleur.background.narrator import Narrator
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def run_profile(
    knowledge: "KnowledgeBase", narrator: "Narrator", errand: RunOptions
) -> RunResult:
    """Write each portrait that is due: after five episodes, a week, or something big."""
    due: defaultdict[str, list[tuple[Memory, str, str]]] = defaultdict(list)
    for user_id, anchor in (await _talked_with(knowledge, errand.user_id)).items():
        for sphere in await narrator.spheres(user_id):
            if why := await narrator.why_due(user_id, sphere):
                due[user_id].append((anchor, why, sphere))
    report = RunResult("profile", errand, due=sum(map(len, due.values())))

    async def one(task: tuple[Memory, str, str]) -> Sequence[RunItem]:
        anchor, why, sphere = task
        if errand.dry_run:
            return [RunItem(anchor, "PORTRAY", why)]
        try:
            portrait = await narrator.portray(anchor.user_id, why, sphere)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the former portrait stays
            return [report.failed(anchor, error)]
        for entry in await knowledge.history(portrait.id, user_id=portrait.user_id):
            report.spend(entry.cost)
        return [RunItem(portrait, "PORTRAY", why)]

    await side_by_side(report, due, one)
    return report


async def _talked_with(knowledge: "KnowledgeBase", user_id: str | None) -> dict[str, Memory]:
    """Users of whom there is an episode, or a portrait out of use, each with one of these."""
    told, withdrawn = (
        (Category.EPISODE, MemoryState.ACTIVE),
        (Category.PROFILE, MemoryState.FORGOTTEN),
    )
    found: dict[str, Memory] = {}
    for category, state in (told, withdrawn):
        for memory in await knowledge.list(user_id, states=(state,), category=category):
            found.setdefault(memory.user_id, memory)
    return dict(sorted(found.items()))
