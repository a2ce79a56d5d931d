"""The last turn of an agent's messages, and the whisper that it is answered with."""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from souffleur.langchain.talk import Talk
from souffleur.messages import to_turns
from souffleur.whispering.whisper import Recall

MAX_OPEN = 10_000
"""Maximum turns that are remembered while they are answered."""


@dataclass(frozen=True)
class LastTurn:
    """What a user said last, and what was replied so far."""

    id: str
    """The id of the user's message; empty if it has none."""
    user: str
    assistant: str


@dataclass(frozen=True)
class OpenTurn:
    """A turn that is being answered."""

    turn: LastTurn
    recall: Recall


class OpenTurns:
    """The turns that are being answered, one for each session. Thread-safe."""

    def __init__(self) -> None:
        self._open: OrderedDict[Talk, OpenTurn] = OrderedDict()
        self._alone = Lock()

    def find(self, talk: Talk, turn: LastTurn | None) -> OpenTurn | None:
        """Return the open turn of a session if it is this one; `None` stands for any."""
        with self._alone:
            found = self._open.get(talk)
        return found if found and (turn is None or turn.id == found.turn.id) else None

    def begin(self, talk: Talk, turn: LastTurn, recall: Recall) -> None:
        """Note the whisper that a turn is answered with."""
        with self._alone:
            self._open[talk] = OpenTurn(turn, recall)
            self._open.move_to_end(talk)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)

    def end(self, talk: Talk, turn: LastTurn | None) -> OpenTurn | None:
        """Return what `find` does, and forget it."""
        found = self.find(talk, turn)
        with self._alone:
            if found and self._open.get(talk) is found:
                del self._open[talk]
        return found


def last_turn(messages: Sequence[BaseMessage], called: Collection[str] = ()) -> LastTurn | None:
    """Return what the user said last, with the replies that follow; `None` if nobody said anything.

    Rounds of tools are part of the turn. What was said before and not answered is, too. What others
    said, whom messages name, is among the replies; `called` is what the user is called. Raises
    MessageError for a content that cannot be read.

    >>> said = [HumanMessage("hi"), AIMessage("ho"), HumanMessage("so?", id="7"), AIMessage("yes")]
    >>> last_turn(said)
    LastTurn(id='7', user='so?', assistant='yes')
    """
    said = [one for one in messages if not _is_summary(one)]
    start, id = None, ""
    for index in range(len(said) - 1, -1, -1):
        if isinstance(said[index], HumanMessage):
            start, id = index, id or said[index].id or ""
        elif start is not None and isinstance(said[index], AIMessage) and said[index].text.strip():
            break
    if start is None:
        return None
    earlier = [one.name or "" for one in said[:start] if isinstance(one, HumanMessage)]
    talk = [one for one in said[start:] if isinstance(one, HumanMessage | AIMessage)]
    turns = to_turns(talk, called, earlier=earlier)
    return LastTurn(id, turns[0].user, turns[0].assistant) if turns else None


def replies(messages: Sequence[BaseMessage]) -> str:
    """Return the latest reply; for a turn whose beginning was summarised away."""
    spoken = (one.text for one in reversed(messages) if isinstance(one, AIMessage) and one.text)
    return next(spoken, "")


def with_whisper(system: SystemMessage | None, text: str) -> SystemMessage:
    r"""Return the system message with the whisper at its end.

    >>> with_whisper(SystemMessage("Be kind."), "Ann likes tea.").content
    'Be kind.\n\nAnn likes tea.'
    """
    if system is None:
        return SystemMessage(text)
    content: Any = system.content
    if isinstance(content, str):
        whole: Any = f"{content}\n\n{text}" if content else text
    else:
        whole = [*content, {"type": "text", "text": text}]
    return system.model_copy(update={"content": whole})


def _is_summary(message: BaseMessage) -> bool:
    """Return whether a middleware wrote a message, such as a summary, in the user's name."""
    return "lc_source" in message.additional_kwargs
