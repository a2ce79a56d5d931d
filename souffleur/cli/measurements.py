"""`souffleur eval retrieval` and the like: commands of the evals, each imported if it is called."""

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
    "speed": "souffleur.evals.performance",
}
"""By name of the command."""


class Measurements(TyperGroup):
    """A group with these commands besides its own; its help imports them all."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names."""
        return [*super().list_commands(ctx), *MODULES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; None if there is none."""
        if cmd_name in MODULES:
            return get_command(import_module(MODULES[cmd_name]).app)
        return super().get_command(ctx, cmd_name)
