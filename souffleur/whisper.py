"""The whisper: the few memories that matter now, as a block for the host's prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search import Found
from souffleur.prompts import render
from souffleur.tokens import estimate_tokens


@dataclass(frozen=True)
class Recall:
    """What `recall` gives to the host."""

    text: str = ""
    """The block for the system prompt; empty where nothing is known."""
    ids: tuple[str, ...] = ()
    """The memories in it, in the order of the text."""
    core: tuple[Memory, ...] = ()
    found: tuple[Found, ...] = ()
    """What the message called for, best first, each with its score taken apart."""
    tokens: int = 0
    """Estimated length of the text."""
    trouble: str = ""
    """Why it may be incomplete; empty: it is whole."""


@dataclass(frozen=True)
class Shelf:
    """What could be whispered, before the budget."""

    core: Sequence[Memory] = ()
    resident: Sequence[Memory] = ()
    """The most important facts, best first."""
    found: Sequence[Found] = field(default_factory=tuple)
    """What the message calls for, best first."""


def compose(shelf: Shelf, *, budget: int, user: str, language: str, trouble: str = "") -> Recall:
    """The block within `budget` tokens.

    The core comes first and in a fixed order, so that a provider caches it; what the message
    calls for comes last. What does not fit is left out from the least valuable on; no memory is
    cut in two.
    """
    core = sorted(shelf.core, key=_age)
    taken = {memory.id for memory in core}
    related = [found.memory for found in shelf.found if found.memory.id not in taken]
    taken |= {memory.id for memory in related}
    resident = [memory for memory in shelf.resident if memory.id not in taken]
    always, called = list(core), list[Memory]()
    for memory in [*related, *resident]:  # what is called for goes before what merely accompanies
        trial = [*called, memory]
        if estimate_tokens(_text(always, trial, user, language)) <= budget:
            called = trial
    while always and estimate_tokens(_text(always, called, user, language)) > budget:
        always.pop()
    text = _text(always, sorted(called, key=_age), user, language)
    chosen = [*always, *sorted(called, key=_age)]
    return Recall(
        text=text,
        ids=tuple(memory.id for memory in chosen),
        core=tuple(always),
        found=tuple(found for found in shelf.found if found.memory in called),
        tokens=estimate_tokens(text),
        trouble=trouble,
    )


def _text(core: Sequence[Memory], called: Sequence[Memory], user: str, language: str) -> str:
    if not core and not called:
        return ""
    parts = [render("whisper", language, user=user)]
    parts += ["\n".join(_line(memory) for memory in part) for part in (core, called) if part]
    return "\n\n".join(parts)


def _line(memory: Memory) -> str:
    return f"- {' '.join(memory.content.split())}"


def _age(memory: Memory) -> tuple[str, str]:
    return memory.created_at.isoformat(), memory.id
