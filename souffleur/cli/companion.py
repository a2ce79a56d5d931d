"""A companion in the terminal: the smallest possible host."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rich.markup import escape

from souffleur.agents.model.chat import Message, Request
from souffleur.api import Souffleur
from souffleur.cli.console import console
from souffleur.cli.entries import format_entry, format_op, format_story
from souffleur.cli.look import Worth, print_memories
from souffleur.cli.memory import open_memory, stop_on_signal
from souffleur.errors import SouffleurError
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.turn import Turn, TurnState, turn_point_id
from souffleur.knowledge.undo import can_undo
from souffleur.parts import make_endpoint
from souffleur.prompts import language_of, render
from souffleur.recall.compose import Recall, whispered_lines
from souffleur.report.phrases import count
from souffleur.settings import Settings, change_settings

if TYPE_CHECKING:
    from souffleur.agents.model.chat import Chat

T = TypeVar("T")

HISTORY_MESSAGES = 20
"""Messages of this session that the companion sees."""
SHOWN_WHISPERS = 6
"""Maximum lines of a whisper that are shown; lines of the previous whisper are only counted."""
LOOK_PAUSE = 0.2
"""Seconds between two checks for judged turns."""

HELP = {
    "/memories": "what is remembered of you, the most valuable first",
    "/why": "why the last memories were whispered, and what was judged last",
    "/forget WORDS": "forget what the words clearly mean",
    "/undo": "take back the latest change",
    "/help": "this list",
    "/quit": "end the talk; Ctrl-D and Ctrl-C do so as well",
}


class Terminal(Protocol):
    """A terminal for a talk, see `souffleur.cli.terminal`."""

    async def read(self) -> str | None:
        """Return the next line; `None` at the end of input."""

    def tell(self, *lines: str) -> None:
        """Print lines of markup without overwriting the line that the user is typing."""


async def converse(settings: Settings, user_id: str, session_id: str, terminal: Terminal) -> None:
    """Talk until `/quit`, the end of input or a signal; then judge the waiting turns."""
    endpoint = make_endpoint(settings)
    leaving = stop_on_signal()
    try:
        # Closing does not wait again: the remaining turns had their time, or were refused it.
        async with open_memory(change_settings(settings, shutdown_timeout=0.0)) as memory:
            talk = _Talk(memory, endpoint, user_id, session_id, terminal)
            await _unless(leaving, talk.hold())
            await talk.end(settings.shutdown_timeout, leaving)
    finally:
        await endpoint.aclose()


class _Talk:
    def __init__(
        self, memory: Souffleur, chat: "Chat", user_id: str, session_id: str, terminal: Terminal
    ) -> None:
        self._memory, self._chat = memory, chat
        self._user_id, self._session_id = user_id, session_id
        self._terminal = terminal
        self._history: list[Message] = []
        self._judgements = Judgements(memory, user_id, session_id)
        self._commands = ChatCommands(memory, user_id, terminal.tell)
        self._error = ""

    async def hold(self) -> None:
        """Answer line by line, and print judgements as they come."""
        watch = asyncio.create_task(self._watch())
        try:
            while (line := await self._terminal.read()) is not None:
                line = line.strip()
                if line.casefold() == "/quit":
                    return
                if line:
                    await self._answer(line)
        finally:
            watch.cancel()

    async def end(self, seconds: float, leaving: asyncio.Event) -> None:
        """Give the judge these seconds for the waiting turns, unless a second signal comes."""
        leaving.clear()
        self._memory.end_session(user_id=self._user_id, session_id=self._session_id)
        with console.status("judging what was said; Ctrl-C leaves it for later …"):
            done = await _unless(leaving, self._memory.flush(seconds))
        await self._look()
        journal = self._memory.knowledge.journal
        waiting, failed = [
            len(await journal.turns(state=state, user_id=self._user_id))
            for state in (TurnState.PENDING, TurnState.FAILED)
        ]
        self._terminal.tell(*farewell(waiting, failed, told=bool(done)))

    async def _answer(self, line: str) -> None:
        try:
            if line.startswith("/"):
                await self._commands.run(line)
            else:
                await self._exchange(line)
        except SouffleurError as error:
            self._terminal.tell(f"[red]{escape(str(error))}[/]")

    async def _exchange(self, line: str) -> None:
        """Recall, reply and observe. Raises EndpointError, AnswerError, StoreError."""
        user_id, session_id = self._user_id, self._session_id
        whisper = await self._memory.recall(user_id=user_id, session_id=session_id, text=line)
        former = whispered_lines(self._commands.recall.text)
        self._commands.recall = whisper
        self._terminal.tell(*_shown_whisper(whisper.text, former))
        persona = (await self._memory.cast()).persona(user_id)
        name, language = persona.assistant, persona.language or language_of(line)
        system = render("companion", language, assistant=name, memories=whisper.text)
        said = Message("user", line)
        messages = (Message("system", system), *self._history[-HISTORY_MESSAGES:], said)
        with console.status(f"waiting for {escape(name)} …"):
            reply = await self._chat(Request(messages, "companion"))
        self._terminal.tell(f"[bold]{escape(name)}[/]  {escape(reply.text)}")
        self._history += [said, Message("assistant", reply.text)]
        receipt = self._memory.observe(
            user_id=user_id, session_id=session_id, user=line, assistant=reply.text, whisper=whisper
        )
        if receipt.durable:
            self._judgements.expect(receipt.turn_id)
        else:
            self._terminal.tell(f"[red]{escape(receipt.error)}[/]")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_PAUSE)
            await self._look()

    async def _look(self) -> None:
        """Print the judgements since the last call, and an error if judging fails."""
        try:
            judged = await self._judgements.find_new()
        except SouffleurError:  # the store cannot be reached, which the memory's error says
            judged = []
        for one in judged:
            self._commands.note(one.entries)
            self._commands.judgement = one
            self._terminal.tell(*(f"  [dim]{line}[/]" for line in one.lines()))
        if self._memory.error != self._error:
            self._error = self._memory.error
            told = f"[red]{escape(self._error)}[/]" if self._error else "[dim]it works again[/]"
            self._terminal.tell(f"  {told}")
        self._terminal.tell()


class ChatCommands:
    """The commands of a talk, and the changes made in it, for `/undo`."""

    def __init__(self, memory: Souffleur, user_id: str, say: Callable[[str], None]) -> None:
        self._memory, self._user_id, self._say = memory, user_id, say
        self._changes: list[list[LedgerEntry]] = []
        self.recall = Recall()
        """The latest whisper."""
        self.judgement: Judgement | None = None
        """The latest judgement."""
        self._commands: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "/memories": self._list_memories,
            "/why": self._explain,
            "/forget": self._forget,
            "/undo": self._undo,
            "/help": self._help,
        }

    async def run(self, line: str) -> None:
        """Run a command. Raises SouffleurError."""
        name, _, words = line.partition(" ")
        if command := self._commands.get(name.casefold()):
            await command(words.strip())
        else:
            self._say(f"there is no command {escape(name)}: /help lists them")

    def note(self, entries: Sequence[LedgerEntry]) -> None:
        """Note the changes of a turn or command."""
        if changed := [entry for entry in entries if can_undo(entry)]:
            self._changes.append(changed)

    async def _list_memories(self, _: str) -> None:
        now, knowledge = self._memory.clock(), self._memory.knowledge
        found = await knowledge.list(self._user_id, now=now)
        worth = Worth(now, knowledge.policy)
        print_memories(found, worth, await self._memory.cast())

    async def _explain(self, _: str) -> None:
        self._say("whispered last:" if self.recall.ids else "nothing has been whispered yet")
        reasons = explain_whisper(self.recall)
        for id in self.recall.ids:
            memory = await self._memory.knowledge.get(id, user_id=self._user_id)
            self._say(f"  {escape(memory.content)}  [dim]because {reasons[memory.id]}[/]")
        if self.judgement is None:
            self._say("nothing has been judged yet")
            return
        judged = self.judgement.turn.masked(self._memory.knowledge.withheld)
        self._say(f"judged last, “{escape(judged.user)}”:")
        for entry in self.judgement.entries:
            self._say("\n      ".join([f"  {format_op(entry)}", *format_story(entry)]))

    async def _forget(self, words: str) -> None:
        if not words:
            self._say("say what to forget: /forget WORDS")
            return
        entries = await self._memory.forget(words, user_id=self._user_id)
        if not entries:
            self._say(f"no memory is clearly meant by “{escape(words)}”: /memories lists them")
            return
        self.note(entries)
        for entry in entries:
            self._say(f"  {format_entry(entry)}")
        self._say("  [dim]/undo takes it back[/]")

    async def _undo(self, _: str) -> None:
        if not self._changes:
            self._say("nothing was changed in this talk")
            return
        for entry in reversed(self._changes.pop()):
            undone = await self._memory.undo(entry.id, user_id=self._user_id)
            self._say(f"  {format_entry(undone)}")

    async def _help(self, _: str) -> None:
        for name, what in HELP.items():
            self._say(f"  {name:14}  [dim]{what}[/]")


def explain_whisper(recall: Recall) -> dict[str, str]:
    """Return the reason for each whispered memory, episode and portrait, by its id."""
    reasons = dict.fromkeys(recall.ids, "it matters enough to come unasked")
    reasons |= {memory.id: "it is core, and always there" for memory in recall.core}
    reasons |= {memory.id: "it is one of the latest talks" for memory in recall.episodes}
    reasons |= {recall.portrait.id: "it is the portrait"} if recall.portrait else {}
    reasons |= {found.item.id: "you asked" for found in recall.past}
    for found in recall.found:
        parts = (f"{name} {value:.2f}" for name, value in found.parts.items() if value)
        reasons[found.item.id] = f"it goes with what you said ({', '.join(parts)})"
    return reasons


@dataclass(frozen=True)
class Judgement:
    """A turn that was judged or set aside, and its ledger entries."""

    turn: Turn
    entries: tuple[LedgerEntry, ...]

    def lines(self) -> list[str]:
        """Return the judgement as lines of markup, a line for each op."""
        if self.turn.state is TurnState.FAILED:
            return [f"[red]not judged[/]  {escape(self.turn.error)}"]
        return [format_entry(entry) for entry in self.entries]


class Judgements:
    """Follows the turns of this talk that were observed."""

    def __init__(self, memory: Souffleur, user_id: str, session_id: str) -> None:
        self._memory = memory
        self._user_id, self._session_id = user_id, session_id
        self._waiting: list[str] = []
        self._seen: set[str] = set()

    def expect(self, turn_id: str) -> None:
        """Follow a turn that was just observed."""
        self._waiting.append(turn_point_id(self._user_id, "default", self._session_id, turn_id))

    async def find_new(self) -> list[Judgement]:
        """Return the judgements since the last call. Raises StoreError."""
        if not self._waiting:
            return []
        turns = await self._memory.knowledge.journal.get_turns(self._waiting)
        judged = [turn for turn in turns if turn.state is not TurnState.PENDING]
        return [await self._judgement(turn) for turn in sorted(judged, key=lambda one: one.seq)]

    async def _judgement(self, turn: Turn) -> Judgement:
        journal = self._memory.knowledge.journal
        every = await journal.entries(self._user_id, turn_id=turn.id)
        new = tuple(entry for entry in every if entry.id not in self._seen)
        self._waiting.remove(turn.id)
        self._seen |= {entry.id for entry in new}
        return Judgement(turn, new)


def farewell(waiting: int, failed: int, *, told: bool) -> list[str]:
    """Return lines about turns that wait or failed; `told` is whether the talk was summarised.

    >>> farewell(2, 0, told=False), farewell(0, 0, told=True)
    (['2 turns are kept, and will be judged at the next start'], ['all is judged'])
    >>> farewell(0, 1, told=True)
    ['1 turn could not be judged: see `souffleur list --failed`']
    """
    lines = []
    if waiting:
        kept = count(waiting, "turn is", "turns are")
        lines.append(f"{kept} kept, and will be judged at the next start")
    if failed:
        lines.append(f"{count(failed, 'turn')} could not be judged: see `souffleur list --failed`")
    later = "" if told else "; the talk will be summarised at the next start"
    return lines or [f"all is judged{later}"]


async def _unless(leaving: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of the work; `None` if the event cancelled the work."""
    task, left = asyncio.create_task(work), asyncio.create_task(leaving.wait())
    await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    return None if task.cancelled() else task.result()


def _shown_whisper(text: str, former: Collection[str]) -> list[str]:
    """Return the new lines of a whisper and the number of the other lines, as lines of markup.

    >>> _shown_whisper("You know:\\n- Ann likes tea.\\n- Ann has a cat.", ["Ann likes tea."])
    ['  [dim]whispered  Ann has a cat.[/]', '  [dim]whispered  and 1 as before: /why[/]']
    """
    lines = whispered_lines(text)
    new = [line for line in lines if line not in former]
    told = [*map(escape, new[:SHOWN_WHISPERS])]
    told += [f"and {more} more: /why"] if (more := len(new) - SHOWN_WHISPERS) > 0 else []
    told += [f"and {known} as before: /why"] if (known := len(lines) - len(new)) else []
    return [f"  [dim]whispered  {line}[/]" for line in told]
