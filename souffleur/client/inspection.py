"""A look into the store of another process, by the socket that is its owner's alone."""

from typing import TYPE_CHECKING

from souffleur.client.calls import Call
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.session import Segment
from souffleur.knowledge.turn import Turn, TurnState

if TYPE_CHECKING:
    from souffleur.client.clients import AsyncClient

_ERROR = Call("GET", "/api/inspection/error", str)
_TURNS = Call("GET", "/api/inspection/turns", list[Turn], prepare=dict)
_ENTRIES = Call("GET", "/api/inspection/turns/{turn_id}/entries", list[LedgerEntry])
_SEGMENTS = Call("GET", "/api/inspection/segments", list[Segment])
_PAGE = Call("GET", "/api/inspection/page", str, prepare=dict, timeout=None)
_JOBS = Call("GET", "/api/inspection/jobs", list[str])


class RemoteInspection:
    """As `inspection.StoreInspection`. Every method raises RemoteError, too."""

    def __init__(self, client: "AsyncClient") -> None:
        """`client` is one of the owner's socket: others are refused."""
        self._client = client

    async def error(self) -> str:
        """Return why turns cannot be judged, found or stored; empty if they can."""
        found: str = await self._client.send(_ERROR)
        return found

    async def turns(
        self, *, user_id: str | None, state: TurnState | None = None, named: str | None = None
    ) -> list[Turn]:
        """Return turns in order of arrival, sensitive data masked; `None` means any."""
        found: list[Turn] = await self._client.send(
            _TURNS, user_id=user_id, state=state, named=named
        )
        return found

    async def entries(self, *, user_id: str, turn_id: str) -> list[LedgerEntry]:
        """Return what a turn brought, by its own id, oldest first."""
        found: list[LedgerEntry] = await self._client.send(
            _ENTRIES, user_id=user_id, turn_id=turn_id
        )
        return found

    async def segments(self, *, user_id: str) -> list[Segment]:
        """Return what of a user's talk waits to be summarised."""
        found: list[Segment] = await self._client.send(_SEGMENTS, user_id=user_id)
        return found

    async def page(self, *, user_id: str | None) -> str:
        """Return the page of a report, as HTML."""
        found: str = await self._client.send(_PAGE, user_id=user_id)
        return found

    async def jobs(self) -> list[str]:
        """Return the names of the jobs that are run at their times; none without a schedule."""
        found: list[str] = await self._client.send(_JOBS)
        return found
