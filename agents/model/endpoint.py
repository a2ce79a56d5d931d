"""A model behind any OpenAI-compatible endpoint, called with langchain-openai."""

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import SecretStr

from souffleur.agents.answers import MAX_ANSWER_LENGTH
from souffleur.agents.fields import shorten
from souffleur.agents.model.address import Address, check_extra_body, read_key, split_address
from souffleur.agents.model.chat import Message, Reply, Request, Usage
from souffleur.agents.model.concessions import Asker, Limit, Manner
from souffleur.agents.model.response import (
    Call,
    Completion,
    parse_body,
    read_completion,
    translate,
    unreadable,
)
from souffleur.errors import AnswerError, SettingsError
from souffleur.knowledge.network.connections import connection
from souffleur.knowledge.text.plain import mend

_MILLION = 1_000_000
_OTHER_LIMIT: Limit = "max_completion_tokens"
"""The name that some hosts use for `max_tokens`."""

_heard: ContextVar[list[Any]] = ContextVar("heard")
"""The response of the current attempt, once it is read; answers are parsed only from it."""


@dataclass(frozen=True)
class Prices:
    """Dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    """Price of cached prompt tokens; `None` means the same price as uncached."""


class Endpoint:
    """A `Chat` with an endpoint. Calls may overlap, and may come from different event loops."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout: float = 60.0,
        temperature: float | None = 0.0,
        max_tokens: int | None = 2048,
        extra_body: Mapping[str, Any] | None = None,
        prices: Prices | None = None,
    ) -> None:
        """Prepare the connection; nothing is sent yet.

        `timeout` is in seconds for a whole call. `temperature` and `max_tokens` are not sent if
        they are `None`, as some models demand. A part that the endpoint refuses by name is sent in
        another way from then on, see `concessions`. `extra_body` holds fields for this provider
        alone. It must not hold fields that Souffleur sends, except `max_completion_tokens`, which
        replaces `max_tokens`.

        Raises SettingsError if `base_url` is not a URL, if the environment makes it unreachable, if
        no header can carry the key, or if `extra_body` holds a forbidden field.
        """
        import httpx2
        from langchain_openai.chat_models.base import BaseChatOpenAI

        bare, host, login = split_address(base_url)
        secret = SecretStr(api_key or "")  # a traceback shows the values of a line that fails
        key = read_key(secret)
        self._address = Address(bare, model, timeout, key)
        self._prices = prices or Prices()
        extra = _checked(extra_body or {})
        limit = None if max_tokens is None or _OTHER_LIMIT in extra else _limit(host)
        self._extra = extra
        self._temperature, self._max_tokens = temperature, max_tokens
        self._asker = Asker(Manner("text", temperature is not None, limit, system=True))
        # A kept-alive connection belongs to the event loop that opened it, and breaks the next
        # loop.
        way = connection(bare)
        self._http = httpx2.AsyncClient(
            **way,
            timeout=timeout,
            limits=httpx2.Limits(max_keepalive_connections=0),
            auth=httpx2.BasicAuth(*login) if login else None,
            headers={"accept-encoding": "identity"},
            event_hooks={"request": [_listen], "response": [_hear]},
        )
        self._model = BaseChatOpenAI(
            base_url=bare,
            api_key=key,
            model=model,
            timeout=timeout,
            max_retries=0,
            temperature=None,  # `_ask` sends temperature and limit, as the endpoint accepts them
            use_responses_api=False,
            cache=False,
            openai_proxy="",
            http_async_client=self._http,
            http_client=httpx2.Client(**way),  # never used; its own would read certificates again
            http_socket_options=(),  # otherwise it warns of every proxy in the environment
        )
        # The warning is about with_structured_output, which is not used here.
        advice = "(This model does not support|Invalid schema for) OpenAI's structured output"
        warnings.filterwarnings("ignore", message=advice, category=UserWarning)

    async def __call__(self, request: Request) -> Reply:
        """Ask. Raises EndpointError; AnswerError if the answer is cut off, withheld or empty.

        An endpoint that refuses a part by name is asked again without it, within the same time.
        """
        until = asyncio.get_running_loop().time() + self._address.timeout
        return await self._asker.ask(lambda manner: self._call(request, manner, until))

    async def _call(self, request: Request, manner: Manner, until: float) -> Reply:
        import langsmith

        call = Call(self._address, request)
        heard: list[Any] = []
        token = _heard.set(heard)
        try:
            with langsmith.tracing_context(enabled=False):  # talk is private
                async with asyncio.timeout_at(until):
                    await self._ask(request, manner)
        except Exception as error:  # noqa: BLE001
            # Every error of the libraries, now or in later versions, is translated here. They also
            # fail over the usage, roles and ids of a good answer. There is no cause, as a host
            # would log it with the endpoint's words.
            if not heard or not heard[0].is_success:
                raise translate(error, call, heard[0] if heard else None) from None
        finally:
            _heard.reset(token)
        return self._read(heard[0], call)

    async def aclose(self) -> None:
        """Close the connections. Idempotent."""
        await self._http.aclose()

    async def _ask(self, request: Request, manner: Manner) -> None:
        fields = {**self._extra, **_response_format(request)}
        if manner.temperature:
            fields["temperature"] = self._temperature
        if manner.limit:
            fields[manner.limit] = self._max_tokens
        # Callbacks of a surrounding graph would stream these words to its user. (After `bind`, a
        # model drops the empty list, and the callbacks are called again.)
        await self._model.ainvoke(
            [_wire(message) for message in _arranged(request.messages, manner)],
            {"callbacks": []},
            extra_body=fields,
        )

    def _read(self, response: Any, call: Call) -> Reply:
        completion = _completion(response.content)
        if completion is None:
            raise unreadable(response, call)
        text, usage = completion.text, self._usage(completion)
        if fault := _fault(completion, call):
            said = shorten(text or completion.refusal, MAX_ANSWER_LENGTH)
            raise AnswerError(fault, answer=said, usage=asdict(usage))
        return Reply(text, completion.finish, usage, completion.model or self._address.model)

    def _usage(self, completion: Completion) -> Usage:
        counts = completion.input_tokens, completion.cached_tokens, completion.output_tokens
        taken, cached, given = counts
        prices = self._prices
        cheap = prices.input if prices.cached is None else prices.cached
        cost = (taken - cached) * prices.input + cached * cheap + given * prices.output
        return Usage(1, *counts, cost / _MILLION)


async def _listen(_: Any) -> None:
    if (heard := _heard.get(None)) is not None:
        heard.clear()


async def _hear(response: Any) -> None:
    from souffleur.agents.model.response_body import bound

    if (heard := _heard.get(None)) is not None:
        bound(response)
        await response.aread()
        heard.append(response)


def _completion(content: bytes) -> Completion | None:
    """Return the answer in a body; `None` if there is no answer, or if there is also an error."""
    try:
        body = parse_body(content)
    except ValueError:
        return None
    failed = isinstance(body, dict) and body.get("error")
    return None if failed else read_completion(body)


def _wire(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": mend(message.content)}


def _arranged(messages: Sequence[Message], manner: Manner) -> Sequence[Message]:
    """Return the messages; without the role `system`, the rules begin the first user message.

    >>> _arranged([Message("system", "Judge."), Message("user", "Tea?")], Manner(system=False))
    [Message(role='user', content='Judge.\\n\\nTea?')]
    """
    if manner.system:
        return messages
    rules = [message.content for message in messages if message.role == "system"]
    said = [message for message in messages if message.role != "system"]
    if not rules or not said:
        return [replace(message, role="user") for message in messages]
    return [replace(said[0], content="\n\n".join((*rules, said[0].content))), *said[1:]]


def _checked(extra_body: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        check_extra_body(extra_body)
    except ValueError as error:
        raise SettingsError(f"extra_body {error}") from None
    return extra_body


def _limit(host: str) -> Limit:
    """Return the probable name of the token limit at a host.

    >>> _limit("localhost"), _limit("api.openai.com")
    ('max_tokens', 'max_completion_tokens')
    """
    # OpenAI's newer models refuse max_tokens; most other servers know only max_tokens.
    return _OTHER_LIMIT if host == "api.openai.com" else "max_tokens"


def _response_format(request: Request) -> dict[str, Any]:
    if request.form == "text":
        return {}
    if request.form == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = {"name": request.name, "strict": True, "schema": dict(request.schema or {})}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _fault(completion: Completion, call: Call) -> str:
    """Return why an answer is unusable, as a sentence; empty if it is usable."""
    if completion.finish == "length":
        return (
            "The answer was cut off at the token limit: raise SOUFFLEUR_MAX_TOKENS, or give it less"
            " to do."
        )
    if completion.finish == "content_filter":
        return "The provider's content filter withheld the answer: take another model for this."
    if completion.refusal and not completion.text:
        return f"The model refused to answer: {call.quote(completion.refusal)}."
    if not completion.text.strip():
        return "The answer was empty: ask again, or take another model."
    return ""
