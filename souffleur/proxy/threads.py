"""Threads: find the session and the turn of each request.

A client sends the whole talk with each request. Only its messages identify the turn:

* A message after a reply without a next message is a new turn.
* The same message after the same reply is the same turn again, if no turn followed it.
* Another message after that reply, or after an earlier reply, replaces the former turn if the talk
  is certainly the same (`_is_certain`). If this is not certain, the message is a new turn and no
  turn is undone: an extra turn does no harm, but a lost turn does.
"""

import math
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from souffleur.proxy.latest import Latest
from souffleur.proxy.speaker import Speaker
from souffleur.proxy.talk import SAID, Talk, digest, gist, reply_gist


@dataclass(frozen=True)
class OpenTurn:
    """A turn whose reply is being written."""

    user_id: str
    agent_id: str
    session_id: str
    turn_id: str
    user: str
    """The user's words."""
    so_far: str = ""
    """The companion's words so far."""
    joint: str = ""
    """The text between `so_far` and the rest of the reply."""
    rewound: tuple[str, ...] = ()
    """The ids of the later turns that are undone, because the user went back to this turn."""
    conversation: str = ""
    """The id of a conversation that the upstream stores. Its requests have only the newest part."""


def opened(speaker: Speaker, talk: Talk, session_id: str, turn_id: str) -> OpenTurn:
    """Return the turn that the next reply of a talk completes."""
    return OpenTurn(
        user_id=speaker.user_id,
        agent_id=speaker.agent_id,
        session_id=session_id,
        turn_id=turn_id,
        user=talk.user,
        so_far=talk.so_far,
        joint=talk.joint,
    )


MAX_SAME = 50
"""Maximum number of replies with the same words that are remembered for a user and persona."""
ALIKE = 0.6
"""Minimum similarity, from 0 to 1, of a message and its edited version."""
EDITED_WITHIN = 3600.0
"""Seconds in which a similar message, or the same first message, counts as the former message."""
COMPARED = 500
"""Number of characters of each message that are compared."""
DISTINCT = 100
"""Minimum length of two exchanges, in bytes of UTF-8, that identify a talk. Another talk hardly
begins with the same long text by chance."""


@dataclass
class _Turn:
    """A turn, with the messages of its latest request."""

    session_id: str
    id: str
    user: str = ""
    said: Sequence[str] = ()
    """The gists of the messages before the turn, as in `Talk.said`."""
    at: float = 0.0
    """The time of its latest request, in seconds of the steady clock."""
    opens: bool = False
    """Whether it is the first known turn of its session."""
    replies: "list[_Reply]" = field(default_factory=list)

    @property
    def later(self) -> "list[_Turn]":
        """All turns after this turn."""
        found = [self]
        for turn in found:  # the list grows during the loop
            found += (one for reply in turn.replies for one in reply.next)
        return found[1:]


@dataclass
class _Reply:
    """A reply, after which the talk can continue."""

    session_id: str
    said: Sequence[str]
    """The gists of the messages up to and with the reply, as in `Talk.said`."""
    times: float = 1
    """How often it was given: the maximum number of talks that continue after it."""
    next: list[_Turn] = field(default_factory=list)
    """The turns directly after the reply."""


class Threads:
    """Finds the session and turn of a request from the earlier requests.

    It may lose its data at a restart: a turn that it does not know is never undone.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        """Take a `steady` clock: it returns seconds and never jumps."""
        self._steady = steady
        self._turns: Latest[tuple[str, str, str, str], _Turn] = Latest()
        """Turns by user, persona, session and id."""
        self._replies: Latest[tuple[str, str, str], tuple[_Reply, ...]] = Latest()
        """Replies by user, persona and gist, the latest first."""
        self._latest: Latest[tuple[str, str, str], _Turn] = Latest()
        """The latest turn of each named session, and the latest first turn of each beginning: by
        user, persona and session id."""

    def open(self, speaker: Speaker, talk: Talk) -> OpenTurn:
        """Return the turn that the reply to this request completes."""
        replies = self._find_replies(speaker, talk) or self._unknown(speaker, talk)
        turn = self._after(speaker, talk, replies) if replies else self._begin(speaker, talk)
        rewound = tuple(later.id for later in turn.later)
        turn.user, turn.said, turn.at = talk.user, talk.said, self._steady()
        if talk.is_first or speaker.session_id:
            self._latest.put(_beginning(speaker, talk), turn)
        return replace(opened(speaker, talk, turn.session_id, turn.id), rewound=rewound)

    def close(self, turn: OpenTurn, said: str = "") -> None:
        """Remember the reply of a turn, so that the next request finds it.

        `said` is the latest part of the reply. In a group, it is a separate message.
        """
        who = (turn.user_id, turn.agent_id)
        here = self._turns.get((*who, turn.session_id, turn.turn_id))
        here = here or _Turn(turn.session_id, turn.turn_id, turn.user)
        here.replies = [] if turn.rewound else here.replies
        for words in dict.fromkeys(reply_gist(one) for one in (turn.so_far, said) if one):
            told = (words, gist(here.user), *here.said)[:SAID]
            known = next((one for one in here.replies if one.said == told), None)
            if known:
                known.times += 1
            else:
                here.replies.append(self._add((*who, words), _Reply(turn.session_id, told)))

    def _begin(self, speaker: Speaker, talk: Talk) -> _Turn:
        """Return the turn of a first message: the former turn if the message is repeated."""
        former = self._latest.get(_beginning(speaker, talk))
        if former and self._is_repeated(speaker, talk, former):
            return former
        fresh = f"talk-{uuid.uuid4().hex[:16]}" if former else _derived(talk)
        turn = self._add_turn(speaker, speaker.session_id or fresh, uuid.uuid4().hex)
        turn.opens = former is None
        return turn

    def _is_repeated(self, speaker: Speaker, talk: Talk, former: _Turn) -> bool:
        if speaker.turn_id or former.said or former.later:
            return False
        if former.user == talk.user:
            return bool(talk.so_far) or self._is_recent(former)
        edited = speaker.session_id and former.opens  # otherwise the client may send no history
        return bool(edited) and self._is_recent(former) and _is_alike(former.user, talk.user)

    def _after(self, speaker: Speaker, talk: Talk, replies: Sequence[_Reply]) -> _Turn:
        """Return the turn of a request whose talk is the same up to each of these replies."""
        for turn in (turn for reply in replies for turn in reply.next):
            if turn.user == talk.user and not turn.later and not speaker.turn_id:
                return turn
        free = next((one for one in replies if _is_free(speaker, one)), None)
        if not free and len(replies) == 1 and self._is_certain(speaker, talk, replies[0]):
            return replies[0].next[0]
        reply = free or replies[0]
        # A named session continues after a restart, so the turn's id must not depend on its words:
        # they may have been edited.
        known_by = talk.said if speaker.session_id else (*talk.said, talk.user)
        turn = self._add_turn(speaker, reply.session_id, digest(known_by))
        reply.next.append(turn)
        return turn

    def _is_certain(self, speaker: Speaker, talk: Talk, reply: _Reply) -> bool:
        """Return whether the request certainly belongs to the talk that continued after the reply.

        It does if the client names the session, or if the talk before is long enough (`DISTINCT`).
        It also does if only the latest message differs, and that message looks like an edit.
        """
        former, *others = reply.next
        if others or speaker.turn_id:
            return False
        letters = sum(len(one.encode()) for one in talk.said)
        if speaker.session_id or (len(talk.said) >= 4 and letters >= DISTINCT):
            return True
        last = len(talk.said) >= 2 and not former.later and self._is_recent(former)
        return last and _is_alike(former.user, talk.user)

    def _is_recent(self, turn: _Turn) -> bool:
        return self._steady() - turn.at < EDITED_WITHIN

    def _find_replies(self, speaker: Speaker, talk: Talk) -> Sequence[_Reply]:
        """Return the known replies that match the latest reply of a talk and all words before it.

        There are several if several talks have the same words, but at most one in a named session.
        If a client cuts off the beginning of a talk, the known talk may be longer.
        """
        known = next(self._known(speaker, talk), ())
        same = [one for one in known if one.said == talk.said]
        cut = len(talk.said)
        same = same or [one for one in known if cut and one.said[:cut] == talk.said]
        return same[:1] if speaker.session_id else same

    def _unknown(self, speaker: Speaker, talk: Talk) -> Sequence[_Reply]:
        """Return the latest reply of an unknown talk, as a new reply; empty for a new talk.

        Its session is the named session, or the session of a known reply with the same words.
        """
        found = next((known[0].session_id for known in self._known(speaker, talk) if known), None)
        if talk.is_first and found is None:
            return []
        key = (speaker.user_id, speaker.agent_id, talk.replies[0])
        session_id = speaker.session_id or found or _derived(talk)
        return [self._add(key, _Reply(session_id, talk.said, times=math.inf))]

    def _known(self, speaker: Speaker, talk: Talk) -> Iterator[Sequence[_Reply]]:
        """Yield, for each reply of a talk, the known replies with its words; the latest first."""
        for words in talk.replies:
            known = self._replies.get((speaker.user_id, speaker.agent_id, words)) or ()
            yield [one for one in known if speaker.session_id in (None, one.session_id)]

    def _add(self, key: tuple[str, str, str], reply: _Reply) -> _Reply:
        self._replies.put(key, (reply, *(self._replies.get(key) or ()))[:MAX_SAME])
        return reply

    def _add_turn(self, speaker: Speaker, session_id: str, id: str) -> _Turn:
        """Return a new turn, with a random id if `id` is in use."""
        key = (speaker.user_id, speaker.agent_id, session_id)
        id = uuid.uuid4().hex if self._turns.get((*key, id)) else id
        turn = _Turn(session_id, speaker.turn_id or id)
        self._turns.put((*key, turn.id), turn)
        return turn


def _derived(talk: Talk) -> str:
    """Return a session id that is derived from the beginning of a talk."""
    return f"talk-{digest([talk.opening, talk.first_words])}"


def _beginning(speaker: Speaker, talk: Talk) -> tuple[str, str, str]:
    return (speaker.user_id, speaker.agent_id, speaker.session_id or _derived(talk))


def _is_free(speaker: Speaker, reply: _Reply) -> bool:
    """Return whether one more talk can continue after a reply. A named session is one talk."""
    return len(reply.next) < (1 if speaker.session_id else reply.times)


def _is_alike(one: str, other: str) -> bool:
    a, b = one[:COMPARED].casefold(), other[:COMPARED].casefold()
    both = SequenceMatcher(None, a, b, autojunk=False)
    bounds = both.real_quick_ratio, both.quick_ratio, both.ratio  # each is at most the former
    return all(bound() >= ALIKE for bound in bounds)


class Chains:
    """The turns of responses, by response id. After a restart, a conversation is a new session."""

    def __init__(self) -> None:
        self._responses: Latest[str, OpenTurn] = Latest()
        """The turn of each response, by response id; `so_far` is the whole reply."""
        self._conversations: Latest[tuple[str, str, str], str] = Latest()
        """The id of the latest response by user, persona and conversation id."""

    def follow(self, speaker: Speaker, talk: Talk | None, former: str) -> OpenTurn | None:
        """Return the turn after a former response, or the same turn if only tool results follow.

        `former` is the id of that response. Returns `None` for an unknown response without a talk.
        """
        known = self._responses.get(former)
        if known and (known.user_id, known.agent_id) != (speaker.user_id, speaker.agent_id):
            known = None
        if talk is None:
            return known
        session_id = speaker.session_id or (known.session_id if known else digest([former]))
        return opened(speaker, talk, session_id, speaker.turn_id or digest(["after", former]))

    def go_on(self, speaker: Speaker, talk: Talk | None, conversation: str) -> OpenTurn | None:
        """Return the turn after the latest response of a conversation, as `follow` does.

        Repeated words are a new turn, except if the reply to them was interrupted.
        """
        key = (speaker.user_id, speaker.agent_id, conversation)
        latest = self._conversations.get(key)
        if latest is None:  # the conversation is new, or from before a restart
            latest = uuid.uuid4().hex
            self._conversations.put(key, latest)
        turn = self.follow(speaker, talk, latest)
        if turn and talk and not speaker.turn_id:
            turn = replace(turn, turn_id=digest(["after", latest, talk.user]))
        return turn and replace(turn, conversation=conversation)

    def close(self, turn: OpenTurn, response_id: str) -> None:
        """Remember which response has the reply of a turn."""
        self._responses.put(response_id, turn)
        if turn.conversation:
            key = (turn.user_id, turn.agent_id, turn.conversation)
            self._conversations.put(key, response_id)
