"""The past: `ask`, `why`, the episodes of `list`, and `user profile`."""

import difflib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

from rich.markup import escape
from typer import Argument, Option

from souffleur.cli.command import Result, on_memory, printed
from souffleur.cli.console import console
from souffleur.cli.memory import (
    hint_at_others,
    inspect,
    with_memory,
    with_model,
)
from souffleur.cli.options import ME, Agent, User, flag
from souffleur.cli.tables import show
from souffleur.knowledge.text.plain import single_line
from souffleur.report.phrases import count
from souffleur.times import to_minute

if TYPE_CHECKING:
    from souffleur.agents.brief import Persona
    from souffleur.cli.memory import Memory
    from souffleur.inspection import WhisperedTurn
    from souffleur.knowledge.memory import Memory as OneMemory
    from souffleur.knowledge.search.query import Found
    from souffleur.knowledge.session import Segment
    from souffleur.recall.past import Past

_BECAUSE = {
    "said": "about what was said",
    "linked": "shares a name with it",
    "plan": "due on {day}",
    "boundary": "not to be raised",
    "always": "always in mind",
    "self": "what the persona is",
    "lasting": "usually in mind",
}
"""What each reason is called, by its value."""
_USUAL = ("always", "self", "lasting", "boundary")
"""The reasons that hold for any message."""
_SCOPES = {"memories": "memory", "episodes": "episode", "turns": "turn"}
_SENTENCES = re.compile(r"(?<=[。！？!?])|(?<=\.)\s+|\n+")


@printed
def ask(
    text: Annotated[str, Argument(help='Such as "上周我们聊了什么" or "last time".')],
    user: User = ME,
    agent: Agent = "default",
    limit: Annotated[int, Option(min=1, max=50)] = 8,
    think: Annotated[bool, flag("--think", "Let the model search and answer.")] = False,
) -> Result:
    """Search what was talked about at a time, or on a topic; asks no model without --think."""

    async def work(memory: "Memory") -> Result:
        past = await memory.ask(text, user_id=user, agent_id=agent, limit=limit, think=think)
        if not past.found:
            await hint_at_others(memory, user)
        persona = (await memory.cast()).persona(user, agent)
        return Result(_past_data(past), lambda: print_past(past, persona))

    return with_model(work) if think else with_memory(work)


@printed
@on_memory
async def why(
    memory: "Memory",
    user: User = ME,
    last: Annotated[int, Option(min=1, max=50, help="Number of the latest replies.")] = 3,
    all: Annotated[bool, flag("--all", "Show what is usually in mind, too.")] = False,
) -> Result:
    """Show what was whispered before the latest replies, and why."""
    found = await inspect(memory).reasons(user_id=user, last=last)
    if not found:
        await hint_at_others(memory, user)
    zone = (await memory.cast()).zone(user)
    return Result(found, lambda: _print_reasons(found, zone, every=all))


def _print_reasons(found: "Sequence[WhisperedTurn]", zone: ZoneInfo, *, every: bool) -> None:
    for one in found:
        said = single_line(one.turn.user or one.turn.assistant)
        console.print(f"[dim]{to_minute(one.turn.at, zone)}[/] [bold]{escape(said)}[/]")
        shown = [because for because in one.reasons if every or because.why not in _USUAL]
        for because in shown:
            about = _BECAUSE[because.why].format(day=because.day)
            text = escape(single_line(because.memory.content))
            console.print(f"  [cyan]{about}[/]  {text}", soft_wrap=True)
        if more := len(one.reasons) - len(shown):
            console.print(f"  [dim]and {more} that are usually in mind: see --all[/]")
        if not one.reasons:
            console.print("  [dim]nothing was whispered[/]")


async def list_episodes(memory: "Memory", user: str, limit: int) -> Result:
    """Return the segments that wait to be summarised, then the episodes, newest first."""
    waiting = await inspect(memory).segments(user_id=user)
    episodes = await memory.episodes(user_id=user, limit=limit)
    if not episodes and not waiting:
        await hint_at_others(memory, user)
    persona = (await memory.cast()).persona(user)
    data = {"waiting": waiting, "episodes": episodes}
    return Result(data, lambda: print_episodes(episodes, waiting, persona))


@printed
def profile(
    user: User = ME,
    agent: Agent = "default",
    history: Annotated[bool, flag("--history", "Show all versions.")] = False,
    diff: Annotated[bool, flag("--diff", "Show what the latest version changed.")] = False,
    write: Annotated[bool, flag("--write", "Rewrite it now; needs the model's endpoint.")] = False,
) -> Result:
    """Show the portrait of a user, as the companion understands them."""

    async def work(memory: "Memory") -> Result:
        persona = (await memory.cast()).persona(user)
        if diff:
            lines = _differences(await _versions(memory, user, agent))
            return Result(lines, lambda: print_differences(lines))
        if history:
            versions = await _versions(memory, user, agent)
            return Result(versions, lambda: print_versions(versions, persona))
        portrait = await memory.portrait(user_id=user, agent_id=agent)
        if portrait is None:
            await hint_at_others(memory, user)
        return Result(portrait, lambda: print_portrait(portrait, persona))

    if write:
        with_model(lambda memory: memory.write_portrait(user_id=user, agent_id=agent))
    return with_memory(work)


async def _versions(memory: "Memory", user: str, agent: str) -> "list[OneMemory]":
    """Return all versions of a portrait, the latest first."""
    from souffleur.knowledge.memory import Category

    every = await memory.list(user_id=user, agent_id=agent, category=Category.PROFILE, state=None)
    return sorted(every, key=lambda one: -int(one.data.get("version", 0)))


def print_past(past: "Past", persona: "Persona") -> None:
    """Print the answer to a question about the past, with its dates, or with what it rests on."""
    if past.thought:
        console.print(escape(past.thought.answer) or "[dim]it is not known[/dim]")
        if not past.thought.known:
            return
    if past.since and past.until:
        begin, end = (_local(moment, persona) for moment in (past.since, past.until))
        console.print(f"[dim]{begin} to {end}[/dim]")
    columns = (
        ("when", lambda hit: _local(hit.at, persona)),
        ("", _kind),
        ("what", lambda hit: _words(hit, persona)),
    )
    show(past.found, columns, empty="nothing is known of that")


def _kind(hit: "Found") -> str:
    """Return what kind of record it is, and its state if it is not in force."""
    state = hit.item.state
    return _SCOPES[hit.scope] + (f", {state}" if state in {"superseded", "archived"} else "")


def print_episodes(
    episodes: "Sequence[OneMemory]", waiting: "Sequence[Segment]", persona: "Persona"
) -> None:
    """Print the segments that wait to be summarised, then the episodes."""
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


def print_portrait(one: "OneMemory | None", persona: "Persona") -> None:
    """Print the current portrait, or a sentence that there is no portrait yet."""
    from souffleur.prompts import render

    if one is None:
        console.print(render("cold_start", persona.language or "en"))
    else:
        console.print(f"[dim]{escape(_head(one, persona))}[/dim]\n")
        console.print(escape(one.content))


def print_versions(found: "Sequence[OneMemory]", persona: "Persona") -> None:
    """Print all versions of a portrait, newest first, with the changes of each."""
    for one in found:
        state = "" if one.state == "active" else f" ({one.state})"
        console.rule(f"[bold]{escape(_head(one, persona))}{state}", align="left")
        for change in one.data.get("changes", ()):
            console.print(f"  [yellow]changed[/]  {escape(str(change))}")
        for dropped in one.data.get("dropped", ()):
            why = escape(f"{dropped['detail']}: {dropped['why']}")
            console.print(f"  [red]dropped[/]  {why}")
        console.print(escape(one.content))


def print_differences(lines: Sequence[str]) -> None:
    """Print the sentences that the latest version of a portrait added, removed or kept."""
    for line in lines or ["  there is no change to show"]:
        colour = {"+": "green", "-": "red"}.get(line[0], "dim")
        console.print(f"[{colour}]{escape(line)}[/]")


def _differences(versions: "Sequence[OneMemory]") -> list[str]:
    new, old = [one.content for one in versions[:2]] + [""] * (2 - len(versions[:2]))
    return differences(old, new)


def differences(old: str, new: str) -> list[str]:
    """Return the sentences of both texts: each is added (+), removed (-) or kept (two spaces).

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
    found = [
        {"scope": hit.scope, "at": _iso(hit.at), "score": round(hit.score, 4), "item": hit.item}
        for hit in past.found
    ]
    phrase = past.period.phrase if past.period else None
    data = {"phrase": phrase, "since": _iso(past.since), "until": _iso(past.until), "found": found}
    return data | ({"thought": past.thought} if past.thought else {})


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _head(one: "OneMemory", persona: "Persona") -> str:
    known = [str(one.data[key]) for key in ("name", "occupation") if one.data.get(key)]
    version = f"version {one.data.get('version', 1)}, {_local(one.created_at, persona)}"
    return " · ".join([*known, version])


def _local(moment: datetime, persona: "Persona") -> str:
    return to_minute(moment, persona.zone)
