"""Bearing: which memories bear on a message, by the words that they share with it."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set as AbstractSet

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.search.words import terms, words_of

MIN_SHARE = 0.4
"""Minimum share of a sentence or cue that the message says, by the weight of its words."""
MIN_WEIGHT = 1.0
"""Minimum weight of the words in common; a word that no other memory has weighs as much."""
MIN_OF_CUE = 2
"""Minimum words of a cue that the message says, as one is mostly chance ("something sweet"); in
scripts without spaces, pairs of characters."""
MAX_BEARING = 8
"""Maximum memories that bear on a message."""


def find_bearing(text: str, hits: Sequence[Found], called: Iterable[str] = ()) -> list[Memory]:
    """Return the memories that bear on a message, best first.

    A memory does if the message says much of its sentence, or of one of its cues. Words that many
    hits have weigh little; names of user and persona, `called`, weigh nothing. What a memory is
    worth does not count, so that small talk brings nothing.
    """
    names = {term for name in called for term in terms(name)}
    said = set(terms(text)) - names
    texts = {hit.item.id: [words_of(one) - names for one in hit.memory.embedded] for hit in hits}
    weights = _weights(set().union(*of) for of in texts.values())
    shares = {id: _most_said(said, of, weights) for id, of in texts.items()}
    best = sorted(hits, key=lambda hit: (-shares[hit.item.id], hit.item.id))
    return [hit.memory for hit in best if shares[hit.item.id] >= MIN_SHARE][:MAX_BEARING]


def _most_said(
    said: AbstractSet[str], texts: Sequence[AbstractSet[str]], weights: dict[str, float]
) -> float:
    """Return the largest share of a sentence, which comes first, or of a cue that is said."""
    sentence, *cues = texts
    told = [sentence, *(cue for cue in cues if len(said & cue) >= MIN_OF_CUE)]
    return max(_share(said & words, words, weights) for words in told)


def _share(shared: AbstractSet[str], words: AbstractSet[str], weights: dict[str, float]) -> float:
    """Return the share of words that is shared, by weight; 0 if it weighs too little."""
    weight = sum(map(weights.__getitem__, shared))
    return weight / sum(map(weights.__getitem__, words)) if weight >= MIN_WEIGHT else 0.0


def _weights(memories: Iterable[AbstractSet[str]]) -> dict[str, float]:
    """Return the weight of each word, from 0 to 1: 1 if only one memory has it (as in BM25)."""
    each = list(memories)
    having = Counter(word for words in each for word in words)

    def rarity(count: int) -> float:
        return math.log1p((len(each) - count + 0.5) / (count + 0.5))

    return {word: rarity(count) / rarity(1) for word, count in having.items()}
