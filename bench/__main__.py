"""`python -m bench NAME`: each measurement is a command, imported only if it is called."""

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from souffleur.cli.console import prepared
from souffleur.errors import SettingsError, SouffleurError

COMMANDS = {
    "speed": "bench.speed.command",
    "load": "bench.load",
    "soak": "bench.soak",
    "proxy": "bench.proxied",
    "retrieval": "bench.retrieval",
    "answering": "bench.answering",
    "halumem": "bench.halumem",
    "versus": "bench.versus",
    "situations": "bench.situations",
    "portraits": "bench.portraits",
    "reviews": "bench.reviews",
    "forgetting": "bench.forgetting",
    "lives": "bench.lives",
}
"""The module of each command, by the command's name, which is its function's name, too."""


class Measurements(TyperGroup):
    """A group of these commands; its help imports them all."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; `None` if there is none."""
        if cmd_name not in COMMANDS:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command()(getattr(import_module(COMMANDS[cmd_name]), cmd_name))
        found = get_command(alone)
        found.short_help = (found.help or "").partition("\n")[0]
        return found


app = typer.Typer(
    cls=Measurements,
    help="Measure how good and how fast the memory is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def bench() -> None:
    """Measure how good and how fast the memory is."""


def main() -> None:
    """Run the command line. An error exits with one line and 1, of a setting with 2."""
    try:
        with prepared():
            app(prog_name="python -m bench")
    except SouffleurError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, SettingsError) else 1)


if __name__ == "__main__":
    main()
