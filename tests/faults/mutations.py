"""The families of what may come instead of a good answer: names, and how each is sent."""

import json
from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any

from tests.faults import (
    mutated_bodies,
    mutated_episodes,
    mutated_fields,
    mutated_ops,
    mutated_portraits,
    mutated_reviews,
    mutated_values,
    mutated_wording,
)
from tests.stub import Behaviour, Body, Response, say

Family = Callable[[Random, dict[str, Any]], Behaviour | str | dict[str, Any]]
"""From a good answer to one that is odd: a response, an answer's words, or its JSON."""


def families_of(*modules: ModuleType) -> dict[str, Family]:
    """Return the public functions of modules of families, by name."""
    return {
        f"{module.__name__.rpartition('_')[2]}: {name.replace('_', ' ')}": family
        for module in modules
        for name, family in vars(module).items()
        if getattr(family, "__module__", "") == module.__name__ and not name.startswith("_")
    }


OF_ANY_ANSWER = families_of(mutated_wording, mutated_bodies, mutated_values)
OF_THE_MONITOR = {**OF_ANY_ANSWER, **families_of(mutated_fields, mutated_ops)}
OF_EPISODES = {**OF_ANY_ANSWER, **families_of(mutated_episodes)}
OF_PORTRAITS = {**OF_ANY_ANSWER, **families_of(mutated_portraits)}
OF_REVIEWS = {**OF_ANY_ANSWER, **families_of(mutated_reviews)}


def respond(family: Family, chance: Random, good: dict[str, Any], body: Body) -> Response:
    """Return what an endpoint sends of this family."""
    odd = family(chance, good)
    if callable(odd):
        return odd(body)
    return say(odd if isinstance(odd, str) else json.dumps(odd, ensure_ascii=False))(body)
