"""Model calls: a chat whose every call is watched."""

import json
from collections.abc import Sequence

from souffleur.agents.model.chat import Chat, Message, Reply, Request, Usage
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.privacy.addresses import host_of
from souffleur.knowledge.watching import Watch, Work
from souffleur.settings import Settings


def watched_chat(chat: Chat, watch: Watch, settings: Settings) -> Chat:
    """Return the chat with each call watched: its prompt, tokens, cost and error."""
    known = {
        "model": settings.model,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "address": host_of(settings.endpoint_url) if settings.has_model else None,
    }

    async def asked(request: Request) -> Reply:
        form = "text" if request.form == "text" else "json"
        with watch("chat", prompt=request.name, output_type=form, **known) as call:
            call.note(instructions=lambda: _instructions(request.messages))
            call.note(messages=lambda: _messages(request.messages))
            try:
                reply = await chat(request)
            except (AnswerError, EndpointError) as error:
                _note_usage(call, Usage.of(error.usage))
                raise
            _note_usage(call, reply.usage)
            call.note(answered_by=reply.model or None, finish=reply.finish)
            call.note(reply=lambda: _answer(reply))
            return reply

    return asked


def _note_usage(call: Work, usage: Usage) -> None:
    call.note(
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )


def _instructions(messages: Sequence[Message]) -> str:
    return _json([_part(one.content) for one in messages if one.role == "system"])


def _messages(messages: Sequence[Message]) -> str:
    others = (one for one in messages if one.role != "system")
    return _json([{"role": one.role, "parts": [_part(one.content)]} for one in others])


def _answer(reply: Reply) -> str:
    said = {"role": "assistant", "parts": [_part(reply.text)], "finish_reason": reply.finish}
    return _json([said])


def _part(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
