"""The story of a dialogue: its scenes, the memories at the end, and the cost."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from souffleur.agents.model.chat import Chat, Reply, Request, Usage
from souffleur.api import Souffleur
from souffleur.demo.dialogue import Dialogue, Played, PlayedNight, ScenePart, StageClock, replay_all
from souffleur.demo.effects import Effect, Event, events_of
from souffleur.knowledge.decay import effective, never_fades
from souffleur.knowledge.memory import NARRATIVE, Category
from souffleur.knowledge.operation import LedgerEntry
from souffleur.recall.compose import whispered_lines


@dataclass(frozen=True)
class Gone:
    """A pattern that no memory matches, and the number of records of each kind."""

    pattern: str
    memories: int
    episodes: int
    portraits: int


@dataclass(frozen=True)
class Scene:
    """A turn or a night, and the part of it that is shown."""

    part: ScenePart
    at: datetime
    user: str = ""
    assistant: str = ""
    is_night: bool = False
    whispered: tuple[str, ...] = ()
    """The whispered lines that are shown."""
    whispered_of: int = 0
    """The number of all whispered lines."""
    shown: tuple[Event, ...] = ()
    rest: tuple[tuple[Effect, int], ...] = ()
    """The number of further events by effect."""
    gone: Gone | None = None


@dataclass(frozen=True)
class Remembered:
    """A memory at the end of the dialogue, and its value then."""

    content: str
    lasts: bool
    """Whether the memory never fades."""
    value: float


@dataclass(frozen=True)
class Ending:
    """The memories at the end, and the cost of the whole dialogue."""

    at: datetime
    memories: tuple[Remembered, ...]
    """The memories, the most valuable first."""
    portrait: str
    turns: int
    nights: int
    changed_nothing: int
    """The number of turns that changed no memory."""
    done: Mapping[Effect, int]
    usage: Usage


class Meter:
    """A `Chat` that counts the usage of another chat."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.usage = Usage()

    async def __call__(self, request: Request) -> Reply:
        """Return the answer of the other chat."""
        reply = await self._chat(request)
        self.usage += reply.usage
        return reply


async def tell(
    dialogue: Dialogue, memory: Souffleur, clock: StageClock, meter: Meter
) -> AsyncIterator[Scene | Ending]:
    """Replay a dialogue; yields each scene when it was played, and then the ending.

    Raises RecordingError if a recorded model has no answer.
    """
    parts = {part.at: part for part in dialogue.scenes}
    places: Counter[str] = Counter()
    nothing = 0
    async for played in replay_all(dialogue, memory, clock):
        if isinstance(played, PlayedNight):
            place = played.night.id
        else:
            places[played.session_id] += 1
            place = f"{played.session_id}.{places[played.session_id]}"
            nothing += not any(entry.changes for entry in played.outcomes)
        if part := parts.get(place):
            yield await _scene(part, played, memory, dialogue.user.id)
    yield await _ending(dialogue, memory, clock.at, nothing, meter.usage)


async def _scene(
    part: ScenePart, played: Played | PlayedNight, memory: Souffleur, user_id: str
) -> Scene:
    found = events_of(played.outcomes)
    shown = tuple(one for one in found if re.search(part.done, one.text, re.IGNORECASE))
    rest = tuple(Counter(one.effect for one in found if one not in shown).items())
    if isinstance(played, PlayedNight):
        return Scene(part, played.night.at, is_night=True, shown=shown, rest=rest)
    lines = whispered_lines(played.whisper.text)
    wanted = [one for one in lines if part.whispered and re.search(part.whispered, one, re.I)]
    return Scene(
        part,
        played.exchange.at,
        played.exchange.user,
        played.exchange.assistant,
        whispered=tuple(wanted),
        whispered_of=len(lines),
        shown=tuple(_short(one, wanted) for one in shown),
        rest=rest,
        gone=await _gone(part.gone, memory, user_id) if part.gone else None,
    )


def _short(one: Event, whispered: Sequence[str]) -> Event:
    """Return the event without its text, if a whispered line shows the text already."""
    told = one.effect is Effect.USED and one.text in whispered
    return replace(one, text="") if told else one


async def _gone(pattern: str, memory: Souffleur, user_id: str) -> Gone | None:
    """Return how many records do not match the pattern; `None` if one matches."""
    knowledge = memory.knowledge
    memories = await knowledge.list(user_id)
    counts = Counter(one.category for one in memories)
    if any(re.search(pattern, one.model_dump_json(), re.IGNORECASE) for one in memories):
        return None
    portraits, episodes = counts[Category.PROFILE], counts[Category.EPISODE]
    others = counts.total() - portraits - episodes
    return Gone(pattern, others, episodes, portraits)


async def _ending(
    dialogue: Dialogue, memory: Souffleur, at: datetime, nothing: int, usage: Usage
) -> Ending:
    knowledge, user_id = memory.knowledge, dialogue.user.id
    active = await knowledge.list(user_id)
    entries: Sequence[LedgerEntry] = await knowledge.journal.entries(user_id)
    told = [one for one in active if one.category not in NARRATIVE]
    worth = {one.id: effective(one, at, knowledge.policy) for one in told}
    ranked = sorted(told, key=lambda one: (-worth[one.id], one.created_at, one.id))
    portrait = next((one.content for one in active if one.category is Category.PROFILE), "")
    policy = knowledge.policy
    return Ending(
        at=at,
        memories=tuple(
            Remembered(one.content, never_fades(one, policy), worth[one.id]) for one in ranked
        ),
        portrait=portrait,
        turns=len(dialogue),
        nights=len(dialogue.nights),
        changed_nothing=nothing,
        done=Counter(one.effect for one in events_of(entries)),
        usage=usage,
    )
