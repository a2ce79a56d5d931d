"""Commands of the command line, made from functions: their event loop, store and output."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from souffleur.cli.console import plain, print_json
from souffleur.cli.memory import run_async, with_memory
from souffleur.cli.options import flag
from souffleur.cli.tables import Columns, show

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")

AS_JSON = Parameter(
    "as_json",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, flag("--json", "Print JSON on standard output.")],
)


@dataclass(frozen=True)
class Result:
    """The result of a command: data for a program, and a function that prints it for a person."""

    data: Any
    show: Callable[[], None]
    code: int = 0
    """The exit code."""


def listed(items: Sequence[T], columns: Columns[T], *, empty: str, title: str = "") -> Result:
    """Return a table as a result, see `show`; its data is the items."""
    return Result(items, lambda: show(items, columns, empty=empty, title=title))


def printed(work: Callable[P, Result | None]) -> Callable[..., None]:
    """Make a command that prints the result of a function; with `--json` it prints the data."""

    def run(*given: P.args, **options: P.kwargs) -> None:
        as_json = options.pop(AS_JSON.name, False)
        result = work(*given, **options)
        if result is None:
            return
        if as_json:
            print_json(plain(result.data))
        else:
            result.show()
        if result.code:
            raise typer.Exit(result.code)

    return _as_command(run, work, more=[AS_JSON])


def in_loop(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a function from a coroutine function, see `run_async`."""

    def run(*given: P.args, **options: P.kwargs) -> T:
        return run_async(work(*given, **options))

    return _as_command(run, work)


def on_memory(work: "Callable[Concatenate[Memory, P], Coroutine[Any, Any, T]]") -> Callable[P, T]:
    """Make a function from a coroutine function that gets the memory, see `with_memory`."""

    def run(*given: P.args, **options: P.kwargs) -> T:
        return with_memory(lambda memory: work(memory, *given, **options))

    return _as_command(run, work, given=1)


def _as_command(
    run: Callable[P, T], work: Callable[..., Any], *, given: int = 0, more: Sequence[Parameter] = ()
) -> Callable[P, T]:
    """Return `run` with the name, the help and the options of `work`, and with `more` options.

    The first `given` arguments of `work` are no options.
    """
    options = [*list(signature(work).parameters.values())[given:], *more]
    update_wrapper(run, work)
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in options}
    return run
