"""Places: where a model takes a whisper, as learned from what it has refused."""

import time
from collections.abc import Callable

from loguru import logger

from souffleur.proxy.injection import Place
from souffleur.proxy.latest import Latest

REFUSALS = frozenset({400, 422})
"""How upstreams answer messages that they, or the template of a model, cannot take: vLLM, LM Studio
and most others with 400, those that check requests with pydantic with 422. Any other status is due
to something else: the key, the address, the rate, the size of a body, trouble of the upstream."""
ORDER: tuple[Place, ...] = ("system", "user", "nowhere")
"""The places, from the best one on."""
LEARNED_FOR = 3600.0
"""Seconds for which a refusal counts: a model may have another template tomorrow."""
MAX_MODELS = 1000
"""Models that are remembered."""
_TOLD = {
    "user": "before the user's words, but refused it as the system's",
    "nowhere": "nowhere: a request was refused with one, and answered without",
}


class Places:
    """Remembers what the models of one upstream have refused."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        """`steady` counts seconds and never jumps."""
        self._steady = steady
        self._refused: Latest[tuple[str, Place], tuple[int, float]] = Latest(2 * MAX_MODELS)
        """From which length on requests were refused, and until when that counts."""

    def first(self, model: str, length: int) -> Place:
        """Return the best place for a request of so many characters that is not known to fail.

        >>> (places := Places()).learn("gemma", 900, "user")
        >>> places.first("gemma", 100), places.first("qwen", 100)
        ('user', 'system')
        """
        return next(one for one in ORDER if length < self._limit(model, one))

    def learn(self, model: str, length: int, place: Place) -> None:
        """Note that a request was refused with a whisper at any place before this one.

        If another place is taken, the refused one is none for this model. If none is, a shorter
        request may do, as the whisper may have been too much for the model's context.
        """
        begin = length if place == "nowhere" else 0
        logger.warning("the model {!r} takes a whisper {}", model, _TOLD[place])
        for refused in ORDER[: ORDER.index(place)]:
            limit = min(begin, self._limit(model, refused))
            self._refused.put((model, refused), (int(limit), self._steady() + LEARNED_FOR))

    def _limit(self, model: str, place: Place) -> float:
        limit, until = self._refused.get((model, place)) or (0, 0.0)
        return limit if self._steady() < until else float("inf")


def after(place: Place) -> Place | None:
    """Return the next best place; `None` if there is none.

    >>> after("system"), after("user"), after("nowhere")
    ('user', 'nowhere', None)
    """
    return next(iter(ORDER[ORDER.index(place) + 1 :]), None)
