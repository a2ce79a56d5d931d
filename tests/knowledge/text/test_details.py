"""What the details of a text are, and which of them another text has lost."""

import unicodedata

import pytest
from hypothesis import example, given, strategies as st

from souffleur.knowledge.text.details import DetailKind, find_details, missing

NAMES = ("小雨", "年糕", "Halden", "Halden Labs", "ann", "Qdrant 1.16", "一灯拉面")
WORDS = """
三只猫 3月16日 2026年3月16日 3月16号 16号 八点半 下午三点 小雨 年糕 《三体》 “老猫” 一直 万一 周三
Halden Labs Ann's March 16, 2026. two cats 12 1,200 1.2万 3.11 v2.0 I'm Lyon 。 ， - 1. / 至 多 半
"""
texts = st.lists(st.sampled_from([*WORDS.split(), " ", "\n"]), max_size=12).map("".join)
anything = st.text(max_size=40) | texts


def keys(text: str, kind: str) -> list[str]:
    return [one.key for one in find_details(text) if one.kind == kind]


def lost(old: str, new: str, names: tuple[str, ...] = ()) -> list[str]:
    return [one.text for one in missing(old, new, names)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("主人的生日是3月16日", ["--03-16"]),
        ("3月16号、三月十六日、三月十六", ["--03-16"]),
        ("2026年3月16日", ["2026-03-16"]),
        ("二〇二六年三月十六日", ["2026-03-16"]),
        ("2026-03-16 和 2026/3/17 和 2026.3.18", ["2026-03-16", "2026-03-17", "2026-03-18"]),
        ("[2026-01-03 18:05]", ["2026-01-03"]),
        ("2026年3月入职，2019年毕业", ["2026-03", "2019"]),
        ("去年三月份、十一月", ["--03", "--11"]),
        ("到03-16为止", ["--03-16"]),
        ("4月4号到6号", ["--04-04", "--04-06"]),
        ("2026年1月26日至2月1日", ["2026-01-26", "2026-02-01"]),
        ("2025年12月28日到1月3日", ["2025-12-28", "2026-01-03"]),
        ("这周六14号去看房", ["---14"]),
        ("from March 16 to 20 April 2026", ["--03-16", "2026-04-20"]),
        ("on March 16th, 2026, not 16 March", ["2026-03-16", "--03-16"]),
        ("on the 16th of March, and the 23rd", ["--03-16", "---23"]),
        ("in March 2026, in May, January, since 2019", ["2026-03", "--05", "--01", "2019"]),
        ("Sept. 5 at noon", ["--09-05"]),
        ("16/03/1996, but 3/4/1996", ["1996-03-16", "1996"]),
        ("周三、星期三、五月天、三个月、一月两次、农历八月十五、3号楼、5号线", []),
        ("22日元、第3日、上月、每月、四五月、1990年代", []),
        ("in October 27 nmol/L, by May 12 mg, October 27 µg/L", ["--10", "--05"]),
        ("October 27, 27 mg, and September 3 per cent", ["--10-27", "--09"]),
        ("on October 27 he sang; the March 3 concert", ["--10-27", "--03-03"]),
        ("10月27毫克，十月27纳摩尔，3月27 mg，9月5 mmol/L", ["--10", "--03", "--09"]),
        ("10月27测血，10月27日复查", ["--10-27"]),
        ("They may march with April and August: May I? 3/4 of it, a 2026 model, Monday", []),
    ],
)
def test_dates(text: str, expected: list[str]) -> None:
    """A date has one key however it is written, and what only looks like one has none."""
    assert keys(text, "date") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("主人养了三只猫，生日3月16日", ["3"]),
        ("2026年3月16日上午十点", ["10:00"]),
        ("《1984》和《三体》", []),
        ("住了七年，六十岁", ["7", "60"]),
        ("1. 有三只猫\n2、有四只狗\n(3) 有五条鱼", ["3", "4", "5"]),
        ("In March 2026 he ran 8 km with two dogs", ["8", "2"]),
    ],
)
def test_numbers(text: str, expected: list[str]) -> None:
    """Numbers are found beside dates, whose digits are no numbers; nor are those of a title."""
    assert keys(text, "number") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("主人在 Halden Labs 上班，用Vue和ECharts", ["Halden Labs", "Vue", "ECharts"]),
        ("Lena 被录用了，说OK，App叫Lighthouse", ["Lena", "Lighthouse"]),
        ("他会C++和C#，用Node.js", ["C++", "C#", "Node.js"]),
        ("床头是《夜航西飞》，网名“老猫”，绰号「局长」", ["《夜航西飞》", "“老猫”", "「局长」"]),
        ("她说“我明天去，你呢？”", []),
        ("Her brother Paul O'Brien met Jean-Luc", ["Paul O'Brien", "Jean-Luc"]),
        ("Lena lives in Tiong Bahru. She knows Paul's dog.", ["Tiong Bahru", "Paul"]),
        ("He studied at the University of Tokyo", ["University of Tokyo"]),
        ("I think I'm off on Monday, in May, says Mom", []),
        ("Her English is good; a Chinese New Year trip", ["Chinese New Year"]),
        ("We met Dr. Smith. Yesterday Tom said: Fine.", ["Smith", "Tom"]),
        ("GitHub and iPhone, then NASA", ["GitHub", "iPhone", "NASA"]),
        ("Last day at Kestrel was yesterday，抱着纸箱出来，居然有点想哭", ["Kestrel"]),
        ("## Current Projects", []),
        ("- Current Projects: search", []),
        ("Work And Life", []),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    """Titles, short quotes and capitals that tell are names; a sentence's first word is none."""
    found = [one.text for one in find_details(text) if one.kind is DetailKind.NAME]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("小雨喜欢HALDEN labs", ("小雨", "Halden Labs"), ["小雨", "HALDEN labs"]),
        ("Halden Labs and Halden", ("Halden", "Halden Labs"), ["Halden Labs", "Halden"]),
        ("she was annoyed by Ann's plan", ("ann",), ["Ann"]),
        ("喜欢C#，不喜欢C", ("C#",), ["C#"]),
        ("用 Qdrant 1.16", ("Qdrant 1.16",), ["Qdrant 1.16"]),
        ("端口 qdrant 116", ("Qdrant 1.16",), []),
        ("最喜欢一灯拉面", ("一灯拉面",), ["一灯拉面"]),
        ("注意安全，2026", ("安", "2026", "", " "), []),
    ],
)
def test_known_names(text: str, names: tuple[str, ...], expected: list[str]) -> None:
    """A known name is found in any case, the longest first, and not inside another word."""
    assert [
        one.text for one in find_details(text, names) if one.kind is DetailKind.NAME
    ] == expected


def test_details_come_in_their_order_and_once() -> None:
    """What is said twice is one detail, with the words of the first time."""
    text = "2月14日 Lena 有三只猫。\nLena 的 3 只猫 02-14 来的"
    assert [one.text for one in find_details(text)] == ["2月14日", "Lena", "三只"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("三只猫", "两只猫", ["三只"]),
        ("三只猫", "3 cats", []),
        ("1,200元", "一千二", []),
        ("three cats", "a cat, a dog and a bird", ["three cats"]),
        ("3次", "第三次", []),
        ("2-3天", "两三天", []),
        ("他俩有2只狗", "俩狗", []),
        ("Qdrant 1.16", "Qdrant 1.17", ["1.16"]),
        ("Python 3.10", "Python 3.1", ["3.10"]),
        ("v2.0", "2.0 版", []),
        ("十点有面试", "10:00 有面试", []),
        ("上午10点有面试", "十点有面试", []),
        ("晚上八点半", "20:30", []),
        ("八点半", "八点", ["八点半"]),
        ("16岁", "3月16日", ["16岁"]),
        ("月薪三万一", "月薪 31,000", []),
        ("涨了5%", "涨了百分之五，又涨了 50", []),
        ("涨了5%", "涨了5块", ["5%"]),
    ],
)
def test_a_number_is_lost_where_its_value_is(old: str, new: str, expected: list[str]) -> None:
    """Another value is a loss; another script, form or half of the day is none."""
    assert lost(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("3月16日", "2026年3月16日", []),
        ("2026年3月16日", "3月16日", ["2026年3月16日"]),
        ("2026年3月", "2026-03-16", []),
        ("2026-03-16", "2026年3月", ["2026-03-16"]),
        ("三月", "on 16 March", []),
        ("16号", "3月16日", []),
        ("16号", "3月17日", ["16号"]),
        ("2019年", "in 2019", []),
        ("2019", "2019年5月", []),
        ("3月16日", "3月17日", ["3月16日"]),
        ("2026-01-14 与 2026-01-23", "2026年1月14日面试，1月23日录用", []),
        ("2026-01-14 与 2026-01-23", "2026年1月14日面试，23日录用", []),
        ("2026-01-23", "2025年面试，1月23日录用", ["2026-01-23"]),
        ("2026-01-23", "2026年搬家\n1月23日录用", ["2026-01-23"]),
        ("January 31", "on the 31st", ["January 31"]),
        ("ferritin (July 9, October 27)", "It was 27 in October, 9 in July.", []),
        ("October 27", "In October it was 27 nmol/L.", []),
        ("October 27", "In October they moved. She is 27.", ["October 27"]),
        ("October 27", "In October it was 28 nmol/L.", ["October 27"]),
        ("October 27, 2026", "In October 2026 it was 27 nmol/L.", ["October 27, 2026"]),
        ("October 27th", "In October it was 27 nmol/L.", ["October 27th"]),
        ("10月27", "10月的数值是27", []),
        ("10月27日", "10月的数值是27", ["10月27日"]),
        ("3月16日", "3/16 或 16.3", []),
        ("1998年", "98年生", []),
    ],
)
def test_a_date_is_held_by_a_more_exact_one(old: str, new: str, expected: list[str]) -> None:
    """One whose year stands before it in its line holds it, too; a vaguer one never does."""
    assert lost(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "names", "expected"),
    [
        ("公司是 Halden Labs", "works at halden labs", (), []),
        ("公司是 Halden Labs", "公司是 Halden", (), ["Halden Labs"]),
        ("公司是 Halden", "公司是 Halden Labs", (), []),
        ("《夜航西飞》翻了", "夜航西飞翻了", (), []),
        ("网名“老猫”", "网名老猫", (), []),
        ("网名“老猫”", "网名没了", (), ["“老猫”"]),
        ("小雨来了", "小雪来了", ("小雨", "小雪"), ["小雨"]),
        ("I met Ann", "She was annoyed", (), ["Ann"]),
        ("the Dales Atlas here", "an atlas of the Dales", (), []),
        ("the Baby Group here", "a group with a baby", (), []),
        ("the Dales Atlas here", "an atlas of the Wolds", (), ["Dales Atlas"]),
        ("the Dales Atlas here", "She knows the Dales.", (), ["Dales Atlas"]),
        ("I met Tobias Lindqvist.", "He is Tobias (Tobi) Lindqvist.", (), []),
        ("I met Tobi Lindqvist.", "He is Tobias (Tobi) Lindqvist.", (), []),
        ("I met Tobias Lindqvist.", "He is Tobias “Tobi” Lindqvist.", (), []),
        ("I met Tobias Lindqvist.", "Tobias met Lindqvist.", (), ["Tobias Lindqvist"]),
        ("on LinkedIn", "on linkedin", (), []),
    ],
)
def test_a_name_is_held_in_any_case_and_quotes(
    old: str, new: str, names: tuple[str, ...], expected: list[str]
) -> None:
    """A name is held in any case and quotes, not by a part of it, nor within another word."""
    assert lost(old, new, names) == expected


def test_an_invented_detail_is_missing_from_the_sources() -> None:
    """With the texts exchanged, what is new is reported."""
    sources = "主人叫林哲，在 Halden Labs 上班，每天两杯咖啡"
    portrait = "林哲（主人）在 Halden Labs 和 Kestrel 上班，每天三杯咖啡"
    assert lost(portrait, sources, ("林哲",)) == ["Kestrel", "三杯"]


@given(anything, st.lists(st.sampled_from(NAMES) | st.text(max_size=5), max_size=4))
@example("五月16只", ["五月"])
@example("5\t日Ⅳ①½", [])
def test_a_text_lacks_nothing_of_itself(text: str, names: list[str]) -> None:
    """Any text can be read, and holds all its details."""
    assert missing(text, text, names) == []


@given(anything, anything, st.lists(st.sampled_from(NAMES), max_size=4))
def test_what_is_added_takes_nothing_away(text: str, more: str, names: list[str]) -> None:
    """A text with another line, before or after, holds all it held."""
    assert missing(text, f"{text}\n{more}", names) == []
    assert missing(text, f"{more}\n{text}", names) == []


@given(anything)
def test_a_detail_stands_in_its_text(text: str) -> None:
    """Each is told in words of the text, in one width, and no two of a kind say the same."""
    found = find_details(text)
    shown = unicodedata.normalize("NFKC", text.replace("’", "'"))
    assert all(unicodedata.normalize("NFKC", one.text) in shown for one in found)
    assert len({(one.kind, one.key) for one in found}) == len(found)
    assert all(one.text and one.key for one in found)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Sie hat den Umzug nach Leipzig hinter sich und im Oktober eine neue Stelle.", "Leipzig"),
        ("the user geht mit der alten Schulfreundin Birte zum Konzert der Band.", "Birte"),
    ],
)
def test_in_german_a_capital_alone_makes_no_name(text: str, known: str) -> None:
    """A noun of a German text is taken for no name; a known name is found in it."""
    assert find_details(text) == []
    assert [one.text for one in find_details(text, [known])] == [known]
