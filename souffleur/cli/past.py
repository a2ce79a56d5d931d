"""The past: `ask`, the episodes of `list`, and `user profile`."""

import difflib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from souffleur.cli.console import console, plain, print_json
from souffleur.cli.memory import (
    find_owner,
    hint_at_others,
    inspect,
    open_memory,
    run_async,
    with_memory,
)
from souffleur.cli.options import ME, Agent, AsJson, User
from souffleur.cli.tables import show

if TYPE_CHECKING:
    from souffleur.agents.brief import Persona
    from souffleur.cli.memory import Memory
    from souffleur.knowledge.memory import Memory as OneMemory
    from souffleur.knowledge.search.query import Found
    from souffleur.knowledge.session import Segment
    from souffleur.recall.gather import Past

_SCOPES = {"memories": "memory", "episodes": "episode", "turns": "turn"}
_SENTENCES = re.compile(r"(?<=[。！？!?])|(?<=\.)\s+|\n+")


def ask(
    text: Annotated[str, typer.Argument(help='Such as "上周我们聊了什么" or "last time".')],
    user: User = ME,
    agent: Agent = "default",
    limit: Annotated[int, typer.Option(min=1, max=50)] = 8,
    as_json: AsJson = False,
) -> None:
    """Search what was talked about at a time, or on a topic; asks no model."""

    async def work(memory: "Memory") -> None:
        past = await memory.ask(text, user_id=user, agent_id=agent, limit=limit)
        if as_json:
            print_json(_past_data(past))
        else:
            print_past(past, (await memory.cast()).persona(user, agent))
        if not past.found:
            await hint_at_others(memory, user)

    with_memory(work)


async def list_episodes(memory: "Memory", user: str, limit: int, *, as_json: bool) -> None:
    """Print the segments that wait to be summarised, then the episodes, newest first."""
    waiting = await inspect(memory).segments(user_id=user)
    episodes = await memory.episodes(user_id=user, limit=limit)
    if as_json:
        print_json(plain({"waiting": waiting, "episodes": episodes}))
    else:
        print_episodes(episodes, waiting, (await memory.cast()).persona(user))
    if not episodes and not waiting:
        await hint_at_others(memory, user)


def profile(
    user: User = ME,
    agent: Agent = "default",
    history: Annotated[bool, typer.Option("--history", help="Show all versions.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what the latest version changed.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Rewrite it now; needs the model's endpoint.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the portrait of a user, as the companion understands them."""

    async def work(memory: "Memory") -> None:
        persona = (await memory.cast()).persona(user)
        if diff:
            print_difference(await _versions(memory, user, agent), as_json=as_json)
        elif history:
            print_versions(await _versions(memory, user, agent), persona, as_json=as_json)
        else:
            portrait = await memory.portrait(user_id=user, agent_id=agent)
            print_portrait(portrait, persona, as_json=as_json)
            if portrait is None:
                await hint_at_others(memory, user)

    if write:
        run_async(_write_portrait(user, agent))
    with_memory(work)


async def _versions(memory: "Memory", user: str, agent: str) -> "list[OneMemory]":
    """Return all versions of a portrait, the latest first."""
    from souffleur.knowledge.memory import Category

    every = await memory.list(user_id=user, agent_id=agent, category=Category.PROFILE, state=None)
    return sorted(every, key=lambda one: -int(one.data.get("version", 0)))


async def _write_portrait(user: str, agent: str) -> None:
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            await owner.write_portrait(user_id=user, agent_id=agent)
            return
    async with open_memory(need_model(load_settings())) as memory:
        await memory.write_portrait(user_id=user, agent_id=agent)


def print_past(past: "Past", persona: "Persona") -> None:
    """Print the answer to a question about the past, with its dates."""
    if past.since and past.until:
        begin, end = (_local(moment, persona) for moment in (past.since, past.until))
        console.print(f"[dim]{begin} to {end}[/dim]")
    columns = (
        ("when", lambda hit: _local(hit.at, persona)),
        ("", lambda hit: _SCOPES[hit.scope]),
        ("what", lambda hit: _words(hit, persona)),
    )
    show(past.found, columns, empty="nothing is known of that")


def print_episodes(
    episodes: "Sequence[OneMemory]", waiting: "Sequence[Segment]", persona: "Persona"
) -> None:
    """Print the segments that wait to be summarised, then the episodes."""
    from souffleur.report.report import count

    if not episodes and not waiting:
        console.print("[dim]no episodes[/dim]")
    for segment in waiting:
        tried = count(segment.tries, "time")
        tries = f", tried {tried}: {segment.error}" if segment.tries else ""
        when = _local(segment.since, persona)
        wait = count(segment.messages, "message waits", "messages wait")
        console.print(f"[yellow]{when}  {wait}{escape(tries)}[/]")
    for episode in episodes:
        _print_episode(episode)


def print_portrait(one: "OneMemory | None", persona: "Persona", *, as_json: bool) -> None:
    """Print the current portrait, or a sentence that there is no portrait yet."""
    from souffleur.prompts import render

    if as_json:
        print_json(plain(one))
    elif one is None:
        console.print(render("cold_start", persona.language or "en"))
    else:
        console.print(f"[dim]{escape(_head(one, persona))}[/dim]\n")
        console.print(escape(one.content))


def print_versions(found: "Sequence[OneMemory]", persona: "Persona", *, as_json: bool) -> None:
    """Print all versions of a portrait, newest first, with the changes of each."""
    if as_json:
        print_json(plain(found))
        return
    for one in found:
        state = "" if one.state == "active" else f" ({one.state})"
        console.rule(f"[bold]{escape(_head(one, persona))}{state}", align="left")
        for change in one.data.get("changes", ()):
            console.print(f"  [yellow]changed[/]  {escape(str(change))}")
        for dropped in one.data.get("dropped", ()):
            console.print(
                f"  [red]dropped[/]  {escape(dropped['detail'])}: {escape(dropped['why'])}"
            )
        console.print(escape(one.content))


def print_difference(found: "Sequence[OneMemory]", *, as_json: bool) -> None:
    """Print the sentences that the latest version of a portrait added and removed."""
    new, old = ([*found[:2], None, None])[:2]
    lines = differences(old.content if old else "", new.content if new else "")
    if as_json:
        print_json(lines)
        return
    for line in lines or ["  there is no change to show"]:
        colour = {"+": "green", "-": "red"}.get(line[0], "dim")
        console.print(f"[{colour}]{escape(line)}[/]")


def differences(old: str, new: str) -> list[str]:
    """Return the sentences of both, each marked as added (+), removed (-) or kept (two spaces).

    >>> differences("安住里昂。安喝咖啡。", "安住里昂。安喝茶。")
    ['  安住里昂。', '- 安喝咖啡。', '+ 安喝茶。']
    """
    was, now = _sentences(old), _sentences(new)
    return [line for line in difflib.ndiff(was, now) if not line.startswith("?")]


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCES.split(text) if part and part.strip()]


def _print_episode(episode: "OneMemory") -> None:
    data = episode.data
    console.print(f"[bold]{escape(episode.content)}[/]")
    tags = " · ".join([*episode.topics, data.get("intent", ""), data.get("tone", "")])
    console.print(f"  [dim]{escape(tags)}[/]")
    for fact in data.get("key_facts", ()):
        console.print(f"  - {escape(fact)}")
    if data.get("unresolved"):
        console.print(f"  [yellow]? {escape(data['unresolved'])}[/]")


def _words(hit: "Found", persona: "Persona") -> str:
    from souffleur.knowledge.turn import Turn

    if isinstance(hit.item, Turn):
        both = ((persona.user, hit.item.user), (persona.assistant, hit.item.assistant))
        return "\n".join(f"{name}: {text}" for name, text in both if text)
    facts = [f"- {fact}" for fact in hit.item.data.get("key_facts", ())]
    return "\n".join([hit.item.content, *facts])


def _past_data(past: "Past") -> dict[str, Any]:
    return {
        "phrase": past.period.phrase if past.period else None,
        "since": past.since.isoformat() if past.since else None,
        "until": past.until.isoformat() if past.until else None,
        "found": [
            {
                "scope": hit.scope,
                "at": hit.at.isoformat(),
                "score": round(hit.score, 4),
                "item": plain(hit.item),
            }
            for hit in past.found
        ],
    }


def _head(one: "OneMemory", persona: "Persona") -> str:
    known = [str(one.data[key]) for key in ("name", "occupation") if one.data.get(key)]
    version = f"version {one.data.get('version', 1)}, {_local(one.created_at, persona)}"
    return " · ".join([*known, version])


def _local(moment: datetime, persona: "Persona") -> str:
    from souffleur.times import to_minute

    return to_minute(moment, persona.zone)
