"""A collection whose calls are watched."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

from souffleur.knowledge.store.engine.collection import Collection
from souffleur.knowledge.watching import Watch


def watched(collection: Collection, watch: Watch) -> Collection:
    """Return the collection with each call of its methods watched, as work of the engine."""
    return cast(Collection, _Watched(collection, watch))


class _Watched:
    """Has whatever the collection has."""

    def __init__(self, collection: Collection, watch: Watch) -> None:
        self._collection = collection
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collection, name)
        if not inspect.ismethod(found):
            return found
        about = {"collection": self._collection.schema.name, "call": name}
        method = _seen(found, self._watch, about)
        self.__dict__[name] = method  # looked up once
        return method


def _seen(method: Callable[..., Any], watch: Watch, about: dict[str, str]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def awaited(*args: Any, **more: Any) -> Any:
            with watch("engine", **about):
                return await method(*args, **more)

        return awaited

    @functools.wraps(method)
    def called(*args: Any, **more: Any) -> Any:
        with watch("engine", **about):
            return method(*args, **more)

    return called
