"""The stand-in: gives the judge's answers that a script holds, written by hand, and no model does.

So a script can have a careless judge: what code must refuse is shown also where no real model is
ever so careless.
"""

import json

from souffleur.agents.chat import Chat, Reply, Request, Usage
from souffleur.errors import EndpointError
from souffleur.evals.suite.script import Script, ScriptTurn, TalkPart

BY_HAND = "by hand"
"""The model that such answers are said to be of."""


class ScriptedChat:
    """A `Chat` for one script; for all that the script does not answer, another is asked."""

    def __init__(self, script: Script, chat: Chat) -> None:
        talks = [part for part in script.sessions if isinstance(part, TalkPart)]
        self._answered = [turn for talk in talks for turn in talk.turns if turn.answer is not None]
        self._chat = chat

    async def __call__(self, request: Request) -> Reply:
        """The script's answer to the latest of its turns in the request. Raises what the other
        chat raises.
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
    """The model of a script that answers for itself. Raises EndpointError."""
    raise EndpointError(f"the script has no answer to {request.name}, and no model is asked")


def _plain(text: str) -> str:
    return " ".join(text.split())
