"""A companion in the terminal: the smallest possible host."""

from typing import TYPE_CHECKING

from rich.markup import escape

from souffleur.agents.chat import Message, Request
from souffleur.cli.console import console
from souffleur.errors import AnswerError, EndpointError
from souffleur.prompts import language_of, render
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from souffleur.wiring import make_endpoint

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat

HISTORY_MESSAGES = 20
"""Messages of this session that the companion sees."""


async def converse(settings: Settings, user_id: str, session_id: str) -> None:
    """Read a line, recall, reply and observe, until an empty line or the end of input."""
    endpoint = make_endpoint(settings)
    history: list[Message] = []
    try:
        async with Souffleur.open(settings) as memory:
            called = (await memory.cast()).persona(user_id)
            while line := _read(called.user):
                await _exchange(memory, endpoint, user_id, session_id, line, history)
            memory.end_session(user_id=user_id, session_id=session_id)
            with console.status("judging what was said …"):
                await memory.flush(settings.shutdown_timeout)
    finally:
        await endpoint.aclose()


async def _exchange(
    memory: Souffleur,
    chat: "Chat",
    user_id: str,
    session_id: str,
    line: str,
    history: list[Message],
) -> None:
    whisper = await memory.recall(user_id=user_id, session_id=session_id, text=line)
    persona = (await memory.cast()).persona(user_id)
    name, language = persona.assistant, persona.language or language_of(line)
    system = render("companion", language, assistant=name, memories=whisper.text)
    said = Message("user", line)
    messages = (Message("system", system), *history[-HISTORY_MESSAGES:], said)
    try:
        reply = await chat(Request(messages, "companion"))
    except (EndpointError, AnswerError) as error:
        console.print(f"[red]{escape(str(error))}[/]")
        return
    console.print(f"[bold]{escape(name)}[/]  {escape(reply.text)}")
    history += [said, Message("assistant", reply.text)]
    receipt = memory.observe(
        user_id=user_id, session_id=session_id, user=line, assistant=reply.text
    )
    if receipt.error:
        console.print(f"[red]{escape(receipt.error)}[/]")


def _read(title: str) -> str:
    try:
        return console.input(f"[bold]{escape(title)}[/]  ").strip()
    except EOFError:
        return ""
