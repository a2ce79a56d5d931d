"""Further commands of `souffleur eval`, such as `retrieval`, each imported only if it is called."""

from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

MODULES = {
    "retrieval": "souffleur.evals.retrieval",
    "halumem": "souffleur.evals.halumem",
    "answering": "souffleur.evals.answering",
    "reviews": "souffleur.evals.reviews",
    "questions": "souffleur.evals.questions",
    "situations": "souffleur.evals.in_mind",
    "portraits": "souffleur.evals.portraits",
    "forgetting": "souffleur.evals.forgetting",
    "speed": "souffleur.evals.performance",
    "proxy": "souffleur.evals.proxied",
    "load": "souffleur.evals.load",
    "soak": "souffleur.evals.soak",
    "sizing": "souffleur.evals.speed.sizing",
}
"""Module of each command, by name."""


class Measurements(TyperGroup):
    """A group that has these commands besides its own; its help imports them all."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *MODULES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; `None` if there is none."""
        if cmd_name in MODULES:
            found = get_command(import_module(MODULES[cmd_name]).app)
            found.short_help = (found.help or "").partition("\n")[0]
            return found
        return super().get_command(ctx, cmd_name)
