"""Threads: to which session a request belongs if it names none, and which turn of it is meant."""

import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Generic, TypeVar

from souffleur.proxy.speaker import Speaker
from souffleur.proxy.talk import REPLIES, Talk, digest, gist, without_name

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KNOWN = 10_000
"""Replies, beginnings and responses that are remembered of all users."""
MAX_BEGINNINGS = 8
"""First messages that are remembered of one session or greeting."""
MAX_SESSIONS = 8
"""Sessions in which the same was said that are remembered."""
ALIKE = 0.6
"""How much of a first message stays the same if it was edited; by less, it is another message."""
EDITED_WITHIN = 3600.0
"""Seconds after a first message in which one that is alike is taken for its edited form."""
COMPARED = 500
"""Characters of first messages that are compared."""


@dataclass(frozen=True)
class OpenTurn:
    """A turn whose reply is being written."""

    user_id: str
    agent_id: str
    session_id: str
    turn_id: str
    user: str
    """What the user says."""
    so_far: str = ""
    """What the companion has said already."""
    joint: str = ""
    """What stands between that and the rest of the reply."""
    conversation: str = ""
    """The conversation that the upstream holds, of which requests have the newest part alone."""


@dataclass(frozen=True)
class _Beginning:
    """The first message of a talk."""

    user: str
    session_id: str
    turn_id: str
    at: float
    """When it was said, in steady seconds."""


class Latest(Generic[K, V]):
    """The latest things of a kind: beyond `limit`, the oldest is dropped."""

    def __init__(self, limit: int = MAX_KNOWN) -> None:
        self._limit = limit
        self._held: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return what is held; `None` if nothing is."""
        return self._held.get(key)

    def put(self, key: K, value: V) -> None:
        """Hold a value, as the latest."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._limit:
            self._held.popitem(last=False)


class Threads:
    """Finds sessions and turns of requests, with the help of those before it.

    Nothing of it needs to survive a restart: only a talk without a session's id, whose beginning a
    front end has cut off or changes all the time, is another session then.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        """`steady` counts seconds and never jumps."""
        self._steady = steady
        self._replies: Latest[tuple[str, str, str], tuple[str, ...]] = Latest()
        """The sessions of each reply, by user, persona and gist, also of the user's words with it;
        the latest first."""
        self._beginnings: Latest[tuple[str, str, str], tuple[_Beginning, ...]] = Latest()
        self._responses: Latest[str, OpenTurn] = Latest()
        """The turn of each response of `/responses`, by its id; `so_far` is all that was said."""
        self._conversations: Latest[tuple[str, str, str], str] = Latest()
        """The latest response of each conversation, by user, persona and its id."""

    def open(self, speaker: Speaker, talk: Talk) -> OpenTurn:
        """Return the turn that the reply to a request will complete."""
        named = speaker.session_id and not talk.is_first  # all replies would be looked up in vain
        known = None if named else self._find_session(speaker, talk)
        if talk.is_first and not known:
            session_id, turn_id = self._begin(speaker, talk)
        else:
            session_id, turn_id = speaker.session_id or known or _derived(talk), talk.place
            self._note_going_on(speaker, talk, session_id)
        return _turn(speaker, talk, session_id, turn_id)

    def follow(self, speaker: Speaker, talk: Talk | None, former: str) -> OpenTurn | None:
        """Return the turn that follows a former response, or completes it after calls of tools.

        `former` is the response's id. Returns `None` if nobody says anything in it.
        """
        known = self._responses.get(former)
        if known and (known.user_id, known.agent_id) != (speaker.user_id, speaker.agent_id):
            known = None
        if talk is None:
            return known
        session_id = speaker.session_id or (known.session_id if known else digest([former]))
        return _turn(speaker, talk, session_id, digest(["after", former]))

    def go_on(self, speaker: Speaker, talk: Talk | None, conversation: str) -> OpenTurn | None:
        """Return the turn that follows the latest response of a conversation, as `follow` does.

        Words said before are new ones here, unless what was replied to them was broken off.
        """
        key = (speaker.user_id, speaker.agent_id, conversation)
        latest = self._conversations.get(key)
        if latest is None:  # what was said before a restart is not known
            latest = uuid.uuid4().hex
            self._conversations.put(key, latest)
        turn = self.follow(speaker, talk, latest)
        if turn and talk and not speaker.turn_id:
            turn = replace(turn, turn_id=digest(["after", latest, talk.user]))
        return turn and replace(turn, conversation=conversation)

    def close(self, turn: OpenTurn, response_id: str = "", said: str = "") -> None:
        """Remember what was replied in a turn, so that what follows finds its session.

        `said` is the latest part of it, which is a message of its own in a group.
        """
        said_so = {gist(reply) for reply in (turn.so_far, said) if reply}
        if turn.so_far:
            said_so.add(_exchange(turn.user, turn.so_far))
        for words in said_so:
            key = (turn.user_id, turn.agent_id, words)
            others = (one for one in self._replies.get(key) or () if one != turn.session_id)
            self._replies.put(key, (turn.session_id, *others)[:MAX_SESSIONS])
        if response_id:
            self._responses.put(response_id, turn)
        if response_id and turn.conversation:
            key = (turn.user_id, turn.agent_id, turn.conversation)
            self._conversations.put(key, response_id)

    def _begin(self, speaker: Speaker, talk: Talk) -> tuple[str, str]:
        """Return session and turn of a first message: the same as before if it was edited."""
        session_id, now = speaker.session_id or _derived(talk), self._steady()
        fresh = _Beginning(talk.user, session_id, digest(["first", talk.user]), now)
        if not (speaker.session_id or talk.greeted):
            return fresh.session_id, fresh.turn_id  # a client without history: nothing is edited
        key = _key(speaker, talk)
        known = [one for one in self._beginnings.get(key) or () if now - one.at < EDITED_WITHIN]
        former = next((one for one in known if _is_alike(one.user, talk.user)), None)
        if former:
            fresh = replace(former, user=talk.user)
        kept = [one for one in known if one is not former][-MAX_BEGINNINGS + 1 :]
        self._beginnings.put(key, (*kept, fresh))
        return fresh.session_id, fresh.turn_id

    def _note_going_on(self, speaker: Speaker, talk: Talk, session_id: str) -> None:
        """Note that a session has gone on: its first message is not edited any more."""
        key = _key(speaker, talk)
        known = self._beginnings.get(key)
        if known:
            kept = tuple(one for one in known if one.session_id != session_id)
            self._beginnings.put(key, kept)

    def _find_session(self, speaker: Speaker, talk: Talk) -> str | None:
        """Return the session of the talk's latest reply that is known; `None` if none is.

        If several have that reply, as short ones are common, it is the one with most of the talk.
        """
        who = speaker.user_id, speaker.agent_id

        def sessions(words: str) -> tuple[str, ...]:
            return self._replies.get((*who, words)) or ()

        known = [
            sessions(gist(reply)) or sessions(gist(without_name(reply))) for reply in talk.replies
        ]
        latest = next(filter(None, known), ())
        if len(latest) < 2:
            return next(iter(latest), None)
        turns = (turn for turn in talk.earlier[-REPLIES:] if turn.assistant)
        known += [sessions(_exchange(turn.user, turn.assistant)) for turn in turns]
        shared = Counter(one for each in known for one in each)
        return max(latest, key=lambda one: shared[one])


def _exchange(user: str, reply: str) -> str:
    """Return what a reply is known by together with what it replies to."""
    return f"{gist(user)}\n{gist(reply)}"


def _derived(talk: Talk) -> str:
    """Return the id of a session by how its talk begins."""
    return f"talk-{digest([talk.opening, talk.first_words])}"


def _turn(speaker: Speaker, talk: Talk, session_id: str, turn_id: str) -> OpenTurn:
    return OpenTurn(
        user_id=speaker.user_id,
        agent_id=speaker.agent_id,
        session_id=session_id,
        turn_id=speaker.turn_id or turn_id,
        user=talk.user,
        so_far=talk.so_far,
        joint=talk.joint,
    )


def _key(speaker: Speaker, talk: Talk) -> tuple[str, str, str]:
    """Return what first messages that may be forms of one another have in common."""
    return (speaker.user_id, speaker.agent_id, speaker.session_id or talk.opening)


def _is_alike(one: str, other: str) -> bool:
    a, b = one[:COMPARED].casefold(), other[:COMPARED].casefold()
    both = SequenceMatcher(None, a, b, autojunk=False)
    bounds = both.real_quick_ratio, both.quick_ratio, both.ratio  # each at most the one before
    return all(bound() >= ALIKE for bound in bounds)
