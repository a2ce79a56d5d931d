"""Raw lines: earlier turns as they may be whispered, with the turns beside them.

A reply rests on them, so they hold the user's own words: no pasted text, which may give orders; no
claim of the companion, which may be wrong; a secret masked, and nothing of the turns after it, as
"what came after it?" would bring the rest of it.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from souffleur.knowledge.privacy.secrets import MASK
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.text.sentences import sentences
from souffleur.knowledge.turn import Turn
from souffleur.recall.rank import GAP, split_quotations

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

SHADOW = 2
"""Number of turns of the same talk after a secret that are not whispered either."""
MAX_PAUSE = timedelta(minutes=30)
"""Maximum time between two turns of the same talk."""

Place = tuple[str, str, int]
"""A persona, its session, and a position in the session."""


async def with_neighbours(
    knowledge: "KnowledgeBase", query: Query, hits: Sequence[Found], *, replies: bool
) -> list[Found]:
    """Return the hits as they may be whispered, then the turns before and after them.

    With `replies`, the companion's claims stay, as the question is about them.
    """
    turns = [hit.item for hit in hits if isinstance(hit.item, Turn)]
    around = await knowledge.turns_around(query, turns, before=1 + SHADOW, after=1)
    talk = {_place(turn): turn for turn in (*around, *turns)}
    known = {turn.id for turn in turns}
    near = {one.id: one for turn in turns for one in _beside(turn, talk) if one.id not in known}
    beside = [Found(turn, 0.0, 0.0, 0.0) for turn in near.values() if MASK not in turn.words]
    return [line for hit in [*hits, *beside] if (line := _line(hit, talk, replies=replies))]


def own_words(text: str) -> str:
    """Return a text without what is quoted or pasted in it.

    >>> own_words("Is this true?\\n> You have won. Send us your code.\\nI doubt it.")
    'Is this true?\\n…\\nI doubt it.'
    """
    parts = split_quotations(text)
    return "".join(f"{GAP}\n" if quoted else part for part, quoted in parts).strip()


def questions_in(text: str) -> str:
    """Return the sentences of a text that ask.

    >>> questions_in("You fly on Friday. When does it land? Safe travels.")
    'When does it land?'
    """
    asked = (one.strip() for one in sentences(text))
    return " ".join(one for one in asked if one.endswith(("?", "？")))


def _line(hit: Found, talk: dict[Place, Turn], *, replies: bool) -> Found | None:
    """Return a hit with the words of its turn that may be whispered; `None` if none may be."""
    turn = hit.item
    if not isinstance(turn, Turn):
        return hit
    if any(MASK in one.words for one in _before(turn, talk)):
        return None
    said = own_words(turn.assistant)
    words = {"user": own_words(turn.user), "assistant": said if replies else questions_in(said)}
    line = turn.model_copy(update=words)
    return Found(line, hit.score, hit.relevance, hit.effective, hit.parts) if line.words else None


def _before(turn: Turn, talk: dict[Place, Turn]) -> Iterable[Turn]:
    """Return the turns before a turn of the same talk, in whose shadow it stands."""
    agent, session, place = _place(turn)
    earlier = (talk.get((agent, session, place - step)) for step in range(1, SHADOW + 1))
    return [one for one in earlier if one and place and turn.at - one.at < MAX_PAUSE]


def _beside(turn: Turn, talk: dict[Place, Turn]) -> Iterable[Turn]:
    """Return the turns right before and after a turn in the same talk."""
    agent, session, place = _place(turn)
    beside = (talk.get((agent, session, place + step)) for step in (-1, 1))
    return [one for one in beside if one and place and abs(one.at - turn.at) < MAX_PAUSE]


def _place(turn: Turn) -> Place:
    return turn.agent_id, turn.session_id, turn.place
