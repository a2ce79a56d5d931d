"""Skills: how something was done, told by the host that did it."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from souffleur.errors import InputError
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import Add, Boost, Importance, Op, Update
from souffleur.knowledge.store.reading import describe_faults
from souffleur.knowledge.text.plain import clean


def skill_data(name: str, workflow: Sequence[str], outcome: str) -> dict[str, Any]:
    """Return what a memory holds of a skill. Raises InputError for what is no text.

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
    """Return a skill as a text of one line.

    >>> sentence("Release", ["run the tests", "tag it "], "It went well.")
    'Release: 1. run the tests 2. tag it. It went well.'
    """
    steps = " ".join(f"{number}. {step.strip()}" for number, step in enumerate(workflow, 1))
    return f"{name}: {steps}" + (f". {outcome}" if outcome else "")
