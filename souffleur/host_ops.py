"""The ops of a host: a sentence to remember, the definition of a persona, a skill."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from souffleur.errors import InputError
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Boost,
    Forget,
    Importance,
    Op,
    Update,
    Verdict,
    derive_id,
)
from souffleur.knowledge.store.reading import describe_faults
from souffleur.knowledge.text.plain import clean


def add_op(reason: str, content: str, kind: Kind, importance: Importance) -> Add:
    """Return the op that adds a sentence. Raises InputError for an invalid sentence."""
    try:
        return Add(reason=reason, quote="", content=content, kind=kind, importance=importance)
    except ValidationError as error:
        raise InputError(f"this cannot be remembered: {describe_faults(error)}") from None


def definition_ops(sentences: Sequence[str], known: Sequence[Memory]) -> list[Op]:
    """Return the ops that define a persona by sentences, which replace the `known` sentences.

    Raises InputError for an invalid sentence.
    """
    if isinstance(sentences, str):  # else each character would be a sentence
        raise InputError("what a persona is must be a list of sentences, not one text")
    adds = [add_op("defined by the host", one, Kind.FACT, Importance.HIGH) for one in sentences]
    said, there = {add.content for add in adds}, {one.content for one in known}
    gone = [one.id for one in known if one.content not in said]
    ops: list[Op] = [Forget(target=id, reason="defined otherwise by the host") for id in gone]
    system = {"category": Category.SYSTEM}
    return ops + [add.model_copy(update=system) for add in adds if add.content not in there]


def verdict_of(
    ops: Sequence[Op], user_id: str, agent_id: str, *, sphere: str, by: ActorKind, at: datetime
) -> Verdict:
    """Return a new verdict that carries out the ops of a host or user."""
    return Verdict(
        id=derive_id("by hand", uuid.uuid4()),
        user_id=user_id,
        agent_id=agent_id,
        sphere=sphere,
        by=Actor(who=by),
        at=at,
        ops=tuple(ops),
    )


def skill_data(name: str, workflow: Sequence[str], outcome: str) -> dict[str, Any]:
    """Return the `data` of a skill's memory. Raises InputError for a value that is not a text.

    >>> skill_data(" Release ", ["tag it"], "")
    {'skill': 'Release', 'workflow': ['tag it'], 'outcome': ''}
    """
    listed = isinstance(workflow, Sequence) and not isinstance(workflow, str)
    steps: list[Any] = [*workflow] if listed else [None]
    if not all(isinstance(one, str) for one in (name, outcome, *steps)):
        raise InputError("a skill is a text, its workflow a list of texts, its outcome a text")
    plain = [clean(step) for step in steps]
    return {"skill": clean(name).strip(), "workflow": plain, "outcome": clean(outcome).strip()}


def skill_op(data: dict[str, Any], former: Memory | None) -> Op:
    """Return the op that records a skill: `skill`, `workflow`, `outcome`. Raises InputError."""
    if not data["skill"]:
        raise InputError("a skill needs a name")
    if not [step for step in data["workflow"] if step.strip()]:
        raise InputError("a skill needs the steps of its workflow")
    if former and former.data.get("workflow") == data["workflow"]:
        return Boost(target=former.id, reason="it was done this way again")
    content = sentence(data["skill"], data["workflow"], data["outcome"])
    given: dict[str, Any] = {"quote": "", "content": content, "data": data}
    try:
        if former:
            return Update(target=former.id, reason="it was done another way", **given)
        reason, high = "recorded by the host", Importance.HIGH
        return Add(reason=reason, kind=Kind.SKILL, importance=high, **given)
    except ValidationError as error:
        raise InputError(f"this skill cannot be recorded: {describe_faults(error)}") from None


def sentence(name: str, workflow: list[str], outcome: str) -> str:
    """Return a skill as text on one line.

    >>> sentence("Release", ["run the tests", "tag it "], "It went well.")
    'Release: 1. run the tests 2. tag it. It went well.'
    """
    steps = " ".join(f"{number}. {step.strip()}" for number, step in enumerate(workflow, 1))
    return f"{name}: {steps}" + (f". {outcome}" if outcome else "")
