"""What begins with a slash in `souffleur chat`: looking at memories, and changing them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from rich.markup import escape

from souffleur.api import Souffleur
from souffleur.cli.format_ledger import format_entry, format_op, format_story
from souffleur.cli.format_memories import Worth, print_memories
from souffleur.cli.judgements import Judgement
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.undo import can_undo
from souffleur.recall.compose import Recall

Say = Callable[[str], None]
"""Prints a line of markup."""

HELP = {
    "/memories": "what is remembered of you, the most valuable first",
    "/why": "why the last memories were whispered, and what was judged last",
    "/forget WORDS": "forget what the words clearly mean",
    "/undo": "take back the latest change",
    "/help": "this list",
    "/quit": "end the talk; Ctrl-D and Ctrl-C do so as well",
}


class ChatCommands:
    """The commands of one talk; it remembers the changes made in it, for `/undo`."""

    def __init__(self, memory: Souffleur, user_id: str, say: Say) -> None:
        self._memory, self._user_id, self._say = memory, user_id, say
        self._changes: list[list[LedgerEntry]] = []
        self.recall = Recall()
        """What was whispered last."""
        self.judgement: Judgement | None = None
        """What was judged last."""
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
        """Note what one turn or command has changed."""
        if changed := [entry for entry in entries if can_undo(entry)]:
            self._changes.append(changed)

    async def _list_memories(self, _: str) -> None:
        now, knowledge = self._memory.clock(), self._memory.knowledge
        found = await knowledge.list(self._user_id, now=now)
        worth = Worth(now, knowledge.policy)
        print_memories(found, worth, await self._memory.cast(), as_json=False)

    async def _explain(self, _: str) -> None:
        self._say("whispered last:" if self.recall.ids else "nothing has been whispered yet")
        reasons = explain_whisper(self.recall)
        for memory in await self._find(self.recall.ids):
            self._say(f"  {escape(memory.content)}  [dim]because {reasons[memory.id]}[/]")
        if self.judgement is None:
            self._say("nothing has been judged yet")
            return
        judged = self.judgement.turn.masked(self._memory.knowledge.withheld)
        self._say(f"judged last, “{escape(judged.user)}”:")
        for entry in self.judgement.entries:
            self._say("\n      ".join([f"  {format_op(entry)}", *format_story(entry)]))

    async def _find(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories that are still there, in order."""
        return [await self._memory.knowledge.get(id, user_id=self._user_id) for id in ids]

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
    """Return why each memory, episode or portrait was whispered, by its id."""
    reasons = dict.fromkeys(recall.ids, "it matters enough to come unasked")
    reasons |= {memory.id: "it is core, and always there" for memory in recall.core}
    reasons |= {memory.id: "it is one of the latest talks" for memory in recall.episodes}
    reasons |= {recall.portrait.id: "it is the portrait"} if recall.portrait else {}
    reasons |= {found.item.id: "you asked about the past" for found in recall.past}
    for found in recall.found:
        parts = (f"{name} {value:.2f}" for name, value in found.parts.items() if value)
        reasons[found.item.id] = f"it goes with what you said ({', '.join(parts)})"
    return reasons
