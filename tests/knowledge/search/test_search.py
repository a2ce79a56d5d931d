"""Search: what names and relations lead to, and what a read may never return."""

from dataclasses import replace
from typing import Any

import pytest

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, MemoryState, Relation
from souffleur.knowledge.operation import ActorKind, Edit, Update, derive_id
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.store.codecs import to_point
from tests.build import NOW, an_add, by_hand, days, keep, memory, verdict


async def test_a_common_name_says_nothing(base: KnowledgeBase) -> None:
    """A name on six memories leads to three others at most, a name on seven to none."""
    cat = await keep(base, "Ann's cat is called Tofu.", entities=("Tofu",))
    for word in ("chicken", "garden", "Sunday", "vaccine", "basket"):
        await keep(base, f"Remember the {word}.", entities=("Tofu",))

    async def led_to() -> int:
        best, *others = await base.search(Query("ann", "How is Tofu, your cat?", NOW))
        assert best.memory == cat
        return sum(hit.parts["hop"] > 0 for hit in others)

    assert await led_to() == 3
    await keep(base, "Remember the collar.", entities=("Tofu",))
    assert await led_to() == 0


@pytest.mark.parametrize(("stored", "asked"), [("綠茶", "绿茶"), ("绿茶", "綠茶")])
async def test_traditional_finds_simplified(base: KnowledgeBase, stored: str, asked: str) -> None:
    """And the other way round, whatever the embedder makes of it."""
    await keep(base, f"安喝{stored}。")
    await keep(base, "安住在里昂。")
    hits = await base.search(Query("ann", f"{asked}？", NOW, relevant=True))
    assert [hit.memory.content for hit in hits] == [f"安喝{stored}。"]


async def test_a_relation_leads_to_no_other_user(base: KnowledgeBase) -> None:
    """A link to another user's memory leads nowhere, now and as of then."""
    (theirs,) = await base.apply(verdict(an_add("Vet visit."), who=ActorKind.HOST, user_id="bob"))
    tofu = await keep(base, "Ann's cat is called Tofu.")
    link = {"to": theirs.memory_ids[0], "type": "supports", "strength": 0.5}
    await base.memories.merge_payload([tofu.id], {"relations": [link]})
    for as_of in (None, NOW):
        hits = await base.search(Query("ann", "How is Tofu, your cat?", NOW, as_of=as_of))
        assert [hit.memory.id for hit in hits] == [tofu.id]


@pytest.mark.parametrize(
    ("fields", "now", "then", "of_mo"),
    [
        ({}, True, True, False),
        ({"agent_id": "mo"}, True, True, True),
        ({"state": MemoryState.SUPERSEDED}, False, True, False),
        ({"state": MemoryState.PENDING}, False, False, False),
        ({"state": MemoryState.ARCHIVED}, False, False, False),
        ({"state": MemoryState.FORGOTTEN}, False, False, False),
        ({"valid_from": NOW - days(5)}, True, True, False),
        ({"valid_from": NOW - days(3)}, True, False, False),
        ({"valid_until": NOW - days(4)}, False, False, False),
        ({"valid_until": NOW - days(3)}, False, True, False),
        ({"expires_at": NOW - days(4)}, False, False, False),
    ],
)
async def test_a_relation_leads_to_what_a_search_may_find(
    base: KnowledgeBase, fields: dict[str, Any], now: bool, then: bool, of_mo: bool
) -> None:
    """Now, as of four days ago, of one persona, over or not: as what is found itself."""
    born: dict[str, Any] = {"created_at": NOW - days(9), "valid_from": NOW - days(9)}
    other = memory("Vet visit paid in cash.", **{**born, **fields})
    link = Relation(to=other.id, type="supports", strength=0.5)
    cats = [
        memory(f"{name} cat is called Tofu.", agent_id=name, relations=(link,), **born)
        for name in ("default", "mo")
    ]
    every = [other, *cats]
    vectors = await base.embedder.embed([one.content for one in every])
    await base.memories.put([to_point(one, v) for one, v in zip(every, vectors, strict=True)])

    async def found(text: str, **query: Any) -> bool:
        hits = await base.search(Query("ann", text, NOW, **query))
        return other.id in {hit.memory.id for hit in hits if hit.relevant}

    ever = fields.get("state") not in {MemoryState.PENDING, MemoryState.FORGOTTEN}
    asked: list[dict[str, Any]] = [{}, {"as_of": NOW - days(4)}, {"agent_id": "mo"}, {"over": None}]
    for text in ("How is Tofu, your cat?", "The vet visit in cash?"):
        assert [await found(text, **query) for query in asked] == [now, then, of_mo, ever]
    assert await found("The vet visit in cash?", over=True) is (ever and not now)


async def test_a_boundary_leads_to_nothing_that_it_speaks_of(base: KnowledgeBase) -> None:
    """What must not be brought up is not found by way of the boundary."""
    loss = memory("Vet visit paid in cash.")
    for kind, led in (("guards", False), ("supports", True)):
        link = Relation(to=loss.id, type=kind, strength=1.0)
        boundary = memory("Never speak of Tofu.", kind=Kind.BOUNDARY, relations=(link,))
        vectors = await base.embedder.embed([loss.content, boundary.content])
        both = zip((loss, boundary), vectors, strict=True)
        await base.memories.put([to_point(one, vector) for one, vector in both])
        hits = await base.search(Query("ann", "Never speak of Tofu?", NOW))
        assert (loss.id in {hit.memory.id for hit in hits if hit.relevant}) is led


async def test_what_a_name_leads_to_counts_less(base: KnowledgeBase) -> None:
    """Three fifths of the hit that led there; what is not relevant itself leads nowhere."""
    cat = await keep(base, "Ann's cat is called Tofu.", entities=("Tofu",))
    vet = await keep(base, "Bring cash to the vet.", entities=("Tofu",))
    hits = {hit.memory.id: hit for hit in await base.search(Query("ann", "Is Tofu a cat?", NOW))}
    assert hits[vet.id].parts["hop"] == pytest.approx(0.6 * hits[cat.id].relevance)
    vague = await base.search(Query("ann", "hm", NOW, context="Who calls at this hour?"))
    assert 0.2 < max(hit.relevance for hit in vague) < 0.3
    assert [hit.parts["hop"] for hit in vague] == [0, 0]


async def test_each_of_the_best_three_leads_on(base: KnowledgeBase) -> None:
    """The names of the third best are followed as well; those of the fourth are not."""
    places = ("Lyon", "Oslo", "Rome", "Bonn")
    for count, place in enumerate(places):
        await keep(base, "green tea " * (4 - count) + "every day " * count, entities=(place,))
        await keep(base, f"Sunny weather, said number {count}.", entities=(place,))
    found = await base.search(Query("ann", "green tea", NOW, limit=20))
    named = [hit.memory.entities[0] for hit in found if not hit.parts["hop"] and hit.relevant]
    led_to = {hit.memory.entities[0] for hit in found if hit.parts["hop"]}
    assert len(named) == 4
    assert led_to == set(named[:3])


@pytest.mark.parametrize(("relevance", "passes"), [(0.299, False), (0.3, True)])
def test_the_gate(relevance: float, passes: bool) -> None:
    """What is less relevant than three tenths is not whispered."""
    assert Found(memory(), 0.0, relevance, 0.0).relevant is passes


async def test_the_relevant_are_those_of_an_ordinary_search(base: KnowledgeBase) -> None:
    """Asked for alone, they are as many and in the same order, behind what matters more as well."""
    words = ("green", "tea", "at", "four")
    rest = ("we", "met", "her", "old", "cousin", "by", "train")
    texts = [" ".join((*words[:few], *rest[some:])) for few in range(5) for some in range(7)]
    told = [
        memory(text, importance=4.0 * (place % 3), anchor_at=NOW - days(50 * (place % 2)))
        for place, text in enumerate(texts)
    ]
    vectors = await base.embedder.embed(texts)
    await base.memories.put([to_point(one, v) for one, v in zip(told, vectors, strict=True)])
    displaced = 0
    for limit in range(1, 36):
        query = Query("ann", "green", NOW, limit=limit)
        all_of_them = await base.search(query)
        relevant = [hit for hit in all_of_them if hit.relevant]
        assert await base.search(replace(query, relevant=True)) == relevant
        displaced += all_of_them[: len(relevant)] != relevant
    assert displaced


@pytest.mark.parametrize("fields", ["importance", "anchor_at"])
async def test_of_equals_the_important_and_the_new_come_first(
    base: KnowledgeBase, fields: str
) -> None:
    """Neither makes up for being meant less."""
    texts = ("Ann likes green tea.", "Ann likes tea, green", "Likes Ann green tea?", "Green day.")
    better: dict[str, list[Any]] = {
        "importance": [0.7, 1.0, 1.5, 2.9],
        "anchor_at": [NOW - days(count) for count in (3, 2, 1, 0)],
    }
    ids = sorted(derive_id("test", index) for index in range(4))  # of full equals the first comes
    every = [
        memory(text, id=id, **{"importance": 3.0, fields: value})
        for text, id, value in zip(texts, ids, better[fields], strict=True)
    ]
    vectors = await base.embedder.embed([one.content for one in every])
    await base.memories.put([to_point(one, v) for one, v in zip(every, vectors, strict=True)])
    found = await base.search(Query("ann", "Ann likes green tea", NOW))
    assert [hit.memory.id for hit in found] == [ids[2], ids[1], ids[0], ids[3]]


async def test_a_talk_past_midnight_is_of_both_days(base: KnowledgeBase) -> None:
    """An episode belongs to each time into which its talk lasted, and to no other."""
    talk = memory("Ann talked on.", category=Category.EPISODE, valid_from=NOW, created_at=NOW)
    talk = talk.model_copy(update={"created_at": NOW + days(1), "expires_at": NOW + days(15)})
    (vector,) = await base.embedder.embed([talk.content])
    await base.memories.put([to_point(talk, vector)])

    async def told(start: float, end: float) -> bool:
        since, until = NOW + days(start), NOW + days(end)
        return bool(
            await base.turns_and_episodes_between(
                Query("ann", "", NOW + days(9), since=since, until=until)
            )
        )

    spans = [(-1, 0), (-1, 0.5), (0, 2), (0.5, 0.6), (0.5, 2), (1.1, 2)]
    assert [await told(*span) for span in spans] == [False, True, True, True, True, False]


async def test_a_memory_is_found_by_its_cues(base: KnowledgeBase) -> None:
    """A message that shares no word with it brings it; its own words count more."""
    fear = await keep(base, "Ann is afraid of flying.", cues=("quickest way to Lisbon",))
    trip = await keep(base, "Ann was in Lisbon by the quickest way.")
    await keep(base, "Ann likes tea.", cues=("thirsty",))
    hits = await base.search(Query("ann", "the quickest way to Lisbon?", NOW))
    assert [hit.memory.id for hit in hits if hit.relevant] == [trip.id, fear.id]
    assert hits[1].parts["cue_lexical"] > 0 == hits[1].parts.get("lexical", 0)


async def test_cues_are_those_of_the_words_in_force(base: KnowledgeBase) -> None:
    """Other words bring other cues: those of a replaced memory lead to it no more."""
    fear = await keep(base, "Ann is afraid of flying.", cues=("quickest way to Lisbon",))

    async def found(text: str) -> bool:
        return any(hit.relevant for hit in await base.search(Query("ann", text, NOW)))

    assert await found("the quickest way to Lisbon?")
    change = {"target": fear.id, "content": "Ann flies gladly.", "cues": ("upgrade me",)}
    said = {"reason": "r", "quote": ""}
    (entry,) = await base.apply(verdict(Update(**said, **change), who=ActorKind.HOST, name="u"))
    new = entry.changes[0].after
    assert (new.cues, await found("upgrade me")) == (("upgrade me",), True)
    assert not await found("the quickest way to Lisbon?")
    edited = await by_hand(base, Edit(target=new.id, reason="r", content="Ann flew once."))
    assert edited.changes[0].after.cues == ()
    assert not await found("upgrade me")
