"""The command line: `souffleur --help` lists the commands in groups.

Exit codes: 0 done; 1 it failed, or a file cannot be written; 2 a wrong option, setting or input
file; 3 nothing of that name was found; 4 the store is in use by another process.
"""

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from souffleur.cli import (
    correct,
    doctor,
    look,
    measure,
    move,
    past,
    people,
    repair,
    replay,
    report,
    run,
    serve,
    talk,
)
from souffleur.cli.console import prepared
from souffleur.cli.memory import OPENER
from souffleur.errors import (
    InputError,
    NotFoundError,
    SettingsError,
    SouffleurError,
    StoreBusyError,
)
from souffleur.knowledge.text.plain import showable

if TYPE_CHECKING:
    from souffleur.knowledge.store.opening import Opener

Command = Callable[..., None]


class Grouped(TyperGroup):
    """A command whose help lists its commands by group, under the groups' headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group; its commands are in the order of use."""
        wide = max(map(len, self.commands))
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            row = (name.ljust(wide), command.short_help or "")
            heading = getattr(command, "rich_help_panel", "Commands")
            groups.setdefault(heading, []).append(row)
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def _group(help: str, commands: Mapping[str, Sequence["Command | typer.Typer"]]) -> typer.Typer:
    """Return a command that has these commands, listed by the headings of their groups."""
    made = typer.Typer(
        cls=Grouped,
        help=help,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for heading, members in commands.items():
        for one in members:
            if isinstance(one, typer.Typer):
                made.add_typer(one, short_help=one.info.help, rich_help_panel=heading)
            else:
                name = one.__name__.rstrip("_")
                summary = (one.__doc__ or "").partition("\n")[0]  # click would cut the text
                made.command(name, short_help=summary, rich_help_panel=heading)(one)
    return made


user = _group(
    "Users and personas: who they are, their portraits and preferences.",
    {
        "Look": (people.list_, past.profile),
        "Introduce": (people.people, people.personas, people.preferences),
    },
)
store = _group(
    "The whole store: save it, move it, erase from it, repair it.",
    {
        "Move": (move.backup, move.restore, move.export, move.import_, move.migrate),
        "Erase": (repair.erase, repair.compact),
        "Repair": (repair.repair, repair.reembed),
    },
)
evals = _group(
    "Play scripted dialogues, mark and compare what was remembered.",
    {
        "Play": (measure.new, measure.run, measure.record, replay.replay),
        "Look": (measure.compare, measure.shadow, measure.report),
    },
)
user.info.name, store.info.name, evals.info.name = "user", "store", "eval"

app = _group(
    "A memory worth having, for companion chatbots.",
    {
        "Talk": (talk.chat, talk.demo),
        "Look": (
            look.list_,
            look.search,
            look.show,
            look.history,
            past.ask,
            past.why,
            user,
            report.report,
        ),
        "Correct": (
            *(correct.remember, correct.edit, correct.forget, correct.undo),
            *(correct.confirm, correct.reject, correct.share),
        ),
        "Run": (run.run, run.schedule, run.worker, run.retry),
        "Serve": (serve.serve, serve.token, serve.proxy, serve.mcp),
        "Move": (store, move.mirror),
        "Repair": (doctor.doctor, doctor.config),
        "Measure": (evals,),
    },
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"souffleur {version('souffleur-memory')}")
        raise typer.Exit


@app.callback()
def souffleur(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    """A memory worth having, for companion chatbots."""


EXIT_CODES: tuple[tuple[type[SouffleurError], int], ...] = (
    (SettingsError, 2),
    (InputError, 2),
    (NotFoundError, 3),
    (StoreBusyError, 4),
    (SouffleurError, 1),
)

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers for a file without room on its disk; these errors may name no file."""


def main(opener: "Opener | None" = None) -> None:
    """Run the console script; `opener` replaces the usual opener of stores."""
    before = OPENER.set(opener)
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
    finally:
        OPENER.reset(before)


def _complain(why: object) -> None:
    print(showable(f"souffleur: {why}"), file=sys.stderr)
