"""Searching raw turns, by their own words and vectors and by those of their neighbours.

An answer seldom repeats its question: "Green, of course!" is found by the question in the turn
before. Hidden, expired and filtered turns are no hits and do not help their neighbours. The two
messages of a turn are compared separately, so that a long reply does not hide a short sentence. The
reply has less weight, since most questions are about the user.
"""

import asyncio
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection as Some, Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.search.periods import Period, find_period
from souffleur.knowledge.search.query import Found, Query, relevance_of, turns_filter
from souffleur.knowledge.search.words import (
    encode_query,
    is_spaced,
    lexical_nearness,
    lexical_scale,
)
from souffleur.knowledge.store.codecs import masked_reader
from souffleur.knowledge.store.engine.collection import (
    Between,
    Collection,
    Filter,
    Hit,
    Is,
    Point,
    Search,
)
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.turn import Turn

if TYPE_CHECKING:
    from souffleur.knowledge.search.embedder import Embedder

LEXICAL_HITS = 300
"""Number of hits by words; only these hits can help their neighbours."""
DENSE_HITS = 200
"""Number of hits by dense vectors."""
REPLY_HITS = 100
"""Number of hits among the assistant's messages, by words and by vectors."""
HELPERS = 10
"""Number of the best hits by words whose neighbours are read as well."""
NEIGHBOUR_WEIGHTS = {-2: 0.25, -1: 0.5, 1: 0.5, 2: 0.25}
"""Weight of a neighbour's words, by its distance in turns (positive: later)."""
SELF_CONTAINED_BYTES = 400
"""Length of a turn, in bytes of UTF-8, from which its neighbours have less weight."""
REPLY_WEIGHT = 0.5
"""Weight of the assistant's message; the user's has 1."""
ASKING_WEIGHT = 0.9
"""Weight of a question without an answer in its turn, as it seldom answers another question."""
OTHER_SPEAKER_WEIGHT = 0.9
"""Weight of a turn whose speaker is not the speaker that the question names."""
MAX_NEIGHBOUR_GAP = timedelta(minutes=30)
"""Maximum time between two neighbours."""
MIN_LABEL_SHARE = 0.1
"""Minimum share of hits with a label for reading the label as a speaker's name."""

OTHER_TIME_WEIGHT = 2 / 3
"""Weight of a turn from outside the period that the text names."""
TOLD_LATER_WEIGHT = 0.85
"""Weight of a turn from soon after that period: people tell a day later ("yesterday I …")."""
TOLD_WITHIN = timedelta(days=7)
"""Time after a period in which people may still tell about it."""

_LABEL = re.compile(r"^([^\W\d_][^\n:：]{0,23})[:：]", re.MULTILINE)


class _Told(NamedTuple):
    """The properties of a turn for its nearness, cached with its point."""

    place: tuple[str, int]
    """Its session, and its place in the session; 0 means unknown."""
    at: datetime
    need: float
    """The weight of its neighbours: 1 for a short turn, less for a long one."""
    labels: frozenset[str]
    """The labels ("Ann:") at the beginning of its messages."""
    weight: float
    """1, or less for a question without an answer in its turn."""


@dataclass(frozen=True)
class _NearTurn:
    """A turn and its nearness to the texts of a query."""

    point: Point
    at: datetime
    """The time when it was said."""
    parts: dict[str, float]
    """Its own nearness, `cosine` and `lexical`; and the share of its neighbours, `context`."""
    rank: float
    """The nearness for ranking, from 0 to 1; it includes the neighbours and the speaker."""


async def search_turns(
    collection: Collection,
    embedder: "Embedder",
    query: Query,
    withheld: AbstractSet[Group] = NEVER_KEPT,
) -> list[Found]:
    """Return up to `query.limit` raw turns, best first, with `withheld` groups of data masked."""
    near = await _near_turns(collection, embedder, query)
    if not near:
        return []
    period = await asyncio.to_thread(_named_period, query)
    ranked = [(_score(one, query.now, period), one) for one in near]
    ranked.sort(key=lambda pair: (-round(pair[0], 6), pair[1].at.timestamp(), pair[1].point.id))
    best = ranked[: query.limit]
    found = read_each((one.point for _, one in best), masked_reader(withheld))
    turns = {turn.id: turn for turn in found}
    return [
        Found(
            turns[one.point.id],
            score,
            relevance_of(one.parts),
            0.0,
            {**one.parts, "recency": _recency(one.at, query.now)},
        )
        for score, one in best
        if one.point.id in turns
    ]


async def read_around(
    collection: Collection,
    query: Query,
    turns: Iterable[Turn],
    steps: range,
    withheld: AbstractSet[Group] = NEVER_KEPT,
) -> list[Turn]:
    """Return the turns at `steps` from these turns in their sessions, `withheld` data masked."""
    wanted = defaultdict[tuple[str, str], set[int]](set)
    for turn in turns:
        if turn.place:
            places = (turn.place + step for step in steps)
            wanted[turn.agent_id, turn.session_id].update(places)
    reads = [
        collection.scroll(_at_places(allowed, session, run), limit=len(run))
        for (agent, session), places in wanted.items()
        for allowed in (turns_filter(replace(query, agent_id=agent)),)
        for run in _runs(places)
    ]
    points = [point for page, _ in await asyncio.gather(*reads) for point in page]
    return list(read_each(points, masked_reader(withheld)))


def _at_places(allowed: Filter, session_id: str, places: range) -> Filter:
    here = (has("session_id", session_id), Between("place", places.start, places.stop))
    return Filter((*allowed.must, *here), allowed.must_not)


def _runs(places: Iterable[int]) -> list[range]:
    """Return places as runs without a gap.

    >>> _runs({3, 1, 2, 7})
    [range(1, 4), range(7, 8)]
    """
    runs: list[range] = []
    for place in sorted(places):
        if runs and place == runs[-1].stop:
            runs[-1] = range(runs[-1].start, place + 1)
        else:
            runs.append(range(place, place + 1))
    return runs


def _named_period(query: Query) -> Period | None:
    """Return the past period that the text names, unless that is the previous talk."""
    period = find_period(query.text, query.now, query.zone)
    return None if period is not None and period.last else period


def _score(near: _NearTurn, now: datetime, period: Period | None) -> float:
    # A question about earlier talk means no certain time: recency only decides between near ties.
    return near.rank * _period_weight(near.at, period) * (0.84 + 0.01 * _recency(near.at, now))


def _period_weight(at: datetime, period: Period | None) -> float:
    if period is None or period.start <= at < period.end:
        return 1.0
    told_later = period.end <= at < period.end + TOLD_WITHIN
    return TOLD_LATER_WEIGHT if told_later else OTHER_TIME_WEIGHT


def _recency(at: datetime, now: datetime) -> float:
    return math.exp(-max(0.0, (now - at).total_seconds()) / 86400 / 30)


async def _near_turns(
    collection: Collection, embedder: "Embedder", query: Query
) -> list[_NearTurn]:
    """Return the turns nearest to the texts of a query, unordered, in two round trips.

    The rarity of words is counted over the user's embedded turns.
    """
    texts, allowed = query.texts, turns_filter(query)
    corpus = Filter((Is("user_id", query.user_id), Is("type", "turn"), Is("embedded", True)))
    if not texts or not await collection.count(corpus):
        return []
    weights = [weight * side for _, weight in texts for side in (1.0, REPLY_WEIGHT)]
    words = [
        Search(encode_query(text), allowed, LEXICAL_HITS, idf_within=corpus) for text, _ in texts
    ]
    lexical_hits = await collection.search(_of_both_sides(words))
    scores = _add_up(lexical_hits, weights)
    found = {hit.point.id: hit.point for hits in lexical_hits for hit in hits}
    names = speakers([_told(point).labels for point in found.values()])
    nameless = [without_names(text, names) for text, _ in texts]
    vectors = [] if query.by_words else await embedder.embed_queries(nameless, within=query.within)
    helpers = sorted(scores, key=lambda id: (-scores[id], id))[:HELPERS]
    around = [_around(_told(found[id]).place, allowed) for id in helpers]
    dense_hits = await _dense_hits(collection, vectors, allowed, list(filter(None, around)))
    points = found | {hit.point.id: hit.point for hits in dense_hits for hit in hits}
    even = [weight for _, weight in texts for _ in range(2)]
    said = _add_up(lexical_hits, even)
    senses, meant = dict[str, float](), dict[str, float]()
    if vectors:
        senses = _senses(dense_hits, [*weights, 1.0], embedder)
        meant = _senses(dense_hits, [*even, 1.0], embedder)
    scale = await lexical_scale(collection, corpus)
    asked = " ".join(texts[0][0].split())
    named = {name for name in names if without_names(asked, {name}) != asked}
    told = {id: _told(point) for id, point in points.items()}
    lent = _lend(told, scores)
    near = []
    for id, point in points.items():
        own = lexical_nearness(scores.get(id, 0.0), scale)
        whole = lexical_nearness(scores.get(id, 0.0) + lent.get(id, 0.0), scale)
        parts = {"lexical": lexical_nearness(said.get(id, 0.0), scale), "context": whole - own}
        parts |= {"cosine": meant[id]} if id in meant else {}
        rank = 1 - (1 - whole) * (1 - senses.get(id, 0.0))
        near.append(_NearTurn(point, told[id].at, parts, rank * _weight(told[id], named)))
    return near


async def _dense_hits(
    collection: Collection,
    vectors: Sequence[tuple[float, ...]],
    allowed: Filter,
    around: Sequence[Filter],
) -> list[list[Hit]]:
    """Return the hits of each vector on both sides, and further turns `around` the helpers."""
    dense = _of_both_sides([Search(vector, allowed, DENSE_HITS) for vector in vectors])
    size = len(NEIGHBOUR_WEIGHTS) + 1
    helped = [Search(vectors[0], some, size) for some in around] if vectors else []
    hits = await collection.search([*dense, *helped])
    return [*hits[: len(dense)], _once(hits[:1], hits[len(dense) :])]


def _of_both_sides(searches: Sequence[Search]) -> list[Search]:
    """Return each search twice: among the user's messages, and among the replies."""
    return [
        one
        for search in searches
        for one in (search, replace(search, by_cues=True, limit=REPLY_HITS))
    ]


def _around(where: tuple[str, int], allowed: Filter) -> Filter | None:
    """Return the filter for a turn and its neighbours; `None` if its place is unknown."""
    session, place = where
    if not place:
        return None
    first, last = place + min(NEIGHBOUR_WEIGHTS), place + max(NEIGHBOUR_WEIGHTS)
    return _at_places(allowed, session, range(first, last + 1))


def _once(known: Iterable[Sequence[Hit]], more: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Return the hits of `more` that are not in `known`, each once."""
    seen = {hit.point.id for hits in known for hit in hits}
    each = {hit.point.id: hit for hits in more for hit in hits}
    return [hit for id, hit in each.items() if id not in seen]


def speakers(turns: Sequence[Some[str]]) -> set[str]:
    """Return the speakers' names that begin messages ("Ann: …"), if many of the turns have them.

    `turns` are the labels of each.

    >>> sorted(speakers([{"Ann"}, {"Bob"}, {"Ann"}, {"Bob"}, {"PS"}]))
    ['Ann', 'Bob']
    """
    counts = Counter(label for labels in turns for label in labels)
    least = max(2, MIN_LABEL_SHARE * len(turns))
    return {name for name, count in counts.items() if count >= least}


def without_names(text: str, names: Iterable[str]) -> str:
    """Return the text without the speakers' names: every turn has them, so they rank nothing.

    >>> without_names("When did Ann's cat run away from Annecy?", {"Ann"})
    'When did cat run away from Annecy?'
    >>> without_names("Ann?", {"Ann"})
    'Ann?'
    """
    rest = text
    for name in sorted(names, key=len, reverse=True):
        known = re.escape(name)
        spaced = rf"(?<!\w){known}(?:['’]s)?(?!\w)"
        rest = re.sub(spaced if is_spaced(name[-1]) else known, " ", rest)
    return " ".join(rest.split()) if any(char.isalnum() for char in rest) else text


def _add_up(lexical_hits: Sequence[Sequence[Hit]], weights: Sequence[float]) -> dict[str, float]:
    scores: defaultdict[str, float] = defaultdict(float)
    for found, weight in zip(lexical_hits, weights, strict=True):
        for hit in found:
            scores[hit.point.id] += weight * hit.score
    return scores


def _senses(
    dense_hits: Sequence[Sequence[Hit]], weights: Sequence[float], embedder: "Embedder"
) -> dict[str, float]:
    """Return the nearness of each turn to all texts, by dense vectors."""
    senses: dict[str, float] = {}
    for found, weight in zip(dense_hits, weights, strict=True):
        for hit in found:
            near = weight * embedder.nearness(hit.score)
            senses[hit.point.id] = 1 - (1 - senses.get(hit.point.id, 0.0)) * (1 - near)
    return senses


def _weight(told: _Told, named: set[str]) -> float:
    """Return the weight of a turn, lower if the question names another speaker."""
    if not named or told.labels & named:
        return told.weight
    return told.weight * OTHER_SPEAKER_WEIGHT


def _lend(told: dict[str, _Told], scores: dict[str, float]) -> dict[str, float]:
    """Return the share of each turn's score that its neighbours add, by id."""
    counted = {id: one for id, one in told.items() if one.place[1]}
    said = {counted[id].place: id for id in scores if id in counted}
    lent: dict[str, float] = {}
    for id, one in counted.items():
        session, place = one.place
        around = (
            (said.get((session, place + step)), part) for step, part in NEIGHBOUR_WEIGHTS.items()
        )
        near = [(other, part) for other, part in around if other is not None]
        if not near:
            continue
        lent[id] = one.need * sum(
            part * scores[other]
            for other, part in near
            if abs(counted[other].at - one.at) < MAX_NEIGHBOUR_GAP
        )
    return lent


def _told(point: Point) -> _Told:
    kept: _Told | None = point.records.get(_Told) if point.records else None
    if kept is not None:
        return kept
    payload = point.payload
    user, assistant = payload["user"], payload["assistant"]
    alone = not (user and assistant)
    asks = alone and f"{user}{assistant}".rstrip().endswith(("?", "？"))
    length = len((user + assistant).encode("utf-8", "replace"))
    told = _Told(
        (payload["session_id"], payload.get("place", 0)),
        datetime.fromisoformat(payload["at"]),
        min(1.0, SELF_CONTAINED_BYTES / max(1, length)),
        frozenset(_LABEL.findall(f"{user}\n{assistant}")),
        ASKING_WEIGHT if asks else 1.0,
    )
    if point.records is not None:
        point.records[_Told] = told
    return told
