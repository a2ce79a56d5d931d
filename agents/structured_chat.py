"""Asks a model for answers of a given type, and accepts nothing else; agents have no other way."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from souffleur.agents.answers import MAX_ANSWER_LENGTH, read_answer
from souffleur.agents.fields import shorten
from souffleur.agents.lines import INSTRUCTION, OPS, SPECIAL
from souffleur.agents.model.chat import Chat, Form, Message, Reply, Request, Usage
from souffleur.agents.model.concessions import Asker, Manner
from souffleur.agents.schema import Schema, portable_schema
from souffleur.errors import AnswerError

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A checked answer, and what it cost."""

    value: T
    text: str
    """The unchanged text of the answer."""
    usage: Usage
    model: str
    form: Form


class StructuredChat:
    """Asks one question at a time, and remembers in which form its endpoint takes them."""

    def __init__(self, chat: Chat, *, form: Form = "json_schema") -> None:
        self._chat = chat
        self._asker = Asker(Manner(form=form))

    @property
    def form(self) -> Form:
        """The form of the next request."""
        return self._asker.manner.form

    async def ask(self, messages: Sequence[Message], answer: type[T], *, name: str) -> Parsed[T]:
        """Return one answer of the type `answer`, which is called `name` in the request.

        Asks once; again only if the endpoint refuses the form. Raises EndpointError; AnswerError if
        the answer does not fit, with a message that may be sent back to the model for its repair,
        and the usage of the call. No part of such an answer is used.
        """
        schema = portable_schema(answer)
        lines = _speaks_lines(schema)

        async def question(manner: Manner) -> tuple[Reply, Form]:
            request = _request(messages, name, schema, manner.form, lines)
            return await self._chat(request), request.form

        reply, form = await self._asker.ask(question)
        try:
            value = _read(reply, answer, lines)
        except AnswerError as error:
            error.usage = asdict(reply.usage)
            raise
        return Parsed(value, reply.text, reply.usage, reply.model, form)


def _read(reply: Reply, answer: type[T], lines: bool) -> T:
    if reply.finish == "length":
        said = shorten(reply.text, MAX_ANSWER_LENGTH)
        raise AnswerError("The answer was cut off: give a shorter one.", answer=said)
    return read_answer(reply.text, answer, lines=lines)


def _request(
    messages: Sequence[Message], name: str, schema: Schema, form: Form, lines: bool
) -> Request:
    if form == "json_schema":
        return Request(tuple(messages), name, schema, form)
    if form == "text" and lines:
        instruction = INSTRUCTION + (SPECIAL if _names_special(schema) else "")
        return Request(_instructed(messages, instruction), name, None, form)
    compact = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    demand = f"Answer with one JSON object and nothing else, by this JSON schema:\n{compact}"
    return Request(_instructed(messages, demand), name, None, form)


def _instructed(messages: Sequence[Message], instruction: str) -> tuple[Message, ...]:
    """Return the messages, with the instruction at the end of the last system message."""
    indices = [index for index, message in enumerate(messages) if message.role == "system"]
    if not indices:
        return (Message("system", instruction), *messages)
    last = messages[indices[-1]]
    instructed = replace(last, content=f"{last.content.rstrip()}\n\n{instruction}")
    return (*messages[: indices[-1]], instructed, *messages[indices[-1] + 1 :])


def _speaks_lines(schema: Schema) -> bool:
    """Return whether the answer is a list of operations, all of which the line protocol has."""
    ops = {op for one in _members(schema) for op in one.get("op", {}).get("enum", ())}
    return bool(ops) and ops <= set(OPS)


def _names_special(schema: Schema) -> bool:
    return any("special" in one for one in _members(schema))


def _members(schema: Schema) -> list[Schema]:
    """Return the fields of each operation that an answer may hold."""
    items = schema["properties"].get("ops", {}).get("items", {})
    return [member.get("properties", {}) for member in items.get("anyOf", [items])]
