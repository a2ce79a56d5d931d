"""Browsing: every memory once, in order, also those that were learned at the same moment."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.knowledge.identity import COMMON
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.search.memories import Position, browse, count, position
from souffleur.knowledge.search.query import Wanted
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.reading import READ_AT_ONCE
from tests.build import NOW, days, memory
from tests.stores import empty_base


@pytest.mark.parametrize("newest_first", [True, False])
async def test_each_page_follows_the_one_before(tmp_path: Path, newest_first: bool) -> None:
    """The pages together are what there is, in order; what is not wanted is in none of them."""
    base = await empty_base(tmp_path, dimension=16)
    moments = [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 3]
    hers = [memory(f"Ann {n}.", created_at=NOW - days(at)) for n, at in enumerate(moments)]
    others: list[dict[str, Any]] = [
        {"user_id": "ben"},
        {"kind": Kind.GOAL},
        {"category": Category.EPISODE},
        {"state": MemoryState.FORGOTTEN},
        {"created_at": NOW - days(9)},
        {"agent_id": "luna"},
        {"expires_at": NOW - days(1)},
    ]
    rest = [memory(f"Other {n}.", **fields) for n, fields in enumerate(others)]
    await base.memories.put([to_point(one, (1.0,) + (0.0,) * 15) for one in (*hers, *rest)])
    wanted = Wanted("ann", kinds=("fact",), agent_id="default", since=NOW - days(5), now=NOW)
    seen: list[Memory] = []
    after: Position | None = None
    for size in (2, 3, 1, 4, 9):
        page, more = await browse(
            base.memories, wanted, limit=size, after=after, newest_first=newest_first
        )
        seen += page
        after = position(page[-1])
        assert more is (len(seen) < len(hers))
    assert seen == sorted(hers, key=position, reverse=newest_first)
    assert await count(base.memories, wanted) == len(hers)
    await base.close()


@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_long_page_is_read_in_parts(tmp_path: Path, newest_first: bool) -> None:
    """What was learned at the moment at which a part ends is there once, and in order."""
    base = await empty_base(tmp_path, dimension=16)
    hers = [
        memory(f"Ann {n}.", created_at=NOW - timedelta(minutes=n // 3)) for n in range(READ_AT_ONCE)
    ]
    hers += [memory(f"Once {n}.", created_at=NOW - days(1)) for n in range(READ_AT_ONCE + 10)]
    hers += [memory(f"Own {n}.", created_at=NOW - days(2), sphere="@luna") for n in range(5)]
    await base.memories.put([to_point(one, (1.0,) + (0.0,) * 15) for one in hers])
    ranked = sorted(hers, key=position, reverse=newest_first)
    for limit in (len(hers) - 1, len(hers), len(hers) + 1):
        page, more = await browse(
            base.memories, Wanted("ann"), limit=limit, newest_first=newest_first
        )
        assert (page, more) == (ranked[:limit], limit < len(hers))
    common = Wanted("ann", sphere=COMMON)
    page, more = await browse(base.memories, common, limit=999, newest_first=newest_first)
    assert page == [one for one in ranked if not one.sphere]
    assert not more
    await base.close()
