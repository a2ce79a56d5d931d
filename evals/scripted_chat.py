"""A chat that gives the monitor's answers written in a script, in place of a model.

A script can thus have a careless model, and show what the code must refuse even if no real model
is ever that careless.
"""

import json

from souffleur.agents.model.chat import Chat, Reply, Request, Usage
from souffleur.errors import EndpointError
from souffleur.evals.script import Script, ScriptTurn, TalkPart

BY_HAND = "by hand"
"""The model name under which such answers are kept."""


class ScriptedChat:
    """A `Chat` for one script; requests that the script does not answer go to another chat."""

    def __init__(self, script: Script, chat: Chat) -> None:
        talks = [part for part in script.sessions if isinstance(part, TalkPart)]
        self._answered = [turn for talk in talks for turn in talk.turns if turn.answer is not None]
        self._chat = chat

    async def __call__(self, request: Request) -> Reply:
        """Return the script's answer to the latest of its turns in the request.

        Raises what the other chat raises.
        """
        turn = self._turn(request)
        if turn is None:
            return await self._chat(request)
        said = turn.answer
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return Reply(text, usage=Usage(calls=1), model=BY_HAND)

    def _turn(self, request: Request) -> ScriptTurn | None:
        if request.name != "monitor":
            return None
        asked = _plain(request.messages[1].content)
        found = [turn for turn in self._answered if _plain(turn.user) in asked]
        return found[-1] if found else None


async def no_model(request: Request) -> Reply:
    """Raise EndpointError: the script should have answered for itself."""
    raise EndpointError(f"the script has no answer to {request.name}, and no model is asked")


def _plain(text: str) -> str:
    return " ".join(text.split())
