"""Chains: which turn a request to `/responses` means that names a former response."""

import uuid
from dataclasses import replace

from souffleur.proxy.latest import Latest
from souffleur.proxy.open_turn import OpenTurn, opened
from souffleur.proxy.speaker import Speaker
from souffleur.proxy.talk import Talk, digest


class Chains:
    """Knows the turn of each response; after a restart, what goes on is a new session."""

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
