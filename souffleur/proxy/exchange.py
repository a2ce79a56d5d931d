"""An exchange: one request for a reply, its whisper, and the reply on its way back."""

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
from loguru import logger

from souffleur.knowledge.text.marks import unmarked_json
from souffleur.notices import Notice
from souffleur.proxy.injection import REFUSALS, Api, Place, Places, after, inject, parse_object
from souffleur.proxy.latest import Latest
from souffleur.proxy.notes import Carrier, Mode, Notes
from souffleur.proxy.reply import ABORTED, Reply
from souffleur.proxy.speaker import (
    Admit,
    Headers,
    Speaker,
    find_conversation,
    find_speaker,
    is_incognito,
)
from souffleur.proxy.talk import Talk, is_task, join, names_several, read_talk
from souffleur.proxy.threads import Chains, OpenTurn, Threads
from souffleur.proxy.wire import Asked, Client, RawHeaders, Upstream, end_to_end
from souffleur.recall.compose import Recall
from souffleur.telemetry.log_lines import describe, trace_bug

if TYPE_CHECKING:
    from souffleur.api import Souffleur

APIS: Mapping[str, Api] = {"/chat/completions": "chat", "/responses": "responses"}
"""Paths of requests for a reply."""
MAX_NAME = 200
"""Maximum number of characters of a model's name."""


@dataclass(frozen=True)
class Exchange:
    """A request in the form for the upstream, and the turn that its reply completes."""

    body: bytes
    """The body of the request, with the whisper if there is a whisper."""
    api: Api
    turn: OpenTurn | None = None
    """`None` if the request is no turn; then it gets no whisper and is not observed."""
    whisper: Recall = field(default_factory=Recall)
    """The whisper."""
    notes: Notes = field(default_factory=Notes)
    """The notes that the user sees beside the reply."""
    seconds: float = 0.0
    """The time for the whisper, in seconds."""
    model: str = ""
    """The name of the model in the request."""
    plain: bytes = b""
    """The body of the request without the whisper."""
    place: Place = "nowhere"
    """The place of the whisper in the request."""

    def placed(self, place: Place) -> "Exchange":
        """Return the exchange with its whisper at a place.

        If the request has no room there, the exchange has no whisper and no references.
        """
        body = inject(self.plain.decode(), self.whisper.text, self.api, place).encode()
        if body != self.plain:
            return replace(self, body=body, place=place)
        return replace(
            self,
            whisper=Recall(),
            notes=replace(self.notes, references=()),
            body=self.plain,
            place="nowhere",
        )


@dataclass(frozen=True)
class Said:
    """A turn with its complete or interrupted reply."""

    turn: OpenTurn
    assistant: str
    """The words of the reply; an interrupted reply ends with a mark."""
    whisper: Recall


class Prompter:
    """Whispers before a reply and observes it afterwards. Its errors never stop a reply."""

    def __init__(self, memory: "Souffleur", *, timeout: float, mode: Mode = "off") -> None:
        """`timeout` is the maximum time to find notices, in seconds; `mode` is the notes' mode."""
        self._memory = memory
        self.mode: Mode = mode
        """Where the user sees notes."""
        self._seen: Latest[tuple[str, str], int] = Latest()
        """The ledger number of the last notice that the user has seen, by user and persona."""
        self._timeout = timeout
        self._threads = Threads()
        self._chains = Chains()
        self.places = Places()
        """The places where the upstream's models accept a whisper."""

    async def begin(
        self, api: Api, body: bytes, headers: Headers, query: str, admit: Admit
    ) -> Exchange:
        """Return the request with its whisper. Raises the errors of `find_speaker`."""
        body = unmarked_json(body)
        asked = parse_object(body)  # the upstream answers any other body with an error
        messages = _messages(asked, api)
        if asked is None or messages is None or is_incognito(headers):
            return Exchange(body, api)
        if is_task(headers, asked, messages):
            return Exchange(body, api)
        speaker = find_speaker(headers, asked, query, admit)
        try:
            called = await self._called(speaker) if names_several(messages) else ()
            turn = self._open(api, speaker, asked, messages, called)
            if turn is None:
                return Exchange(body, api)
            start = time.perf_counter()
            whisper = await self._recall(turn)
            taken = time.perf_counter() - start
            notes = Notes() if self.mode == "off" else await self._notes(turn, whisper)
            model = str(asked.get("model", ""))[:MAX_NAME]
            found = Exchange(body, api, turn, whisper, notes, taken, model, plain=body)
            return found.placed(self.places.first(model, len(body)))
        except Exception as error:  # noqa: BLE001  an error of the memory must never stop a reply
            logger.error("a request goes on without memory: {}", describe(error))
            trace_bug(logger, error)
            return Exchange(body, api)

    def end(self, exchange: Exchange, reply: Reply) -> Said | None:
        """Return the turn to store when a reply has ended; `None` while it waits for tools."""
        turn, said = exchange.turn, reply.text
        if turn is None:
            return None
        whole = join(turn.so_far, turn.joint, said)
        so_far = replace(turn, so_far=whole, joint="\n")
        self._threads.close(so_far, said)
        if reply.complete and reply.id:
            self._chains.close(so_far, reply.id)
        whole_said = reply.complete or (reply.ended and not reply.failed)
        self._memory.parts.replies.error = self._unread(turn, reply)
        if reply.calls_tools and whole_said:
            return None
        if not said:  # the user's words are stored, even if the reply could not be read
            return Said(turn, whole, exchange.whisper) if reply.unread else None
        if whole_said:
            return Said(turn, whole, exchange.whisper)
        logger.info("turn {} was aborted: what was said so far is kept", turn.turn_id)
        return Said(turn, f"{whole.rstrip()} {ABORTED}", exchange.whisper)

    def _unread(self, turn: OpenTurn, reply: Reply) -> str:
        """Return and log why a reply is not stored completely; empty if it is."""
        if not reply.unread:
            return ""
        why = f"not all of its reply was read, which was passed on: {reply.unread}"
        bound = logger.bind(user=turn.user_id, session=turn.session_id, turn=turn.turn_id)
        bound.warning("turn {}: {}", turn.turn_id, why)
        at = self._memory.clock().astimezone(UTC)
        return f"turn {turn.turn_id}, {at:%Y-%m-%d %H:%M} UTC: {why}"

    def show(self, exchange: Exchange) -> None:
        """Remember that the user has seen the notes of an exchange."""
        if exchange.turn and exchange.notes.notices:
            key = exchange.turn.user_id, exchange.turn.agent_id
            place = max(one.seq for one in exchange.notes.notices)
            self._seen.put(key, max(place, self._seen.get(key) or 0))

    def keep(self, said: Said) -> None:
        """Store a turn durably. Can be called from any thread."""
        turn = said.turn
        receipt = self._memory.observe(
            user_id=turn.user_id,
            session_id=turn.session_id,
            agent_id=turn.agent_id,
            turn_id=turn.turn_id,
            user=turn.user,
            assistant=said.assistant,
            whisper=said.whisper,
            rewound=turn.rewound,
        )
        if not receipt.durable:
            logger.error("turn {} is not kept yet: {}", turn.turn_id, receipt.error)

    async def _called(self, speaker: Speaker) -> tuple[str, ...]:
        """Return the names of the user."""
        cast = await self._memory.cast(user_id=speaker.user_id)
        return (speaker.user_id, *cast.persona(speaker.user_id).of_user)

    def _open(
        self,
        api: Api,
        speaker: Speaker,
        asked: Mapping[str, Any],
        messages: list[Any],
        called: Collection[str],
    ) -> OpenTurn | None:
        """Return the turn of a request; `None` if the request has no user's words."""
        talk: Talk | None = read_talk(messages, called)
        if isinstance(former := asked.get("previous_response_id"), str) and former:
            return self._chains.follow(speaker, talk, former)
        conversation = find_conversation(asked) if api == "responses" else None
        if conversation and (talk is None or talk.is_first):  # otherwise it has the whole talk
            return self._chains.go_on(speaker, talk, conversation)
        return self._threads.open(speaker, talk) if talk else None

    async def _recall(self, turn: OpenTurn) -> Recall:
        return await self._memory.recall(
            user_id=turn.user_id,
            session_id=turn.session_id,
            agent_id=turn.agent_id,
            text=turn.user or turn.so_far,  # the words of another speaker
            rewound=(turn.turn_id, *turn.rewound),  # it may be said anew, in other words
        )

    async def _notes(self, turn: OpenTurn, whisper: Recall) -> Notes:
        """Return the references of the whisper, and the notices since the last reply."""
        try:
            notices = await asyncio.wait_for(self._notices(turn), self._timeout)
        except Exception as error:  # noqa: BLE001  an error of the notices must never stop a reply
            logger.warning("no notice is shown: {}", describe(error))
            notices = ()
        return Notes(whisper.references, notices)

    async def _notices(self, turn: OpenTurn) -> tuple[Notice, ...]:
        user_id, key = turn.user_id, (turn.user_id, turn.agent_id)
        if (await self._memory.preferences(user_id=user_id)).keeps_out:
            return ()
        seen = self._seen.get(key)
        if seen is None:
            latest = await self._memory.ledger(user_id=user_id, limit=1, newest_first=True)
            self._seen.put(key, latest[0].seq if latest else 0)
            return ()
        found = await self._memory.notices(user_id=user_id, after=seen)
        return tuple(one for one in found if one.agent_id == turn.agent_id)


def _messages(asked: Mapping[str, Any] | None, api: Api) -> list[Any] | None:
    """Return the messages of a request; `None` if it has no messages."""
    given = (asked or {}).get("messages" if api == "chat" else "input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) and given else None


async def pass_on(upstream: Upstream, asked: Asked, client: Client) -> None:
    """Pass on a request other than for a reply. Raises httpx2.HTTPError without an answer."""
    response = await upstream.send(asked)
    try:
        await client.begin(response.status_code, end_to_end(response.headers.raw))
        async for part in response.aiter_raw():
            await client.tell(part)
        await client.tell(b"", more=False)
    finally:
        await response.aclose()


async def pass_reply(
    upstream: Upstream, asked: Asked, client: Client, exchange: Exchange, prompter: Prompter
) -> None:
    """Pass on a request for a reply; the turn is stored before the last part of it is sent.

    If client or upstream disconnect before the end, the words so far are stored. Raises
    httpx2.HTTPError without an answer.
    """
    response, exchange = await _ask(upstream, asked, exchange, prompter.places)
    try:
        encoding = response.headers.get("content-encoding", "")
        carrier = None
        raw = end_to_end(response.headers.raw)
        if exchange.notes and response.is_success and not encoding:
            carrier = Carrier(exchange.notes, prompter.mode, exchange.api)
            raw = [(name, value) for name, value in raw if name.lower() != b"content-length"]
        await client.begin(response.status_code, raw + headers_of(exchange))
        reply = Reply(exchange.api, encoding)
        if response.is_success:
            await _bring(response, client, reply, exchange, prompter, carrier)
            if carrier and carrier.done:
                prompter.show(exchange)
        else:
            async for part in response.aiter_raw():
                await client.tell(part)
        await client.tell(b"", more=False)
    finally:
        await response.aclose()


async def while_there(client: Client, passage: "asyncio.Future[None]") -> None:
    """Wait until a request is passed on; cancel it if the client disconnects."""
    gone = asyncio.ensure_future(client.wait_until_gone())
    try:
        await asyncio.wait({passage, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        passage.cancel()
        await asyncio.wait({passage, gone})
    if not passage.cancelled():
        passage.result()


def headers_of(exchange: Exchange) -> RawHeaders:
    """Return the headers with session, turn, number of whispered memories, and time of recall."""
    turn = exchange.turn
    if turn is None:
        return []
    return [
        (b"x-souffleur-session", quote(turn.session_id).encode()),
        (b"x-souffleur-turn", quote(turn.turn_id).encode()),
        (b"x-souffleur-memories", str(len(exchange.whisper.ids)).encode()),
        (b"server-timing", f"recall;dur={1000 * exchange.seconds:.1f}".encode()),
    ]


async def _ask(
    upstream: Upstream, asked: Asked, exchange: Exchange, places: Places
) -> tuple[httpx2.Response, Exchange]:
    """Return the response, and the exchange with its whisper at the accepted place.

    If a refusal may be due to the whisper, the request is sent again with the whisper at the next
    place, and finally without it: then the client gets the same response as without the proxy.
    """
    response = await upstream.send(asked.with_body(exchange.body))
    if response.status_code not in REFUSALS:
        return response, exchange
    while not response.is_success and (place := after(exchange.place)):
        await response.aclose()
        exchange = exchange.placed(place)
        response = await upstream.send(asked.with_body(exchange.body))
    if response.is_success:
        places.learn(exchange.model, len(exchange.plain), exchange.place)
    return response, exchange


async def _bring(
    response: httpx2.Response,
    client: Client,
    reply: Reply,
    exchange: Exchange,
    prompter: Prompter,
    carrier: Carrier | None,
) -> None:
    kept = False
    left = int(response.headers.get("content-length", -1))

    async def keep() -> None:
        nonlocal kept
        if not kept:
            kept = True
            if said := prompter.end(exchange, reply):
                # Shielded: a client that goes now would cancel what has not begun in the thread.
                await asyncio.shield(asyncio.to_thread(prompter.keep, said))

    try:
        async for part in response.aiter_raw():
            reply.take(part)
            left -= len(part)
            if left == 0:  # the client does not wait after the last byte
                reply.finish()
            if reply.complete:
                await keep()
            await client.tell(carrier.take(part, reply.form) if carrier else part)
        reply.finish()
    except httpx2.HTTPError as error:
        logger.warning("the upstream has broken off a reply: {}", type(error).__name__)
        raise
    finally:
        await keep()
    if carrier:
        await client.tell(carrier.finish())
