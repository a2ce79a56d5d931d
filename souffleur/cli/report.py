"""Commands about the store as a whole: report, doctor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.door import AnyUser, AsJson, with_memory

if TYPE_CHECKING:
    from souffleur.knowledge.quality import Quality
    from souffleur.runtime import Souffleur


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (report, doctor):
        app.command()(command)


def report(
    user: AnyUser = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots here.")] = None,
    as_json: AsJson = False,
) -> None:
    """What is in the store: counts, worth, what is due, duplicates, failures, cost."""
    from souffleur.cli import show_report as render

    async def work(memory: "Souffleur") -> None:
        from zoneinfo import ZoneInfo

        from souffleur.report_page import to_html

        quality = await _measured(memory, user)
        if html:
            zone = ZoneInfo(memory.settings.timezone)
            html.write_text(to_html(quality, title="Souffleur", zone=zone), encoding="utf-8")
            typer.echo(f"written to {html}")
        else:
            render.report(quality, memory.settings, as_json)

    with_memory(work)


def doctor(as_json: AsJson = False) -> None:
    """Whether the store is well, and what to do where it is not; 1 where something is broken."""
    from souffleur.cli import show_report as render
    from souffleur.report import Health, health

    async def work(memory: "Souffleur") -> "Quality":
        return await _measured(memory, None)

    quality = with_memory(work)
    render.doctor(quality, as_json)
    if health(quality)[0] is Health.BROKEN:
        raise typer.Exit(1)


async def _measured(memory: "Souffleur", user: str | None) -> "Quality":
    from souffleur.knowledge.quality import measure

    return await measure(memory.knowledge, memory.clock(), user_id=user)
