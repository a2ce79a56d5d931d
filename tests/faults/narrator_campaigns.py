"""The campaigns of the narrator: talk that becomes episodes, and portraits written anew."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import ActorKind, LedgerEntry
from souffleur.knowledge.session import Segment, SegmentState
from souffleur.knowledge.text.match import normalize_text
from tests.faults.campaign import Campaign
from tests.faults.mutations import Family
from tests.faults.scene import EXCHANGES, Exchange
from tests.scripted import SKIP, episode, portrait

LATER = timedelta(hours=25)
"""When all that failed may be tried again."""
MORE = ("And it rains again.", "Take an umbrella.")
"""What is said besides, so that there is enough for an episode."""
KEPT = ("Lyon", "Tofu", "Tom", "2024", "Oslo")
"""Words of the first portrait that none may lose without saying so."""
PARAGRAPHS = (
    "Ann lives in Lyon with a cat called Tofu.",
    "She is allergic to peanuts, and Mo promised her a list of good vets.",
    "Tom was her partner until 2024; she flies to Oslo on 9 January 2026.",
)
PRIVATE = PARAGRAPHS[1]
"""What a portrait is written from; the talk itself is not sent with it."""


def _good_episode(_: Any) -> dict[str, Any]:
    facts = ["Ann talked with Mo.", "It rains again."]
    return episode("Ann told Mo how she is; it rains again.", key_facts=facts, reason="because")


def _good_portrait(_: Any) -> dict[str, Any]:
    told = (*PARAGRAPHS[:2], f"{PARAGRAPHS[2]} She is well.")
    return portrait(*told, name="Ann", changes=["she is well"], reason="because")


class EpisodeCampaign(Campaign):
    """Ends sessions; each becomes an episode or small talk, or waits and says why."""

    async def attempt(self, family: Family, name: str, seed: int) -> None:
        """Have a session told by an answer of this family; then take the episode back."""
        chance = Random(f"{name} {seed}")
        exchange = chance.choice(EXCHANGES)
        self.clock.at += LATER
        self.behave("episode", family, chance, episode=_good_episode)
        session_id = f"s{len(self.before.turns)}"
        await self._talk(session_id, exchange)
        segment = await self._segment(session_id)
        told = [segment.error, self.memory.error, repr(await self.memory.health())]
        after = await self.look(*told, private=exchange.private)
        _assert_told(segment, after.entries[len(self.before.entries) :])
        if segment.state is SegmentState.WAITING:
            assert segment.error or self.memory.error, "it waits for nothing"
            self.behave_well(episode=_good_episode)
            self.clock.at += LATER
            assert await self.memory.flush()
            segment = await self._segment(session_id)
            assert segment.state is SegmentState.WRITTEN
            after = await self.look(private=exchange.private)
        asked = len(self.model.requests)
        assert await self.memory.flush()
        assert len(self.model.requests) == asked, "it was told twice"
        await self.take_back(after)

    async def _talk(self, session_id: str, exchange: Exchange) -> None:
        who: dict[str, Any] = {"user_id": "ann", "session_id": session_id}
        for user, assistant in ((exchange.user, exchange.assistant), MORE):
            self.memory.observe(**who, user=user, assistant=assistant)
        self.memory.end_session(**who)
        await self.memory.flush()

    async def _segment(self, session_id: str) -> Segment:
        (segment,) = await self.memory.knowledge.sessions.segments("ann", session_id=session_id)
        return segment


def _assert_told(segment: Segment, entries: Sequence[LedgerEntry]) -> None:
    """An episode is one new memory that tells of its segment; nothing else has changed."""
    assert {entry.by.who for entry in entries if entry.op != "SKIP"} <= {ActorKind.SUMMARIZER}
    done = [change for entry in entries for change in entry.changes]
    assert len(done) == (segment.state is SegmentState.WRITTEN)
    for change in done:
        assert change.before is None
        assert (change.after.id, change.after.user_id) == (segment.episode_id, "ann")
        assert change.after.category is Category.EPISODE
        assert change.after.data["segment_id"] == segment.id
        assert change.after.valid_from == segment.since
        assert len(change.after.model_dump_json()) < 20_000, "its other fields are a book"


class PortraitCampaign(Campaign):
    """Tells something big; the portrait is written anew, or the former stays and says why."""

    async def prepare(self) -> None:
        """Have a first portrait written."""
        first = portrait(*PARAGRAPHS, name="Ann", reason="because")
        self.behave_well(portrait=lambda _: first)
        await self.memory.write_portrait(user_id="ann")

    async def attempt(self, family: Family, name: str, seed: int) -> None:
        """Have the portrait written by an answer of this family; then take it back."""
        chance = Random(f"{name} {seed}")
        exchange = chance.choice(EXCHANGES)
        self.clock.at += LATER
        self.behave("portrait", family, chance, portrait=_good_portrait, monitor=_big)
        await self._tell(exchange)
        upkeep = await self.memory.knowledge.sessions.portrait_status("ann")
        troubles = [upkeep.error, self.memory.error, repr(await self.memory.health())]
        after = await self.look(*troubles, private=PRIVATE)
        written = [one for one in after.entries[len(self.before.entries) :] if one.changes]
        in_force = (one for one in after.memories.values() if one.state is MemoryState.ACTIVE)
        held = (one.searchable for one in in_force if one.category is not Category.PROFILE)
        _assert_portrayed(written, "\n".join(held))
        if upkeep.big:
            assert not written
            assert upkeep.error or self.memory.error, "it waits for nothing"
            self.behave_well(portrait=_good_portrait)
            self.clock.at += LATER
            await self._tell(exchange)
            assert not (await self.memory.knowledge.sessions.portrait_status("ann")).big
            after = await self.look(private=PRIVATE)
        await self.take_back(after)

    async def _tell(self, exchange: Exchange) -> None:
        words: dict[str, Any] = {"user": exchange.user, "assistant": exchange.assistant}
        self.memory.observe(user_id="ann", session_id="s", **words)
        await self.memory.flush()


def _big(_: Any) -> dict[str, Any]:
    return {**SKIP, "big": True}


def _assert_portrayed(entries: Sequence[LedgerEntry], held: str) -> None:
    """The portrait alone has a new version; nothing is lost without a word that is not held."""
    assert len(entries) <= 1
    for entry in entries:
        assert (entry.op, entry.by.who) == ("UPDATE", ActorKind.PROFILE_WRITER)
        former = next(c.before for c in entry.changes if c.before is not None)
        version = next(c.after for c in entry.changes if c.before is None)
        assert {c.after.category for c in entry.changes} == {Category.PROFILE}
        assert version.data["version"] > former.data["version"]
        assert len(version.model_dump_json()) < 60_000, "its other fields are a book"
        _assert_nothing_lost(version, held)


def _assert_nothing_lost(version: Memory, held: str) -> None:
    named = f"{version.data['name']} {version.data['occupation']}"
    told = normalize_text(f"{version.content} {named} {held}")
    dropped = normalize_text(" ".join(one["detail"] for one in version.data["dropped"]))
    gone = [word for word in KEPT if normalize_text(word) not in f"{told} {dropped}"]
    assert not gone, f"lost without a word: {gone} (dropped were {dropped[:200]!r})"
