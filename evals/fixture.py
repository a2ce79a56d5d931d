"""The fixture of a script: a fresh store, its clock, known memories, the model, the runs."""

import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from souffleur.agents.model.chat import Chat, Reply, Request, Usage
from souffleur.api import Opening, Souffleur
from souffleur.demo import dialogue
from souffleur.demo.dialogue import StageClock
from souffleur.errors import AnswerError, EndpointError, InputError
from souffleur.evals.result import Call, OpRecord
from souffleur.evals.script import Known, Op, RunPart, Script, ScriptTurn, TalkPart
from souffleur.knowledge import decay
from souffleur.knowledge.memory import NARRATIVE, Memory
from souffleur.knowledge.operation import LedgerEntry, derive_id
from souffleur.knowledge.plan import category_of
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.store.opening import Opener
from souffleur.knowledge.store.records import put_memories
from souffleur.service.jobs import RUNS
from souffleur.service.run import RunOptions
from souffleur.settings import Settings
from souffleur.times import from_clock


@dataclass
class Listener:
    """A `Chat` that logs each request to another chat, and its answer."""

    chat: Chat
    timed: bool = False
    """Whether to measure times; they have no meaning if answers come from a file."""
    calls: list[Call] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)
    """System messages by key."""

    async def __call__(self, request: Request) -> Reply:
        """Pass a request on and log the answer. Raises the errors of the other chat."""
        began = time.perf_counter()
        try:
            reply = await self.chat(request)
        except (AnswerError, EndpointError) as error:
            self._note(request, Reply(f"({error})"), began)
            raise
        self._note(request, reply, began)
        return reply

    def take(self) -> tuple[Call, ...]:
        """Return the calls since the last `take`, and drop them."""
        calls, self.calls = self.calls, []
        return tuple(calls)

    def _note(self, request: Request, reply: Reply, began: float) -> None:
        rules = "\n\n".join(one.content for one in request.messages if one.role == "system")
        key = sha256(rules.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self.rules[key] = rules
        rest = [one for one in request.messages if one.role != "system"]
        call = Call(
            name=request.name,
            rules=key,
            asked="\n\n".join(
                one.content if one.role == "user" else f"[{one.role}] {one.content}" for one in rest
            ),
            answer=reply.text,
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
            cost=round(reply.usage.cost, 8),
            seconds=round(time.perf_counter() - began, 3) if self.timed else None,
        )
        self.calls.append(call)


def _refused(script: Script, settings: Settings) -> tuple[str, ...]:
    special = ("special",) if script.special == "refuse" else ()
    return (*(one for one in settings.refuse if one != "special"), *special)


def script_settings(script: Script, settings: Settings) -> Settings:
    """Return the settings with which a script is played: fixed, except those in the script."""
    return settings.model_copy(
        update={
            "embedder": "hash:512",
            "policy": "companion",
            "user_title": script.user.title,
            "assistant_name": script.assistant.name,
            "timezone": script.timezone,
            "language": script.user.language,
            "refuse": _refused(script, settings),
            "qdrant_url": None,
        }
    )


@asynccontextmanager
async def open_fixture(
    script: Script, settings: Settings, chat: Chat, opener: Opener | None = None
) -> AsyncIterator[tuple[Souffleur, StageClock]]:
    """Open the real runtime over a fresh temporary store that holds the script's known memories."""
    clock = StageClock(script.sessions[0].at)
    with scratch() as folder:
        fresh = script_settings(script, settings).model_copy(update={"path": folder})
        times = from_clock(clock)
        async with Opening(fresh, chat, times, opener=opener) as memory:
            await _put(memory, script)
            yield memory, clock


async def perform_run(
    memory: Souffleur, script: Script, part: RunPart
) -> tuple[list[LedgerEntry], str]:
    """Return the ledger entries of a run, and why a part of the run failed.

    Raises RecordingError if a recorded model has no answer, InputError for an unknown run.
    """
    if part.run not in RUNS:
        raise InputError(f"there is no run {part.run.value!r}: there are {', '.join(RUNS)}")
    options = RunOptions(part.at, user_id=script.user.id)
    report, entries = await dialogue.perform_run(memory, part.run, options)
    failed = [line.reason for line in report.items if line.op == "FAILED"]
    return entries, "; ".join(failed)


def to_op_records(outcomes: Sequence[LedgerEntry]) -> tuple[OpRecord, ...]:
    """Return ledger entries as op records, without SKIP and without the expiry of episodes."""
    return tuple(_op_record(one) for one in outcomes if one.op in set(Op) and not _passes(one))


def known_memory(script: Script, index: int, known: Known, policy: Policy) -> Memory:
    """Return a known memory as the store holds it before the first turn."""
    whose = {"user_id": script.user.id, "agent_id": script.assistant.id}
    return stored_memory(known, policy, id=derive_id("known", script.name, index), **whose)


def stored_memory(
    known: Known, policy: Policy, *, id: str, user_id: str, agent_id: str = "default"
) -> Memory:
    """Return a memory as the store would have it, if it had been learnt at its time."""
    category = known.category or category_of(known.kind)
    value = decay.initial_importance(known.kind, known.importance, policy)
    anchor = known.last_used or known.at
    return decay.scheduled(
        Memory(
            id=id,
            user_id=user_id,
            agent_id=agent_id,
            content=known.content,
            category=category,
            kind=known.kind,
            importance=value if known.value is None else known.value,
            anchor_at=anchor,
            grace_days=policy.rule(category).grace_days,
            valid_from=known.at,
            expires_at=known.expires_at,
            entities=known.entities,
            topics=known.topics,
            uses=known.uses,
            last_used_at=known.last_used,
            created_at=known.at,
            updated_at=anchor,
        ),
        policy,
    )


async def _put(memory: Souffleur, script: Script) -> None:
    knowledge = memory.knowledge
    memories = [
        known_memory(script, index, known, knowledge.policy)
        for index, known in enumerate(script.known)
    ]
    await put_memories(knowledge, memories)


def _passes(outcome: LedgerEntry) -> bool:
    """Return whether an entry only removes, by rule, episodes or portraits that have expired."""
    gone = outcome.op in (Op.FORGET, Op.ARCHIVE) and outcome.changes
    return bool(gone) and all(one.after.category in NARRATIVE for one in outcome.changes)


def _op_record(outcome: LedgerEntry) -> OpRecord:
    made = [change.after for change in outcome.changes if change.before is None]
    olds = [change.before.content for change in outcome.changes if change.before]
    content = made[0].content if made else str(outcome.details.get("content", ""))
    return OpRecord(
        op=outcome.op,
        who=outcome.by.who,
        content=content,
        olds=tuple(olds),
        kind=made[0].kind if made else "",
        reason=outcome.reason,
        quote=outcome.quote,
        refused=f"{outcome.refused}: {outcome.detail}" if outcome.refused else "",
    )


MEMORY_FOLDER = Path("/dev/shm")
MIN_FREE_BYTES = 2 << 30
"""Minimum free bytes in memory: a dozen fresh stores take half of them."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a temporary folder; in memory if there is room, so that no disk slows the store."""
    enough = (
        os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > MIN_FREE_BYTES
    )
    with TemporaryDirectory(prefix="souffleur-", dir=MEMORY_FOLDER if enough else None) as folder:
        yield Path(folder)


BY_HAND = "by hand"
"""The model name for answers that were written by hand."""


class ScriptedChat:
    """A `Chat` for one script; requests that the script does not answer go to another chat."""

    def __init__(self, script: Script, chat: Chat) -> None:
        talks = [part for part in script.sessions if isinstance(part, TalkPart)]
        self._answered = [turn for talk in talks for turn in talk.turns if turn.answer is not None]
        self._chat = chat

    async def __call__(self, request: Request) -> Reply:
        """Return the script's answer to the latest of its turns in the request.

        Raises the errors of the other chat.
        """
        turn = self._turn(request)
        if turn is None:
            return await self._chat(request)
        said = turn.answer
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return Reply(text, usage=Usage(calls=1), model=BY_HAND)

    def _turn(self, request: Request) -> ScriptTurn | None:
        if request.name != "monitor":
            return None
        asked = _plain(request.messages[1].content)
        found = [turn for turn in self._answered if _plain(turn.user) in asked]
        return found[-1] if found else None


async def no_model(request: Request) -> Reply:
    """Raise EndpointError: the script should have had the answer itself."""
    raise EndpointError(f"the script has no answer to {request.name}, and no model is asked")


def _plain(text: str) -> str:
    return " ".join(text.split())
