"""Routes of plain methods: a route for each row of the table, made from the method's signature."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, cleandoc, isawaitable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, create_model

from souffleur.knowledge.identity import MAX_ID_LENGTH
from souffleur.server.access import Memory, Owner, Talker, UserId, Whose, check_model
from souffleur.server.table import ARGUMENTS, OWNERS, ROWS, TALKERS, Answered, Body, Counted, Row

PersonaId = Annotated[str, Query(max_length=MAX_ID_LENGTH, examples=["luna"])]


def make_router(rows: Sequence[Row]) -> APIRouter:
    """Return a router with a route for each row."""
    router = APIRouter()
    for row in rows:
        router.add_api_route(
            row.path,
            endpoint_of(row),
            methods=[row.verb],
            name=row.name,
            tags=[row.tag],
            response_model=row.answers,
            description=cleandoc(row.method.__doc__ or ""),
        )
    return router


def endpoint_of(row: Row) -> Callable[..., Any]:
    """Return the function that answers requests for a row; FastAPI reads its signature."""
    sent, body = row.sent(), None
    if row.verb not in ("GET", "DELETE") and sent:
        body = _body_of(row, sent)
        sent = {}

    async def endpoint(memory: Memory, **given: Any) -> Any:
        if row.needs_model:
            check_model(memory)
        arguments = _arguments(row, given, body)
        found = getattr(row.of(memory), row.method.__name__)(**arguments)  # may be a subclass
        return _answer(await found if isawaitable(found) else found)

    every = [_parameter("memory", Memory), *_whose(row)]
    every += [_parameter(name, Annotated[str, Path()]) for name in row.in_path()]
    every += [_in_query(one) for one in sent.values()]
    if body:
        kind, default = (
            (body | None, None) if _may_lack_body(row, body) else (body, Parameter.empty)
        )
        every.append(_parameter("body", kind, default))
    endpoint.__signature__ = Signature(every)  # type: ignore[attr-defined]
    return endpoint


def _may_lack_body(row: Row, body: type[BaseModel]) -> bool:
    """Return whether a request may have no body. Requests of talk and settings always have one."""
    needed = any(one.is_required() for one in body.model_fields.values())
    return row.verb == "POST" and row.tag != "talk" and not needed


def _whose(row: Row) -> list[Parameter]:
    """Return the parameter for the user or persona of a request; it also checks the rights."""
    if row.may == TALKERS:
        return [_parameter("whose", Talker)]
    if row.may == OWNERS:
        return [_parameter("user_id", Owner)]
    if "agent_id" in row.arguments:
        return [_parameter("agent_id", PersonaId)]
    if "user_id" not in row.arguments:
        return []
    if row.arguments["user_id"].annotation is str:
        return [_parameter("user_id", Owner)]
    return [_parameter("user_id", UserId, None)]


def _arguments(row: Row, given: Mapping[str, Any], body: type[BaseModel] | None) -> dict[str, Any]:
    """Return the arguments of the method from the values that FastAPI read."""
    arguments = dict(given)
    whose: Whose | None = arguments.pop("whose", None)
    if whose is not None:
        arguments["user_id"] = whose.user_id
        if "agent_id" in row.arguments:
            arguments["agent_id"] = whose.agent_id or row.arguments["agent_id"].default
    if body is not None:
        told = arguments.pop("body") or body()
        arguments |= {name: getattr(told, name) for name in body.model_fields}
    return arguments


def _body_of(row: Row, sent: Mapping[str, Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {name: _in_body(one) for name, one in sent.items()}
    name = "".join(part.capitalize() for part in row.name.split("_"))
    about = f"The arguments of `{row.name}`."
    return create_model(f"{name}Body", __base__=Body, __doc__=about, **fields)


def _in_body(argument: Parameter) -> tuple[Any, Any]:
    about = ARGUMENTS.get(argument.name, {})
    kind: Any = argument.annotation
    required = argument.default is Parameter.empty
    return kind, Field(**about) if required else Field(argument.default, **about)


def _in_query(argument: Parameter) -> Parameter:
    kind: Any = argument.annotation
    about = Query(**ARGUMENTS.get(argument.name, {}))
    return _parameter(argument.name, Annotated[kind, about], argument.default)


def _parameter(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _answer(found: Any) -> Any:
    """Return the answer of a method; yes, no and a number are put into an object."""
    if isinstance(found, bool):
        return Answered(found)
    return Counted(found) if isinstance(found, int) else found


router = make_router(ROWS)
