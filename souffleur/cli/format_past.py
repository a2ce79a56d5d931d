"""The past in the terminal: episodes, raw turns and portraits, with their dates."""

import difflib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from souffleur.agents.brief import Persona
from souffleur.cli.console import console, print_json, to_plain
from souffleur.cli.tables import print_table
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.search.memories import Found, Scope
from souffleur.knowledge.session import Segment
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render
from souffleur.recall.gather import Past
from souffleur.report.report import count
from souffleur.times import to_minute

_SCOPES = {Scope.MEMORIES: "memory", Scope.EPISODES: "episode", Scope.TURNS: "turn"}
_SENTENCES = re.compile(r"(?<=[。！？!?])|(?<=\.)\s+|\n+")


def print_past(found: Past, persona: Persona, *, as_json: bool) -> None:
    """Print what a question about the past found, with its dates."""
    if as_json:
        span = [moment.isoformat() if moment else None for moment in (found.since, found.until)]
        phrase = found.period.phrase if found.period else None
        items = [_item(hit) for hit in found.found]
        print_json({"phrase": phrase, "since": span[0], "until": span[1], "found": items})
        return
    if found.since and found.until:
        begin, end = (_local(moment, persona) for moment in (found.since, found.until))
        console.print(f"[dim]{begin} to {end}[/dim]")
    if not found.found:
        console.print("[dim]nothing is known of that[/dim]")
        return
    table = Table("when", "", Column("what", overflow="fold"), box=box.SIMPLE_HEAD)
    for hit in found.found:
        table.add_row(_local(hit.at, persona), _SCOPES[hit.scope], escape(_what(hit, persona)))
    print_table(table)


def print_episodes(
    told: Sequence[Memory], waiting: Sequence[Segment], persona: Persona, *, as_json: bool
) -> None:
    """Print the segments that wait to be summarised, then the episodes, newest first."""
    if as_json:
        lists = {"waiting": waiting, "episodes": told}
        print_json({key: [to_plain(one) for one in of] for key, of in lists.items()})
        return
    if not told and not waiting:
        console.print("[dim]no episodes[/dim]")
        return
    for segment in reversed(waiting):
        tried = count(segment.tries, "time")
        tries = f", tried {tried}: {segment.error}" if segment.tries else ""
        when = _local(segment.since, persona)
        wait = count(segment.messages, "message waits", "messages wait")
        console.print(f"[yellow]{when}  {wait}{escape(tries)}[/]")
    for episode in told:
        _print_episode(episode)


def print_portrait(one: Memory | None, persona: Persona, *, as_json: bool) -> None:
    """Print the current portrait, or a sentence that says there is none."""
    if as_json:
        print_json(to_plain(one) if one else None)
    elif one is None:
        console.print(render("cold_start", persona.language or "en"))
    else:
        console.print(f"[dim]{escape(_head(one, persona))}[/dim]\n")
        console.print(escape(one.content))


def print_versions(found: Sequence[Memory], persona: Persona, *, as_json: bool) -> None:
    """Print all versions, newest first, with what each changed."""
    if as_json:
        print_json([to_plain(one) for one in found])
        return
    for one in found:
        state = "" if one.state is MemoryState.ACTIVE else f" ({one.state})"
        console.rule(f"[bold]{escape(_head(one, persona))}{state}", align="left")
        for change in one.data.get("changes", ()):
            console.print(f"  [yellow]changed[/]  {escape(str(change))}")
        for dropped in one.data.get("dropped", ()):
            console.print(
                f"  [red]dropped[/]  {escape(dropped['detail'])}: {escape(dropped['why'])}"
            )
        console.print(escape(one.content))


def print_difference(found: Sequence[Memory], *, as_json: bool) -> None:
    """Print the sentences that the latest version added and removed."""
    new, old = ([*found[:2], None, None])[:2]
    lines = diff(old.content if old else "", new.content if new else "")
    if as_json:
        print_json(lines)
        return
    for line in lines or ["  there is no change to show"]:
        colour = {"+": "green", "-": "red"}.get(line[0], "dim")
        console.print(f"[{colour}]{escape(line)}[/]")


def diff(old: str, new: str) -> list[str]:
    """Return the sentences of both, each marked as added (+), removed (-) or kept (two spaces).

    >>> diff("安住里昂。安喝咖啡。", "安住里昂。安喝茶。")
    ['  安住里昂。', '- 安喝咖啡。', '+ 安喝茶。']
    """
    was, now = _sentences(old), _sentences(new)
    return [line for line in difflib.ndiff(was, now) if not line.startswith("?")]


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCES.split(text) if part and part.strip()]


def _print_episode(episode: Memory) -> None:
    data = episode.data
    console.print(f"[bold]{escape(episode.content)}[/]")
    tags = " · ".join([*episode.topics, data.get("intent", ""), data.get("tone", "")])
    console.print(f"  [dim]{escape(tags)}[/]")
    for fact in data.get("key_facts", ()):
        console.print(f"  - {escape(fact)}")
    if data.get("unresolved"):
        console.print(f"  [yellow]? {escape(data['unresolved'])}[/]")


def _what(hit: Found, persona: Persona) -> str:
    if isinstance(hit.item, Turn):
        both = ((persona.user, hit.item.user), (persona.assistant, hit.item.assistant))
        return "\n".join(f"{name}: {text}" for name, text in both if text)
    facts = [f"- {fact}" for fact in hit.item.data.get("key_facts", ())]
    return "\n".join([hit.item.content, *facts])


def _item(hit: Found) -> dict[str, Any]:
    return {
        "scope": hit.scope,
        "at": hit.at.isoformat(),
        "score": round(hit.score, 4),
        "item": to_plain(hit.item),
    }


def _head(one: Memory, persona: Persona) -> str:
    known = [str(one.data[key]) for key in ("name", "occupation") if one.data.get(key)]
    version = f"version {one.data.get('version', 1)}, {_local(one.created_at, persona)}"
    return " · ".join([*known, version])


def _local(moment: datetime, persona: Persona) -> str:
    return to_minute(moment, persona.zone)
