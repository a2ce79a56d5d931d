"""Threads: to which session a request belongs, and which turn of it is meant.

A client sends its talk with each request, so these messages are all there is to go by:

* What is said after a reply that nobody has gone on from is a new turn.
* The same words after the same reply are the same turn again, as long as nothing followed it.
* Other words there, or what goes back further, take the place of what was said before if the talk
  is certainly the same (`_is_certain`). In doubt they are a new turn, and nothing is undone: a turn
  too many does no harm, a lost one does.
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
    """The ids of the turns that followed it until the talk went back to it."""
    conversation: str = ""
    """The conversation that the upstream holds, of which requests have the newest part alone."""


def opened(speaker: Speaker, talk: Talk, session_id: str, turn_id: str) -> OpenTurn:
    """Return the turn of a talk, for the reply that is asked for."""
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
"""Replies with the same words that are remembered of a user."""
ALIKE = 0.6
"""How much of a message stays the same if it was edited; by less, it is another message."""
EDITED_WITHIN = 3600.0
"""Seconds in which a message that is alike, or a first one again, is taken for the former."""
COMPARED = 500
"""Characters of messages that are compared."""
DISTINCT = 100
"""Letters, in bytes of UTF-8, of two exchanges or more that no other talk begins with by chance."""


@dataclass
class _Turn:
    """A turn, as the latest request for it has it."""

    session_id: str
    id: str
    user: str = ""
    said: Sequence[str] = ()
    """The messages before it, as `Talk.said`."""
    at: float = 0.0
    """When it was said, in steady seconds."""
    opens: bool = False
    """Whether its session began with it, as far as is known."""
    replies: "list[_Reply]" = field(default_factory=list)

    @property
    def later(self) -> "list[_Turn]":
        """The turns that followed it."""
        found = [self]
        for turn in found:  # it grows meanwhile
            found += (one for reply in turn.replies for one in reply.next)
        return found[1:]


@dataclass
class _Reply:
    """A reply, from which a talk goes on."""

    session_id: str
    said: Sequence[str]
    """The messages up to it, as `Talk.said`."""
    times: float = 1
    """How often it was given: so many talks go on from it."""
    next: list[_Turn] = field(default_factory=list)
    """The turns that followed it."""


class Threads:
    """Finds sessions and turns of requests, with the help of those before it.

    It need not survive a restart: a turn that is no longer known is not taken back.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        """`steady` counts seconds and never jumps."""
        self._steady = steady
        self._turns: Latest[tuple[str, str, str, str], _Turn] = Latest()
        """By user, persona, session and id."""
        self._replies: Latest[tuple[str, str, str], tuple[_Reply, ...]] = Latest()
        """By user, persona and gist; the latest first."""
        self._latest: Latest[tuple[str, str, str], _Turn] = Latest()
        """The latest turn of each session that was named, else the latest that began so."""

    def open(self, speaker: Speaker, talk: Talk) -> OpenTurn:
        """Return the turn that the reply to a request will complete."""
        replies = self._find_replies(speaker, talk) or self._unknown(speaker, talk)
        turn = self._after(speaker, talk, replies) if replies else self._begin(speaker, talk)
        rewound = tuple(later.id for later in turn.later)
        turn.user, turn.said, turn.at = talk.user, talk.said, self._steady()
        if talk.is_first or speaker.session_id:
            self._latest.put(_beginning(speaker, talk), turn)
        return replace(opened(speaker, talk, turn.session_id, turn.id), rewound=rewound)

    def close(self, turn: OpenTurn, said: str = "") -> None:
        """Remember the reply of a turn, so that the next request finds it.

        `said` is the latest part of it, which is a message of its own in a group.
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
        """Return the turn of a first message: the former one if nothing was said since."""
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
        edited = speaker.session_id and former.opens  # else the client may send no history
        return bool(edited) and self._is_recent(former) and _is_alike(former.user, talk.user)

    def _after(self, speaker: Speaker, talk: Talk, replies: Sequence[_Reply]) -> _Turn:
        """Return the turn that is meant after one of these replies, up to which all is the same."""
        for turn in (turn for reply in replies for turn in reply.next):
            if turn.user == talk.user and not turn.later and not speaker.turn_id:
                return turn
        free = next((one for one in replies if _is_free(speaker, one)), None)
        if not free and len(replies) == 1 and self._is_certain(speaker, talk, replies[0]):
            return replies[0].next[0]
        reply = free or replies[0]
        # A session that is named is the same after a restart: there, the words may be others.
        known_by = talk.said if speaker.session_id else (*talk.said, talk.user)
        turn = self._add_turn(speaker, reply.session_id, digest(known_by))
        reply.next.append(turn)
        return turn

    def _is_certain(self, speaker: Speaker, talk: Talk, reply: _Reply) -> bool:
        """Return whether the same talk can only be the one that went on from a reply already.

        It is if the client names the session, or if so much was said that no other talk begins so;
        or if the latest message alone differs, and looks as if it was edited.
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
        """Return the latest reply of a talk, as far as it is known that all is the same up to it.

        These are several if it was said in several talks; a session that is named is one. Of a
        client that cuts off the beginning, the talk may be longer than it shows.
        """
        known = next(self._known(speaker, talk), ())
        same = [one for one in known if one.said == talk.said]
        cut = len(talk.said)
        same = same or [one for one in known if cut and one.said[:cut] == talk.said]
        return same[:1] if speaker.session_id else same

    def _unknown(self, speaker: Speaker, talk: Talk) -> Sequence[_Reply]:
        """Return the latest reply of a talk that is not known here; empty for a new talk.

        The session is that of the latest reply with the same words.
        """
        found = next((known[0].session_id for known in self._known(speaker, talk) if known), None)
        if talk.is_first and found is None:
            return []
        key = (speaker.user_id, speaker.agent_id, talk.replies[0])
        session_id = speaker.session_id or found or _derived(talk)
        return [self._add(key, _Reply(session_id, talk.said, times=math.inf))]

    def _known(self, speaker: Speaker, talk: Talk) -> Iterator[Sequence[_Reply]]:
        """Yield the known replies with the words of each reply of a talk, the latest first."""
        for words in talk.replies:
            known = self._replies.get((speaker.user_id, speaker.agent_id, words)) or ()
            yield [one for one in known if speaker.session_id in (None, one.session_id)]

    def _add(self, key: tuple[str, str, str], reply: _Reply) -> _Reply:
        self._replies.put(key, (reply, *(self._replies.get(key) or ()))[:MAX_SAME])
        return reply

    def _add_turn(self, speaker: Speaker, session_id: str, id: str) -> _Turn:
        """Return a new turn, with another id if there is one of this."""
        key = (speaker.user_id, speaker.agent_id, session_id)
        id = uuid.uuid4().hex if self._turns.get((*key, id)) else id
        turn = _Turn(session_id, speaker.turn_id or id)
        self._turns.put((*key, turn.id), turn)
        return turn


def _derived(talk: Talk) -> str:
    """Return the id of a session by how its talk begins."""
    return f"talk-{digest([talk.opening, talk.first_words])}"


def _beginning(speaker: Speaker, talk: Talk) -> tuple[str, str, str]:
    return (speaker.user_id, speaker.agent_id, speaker.session_id or _derived(talk))


def _is_free(speaker: Speaker, reply: _Reply) -> bool:
    """Return whether a talk goes on from a reply; a session that is named is one talk."""
    return len(reply.next) < (1 if speaker.session_id else reply.times)


def _is_alike(one: str, other: str) -> bool:
    a, b = one[:COMPARED].casefold(), other[:COMPARED].casefold()
    both = SequenceMatcher(None, a, b, autojunk=False)
    bounds = both.real_quick_ratio, both.quick_ratio, both.ratio  # each at most the one before
    return all(bound() >= ALIKE for bound in bounds)


class Chains:
    """Knows the turn of each response; after a restart, a conversation is a new session."""

    def __init__(self) -> None:
        self._responses: Latest[str, OpenTurn] = Latest()
        """The turn of each response, by its id; `so_far` is all that was said."""
        self._conversations: Latest[tuple[str, str, str], str] = Latest()
        """The latest response of each conversation, by user, persona and its id."""

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
        return opened(speaker, talk, session_id, speaker.turn_id or digest(["after", former]))

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

    def close(self, turn: OpenTurn, response_id: str) -> None:
        """Remember the response in which a turn was replied to."""
        self._responses.put(response_id, turn)
        if turn.conversation:
            key = (turn.user_id, turn.agent_id, turn.conversation)
            self._conversations.put(key, response_id)
