"""The command line: `souffleur --help` lists the commands.

Exit codes: 0 done; 1 it failed, or a file cannot be written; 2 a wrong option or setting; 3 nothing
of that name was found; 4 the store is in use by another process.
"""

import sys

import typer

from souffleur.cli import (
    config,
    corrections,
    evaluate,
    memories,
    past,
    people,
    report,
    run,
    schedule,
    store,
    talk,
)
from souffleur.errors import (
    NotFoundError,
    QueryError,
    SettingsError,
    SouffleurError,
    StoreBusyError,
)

app = typer.Typer(
    name="souffleur",
    help="A memory worth having, for companion chatbots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
memories.register(app)
corrections.register(app)
past.register(app)
people.register(app)
run.register(app)
report.register(app)
schedule.register(app)
config.register(app)
store.register(app)
talk.register(app)
evaluate.register(app)

EXIT_CODES: tuple[tuple[type[SouffleurError], int], ...] = (
    (SettingsError, 2),
    (QueryError, 2),
    (NotFoundError, 3),
    (StoreBusyError, 4),
    (SouffleurError, 1),
)


def main() -> None:
    """Run the console script."""
    try:
        app()
    except SouffleurError as error:
        print(f"souffleur: {error}", file=sys.stderr)
        sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))
    except OSError as error:
        if error.filename is None:
            raise
        print(f"souffleur: {error.filename}: {error.strerror}: name another file", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
