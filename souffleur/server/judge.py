"""The judge behind a server: the configured model, or else the model that front ends talk with."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

import httpx2

from souffleur.errors import SettingsError
from souffleur.knowledge.network.connections import connection, is_private
from souffleur.knowledge.privacy.addresses import api_base, bare_address, host_of
from souffleur.settings import ServeSettings, Settings, change_settings

MODELS_TIMEOUT = 5.0
"""Maximum seconds to wait for the list of models."""
ASK_AGAIN = 15.0
"""Seconds between two questions to an upstream that does not answer yet."""
NOBODY = "NONE: nothing will be remembered"
NOBODY_YET = "NONE yet: nothing is judged until it answers"


@dataclass(frozen=True)
class Models:
    """The models of an endpoint, as its `/models` lists them."""

    names: tuple[str, ...] = ()
    error: str = ""
    """Why there is no list; empty if there is one."""
    answered: bool = True
    """Whether there was any answer; a machine may start the server before the model."""

    @property
    def first(self) -> str | None:
        """The first model that is not for embeddings, by its name."""
        return next((name for name in self.names if "embed" not in name.lower()), None)


async def list_models(serve: ServeSettings) -> Models:
    """Ask the upstream, if there is one, once which models it has."""
    url, key = serve.upstream_url, serve.upstream_api_key
    if url is None:
        return Models()
    headers = {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    try:
        transport = httpx2.AsyncHTTPTransport(**connection(url))
        async with httpx2.AsyncClient(transport=transport, timeout=MODELS_TIMEOUT) as client:
            response = await client.get(f"{api_base(url)}/models", headers=headers)
        if response.is_error:
            missing = response.status_code == HTTPStatus.NOT_FOUND
            hint = ": its address usually ends in /v1" if missing else ""
            return Models(error=f"its /models answers {response.status_code}{hint}")
        return Models(tuple(str(one["id"]) for one in response.json()["data"]))
    except httpx2.HTTPError as error:
        return Models(error=f"it does not answer: {type(error).__name__}", answered=False)
    except (ValueError, TypeError, KeyError):
        return Models(error="its /models is no list of models")


def judged_by(settings: Settings, models: Models) -> tuple[Settings, str]:
    """Return the settings with the judge of a server, and a line that says who it is.

    `models` are those of the upstream. An upstream that may cost money judges only if
    `upstream_judges` is set. Raises SettingsError if it is to judge and no model is known.
    """
    serve, upstream = settings.serve, settings.serve.upstream_url
    if settings.has_model:
        return settings, f"{settings.model} at {bare_address(settings.endpoint_url)}"
    if upstream is None:
        return settings, f"{NOBODY}; set SOUFFLEUR_BASE_URL and SOUFFLEUR_MODEL"
    if serve.upstream_judges is None and not is_private(host_of(upstream)):
        why = "give --judge upstream (your key, your bill), or set SOUFFLEUR_BASE_URL"
        return settings, f"{NOBODY}; {why}"
    if serve.upstream_judges is False:
        return settings, f"{NOBODY}, as SOUFFLEUR_UPSTREAM_JUDGES is false"
    model = settings.model if "model" in settings.model_fields_set else models.first
    if model is None:
        why = models.error or "it lists no model"
        if serve.upstream_judges:
            raise SettingsError(f"name the model that judges, SOUFFLEUR_MODEL: {why}")
        begin = NOBODY if models.answered else NOBODY_YET
        return settings, f"{begin} ({why}); it is asked again every {ASK_AGAIN:.0f} s"
    key = serve.upstream_api_key
    chosen = change_settings(settings, base_url=upstream, model=model, api_key=key)
    return chosen, f"{model} at {bare_address(upstream)}, after each reply{_choice(models.names)}"


async def wait_for_judge(
    settings: Settings, models: Models, stopping: asyncio.Event, pause: float = ASK_AGAIN
) -> None:
    """Wait until `stopping`, or until an upstream that is to judge says which models it has.

    A machine may start the server before the model.
    """
    would_judge = judged_by(settings, Models(("any",)))[0].has_model and not settings.has_model
    if not (would_judge and models.error):
        await stopping.wait()
    while not stopping.is_set() and (await list_models(settings.serve)).error:
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), pause)


def _choice(names: Sequence[str]) -> str:
    return " (SOUFFLEUR_MODEL names another)" if len(names) > 1 else ""
