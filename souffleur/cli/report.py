"""Commands about the whole store: report, doctor, repair."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.event_loop import inspect, with_memory, with_store
from souffleur.cli.options import AnyUser, AsJson
from souffleur.cli.page_file import write_page

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.cli.event_loop import Memory
    from souffleur.knowledge.operation import LedgerEntry
    from souffleur.knowledge.store.repair import Broken
    from souffleur.report.quality import Quality
    from souffleur.report.report import Finding


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (report, doctor, repair):
        app.command()(command)


def report(
    user: AnyUser = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots and memories here; - prints it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report on the store: counts, values, what is due, duplicates, failures, cost."""
    from souffleur.cli import format_report

    async def work(memory: "Memory") -> None:
        zone = (await memory.cast()).zone(user)
        quality = await memory.report(user_id=user)
        format_report.print_report(quality, zone, as_json=as_json)

    async def write(memory: "Memory") -> None:
        assert html is not None
        page = await inspect(memory).page(user_id=user)
        write_page(page, html, f"written to {html}")

    with_memory(write if html else work)


def doctor(as_json: AsJson = False) -> None:
    """Check store, model and embedder, and say what to do. Exits with 1 if one is broken.

    Model and embedder are asked once.
    """
    from souffleur.cli import format_report
    from souffleur.report.report import Status, health

    async def work(memory: "Memory") -> "tuple[Quality, list[Finding]]":
        found = [*await _asked(), *await _neglected(memory)]
        return await memory.report(), found

    quality, others = with_memory(work)
    state, findings = health(quality, others)
    format_report.print_health(state, findings, as_json=as_json)
    if state is Status.BROKEN:
        raise typer.Exit(1)


def repair(
    out: Annotated[
        Path, typer.Option(help="A new file for the records that cannot be read.")
    ] = Path("souffleur-unreadable.jsonl"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing.")] = False,
) -> None:
    """Move records that cannot be read out of the store, into a file."""

    async def work(memory: "Souffleur") -> "tuple[list[Broken], list[LedgerEntry]]":
        from souffleur.knowledge.store.repair import find_broken, take_out

        broken = await find_broken(memory.knowledge)
        if dry_run:
            return broken, []
        return broken, await take_out(memory.knowledge, broken, out, now=memory.clock())

    broken, restored = with_store(work)
    _tell_repaired(broken, restored, "" if dry_run else str(out))


def _tell_repaired(broken: "list[Broken]", restored: "list[LedgerEntry]", file: str) -> None:
    from souffleur.report.report import count

    if not broken:
        typer.echo("nothing to repair: all can be read")
        return
    for one in broken:
        typer.echo(f"  {one.why}")
    done = f"moved to {file}" if file else "would be moved to a file"
    typer.echo(f"{count(len(broken), 'record')} {done}")
    for entry in restored:
        typer.echo(f"holds again: {entry.changes[0].after.content}")


async def _asked() -> "list[Finding]":
    """Ask model and embedder once each, and return what is wrong with them."""
    from souffleur.errors import EmbedderError, EndpointError
    from souffleur.report.report import Status
    from souffleur.settings import load_settings
    from souffleur.wiring import make_endpoints, settings_embedder

    settings, found = load_settings(), []
    async with make_endpoints(settings, settings_embedder(settings)) as endpoints:
        if not settings.has_model:
            advice = "set SOUFFLEUR_BASE_URL, or SOUFFLEUR_API_KEY for OpenAI's own."
            found.append((Status.WARNING, f"No model judges what is said, it only waits: {advice}"))
        try:
            await endpoints.probe()
        except EndpointError as error:
            status = Status.WARNING if error.retryable else Status.BROKEN
            found.append((status, f"The model does not answer, so nothing is judged: {error}"))
        try:
            await endpoints.probe_embedder()
        except EmbedderError as error:
            found.append((Status.WARNING, f"Memories are found by words alone: {error}"))
    return found


async def _neglected(memory: "Memory") -> "list[Finding]":
    """Return what is due while nothing will ever do it; whoever serves a store says so itself."""
    from souffleur.api import Souffleur
    from souffleur.report.report import Status
    from souffleur.service.rule_runs import find_neglect

    if not isinstance(memory, Souffleur):
        return []
    settings = memory.settings
    neglect = await find_neglect(
        memory.knowledge, settings, memory.clock(), has_model=settings.has_model
    )
    return [(Status.WARNING, neglect.text)] if neglect else []
