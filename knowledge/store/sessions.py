"""Sessions: their windows, the segments that left the windows, and the expiry of raw turns."""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import datetime, timedelta
from functools import partial

from souffleur.knowledge.identity import (
    COMMON,
    check_id,
    own_sphere,
    sphere_conditions,
    user_conditions,
)
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.search.words import encode_document
from souffleur.knowledge.session import (
    MIN_EPISODE_MESSAGES,
    TALK_PAUSE,
    Segment,
    SegmentState,
    Session,
    WindowRule,
    close_window,
    is_idle,
    session_point_id,
)
from souffleur.knowledge.store.codecs import (
    masked_reader,
    portrait_status_point,
    segment_point,
    to_segment,
    to_session,
    to_turn,
    turn_point,
)
from souffleur.knowledge.store.engine.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Order,
    Point,
    read_all,
    read_pages,
)
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read, read_each
from souffleur.knowledge.turn import Turn, TurnState

Vector = tuple[float, ...]

SEGMENTS_LOOKED_AT = 50
"""Maximum number of segments to read to find the previous talk."""


class Sessions:
    """The sessions, segments and raw turns in a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def _collection(self) -> Collection:
        return self._journal.collection

    async def find(self, user_id: str, session_id: str, sphere: str = COMMON) -> Session | None:
        """Return a session; `None` if it does not exist."""
        found = await self._collection.get([session_point_id(user_id, session_id, sphere)])
        return to_session(found[0]) if found else None

    async def window(self, user_id: str, session_id: str, sphere: str = COMMON) -> list[Turn]:
        """Return the turns in a session's window, oldest first, with long messages clipped."""
        return await self.held(await self.find(user_id, session_id, sphere))

    async def held(self, session: Session | None) -> list[Turn]:
        """Return the turns in the window of a session, oldest first, with long messages clipped."""
        return await self._turns([entry.id for entry in session.window]) if session else []

    async def note_likely(self, turn: Turn, memory_ids: Sequence[str]) -> None:
        """Note in the session of a turn the ids of memories that are likely needed next."""
        id = session_point_id(turn.user_id, turn.session_id, turn.sphere)
        likely = {"next_ids": tuple(memory_ids), "next_at": turn.at}

        def noted(session: Session) -> tuple[Session, list[Segment]]:
            return session.model_copy(update=likely), []

        await self._journal.calling(lambda: self._journal.change_session(id, noted))

    def end(self, user_id: str, session_id: str, agent_id: str = "default") -> bool:
        """Close a session durably: its window becomes a segment. Return False if it was empty.

        If the persona has its own sphere, its separate session is closed too.
        """
        spheres = (COMMON, own_sphere(agent_id))
        ids = [session_point_id(user_id, session_id, sphere) for sphere in spheres]
        ended = [self._end(id) for id in ids]
        return any(ended)

    def _end(self, id: str) -> bool:
        def closed(session: Session) -> tuple[Session, list[Segment]] | None:
            return close_window(session) if session.window or session.left else None

        return self._journal.change_session(id, closed) is not None

    async def end_idle(self, now: datetime, rule: WindowRule) -> set[str]:
        """Close all sessions that were idle for too long; return the ids of their users."""
        if rule.idle is None:
            return set()
        users = set()
        late = (Is("state", "open"), Between("at", high=now - rule.idle + _INSTANT))
        silent = await self._all(Is("type", "session"), *late)
        for session in read_each(silent, to_session):
            id = session.id
            if not is_idle(session, now, rule):
                continue
            if await self._journal.calling(partial(self._end, id)):
                users.add(session.user_id)
        return users

    async def waiting_segments(self, user_id: str | None = None) -> list[Segment]:
        """Return the segments that wait to be summarised, in order of time."""
        waits = Is("state", SegmentState.WAITING)
        found = await self._all(Is("type", "segment"), waits, *user_conditions(user_id))
        return sorted(
            read_each(found, to_segment), key=lambda segment: (segment.at, segment.number)
        )

    async def users_waiting(self) -> list[str]:
        """Return the users with segments that wait to be summarised."""
        waiting = Filter((Is("type", "segment"), Is("state", SegmentState.WAITING)))
        users: dict[str, None] = {}
        async for page in read_pages(self._collection, waiting):
            users |= dict.fromkeys(segment.user_id for segment in read_each(page, to_segment))
        return list(users)

    async def segments(
        self,
        user_id: str,
        *,
        session_id: str | None = None,
        sphere: str | None = None,
        limit: int = SEGMENTS_LOOKED_AT,
    ) -> list[Segment]:
        """Return the latest segments of a user, newest first."""
        must: list[Condition] = [Is("type", "segment"), Is("user_id", check_id(user_id))]
        must += sphere_conditions(sphere)
        must += [has("session_id", session_id)] if session_id else []
        order = Order("at", descending=True)
        page, _ = await self._collection.scroll(Filter(tuple(must)), limit=limit, order=order)
        return read_each(page, to_segment)

    async def segments_with(self, turn_ids: Iterable[str]) -> list[Segment]:
        """Return the segments that contain any of these turns."""
        found: dict[str, Segment] = {}
        for turn_id in turn_ids:
            points = await self._all(Is("type", "segment"), has("turn_ids", turn_id))
            found |= {segment.id: segment for segment in read_each(points, to_segment)}
        return list(found.values())

    async def turns(self, segment: Segment) -> list[Turn]:
        """Return the current turns of a segment, oldest first, with long messages clipped."""
        return await self._turns(segment.turn_ids)

    async def save(self, segments: Sequence[Segment]) -> None:
        """Write segments."""
        await self._collection.put([segment_point(segment) for segment in segments])

    async def requeue(self, segments: Iterable[Segment]) -> None:
        """Queue segments to be summarised again, even if a summary is in progress.

        The segments may have new words, so they are marked as not expired.
        """
        fresh = {"state": SegmentState.WAITING, "tries": 0, "retry_at": None, "error": ""}
        fresh |= {"expunged": False}
        await self.save(
            [
                segment.model_copy(update={**fresh, "version": segment.version + 1})
                for segment in segments
            ]
        )

    async def settle_again(self, segment_ids: Sequence[str]) -> None:
        """Take segments out of the queue if they have an episode, which is valid again."""
        waiting = [one for one in await self.get(segment_ids) if one.state is SegmentState.WAITING]
        done = {"state": SegmentState.WRITTEN}
        await self.save([one.model_copy(update=done) for one in waiting if one.episode_id])

    async def get(self, segment_ids: Sequence[str]) -> list[Segment]:
        """Return segments by their ids; skips missing segments."""
        return read_each(await self._collection.get(segment_ids), to_segment)

    async def hide(self, turn_ids: Sequence[str], *, hidden: bool = True) -> None:
        """Hide turns from every read, or show them again. Their words stay until they expire.

        Hiding deletes the reasons of their judgement immediately and for good. A turn that was
        hidden before its judgement waits for it again when it is shown.
        """
        if hidden:
            both = {"hidden": True, "gone": True}
            await self._collection.merge_payload(list(turn_ids), both)
        for turn in read_each(await self._collection.get(list(turn_ids)), to_turn):
            if hidden:
                fields = _wordless(turn)
            else:
                fields = {"hidden": False, "gone": turn.expunged}
                fields |= {"state": TurnState.PENDING, "unread": False} if turn.unread else {}
            await self._collection.merge_payload([turn.id], fields)

    async def unembedded(
        self,
        user_id: str | None = None,
        *,
        limit: int,
        withheld: AbstractSet[Group] = NEVER_KEPT,
    ) -> list[Turn]:
        """Return turns that are not embedded yet, with data of the `withheld` groups masked."""
        page, _ = await self._collection.scroll(_unembedded(user_id), limit=limit)
        return read_each(page, masked_reader(withheld))

    async def count_unembedded(self, user_id: str | None = None) -> int:
        """Return the number of turns that are not embedded yet."""
        return await self._collection.count(_unembedded(user_id))

    async def embed(self, turns: Sequence[Turn], vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of turns; skips turns whose words have changed meanwhile.

        `vectors` has the embedding of each message. A turn with a secret is found by its other
        words.
        """
        given = {turn.id: turn for turn in turns}
        found = read_each(await self._collection.get(list(given)), to_turn)
        same = [
            turn for turn in found if turn.digest == given[turn.id].digest and not turn.expunged
        ]
        points = [_embedded(turn.id, given[turn.id], vectors) for turn in same]
        await self._collection.set_vectors([one for one in points if one.dense or one.cues])
        words = OneOf("digest", tuple({turn.digest for turn in same}))
        ids = [turn.id for turn in same]
        await self._collection.merge_payload(ids, {"embedded": True}, where=words)

    async def expunge(self, turn_ids: Sequence[str]) -> None:
        """Delete the words and vectors of turns for good; their records stay."""
        await self._journal.calling(lambda: self._expunge(turn_ids))

    def _expunge(self, turn_ids: Sequence[str]) -> None:
        gone = {"user": "", "assistant": "", "expunged": True, "embedded": False}
        with self._journal.lock:
            found = read_each(self._collection.get_now(list(turn_ids)), to_turn)
            self._collection.put_now(
                [turn_point(turn.model_copy(update={**gone, **_wordless(turn)})) for turn in found]
            )

    async def erase(self, turn: Turn, *, retell: bool = True, keep_episode: bool = False) -> None:
        """Delete the words of a turn, and take it out of its window or segment.

        With `retell`, the segment is summarised again if it has other turns. The caller must delete
        the segment's old episode, except with `keep_episode`.
        """
        await self._journal.calling(lambda: self._erase(turn))
        for segment in await self.segments_with([turn.id]):
            await self._shorten(segment, turn, retell=retell, keep_episode=keep_episode)

    def _erase(self, turn: Turn) -> None:
        id = session_point_id(turn.user_id, turn.session_id, turn.sphere)

        def shorter(session: Session) -> tuple[Session, list[Segment]]:
            window = tuple(held for held in session.window if held.id != turn.id)
            return session.model_copy(update={"window": window}), []

        bare = {"user": "", "assistant": "", "expunged": True, "embedded": False, "tries": 0}
        over = {"state": TurnState.JUDGED, "version": turn.version + 1, **_wordless(turn)}
        with self._journal.lock:
            self._journal.change_session(id, shorter)
            self._collection.put_now([turn_point(turn.model_copy(update={**bare, **over}))])

    async def _shorten(
        self, segment: Segment, turn: Turn, *, retell: bool, keep_episode: bool
    ) -> None:
        """Take a turn out of a segment, and queue the other turns to be summarised again."""
        left = tuple(id for id in segment.turn_ids if id != turn.id)
        if not left:
            await self._collection.delete([segment.id])
            return
        messages = max(segment.messages - turn.messages, 1)
        shorter = segment.model_copy(update={"turn_ids": left, "messages": messages})
        again = retell and segment.state is not SegmentState.SMALL_TALK and not segment.expunged
        if keep_episode:
            again = again and messages >= MIN_EPISODE_MESSAGES
        else:
            state = SegmentState.WAITING if again else SegmentState.SMALL_TALK
            shorter = shorter.model_copy(update={"episode_id": None, "state": state})
        await (self.requeue([shorter]) if again else self.save([shorter]))

    async def expire(self, now: datetime, days: int) -> int:
        """Delete the words of judged and summarised turns older than `days`; return their number.

        With 0 days, the words are deleted as soon as the turns are summarised.
        """
        must: list[Condition] = [Is("type", "segment"), Is("gone", False)]
        must += [Between("at", high=now - timedelta(days=days))] if days else []
        dropped = 0
        summarised = await self._all(*must, but=[Is("state", SegmentState.WAITING)])
        for segment in read_each(summarised, to_segment):
            turns = await self._turns(segment.turn_ids)
            if any(turn.state is not TurnState.JUDGED for turn in turns):
                continue
            await self.expunge(segment.turn_ids)
            await self.save([segment.model_copy(update={"expunged": True})])
            dropped += len(turns)
        return dropped

    async def previous_talk(
        self,
        user_id: str,
        session_id: str,
        now: datetime,
        rule: WindowRule,
        sphere: str = COMMON,
    ) -> tuple[datetime, datetime] | None:
        """Return the start and end of the previous talk; `None` without a previous talk.

        A talk is a series of turns in a session without a long pause.
        """
        idle = rule.idle or TALK_PAUSE
        window = await self.window(user_id, session_id, sphere)
        begun = window[0].at if window else now
        start, end, of = begun, None, session_id
        for segment in await self.segments(user_id, sphere=sphere):
            if segment.at >= now:
                continue
            if segment.session_id == of and start - segment.at < idle:
                start = segment.since
            elif end is None:
                start, end, of = segment.since, segment.at, segment.session_id
        return (start, end) if end else None

    async def portrait_status(self, user_id: str, sphere: str = COMMON) -> PortraitStatus:
        """Return the portrait status of a user in a sphere."""
        fresh = PortraitStatus(user_id=user_id, sphere=sphere)
        found = await self._collection.get([fresh.id])
        return read(found[0], PortraitStatus) if found else fresh

    async def save_portrait_status(self, status: PortraitStatus) -> None:
        """Write the portrait status of a user."""
        await self._collection.put([portrait_status_point(status)])

    async def _turns(self, ids: Sequence[str]) -> list[Turn]:
        found = read_each(await self._collection.get(list(ids)), to_turn)
        return [turn.clipped() for turn in found]

    async def _all(self, *must: Condition, but: Sequence[Condition] = ()) -> list[Point]:
        return await read_all(self._collection, Filter(tuple(must), tuple(but)))


_INSTANT = timedelta(microseconds=1)


def _wordless(turn: Turn) -> dict[str, object]:
    """Return the fields of a turn's judgement without its texts."""
    judged = {key: value for key, value in turn.judged.items() if key != "reason"}
    return {"judged": judged, "error": ""}


def _embedded(id: str, read: Turn, vectors: Mapping[str, Vector]) -> Point:
    """Return a point with the vectors of a turn: the user's message, and the reply as a cue."""
    user, reply = read.user, read.assistant
    return Point(
        id,
        {"user_id": read.user_id, "type": "turn"},
        vectors[user] if user else None,
        encode_document(user) if user else None,
        (vectors[reply],) if reply else (),
        encode_document(reply) if reply else None,
    )


def _unembedded(user_id: str | None) -> Filter:
    must = (Is("type", "turn"), Is("embedded", False), Is("gone", False))
    return Filter((*must, *user_conditions(user_id)))
