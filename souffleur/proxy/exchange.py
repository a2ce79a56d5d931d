"""An exchange: one request for a reply, with what memory adds to it and takes from it."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from loguru import logger

from souffleur.proxy.injection import Api, inject
from souffleur.proxy.reply import ABORTED, Reply
from souffleur.proxy.speaker import Admit, Headers, Speaker, find_speaker, is_incognito
from souffleur.proxy.talk import Talk, read_talk
from souffleur.proxy.tasks import is_task
from souffleur.proxy.threads import OpenTurn, Threads
from souffleur.whispering.whisper import Recall

if TYPE_CHECKING:
    from souffleur.runtime import Souffleur

APIS: Mapping[str, Api] = {"/chat/completions": "chat", "/responses": "responses"}
"""Paths whose requests ask for a reply."""


@dataclass(frozen=True)
class Exchange:
    """A request as it goes to the upstream, and the turn that its reply completes."""

    body: bytes
    """The request with the whisper."""
    api: Api
    turn: OpenTurn | None = None
    """`None` if it is no turn: nothing is whispered, and nothing observed."""
    whisper: Recall = field(default_factory=Recall)
    """What was whispered."""
    seconds: float = 0.0
    """How long the whisper took."""


@dataclass(frozen=True)
class Said:
    """A turn whose reply has come to its end, or was aborted."""

    turn: OpenTurn
    assistant: str
    """The whole reply."""
    whisper: Recall


class Prompter:
    """Whispers before a reply and observes it afterwards; its trouble never costs a reply."""

    def __init__(self, memory: "Souffleur", *, patience: float) -> None:
        """`patience` is how many seconds a recall may take."""
        self._memory = memory
        self._patience = patience
        self._threads = Threads()

    async def begin(
        self, api: Api, body: bytes, headers: Headers, query: str, admit: Admit
    ) -> Exchange:
        """Return the request with its whisper. Raises what `find_speaker` raises."""
        asked = _parse(body)
        messages = _messages(asked, api)
        if asked is None or messages is None or is_incognito(headers):
            return Exchange(body, api)
        if is_task(headers, asked, messages):
            return Exchange(body, api)
        speaker = find_speaker(headers, asked, query, admit)
        try:
            turn = self._open(speaker, asked, messages)
            if turn is None:
                return Exchange(body, api)
            start = time.perf_counter()
            whisper = await self._recall(turn)
            taken = time.perf_counter() - start
            text = inject(body.decode(), whisper.text, api)
            return Exchange(text.encode(), api, turn, whisper, taken)
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            logger.error("a request goes on without memory: {}: {}", type(error).__name__, error)
            return Exchange(body, api)

    def end(self, exchange: Exchange, reply: Reply) -> Said | None:
        """Return what is to be kept of a reply at its end; `None` while it waits for tools."""
        turn, said = exchange.turn, reply.text
        if turn is None:
            return None
        whole = turn.so_far + (turn.joint + said if said else "")
        so_far = replace(turn, so_far=whole, joint="\n")
        self._threads.close(so_far, reply.id if reply.complete else "")
        whole_said = reply.complete or reply.ended
        if not said or (reply.calls_tools and whole_said):
            return None
        if whole_said:
            return Said(turn, whole, exchange.whisper)
        logger.info("turn {} was aborted: what was said so far is kept", turn.turn_id)
        return Said(turn, f"{whole.rstrip()} {ABORTED}", exchange.whisper)

    def keep(self, said: Said) -> None:
        """Store a turn durably. May be called from any thread."""
        turn = said.turn
        receipt = self._memory.observe(
            user_id=turn.user_id,
            session_id=turn.session_id,
            agent_id=turn.agent_id,
            turn_id=turn.turn_id,
            user=turn.user,
            assistant=said.assistant,
            whisper=said.whisper,
        )
        if not receipt.durable:
            logger.error("turn {} is not kept yet: {}", turn.turn_id, receipt.error)

    def _open(
        self, speaker: Speaker, asked: Mapping[str, Any], messages: list[Any]
    ) -> OpenTurn | None:
        """Return the turn that is asked for; `None` if the request has no word of a user."""
        talk: Talk | None = read_talk(messages)
        if isinstance(former := asked.get("previous_response_id"), str):
            return self._threads.follow(speaker, talk, former)
        return self._threads.open(speaker, talk) if talk else None

    async def _recall(self, turn: OpenTurn) -> Recall:
        recall = self._memory.recall(
            user_id=turn.user_id,
            session_id=turn.session_id,
            agent_id=turn.agent_id,
            text=turn.user,
        )
        try:
            return await asyncio.wait_for(recall, self._patience)
        except TimeoutError:
            logger.warning("nothing is whispered: recall took more than {} s", self._patience)
            return Recall()


def _parse(body: bytes) -> dict[str, Any] | None:
    """Return the request; `None` if it is no JSON object, which the upstream will say."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return asked if isinstance(asked, dict) else None


def _messages(asked: Mapping[str, Any] | None, api: Api) -> list[Any] | None:
    """Return the messages of a request; `None` if it has none."""
    given = (asked or {}).get("messages" if api == "chat" else "input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) and given else None
