"""mem0's interface: what its client sends, and what it expects back."""

import os
import subprocess
from collections.abc import AsyncIterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.integrations.mem0.filters import is_met, user_in
from souffleur.knowledge.store.items import Item
from souffleur.server.app import make_app
from souffleur.server.problems import RequestError
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import Settings
from tests.build import NOW
from tests.scripted import SKIP, Scripted
from tests.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")
THEIRS = os.environ.get("SOUFFLEUR_TEST_MEM_ZERO", "")
"""A Python that has the package mem0ai, which does not go with ours into one environment."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store whose judge keeps nothing."""
    chosen = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:64")
    async with Souffleur.open(chosen, chat=Scripted(lambda _: SKIP), clock=lambda: NOW) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(memory: Souffleur) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of its app."""
    transport = httpx2.ASGITransport(make_app(memory))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def added(http: httpx2.AsyncClient, user: str, text: str, **more: Any) -> str:
    """Add a sentence as it is, and return its id."""
    body = {"messages": text, "user_id": user, "infer": False, **more}
    answer = await http.post("/v3/memories/add/", json=body)
    (line,) = answer.json()["results"]
    assert (line["memory"], line["event"]) == (text, "ADD")
    return str(line["id"])


async def test_what_is_added_is_found_with_its_metadata(http: httpx2.AsyncClient) -> None:
    """Search, list and get show the sentence, its run and its metadata; so do filters on them."""
    kept = await added(http, "ann", "Ann loves hiking.", metadata={"topic": "sport"}, run_id="r1")
    await added(http, "ann", "Ann plays chess.")
    within = {"AND": [{"user_id": "ann"}, {"metadata": {"topic": {"in": ["sport"]}}}]}
    for path, body in (
        ("/v3/memories/search/", {"query": "hiking", "filters": within}),
        ("/v3/memories/", {"filters": {"user_id": "ann", "run_id": "r1"}}),
    ):
        (line,) = (await http.post(path, json=body)).json()["results"]
        assert (line["id"], line["metadata"]) == (kept, {"topic": "sport"})
    shown = (await http.get(f"/v1/memories/{kept}/")).json()
    assert (shown["memory"], shown["run_id"], shown["user_id"]) == (
        "Ann loves hiking.",
        "r1",
        "ann",
    )


async def test_pages(http: httpx2.AsyncClient) -> None:
    """A list tells how many there are, and where the next page is."""
    for count in range(3):
        await added(http, "pia", f"Pia has been to place {count}.")
    body = {"filters": {"user_id": "pia"}}
    first = (await http.post("/v3/memories/", json=body, params={"page_size": 2})).json()
    assert (first["count"], len(first["results"]), first["previous"]) == (3, 2, None)
    rest = (await http.post(first["next"], json=body)).json()
    assert (len(rest["results"]), rest["next"]) == (1, None)


async def test_a_change_is_kept_in_the_history(http: httpx2.AsyncClient) -> None:
    """After an update and a deletion the history names all three, and the memory is in no list."""
    kept = await added(http, "bob", "Bob drinks tea.")
    changed = await http.put(f"/v1/memories/{kept}/", json={"text": "Bob drinks mate."})
    assert changed.json()["memory"] == "Bob drinks mate."
    assert (await http.delete(f"/v1/memories/{kept}/")).status_code == 200
    told = (await http.get(f"/v1/memories/{kept}/history/")).json()
    assert [one["event"] for one in told] == ["ADD", "UPDATE", "DELETE"]
    assert (told[1]["old_memory"], told[2]["new_memory"]) == ("Bob drinks tea.", None)
    assert (await http.get("/memories", params={"user_id": "bob"})).json() == {"results": []}


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
async def test_a_batch_is_whole_or_nothing(http: httpx2.AsyncClient, verb: str) -> None:
    """If one of its memories is missing, or has an invalid id, the others stay as they are."""
    user = f"bea-{verb}"
    kept = [await added(http, user, words) for words in ("Bea sings.", "Bea has a red boat.")]
    for bad, status in (("nope", 400), (str(uuid4()), 404)):
        items = [{"memory_id": id, "text": "Bea dances."} for id in (*kept, bad)]
        told = await http.request(verb, "/v1/batch/", json={"memories": items})
        assert told.status_code == status
    listed = (await http.get("/memories", params={"user_id": user})).json()["results"]
    assert {one["memory"] for one in listed} == {"Bea sings.", "Bea has a red boat."}
    whole = {"memories": [{"memory_id": id, "text": f"Bea dances {id}."} for id in kept]}
    assert (await http.request(verb, "/v1/batch/", json=whole)).status_code == 200
    listed = (await http.get("/memories", params={"user_id": user})).json()["results"]
    assert len(listed) == (2 if verb == "PUT" else 0)
    assert all("dances" in one["memory"] for one in listed)


@pytest.mark.parametrize("field", ["filters", "metadata"])
async def test_what_is_nested_too_deep_is_refused(http: httpx2.AsyncClient, field: str) -> None:
    """It is a 422 that says how deep it may be."""
    deep: dict[str, Any] = {"user_id": "ann"}
    for _ in range(300):
        deep = {"AND": [deep]}
    body = {"query": "tea", "user_id": "ann", field: deep}
    told = await http.post("/v3/memories/search/", json=body)
    assert told.status_code == 422
    assert f"body.{field}: at most 20 levels" in told.json()["error"]["message"]


async def test_messages_are_judged(http: httpx2.AsyncClient, memory: Souffleur) -> None:
    """Where mem0 infers, the turn is observed and judged; a judge that skips keeps nothing."""
    body = {"messages": [{"role": "user", "content": "I am vegan."}], "user_id": "cy"}
    answer = (await http.post("/memories", json=body)).json()
    assert (answer["results"], answer["status"]) == ([], "SUCCEEDED")
    (turn,) = await memory.knowledge.journal.turns(user_id="cy")
    assert (turn.user, turn.state) == ("I am vegan.", "judged")


@pytest.mark.parametrize("time", [1704276000, 1704276000123, "1704276000123", "2024-01-03T10:00Z"])
async def test_when_it_was_said(http: httpx2.AsyncClient, memory: Souffleur, time: Any) -> None:
    """Seconds or milliseconds since 1970, or ISO 8601; filters take them as well."""
    user = f"tim {time}"
    body = {"messages": [{"role": "user", "content": "hi"}], "user_id": user, "timestamp": time}
    assert (await http.post("/v3/memories/add/", json=body)).status_code == 200
    (turn,) = await memory.knowledge.journal.turns(user_id=user)
    assert f"{turn.at:%Y-%m-%d %H:%M}" == "2024-01-03 10:00"
    filters = {"user_id": user, "created_at": {"lt": time}}
    assert (await http.post("/v3/memories/", json={"filters": filters})).json()["count"] == 0


async def test_users_are_listed_and_erased(http: httpx2.AsyncClient) -> None:
    """An erased user is in no list any more, nor is what mem0 kept beside the memories."""
    await added(http, "dora", "Dora sings.", metadata={"secret": 1})
    names = [one["name"] for one in (await http.get("/v1/entities/")).json()["results"]]
    assert "dora" in names
    assert (await http.delete("/v2/entities/user/dora/")).status_code == 200
    names = [one["name"] for one in (await http.get("/v1/entities/")).json()["results"]]
    assert "dora" not in names
    assert (await http.delete("/v2/entities/agent/dora/")).status_code == 400


@pytest.mark.parametrize(
    "filters",
    [
        {"user_id": "*"},
        {"OR": [{"user_id": "ann"}, {"user_id": "bob"}]},
        {"NOT": {"user_id": "a"}},
        {"OR": [{"run_id": "r1"}, {"NOT": {"user_id": "a"}}]},
    ],
)
async def test_several_users_are_refused(http: httpx2.AsyncClient, filters: Any) -> None:
    """A filter that could mean anybody is a 400 that says to name one."""
    answer = await http.post("/v3/memories/", json={"filters": filters})
    assert (answer.status_code, "one user" in answer.text) == (400, True)


async def test_an_alternative_beside_a_user_is_theirs(http: httpx2.AsyncClient) -> None:
    """What is found is of the one user that is named, never of another with the same persona."""
    mine = await added(http, "flo", "Flo paints.", agent_id="luna")
    await added(http, "gil", "Gil paints.", agent_id="luna")
    either = {"OR": [{"user_id": "flo"}, {"agent_id": "luna"}]}
    found = (await http.post("/v3/memories/", json={"filters": either})).json()["results"]
    assert [one["id"] for one in found] == [mine]


async def test_everybody_s_memories_are_deleted(http: httpx2.AsyncClient) -> None:
    """`*` means all users, and a deletion takes only the app that it names."""
    kept = await added(http, "hal", "Hal sings.", app_id="web")
    await added(http, "ida", "Ida sings.")
    named = {"user_id": "hal", "app_id": "phone"}
    assert (await http.delete("/v1/memories/", params=named)).status_code == 200
    assert (await http.get(f"/v1/memories/{kept}/")).status_code == 200
    for narrower in ("filters", "metadata", "query"):
        wanted = {"user_id": "hal", narrower: "{'app_id': 'phone'}"}
        assert (await http.delete("/v1/memories/", params=wanted)).status_code == 400
    assert (await http.get(f"/v1/memories/{kept}/")).status_code == 200
    every = dict.fromkeys(("user_id", "agent_id", "app_id", "run_id"), "*")
    assert (await http.delete("/v1/memories/", params=every)).status_code == 200
    for user in ("hal", "ida"):
        assert (await http.get("/memories", params={"user_id": user})).json()["results"] == []
    assert (await http.get("/memories", params={"user_id": "*"})).status_code == 400


@pytest.mark.parametrize("who", ["jo", "*"])
async def test_only_an_admin_names_everybody(memory: Souffleur, tmp_path: Path, who: str) -> None:
    """A user's token is refused with `*`, also if that is what the user is called."""
    tokens = TokenFile(tmp_path / "tokens.json")
    secret = tokens.make(Role.USER, who, now=NOW)
    transport = httpx2.ASGITransport(make_app(memory, tokens=tokens))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        key = {"Authorization": f"Token {secret}"}
        everybody = await http.delete("/v1/memories/", params={"user_id": "*"}, headers=key)
        assert everybody.status_code == 403


async def test_what_is_deleted_or_no_id_is_not_found(http: httpx2.AsyncClient) -> None:
    """A deleted memory is a 404 and only in its history; an id that is no UUID is a 400."""
    kept = await added(http, "kim", "Kim dances.")
    assert (await http.delete(f"/v1/memories/{kept}/")).status_code == 200
    assert (await http.get(f"/v1/memories/{kept}/")).status_code == 404
    assert (await http.put(f"/v1/memories/{kept}/", json={"text": "Kim."})).status_code == 404
    assert (await http.get(f"/v1/memories/{kept}/history/")).status_code == 200
    assert (await http.get("/v1/memories/no-such-id/")).status_code == 400


async def test_numbers_of_results(http: httpx2.AsyncClient) -> None:
    """None are asked for by 0, all that there are by many; page 0 is the first, of usual size."""
    for what in ("tea", "mate", "milk"):
        await added(http, "lea", f"Lea drinks {what}.")
    for count, shown in ((0, 0), (2, 2), (1000, 3)):
        body = {"query": "drinks", "user_id": "lea", "top_k": count}
        assert len((await http.post("/search", json=body)).json()["results"]) == shown
        listed = await http.get("/memories", params={"user_id": "lea", "top_k": count})
        assert len(listed.json()["results"]) == shown
    page = await http.post(
        "/v3/memories/", json={"user_id": "lea"}, params={"page": 0, "page_size": 0}
    )
    assert (len(page.json()["results"]), page.json()["next"]) == (3, None)


async def test_an_update_without_effect(http: httpx2.AsyncClient) -> None:
    """A date of expiration changes nothing and is no error; nothing at all is one."""
    kept = await added(http, "mo", "Mo runs.")
    path = f"/v1/memories/{kept}/"
    answer = await http.put(path, json={"expiration_date": None})
    assert (answer.status_code, answer.json()["memory"]) == (200, "Mo runs.")
    assert (await http.put(path, json={})).status_code == 400


async def test_an_answer_to_add(http: httpx2.AsyncClient, tmp_path: Path) -> None:
    """It names the call, and says whether it is done: without a model the messages wait."""
    body = {"messages": "I like jam.", "user_id": "nel"}
    async with Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as modelless:
        transport = httpx2.ASGITransport(make_app(modelless))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as waiting:
            told = (await waiting.post("/v3/memories/add/", json=body)).json()
    done = (await http.post("/v3/memories/add/", json=body)).json()
    assert (told["status"], done["status"]) == ("PENDING", "SUCCEEDED")
    assert told["event_id"] != done["event_id"]


async def test_entities_of_the_open_server(http: httpx2.AsyncClient) -> None:
    """They are listed without pages, and erased by a name that holds what URLs are made of."""
    name = "org/team?active#frag"
    await added(http, name, "We are a team.")
    assert name in [one["id"] for one in (await http.get("/entities")).json()]
    gone = await http.delete("/v2/entities/user/org%2Fteam%3Factive%23frag/")
    assert gone.status_code == 200
    assert name not in [one["id"] for one in (await http.get("/entities")).json()]


@pytest.mark.parametrize(
    ("verb", "path", "said"),
    [
        ("POST", "/v1/feedback/", "change or delete"),
        ("PATCH", "/api/v1/orgs/organizations/o/projects/p/", "no projects"),
        ("GET", "/api/v1/webhooks/projects/p/", "/api/events"),
        ("POST", "/reset", "one by one"),
        ("POST", "/configure", "own settings"),
    ],
)
async def test_what_is_absent(http: httpx2.AsyncClient, verb: str, path: str, said: str) -> None:
    """A 404 says what to do instead."""
    answer = await http.request(verb, path)
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (404, True)


async def test_filters() -> None:
    """Operators and alternatives are those of mem0; an unknown one is refused."""
    shown = {"memory": "Likes Tea", "categories": ["fact"], "metadata": {"n": 2}, "run_id": None}
    assert is_met({"keywords": {"icontains": "tea"}, "categories": {"contains": "fact"}}, shown)
    assert is_met({"OR": [{"run_id": "*"}, {"metadata": {"n": {"gt": 1, "lte": 2}}}]}, shown)
    assert not is_met({"NOT": [{"metadata": {"n": 2}}]}, shown)
    assert not is_met({"metadata": {"n": {"gt": "a text"}}}, shown)
    assert user_in({"AND": [{"user_id": {"in": ["ann"]}}]}) == "ann"
    with pytest.raises(RequestError, match="knows no 'like'"):
        is_met({"memory": {"like": "x"}}, shown)


async def test_dates(http: httpx2.AsyncClient) -> None:
    """A day means the whole day, a time the moment in any zone; anything else is a 400."""
    await added(http, "dan", "Dan sails.")
    today, next_day = NOW.date().isoformat(), (NOW + timedelta(days=1)).date().isoformat()
    elsewhere = NOW.astimezone(timezone(timedelta(hours=9))).isoformat()
    later = (NOW + timedelta(minutes=1)).isoformat()

    async def number(**created: Any) -> int:
        filters = {"user_id": "dan", "created_at": created}
        return int((await http.post("/v3/memories/", json={"filters": filters})).json()["count"])

    for there in ({"gte": today, "lte": today}, {"gte": elsewhere, "lt": later}, {"eq": today}):
        assert await number(**there) == 1
    assert await number(contains=today[:7]) == 1
    for gone in ({"gt": today}, {"lt": today}, {"ne": today}, {"gte": next_day}, {"gt": elsewhere}):
        assert await number(**gone) == 0
    within = {"user_id": "dan", "start_date": today, "end_date": today}
    assert (await http.post("/v3/memories/", json=within)).json()["count"] == 1
    assert (await http.post("/v3/memories/", json=within | {"end_date": "soon"})).is_client_error
    wrong = {"user_id": "nobody yet", "OR": [{"run_id": "*"}, {"created_at": {"gte": "2026-13-1"}}]}
    for path in ("/v3/memories/", "/v3/memories/search/"):
        answer = await http.post(path, json={"filters": wrong, "query": "x"})
        assert (answer.status_code, "'2026-13-1' is no date" in answer.text) == (400, True)


@pytest.mark.skipif(not THEIRS, reason="SOUFFLEUR_TEST_MEM_ZERO names no Python with mem0ai")
async def test_their_client(memory: Souffleur) -> None:
    """The published client, unmodified, adds, finds, changes, deletes and lists."""
    async with served(memory) as url:
        script = Path(__file__).parent / "mem0_client.txt"
        done = await _run([THEIRS, "-P", "-W", "ignore", str(script), url])
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["done"]), done.stderr


async def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    import asyncio

    env = {**os.environ, "MEM0_TELEMETRY": "False"}
    return await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, env=env, timeout=120, check=False
    )


@pytest.mark.parametrize("field", ['"metadata": {"a": "\\ud800"}', '"run_id": "\\ud800"'])
async def test_half_a_character_is_refused(http: httpx2.AsyncClient, field: str) -> None:
    """It is refused at once, and the user's memories can be listed afterwards."""
    body = f'{{"messages": "Sue sails.", "user_id": "sue", "infer": false, {field}}}'
    kind = {"content-type": "application/json"}
    answer = await http.post("/v3/memories/add/", content=body, headers=kind)
    assert answer.status_code == 422
    listed = await http.post("/v3/memories/", json={"filters": {"user_id": "sue"}})
    assert listed.json()["results"] == []


@pytest.mark.parametrize(
    "filters",
    [
        {"user_id": None},
        {"user_id": ""},
        {"user_id": 7},
        {"user_id": {}},
        {"user_id": ["sam"]},
        {"user_id": {"ne": "sam"}},
        {"user_id": {"nin": ["sam"]}},
        {"user_id": {"contains": "sam"}},
        {"user_id": {"in": []}},
        {"user_id": {"in": ["sam", None]}},
        {"user_id": {"eq": "sam", "ne": "tom"}},
        {"AND": [{"user_id": "sam"}, {"user_id": None}]},
        {"OR": [{"user_id": {"gte": "sam"}}]},
    ],
)
async def test_a_filter_that_names_nobody(http: httpx2.AsyncClient, filters: Any) -> None:
    """The filter is refused in any request, and nothing is remembered."""
    for path in ("/v3/memories/", "/v3/memories/search/", "/search"):
        answer = await http.post(path, json={"filters": filters, "query": "x"})
        assert (answer.status_code, "filter" in answer.text) == (400, True), answer.text
    said = {"filters": filters, "messages": "Sam sings.", "infer": False}
    assert (await http.post("/v3/memories/add/", json=said)).status_code == 400
    listed = await http.post("/v3/memories/", json={"filters": {"user_id": {"in": ["sam"]}}})
    assert listed.json()["results"] == []


@pytest.mark.parametrize("metadata", ["tea", None, ["tea"], 7])
async def test_a_filter_by_metadata_that_is_no_object(
    http: httpx2.AsyncClient, metadata: Any
) -> None:
    """It is refused wherever in the filter it is, also of a user without memories."""
    for part in ({"metadata": metadata}, {"OR": [{"metadata": metadata}, {"run_id": "r"}]}):
        asked = {"filters": {"AND": [{"user_id": "tess"}, part]}, "query": "x"}
        for path in ("/v3/memories/", "/v3/memories/search/"):
            answer = await http.post(path, json=asked)
            assert (answer.status_code, "is an object" in answer.text) == (400, True)


async def test_two_users_in_one_request(http: httpx2.AsyncClient) -> None:
    """Address, body and filters must name the same one, for no door takes one of them silently."""
    both = {"user_id": "sam", "filters": {"user_id": {"eq": "tom"}}, "query": "x"}
    added = {**both, "messages": "Sam sings.", "infer": False}
    for path, body in (
        ("/v3/memories/", both),
        ("/search", both),
        ("/memories", added),
        ("/search?user_id=sam", {"query": "x", "filters": {"user_id": "tom"}}),
        ("/search?user_id=sam", {"query": "x", "user_id": "tom"}),
    ):
        answer = await http.post(path, json=body)
        assert (answer.status_code, "several users" in answer.text) == (400, True)
    same = {"user_id": "sam", "filters": {"user_id": {"in": ["sam"]}}, "query": "x"}
    assert (await http.post("/search?user_id=sam", json=same)).json() == {"results": []}


@pytest.mark.parametrize("name", ["metadata", "run_id", "app_id", "agent_id"])
async def test_what_cannot_be_kept(http: httpx2.AsyncClient, name: str) -> None:
    """An add is refused before anything is remembered, if its filters name it as another kind."""
    for odd in ("tea" if name == "metadata" else {"in": ["tea"]}, 7, ["tea"]):
        filters = {"user_id": "uma", name: odd}
        said = {"messages": "Uma sings.", "infer": False, "filters": filters}
        answer = await http.post("/v3/memories/add/", json=said)
        assert (answer.status_code, f"{name} must be" in answer.text) == (422, True)
    listed = await http.post("/v3/memories/", json={"filters": {"user_id": "uma"}})
    assert listed.json()["results"] == []


async def test_metadata_is_merged(http: httpx2.AsyncClient) -> None:
    """Keys that an update does not name stay, with new words or without, and in a batch."""
    kept = await added(http, "vera", "Vera sings.", metadata={"a": 1, "b": {"c": 2}}, run_id="r1")
    path = f"/v1/memories/{kept}/"
    told = (await http.put(path, json={"metadata": {"b": {"d": 3}, "e": None}})).json()
    assert (told["metadata"], told["run_id"]) == ({"a": 1, "b": {"d": 3}, "e": None}, "r1")
    told = (await http.put(path, json={"text": "Vera hums.", "metadata": {}})).json()
    assert (told["memory"], told["metadata"]["a"]) == ("Vera hums.", 1)
    batch = {"memories": [{"memory_id": kept, "metadata": {"a": 4}}]}
    assert (await http.put("/v1/batch/", json=batch)).status_code == 200
    assert (await http.get(path)).json()["metadata"] == {"a": 4, "b": {"d": 3}, "e": None}


async def test_what_an_import_left_beside_a_memory(
    memory: Souffleur, http: httpx2.AsyncClient
) -> None:
    """Halves of characters and metadata of another kind are read, filtered and changed."""
    half, text = [await added(http, "wim", f"Wim {verb}.") for verb in ("sings", "hums")]
    values: tuple[dict[str, Any], ...] = (
        {"metadata": {"a\ud800": ["\udfff", 1]}, "run_id": "r\ud800"},
        {"metadata": "tea", "app_id": None},
    )
    items = [
        Item(namespace=("wim", "mem0"), key=key, value=value, created_at=NOW, updated_at=NOW)
        for key, value in zip((half, text), values, strict=True)
    ]
    await memory.knowledge.items.put(items)
    listed = (await http.post("/v3/memories/", json={"user_id": "wim"})).json()["results"]
    found = {one["id"]: (one["metadata"], one["run_id"]) for one in listed}
    assert found == {half: ({"a\ufffd": ["\ufffd", 1]}, "r\ufffd"), text: ({}, None)}
    within = {"user_id": "wim", "metadata": {"a\ufffd": "*"}}
    assert (await http.post("/v3/memories/", json={"filters": within})).json()["count"] == 1
    for key in (half, text):
        changed = await http.put(f"/v1/memories/{key}/", json={"metadata": {"b": 2}})
        assert changed.json()["metadata"]["b"] == 2
