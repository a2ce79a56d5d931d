"""Special categories, where they are refused: what is asked, what is refused, what is left."""

import json
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.brief import Persona
from souffleur.agents.monitor import KnowledgeMonitor
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.agents.verdict import MarkedAnswer, MonitorAnswer
from souffleur.errors import AnswerError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import LedgerEntry, Refusal
from souffleur.prompts import LANGUAGES, render
from souffleur.settings import Settings
from tests.build import turn
from tests.scripted import SKIP, Scripted, add, answer, by_name, episode, portrait, update
from tests.stores import open_empty

SAID = "I have lupus, so I take the 9:40 train to Leeds."
ILL = "Ann has lupus."
TRAIN = "Ann takes the 9:40 train to Leeds."


async def judged(base: KnowledgeBase, chat: Scripted, **how: Any) -> list[LedgerEntry]:
    """What the ledger holds after a turn, by a monitor that refuses special categories."""
    form = how.pop("form", "json_schema")
    persona = Persona(user="Ann", assistant="Mo")
    context = Context(StructuredChat(chat, form=form), base, persona, refuses_special=True)
    told = turn(SAID, "Safe trip.", **how)
    base.journal.record(told)
    done = await KnowledgeMonitor(context).run([told])
    return done.outcomes


async def test_what_tells_a_special_category_is_refused(base: KnowledgeBase) -> None:
    """The rest is carried out, and no word of what was refused is in ledger or journal."""
    ops = (add(ILL, "lupus", special="Health"), add(TRAIN, "9:40 train", special="none"))
    ill, train = await judged(base, Scripted([answer(*ops, reason="Ann tells of her lupus")]))
    assert (ill.refused, ill.detail) == (
        Refusal.SENSITIVE,
        "it tells of health, which is not kept",
    )
    assert not train.refused
    assert [memory.content for memory in await base.list("ann")] == [TRAIN]
    noted = await base.journal.get_turns(train.turn_ids)
    assert [one.judged["reason"] for one in noted] == [""]
    assert "lupus" not in repr((ill, train))


async def test_an_update_is_refused_likewise_before_all_other_rules(base: KnowledgeBase) -> None:
    """A quote that nobody said does not bring the words into the ledger."""
    await judged(base, Scripted([answer(add(TRAIN, "9:40 train", special=None))]))
    told = answer(update("m1", "Ann travels for her lupus.", "my lupus", special="health"))
    (entry,) = await judged(base, Scripted([told]), turn_id="2")
    assert entry.refused is Refusal.SENSITIVE
    assert entry.details == {"withheld": "it told of health"}
    assert "lupus" not in repr(entry)
    assert [memory.content for memory in await base.list("ann")] == [TRAIN]


async def test_an_op_without_its_mark_is_not_used(base: KnowledgeBase) -> None:
    """It goes back once; an answer that still has none, or a made-up one, changes nothing."""
    chat = Scripted([answer(add(TRAIN, "train")), answer(add(TRAIN, "train", special="money"))])
    with pytest.raises(AnswerError, match="health, belief, politics, sex"):
        await judged(base, chat)
    assert "special: is missing" in chat.requests[1].messages[-1].content
    assert await base.list("ann") == []


async def test_models_that_answer_in_lines_name_it_too(base: KnowledgeBase) -> None:
    """They are told how, and what they name is refused."""
    first = f"[ADD] {ILL}\nspecial: health\nquote: lupus"
    chat = Scripted([f"{first}\n[ADD] {TRAIN}\nspecial: none\nquote: train"])
    ill, train = await judged(base, chat, form="text")
    assert "\nspecial: none, health" in chat.requests[0].messages[0].content
    assert (ill.refused, train.refused) == (Refusal.SENSITIVE, None)


async def test_by_default_nothing_of_it_is_asked(base: KnowledgeBase) -> None:
    """Prompt and schema do not speak of it, in either form, and a mark is passed over."""
    for form in ("json_schema", "text"):
        chat = Scripted([SKIP])
        context = Context(StructuredChat(chat, form=form), base, Persona(user="Ann"))
        await KnowledgeMonitor(context).run([turn(SAID, "ok", turn_id=form)])
        assert "special" not in repr(chat.requests[0])
    marked = answer(add(ILL, "lupus", special="health"))
    kept = await KnowledgeMonitor(
        Context(StructuredChat(Scripted([marked])), base, Persona(user="Ann"))
    ).run([turn(SAID, "ok")])
    assert not kept.outcomes[0].refused


def test_the_mark_stands_before_the_content() -> None:
    """A model decides on it after its reason and before it writes what is kept."""
    from souffleur.agents.structured_chat import portable_schema

    def fields(kind: type[MonitorAnswer]) -> list[list[str]]:
        ops = portable_schema(kind)["properties"]["ops"]["items"]["anyOf"]
        return [list(one["properties"]) for one in ops]

    plain, marked = fields(MonitorAnswer), fields(MarkedAnswer)
    for names in marked[:2]:
        assert names.index("special") == names.index("reason") + 1 < names.index("content")
    assert [[name for name in names if name != "special"] for names in marked] == plain


@pytest.mark.parametrize("language", LANGUAGES)
async def test_all_three_who_write_are_told(tmp_path: Path, language: str) -> None:
    """With the setting, monitor, summarizer and profile writer get their sections, and say so."""
    chat = Scripted(
        by_name(
            monitor={**answer(add(TRAIN, "9:40 train", special="none")), "big": True},
            episode=episode("Ann takes the train."),
            portrait=portrait("Ann travels.", "By train.", "To Leeds."),
            audit="nothing",
        )
    )
    settings = Settings(path=tmp_path, refuse=("special",), language=language)
    async with open_empty(settings, chat=chat) as memory:
        for place in range(3):
            memory.observe(user_id="ann", session_id="s", turn_id=str(place), user=SAID)
        await memory.flush()
        memory.end_session(user_id="ann", session_id="s")
        await memory.flush()
        history = await memory.knowledge.journal.entries("ann")
    asked = {request.name: request.messages[0].content for request in chat.requests}
    assert asked.keys() == {"monitor", "episode", "audit", "portrait"}
    del asked["audit"]  # it tells nothing that is not in a memory
    for name, rules in asked.items():
        sections = [render(one, language) for one in ("special", f"special_{name}")]
        assert rules.endswith("\n\n".join(sections))
    by = {entry.by.who: entry.by.prompt for entry in history}
    assert all("+special." in prompt for prompt in by.values()), json.dumps(by)
