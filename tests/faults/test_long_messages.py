"""Messages of any length: kept whole, and judged, embedded and searched by front and end."""

import base64
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.text.plain import CLIPPED
from souffleur.knowledge.turn import MAX_MESSAGE_LENGTH
from souffleur.settings import Settings
from tests.build import NOW, days
from tests.counted import Counted
from tests.place import where
from tests.scripted import SKIP, Scripted, add, answer, by_name, episode
from tests.stores import open_empty

BOOK = "chapter one: sencha. " + "All work and no play. " * 50_000 + " The end: matcha."
"""A message of more than a megabyte."""


def settings(folder: Path, **fields: Any) -> Settings:
    return Settings(**where(folder), embedder="hash:64", user_title="Ann", **fields)


async def test_a_book_is_kept_whole_and_read_in_part(tmp_path: Path) -> None:
    """The store has every word; no prompt, search or whisper has more than a few thousand."""
    chat = Scripted(by_name(monitor=SKIP, episode=episode("Ann sent a book.")))
    async with open_empty(settings(tmp_path), chat=chat, clock=lambda: NOW) as memory:
        for text in (BOOK, "what do you think?", "good?"):
            memory.observe(user_id="ann", user=text, assistant=text)
        await memory.flush()
        memory.end_session(user_id="ann")
        await memory.flush()
        (book, *_) = await memory.knowledge.journal.turns()
        assert (book.user, book.assistant) == (BOOK, BOOK)
        asked = [len(request.messages[1].content) for request in chat.requests]
        assert max(asked) < 4 * MAX_MESSAGE_LENGTH
        query = Query("ann", "sencha and matcha", NOW, scope=(Scope.TURNS,))
        (hit, *_) = await memory.knowledge.search(query)
        assert len(hit.text) <= 2 * MAX_MESSAGE_LENGTH + 1
        assert all(part in hit.text for part in ("sencha", CLIPPED, "matcha"))
        whisper = await memory.recall(user_id="ann", text=BOOK)
        assert (len(whisper.text) < MAX_MESSAGE_LENGTH, whisper.error) == (True, "")
        asked_at = NOW + days(1)
        past = await memory.ask("what did we say yesterday?", user_id="ann", at=asked_at)
        assert past.found
        assert all(len(found.text) <= 2 * MAX_MESSAGE_LENGTH + 1 for found in past.found)


@pytest.mark.parametrize("before", [False, True])
async def test_words_between_images_are_read(tmp_path: Path, *, before: bool) -> None:
    """Images as data are named, and what stands between them is judged, found and whispered.

    Also if the turn was stored by a version that kept them.
    """
    picture = f"![](data:image/png;base64,{base64.b64encode(bytes(range(256)) * 60).decode()})"
    said = f"{picture}\nMy sister is called Mia, and she was born in 1999-05-01.\n{picture}"
    chat = Scripted(by_name(monitor=SKIP, episode=episode("Ann has a sister.")))
    async with open_empty(settings(tmp_path), chat=chat, clock=lambda: NOW) as memory:
        memory.observe(user_id="ann", user=said, turn_id="1")
        if before:
            (turn,) = await memory.knowledge.journal.turns()
            await memory.knowledge.journal.collection.merge_payload([turn.id], {"user": said})
        await memory.flush()
        (prompt, *_) = [request.messages[1].content for request in chat.requests]
        query = Query("ann", "who is my sister?", NOW, scope=(Scope.TURNS,))
        (hit,) = await memory.knowledge.search(query)
        at = NOW + days(1)
        question = f"{picture} What did I say about my sister yesterday? {picture}"
        recalled = await memory.recall(user_id="ann", session_id="2", text=question, at=at)
        asked = await memory.ask("What did I say about my sister Mia?", user_id="ann")
    shown = "![]([image])\nMy sister is called Mia, and she was born in 1999-05-01.\n![]([image])"
    assert hit.text == shown
    for text in (prompt, recalled.text, *(one.text for one in asked.found)):
        assert "My sister is called Mia, and she was born in 1999-05-01." in text
        assert "[image]" in text
        assert "base64" not in text


async def test_a_quote_from_what_was_left_out_is_not_grounded(tmp_path: Path) -> None:
    """The judge is held to what it saw: a quote from the middle, unseen, is refused."""
    hidden = (
        "tea. "
        + "x " * MAX_MESSAGE_LENGTH
        + "the middle word is xyzzy. "
        + "y " * MAX_MESSAGE_LENGTH
    )
    chat = Scripted([answer(add("Ann said xyzzy.", "the middle word is xyzzy"))])
    async with open_empty(settings(tmp_path), chat=chat, clock=lambda: NOW) as memory:
        memory.observe(user_id="ann", user=hidden, assistant="ok")
        await memory.flush()
        (entry,) = await memory.knowledge.journal.entries("ann")
        assert str(entry.refused) == "ungrounded"


async def test_a_backlog_is_read_a_little_at_a_time(tmp_path: Path) -> None:
    """Of three hundred waiting turns each judgement reads the next few, and all are judged."""
    async with Souffleur.open(settings(tmp_path), clock=lambda: NOW) as memory:
        for place in range(300):
            memory.observe(user_id="ann", user=f"turn {place}", assistant="ok")
    chat = Scripted(lambda _: SKIP)
    async with Souffleur.open(settings(tmp_path), chat=chat, clock=lambda: NOW) as memory:
        counted = Counted(memory.knowledge.journal.collection)
        memory.knowledge.journal.collection = counted
        await memory.flush()
        judged = [request for request in chat.requests if request.name == "monitor"]
        assert len(judged) == 30
        assert counted.read < 30 * 150
