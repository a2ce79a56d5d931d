"""Metrics for Prometheus and traces for OpenTelemetry.

Nothing is measured unless a setting asks for it. Souffleur sends nothing: Prometheus fetches the
metrics, and spans go to the tracer provider that the host has set.
"""

from typing import TYPE_CHECKING

from souffleur.errors import SettingsError

if TYPE_CHECKING:
    from souffleur.api import Souffleur

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `metrics_text`."""


async def metrics_text(memory: "Souffleur") -> str:
    """Return the metrics of a Souffleur as Prometheus reads them, for a host's own `/metrics`.

    The state of the store is read anew; if the store is out of reach, the last state is shown.
    Raises SettingsError if the setting `metrics` is off.
    """
    metrics = memory.parts.metrics
    if metrics is None:
        raise SettingsError("nothing is measured: set SOUFFLEUR_METRICS=true")
    await metrics.refresh()
    return metrics.text()
