"""Health: whether the endpoints answer, and turns are judged and stored; if not, why."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from souffleur.agents.model.chat import Chat, Message, Request
from souffleur.errors import (
    AnswerError,
    EmbedderError,
    EndpointError,
    StoreError,
    is_outage,
    joined,
)
from souffleur.knowledge.network.breaker import Breaker

if TYPE_CHECKING:
    from souffleur.knowledge.search.embedder import Embedder

_PROBE = Request((Message("user", "Answer with the single word OK."),), "probe")


@dataclass
class Replies:
    """The state of the replies that the proxy passes on."""

    error: str = ""
    """Why the latest reply was not read completely; empty if it was."""


@dataclass(frozen=True)
class Health:
    """The health of a Souffleur at one moment."""

    at: datetime
    """The moment of the check."""
    endpoint: str
    """`ok`, `failing`, or `none` if no model is configured."""
    judging_error: str
    """Why turns cannot be judged, and since when; empty if they can."""
    embedder_error: str
    """Why texts cannot be embedded; until they can, searches use words alone. Empty if they can."""
    store_error: str
    """Why turns may not be on disk; empty if they are."""
    waiting: int
    """Number of turns that wait to be judged."""
    waiting_since: datetime | None
    """Since when the oldest waiting turn waits."""
    set_aside: int
    """Number of turns for which the model gave no usable answer; `retry` judges them again."""
    judged_at: datetime | None
    """When the latest judgement ended; `None` if no turn was judged yet."""
    budget_error: str = ""
    """Which budgets are used up, so that turns wait for the next day; empty if no budget is."""
    reply_error: str = ""
    """Why the latest reply through the proxy was not read completely; empty if it was."""

    @property
    def error(self) -> str:
        """All errors in one line; empty if there is no error."""
        others = (self.embedder_error, self.store_error, self.reply_error)
        return joined(self.judging_error, self.budget_error, *others)

    @property
    def is_ok(self) -> bool:
        """Whether a model judges, there is no error, and no turn was set aside."""
        return self.endpoint == "ok" and not self.error and not self.set_aside


class Endpoints:
    """A model and an embedder, each behind a breaker. The model may be `None`."""

    def __init__(self, chat: Chat | None, judging: Breaker, embedder: "Embedder") -> None:
        """`chat` is the chat without the breaker; other code calls it through `judging`."""
        self._chat = chat
        self.judging = judging
        self._embedder = embedder

    @property
    def breakers(self) -> tuple[Breaker, ...]:
        """The breakers of the model and of the embedder."""
        return (self.judging, self.embedding) if self.embedding else (self.judging,)

    @property
    def embedding(self) -> Breaker | None:
        """The breaker of the embedder; `None` if the embedder has no breaker."""
        return self._embedder.breaker

    @property
    def error(self) -> str:
        """Which endpoints fail, since when and why; empty if all work."""
        return "; ".join(breaker.trouble for breaker in self.breakers if breaker.trouble)

    @property
    def retry_in(self) -> float:
        """Seconds until both endpoints may be asked; 0 if they may be asked now."""
        return max(breaker.retry_in for breaker in self.breakers)

    def let_try(self) -> None:
        """Let the next request to each endpoint through, however recently a request failed."""
        for breaker in self.breakers:
            breaker.let_try()

    async def probe(self) -> None:
        """Ask the model for a word. Raises EndpointError if it fails or its settings are wrong."""
        if self._chat is None:
            return
        self.judging.let_try()
        try:
            with self.judging.attempt():
                await self._chat(_PROBE)
        except AnswerError:
            return  # the endpoint answers
        except EndpointError as error:
            if not error.outage:  # this request is valid, so the settings are wrong
                self.judging.trip(error)
            raise

    async def probe_embedder(self) -> None:
        """Embed a word. Raises EmbedderError."""
        try:
            await self._embedder.probe()
        except EmbedderError as error:
            if self.embedding and not error.outage:
                self.embedding.trip(error)
            raise

    async def is_fault_of_request(self, error: Exception) -> bool:
        """Return whether another request would have succeeded; asks the endpoint if unclear."""
        if isinstance(error, StoreError):
            return False
        if not isinstance(error, EndpointError | EmbedderError):
            return True
        judging = isinstance(error, EndpointError)
        if (judging and is_outage(error)) or self._is_known(error.outage):
            return False
        try:
            await (self.probe() if judging else self.probe_embedder())
        except (EndpointError, EmbedderError):
            return False
        return True

    def _is_known(self, outage: bool) -> bool:
        """Return whether an endpoint is known to fail, so that it need not be asked."""
        failing = [breaker for breaker in self.breakers if breaker.outage]
        return any(outage or breaker.retry_in for breaker in failing)
