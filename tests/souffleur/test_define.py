"""What a persona is: said by the host, whispered with it alone, and changed by no model."""

from pathlib import Path

import pytest

from souffleur.api import Souffleur
from souffleur.errors import InputError
from souffleur.knowledge.identity import PERSONAS, own_sphere
from souffleur.knowledge.memory import Category
from souffleur.knowledge.operation import ActorKind, Forget, Refusal
from tests.build import an_add, verdict
from tests.scripted import SKIP
from tests.stage import staged

CAT, OLD = "Luna is a ship's cat.", "Luna has crossed the Atlantic twice."


async def test_what_a_persona_is_is_whispered_with_it_alone(tmp_path: Path) -> None:
    """To every user, whether or not it knows only its own; and no judge is shown it."""
    async with staged(tmp_path, lambda _: SKIP, language="en") as stage:
        await stage.memory.introduce_persona(agent_id="nox", knows="own")
        await stage.memory.define(agent_id="luna", what=[CAT, OLD])
        await stage.memory.define(agent_id="nox", what=["Nox is an owl."])
        for user_id in ("ann", "ming"):
            assert await told(stage.memory, user_id, "luna") == [OLD, CAT]
            assert await told(stage.memory, user_id, "nox") == ["Nox is an owl."]
            assert await told(stage.memory, user_id, "default") == []
        await stage.memory.recall(user_id="ann", agent_id="luna", text="hello")
        stage.memory.observe(user_id="ann", agent_id="luna", user="hello", assistant="miaow")
        await stage.memory.flush()
        (request,) = stage.chat.requests
        assert CAT not in "".join(message.content for message in request.messages)


async def test_a_definition_says_all(tmp_path: Path) -> None:
    """What it leaves out is forgotten, what it says again stays, and history has both."""
    async with staged(tmp_path, []) as stage:
        await stage.memory.define(agent_id="luna", what=[CAT, OLD])
        (before,) = [one for one in await defined(stage.memory) if one.content == CAT]
        done = await stage.memory.define(agent_id="luna", what=["Luna is old.", CAT])
        assert [(entry.op, entry.refused) for entry in done] == [("FORGET", None), ("ADD", None)]
        assert {one.content for one in await defined(stage.memory)} == {CAT, "Luna is old."}
        assert before in await defined(stage.memory)
        assert await stage.memory.define(agent_id="luna", what=[CAT, "Luna is old."]) == []
        for wrong in ([" "], CAT, ""):
            with pytest.raises(InputError):
                await stage.memory.define(agent_id="luna", what=wrong)
        assert len(await defined(stage.memory)) == 2


@pytest.mark.parametrize("who", [who for who in ActorKind if who is not ActorKind.HOST])
async def test_only_the_host_says_what_a_persona_is(tmp_path: Path, who: ActorKind) -> None:
    """Nobody else adds such a memory, or takes one away."""
    async with staged(tmp_path, []) as stage:
        await stage.memory.define(agent_id="luna", what=[CAT])
        (one,) = await defined(stage.memory)
        ops = (
            an_add("Luna is a dog.", category=Category.SYSTEM),
            Forget(target=one.id, reason="no"),
        )
        fields = {"user_id": PERSONAS, "agent_id": "luna", "sphere": own_sphere("luna")}
        done = await stage.knowledge.apply(verdict(*ops, who=who, **fields))
        assert [entry.refused for entry in done] == [Refusal.PROTECTED, Refusal.PROTECTED]


async def defined(memory: Souffleur) -> list:  # type: ignore[type-arg]
    """What all personas are."""
    return await memory.knowledge.list(PERSONAS)


async def told(memory: Souffleur, user_id: str, agent_id: str) -> list[str]:
    """What is whispered of the persona."""
    whisper = await memory.recall(user_id=user_id, agent_id=agent_id, text="hello")
    return sorted(one.content for one in whisper.core if one.category is Category.SYSTEM)
