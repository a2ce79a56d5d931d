"""Sessions in the journal: raw turns that change while they are embedded, and words that expire."""

from pathlib import Path

from langchain_core.embeddings import Embeddings

from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.privacy.secrets import MASK
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.search.embedding_models import HashEmbeddings
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.store.codecs import session_point, to_session
from souffleur.knowledge.store.opening import open_knowledge
from souffleur.knowledge.turn import TurnState, turn_point_id
from tests.build import NOW, days, turn
from tests.place import in_folder, located
from tests.stores import empty_base


class Listening(Embeddings):
    """Embeds by spelling, and notes what it is given."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector per text."""
        self.heard += texts
        return HashEmbeddings(64).embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """As a document."""
        return self.embed_documents([text])[0]


async def test_words_that_changed_meanwhile_are_embedded_later(tmp_path: Path) -> None:
    """Vectors of a former reply, or of words that are gone, are not written."""
    base = await empty_base(tmp_path)
    for place in ("1", "2"):
        base.journal.record(turn("tea?", "green", turn_id=place))
    turns = await base.sessions.unembedded(limit=9)
    texts = [said.text for one in turns for said in one.said()]
    vectors = dict(zip(texts, await base.embedder.embed(texts), strict=True))
    base.journal.record(turn("tea?", "black", turn_id="1"))
    await base.sessions.expunge([one.id for one in turns if one.turn_id == "2"])
    await base.sessions.embed(turns, vectors)
    assert [one.assistant for one in await base.sessions.unembedded(limit=9)] == ["black"]
    assert [one.embedded for one in await base.journal.turns()] == [False, False]
    assert await base.embed_turns() == 1
    assert await base.sessions.unembedded(limit=9) == []
    await base.close()


async def test_secrets_are_not_embedded(tmp_path: Path) -> None:
    """The embedder is given masked words, in both halves of a turn; the stored turn keeps its own.

    A label in one half and its password in the other are one secret.
    """
    listening = Listening()
    base = await open_knowledge(located(tmp_path), make_embedder(listening), COMPANION)
    listening.heard.clear()
    base.journal.record(turn("密码是hunter2024!，喝茶吗", "sk-live-9f8e7d6c5b4a3210?", turn_id="1"))
    base.journal.record(turn("tell me my wifi password", "tea4two!2024, as always", turn_id="2"))
    assert await base.embed_turns() == 2
    assert sorted(listening.heard) == sorted(
        [
            f"密码是{MASK}，喝茶吗",
            f"{MASK}?",
            "tell me my wifi password",
            f"{MASK}, as always",
        ]
    )
    assert await base.sessions.unembedded(limit=9) == []
    kept = {one.assistant for one in await base.journal.turns()}
    assert kept == {"sk-live-9f8e7d6c5b4a3210?", "tea4two!2024, as always"}
    await base.close()


async def test_what_is_idle_is_ended_for_every_user(tmp_path: Path) -> None:
    """Sessions silent for long are closed, whose they are is told; the others go on."""
    base = await empty_base(tmp_path)
    for user, age in (("ann", 2.0), ("bob", 1.0), ("cleo", 0.0)):
        for place in ("1", "2"):
            said = turn("tea?", "ok", user_id=user, turn_id=place, at=NOW - days(age))
            base.journal.record(said)
    assert await base.sessions.end_idle(NOW, WindowRule()) == {"ann", "bob"}
    assert await base.sessions.end_idle(NOW, WindowRule()) == set()
    assert await base.sessions.end_idle(NOW + days(9), WindowRule(idle=None)) == set()
    assert len(await base.sessions.waiting_segments()) == 2
    assert len(await base.sessions.window("cleo", "s1")) == 2
    await base.close()


@in_folder
async def test_the_window_of_a_former_version_goes_on(tmp_path: Path) -> None:
    """A turn that is said to it is added, and from then on it is stored as one text."""
    base = await empty_base(tmp_path)
    base.journal.record(turn("tea?", "green", turn_id="1"))
    session = await base.sessions.find("ann", "s1")
    assert session
    await base.journal.collection.put([session_point(session)])
    base.journal.record(turn("coffee?", "black", turn_id="2"))
    (stored,) = await base.journal.collection.get([session.id])
    assert isinstance(stored.payload["window"], str)
    assert [held.messages for held in to_session(stored).window] == [2, 2]
    await base.close()


async def test_words_expire_once_told(tmp_path: Path) -> None:
    """What is in a window or waits to be told stays, however old; a second look drops nothing."""
    base = await empty_base(tmp_path)
    for place in ("2", "3"):
        id = turn_point_id("ann", "default", "s2", place)
        told = turn("milk?", "ok", id=id, turn_id=place, session_id="s2", at=NOW - days(90))
        base.journal.record(told.model_copy(update={"state": TurnState.JUDGED}))
    base.sessions.end("ann", "s2")  # waits to be told
    base.journal.record(turn("tea?", "ok", at=NOW - days(90)))
    assert await base.sessions.expire(NOW, 30) == 0
    base.sessions.end("ann", "s1")  # two messages: small talk, nothing to tell
    assert await base.sessions.expire(NOW, 30) == 0  # not judged yet
    await base.journal.mark(await base.journal.turns(), state="judged")
    assert await base.sessions.expire(NOW - days(61), 30) == 0
    assert await base.sessions.expire(NOW, 30) == 1
    assert await base.sessions.expire(NOW, 30) == 0
    *waiting, gone = await base.journal.turns()
    assert (gone.user, gone.expunged) == ("", True)
    assert [(one.user, one.expunged) for one in waiting] == [("milk?", False)] * 2
    await base.close()


async def test_a_reply_that_is_replaced_keeps_its_place(tmp_path: Path) -> None:
    """It keeps its place in the order of turns, before what was said after it."""
    base = await empty_base(tmp_path)
    for line in ("one", "two", "three"):
        base.journal.record(turn(line, "ok", turn_id=line))
    again = base.journal.record(turn("one", "well", turn_id="one"))
    assert again is not None
    turns = await base.journal.turns(user_id="ann")
    assert [(one.user, one.assistant, one.place) for one in turns] == [
        ("one", "well", 1),
        ("two", "ok", 2),
        ("three", "ok", 3),
    ]
    said = await base.journal.messages_before(turns[2], limit=9)
    assert [one.text for one in said] == ["one", "well", "two", "ok"]
    assert await base.journal.messages_before(turns[2], limit=3) == said[1:]
    await base.journal.mark(turns, judged={"reason": "r"})
    for _ in range(2):
        assert await base.current.journal.messages_before(turns[2], limit=9) == said
    assert await base.journal.messages_before(turns[0], limit=9) == []
    await base.close()


async def test_the_talk_before_this_one_lies_in_the_past(tmp_path: Path) -> None:
    """Asked as of a moment, what was said after it is not the last time."""
    base = await empty_base(tmp_path)
    for name, day in (("a", -5), ("b", -2), ("c", 1)):
        at, id = NOW + days(day), turn_point_id("ann", "default", name, "1")
        base.journal.record(turn("tea?", "ok", id=id, session_id=name, at=at))
        base.sessions.end("ann", name)
    then = await base.sessions.previous_talk("ann", "z", NOW, WindowRule())
    assert then == (NOW - days(2), NOW - days(2))
    await base.close()
