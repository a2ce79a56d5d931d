"""The requests and answers of a method call as a generator; the caller sends the requests."""

from collections.abc import Generator
from typing import Any

import httpx2
from loguru import logger
from pydantic import ValidationError
from pydantic_core import from_json

from souffleur.client.calls import CALLS, Call, Given, Request, error_of, request_of, with_turn_id
from souffleur.errors import RemoteError
from souffleur.server.table import Page
from souffleur.telemetry.log_lines import describe, trace_bug

Asked = tuple[Call, Request]


def converse(method: str, given: dict[str, Any]) -> Generator[Asked, httpx2.Response, Any]:
    """Yield the requests of a method, receive the answers, and return the method's result.

    The caller throws errors of sending into the generator. Raises Souffleur's errors, RemoteError.
    """
    if method == "remember" and not isinstance(given["what"], str):
        method = "extract"
    call = CALLS[method]
    given = with_turn_id(given) if method == "observe" else given
    if call.failed is None:
        return (yield from ask(call, given))
    try:
        return (yield from ask(call, given))
    except Exception as error:  # noqa: BLE001  an error of the memory must never stop a reply
        logger.error("{}: {}", method, describe(error))
        trace_bug(logger, error)
        return call.failed(describe(error), given)


def ask(call: Call, given: Given) -> Generator[Asked, httpx2.Response, Any]:
    """Yield the requests of a call, receive the answers, and return its result.

    Raises Souffleur's errors, RemoteError.
    """
    sent = call.prepare(dict(given))
    answer = _read(call, (yield call, request_of(call, sent)))
    if not isinstance(answer, Page):
        return call.result(answer, given)
    found = list(answer.items)
    while answer.next:
        following = request_of(call, {**sent, "cursor": answer.next})
        answer = _read(call, (yield call, following))
        found += answer.items
    return found


def _read(call: Call, response: httpx2.Response) -> Any:
    if not response.is_success:
        raise error_of(response.status_code, response.headers, response.content)
    try:
        answer = call.adapter.validate_json(response.content)
        if call.fields and not call.fields <= from_json(response.content).keys():
            raise RemoteError(
                f"the answer to {call.verb} {call.path} lacks what each has: is it `souffleur "
                "serve`, of the same version?"
            )
        return answer
    except ValidationError as error:
        if error.errors(include_input=False)[0]["type"] == "json_invalid":
            raise RemoteError(
                f"the answer to {call.verb} {call.path} is no JSON: is it `souffleur serve`?"
            ) from None
        faults = error.error_count()
        raise RemoteError(
            f"the answer to {call.verb} {call.path} cannot be read ({faults} faults): server and "
            "client need the same version of Souffleur"
        ) from None
