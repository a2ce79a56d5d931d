"""Phrases that name a time, in Chinese and English, and the values of their words.

The tables exist because no library reads these: dateparser 1.5 does not find 昨晚, 三天前, 去年十月
or "last weekend", reads "the day before yesterday" as yesterday and "we" as a weekday, and returns
moments instead of periods.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

NIGHT = (18, 29)
"""The hours from 18 to 5 of the next day."""


class PhraseMeaning(StrEnum):
    """The meaning of a phrase."""

    LAST_TALK = "the latest talk"
    JUST_NOW = "the last hours"
    WHILE_AGO = "some weeks ago"
    AGO = "the day, week, month, year or moment a number of units ago"
    RECENT = "a number of units until now"
    WEEKEND = "a Saturday and Sunday"
    WEEKDAY = "the latest such day before today"
    DATE = "a year, season, month or day of the calendar"
    NOTHING = "the future or a habit: no part of it means anything else"


@dataclass(frozen=True)
class Phrase:
    """One phrase of a text; a field is `None` if the phrase does not give it."""

    meaning: PhraseMeaning
    text: str
    count: float | None = None
    """The number of units in the past; negative in the future."""
    few: str | None = None
    """The word for an unknown number, such as "several"."""
    unit: str | None = None
    weekday: int | None = None
    """The day of the week; 0 is Monday."""
    day: int | None = None
    month: int | None = None
    season: int | None = None
    """The first month of the season."""
    year: int | None = None
    """The calendar year; below 1000 the number of years ago (negative in the future)."""
    part: tuple[int, int] | None = None
    """The start and end hour of the part of the day; above 24 on the next day."""


def _words(table: dict[Any, str]) -> dict[str, Any]:
    return {word: value for value, words in table.items() for word in words.split("|")}


_DIGITS = "一二三四五六七八九"
_TENS = ("", "十", *(f"{digit}十" for digit in _DIGITS[1:]))
_CHINESE_NUMBERS = {
    ten + one: 10 * tens + ones
    for tens, ten in enumerate(_TENS)
    for ones, one in enumerate(("", *_DIGITS))
}
_ENGLISH_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_WEEKDAYS = ["一|mon", "二|tue", "三|wed", "四|thu", "五|fri", "六|sat", "日|天|sun"]
_COUNTS = {
    -3: "大后",
    -2: "后|下下|day after tomorrow",
    -1: "明|下|next|tomorrow",
    0: "今|这|本|this|today",
    0.5: "半|half a|half an",
    1: "昨|上|last|yesterday|a|an",
    2: "前|上上|两|before last|day before yesterday|couple|couple of|a couple|a couple of",
    3: "大前|上上上",
}
_UNITS = {
    "minute": "分钟|minute|min",
    "hour": "小时|钟头|hour|hr",
    "day": "天|日|儿|晚|day|morning|afternoon|evening|night",
    "week": "周|星期|礼拜|week",
    "month": "月|month",
    "year": "年|year",
}
_YEARS = {
    -2: "后年",
    -1: "明年|next year",
    0: "今年|this year",
    1: "去年|last year",
    2: "前年|year before last",
    3: "大前年",
}
_PARTS = {
    (0, 6): "凌晨",
    (5, 12): "早|晨|早上|早晨|清晨|上午|一早|一大早|morning",
    (11, 14): "中午|noon",
    (12, 18): "下午|午后|afternoon",
    (16, 20): "傍晚",
    (18, 24): "evening",
    NIGHT: "晚|夜|晚上|夜里|夜晚|半夜|深夜|night|tonight",
}
_VALUES: dict[str, dict[str, Any]] = {
    "count": _CHINESE_NUMBERS
    | {word: count for count, word in enumerate(_ENGLISH_NUMBERS.split("|"), start=1)}
    | _words(_COUNTS),
    "unit": _words(_UNITS),
    "weekday": _words(dict(enumerate(_WEEKDAYS))),
    "day": _CHINESE_NUMBERS,
    "month": _CHINESE_NUMBERS | _words(dict(enumerate(_MONTHS.split("|"), start=1))),
    "season": _words({3: "春|spring", 6: "夏|summer", 9: "秋|autumn|fall", 12: "冬|winter"}),
    "year": _words(_YEARS),
    "part": _words(_PARTS),
}

# Chinese has no word boundaries. The characters forbidden before or after a phrase keep 目前天气,
# 早上周围, 上周一直, 五月天 and 过去年轻 from being read as 前天, 上周, 上周一, 五月 and 去年.
_BEFORE = r"(?<![之以目当提空眼史生午天周月年])"
_UP = r"(?<![早晚网路身街手马以海])"
_DIGIT = f"[{_DIGITS}]"
_COUNT = (
    rf"(?<![\d.第个十百千两{_DIGITS}])(?P<count>\d{{1,4}}|半|两|{_DIGIT}?十{_DIGIT}?|{_DIGIT})\s?"
)
_UNIT = "个?(?P<unit>分钟|小时|钟头|周|星期|礼拜|天|日|年|(?<=个)月)"
_AGO = "(?:多|左右)?[以之]?前(?![后台面])"
_PART = (
    "(?:的?(?P<part>一大早|一早|早上|早晨|清晨|上午|中午|下午|午后|傍晚|晚上|夜里|夜晚|半夜|深夜|凌晨"
    "|晚(?![了到点些安于])))?"
)
_WEEK = "一?个?(?P<unit>周|星期|礼拜)"
_WEEKDAY = (
    "(?P<weekday>一(?![直共定切旦向般边些样路块并律时度次个]|起(?![床来飞码])|会儿|天(?!气)|点(?![了的]))"
    "|[二三四五六](?![次个十百位件顿]|天(?!气))|日(?![常记期均语]|本(?!来))|(?<=[期拜])天(?![气空文]))"
)
_NO_WEEKDAY = "(?![末边围岁刊杰]|期(?![末中])|年(?![会底末]))"
_MONTH = (
    rf"(?<![\d第十个])(?P<month>1[0-2]|0?[1-9]|十[一二]?|{_DIGIT})\s?月份?"
    "(?![饼嫂薪供租亮光球]|天(?!气))"
)
_DAY = rf"(?P<day>3[01]|[12]\d|0?[1-9]|三十一?|二?十{_DIGIT}?|{_DIGIT})\s?"
_YEAR = r"(?P<year>[去今明后]年|大?前年|(?:19|20)\d\d\s?年)"
_WHICH = "(?P<count>上{1,3}|这|本|下{1,2})"
_THAT_DAY = r"(?=[我你咱他她那早上中下晚凌说聊讲提谈告推跟和去吃买见发的\s,.?!;，。？！；、]|$)"
_CHINESE = {
    PhraseMeaning.LAST_TALK: ["(?<![上早晚马])上一?[次回](?![日品])"],
    PhraseMeaning.JUST_NOW: ["刚才|方才|刚刚(?!好)"],
    PhraseMeaning.WHILE_AGO: [
        rf"{_BEFORE}前(?:一?阵子?|一?段时间|段日子|些(?:日子|时候))|不久[以之]?前",
    ],
    PhraseMeaning.AGO: [
        rf"(?<!如)(?P<count>今|昨)(?P<unit>[天日儿]){_PART}",
        rf"{_BEFORE}(?P<count>大?前|大?后|明)(?P<unit>天)(?![线气空赋堂文]){_PART}",
        "(?<!如)(?P<count>[昨今明])(?P<part>晚上?|夜里?|早(?:上|(?![已就先]))|晨)",
        rf"{_BEFORE}(?P<count>前)(?P<part>晚)",
        rf"{_BEFORE}前(?P<few>几|些|两(?=[天年]))个?(?P<unit>[天日晚周月年]|星期|礼拜)",
        rf"(?<![十百千{_DIGITS}])(?P<few>好几|几|数|[两{_DIGITS}]{{2}})\s?{_UNIT}{_AGO}",
        rf"{_COUNT}{_UNIT}{_AGO}{_PART}",
        rf"{_UP}{_WHICH}{_WEEK}{_NO_WEEKDAY}",
        rf"{_UP}{_WHICH}{_WEEK}{_WEEKDAY}{_PART}",
        rf"{_UP}{_WHICH}个?(?P<unit>月)(?![亮光球台])(?:的?\s?{_DAY}[号日]{_PART})?",
    ],
    PhraseMeaning.RECENT: [
        rf"(?:最近这?|过去|(?<![最附接靠将])近|这(?!一[天日]))的?{_COUNT}{_UNIT}(?![前后])",
        rf"(?:最近这?|过去|(?<![最附接靠将])近|这)的?(?P<few>几|些)\s?{_UNIT}(?![前后])",
    ],
    PhraseMeaning.WEEKEND: [rf"(?:{_UP}上|(?P<count>上上|这|本|下{{1,2}}))?个?(?:周|星期|礼拜)末"],
    PhraseMeaning.WEEKDAY: [
        rf"(?<![\d每半几两到至{_DIGITS}十])(?:周|星期|礼拜){_WEEKDAY}(?![到至]){_PART}",
    ],
    PhraseMeaning.DATE: [
        rf"(?:{_YEAR}的?\s?)?{_MONTH}(?:的?\s?{_DAY}[号日]{_PART})?",
        rf"(?<![\d.第百十{_DIGITS}]){_DAY}号{_THAT_DAY}{_PART}",
        rf"(?:{_YEAR}的?|上个?|这个?)?(?P<season>[春夏秋冬])[天季]",
        rf"(?<![过之以目当提空]){_YEAR}(?![轻龄纪级版款])",
    ],
    PhraseMeaning.NOTHING: [
        "每个?(?:周|星期|礼拜)[一二三四五六日天末]?|下一?[次回]|下个?[春夏秋冬][天季]",
        rf"每个?月(?:的?[\d{_DIGITS}十]+[号日])?|每年(?:的?[\d{_DIGITS}十]+月|的?[春夏秋冬][天季])?",
    ],
}

# English: a space stands for any white space, and no phrase begins or ends within a word. "May"
# and "March" need their capital, a day, "in" or a year.
_MANY = (
    rf"(?P<count>\d{{1,4}}|half an?|(?:a )?couple(?: of)?|an?|{_ENGLISH_NUMBERS})"
    r" (?P<unit>min(?:ute)?|h(?:ou)?r|day|week|month|year)s?"
)
_FEW = "(?P<few>(?:a )?few|several) (?P<unit>minute|hour|day|week|month|year)s"
_IN_PART = "(?:,? (?:in the |at |around )?(?P<part>morning|noon|afternoon|evening|night))?"
_FULL_DAY = "(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_CLEAR = (
    "jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_SAFE_MONTH = rf"(?:(?:{_CLEAR}|(?-i:Mar(?:ch)?|May))\.?)"
_ANY_MONTH = rf"(?:(?:{_CLEAR}|mar(?:ch)?|may)\.?)"
_OF_YEAR = (
    r"(?:,? (?:of )?(?P<year>(?:last|this|next) year|(?:the )?year before last|(?:19|20)\d\d))"
)
_DATED = "(?:3[01]|[12][0-9]|0?[1-9])"
_TH = "(?:st|nd|rd|th)"
_DATES = (
    f"(?P<month>{_SAFE_MONTH}) (?P<day>{_DATED}){_TH}?",
    f"(?P<month>{_ANY_MONTH}) (?P<day>{_DATED}){_TH}",
    rf"(?<=on\s)(?P<month>{_ANY_MONTH}) (?P<day>{_DATED})",
    f"(?P<day>{_DATED}){_TH}? (?P<month>{_SAFE_MONTH})",
    f"(?P<day>{_DATED}){_TH} of (?P<month>{_ANY_MONTH})",
)
_AFTER_DATE = rf"(?!:?\d){_OF_YEAR}?{_IN_PART}(?! (?:miles|times|km)\b)"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
_ENGLISH = {
    PhraseMeaning.LAST_TALK: [
        r"(?<!for\sthe\s)(?<!was\sthe\s)(?<!is\sthe\s)(?<!every\s)last time|the other time",
        "(?:last|previous) (?:chat|conversation|session|talk)",
    ],
    PhraseMeaning.JUST_NOW: [
        "just now|(?:a (?:moment|second|sec|minute)|moments|minutes|seconds) ago"
    ],
    PhraseMeaning.WHILE_AGO: [
        "(?:quite )?(?:a|some) (?:little )?while (?:ago|back)|some time ago",
        "not (?:so |too |very |that )?long ago",
    ],
    PhraseMeaning.AGO: [
        "(?P<few>(?:a )?couple(?: of)?) (?P<unit>day)s (?:ago|back)",
        f"{_FEW} (?:ago|back)",
        rf"(?<!\d\.){_MANY}(?: or so)? (?:ago|back){_IN_PART}",
        "the (?P<few>other) (?P<unit>day|morning|afternoon|evening|night|week)",
        f"(?P<count>today|yesterday|tomorrow){_IN_PART}",
        f"(?:the )?(?P<count>day (?:before yesterday|after tomorrow)){_IN_PART}",
        "(?P<part>tonight)",
        "(?P<count>this|last) (?P<part>morning|afternoon|evening|night)",
        "the (?P<part>night) (?P<count>before last)",
        "(?P<count>this|last|next) (?P<unit>week|month|year)",
        "the (?P<unit>week|month|year) (?P<count>before last)",
        f"(?P<count>this|last|next) (?P<unit>week),? (?:on )?{_FULL_DAY}{_IN_PART}",
        f"(?:on )?{_FULL_DAY},? (?:of )?(?P<count>last|this|next) (?P<unit>week)",
        f"(?P<count>this|next) {_FULL_DAY}{_IN_PART}",
    ],
    PhraseMeaning.RECENT: [
        f"(?:last|past|previous) (?:{_MANY})",
        f"(?:last|past|previous) {_FEW}",
        "(?:(?:in|over|within) the last|(?:the|this) past) (?P<unit>hour|day|week|month|year)",
    ],
    PhraseMeaning.WEEKEND: [
        "(?:this past |last |over the |at the |on the |the )weekend",
        "(?P<count>this|next) weekend",
        "(?:over |at |on )?the weekend (?P<count>before last)",
    ],
    PhraseMeaning.WEEKDAY: [
        f"(?:(?:last|on|(?:this )?past) )?{_FULL_DAY}{_IN_PART}",
        f"(?:last|on) (?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri){_IN_PART}",
    ],
    PhraseMeaning.DATE: [
        rf"(?:in|during|since)(?: early| late| mid)? (?P<month>{_ANY_MONTH}){_OF_YEAR}?(?!'s|\s\d)",
        rf"(?:last|this) (?P<month>{_SAFE_MONTH})(?!'s|\s\d)",
        f"(?P<month>{_SAFE_MONTH}){_OF_YEAR}",
        f"(?:in|in the|during the|over the|last|this) {_SEASON}{_OF_YEAR}?",
        f"{_SEASON}{_OF_YEAR}",
        r"(?:back in|in|during) (?P<year>(?:19|20)\d\d)(?![-/.:]\d)",
        rf"on the (?P<day>{_DATED}){_TH}(?=\s*(?:[,.?!;:]|$)|\s+(?:we|i|you|what|did|at|that)\b)",
        *(f"(?:on )?(?:the )?{date}{_AFTER_DATE}" for date in _DATES),
    ],
    PhraseMeaning.NOTHING: [
        "from [a-z]+day (?:to|till|until|through) [a-z]+day",
        "(?:next|every|each|any|most|coming|by|until|till|before|for|black)"
        f" (?:{_FULL_DAY}|weekend|{_SEASON}|{_SAFE_MONTH})",
        f"next year,? (?:in |on )?{_ANY_MONTH}|next time",
    ],
}
_AROUND_DIGITS = rf"(?<![\d/.-]){{}}(?![\d/%]|-\d|\s+(?:of|cups?)\b){_PART}"
_IN_DIGITS = tuple(
    date.replace("MONTH", "(?P<month>1[0-2]|0?[1-9])").replace("DAY", f"(?P<day>{_DATED})")
    for date in (
        r"(?P<year>(?:19|20)\d\d)[-/.]MONTH[-/.]DAY",
        r"MONTH/DAY(?:/(?P<year>(?:19|20)\d\d))?",
    )
)
_PLAIN = str.maketrans(
    "週個點後禮兩幾時間鐘這過號剛陣淩從說談講訴薦記來問麼嗎誰還約沒為聽見發氣線圍歲級齡輕課網樣"
    "０１２３４５６７８９’\u00a0\u3000",
    "周个点后礼两几时间钟这过号刚阵凌从说谈讲诉荐记来问么吗谁还约没为听见发气线围岁级龄轻课网样"
    "0123456789'  ",
)


def to_table_spelling(text: str) -> str:
    """Return the text in the spelling of the tables: simplified, with digits of one width.

    The indexes of its characters stay the same.

    >>> to_table_spelling("兩個禮拜前，１０月3號")
    '两个礼拜前，10月3号'
    """
    return text.translate(_PLAIN)


def find_phrases(text: str) -> list[Phrase]:
    """Return the phrases of a text in order; if several begin at the same index, the longest.

    >>> [phrase.text for phrase in find_phrases("昨天下午还是下周三？ The day before yesterday!")]
    ['昨天下午', '下周三', 'The day before yesterday']
    """
    spelled = to_table_spelling(text)
    matches = [
        (match, meaning) for meaning, pattern in _table() for match in pattern.finditer(spelled)
    ]
    matches.sort(key=lambda found: (found[0].start(), -found[0].end()))
    phrases, at = list[Phrase](), 0
    for match, meaning in matches:
        if match.start() >= at:
            at = match.end()
            said = {group: _value(group, words) for group, words in match.groupdict("").items()}
            phrases.append(Phrase(meaning, text[match.start() : at], **said))
    return phrases


@cache
def _table() -> list[tuple[PhraseMeaning, re.Pattern[str]]]:
    """Return the table of patterns, compiled on first use, which takes 30 ms."""
    apart = r"(?<![a-z0-9])(?:{})(?![a-z0-9])"
    table = [(meaning, phrase) for meaning, phrases in _CHINESE.items() for phrase in phrases]
    table += [(PhraseMeaning.DATE, _AROUND_DIGITS.replace("{}", digits)) for digits in _IN_DIGITS]
    for meaning, phrases in _ENGLISH.items():
        table += [(meaning, apart.replace("{}", phrase.replace(" ", r"\s+"))) for phrase in phrases]
    return [(meaning, re.compile(phrase, re.IGNORECASE | re.ASCII)) for meaning, phrase in table]


def _value(group: str, words: str) -> Any:
    said = " ".join(words.lower().split()).removeprefix("the ")
    if not said:
        return None
    if (digits := said.rstrip("年 ")).isdigit():
        return int(digits)
    if group in ("month", "weekday"):
        said = said[:3]
    return _VALUES[group][said] if group in _VALUES else said
