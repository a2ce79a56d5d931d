"""What the campaigns of mutated answers play on: what is known of two users, and what is said."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Forget,
    Importance,
    Op,
    Verdict,
    derive_id,
)
from tests.build import NOW
from tests.scripted import add, answer, boost, delete, update
from tests.stub import Body

API_KEY = "wk-9f8e7d6c5b4a39281706f5e4"
"""The campaign's own, which no log, error or memory may hold."""
BEFORE = NOW - timedelta(days=40)
"""When what is known was told."""
BOBS = ("Zanzibar", "quagga")
"""Words that only bob has said."""

SECRETS = (
    ("hunter2024!", "my password is hunter2024!"),
    ("sk-live-9f8e7d6c5b4a3210", "the key sk-live-9f8e7d6c5b4a3210 is hers"),
    ("4111 1111 1111 1111", "pay with 4111 1111 1111 1111"),
    ("Abc98765", "她的密码是Abc98765"),
    ("tea4two", "postgres://ann:tea4two@db.example.org/tea"),
)
"""What must be found nowhere, and a phrase that shows it to be a secret."""

_NOTES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ann", "Ann is allergic to peanuts.", {"category": Category.CORE}),
    ("ann", "Mo speaks plainly to Ann and never flatters.", {"category": Category.SYSTEM}),
    ("ann", "Ann lives in Lyon.", {"entities": ("Lyon",)}),
    ("ann", "Ann has a cat called Tofu.", {"entities": ("Tofu",)}),
    ("ann", "Tom was Ann's partner until 2024.", {"entities": ("Tom",)}),
    ("ann", "Mo promised Ann a list of good vets.", {"kind": Kind.PROMISE}),
    ("ann", "Ann 每周四晚上练合气道。", {}),
    ("ann", "Ann flies to Oslo on 9 January 2026.", {"expires_at": NOW + timedelta(days=60)}),
    ("ann", "Ann owes Greta 300 euros.", {"entities": ("Greta",)}),
    ("bob", "Bob keeps bees in Zanzibar.", {"entities": ("Zanzibar",)}),
    ("bob", "Bob hides a quagga in the cellar.", {"category": Category.CORE}),
)
FORGOTTEN = "Ann owes Greta 300 euros."
CORE = "Ann is allergic to peanuts."
SYSTEM = "Mo speaks plainly to Ann and never flatters."


def ids_of(user_id: str) -> list[str]:
    """Return the ids of what is known of a user, before anything was observed."""
    verdict_id = derive_id("scene", user_id)
    return [derive_id("memory", verdict_id, place) for place in range(len(_adds(user_id)))]


async def furnish(knowledge: KnowledgeBase) -> None:
    """Put what is known into a new store, and forget one memory of it."""
    for user_id in ("ann", "bob"):
        done = await knowledge.apply(_verdict(derive_id("scene", user_id), user_id, _adds(user_id)))
        assert not [outcome.refused for outcome in done if outcome.refused]
    gone = next(
        id
        for id, note in zip(ids_of("ann"), _adds("ann"), strict=True)
        if note.content == FORGOTTEN
    )
    forget: Op = Forget(target=gone, reason="settled")
    await knowledge.apply(_verdict(derive_id("scene", "forgotten"), "ann", [forget]))


def _adds(user_id: str) -> list[Add]:
    usual = {"reason": "known before", "quote": "", "importance": Importance.HIGH}
    return [
        Add.model_validate({**usual, "content": content, **fields})
        for owner, content, fields in _NOTES
        if owner == user_id
    ]


def _verdict(id: str, user_id: str, ops: list[Any]) -> Verdict:
    return Verdict(id=id, user_id=user_id, by=Actor(who=ActorKind.HOST), at=BEFORE, ops=tuple(ops))


@dataclass(frozen=True)
class Exchange:
    """What is said in a turn, and how a good judge answers it."""

    user: str
    assistant: str
    private: str
    """Words of the user that nothing but the store and the model may get to see."""
    judge: Callable[[dict[str, str]], dict[str, Any]]
    """From the handles of what is known, by content, to the answer."""

    def judged(self, body: Body) -> dict[str, Any]:
        """Return the good answer to a request."""
        return self.judge(shown(body))


def shown(body: Body) -> dict[str, str]:
    """Return the memories that a request shows: the handle of each, by its content."""
    known = re.findall(r"^(m\d+)\*? \[[^]]*\] (.+)$", question(body), re.MULTILINE)
    return {content: handle for handle, content in known}


def question(body: Body) -> str:
    """Return what a request asks about, without rules and what was said back and forth since."""
    asked: str = body["messages"][1]["content"] if len(body["messages"]) > 1 else ""
    return asked


_MOVED = Exchange(
    user="I moved from Lyon to Berlin last week, Tofu came along. 🐈 My psoriasis is back since "
    "Sunday night, and it itches.",
    assistant="Welcome to Berlin! I promise to find you a dermatologist near Kreuzberg.",
    private="My psoriasis is back since Sunday night, and it itches.",
    judge=lambda known: answer(
        update(
            known.get("Ann lives in Lyon.", "m1"),
            "Ann lives in Berlin; she moved from Lyon in late December 2025.",
            "I moved from Lyon to Berlin last week",
            entities=["Berlin", "Lyon"],
        ),
        add(
            "Ann's psoriasis is back since Sunday night.",
            "My psoriasis is back since Sunday night",
            kind="context",
            since="2025-12-28",
        ),
        add(
            "Mo promised Ann to find her a dermatologist near Kreuzberg.",
            "I promise to find you a dermatologist",
            kind="promise",
            entities=["Kreuzberg"],
            until="2026-02-01",
        ),
        boost(known.get("Ann has a cat called Tofu.", "m2")),
        reason="She moved and her psoriasis is back since Sunday night.",
    ),
)
_FORGET = Exchange(
    user="Please forget all about Tom. He cheated on me with my own sister in Marseille.",
    assistant="It is forgotten. I am sorry that he did that.",
    private="He cheated on me with my own sister in Marseille.",
    judge=lambda known: answer(
        delete(known.get("Tom was Ann's partner until 2024.", "m1"), "forget all about Tom"),
        add(
            "Ann's sister lives in Marseille.",
            "my own sister in Marseille",
            kind="relationship",
            entities=["Marseille"],
        ),
        reason="She wants Tom to be forgotten.",
    ),
)
_AIKIDO = Exchange(
    user="合气道改到周六了。另外，我上周被公司裁员了，还没有告诉我妈妈任何事情。",
    assistant="周六挺好的。裁员的事我会替你保密。",
    private="我上周被公司裁员了，还没有告诉我妈妈任何事情。",
    judge=lambda known: answer(
        update(
            known.get("Ann 每周四晚上练合气道。", "m1"),
            "Ann 每周六练合气道（以前是周四晚上）。",
            "合气道改到周六了",
        ),
        add("Ann 2025年12月被公司裁员了。", "我上周被公司裁员了", kind="moment", importance="high"),
        reason="她被裁员了，合气道改到周六。",
    ),
)
_SECRET = Exchange(
    user="Note it: my password is hunter2024! and I like white tea. Ask nobody about my debts at "
    "the casino in Evian.",
    assistant="White tea it is. I would rather not note passwords.",
    private="Ask nobody about my debts at the casino in Evian.",
    judge=lambda known: answer(
        add("Ann likes white tea.", "I like white tea", kind="preference"),
        boost(known.get("Mo promised Ann a list of good vets.", "m1")),
        reason="She likes white tea.",
    ),
)
EXCHANGES = (_MOVED, _FORGET, _AIKIDO, _SECRET)
