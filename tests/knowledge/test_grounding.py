"""What may be kept of what was said: names, numbers, dates, negations and subjects."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from souffleur.knowledge.grounding import MAX_COMPARED, Grounds
from souffleur.knowledge.memory import Memory, Speaker
from souffleur.knowledge.operation import Add, Delete, Said, Update
from tests.build import memory, verdict

FRIDAY = datetime(2026, 3, 6, 18, tzinfo=UTC)
CALLED = ("Ann", "Mo", "主人", "ユーザー")


def grounds(user: str, *, assistant: str = "ok", earlier: str = "", known: str = "") -> Grounds:
    """What a judge saw on a Friday."""
    both = ((Speaker.USER, user), (Speaker.ASSISTANT, assistant))
    said = [Said(turn_id="t", speaker=who, text=text, at=FRIDAY) for who, text in both]
    before = [Said(turn_id="e", speaker=Speaker.USER, text=earlier, at=FRIDAY)]
    return Grounds(verdict(said=said, earlier=before, known=[known], called=CALLED))


def unfounded(
    user: str, content: str, entities: Sequence[str] = (), *targets: Memory, **seen: str
) -> list[str]:
    """What of a content is unfounded, where a quote has all that the user said."""
    op = Add(reason="r", quote=user, content=content, entities=tuple(entities))
    return grounds(user, **seen).unfounded(op, targets)


@pytest.mark.parametrize(
    ("user", "content"),
    [
        ("I bought a bike", "Ann bought a bike."),
        ("I bought a bike", "Ann bought a bike on 6 March 2026."),
        ("I bought a bike", "Ann bought a bike in March 2026."),
        ("I bought a bike yesterday", "Ann bought a bike on 2026-03-05."),
        (
            "see the dentist next Tuesday at five",
            "Ann sees the dentist on Tuesday 10 March 2026 at 17:00.",
        ),
        (
            "I see the dentist on Tuesday at half past five",
            "Ann sees the dentist on 2026-03-10 at 17:30.",
        ),
        ("we meet at noon", "They meet at 12:00."),
        ("my flight is at quarter to six", "Ann's flight is at 5:45."),
        ("my train is at twenty to ten", "Ann's train is at 9:40."),
        ("it takes me an hour and a half", "Ann's commute is 1.5 hours."),
        ("I lost half a kilo", "Ann lost 0.5 kg."),
        ("We got married three years ago", "Ann got married in 2023."),
        ("I've been here since last May", "Ann has been there since May 2025."),
        ("I turn thirty next month", "Ann turns 30 in April 2026."),
        ("two cats and a dog", "Ann has 2 cats and 1 dog."),
        ("I have a dozen hens", "Ann has 12 hens."),
        ("my third marathon", "Ann ran her 3rd marathon."),
        ("I was born in '94", "Ann was born in 1994."),
        ("我2025年去过柳州", "Ann讲TA2025年去过柳州。"),
        ("my rent is 1.2k a month", "Ann's rent is 1200 a month."),
        ("i moved to barcelna", "Ann moved to Barcelona."),
        ("i study cs at uni", "Ann studies Computer Science at university."),
        ("i'm from nyc", "Ann is from New York City."),
        ("i'm into buddhism", "Ann is a Buddhist."),
        ("we vacation in new zealand", "Ann goes on vacation to New Zealand."),
        ("I use vscode", "Ann uses VS Code."),
        ("I use vs code", "Ann uses VSCode."),
        ("我昨天买了辆自行车", "主人2026年3月5日买了一辆自行车。"),
        ("我下周三考试", "主人2026年3月11日考试。"),
        ("我三十岁了", "主人30岁。"),
        ("我养了两只猫", "主人养了2只猫。"),
        ("我下午三点半开会", "主人下午3:30开会。"),
        ("我女儿五岁半", "主人的女儿5岁半。"),
        ("我和劉偉養了兩隻貓", "主人和刘伟养了2只猫。"),
        ("五百块买的", "主人花500元买的。"),
        ("月底搬家", "主人2026年3月底搬家。"),
        ("昨日自転車を買った", "ユーザーは2026年3月5日に自転車を買った。"),
        ("来週の火曜に歯医者", "ユーザーは2026年3月10日に歯医者に行く。"),
        ("猫が三匹いる", "ユーザーは猫を3匹飼っている。"),
        ("Ich habe zwei Katzen", "Ann hat 2 Katzen."),
        ("Ich habe gestern ein Fahrrad gekauft", "Ann hat am 5. März 2026 ein Fahrrad gekauft."),
        ("Tengo dos gatos", "Ann tiene 2 gatos."),
        ("고양이 세 마리를 키워", "Ann은 고양이 3마리를 키운다."),
        ("我住在东京", "Ann lives in Tokyo."),
        ("I live in Tokyo", "主人住在东京。"),
        ("She's called Mia, born May 3rd", "Ann's daughter is called Mia, born on 3 May."),
        (
            "my sister and my brother visited",
            "Ann's two siblings, her sister and her brother, visited.",
        ),
        ("Mom's birthday is on the 20th", "Ann's mother's birthday is on 20 March 2026."),
        ("It's Christmas dinner at ours", "Ann hosts dinner on 25 December 2026."),
        ("I go running on Sundays", "Ann goes running on Sundays."),
        ("I started in 2019 and left after 3 years", "Ann worked there from 2019 to 2022."),
        ("I gave her fifty percent", "Ann gave her 50%."),
        ("half of it is mine", "Ann owns 50% of it."),
        ("it cost me twenty-five hundred", "It cost Ann 2,500."),
        ("I weigh 62 kilos", "Ann weighs 62 kg."),
        ("the second kid is due in June", "Ann's 2nd child is due in June 2026."),
        ("I'm 5'11\"", "Ann is 5'11\" tall."),
        ("we have been dating for 6 months", "Ann has been dating since September 2025."),
        ("my exam is in a week", "Ann's exam is on 13 March 2026."),
        ("I am on mat leave", "Ann is on maternity leave."),
        ("My son starts at St. Mary's", "Ann's son starts at St Mary's."),
        ("iPhone 15 pro max", "Ann has an iPhone 15 Pro Max."),
        ("I love the beatles", "Ann loves The Beatles."),
        ("see you tmrw at the party", "Ann is at a party on 7 March 2026."),
        ("I like tea 🍵", "Ann likes tea 🍵."),
        ("I quit smoking", "Ann no longer smokes."),
        ("好久没去上海了", "主人很久没去上海了。"),
        ("I've got a meeting on mon", "Ann has a meeting on 9 March 2026."),
        ("i broke up with tom in feb", "Ann broke up with Tom in February 2026."),
        ("weihnachten fahren wir nach Rom", "Ann fährt am 25. Dezember 2026 nach Rom."),
        ("J'ai acheté un vélo hier", "Ann a acheté un vélo le 5 mars 2026."),
    ],
)
def test_what_follows_from_what_was_said_may_be_kept(user: str, content: str) -> None:
    """In digits or words, worked out from the day, spelt otherwise, or translated."""
    assert unfounded(user, content) == []


@pytest.mark.parametrize(
    ("user", "content", "entities"),
    [
        ("I bought a bike", "Ann bought a red Ferrari for 90,000 euros in 2019.", ()),
        ("I bought a bike", "Ann bought a bike in 2019.", ()),
        ("I bought a bike", "Ann bought a bike on 12 February 2026.", ()),
        ("I bought a bike yesterday", "Ann bought a bike on 12 February 2026.", ()),
        ("I have two cats", "Ann has 3 cats.", ()),
        ("I have 2 cats", "Ann has three cats.", ()),
        ("I bought a bike", "Ann bought a bike for 300 euros.", ()),
        ("my sister called", "Ann's sister Mia called.", ()),
        ("I like tea", "Ann does not like tea.", ()),
        ("I don't like tea", "Ann likes tea.", ()),
        ("我买了自行车", "主人2019年花九千块买了法拉利。", ()),
        ("我买了自行车", "主人2019年买了自行车。", ()),
        ("我有两只猫", "主人有三只猫。", ()),
        ("我喜欢茶", "主人不喜欢茶。", ()),
        ("自転車を買った", "ユーザーは2019年に自転車を買った。", ()),
        ("猫が二匹いる", "ユーザーは猫を3匹飼っている。", ()),
        ("お茶が好き", "ユーザーはお茶が好きではない。", ()),
        ("I'm 34", "Ann is 43.", ()),
        ("it costs 1,200", "It costs Ann 12,000.", ()),
        ("dinner at seven", "Ann has dinner at 20:00.", ()),
        ("I work at Google", "Ann works at Meta.", ()),
        ("Ich habe ein Fahrrad gekauft", "Ann hat 2019 ein Fahrrad gekauft.", ()),
        ("I sold my car yesterday", "Ann sold her Tesla on 5 March 2026.", ()),
        ("50% of it is mine", "Ann owns 60% of it.", ()),
        ("我妹妹来了", "主人的妹妹小雨来了。", ("小雨",)),
        ("we met in May 2021", "Ann met him in May 2012.", ()),
        ("J'ai acheté un vélo", "Ann a acheté un vélo à 900 euros.", ()),
        ("Who is Zoe?", "Ann is called Zoe Miller.", ()),
    ],
)
def test_what_nobody_said_is_unfounded(user: str, content: str, entities: Sequence[str]) -> None:
    """A name, number or date that was made up, or the opposite of what was said."""
    assert unfounded(user, content, entities)


def test_all_that_the_judge_saw_counts() -> None:
    """The reply, the messages before, the memories shown, and the memory that is replaced."""
    content = "Ann met Zoe Miller."
    assert unfounded("I met her", content) == ["Zoe Miller"]
    assert unfounded("I met her", content, assistant="Zoe Miller?") == []
    assert unfounded("I met her", content, earlier="Zoe Miller is in town") == []
    assert unfounded("I met her", content, known="Ann's sister is Zoe Miller.") == []
    assert unfounded("I met her", content, (), memory("Ann knows Zoe Miller.")) == []


def test_a_name_beside_the_users_name_is_read_apart() -> None:
    """Neighbouring words with capitals are no new name where one of them is the user's."""
    assert unfounded("I parted from Fergal", "Since parting from Fergal Ann is alone.") == []
    assert unfounded("I parted", "Since parting from Fergal Ann is alone.") == ["Fergal"]


def test_a_very_long_talk_is_not_compared() -> None:
    """It would hold up everything else; its quote is looked for all the same."""
    assert unfounded("I met her " * (MAX_COMPARED // 10), "Ann met Zoe Miller.") == []


PEANUTS = memory("Ann is allergic to peanuts.", cues=("what may I eat",))
LYON = memory("Ann lives in Lyon.", entities=("Lyon",))
PEANUTS_ZH = memory("主人对花生过敏。")
PEANUTS_JA = memory("ユーザーはピーナッツアレルギーがある。")


@pytest.mark.parametrize(
    ("user", "target", "content", "expected"),
    [
        ("I like tea", PEANUTS, None, True),
        ("I never was allergic, they tested it", PEANUTS, None, False),
        ("peanuts are fine now", PEANUTS, None, False),
        ("I can eat what I want", PEANUTS, None, False),
        ("I like tea", memory("Ann likes jazz."), None, True),
        ("I moved to Rome", PEANUTS, "Ann moved to Rome.", True),
        ("I moved to Rome", LYON, "Ann moved from Lyon to Rome.", False),
        ("I moved to Rome", LYON, "Ann lives in Rome.", False),
        ("I moved to Rome", memory("Ann commutes by tram."), "Ann commutes by bus.", False),
        ("我喜欢茶", PEANUTS_ZH, None, True),
        ("我对花生不过敏", PEANUTS_ZH, None, False),
        ("我搬到罗马了", PEANUTS_ZH, "主人搬到了罗马。", True),
        ("花生可以吃了", PEANUTS_ZH, "主人可以吃花生了。", False),
        ("ローマに引っ越した", PEANUTS_JA, "ユーザーはローマに引っ越した。", True),
        ("アレルギーじゃなかった", PEANUTS_JA, None, False),
        ("I like tea", PEANUTS_ZH, None, False),
    ],
)
def test_a_memory_changes_for_what_is_said_of_it(
    user: str, target: Memory, content: str | None, expected: bool
) -> None:
    """A rare word, a name or a cue is shared; code does not read whether a translation is."""
    fields = {"target": "m1", "reason": "r", "quote": user}
    op = Update(content=content, **fields) if content else Delete(**fields)
    assert grounds(user).is_unrelated(op, target) is expected
