"""Some forty forgettings, in three languages: what told the same goes, the rest stays."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.residue import found_in
from souffleur.agents.model.chat import Request
from souffleur.errors import EndpointError
from souffleur.knowledge.memory import Category, MemoryState
from souffleur.knowledge.operation import ActorKind, Add, Delete
from souffleur.knowledge.people import Language
from souffleur.knowledge.store.export import export_lines
from souffleur.server.page.said import latest_said
from tests.build import NOW, turn, verdict, words_of
from tests.place import in_folder
from tests.scripted import by_name, judged_told
from tests.stage import Stage, staged

CASES = yaml.safe_load((Path(__file__).parent / "forgettings.yaml").read_text(encoding="utf-8"))
TITLES = {"en": "Ann", "zh": "主人", "ja": "美咲"}
SAFE = {"en": "She sings.", "zh": "主人爱唱歌。", "ja": "歌が好き。"}
EVERY = ("memories", "episodes", "turns")


@dataclass
class Case:
    """One forgetting, and what it is done to."""

    language: Language
    forget: str
    said: list[str]
    told: str
    stay: list[str]
    keep: list[str]
    names: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    user_id: str = ""

    @property
    def gone(self) -> list[str]:
        """All texts that must not be read any more."""
        return [self.forget, *self.said, *self.beside, *self.again, self.told]


def cases(language: Language) -> list[Case]:
    """The cases of a language, each of a user of its own."""
    listed = enumerate(CASES[language])
    return [Case(language, user_id=f"{language}{place}", **one) for place, one in listed]


async def tell(stage: Stage, case: Case) -> str:
    """Have it all said and known; return the id of the memory to forget."""
    base, user_id = stage.knowledge, case.user_id
    await stage.memory.introduce(
        user_id=user_id, title=TITLES[case.language], language=case.language
    )
    lines = [("s0", line) for line in (case.said[0], *case.beside, *case.stay)]
    lines += [(f"s{place}", line) for place, line in enumerate(case.said[1:], start=1)]
    for place, (session, line) in enumerate(lines):
        said = turn(line, turn_id=str(place), user_id=user_id)
        base.journal.record(said.model_copy(update={"session_id": session}))
    await base.embed_turns(user_id)
    told: dict[str, Any] = {"reason": "r", "quote": ""}
    adds = [Add(content=case.forget, entities=tuple(case.names), **told)]
    adds += [Add(content=one, **told) for one in (*case.again, *case.keep)]
    adds += [
        Add(content=f"[2026-01-03 11:00] {case.told}", category=Category.EPISODE, **told),
        Add(content=f"{SAFE[case.language]} {case.told}", category=Category.PROFILE, **told),
    ]
    by_host = verdict(*adds, who=ActorKind.HOST, name=user_id, user_id=user_id)
    entries = await base.apply(by_host)
    return str(entries[0].memory_ids[0])


async def left_of(stage: Stage, case: Case) -> list[str]:
    """What must be gone and can still be read."""
    memory, user_id = stage.memory, case.user_id
    shown = [str(await memory.list(user_id=user_id)), str(await memory.portrait(user_id=user_id))]
    shown += [str(await latest_said(memory, user_id, limit=50))]
    both = (memory.knowledge.memories, memory.knowledge.journal)
    lines = [line async for line in export_lines(*both, user_id, now=NOW)]
    shown.append(b"".join(lines).decode())
    for text in case.gone:
        found = await memory.search(text, user_id=user_id, scope=EVERY, limit=50)
        shown.append(str([one.item for one in found]))
        shown.append((await memory.recall(user_id=user_id, text=text)).text)
        shown.append(str((await memory.ask(text, user_id=user_id)).found))
    return [text for text in case.gone if any(text in one for one in shown)]


async def harmed(stage: Stage, case: Case) -> list[str]:
    """What had to stay and is hidden."""
    turns = await stage.knowledge.journal.turns(user_id=case.user_id)
    known = await stage.memory.list(user_id=case.user_id, state=None)
    hidden = [one.user for one in turns if one.hidden]
    hidden += [one.content for one in known if one.state is not MemoryState.ACTIVE]
    return [text for text in (*case.stay, *case.keep) if text in hidden]


def by_the_book(language: Language) -> Any:
    """A judge that knows which lines tell of what is forgotten."""
    told = [text for case in cases(language) for text in case.gone]

    def judged(request: Request) -> dict[str, Any]:
        return judged_told(request, *told)

    return judged


@asynccontextmanager
async def scene(folder: Path, judge: Any, **kept: Any) -> AsyncIterator[Stage]:
    """A runtime that judges no turn, with a model that is asked what tells of it."""
    script = by_name(forgotten=judge)
    async with staged(folder, script, judge=False, user_title="Ann", **kept) as stage:
        yield stage


@pytest.mark.parametrize("language", CASES)
async def test_what_tells_the_same_goes_and_comes_back(language: Language, tmp_path: Path) -> None:
    """No read yields it, nothing else is hidden; undone, all is as it was."""
    async with scene(tmp_path, by_the_book(language)) as stage:
        for case in cases(language):
            id = await tell(stage, case)
            before = await stage.memory.list(user_id=case.user_id)
            (entry,) = await stage.memory.forget(id, user_id=case.user_id)
            assert (case.forget, await left_of(stage, case)) == (case.forget, [])
            assert (case.forget, await harmed(stage, case)) == (case.forget, [])
            await stage.memory.undo(entry.id, user_id=case.user_id)
            after = await stage.memory.list(user_id=case.user_id)
            assert {one.content for one in after} == {one.content for one in before}
            turns = await stage.knowledge.journal.turns(user_id=case.user_id)
            assert not [one.user for one in turns if one.hidden]


@pytest.mark.parametrize("language", CASES)
async def test_without_an_answer_what_may_tell_it_is_hidden(
    language: Language, tmp_path: Path
) -> None:
    """If the model fails, no read yields it either."""
    async with scene(tmp_path, EndpointError("away")) as stage:
        for case in cases(language):
            id = await tell(stage, case)
            await stage.memory.forget(id, user_id=case.user_id)
            assert (case.forget, await left_of(stage, case)) == (case.forget, [])


@pytest.mark.parametrize("language", CASES)
async def test_asked_for_in_the_talk(language: Language, tmp_path: Path) -> None:
    """A judge's DELETE that the user asked for takes along what `forget` does."""
    async with scene(tmp_path, by_the_book(language)) as stage:
        for case in cases(language)[::4]:
            id = await tell(stage, case)
            asked = Delete(target=id, reason="asked", quote="forget it, all of it")
            spoken: dict[str, Any] = {"user": "Please forget it, all of it."}
            spoken |= {"user_id": case.user_id}
            await stage.knowledge.apply(verdict(asked, name=f"{case.user_id} asks", **spoken))
            assert (case.forget, await left_of(stage, case)) == (case.forget, [])
            assert (case.forget, await harmed(stage, case)) == (case.forget, [])


@in_folder
@pytest.mark.parametrize("language", CASES)
async def test_what_is_erased_is_in_no_byte(language: Language, tmp_path: Path) -> None:
    """Erased with its turns, no record and no file has any of it; the rest is as it was."""
    folder, erased = tmp_path / "store", cases(language)[::7]
    async with scene(folder, by_the_book(language), kept=True) as stage:
        for case in erased:
            id = await tell(stage, case)
            await stage.memory.erase_memory(id, user_id=case.user_id, turns=True)
            assert (case.forget, await harmed(stage, case)) == (case.forget, [])
        left = await words_of(stage.knowledge)
        assert [text for case in erased for text in case.gone if text in left] == []
    assert [text for case in erased for text in case.gone if found_in(folder, text)] == []
