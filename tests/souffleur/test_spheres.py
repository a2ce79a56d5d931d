"""Personas that know only their own: what one is told, no read path brings to another."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Refusal, Share
from souffleur.service.summaries import Summaries
from tests.build import NOW, days, keep, verdict
from tests.command import Run, data
from tests.counted import Counted
from tests.place import at_once
from tests.scripted import Answer, add, answer, by_name, episode, portrait, update
from tests.stage import Stage, staged

COMMON, LUNA = "default", "luna"
SECRETS = {LUNA: "marmalade", "nox": "saxophone", COMMON: "gardening", "sol": "gardening"}
"""A word that each persona alone is told; the two that know all share theirs."""
OWN = (LUNA, "nox")


def script(request: Request) -> Answer:
    """Keep what is told, in one memory, episode and portrait."""
    (word,) = {word for word in SECRETS.values() if word in request.messages[1].content}
    told = f"Ann thinks of {word} a lot."
    kept = answer(add(told, f"I think of {word} a lot", importance="high"))
    whole = portrait(told, "She says so.", "She sings.")
    ids = re.findall(r"^n\d+", request.messages[-1].content, re.M)
    step = {"reason": "", "action": "ANSWER", "query": None, "answer": told, "ids": ids}
    scripts = {"episode": episode(told), "portrait": whole, "think": step}
    return by_name(monitor=kept, **scripts)(request)


async def tell(stage: Stage, agent_id: str) -> None:
    """Tell a persona its word, three times in different words, and end the session."""
    word = SECRETS[agent_id]
    for line in (f"I think of {word} a lot", f"Oh {word}, again and again"):
        stage.clock.at += days(0.001)
        stage.memory.observe(
            user_id="ann", session_id="s1", agent_id=agent_id, user=line, assistant="I see."
        )
    await stage.memory.flush()
    stage.memory.end_session(user_id="ann", session_id="s1", agent_id=agent_id)
    await stage.memory.flush()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Two personas that know only their own and two that know all, in one session."""
    async with staged(tmp_path, script, language="en") as stage:
        for agent_id in OWN:
            await stage.memory.introduce_persona(agent_id=agent_id, name=agent_id, knows="own")
        for agent_id in SECRETS:
            await tell(stage, agent_id)
        for agent_id in (*OWN, COMMON):
            await stage.memory.write_portrait(user_id="ann", agent_id=agent_id)
        yield stage


READS: dict[str, Callable[[Souffleur, str], Awaitable[Any]]] = {
    "recall": lambda memory, agent: memory.recall(
        user_id="ann", session_id="s1", agent_id=agent, text="What do I think of a lot?"
    ),
    "recall the past": lambda memory, agent: memory.recall(
        user_id="ann", session_id="s2", agent_id=agent, text="What did I tell you yesterday?"
    ),
    "recall by word": lambda memory, agent: memory.recall(
        user_id="ann", session_id="s1", agent_id=agent, text=" ".join(SECRETS.values())
    ),
    "ask": lambda memory, agent: memory.ask(
        "What do I think of a lot?", user_id="ann", agent_id=agent
    ),
    "ask of a time": lambda memory, agent: memory.ask(
        "What did we talk about last time?", user_id="ann", session_id="s2", agent_id=agent
    ),
    "ask a model": lambda memory, agent: memory.ask(
        "What do I think of a lot?", user_id="ann", agent_id=agent, think=True
    ),
    "ask of a day": lambda memory, agent: memory.ask(
        "What did I say today?", user_id="ann", agent_id=agent
    ),
}


async def test_each_read_path_brings_what_the_persona_was_told_and_nothing_else(
    stage: Stage,
) -> None:
    """By memory, episode, portrait, raw turn and question about the past; in both directions."""
    for agent_id, word in SECRETS.items():
        others = set(SECRETS.values()) - {word}
        for name, read in READS.items():
            brought = repr(await read(stage.memory, agent_id))
            assert word in brought, (name, agent_id)
            assert not [other for other in others if other in brought], (name, agent_id)


async def test_no_model_is_shown_what_another_persona_was_told(stage: Stage) -> None:
    """Neither judge nor summarizer, portrait, reviewer, consolidator nor auditor mixes two."""
    stage.clock.at += days(40)
    for name in ("review", "audit", "consolidate", "profile"):
        await stage.memory.run(name)
    for agent_id in SECRETS:
        await READS["ask a model"](stage.memory, agent_id)
    asked = {request.name for request in stage.chat.requests}
    assert asked >= {"monitor", "episode", "portrait", "think"}
    for request in stage.chat.requests:
        shown = "\n".join(message.content for message in request.messages)
        assert len([word for word in set(SECRETS.values()) if word in shown]) <= 1, shown


async def test_the_user_sees_everything(stage: Stage) -> None:
    """The list, and what `forget` takes a text to mean, know no personas."""
    told = repr(await stage.knowledge.list("ann"))
    assert all(word in told for word in SECRETS.values())
    query = "Ann thinks of marmalade a lot."
    meant = await stage.memory.forget(query, user_id="ann", dry_run=True)
    gone = meant[0].changes[0].after
    assert "marmalade" in gone.content
    await stage.memory.forget(gone.id, user_id="ann")
    assert gone.id not in await whispered(stage, LUNA)


async def test_what_the_host_shares_everybody_knows_until_it_is_undone(stage: Stage) -> None:
    """The persona that was told keeps it all the while."""
    (memory,) = [one for one in await facts(stage) if "marmalade" in one.content]
    shared = await stage.memory.share(memory.id, user_id="ann")
    assert (shared.op, shared.by.who, shared.refused) == ("SHARE", ActorKind.HOST, None)
    for agent_id in SECRETS:
        assert memory.id in await whispered(stage, agent_id)
    again = await stage.memory.share(memory.id, user_id="ann")
    assert again.refused is Refusal.USELESS
    await stage.knowledge.undo(shared.id, user_id="ann", by=Actor(who=ActorKind.HOST), now=NOW)
    for agent_id in SECRETS:
        assert (memory.id in await whispered(stage, agent_id)) == (agent_id == LUNA)


async def test_only_persons_share(stage: Stage) -> None:
    """A judge cannot carry a secret out, nor is a portrait shared."""
    (memory,) = [one for one in await facts(stage) if "marmalade" in one.content]
    told = verdict(Share(target=memory.id, reason="why not"), who=ActorKind.REVIEWER)
    assert (await stage.knowledge.apply(told))[0].refused is Refusal.PROTECTED
    whole = await stage.knowledge.portrait("ann", f"@{LUNA}")
    assert (await stage.memory.share(whole.id, user_id="ann")).refused is Refusal.PROTECTED


async def test_news_about_what_is_shared_stays_with_the_persona_that_was_told(
    tmp_path: Path,
) -> None:
    """A persona that changes a shared memory changes it for itself alone."""
    news = answer(update("m1", "Ann has a dog called Rex.", "my dog Rex"))
    async with staged(tmp_path, [news], language="en") as stage:
        await stage.memory.introduce_persona(agent_id=LUNA, knows="own")
        (kept,) = await stage.memory.remember("Ann has a dog.", user_id="ann", agent_id=LUNA)
        await stage.memory.share(kept.changes[0].after.id, user_id="ann")
        stage.memory.observe(user_id="ann", agent_id=LUNA, user="my dog Rex", assistant="Aw.")
        await stage.memory.flush()
        common = (await stage.memory.recall(user_id="ann", text="dog")).text
        assert "Ann has a dog." in common
        assert "Rex" not in common
        own = await stage.memory.recall(user_id="ann", agent_id=LUNA, text="dog")
        assert "Rex" in own.text


async def test_news_that_the_user_agrees_to_stay_with_the_persona_that_was_told(
    tmp_path: Path,
) -> None:
    """A change of a shared memory that waited for the user's yes is known to that persona alone."""
    news = answer(update("m1", "Ann has a dog called Rex.", "my dog Rex"))
    async with staged(tmp_path, [news], language="en", auto_extract=False) as stage:
        await stage.memory.introduce_persona(agent_id=LUNA, knows="own")
        (kept,) = await stage.memory.remember("Ann has a dog.", user_id="ann", agent_id=LUNA)
        await stage.memory.share(kept.changes[0].after.id, user_id="ann")
        stage.memory.observe(user_id="ann", agent_id=LUNA, user="my dog Rex", assistant="Aw.")
        await stage.memory.flush()
        (agreed,) = await stage.memory.confirm_all(user_id="ann")
        assert agreed.refused is None
        assert "Rex" not in (await stage.memory.recall(user_id="ann", text="dog")).text
        own = await stage.memory.recall(user_id="ann", agent_id=LUNA, text="dog")
        assert "Rex" in own.text


async def test_what_was_whispered_to_one_is_no_echo_for_another(tmp_path: Path) -> None:
    """A host that recalls for one persona and observes for another lets nothing slip."""
    kept = answer(add("Ann has a dog.", "a dog"))
    async with staged(tmp_path, [kept], language="en") as stage:
        await stage.memory.introduce_persona(agent_id=LUNA, knows="own")
        await keep(stage.knowledge, "Ann has a dog and a cat.")
        whisper = await stage.memory.recall(user_id="ann", session_id="s1", text="dog")
        assert whisper.ids
        stage.memory.observe(user_id="ann", session_id="s1", agent_id=LUNA, user="I have a dog")
        await stage.memory.flush()
        (request,) = stage.chat.requests
        assert "a cat" not in request.messages[1].content
        contents = {one.sphere: one.content for one in await stage.knowledge.list("ann")}
        assert contents == {"": "Ann has a dog and a cat.", "@luna": "Ann has a dog."}


async def test_the_same_may_be_told_to_two(tmp_path: Path) -> None:
    """What another persona knows is no duplicate: that it is refused would tell of it."""
    async with staged(tmp_path, []) as stage:
        await stage.memory.introduce_persona(agent_id=LUNA, knows="own")
        await keep(stage.knowledge, "Ann has a dog.")
        (kept,) = await stage.memory.remember("Ann has a dog.", user_id="ann", agent_id=LUNA)
        assert kept.refused is None


@pytest.mark.parametrize("odd", ["*", "@luna", "", "default"])
async def test_odd_ids_are_no_other_sphere(tmp_path: Path, odd: str) -> None:
    """A persona called as a sphere is written knows no more than any other."""
    agent_id = odd or "\u200b@"
    async with staged(tmp_path, []) as stage:
        for one in (LUNA, agent_id):
            await stage.memory.introduce_persona(agent_id=one, knows="own")
        await stage.memory.remember("Ann likes marmalade.", user_id="ann", agent_id=LUNA)
        await keep(stage.knowledge, "Ann likes gardening.")
        brought = await stage.memory.recall(
            user_id="ann", agent_id=agent_id, text="marmalade gardening"
        )
        assert (brought.text, brought.error) == ("", "")


@at_once
async def test_a_turn_is_kept_apart_also_if_the_store_was_away(tmp_path: Path) -> None:
    """What a persona knows is looked up when its turn is written, not when it was said."""
    async with staged(tmp_path, lambda _: answer({"op": "SKIP", "reason": "-"})) as stage:
        await stage.memory.introduce_persona(agent_id=LUNA, knows="own")
        stage.memory.observe(user_id="ann", agent_id=LUNA, user="marmalade")
        (turn,) = await stage.knowledge.journal.turns(user_id="ann")
        assert turn.sphere == "@luna"
        await stage.memory.introduce_persona(agent_id=LUNA, knows="all")
        stage.memory.observe(user_id="ann", agent_id=LUNA, user="gardening")
        assert [t.sphere for t in await stage.knowledge.journal.turns(user_id="ann")][1] == ""


def test_share_and_knows_on_the_command_line(run: Run) -> None:
    """A persona is set apart, and a memory is shared by its id."""
    (luna,) = data(run, "user", "personas", "--agent", LUNA, "--knows", "own")
    assert luna["knows"] == "own"
    assert run("user", "personas", "--agent", LUNA, "--knows", "some")[0] == 2
    (kept,) = data(run, "remember", "Ann likes tea.", "--user", "ann")
    code, _, _ = run("share", kept["changes"][0]["after"]["id"][:8])
    assert code == 1  # all know it as it is


async def facts(stage: Stage) -> list[Memory]:
    """The single memories, as the user sees them."""
    found = await stage.knowledge.list("ann", states=(MemoryState.ACTIVE,))
    return [one for one in found if one.category == "fact"]


async def whispered(stage: Stage, agent_id: str) -> tuple[str, ...]:
    """What is in the block for a persona."""
    text = "What do I think of a lot?"
    return (await stage.memory.recall(user_id="ann", agent_id=agent_id, text=text)).ids


async def test_a_turn_reads_what_portraits_are_due_from_once(stage: Stage) -> None:
    """With three spheres, no episode and no version of a portrait is read a second time."""
    knowledge = stage.memory.knowledge
    counted = Counted(knowledge.memories)
    watched = KnowledgeBase(counted, knowledge.journal, knowledge.embedder, knowledge.policy)
    unused: Any = (None, None, None, None)
    await Summaries(watched, *unused, pause=1.0, clock=stage.memory.clock).run("ann")
    episodes = await knowledge.list("ann", category=Category.EPISODE)
    portraits = await knowledge.portraits("ann", None)
    assert len({one.sphere for one in portraits}) == 3
    assert 0 < counted.read <= len(episodes) + len(portraits)
