"""Due times of a store that an older version wrote."""

from pathlib import Path

from souffleur.knowledge.memory import Due
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.upkeep.due_times import DUE_RULES_KEY
from tests.build import NOW, keep, open_base


async def test_an_older_store_is_due_by_the_rules_in_force(tmp_path: Path) -> None:
    """Opened by this version, an important memory is due for promotion; nothing else changes."""
    base = await open_base(tmp_path, dimension=64)
    allergy = await keep(base, "Ann is allergic to nuts.", importance=Importance.HIGH)
    tea = await keep(base, "Ann likes tea.")
    assert tea.due_at is not None
    former = {"due_at": tea.due_at.isoformat(), "due_for": Due.REVIEW}
    await base.memories.merge_payload([allergy.id], former)
    made_with = await base.journal.meta()
    assert made_with is not None
    older = {key: value for key, value in made_with.items() if key != DUE_RULES_KEY}
    await base.journal.set_meta(older)
    await base.close()

    base = await open_base(tmp_path, dimension=64)
    assert await base.get(allergy.id, user_id="ann") == allergy
    assert (allergy.due_for, allergy.due_at) == (Due.PROMOTION, NOW)
    assert await base.get(tea.id, user_id="ann") == tea
    assert await base.journal.meta() == made_with
    await base.close()
