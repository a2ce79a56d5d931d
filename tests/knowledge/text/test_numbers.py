"""How numbers are read, in digits and in words."""

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.text.numbers import find_numbers, number_keys, read_chinese, read_english

ONES = "零一二三四五六七八九"


def keys(text: str) -> list[str]:
    found, _ = find_numbers(text)
    return [one.key for one in sorted(found, key=lambda one: one.start)]


def chinese(number: int) -> str:
    """A number below 10,000 as it is written in full."""
    written = ""
    for power, unit in ((3, "千"), (2, "百"), (1, "十"), (0, "")):
        digit = number // 10**power % 10
        if digit:
            written += ONES[digit] + unit
        elif written and not written.endswith("零"):
            written += "零"
    return written.rstrip("零")


@given(st.integers(1, 9999), st.integers(0, 9999))
def test_chinese_is_read_as_it_is_written(number: int, more: int) -> None:
    """Each number below 10,000, and as many 万 and 亿 of them."""
    assert read_chinese(chinese(number)) == number
    rest = f"零{chinese(more)}" if 0 < more < 1000 else chinese(more)
    assert read_chinese(f"{chinese(number)}万{rest}") == number * 10_000 + more
    assert read_chinese(f"{chinese(number)}亿") == number * 10**8


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        ("十", 10),
        ("两千", 2000),
        ("一百二", 120),
        ("三万一", 31_000),
        ("一百零五", 105),
        ("二〇二六", 2026),
        ("零", 0),
        ("两三", None),
        ("十五六", None),
        ("三四百", None),
        ("千万", None),
        ("万一", None),
        ("", None),
    ],
)
def test_chinese_numerals_of_talk(numeral: str, value: int | None) -> None:
    """The last unit may be left out; "two or three" has no value, nor has a unit alone."""
    assert read_chinese(numeral) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("twelve", 12),
        ("Twenty-five", 25),
        ("two hundred and five", 205),
        ("three hundred thousand", 300_000),
        ("two three", None),
        ("twenty twelve", None),
        ("hundred", None),
        ("cats", None),
    ],
)
def test_english_number_words(words: str, value: int | None) -> None:
    """Words that make one number have its value."""
    assert read_english(words) == value


@pytest.mark.parametrize(
    "same",
    [
        ("三只猫", "3只猫", "three cats", "Three cats", "三隻貓"),
        ("1,200元", "1200", "一千二百", "一千二块", "1.2k", "1,200.00"),
        ("12万", "120000", "十二万", "120,000", "12w"),
        ("1.2万", "12000块", "1万2", "12 thousand"),
        ("三十多岁", "三十多", "30多个", "thirty years", "三十来个"),
        ("两年半", "2.5年", "two and a half years", "两个半"),
        ("一米七五", "1米75", "1.75米"),
        ("29块8", "29.8元", "二十九块八"),
        ("50%", "百分之五十", "50 percent", "50 per cent"),
        ("十五秒", "15s", "15 sec"),
        ("三点五公斤", "3.5kg", "3.50 kg"),
    ],
)
def test_equal_numbers_have_one_key(same: tuple[str, ...]) -> None:
    """Whatever the script, the separators and the unit."""
    assert len({tuple(keys(text)) for text in same}) == 1
    assert len(keys(same[0])) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("上午十点、十点半、8:30、20:05", ["10:00", "10:30", "8:30", "20:05"]),
        ("七点二十，八点零五分，9点一刻，三点整", ["7:20", "8:05", "9:15", "3:00"]),
        ("每天一点之前睡，下午一点开会", ["1:00", "1:00"]),
        ("八点到十点左右", ["8:00", "10:00"]),
        ("at 10 am, 8:30 p.m. and 6 o'clock", ["10:00", "8:30", "6:00"]),
        ("午後3時、3時半", ["3:00", "3:30"]),
        ("早一点睡，一点也不困，一点后悔，晚上一点都不困，三点建议，差点", []),
    ],
)
def test_clock_times(text: str, expected: list[str]) -> None:
    """An hour counts where it is told from "a bit" and from points."""
    assert keys(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qdrant 1.16、Python 3.10、v2.0、1.2.3", ["1.16", "3.10", "2.0", "1.2.3"]),
        ("3.10元", ["3.1"]),
        ("两三天，七八年，三四百人，好几十个，几百块，上百人", []),
        ("一些，一起，一直，一个，一天，千万别，万一，十分，三明治，四川，五道口，三里屯", []),
        ("周一，星期三，礼拜四，第二天，第三次，初三，双十一，三分之一，三心二意，二手", []),
        ("三天两头，三只松鼠，五台山，三轮车，四周围，七匹狼", []),
        ("一年半，一个半小时", ["1.5", "1.5"]),
        ("一小时十分钟", ["10"]),
        ("三到五天，10-20次", ["3", "5", "10", "20"]),
        ("GPT-4、bge-m3、5G、3D、16D、one-north、B2B", []),
        ("one day, one of the two, a hundred times, second, nine to five, two or three days", []),
        ("a three-year-old, ten-minute walks", ["3", "10"]),
        ("the 22nd floor, 1024px, 8 km, 16GB", ["22", "1024", "8", "16"]),
        ("3/4, 9/10", []),
        ("2. 两件事", ["2"]),
    ],
)
def test_what_counts_as_a_number(text: str, expected: list[str]) -> None:
    """Versions stay whole; idioms, names, ordinals, weekdays and "two or three" do not count."""
    assert keys(text) == expected


@given(st.text() | st.text("0123456789一二两三十百万亿点半多.,:%/ wkv年个", max_size=20))
def test_any_line_can_be_read(line: str) -> None:
    """Nothing fails, what is found is taken out, and the bold reading holds the careful one."""
    found, rest = find_numbers(line)
    assert len(rest) == len(line)
    assert {one.key for one in found} <= number_keys(line)
