"""The story of a dialogue: its scenes, what is remembered at the end, and what it took."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from souffleur.agents.model.chat import Chat, Reply, Request, Usage
from souffleur.api import Souffleur
from souffleur.demo.happening import Happening, What, happenings
from souffleur.dialogue import Dialogue, ScenePart
from souffleur.knowledge.decay import effective, never_fades
from souffleur.knowledge.memory import NARRATIVE, Category, Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.recall.compose import whispered_lines
from souffleur.replay import Played, PlayedNight, StageClock, replay_all


@dataclass(frozen=True)
class Gone:
    """That words are in nothing that is remembered, and how much of each kind was looked at."""

    pattern: str
    memories: int
    episodes: int
    portraits: int


@dataclass(frozen=True)
class Scene:
    """A turn or a night, and what of it is shown."""

    part: ScenePart
    at: datetime
    user: str = ""
    assistant: str = ""
    is_night: bool = False
    whispered: tuple[str, ...] = ()
    """The lines to show of those that were whispered."""
    whispered_of: int = 0
    """The number of all lines that were whispered."""
    shown: tuple[Happening, ...] = ()
    rest: tuple[tuple[What, int], ...] = ()
    """The number of other changes of each kind."""
    gone: Gone | None = None


@dataclass(frozen=True)
class Remembered:
    """A memory at the end, and its worth then."""

    content: str
    lasts: bool
    """Whether it never fades."""
    value: float


@dataclass(frozen=True)
class Ending:
    """What is remembered at the end, and what the whole dialogue took."""

    at: datetime
    memories: tuple[Remembered, ...]
    """The most valuable first."""
    portrait: str
    turns: int
    nights: int
    changed_nothing: int
    """The number of turns of which nothing was kept."""
    done: Mapping[What, int]
    usage: Usage


class Meter:
    """A `Chat` that counts what another one takes."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.usage = Usage()

    async def __call__(self, request: Request) -> Reply:
        """Return the other's answer."""
        reply = await self._chat(request)
        self.usage += reply.usage
        return reply


async def tell(
    dialogue: Dialogue, memory: Souffleur, clock: StageClock, meter: Meter
) -> AsyncIterator[Scene | Ending]:
    """Replay a dialogue, and yield its scenes as they are played, and then the ending.

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
    found = happenings(played.outcomes)
    shown = tuple(one for one in found if re.search(part.done, one.text, re.IGNORECASE))
    rest = tuple(Counter(one.what for one in found if one not in shown).items())
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


def _short(one: Happening, whispered: Sequence[str]) -> Happening:
    """Return what happened, without the words of a used memory that are shown as whispered."""
    told = one.what is What.USED and one.text in whispered
    return replace(one, text="") if told else one


async def _gone(pattern: str, memory: Souffleur, user_id: str) -> Gone | None:
    """Return that nothing matches the pattern; `None` if something does."""
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
    return Ending(
        at=at,
        memories=tuple(
            Remembered(one.content, _lasts(one, memory), worth[one.id]) for one in ranked
        ),
        portrait=portrait,
        turns=len(dialogue),
        nights=len(dialogue.nights),
        changed_nothing=nothing,
        done=Counter(one.what for one in happenings(entries)),
        usage=usage,
    )


def _lasts(memory: Memory, runtime: Souffleur) -> bool:
    return never_fades(memory, runtime.knowledge.policy)
