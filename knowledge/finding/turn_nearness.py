"""Nearness of raw turns: by their own words and sense, and by what was said just around them.

An answer seldom repeats its question: "Green, of course!" is found by what was asked the turn
before. What is hidden, gone or not asked for is not among the hits, so it lends nothing. What an
assistant says by itself counts less than what its user says, whom most questions are about.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from souffleur.knowledge.engine.collection import Collection, Filter, Hit, Payload, Point, Search
from souffleur.knowledge.finding.nearness import (
    DenseEncoder,
    Parts,
    lexical_nearness,
    lexical_scale,
)
from souffleur.knowledge.language.lexical import encode_query, is_spaced

LEXICAL_HITS = 300
"""Hits taken by words: neighbours are looked for among them alone."""
DENSE_HITS = 200
"""Hits taken by sense."""
NEIGHBOUR_WEIGHTS = {-2: 0.25, -1: 0.5, 1: 0.5, 2: 0.25}
"""What the words of a neighbour count, by how many turns later it was said."""
SELF_CONTAINED_BYTES = 400
"""Bytes of UTF-8 from which on a turn says itself what it is about, and is lent less."""
ASSISTANT_ONLY_WEIGHT = 0.5
"""What words and sense count of a turn in which the user says nothing."""
OTHER_SPEAKER_WEIGHT = 0.9
"""What a turn counts of someone else than who the question names."""
MAX_NEIGHBOUR_GAP = timedelta(minutes=30)
"""Turns further apart are no neighbours."""
MIN_LABEL_SHARE = 0.1
"""Share of the hits that a label must begin to be the name of who speaks."""

_LABEL = re.compile(r"^([^\W\d_][^\n:：]{0,23})[:：]", re.MULTILINE)


@dataclass(frozen=True)
class NearTurn:
    """A turn that is near to some texts."""

    point: Point
    parts: Parts
    """Its own nearness, `cosine` and `lexical`, and `context`: what its neighbours' words add."""
    rank: float
    """Nearness to rank it by: with its neighbours' words, and by who speaks. From 0 to 1."""


async def hybrid_search_turns(
    collection: Collection,
    encoder: DenseEncoder | None,
    texts: Sequence[tuple[str, float]],
    allowed: Filter,
    corpus: Filter,
) -> list[NearTurn]:
    """The turns nearest to the texts, each with its weight, in no order, in two round trips.

    `corpus` are the turns over which the rarity of words is counted. Without a sense, words alone
    count.
    """
    if not texts:
        return []
    lexical_hits = await collection.search(
        [Search(encode_query(text), allowed, LEXICAL_HITS, idf_within=corpus) for text, _ in texts]
    )
    names = speakers(hit.point.payload for found in lexical_hits for hit in found)
    nameless = [without_names(text, names) for text, _ in texts]
    vectors = await encoder.vectors(nameless) if encoder else []
    dense_hits = await collection.search(
        [Search(vector, allowed, DENSE_HITS) for vector in vectors]
    )
    weights = [weight for _, weight in texts]
    points = {hit.point.id: hit.point for found in (*lexical_hits, *dense_hits) for hit in found}
    scores = _add_up(lexical_hits, weights)
    senses = _senses(dense_hits, weights, encoder) if encoder else {}
    scale = await lexical_scale(collection, corpus)
    asked = " ".join(texts[0][0].split())
    named = {name for name in names if without_names(asked, {name}) != asked}
    shares = {id: _role_weight(point.payload) for id, point in points.items()}
    lent = _lend(points, {id: shares[id] * score for id, score in scores.items()})
    near = []
    for id, point in points.items():
        score, share = scores.get(id, 0.0), shares[id]
        own, whole = share * score, share * score + lent.get(id, 0.0)
        meant_by = share * senses.get(id, 0.0)
        rank = 1 - (1 - lexical_nearness(whole, scale)) * (1 - meant_by)
        parts = {
            "lexical": lexical_nearness(score, scale),
            "context": lexical_nearness(whole, scale),
        }
        parts["context"] -= lexical_nearness(own, scale)
        parts |= {"cosine": senses[id]} if id in senses else {}
        near.append(NearTurn(point, parts, rank * _speaker_weight(point.payload, named)))
    return near


def speakers(turns: Iterable[Payload]) -> set[str]:
    """The names a host writes before what is said, where many of these turns have one.

    >>> said = [{"user": f"{name}: Tea!"} for name in ("Ann", "Bob", "Ann", "Bob", "PS")]
    >>> sorted(speakers(said))
    ['Ann', 'Bob']
    """
    counts: Counter[str] = Counter()
    total = 0
    for turn in turns:
        total += 1
        words = f"{turn.get('user', '')}\n{turn.get('assistant', '')}"
        counts.update(set(_LABEL.findall(words)))
    return {name for name, count in counts.items() if count >= max(2, MIN_LABEL_SHARE * total)}


def without_names(text: str, names: Iterable[str]) -> str:
    """The text without who speaks: where everything is said by Ann or Bob, a name tells little.

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
    dense_hits: Sequence[Sequence[Hit]], weights: Sequence[float], encoder: DenseEncoder
) -> dict[str, float]:
    """How near each turn is by sense: to either text, or, more, to both."""
    senses: dict[str, float] = {}
    for found, weight in zip(dense_hits, weights, strict=True):
        for hit in found:
            near = weight * encoder.nearness(hit.score)
            senses[hit.point.id] = 1 - (1 - senses.get(hit.point.id, 0.0)) * (1 - near)
    return senses


def _role_weight(payload: Payload) -> float:
    return 1.0 if payload["user"] else ASSISTANT_ONLY_WEIGHT


def _speaker_weight(payload: Payload, named: set[str]) -> float:
    """What a turn counts by who speaks, where the question names somebody of those who do."""
    if not named:
        return 1.0
    labels = set(_LABEL.findall(f"{payload['user']}\n{payload['assistant']}"))
    return 1.0 if labels & named else OTHER_SPEAKER_WEIGHT


def _lend(points: dict[str, Point], scores: dict[str, float]) -> dict[str, float]:
    """What each turn's neighbours add to its score; turns whose place is not known have none."""
    places = {id: _place(point.payload) for id, point in points.items()}
    counted = {id: place for id, place in places.items() if place[1]}
    said = {counted[id]: id for id in scores if id in counted}
    lent: dict[str, float] = {}
    for id, (session, place) in counted.items():
        around = (
            (said.get((session, place + step)), part) for step, part in NEIGHBOUR_WEIGHTS.items()
        )
        near = [(other, part) for other, part in around if other is not None]
        if not near:
            continue
        at = _at(points[id])
        lent[id] = _context_need(points[id].payload) * sum(
            part * scores[other]
            for other, part in near
            if abs(_at(points[other]) - at) < MAX_NEIGHBOUR_GAP
        )
    return lent


def _place(payload: Payload) -> tuple[str, int]:
    return payload["session_id"], payload.get("place", 0)


def _at(point: Point) -> datetime:
    return datetime.fromisoformat(point.payload["at"])


def _context_need(payload: Payload) -> float:
    """How much a turn needs its neighbours to be understood: from 1, for a short one, down."""
    length = len((payload["user"] + payload["assistant"]).encode("utf-8", "replace"))
    return min(1.0, SELF_CONTAINED_BYTES / max(1, length))
