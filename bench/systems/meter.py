"""The meter: what the requests of one system took."""

from collections.abc import Mapping
from typing import Any

from bench.sets.estimate import Cost
from souffleur.agents.model.chat import Chat, Reply, Request
from souffleur.errors import AnswerError
from souffleur.recall.rendering import estimate_tokens


class Meter:
    """A `Chat` that counts requests to another one; tokens are estimated if no usage is given."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.cost = Cost()

    async def __call__(self, request: Request) -> Reply:
        """Return the other chat's reply. Raises what it raises."""
        try:
            reply = await self._chat(request)
        except AnswerError as error:
            self._note(request, error.answer or "", error.usage or {})
            raise
        usage = {
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
        }
        self._note(request, reply.text, usage)
        return reply

    def _note(self, request: Request, answer: str, usage: Mapping[str, Any]) -> None:
        asked = sum(estimate_tokens(message.content) for message in request.messages)
        taken = int(usage.get("input_tokens") or asked)
        given = int(usage.get("output_tokens") or estimate_tokens(answer))
        self.cost += Cost(1, taken, given)
