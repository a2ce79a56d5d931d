"""The campaign of the monitor: each attempt is a turn that is judged by an odd answer."""

from datetime import timedelta
from random import Random
from typing import Any

from souffleur.knowledge.turn import Turn, TurnState, turn_point_id
from tests.faults.campaign import Campaign
from tests.faults.invariants import Contents, assert_founded, read_contents
from tests.faults.mutations import Family
from tests.faults.scene import BOBS, EXCHANGES, Exchange

A_SESSION = 8
"""Attempts whose turns are of one talk, so that each has earlier messages."""


class MonitorCampaign(Campaign):
    """Observes turns; each is judged once, or set aside and says why, or waits and is told of."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.states: list[TurnState] = []
        """What became of the turns, in order."""

    async def attempt(self, family: Family, name: str, seed: int) -> None:
        """Observe a turn that an answer of this family judges; then take back what it brought."""
        chance = Random(f"{name} {seed}")
        exchange = chance.choice(EXCHANGES)
        self.clock.at += timedelta(minutes=1)
        self.behave("monitor", family, chance, monitor=exchange.judged)
        place = len(self.states)
        troubles = await self._talk(exchange, place)
        turn = await self._turn(place)
        self.states.append(turn.state)
        after = await self.look(*troubles, turn.error, private=exchange.private)
        await self._assert_in_order(after, turn, exchange)
        if turn.state is TurnState.PENDING:
            after = await self._judge_well(exchange, place)
        await self.take_back(after)

    async def _talk(self, exchange: Exchange, place: int) -> list[str]:
        """Recall, observe and flush; returns what was said to be in trouble."""
        who: dict[str, Any] = {"user_id": "ann", "session_id": f"s{place // A_SESSION}"}
        whisper = await self.memory.recall(**who, text=exchange.user)
        assert whisper.error == ""
        assert not [word for word in BOBS if word in whisper.text]
        words: dict[str, Any] = {"user": exchange.user, "assistant": exchange.assistant}
        receipt = self.memory.observe(**who, **words, turn_id=str(place))
        assert (receipt.durable, receipt.new) == (True, True)
        await self.memory.flush()
        whisper = await self.memory.recall(**who, text=exchange.user)
        health = await self.memory.health()
        return [whisper.error, receipt.error, self.memory.error, repr(health)]

    async def _turn(self, place: int) -> Turn:
        id = turn_point_id("ann", "default", f"s{place // A_SESSION}", str(place))
        return await self.memory.knowledge.journal.turn(id)

    async def _assert_in_order(self, after: Contents, turn: Turn, exchange: Exchange) -> None:
        new = after.entries[len(self.before.entries) :]
        if turn.state is TurnState.PENDING:
            assert self.memory.error, f"it waits for nothing: {turn.error}"
        else:
            assert self.memory.error == ""
            asked = len(self.model.requests)
            assert await self.memory.flush()
            assert len(self.model.requests) == asked, "it was judged twice"
        if turn.state is TurnState.FAILED:
            assert len(turn.error.partition(": ")[2]) > 9, f"it does not say why: {turn.error!r}"
        if turn.state is not TurnState.JUDGED:
            assert not new
        others = [one for one in after.turns if one.id != turn.id]
        assert list(map(_said, others)) == list(map(_said, self.before.turns)), "others changed"
        assert_founded(new, turn, exchange, self.model.requests)

    async def _judge_well(self, exchange: Exchange, place: int) -> Contents:
        """Return what is in the store when what waited was judged, since its endpoint is well."""
        self.behave_well(monitor=exchange.judged)
        assert await self.memory.flush()
        assert (await self._turn(place)).state is TurnState.JUDGED
        assert self.memory.error == ""
        return await read_contents(self.memory.knowledge)


def _said(turn: Turn) -> Turn:
    """Return the turn without what a forgotten memory takes from it."""
    taken = {"hidden": False, "embedded": False, "judged": {}, "error": ""}
    return turn.model_copy(update=taken)
