"""The OpenAPI: examples, and whatever may be sent by it, which never makes the server fail."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from souffleur.api import Souffleur
from souffleur.client import Client
from souffleur.knowledge.turn import turn_point_id
from souffleur.loops import LoopThread
from souffleur.settings import ServeSettings, Settings
from tests.scripted import SKIP, Scripted, by_name, portrait
from tests.served import served

# The server's thread uses that module, no strategy does.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")
FEW, MANY, PARTS = 2, 300, 8
PORTRAIT = ("Ann is one of us.", "Ann likes tea.", "Ann is well.")
CHECKS = [not_a_server_error, response_schema_conformance]


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """Open a store with a scripted model, serve it, and yield the address."""
    chosen = Settings(
        path=folder, embedder="hash:64", retry_pause=0.0, serve=ServeSettings(rate_limit=0)
    )
    chat = Scripted(by_name(monitor=SKIP, portrait=portrait(*PORTRAIT)))
    async with Souffleur.open(chosen, chat=chat) as memory, served(memory) as url:
        yield url


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    thread: LoopThread[str] = LoopThread(serving(tmp_path_factory.mktemp("store")))
    yield thread.held
    thread.close()


def something(client: Client) -> dict[str, str]:
    """Let Ann be known, with a memory, and return the parameters that name her and it."""
    client.set_preferences(user_id="ann", memory=True, incognito=False)
    (told,) = client.remember("Ann likes tea.", user_id="ann")
    tea = client.list(user_id="ann")[0]
    client.observe(user_id="ann", user="I like tea", assistant="So do I", turn_id="said")
    client.flush()
    ids = {"memory_id": tea.id, "entry_id": told.id, "id": told.id}
    said = turn_point_id("ann", "default", "default", "said")
    return {**ids, "turn_id": said, "user_id": "ann", "entity_type": "user", "name": "ann"}


def about(case: Any, known: dict[str, str]) -> Any:
    """Let a request be about what there is, wherever it can name anything of the kind."""
    takes = {parameter.name for parameter in case.operation.query}
    case.query.update({name: known[name] for name in takes & known.keys()})
    for place in (case.path_parameters, case.body):
        if isinstance(place, dict):
            place.update({name: known[name] for name in place.keys() & known.keys()})
    return case


def try_all(url: str, examples: int, part: int = 0, parts: int = 1) -> int:
    """Send what the schema allows, and what it does not, to each operation; return their number.

    Half of the requests are about what there is. Of several `parts`, one is tried.
    """
    api: Any = schemathesis.openapi.from_url(f"{url}/openapi.json")
    count, client = 0, Client(url)
    for found in list(api.get_all_operations())[part::parts]:
        operation = found.ok()
        if operation.path == "/api/events":  # it does not end
            continue
        cases = st.one_of(
            [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]
        )

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
        @given(case=st.builds(about, cases, st.sampled_from([{}, something(client)])))
        def send(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        send()
        count += 1
    client.close()
    return count


def test_whatever_is_sent(url: str) -> None:
    """No answer is a 5xx, and each is as the schema says."""
    assert try_all(url, FEW) > 30


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_is_sent_at_length(url: str, part: int) -> None:
    """No answer is a 5xx, and each is as the schema says."""
    assert try_all(url, MANY, part, PARTS) > 5
