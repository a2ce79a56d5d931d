"""The indexes of a store are those that are asked for: each takes memory, and time at opening."""

import ast
from functools import cache

from souffleur.knowledge.store.opening import COLLECTIONS
from tests.test_rooms import modules

ASKING = {"Is", "OneOf", "Between", "Missing", "Order"}
"""What names a field to filter or sort by."""
BY_ID = {"version", "digest"}
"""Fields that are compared in points which are named by their ids."""


@cache
def asked() -> set[str]:
    """The fields that the code filters or sorts by."""
    return {
        str(call.args[0].value)
        for file in modules().values()
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ASKING
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def test_each_index_is_asked_for() -> None:
    """An index that no filter and no order names would be built for nothing."""
    assert set[str]().union(*COLLECTIONS.values()) <= asked()


def test_what_is_asked_for_has_an_index() -> None:
    """A strict server refuses to filter by anything else, and the engine reads all records."""
    assert asked() - BY_ID <= set[str]().union(*COLLECTIONS.values())
