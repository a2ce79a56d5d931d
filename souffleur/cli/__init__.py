"""The command line: `souffleur --help` lists the commands.

Exit codes: 0 done; 1 it failed, or a file cannot be written; 2 a wrong option or setting; 3 nothing
of that name was found; 4 the store is in use by another process.
"""

import errno
import sys
from typing import Annotated

import typer

from souffleur.cli import (
    config,
    corrections,
    demo,
    evaluate,
    mcp,
    memories,
    mirror,
    moving,
    past,
    people,
    proxy,
    removal,
    report,
    retry,
    run,
    schedule,
    serve,
    store,
    talk,
    worker,
)
from souffleur.cli.process import prepared
from souffleur.errors import (
    NotFoundError,
    QueryError,
    SettingsError,
    SouffleurError,
    StoreBusyError,
)
from souffleur.knowledge.text.plain import showable

app = typer.Typer(
    name="souffleur",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ROOMS = (
    demo,
    talk,
    memories,
    corrections,
    past,
    people,
    mirror,
    run,
    retry,
    schedule,
    worker,
    serve,
    proxy,
    report,
    config,
    store,
    moving,
    removal,
    mcp,
    evaluate,
)
for room in ROOMS:
    room.register(app)

ORDER = (
    *("chat", "demo", "replay"),
    *("remember", "list", "search", "show", "ask", "episodes", "profile"),
    *("forget", "forget_topic", "edit", "confirm", "reject", "history", "undo", "share"),
    *("users", "people", "personas", "preferences", "mirror"),
    *("run", "schedule", "worker", "report", "doctor", "config", "retry"),
    *("serve", "proxy", "token"),
    *("backup", "restore", "export", "import", "erase", "compact"),
    *("repair", "migrate", "reembed"),
    *("mcp",),
)
"""Commands as `--help` lists them: in the order of their use; others follow."""


def _in_order(info: typer.models.CommandInfo) -> int:
    name = _name(info)
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _name(info: typer.models.CommandInfo) -> str:
    return info.name or (info.callback.__name__ if info.callback else "")


app.registered_commands.sort(key=_in_order)
for group in (app, evaluate.evals):
    for command in group.registered_commands:  # click cuts what it takes from a docstring itself
        told = (command.callback.__doc__ if command.callback else None) or ""
        command.short_help = command.short_help or told.partition("\n")[0]


def _tell_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"souffleur {version('souffleur')}")
        raise typer.Exit


@app.callback()
def souffleur(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_tell_version, help="Show the version."),
    ] = False,
) -> None:
    """A memory worth having, for companion chatbots."""


EXIT_CODES: tuple[tuple[type[SouffleurError], int], ...] = (
    (SettingsError, 2),
    (QueryError, 2),
    (NotFoundError, 3),
    (StoreBusyError, 4),
    (SouffleurError, 1),
)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a file that has no room is refused with; writing names no file."""


def main() -> None:
    """Run the console script."""
    try:
        with prepared():
            app()
    except SouffleurError as error:
        _complain(error)
        sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))
    except OSError as error:
        if error.errno in FULL:
            _complain(f"{error.filename or 'the output'}: {error.strerror}")
            sys.exit(1)
        if error.filename is None:
            raise
        _complain(f"{error.filename}: {error.strerror}: name another file")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _complain(why: object) -> None:
    print(showable(f"souffleur: {why}"), file=sys.stderr)
