"""Summaries: writes episodes and portraits in the background, and tries failed ones again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import (
    AnswerError,
    NotFoundError,
    OutageError,
    StoreError,
    add_usage,
    is_outage,
)
from souffleur.knowledge.identity import COMMON, SHARED, knows
from souffleur.knowledge.memory import Category, Memories, Memory, MemoryState
from souffleur.knowledge.portrait_rule import PortraitStatus, why_due
from souffleur.knowledge.session import Segment, SegmentState
from souffleur.telemetry.log_lines import describe, error_record, trace_bug

if TYPE_CHECKING:
    from souffleur.agents.auditor import Auditor
    from souffleur.agents.portrait_writer import ProfileWriter
    from souffleur.agents.summarizer import ConversationSummarizer
    from souffleur.knowledge.forgetting.request import JudgeDoubt
    from souffleur.knowledge.knowledge_base import KnowledgeBase

MAX_SUMMARY_PAUSE = 3600.0
"""Maximum seconds between two attempts; attempts never end, but their pauses grow."""
PORTRAIT_PAUSE = 86_400.0
"""Seconds between two attempts at a portrait; meanwhile the earlier portrait is used."""
REWRITE_SECONDS = 60.0
"""Maximum seconds for a model to rewrite episodes and portraits after a forgetting."""


@dataclass(frozen=True)
class PortraitSources:
    """The material for the next version of a user's portrait in one sphere."""

    former: Memory | None
    """The version in force; if there is none, the latest version in any state."""
    versions: int
    """The highest version number so far."""
    status: PortraitStatus
    episodes: list[Memory]
    """The episodes since the portrait was written, oldest first."""


@dataclass(frozen=True)
class DuePortrait:
    """A portrait to be written now."""

    status: PortraitStatus
    why: str

    @property
    def sphere(self) -> str:
        """The sphere in which the portrait is kept."""
        return self.status.sphere


class Summaries:
    """Writes an episode for each waiting segment of a user, then the portraits that are due."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        summarizer: "ConversationSummarizer",
        profile_writer: "ProfileWriter",
        auditor: "Auditor",
        judge_doubt: "JudgeDoubt",
        *,
        pause: float,
        clock: Callable[[], datetime],
    ) -> None:
        """`judge_doubt` says which records that a forgetting hid in doubt are to stay hidden.

        `pause` is the time before another attempt in seconds; it doubles with each failure.
        """
        self._knowledge = knowledge
        self._summarizer = summarizer
        self._profile_writer = profile_writer
        self._auditor = auditor
        self._judge_doubt = judge_doubt
        self._pause = pause
        self._clock = clock

    async def run(self, user_id: str) -> float | None:
        """Write the due episodes and portraits; return the seconds until the next retry, or `None`.

        First asks about records that a forgetting hides and that no model has judged yet. Raises
        the error if an endpoint or the store fails: then all of them wait.
        """
        await self._knowledge.settle_doubts(user_id, self._judge_doubt, now=self._clock())
        waiting = await self._knowledge.current.sessions.waiting_segments(user_id)
        pauses = [await self._summarise(segment) for segment in waiting]
        pauses += [await self._write_due(one) for one in await self.due(user_id)]
        if self._knowledge.raw_days == 0:
            await self._knowledge.sessions.expire(self._clock(), 0)
        return min((pause for pause in pauses if pause is not None), default=None)

    async def due(self, user_id: str) -> list[DuePortrait]:
        """Return the portraits of a user that must be written now, by sphere.

        The common sphere may have a portrait, and so may the sphere of each persona that reads only
        its own. Episodes and portraits are read once for all spheres.
        """
        knowledge = self._knowledge.current
        episodes = await knowledge.list(user_id, category=Category.EPISODE)
        portraits = await knowledge.portraits(user_id, None)
        spheres = {one.sphere for one in (*episodes, *portraits) if one.sphere != SHARED}
        found = []
        for sphere in sorted({COMMON} | spheres):
            status = await knowledge.sessions.portrait_status(user_id, sphere)
            sources, now = select_sources(portraits, episodes, status), self._clock()
            outdated = await self._is_outdated(sources.former)
            if why := why_due(sources.former, sources.episodes, status, now, outdated=outdated):
                found.append(DuePortrait(status, why))
        return found

    async def _is_outdated(self, portrait: Memory | None) -> bool:
        """Return whether a portrait tells what was replaced since it was written."""
        if portrait is None or portrait.state is not MemoryState.ACTIVE:
            return False
        return await self._knowledge.current.without_outdated(portrait) is not portrait

    async def write_portrait(self, user_id: str, why: str, sphere: str = COMMON) -> Memory:
        """Write a new portrait in a sphere, due or not; after big news, audit the memories first.

        Raises NotFoundError if nothing is known of the user, and the errors of the model.
        """
        sessions = self._knowledge.sessions
        sources, now = await self._read_sources(user_id, sphere), self._clock()
        former, episodes = sources.former, sources.episodes
        if not (former or episodes or await self._knowledge.list(user_id, now=now, sphere=sphere)):
            raise NotFoundError(
                f"nothing is known of {user_id!r} yet: there is no portrait to write"
            )
        if sources.status.big:
            await self._audit(user_id, sphere, now)
        portrait = await self._profile_writer.run(
            user_id, former, episodes, why=why, now=now, sphere=sphere, versions=sources.versions
        )
        until = max((one.created_at for one in episodes), default=sources.status.until)
        status = await sessions.portrait_status(user_id, sphere)
        done = {"until": until, "big": False, "tries": 0, "retry_at": None, "error": ""}
        await sessions.save_portrait_status(status.model_copy(update=done))
        return portrait

    async def _audit(self, user_id: str, sphere: str, now: datetime) -> None:
        """Read all memories together; after an unusable answer, the weekly run does it."""
        try:
            await self._auditor.run(user_id, sphere, now=now)
        except AnswerError as error:
            logger.bind(user=user_id).warning("the memories are not audited: {}", describe(error))

    async def rewrite(self, user_id: str, portraits: Memories) -> None:
        """Rewrite episodes and these portraits after words were cut from them. Never raises."""
        try:
            if not (await self._knowledge.choices.find(user_id)).memory:
                return  # no model may read of this user; episodes wait until the memory is on
            async with asyncio.timeout(REWRITE_SECONDS):
                await self.run(user_id)
                for one in portraits:
                    why = "something in it was to be forgotten"
                    await self.write_portrait(user_id, why, one.sphere)
        except Exception as error:  # noqa: BLE001  the cut texts stay as they are
            bound = logger.bind(user=user_id)
            bound.warning("what was cut is not written anew: {}", describe(error))
            trace_bug(bound, error)

    async def _summarise(self, segment: Segment) -> float | None:
        waits = self._left(segment.retry_at)
        if waits is not None:
            return waits
        sessions = self._knowledge.sessions
        try:
            episode_id = await self._summarizer.run(segment)
        except StoreError:
            raise
        except Exception as error:
            if is_outage(error):
                await self._note_outage(segment, error)
                raise
            return await self._later(segment, error)
        state = SegmentState.WRITTEN if episode_id else SegmentState.SMALL_TALK
        (now,) = await sessions.get([segment.id])
        if now.version != segment.version:  # a reply was replaced meanwhile
            state = SegmentState.WAITING
        done = {"state": state, "episode_id": episode_id, "error": "", "retry_at": None}
        await sessions.save([now.model_copy(update=done)])
        return 0.0 if state is SegmentState.WAITING else None

    async def _later(self, segment: Segment, error: Exception) -> float:
        pause = self._wait(segment.tries)
        spent = add_usage(segment.spent, error)
        failed = {"tries": segment.tries + 1, "error": error_record(error), "spent": spent}
        at = self._clock() + timedelta(seconds=pause)
        failed_segment = segment.model_copy(update={**failed, "retry_at": at})
        await self._knowledge.sessions.save([failed_segment])
        _log(error, segment.user_id, "a segment waits to be summarised", failed_segment.tries)
        return pause

    async def _note_outage(self, segment: Segment, error: Exception) -> None:
        """Note why a segment waits; an outage does not count as an attempt."""
        if not isinstance(error, OutageError):
            spent = add_usage(segment.spent, error)
            noted = segment.model_copy(update={"error": error_record(error), "spent": spent})
            await self._knowledge.sessions.save([noted])

    async def _write_due(self, due: DuePortrait) -> float | None:
        status = due.status
        waits = self._left(status.retry_at, PORTRAIT_PAUSE)
        if waits is not None:
            return waits
        try:
            await self.write_portrait(status.user_id, due.why, due.sphere)
        except StoreError:
            raise
        except Exception as error:
            if is_outage(error):
                raise
            failed = {"tries": status.tries + 1, "error": error_record(error)}
            at = self._clock() + timedelta(seconds=PORTRAIT_PAUSE)
            await self._knowledge.sessions.save_portrait_status(
                status.model_copy(update={**failed, "retry_at": at})
            )
            _log(error, status.user_id, "the portrait waits to be written", status.tries + 1)
            return PORTRAIT_PAUSE
        return None

    async def _read_sources(self, user_id: str, sphere: str) -> PortraitSources:
        knowledge = self._knowledge
        portraits = await knowledge.portraits(user_id, sphere)
        episodes = await knowledge.list(user_id, category=Category.EPISODE, sphere=sphere)
        status = await knowledge.sessions.portrait_status(user_id, sphere)
        return select_sources(portraits, episodes, status)

    def _left(self, retry_at: datetime | None, longest: float = MAX_SUMMARY_PAUSE) -> float | None:
        left = (retry_at - self._clock()).total_seconds() if retry_at else 0.0
        # A longer pause is impossible: a clock that was ahead has noted it.
        return left if 0 < left <= longest else None

    def _wait(self, tries: int) -> float:
        return min(self._pause * 2.0 ** min(tries, 30), MAX_SUMMARY_PAUSE)


def select_sources(
    portraits: Sequence[Memory], episodes: Sequence[Memory], status: PortraitStatus
) -> PortraitSources:
    """Return the material for the portrait of a status.

    `portraits` are newest first, `episodes` oldest first; both may be of several spheres.
    """
    sphere, until = status.sphere, status.until
    versions = [one for one in portraits if knows(sphere, one.sphere)]
    # If a version was taken back, the version before it is in force again.
    in_force = [one for one in versions if one.state in {MemoryState.ACTIVE, MemoryState.PENDING}]
    known = [one for one in episodes if knows(sphere, one.sphere)]
    return PortraitSources(
        former=next(iter(in_force or versions), None),
        versions=max((int(one.data.get("version", 0)) for one in versions), default=0),
        status=status,
        episodes=[one for one in known if until is None or one.created_at > until],
    )


def _log(error: Exception, user_id: str, what: str, tries: int) -> None:
    bound = logger.bind(user=user_id, tries=tries)
    bound.warning("{}: {}", what, describe(error))
    trace_bug(bound, error)
