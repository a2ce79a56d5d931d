"""`souffleur worker`: a process that judges what hosts at the same server record."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(worker)


def worker() -> None:
    """Judge what hosts at the same Qdrant server record, until stopped; several may run.

    Users are shared out among all workers and hosts that judge. SIGTERM or an interrupt lets it
    finish what is being judged, for SOUFFLEUR_SHUTDOWN_TIMEOUT seconds.
    """
    from souffleur.cli.event_loop import run_async

    run_async(_judge())


async def _judge() -> None:
    from souffleur.api import Souffleur
    from souffleur.cli.event_loop import stop_on_signal
    from souffleur.collector import spare_what_lasts
    from souffleur.errors import SettingsError
    from souffleur.settings import load_settings

    settings = load_settings(judge=True)
    if not settings.qdrant_url:
        raise SettingsError(
            "a worker needs a Qdrant server, as one process owns the folder of an embedded store: "
            "set SOUFFLEUR_QDRANT_URL"
        )
    if not settings.has_model:
        raise SettingsError("a worker needs a model: set SOUFFLEUR_BASE_URL or SOUFFLEUR_MODEL")
    stopping = stop_on_signal()
    async with Souffleur.open(settings):
        spare_what_lasts()
        typer.echo("judging; stop it with an interrupt")
        await stopping.wait()
