"""Which numbers of a text follow from its material: counts do, measured numbers do not."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.text.counting import unfounded

FOUR = "Bea and Cem came by. Then Dora called, and Emil wrote."
BORN = "Ann was born on 1991-05-09, Edie on 2025-08-21. At sea since 2019."
FRIENDS = "小明、小红、小刚和小丽昨天都来了"


def alien(text: str, material: str, *names: str) -> list[str]:
    return [one.text for one in unfounded(text, material, names)]


@pytest.mark.parametrize(
    ("text", "material"),
    [
        ("Ann has four friends there.", FOUR),
        ("Ann has 4 friends there: Bea, Cem, Dora and Emil.", FOUR),
        ("Four people came.", FOUR),
        ("Two dates matter to her.", "The exam is on May 3, the trip on June 4."),
        ("He keeps two dates free: the first and the last.", "on 2026-03-01 and 2026-03-31"),
        ("She has three sisters.", "my sisters Bea, Cem and Dora live in Leeds"),
        ("Mo offered 3 options: tea, milk or water.", "Tea? Or milk. Perhaps water."),
        ("She sings on two evenings.", "I sing in the evenings, on Mondays and Thursdays."),
        ("She saw them 2 times, both of them with 12 eggs.", "twice, with a dozen eggs"),
        ("2 people came", "both came"),
        ("主人提到四个朋友", FRIENDS),
        ("主人有四个朋友：小明、小红、小刚和小丽", "小明来了。小红也来了，小刚和小丽没来"),
        ("主人提到两件事：搬家和体检", "下周搬家，然后体检"),
        ("来了三个人", "小红、小刚和小丽来了"),
        ("主人养了三只猫", "我的猫叫年糕、豆包和雪球"),
        ("友達三人と会った", "健太、美咲、翔と会った"),
        ("二人で出かけた", "健太と美咲で出かけた"),
    ],
)
def test_a_count_may_follow_from_the_material(text: str, material: str) -> None:
    """The material, or the text in words of it, lists as many."""
    assert alien(text, material) == []


@pytest.mark.parametrize(
    ("text", "material", "expected"),
    [
        ("Ann has 7 cats.", "tea?\nsencha!", ["7 cats"]),
        ("Ann has five friends.", FOUR, ["five friends"]),
        ("Ann has two cats.", "My three cats are Pi, Mu and Lu.", ["two cats"]),
        ("Ann has four friends.", f"{FOUR} I have five friends.", ["four friends"]),
        ("Ann has three sisters.", FOUR, ["three sisters"]),
        ("Ann is four years old.", FOUR, ["four years"]),
        ("The boy is 3.", f"{FOUR} The boy is 4.", ["3"]),
        ("It cost 3 pounds.", f"{FOUR} It cost 4 pounds.", ["3 pounds"]),
        ("It cost £3.", f"{FOUR} It cost £4.", ["3"]),
        ("It takes three weeks.", FOUR, ["three weeks"]),
        ("It is 3 miles away.", FOUR, ["3 miles"]),
        ("She takes 3 mg.", f"{FOUR} I take 4 mg.", ["3 mg"]),
        ("Her TSH was 3 mU/L.", f"{FOUR} My TSH was 4 mU/L.", ["3 mU/L"]),
        ("They meet at 3:30.", f"{FOUR} We meet at 4:30.", ["3:30"]),
        ("He ran 3% faster.", FOUR, ["3%"]),
        ("She owns 24 plates.", FOUR, ["24 plates"]),
        ("主人养了两只猫", "我养了三只猫：年糕、豆包和雪球", ["两只"]),
        ("主人有五个朋友", FRIENDS, ["五个"]),
        ("主人的女儿四岁", f"{FRIENDS}，女儿三岁", ["四岁"]),
        ("花了三块", f"{FRIENDS}，花了四块", ["三块"]),
        ("每片2毫克", f"{FRIENDS}，每片4毫克", ["2毫克"]),
        ("等了三天", FRIENDS, ["三天"]),
        ("娘は四歳", "健太、美咲、翔、葵と会った。娘は五歳", ["四歳"]),
    ],
)
def test_what_is_measured_or_given_otherwise_is_no_count(
    text: str, material: str, expected: list[str]
) -> None:
    """Ages, prices, times and quantities, other numbers of the same, and too many are reported."""
    assert alien(text, material) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann, 33, was at sea for six years.", []),
        ("Ann is 34 years old.", []),
        ("33-year-old Ann", []),
        ("Ann is 35.", ["35"]),
        ("Ann was at sea for seven years.", ["seven years"]),
        ("Ann paid 33 pounds.", ["33 pounds"]),
        ("Edie is a two-month-old.", []),
        ("Edie is one and two months old.", []),
        ("Edie is six weeks old.", []),
        ("Edie is four months old.", ["four months"]),
        ("Edie is nine weeks old.", ["nine weeks"]),
        ("宝宝两个月大", []),
        ("宝宝六周大", []),
        ("宝宝四个月大", ["四个月"]),
        ("安今年三十四岁", []),
        ("安今年三十六岁", ["三十六岁"]),
    ],
)
def test_an_age_may_follow_from_a_date(text: str, expected: list[str]) -> None:
    """The age before this year's birthday or after it follows; another one does not."""
    found = unfounded(text, BORN, on=date(2025, 10, 5))
    assert [one.text for one in found] == expected


@pytest.mark.parametrize(
    ("text", "material"),
    [
        ("Two dates are set. He likes it.", "on May 3 and June 4; he likes it"),
        ("She swims; on Thursdays Billie joins her.", "Billie joins me on Thursdays"),
        ("She swims, and Fridays Otto sings.", "otto sings on fridays"),
        ("She asked the GP of Billie about it.", "Billie's doctor was asked"),
        ("She saw her GP Dr Okafor about it.", "Okafor is my doctor"),
        ("She called Professor Lin and Doctor Moreau there.", "I called Lin and Moreau"),
        ("She had an MRI at the NHS clinic there.", "a scan at the clinic"),
        ("He loves Aunt Rose very much.", "my aunt, Rose, is dear to me"),
        ("She likes Portuguese and Irish food.", "food from Portugal and Ireland"),
        ("Her iron was 12 ng/mL, her TSH 2.5 mU/L then.", "TSH 2.5, iron 12"),
        ("- Two of them: “Summer is best.”", "summer is the best of both"),
        ("She is the Chair of Friends of Leeds now.", "the chair; Friends of Leeds"),
        ("她的家庭医生GP说MRI没事", "家庭医生说核磁没事"),
        ("贺然说TA喜欢安静", "喜欢安静的贺然"),
        ("GPのDr Okaforに会った", "かかりつけ医のOkaforに会った"),
    ],
)
def test_common_words_in_capitals_are_no_names(text: str, material: str) -> None:
    """Sentence starts, weekdays, roles, titles, tests and units make nothing unfounded."""
    assert alien(text, material) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She swims; on Thursdays Billie joins her.", ["Billie"]),
        ("She asked the GP of Billie about it.", ["Billie"]),
        ("He loves Aunt Rose very much.", ["Rose"]),
        ("She is at the University of Leeds now.", ["University of Leeds"]),
        ("She works for Halden Labs now.", ["Halden Labs"]),
    ],
)
def test_a_name_among_them_is_still_found(text: str, expected: list[str]) -> None:
    """Who is called nowhere is reported without the common words."""
    assert alien(text, "nobody was named") == expected


@given(st.text(), st.text())
def test_any_texts_can_be_compared(text: str, material: str) -> None:
    """Nothing fails, and a text is founded on itself."""
    unfounded(text, material)
    assert unfounded(text, text) == []
