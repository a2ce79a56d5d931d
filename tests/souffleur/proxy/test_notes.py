"""Notes of the proxy: shown beside the reply if that is set, never taken for what was said."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from souffleur.knowledge.text.marks import BEGIN, marked, unmarked, unmarked_json
from souffleur.proxy.notes import Carrier, Mode, Notes
from souffleur.proxy.reply import Reply
from souffleur.recall.rendering import Reference
from tests.souffleur.proxy.endpoint import calling, response_events, streamed, whole
from tests.souffleur.proxy.scene import Scene, open_scene
from tests.souffleur.proxy.streams import STREAMS
from tests.souffleur.proxy.test_wire import body_of, request, talk

pytestmark = pytest.mark.asyncio(loop_scope="module")
Saying = dict[str, str]
NOTE = re.compile(rb": souffleur .*\n\n|data: [^\r\n]*%s[^\r\n]*\n\n" % BEGIN.encode())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("store")
    async with open_scene(folder, proxy_notes="append", recall_timeout=30.0) as opened:
        yield opened


async def say(scene: Scene, user: str, *said: Saying, stream: bool = False) -> str:
    """The reply to what was said, as the client has it; the turn is judged afterwards."""
    asked: Any = {"model": "m", "messages": [*said]}
    async with scene.client(user, "s1") as client:
        if stream:
            chunks = await client.chat.completions.create(**asked, stream=True)
            parts = [one.choices[0].delta.content or "" async for one in chunks if one.choices]
            reply = "".join(parts)
        else:
            answer = await client.chat.completions.create(**asked)
            reply = answer.choices[0].message.content or ""
    await scene.memory.flush()
    return reply


def by(role: str, content: str) -> Saying:
    return {"role": role, "content": content}


@pytest.mark.parametrize("stream", [False, True])
async def test_notice_is_appended_and_never_observed(scene: Scene, stream: bool) -> None:
    """The next reply says once what was remembered; neither model nor memory ever reads it."""
    user = f"ann-{stream}"
    how = streamed if stream else whole
    scene.endpoint.will(how("Nice"), how("Sure"), how("Right"))
    first = by("user", "I like oolong")
    assert await say(scene, user, first, stream=stream) == "Nice"
    talked = [first, by("assistant", "Nice"), by("user", "so?")]
    reply = await say(scene, user, *talked, stream=stream)
    assert unmarked(reply) == "Sure"
    assert "\n- Remembered: Ann like oolong" in reply
    talked += [by("assistant", reply), by("user", "and?")]
    last = await say(scene, user, *talked, stream=stream)
    assert last == "Right"
    sent = scene.endpoint.last
    assert "Remembered" not in sent.raw.decode()
    assert BEGIN not in json.dumps(sent.body, ensure_ascii=False)
    assert await scene.said(user) == [("I like oolong", "Nice"), ("so?", "Sure"), ("and?", "Right")]


async def test_references_are_appended(scene: Scene) -> None:
    """Who wants to see them finds what the reply was whispered, with its age."""
    await scene.know("eve")
    await scene.memory.set_preferences(user_id="eve", show_references=True)
    scene.endpoint.will(whole("Hm"))
    reply = await say(scene, "eve", by("user", "some green tea?"))
    assert reply == "Hm" + marked("\n\n---\n- Ann loves green tea (just now)")


async def test_a_call_of_tools_has_no_notes(scene: Scene) -> None:
    """What is no reply yet comes as it is."""
    await scene.know("kim")
    await scene.memory.set_preferences(user_id="kim", show_references=True)
    scene.endpoint.will(calling("look"))
    body = json.dumps({"model": "m", "messages": [by("user", "some green tea?")]}).encode()
    answered = body_of(await talk(scene.url, request(body, X_Souffleur_User="kim")))
    assert answered == b"".join(calling("look").parts)


async def test_beside_the_reply(tmp_path: Path) -> None:
    """As an event, the text stays as it is: a comment in a stream, a member of a whole reply."""
    async with open_scene(tmp_path, proxy_notes="event", show_references=True) as scene:
        await scene.know("ann")
        scene.endpoint.will(whole("Hm"), streamed("Hm"), response_events("Hm"))
        body = {"model": "m", "messages": [by("user", "green tea?")]}
        plain = request(json.dumps(body).encode(), X_Souffleur_User="ann")
        answered = json.loads(body_of(await talk(scene.url, plain)))
        (told,) = answered["souffleur"]["references"]
        assert (told["text"], told["age"]) == ("Ann loves green tea", "just now")
        assert answered["choices"][0]["message"]["content"] == "Hm"
        for path, parts in (
            ("/v1/chat/completions", streamed("Hm").parts),
            ("/v1/responses", response_events("Hm").parts),
        ):
            asked = {**body, "stream": True, "input": "green tea?"}
            raw = request(json.dumps(asked).encode(), path, X_Souffleur_User="ann")
            comment, _, rest = body_of(await talk(scene.url, raw)).partition(b"\n\n")
            assert json.loads(comment.removeprefix(b": souffleur "))["references"] == [told]
            assert rest == b"".join(parts)


async def test_off(tmp_path: Path) -> None:
    """By default a reply is as the endpoint has written it, byte for byte."""
    async with open_scene(tmp_path, show_references=True) as scene:
        await scene.know("ann")
        scene.endpoint.will(whole("Hm"))
        body = json.dumps({"model": "m", "messages": [by("user", "green tea?")]}).encode()
        answered = body_of(await talk(scene.url, request(body, X_Souffleur_User="ann")))
        assert answered == b"".join(whole("Hm").parts)


async def test_marks_in_odd_requests() -> None:
    """Only what stands between two marks of one string is taken out, escaped or not."""
    said = ["a" + marked('"\\\n'), BEGIN + "b", "c" + marked("x") + "d" + marked("y"), "\\u2063"]
    want = ["a", BEGIN + "b", "cd", "\\u2063"]
    for ascii in (True, False):
        body = json.dumps(said, ensure_ascii=ascii).encode()
        assert json.loads(unmarked_json(body)) == want


async def test_observed_by_a_host(scene: Scene) -> None:
    """A host that observes a reply as its front end shows it has what was said alone."""
    scene.memory.observe(user_id="bo", user="hi", assistant="Hello" + marked("Remembered: x"))
    assert await scene.said("bo") == [("hi", "Hello")]


@pytest.mark.parametrize("mode", ["append", "event"])
@pytest.mark.parametrize("name", [name for name, one in STREAMS.items() if not one.encoding])
async def test_in_streams_of_all_kinds(name: str, mode: Mode) -> None:
    """A stream has notes beside what it was, and no event of it waits for another one."""
    carrier = Carrier(Notes((Reference("m", "Ann loves tea", "fact", "now"),)), mode, "chat")
    stream, reply, sent, came = STREAMS[name], Reply("chat"), b"", 0
    for part in stream.body.splitlines(keepends=True):
        reply.take(part)
        came += len(part)
        sent += carrier.take(part, reply.form)
        if reply.form == "events" and stream.body[:came].endswith((b"\n\n", b"\r\r", b"\n\r\n")):
            assert len(sent) >= came
    sent += carrier.finish()
    if reply.form == "events":
        assert NOTE.sub(b"", sent) == stream.body
    told = Reply("chat")
    told.take(sent)
    told.finish()
    assert unmarked(told.text) == stream.said.removesuffix(" [aborted]")
