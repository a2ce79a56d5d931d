"""SouffleurStore: a `BaseStore` of LangGraph in the collections of a Souffleur."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item as StoreItem,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
)
from pydantic import TypeAdapter, ValidationError

from souffleur.api import Souffleur
from souffleur.errors import InputError
from souffleur.faces import BlockingSouffleur
from souffleur.integrations.langchain.access import Access
from souffleur.knowledge.store.items import Item, Items, Place, to_json
from souffleur.knowledge.store.reading import describe_faults

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda value, limit: value > limit,
    "$gte": lambda value, limit: value >= limit,
    "$lt": lambda value, limit: value < limit,
    "$lte": lambda value, limit: value <= limit,
}


def matches(value: Any, wanted: Any) -> bool:
    """Return whether a value meets a filter; a mapping may have further keys.

    Raises InputError for an unknown operator.

    >>> matches({"color": "red", "score": 4}, {"color": "red", "score": {"$gt": 3}})
    True
    >>> matches({"tags": ["a", "b"]}, {"tags": ["a"]})
    False
    """
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_holds(value, operator, limit) for operator, limit in wanted.items())
        if not isinstance(value, Mapping):
            return False
        return all(matches(value.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(map(matches, value, wanted))
    return bool(value == wanted)


def matches_all(namespace: tuple[str, ...], conditions: Iterable[MatchCondition]) -> bool:
    """Return whether a namespace meets all conditions; "*" stands for any one label.

    >>> matches_all(("a", "b"), [MatchCondition("prefix", ("*", "b"))])
    True
    >>> matches_all(("a", "b"), [MatchCondition("suffix", ("a",))])
    False
    """
    return all(_meets(namespace, condition) for condition in conditions)


def _meets(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    prefix = condition.match_type == "prefix"
    part = namespace[: len(path)] if prefix else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", one) for one, wanted in zip(part, path, strict=True))


def _holds(value: Any, operator: str, limit: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == limit) is (operator == "$eq")
    if operator not in _COMPARISONS:
        known = ", ".join(["$eq", "$ne", *_COMPARISONS])
        raise InputError(f"{operator!r} is no comparison: choose one of {known}")
    try:
        return _COMPARISONS[operator](float(value), float(limit))
    except (TypeError, ValueError):
        return False


class SouffleurStore(BaseStore):
    """Stores an agent's own JSON records beside the memories of its users.

        agent = create_agent(model, tools, store=SouffleurStore(memory))
        await store.aput(("u1", "settings"), "theme", {"name": "dark"})

    Records are not judged, whispered or faded. They are in the backups of the store, and are erased
    with their user. Texts are found by the embedder of the memory.
    """

    def __init__(
        self,
        memory: Souffleur | BlockingSouffleur,
        *,
        user_at: int | None = 0,
        fields: Sequence[str] = ("$",),
    ) -> None:
        """Use an opened memory: for `aget` and others a Souffleur, for all a BlockingSouffleur.

        `user_at` is the index of the user's label in a namespace (see `label`); `None` means that
        records belong to no user. `fields` are the default paths of the texts by which records are
        found; "$" is the whole record.
        """
        self._access = Access(memory)
        self._user_at = user_at
        self._fields = tuple(fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations. Raises InputError, StoreError, EmbedderError without any change."""
        listed = [_checked(op) for op in ops]
        return list(self._access.wait(lambda memory: self._carry_out(memory, listed)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations, as `batch` does."""
        listed = [_checked(op) for op in ops]
        return list(await self._access.reach(lambda memory: self._carry_out(memory, listed)))

    async def _carry_out(self, memory: Any, ops: Sequence[Op]) -> list[Result]:
        """Read first, then write; the last of several writes to one key counts."""
        items: Items = memory.knowledge.items
        results: list[Result] = []
        puts: dict[Place, PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[tuple(op.namespace), op.key] = op
                results.append(None)
            else:
                results.append(await _read(items, op))
        kept = [self._item(op, memory.clock()) for op in puts.values() if op.value is not None]
        await items.put(kept)  # first, as the embedder may fail
        await items.delete([place for place, op in puts.items() if op.value is None])
        return results

    def _item(self, op: PutOp, now: Any) -> Item:
        """Return the record that an operation puts. Raises InputError."""
        to_json(op.value, strict=True)
        paths = self._fields if op.index is None else op.index or ()
        texts = [text for path in paths for text in get_text_at_path(op.value, path)]
        namespace, at = tuple(op.namespace), self._user_at
        has_user = at is not None and at < len(namespace)
        try:
            return Item(
                namespace=namespace,
                key=op.key,
                value=op.value or {},
                user_id=unlabel(namespace[at or 0]) if has_user else "",
                texts=tuple(dict.fromkeys(texts)),
                created_at=now,
                updated_at=now,
            )
        except ValidationError as error:
            raise InputError(f"this cannot be put: {describe_faults(error)}") from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _checked(op: Op) -> Op:
    """Check the arguments of an operation. Raises InputError; NotImplementedError for a `ttl`."""
    if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
        raise InputError(f"{type(op).__name__} is no operation of a store")
    if isinstance(op, PutOp) and op.ttl is not None:
        raise NotImplementedError("records have no time to live: leave out ttl")
    kind: Any = type(op)
    try:
        checked: Op = _adapter(kind).validate_python(op)
    except ValidationError as error:
        verb = "put" if isinstance(op, PutOp) else "looked for"
        raise InputError(f"this cannot be {verb}: {describe_faults(error)}") from None
    return checked


async def _read(items: Items, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
    if isinstance(op, GetOp):
        place = tuple(op.namespace), op.key
        found = (await items.get([place])).get(place)
        return StoreItem(**_fields_of(found)) if found else None
    if isinstance(op, SearchOp):
        return await _search(items, op)
    return await _list_namespaces(items, op)


async def _search(items: Items, op: SearchOp) -> list[SearchItem]:
    """Return the matching records: with a query the nearest first, then records without text."""
    folder, wanted = tuple(op.namespace_prefix), op.filter or {}
    last = op.offset + op.limit
    scored: list[tuple[Item, float | None]] = []
    if op.query and last > 0:
        enough = await items.count(folder) if wanted else last
        near = await items.near(folder, op.query, max(enough, 1))
        scored = [(item, score) for item, score in near if matches(item.value, wanted)]
    if len(scored) < last:
        known = {item.id for item, _ in scored}
        rest = [one for one in await items.within(folder) if one.id not in known]
        scored += [(one, None) for one in rest if matches(one.value, wanted)]
    return [SearchItem(**_fields_of(item), score=score) for item, score in scored[op.offset : last]]


async def _list_namespaces(items: Items, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    found = {one.namespace for one in await items.within(())}
    if op.match_conditions:
        found = {one for one in found if matches_all(one, op.match_conditions)}
    if op.max_depth is not None:
        found = {one[: op.max_depth] for one in found}
    return sorted(found)[op.offset : op.offset + op.limit]


def _fields_of(item: Item) -> dict[str, Any]:
    return item.model_dump(include={"namespace", "key", "value", "created_at", "updated_at"})


def label(user_id: str) -> str:
    """Return a user's id as a label of a namespace; a label has no period.

    >>> label("ann@example.org"), label("u1")
    ('ann@example%2Eorg', 'u1')
    """
    return user_id.replace("%", "%25").replace(".", "%2E")


def unlabel(text: str) -> str:
    """Return the user's id of a label.

    >>> unlabel(label("100 % ann@example.org"))
    '100 % ann@example.org'
    """
    return unquote(text)
