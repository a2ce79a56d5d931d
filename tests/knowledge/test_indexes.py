"""The indexes of a store are those that are asked for: each takes memory, and time at opening."""

import ast
from functools import cache

from souffleur.knowledge.store.labels import INDEXES, LABELLED, SERVER_INDEXES
from tests.test_rooms import modules

ASKING = frozenset({"Is", "OneOf", "Between", "Missing", "Order"})
"""What names a field to filter or sort by."""
BY_ID = {"version", "digest"}
"""Fields that are compared in points which are named by their ids."""


@cache
def asked(by: frozenset[str]) -> set[str]:
    """The fields that the code names in calls of these functions."""
    return {
        str(call.args[0].value)
        for file in modules().values()
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in by
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


BUILT = {"labels"}.union(*INDEXES.values(), *SERVER_INDEXES.values())
"""The fields with an index on a server."""


def test_each_index_is_asked_for() -> None:
    """An index that no filter and no order names would be built for nothing."""
    assert asked(ASKING) >= BUILT


def test_what_is_asked_for_has_an_index() -> None:
    """A strict server refuses to filter by anything else, and the engine reads all records."""
    assert asked(ASKING) - BY_ID <= BUILT


def test_each_label_is_asked_for() -> None:
    """A label that no condition names would be stored for nothing."""
    assert asked(frozenset({"has", "has_any"})) == set(LABELLED)


def test_an_embedded_store_has_few_indexes() -> None:
    """Each costs nine files, and time at each opening."""
    assert sum(map(len, INDEXES.values())) <= 21
