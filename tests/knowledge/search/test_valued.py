"""What is most valuable is as it is read anew, and is read once until it changes."""

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.browsing import LONGEST, KeptValued, Valued
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.engine.cache import CachedCollection
from souffleur.knowledge.store.engine.memo import SHARED_LIFE, Memo
from tests.build import NOW, days, keep, memory
from tests.counted import Tripped


async def test_what_is_most_valuable_is_read_once(base: KnowledgeBase) -> None:
    """At any moment it is what reading anew finds, also after a write and once something ends."""
    await keep(base, "Ann has an exam.", expires_at=NOW + LONGEST / 2)
    cats = await keep(base, "Ann likes cats.")
    hand = base.at_hand
    assert isinstance(hand.memories, CachedCollection)
    hand.memories.inner = tripped = Tripped(base.memories)
    seen = []
    moments = [NOW, NOW + LONGEST / 4, NOW + LONGEST / 2, NOW + days(9), NOW, NOW - LONGEST / 4]
    for at in (*moments, None, NOW):
        if at is None:
            await base.memories.merge_payload([cats.id], {"importance": 99.0})
            continue
        tripped.trips = 0
        found = await hand.most_valuable("ann", limit=5, now=at)
        assert found == await base.most_valuable("ann", limit=5, now=at)
        seen.append((len(found), tripped.trips))
    assert [count for count, _ in seen] == [2, 2, 1, 1, 2, 2, 2]
    assert seen[1] == (2, 0)
    assert found[0].importance == 99.0


def test_what_may_be_wrong_is_not_kept() -> None:
    """Neither memories that a host could change, nor those that another process writes as well."""
    plain, open_to_change = memory(), memory(data={"version": 1})
    for memo, memories, is_kept in (
        (Memo(), [plain], True),
        (Memo(), [plain, open_to_change], False),
        (Memo(life=SHARED_LIFE), [plain], False),
    ):
        points = [to_point(one, ()) for one in memories]
        kept, valued = KeptValued(memo, "ann", "question", NOW), Valued.of(points, COMPANION)
        kept.keep(valued)
        assert kept.find() == (valued if is_kept else None)
