"""The embedder, against real endpoints on the loopback."""

import asyncio
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from loguru import logger

from souffleur.errors import EmbedderError, SettingsError
from souffleur.knowledge.search import embedder as module
from souffleur.knowledge.search.embedder import TEXTS_REMEMBERED, Embedder, make_embedder
from tests.stub import Behaviour, Body, Response, Stub, fail, hang_up, send, slow

Start = Callable[..., Stub]


def spell(text: str) -> list[float]:
    """A vector by which a text is known again; not of unit length."""
    return [float(len(text)), float(sum(map(ord, text)) % 97 + 1), 1.0, 0.5]


def rows(*vectors: object) -> Behaviour:
    """These vectors, whatever was asked for."""
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return send({"object": "list", "data": data, "model": "stub", "usage": usage})


def embeds(body: Body) -> Response:
    """One vector per text."""
    return rows(*map(spell, body["input"]))(body)


def over(stub: Stub, *, timeout: float = 5.0) -> Embedder:
    """An embedder that asks the stub."""
    return make_embedder("openai:tiny", base_url=stub.base_url, api_key="sk-12", timeout=timeout)


def unit(vector: list[float]) -> list[float]:
    """The vector at length one."""
    return [x / math.hypot(*vector) for x in vector]


async def test_rows_come_back_in_order_and_of_unit_length(stub: Start) -> None:
    """Each text gets its own vector, and the request is one that every server understands."""
    server = stub(embeds)
    vectors = await over(server).embed(["tea", "绿茶", "tea"])
    assert vectors[0] == pytest.approx(unit(spell("tea")))
    assert vectors[1] == pytest.approx(unit(spell("绿茶")))
    assert vectors[2] == vectors[0]
    [body] = server.requests
    assert body == {"input": ["tea", "绿茶"], "model": "tiny", "encoding_format": "float"}
    assert server.headers[0]["authorization"] == "Bearer sk-12"


async def test_a_local_server_needs_no_key(stub: Start) -> None:
    """Without a key a placeholder is sent."""
    server = stub(embeds)
    await make_embedder("openai:tiny", base_url=server.base_url).embed(["tea"])
    assert server.headers[0]["authorization"] == "Bearer not-needed"


async def test_many_texts_go_out_in_batches(stub: Start) -> None:
    """150 texts are three requests, of at most 64."""
    server = stub(embeds)
    texts = [f"text {number}" for number in range(150)]
    vectors = await over(server).embed(texts)
    assert [len(body["input"]) for body in server.requests] == [64, 64, 22]
    assert vectors[149] == pytest.approx(unit(spell("text 149")))


async def test_a_text_is_never_embedded_twice(stub: Start) -> None:
    """Later calls ask for new texts only, and say the same of the old ones."""
    server = stub(embeds)
    embedder = over(server)
    first = await embedder.embed(["tea", "cake"])
    assert await embedder.embed(["cake", "tea"]) == first[::-1]
    assert await embedder.embed_queries(["tea"]) == first[:1]
    assert len(server.requests) == 1
    await embedder.embed(["tea", "jam"])
    assert [body["input"] for body in server.requests] == [["tea", "cake"], ["jam"]]


async def test_the_texts_used_last_are_remembered(stub: Start) -> None:
    """Of more texts than fit, the ones longest unused are asked for again."""
    server = stub(embeds)
    embedder = over(server)
    await embedder.embed(["used", "old"])
    await embedder.embed([f"text {number}" for number in range(TEXTS_REMEMBERED - 2)])
    await embedder.embed(["used"])
    await embedder.embed(["one more"])
    before = len(server.requests)
    await embedder.embed(["used"])
    assert len(server.requests) == before
    await embedder.embed(["old"])
    assert len(server.requests) == before + 1


async def test_a_call_may_hold_more_texts_than_are_remembered() -> None:
    """Every text has its vector, the first ones too."""
    texts = [f"text {number}" for number in range(TEXTS_REMEMBERED + 10)]
    embedder = make_embedder("hash:32")
    vectors = await embedder.embed(texts)
    assert len(vectors) == len(texts)
    assert vectors[:3] == await make_embedder("hash:32").embed(texts[:3])


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (rows([1.0, 0.0]), "1 vectors for 2 texts"),
        (rows([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]), "3 vectors for 2 texts"),
        (rows([1.0, 0.0], [1.0]), "vectors of 1, 2 dimensions"),
        (rows([], []), "vectors of 0 dimensions"),
        (rows([1.0, float("nan")], [1.0, 0.0]), "not finite"),
        (rows([1.0, float("inf")], [1.0, 0.0]), "not finite"),
        (rows([0.0, 0.0], [1.0, 0.0]), "all zeros"),
        (rows(["a", "b"], [1.0, 0.0]), "something else than numbers"),
        (rows(None, [1.0, 0.0]), "dimensions|numbers"),
        (rows("zcz", "zcz"), "something else than numbers"),
        (rows([[1.0]], [[1.0]]), "dimensions"),
        (send("<h1>Welcome</h1>", "text/html"), "gave no usable embeddings"),
        (send("{oops"), "gave no usable embeddings"),
        (send({"error": {"message": "no such model"}}), "gave no usable embeddings"),
        (send({"data": None}), "gave no usable embeddings"),
        (fail(500, "boom", retry_after_ms="1"), "answered 500: the server is in trouble.*boom"),
        (fail(401, "bad key sk-12"), "answered 401: check the API key"),
        (fail(404, "no model"), "answered 404: check the embedding model's name"),
        (fail(429, "slow down", retry_after_ms="1"), "answered 429: too many requests"),
        (hang_up, "cannot be reached"),
    ],
)
async def test_a_bad_answer_is_one_plain_sentence(
    stub: Start, behaviour: Behaviour, said: str
) -> None:
    """Whatever the server does, an EmbedderError says what to do, without the key."""
    server = stub(behaviour)
    with pytest.raises(EmbedderError, match=said) as caught:
        await over(server).embed(["tea", "cake"])
    assert "openai:tiny" in str(caught.value)
    assert "sk-12" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


PRIVATE = "I told nobody that I am in love with Tom."


@pytest.mark.parametrize(
    "behaviour",
    [
        fail(400, f"bad input: {PRIVATE!r}"),
        send(f"<pre>{PRIVATE}</pre>", "text/html", 400),
        fail(400, json.dumps({"input": [PRIVATE]})),
        fail(400, f"{PRIVATE} \ud83d"),
        send({"detail": [{"loc": ["body"], "input": PRIVATE}]}, status=422),
    ],
)
async def test_private_talk_is_not_repeated(stub: Start, behaviour: Behaviour) -> None:
    """What a server quotes of the texts to embed is cut from its words, and halves of an emoji."""
    with pytest.raises(EmbedderError, match="…") as caught:
        await over(stub(behaviour)).embed(["tea", PRIVATE])
    assert "in love" not in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("behaviour", "key"),
    [
        (fail(401, "Incorrect API key provided: sk-abcdef1234567"), "sk-abcdef1234567"),
        (fail(401, "Incorrect API key provided: sk-abc****4567"), "another"),
        (fail(400, "got 'Bearer sk-abcdef1234567'"), "another"),
        (send({}), "sk-abcdef1234567\n"),
    ],
)
async def test_no_key_is_repeated(stub: Start, behaviour: Behaviour, key: str) -> None:
    """Neither the key nor what looks like one, nor one that no header can carry."""
    embedder = make_embedder("openai:tiny", base_url=stub(behaviour).base_url, api_key=key)
    with pytest.raises(EmbedderError) as caught:
        await embedder.embed(["tea"])
    assert "4567" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://me:pass-word@[::1/v1", "http://me:pass-word@a:x/v1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    """It is named without its password."""
    with pytest.raises(SettingsError, match="no address of an embedder") as caught:
        make_embedder("openai:tiny", base_url=address)
    assert "pass-word" not in str(caught.value)


async def test_a_page_of_brackets_is_told_in_time(stub: Start) -> None:
    """Of a page only a sentence is looked at."""
    with pytest.raises(EmbedderError, match="answered 400"):
        await over(stub(send("<" * 1_000_000, "text/html", 400))).embed(["tea"])


async def test_a_bad_answer_is_not_remembered(stub: Start) -> None:
    """After a failure the same text is asked for again, and found."""
    server = stub(rows([float("nan")] * 4), embeds)
    embedder = over(server)
    with pytest.raises(EmbedderError):
        await embedder.embed(["tea"])
    assert await embedder.embed(["tea"]) == [pytest.approx(unit(spell("tea")))]


async def test_a_trouble_that_passes_is_tried_once_more(stub: Start) -> None:
    """One 500 costs a second request and no error."""
    server = stub(fail(500, retry_after_ms="1"), embeds)
    assert len(await over(server).embed(["tea"])) == 1
    assert len(server.requests) == 2


async def test_another_dimension_than_before_is_refused(stub: Start) -> None:
    """A server that changes its model in between is found out."""
    embedder = over(stub(embeds, rows([1.0, 2.0])))
    await embedder.embed(["tea"])
    with pytest.raises(EmbedderError, match="vectors of 2 dimensions instead of 4"):
        await embedder.embed(["cake"])


@pytest.mark.parametrize("behaviour", [slow(30, embeds), fail(503, retry_after="20")])
async def test_a_slow_server_is_given_up_in_time(stub: Start, behaviour: Behaviour) -> None:
    """The time-out holds for the whole request, with its second try and the rest before it."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    with pytest.raises(EmbedderError, match="no embeddings in time"):
        await over(stub(behaviour), timeout=0.3).embed(["tea"])
    assert loop.time() - start < 5


async def test_no_server_is_an_error(stub: Start) -> None:
    """A port where nobody listens cannot be reached."""
    with Stub() as gone:
        pass
    with pytest.raises(EmbedderError, match="cannot be reached"):
        await over(gone).embed(["tea"])


def test_one_event_loop_after_another(stub: Start) -> None:
    """The same embedder works in three loops in a row."""
    server = stub(embeds)
    embedder = over(server)
    for text in ("tea", "cake", "jam"):
        [vector] = asyncio.run(embedder.embed([text]))
        assert vector == pytest.approx(unit(spell(text)))


async def test_blank_texts_are_not_asked_for(stub: Start) -> None:
    """An empty text gets a fixed unit vector; no server sees it."""
    server = stub(embeds)
    embedder = over(server)
    vectors = await embedder.embed(["", "tea", " \n"])
    assert vectors[0] == vectors[2] == (1.0, 0.0, 0.0, 0.0)
    assert "" not in [text for body in server.requests for text in body["input"]]
    assert await embedder.embed([]) == []


async def test_half_an_emoji_is_embedded(stub: Start) -> None:
    """What no request can hold is sent as U+FFFD."""
    server = stub(embeds)
    await over(server).embed(["tea \ud83d"])
    assert server.requests[0]["input"] == ["tea \ufffd"]


async def test_dimension_and_floor_are_measured_once(stub: Start) -> None:
    """One request finds both: the floor is what unrelated texts have in common anyway."""

    def alike(body: Body) -> Response:
        # Cosine 0.75 between any two: a shared part, and one of each text's own.
        size = len(body["input"])
        own = np.eye(6) * 0.5
        return rows(*[[*own[at % 6].tolist(), 0.75**0.5] for at in range(size)])(body)

    server = stub(alike)
    embedder = over(server)
    assert embedder.dimension is None
    assert await embedder.find_dimension() == await embedder.find_dimension() == 7
    assert embedder.dimension == 7
    assert embedder.floor == pytest.approx(0.75)
    assert len(server.requests) == 1


async def test_a_model_that_finds_all_texts_alike_leaves_room_above_the_floor(stub: Start) -> None:
    """The floor stays below 1, so that nearness can be scaled by what is above it."""
    embedder = over(stub(lambda body: rows(*[[1.0, 1.0]] * len(body["input"]))(body)))
    await embedder.find_dimension()
    assert embedder.floor == 0.9


class Whimsical(Embeddings):
    """Embeds what is sought in another way than what is stored, as some models do."""

    model = "whim-1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector per text."""
        return [[3.0, 4.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """Another vector."""
        return [4.0, 3.0]


async def test_any_langchain_embeddings_will_do() -> None:
    """They are named by class and model, and queries are embedded their way."""
    embedder = make_embedder(Whimsical())
    assert embedder.name == "Whimsical:whim-1"
    assert await embedder.embed(["tea"]) == [pytest.approx((0.6, 0.8))]
    assert await embedder.embed_queries(["tea"]) == [pytest.approx((0.8, 0.6))]
    fake = make_embedder(DeterministicFakeEmbedding(size=12))
    assert fake.name == "DeterministicFakeEmbedding"
    assert await fake.find_dimension() == 12


class Broken(Whimsical):
    """Fails in a way of its own."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Never."""
        raise KeyError("weights")


async def test_a_foreign_failure_becomes_ours() -> None:
    """Whatever an embeddings object raises, the caller sees an EmbedderError that names it."""
    with pytest.raises(EmbedderError, match=r"Broken:whim-1 gave no usable .*KeyError"):
        await make_embedder(Broken()).embed(["tea"])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("word2vec:300", "openai:MODEL, fastembed:MODEL or hash:DIMENSION"),
        ("minilm", "openai:MODEL, fastembed:MODEL or hash:DIMENSION"),
        ("", "hash:DIMENSION"),
        ("hash", "hash:MODEL"),
        ("hash:tea", "number of dimensions"),
        ("hash:4", "from 16 to 65536"),
        ("hash:²", "number of dimensions"),
        ("openai:", "names no model"),
        ("openai:tiny", "SOUFFLEUR_BASE_URL"),
    ],
)
def test_a_spec_that_cannot_be_right_says_why(spec: str, said: str) -> None:
    """A SettingsError says what may be written instead."""
    with pytest.raises(SettingsError, match=said):
        make_embedder(spec)


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is not None, reason="it is installed")
def test_a_missing_package_says_how_to_install_it() -> None:
    """fastembed is an extra, and the error names it."""
    with pytest.raises(EmbedderError, match=r"pip install '.\[local\]'"):
        make_embedder("fastembed:tiny")


def test_what_would_serve_better_is_said_once() -> None:
    """The default embedder says how to replace it, once per process."""
    said: list[str] = []
    logger.enable("souffleur")
    sink = logger.add(said.append, format="{message}")
    try:
        module._advise.cache_clear()
        make_embedder("hash:64")
        make_embedder("hash:128")
    finally:
        logger.remove(sink)
        logger.disable("souffleur")
    assert len(said) == 1
    assert "SOUFFLEUR_EMBEDDER=openai:<model>" in said[0]


RELATED = [
    ("我最近换了工作，在一家游戏公司", "她换了新工作，去了游戏公司"),
    ("周末我常去爬山", "他每个周末都去爬山"),
    ("我对花生过敏", "用户对花生过敏，不能吃"),
    ("下个月要去东京出差", "下月她去东京出差一周"),
    ("我家的猫叫团子", "你还记得我的猫叫什么吗"),
    ("我不喝咖啡了，改喝绿茶", "她现在喝绿茶，不再喝咖啡"),
    ("妹妹九月要结婚", "小安的妹妹要结婚了"),
    ("我在学日语，准备考N2", "他日语要考N2了"),
    ("昨晚失眠到三点", "最近总是失眠睡不着"),
    ("我想学吉他", "他一直想学弹吉他"),
    ("I just started a new job at a game studio", "Ann works at a game studio now"),
    ("I go hiking every weekend", "Do you still go hiking on weekends?"),
    ("I'm allergic to peanuts", "The user has a peanut allergy"),
    ("I'm flying to Tokyo next month for work", "Her work trip to Tokyo is next month"),
    ("My cat is called Dumpling", "What's the name of my cat?"),
    ("I stopped drinking coffee, green tea only", "She drinks green tea instead of coffee"),
    ("My sister is getting married in September", "Ann's sister marries in September"),
    ("I'm learning Japanese for the N2 exam", "He will take the Japanese N2 exam"),
    ("I couldn't sleep until three last night", "She has trouble sleeping at night"),
    ("I want to learn the guitar", "He always wanted to play guitar"),
]


@pytest.mark.parametrize("dimension", [128, 512])
async def test_the_hash_embedder_tells_related_from_unrelated(dimension: int) -> None:
    """Of twenty pairs nearly all are above the floor, and of 380 others few are."""
    embedder = make_embedder(f"hash:{dimension}")
    left = np.array(await embedder.embed([one for one, _ in RELATED]))
    right = np.array(await embedder.embed([other for _, other in RELATED]))
    cosines = left @ right.T
    related = np.diag(cosines)
    unrelated = cosines[~np.eye(len(RELATED), dtype=bool)]
    assert np.mean(related > embedder.floor + 0.1) >= 0.9
    assert np.mean(unrelated > embedder.floor) <= 0.05
    assert abs(np.mean(unrelated)) < 0.02


@given(st.lists(st.text(), max_size=5))
@example(["", "?!", "🐶", "\ud83d", "the", "的"])
def test_hash_vectors_are_well_formed_and_always_the_same(texts: list[str]) -> None:
    """Any text has a vector of the right length and unit norm, equal in another embedder."""
    vectors = asyncio.run(make_embedder("hash:64").embed(texts))
    assert all(len(v) == 64 and math.hypot(*v) == pytest.approx(1, abs=1e-6) for v in vectors)
    assert vectors == asyncio.run(make_embedder("hash:64").embed(texts))


async def test_texts_without_words_differ_too() -> None:
    """Two texts of emoji alone have different vectors."""
    dog, cat = await make_embedder("hash:512").embed(["🐶🐶", "🐱"])
    assert np.dot(dog, cat) < 0.5


def test_hash_vectors_do_not_depend_on_the_process() -> None:
    """What was stored yesterday still fits: the numbers are fixed."""
    [vector] = asyncio.run(make_embedder("hash:16").embed(["Ann 喝茶"]))
    assert vector == pytest.approx(
        [0.0, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0, 0.208, 0.0, 0.0, 0.0, -0.208, 0.48, 0.208],
        abs=1e-3,
    )


def test_importing_it_loads_no_model() -> None:
    """Neither OpenAI's client nor fastembed nor torch comes with the module."""
    heavy = "{'openai', 'langchain_openai', 'fastembed', 'torch', 'qdrant_client', 'langgraph'}"
    code = f"import sys, souffleur.knowledge.search.embedder; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
