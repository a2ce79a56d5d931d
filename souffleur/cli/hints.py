"""A hint, where nothing was found, that another user has what was looked for."""

import shlex
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory

MAX_NAMED = 3
"""Number of users that a hint names."""


async def hint_at_others(memory: "Memory", user: str) -> None:
    """Say on standard error which other users have memories or turns; nothing if none has."""
    from souffleur.report.report import count

    others = [one for one in await memory.users() if one.user_id != user]
    for one in others[:MAX_NAMED]:
        numbers = [count(one.memories, "memory", "memories")] if one.memories else []
        numbers += [count(one.turns, "turn")] if one.turns else []
        has = " and ".join(numbers)
        print(f"{one.user_id} has {has}: --user {shlex.quote(one.user_id)}", file=sys.stderr)
    if len(others) > MAX_NAMED:
        print(f"{len(others)} users in all: see `souffleur users`", file=sys.stderr)
