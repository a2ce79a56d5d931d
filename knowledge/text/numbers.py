"""Numbers in a line of text, in digits and in words: 1,200, 1.2万, 一千二百, twelve cats, 八点半.

Chinese has numerals in names, idioms and function words (四川, 三天两头, 一直, 万一), English has
"one": a numeral in words is only read if a measure word, a noun or its form makes it certain.
Ordinals in words and the signs of numbers are ignored.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from souffleur.knowledge.search.words import STOP_WORDS

GONE = "\0"
"""Placeholder for each character that has been read."""


@dataclass(frozen=True)
class NumeralMatch:
    """A number, date or name read from a line."""

    start: int
    text: str
    key: str
    """The normalized value; equal for matches that say the same."""


def extract(
    pattern: re.Pattern[str], line: str, read: Callable[[re.Match[str]], str | None]
) -> tuple[list[NumeralMatch], str]:
    r"""Return the matches of a pattern for which `read` returns a key, and the line without them.

    >>> extract(re.compile("b+"), "a bb c", lambda match: "key")
    ([NumeralMatch(start=2, text='bb', key='key')], 'a \x00\x00 c')
    """
    found: list[NumeralMatch] = []

    def take(match: re.Match[str]) -> str:
        if not (key := read(match)):
            return match[0]
        found.append(NumeralMatch(match.start(), match[0].strip(), key))
        return GONE * len(match[0])

    rest = pattern.sub(take, line)
    return found, rest


LETTER = "A-Za-zÀ-ÖØ-öø-ɏ"
"""Latin letters, for a character class in a pattern."""
HAN = "\u3040-\u30ff\u3400-\u9fff"
"""Chinese and Japanese characters, for a character class in a pattern."""
_ONES = "一二两兩三四五六七八九"
NUMERAL = f"〇零{_ONES}十百千万萬亿億"
_VALUES = dict(zip("〇零" + _ONES, (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_POWERS = {"十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8}
_POWERS |= {"k": 3, "w": 4, "hundred": 2, "thousand": 3, "million": 6, "billion": 9}
_SECTION = rf"(?:[{_ONES}]千)?(?:零?[{_ONES}]百)?(?:零?[{_ONES}]?十)?(?:零?[{_ONES}])?"
_WELL_FORMED = re.compile(
    rf"(?:(?P<e8>{_SECTION})[亿億])?(?:零?(?P<e4>{_SECTION})[万萬])?(?P<e0>零?{_SECTION})"
)


def read_chinese(numeral: str) -> int | None:
    """Return the value of a Chinese numeral; `None` if it is invalid or means "two or three".

    >>> [read_chinese(n) for n in ("十二", "一千二百", "三万一", "一百零五", "二〇二六", "亿")]
    [12, 1200, 31000, 105, 2026, None]
    >>> [read_chinese(n) for n in ("两三", "十五六", "千万", "万一", "零")]
    [None, None, None, None, 0]
    """
    if all(char in _VALUES for char in numeral):
        several = len(numeral) == 2 and numeral[0] not in "〇零"
        digits = "".join(str(_VALUES[char]) for char in numeral[:12])
        return int(digits) if digits and not several else None
    match = _WELL_FORMED.fullmatch(numeral)
    if match is None or "" in (match["e8"], match["e4"]):
        return None
    value = sum(_section(match[f"e{power}"] or "") * 10**power for power in (8, 4, 0))
    if numeral[-1] in _VALUES and numeral[-2] in "百千万萬亿億":  # 三万一 is 三万一千
        value += _VALUES[numeral[-1]] * (10 ** (_POWERS[numeral[-2]] - 1) - 1)
    return value


def _section(numeral: str) -> int:
    """Return the value of a well-formed numeral below 10,000."""
    value, digit = 0, 0
    for char in numeral:
        if char in _VALUES:
            digit = _VALUES[char]
        else:
            value += (digit or 1) * 10 ** _POWERS[char]
            digit = 0
    return value + digit


_SMALL = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_WORDS = {word: value for value, word in enumerate(_SMALL.split(), start=1)}
_WORDS |= {"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS |= {word: value * 10 for value, word in enumerate(_TENS.split(), start=2)}
_WORDS |= {word: 10 ** _POWERS[word] for word in ("hundred", "thousand", "million", "billion")}
_WORD = rf"(?:{'|'.join(_WORDS)})\b"
_NUMBER_WORDS = rf"(?<![\w'-])(?i:{_WORD}(?:(?:[ -]|\sand\s){_WORD}){{0,6}}+)"


def read_english(words: str) -> int | None:
    """Return the value of English number words; `None` if they are not exactly one number.

    >>> [read_english(n) for n in ("twelve", "Twenty-five", "two hundred and five", "two three")]
    [12, 25, 205, None]
    >>> read_english("three hundred thousand"), read_english("a hundred"), read_english("hundred")
    (300000, None, None)
    """
    total = section = 0
    room = 1000
    for word in re.split(r"\sand\s|[ -]", words.lower()):
        value = _WORDS.get(word, 0)
        if value >= 1000:
            total, section, room = total + section * value, 0, 1000
        elif value == 100:
            section, room = section * value, value
        elif 0 < value < room:
            section, room = section + value, 10 if value >= 20 else 1
        else:
            return None
    return total + section or None


_MEASURES = """
个(?:多?(?:半?月|小时|星期|礼拜|钟头))?|個|只(?!松鼠)|隻|条|條|岁|歲|歳|年级?|天(?!王|两头)|周(?![围圍都是])|週
小时|小時|時間|分钟|分鐘|分間|秒钟?|刻钟|次(?![元要])|遍|趟|本|冊|册|枚|张|張|位|名|件|杯(?!鸡)|碗|盘|瓶|盒|袋|箱
块|塊|片|元(?!桥)|円|美元|欧元|日元|港币|斤|公斤|千克|克|吨|公里|千米|英里|米|厘米|毫米|平米|平方米|升|毫升|度|英寸
毫克|微克|纳克|毫摩尔|微摩尔|纳摩尔|千卡|大卡|卡路里|国际单位
层(?!塔)|層|楼|樓|階|页|頁|章|集|期|家|軒|间|間|套|辆|輛|台(?!山)|臺|部|首|篇|幅|棵(?!树)|株|朵|匹(?!狼)|双|雙|份
顿|项|項|句|段|场|場|轮(?!车)|届|倍|口(?!子)|包|根|支|枝|颗|粒|滴|封|架|艘|座(?!山)|栋|圈|步|站|人|晚|夜|级
"""
"""Measure words and units, except as parts of other words: 三只松鼠, 四周围, 三天两头."""
MEASURE = f"(?:{'|'.join(_MEASURES.split())})"
_HALF = r"(?P<half>半(?![天夜年个個载載路价價场場数數点點]))?"
_MORE = rf"(?P<more>[多几幾来來余餘](?=\s?(?:[百千万萬亿億]|{MEASURE})))?"
_TAIL = (
    rf"(?P<tail>(?<=[百千万萬亿億块塊米kKw])(?:[0-9]{{1,2}}|[{_ONES}]{{1,2}})"
    rf"(?![{LETTER}0-9.{NUMERAL}]|\s?{MEASURE}))?"
)
_NO_NOUNS = STOP_WORDS | {"past", "thirds", "quarters", "down", "up", "out", "off", "over", "ago"}
NOUN = rf" (?!(?:{'|'.join(sorted(_NO_NOUNS))})\b)[a-z]{{2,}}(?![\w'])"
_SIMPLE_UNIT = (
    r"(?:[kcmµμn]?m|[kmµμnp]?g|[mdcµμ]?[lL]|KM|KG|lbs?|oz|h|hrs?|mins?|secs?|[KMGT]B|px|m?s"
    r"|[mµμnp]?mol|m?I?U|mmHg|bpm|k?cal|k[JW]h?|[kMG]?Hz|°[CF]?)"
)
UNIT = rf"(?:{_SIMPLE_UNIT}(?:/{_SIMPLE_UNIT})?(?:\^?2)?(?!\w))"
"""A unit after a number in digits: 27 nmol/L, 62 kg, 130 mmHg."""
_SUFFIX = r"(?:st|nd|rd|th|x)(?!\w)"
_SCALE = (
    r"(?:千(?![克米瓦卡])|百(?!度)|[万萬亿億])+"
    r"|\s?(?:hundred|thousand|[mb]illion)\b|[kKw](?![A-Za-z_])"
)
_DIGITS = re.compile(
    rf"(?<![{LETTER}0-9_])(?<![{LETTER}]-)(?P<version>[vV])?"
    r"(?P<number>(?>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)*+)"
    rf"{_MORE}(?P<scale>{_SCALE})?"
    rf"(?:(?P<percent>\s?(?:%|per\s?cent\b))|\s?(?:{MEASURE}|[点點](?!半)|{UNIT}|{_SUFFIX})|{NOUN})?"
    rf"{_TAIL}{_HALF}(?![{LETTER}_])"
)
_CHINESE = re.compile(
    rf"(?<![第周週期拜几幾数數初{NUMERAL}])(?P<number>[{NUMERAL}]++)"
    rf"(?:[点點](?P<decimals>[〇零{_ONES}]+)(?={MEASURE}))?{_MORE}(?P<scale>[万萬亿億])?"
    rf"(?P<unit>\s?{MEASURE}|多|(?=[到至][{NUMERAL}]+{MEASURE}))?{_TAIL}{_HALF}"
)
_PERCENT = re.compile(rf"百分之(?P<number>[{NUMERAL}]+)(?:[点點](?P<decimals>[〇零{_ONES}]+))?")
_ENGLISH = re.compile(
    rf"(?<!\bor )(?P<number>{_NUMBER_WORDS})(?P<half> and a half)?"
    rf"(?:{NOUN}|-(?:year|month|week|day|hour|minute|mile|page|person|room|bedroom)\b)"
)
_HALF_OF_DAY = r"(?i:\s?(?:[ap]m\b|[ap]\.m\.?))"
_PART = (
    "早上|早晨|[清凌]晨|[上中正下]午|午[前后後]|傍晚|晚上|夜里|[半深]夜|[今昨明每]晚|[今明]早|早|晚"
)
_MINUTE = (
    rf"(?P<minute>[0-5][0-9](?![0-9])|[零〇][{_ONES}]|[二三四五]?十[{_ONES}]?"
    rf"|(?:[0-9]|[{_ONES}])(?=分))分?(?!{MEASURE}|[钟鐘])"
)
_CLOCKS = (
    re.compile(
        r"(?<![0-9:.])(?P<hour>[01]?[0-9]|2[0-4]):(?P<minute>[0-5][0-9])(?::[0-5][0-9])?(?![0-9:])"
        rf"{_HALF_OF_DAY}?"
    ),
    re.compile(
        rf"(?<![\w:.])(?P<hour>1[0-2]|0?[1-9]|{_NUMBER_WORDS})(?P<sure>{_HALF_OF_DAY}|\so'clock)"
    ),
    re.compile(
        rf"(?P<part>{_PART})?"
        rf"(?P<hour>(?<![0-9:.])[0-9]{{1,2}}|(?<![第周週期拜几幾{NUMERAL}])[{NUMERAL}]{{1,3}})"
        rf"\s?(?:[点點]|[时時](?![间間]))"
        rf"(?P<sure>半(?![天夜年个個点點])|[一三]刻|{_MINUTE}|[钟鐘](?![爱愛情])"
        r"|整(?![理个個洁潔天体體])|(?=之[前后後]|以[前后後]|左右)"
        r"|(?<=[午晨夜里]一[点點])(?![都也儿兒点點不没沒]))?"
        r"(?P<next>(?=多(?!余)|前(?![端面台])|[后後](?![悔来來面端果])|起(?![来來])|[到至睡]"
        r"|[上下]班|开[会始]))?"
    ),
)
_MINUTES = {"半": 30, "一刻": 15, "三刻": 45}
_ITEM = re.compile(r"^\s*(?:[-*•]\s*)?\(?[0-9]{1,2}[.、)](?![0-9])")
"""The number of an item in a list."""
_PAIR = re.compile(r"(?<![0-9/])[0-9]{1,2}/[0-9]{1,2}(?![0-9/])")
"""An ambiguous pair: a date, a fraction or a mark."""
_PRODUCT = re.compile(rf"(?:[A-Z][A-Za-z0-9.+#-]*|[Vv]ersion|版本|{GONE})\s?$")
_GROUPS = {"both": 2, "couple": 2, "pair": 2, "twins": 2, "twice": 2, "trio": 3, "triplets": 3}
_GROUPS |= {"dozen": 12, "half a dozen": 6, "half-dozen": 6, "half dozen": 6}
_GROUP = re.compile(rf"\b(?:{'|'.join(sorted(_GROUPS, key=len, reverse=True))})\b", re.IGNORECASE)
"""Words that mean a number without naming it: "a dozen eggs" are 12."""
_BARE = re.compile(rf"[0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)*|[{NUMERAL}]+|[俩倆仨]|{_NUMBER_WORDS}")


_WEEKDAY = re.compile(
    rf"(?:周|週|星期|礼拜|禮拜)[一二三四五六日天](?=[{NUMERAL}]{{1,3}}(?:点|點|时|時))"
)
"""A weekday directly before an hour; otherwise their numerals would be read as one number."""


def find_numbers(line: str) -> tuple[list[NumeralMatch], str]:
    """Return the certain numbers and clock times in a line, and the line without them.

    Keys are decimals ("1200", "0.5", "50%"), versions as written ("3.10") and clock times ("8:30",
    for both halves of the day).

    >>> [reading.key for reading in find_numbers("三只猫，1.2万元，八点半，百分之五")[0]]
    ['5%', '8:30', '12000', '3']
    >>> find_numbers("一直在四川，万一周三下雨，一个人千万别去三里屯")[0]
    []
    >>> [reading.key for reading in find_numbers("周六九点半")[0]]
    ['9:30']
    """
    found: list[NumeralMatch] = []
    for unread in (_ITEM, _PAIR, _WEEKDAY):
        line = unread.sub(lambda match: GONE * len(match[0]), line)
    for pattern, read in _READERS:
        some, line = extract(pattern, line, read)
        found += some
    return found, line


def number_keys(line: str) -> set[str]:
    """Return the keys of all words in a line that may be numbers, even uncertain ones.

    >>> sorted(number_keys("第三次，两三天，one 3D film, a dozen eggs"))
    ['1', '12', '2', '3']
    """
    keys = {reading.key for reading in find_numbers(line)[0]}
    for match in _BARE.finditer(_ITEM.sub("", line)):
        keys |= _loosely(match[0].replace(",", ""))
    keys |= {str(_GROUPS[match[0].lower()]) for match in _GROUP.finditer(line)}
    return keys.union(*(same_time(key) for key in keys))


def same_time(key: str) -> set[str]:
    """Return the keys of the same clock time: in the other half of the day, or the hour alone.

    >>> sorted(same_time("15:00")), same_time("15")
    (['15', '15:00', '3', '3:00'], {'15'})
    """
    hour, colon, minute = key.partition(":")
    if not colon:
        return {key}
    hours = {int(hour), int(hour) % 12, int(hour) % 12 + 12}
    bare = {str(hour) for hour in hours} if minute == "00" else set()
    return {f"{hour}:{minute}" for hour in hours} | bare


def _loosely(text: str) -> set[str]:
    """Return the key of a bare number; for "two or three" the keys of both parts."""
    if text in "俩倆仨":
        return {"3" if text == "仨" else "2"}
    if text[0].isdigit():
        return {text, _canonical(Decimal(text))} if text.count(".") < 2 else {text}
    if text[0] in NUMERAL:
        whole, parts = read_chinese(text), [_VALUES.get(char) for char in text]
    else:
        words = re.split(r"\W", text.lower())
        whole, parts = read_english(text), [_WORDS.get(word) for word in words]
    values = parts if whole is None else [whole]
    return {str(value) for value in values if value is not None}


def _digits(match: re.Match[str]) -> str | None:
    number = match["number"].replace(",", "")
    before = match.string[max(0, match.start() - 40) : match.start()]
    product = match["version"] or _PRODUCT.search(before)
    if number.count(".") > 1 or ("." in number and product):  # version 3.10 is not 3.1
        return number
    return _canonical(_scaled(match, Decimal(number))) + ("%" if match["percent"] else "")


def _chinese(match: re.Match[str]) -> str | None:
    number, unit = match["number"], match["unit"]
    value = _decimal(match)
    sure = unit is not None or match["scale"] or any(char in "百千万萬亿億" for char in number)
    if value is None or not sure or (unit == "多" and value < 10):
        return None
    exact = match["half"] or match["decimals"] or match["scale"] or match["tail"]
    return _canonical(_scaled(match, value)) if exact or number not in "一二" else None


def _percent(match: re.Match[str]) -> str | None:
    value = _decimal(match)
    return None if value is None else _canonical(value) + "%"


def _english(match: re.Match[str]) -> str | None:
    value = read_english(match["number"])
    if value is None or (value == 1 and not match["half"]):
        return None
    return _canonical(value + (Decimal("0.5") if match["half"] else Decimal(0)))


def _clock(match: re.Match[str]) -> str | None:
    said = match.groupdict()
    hour = _whole(said["hour"])
    alone = said["hour"] == "一" or (said.get("part") is None and said.get("next") is None)
    if "part" in said and said["sure"] is None and alone:
        return None
    if minutes := said.get("minute"):
        minute = _whole(minutes)
    else:
        minute = _MINUTES.get(said.get("sure") or "", 0)
    return f"{hour}:{minute:02}" if hour is not None and hour <= 24 and minute is not None else None


def _whole(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    return read_chinese(text) if text[0] in NUMERAL else read_english(text)


def _decimal(match: re.Match[str]) -> Decimal | None:
    value = read_chinese(match["number"])
    if value is None or not match["decimals"]:
        return None if value is None else Decimal(value)
    return Decimal(f"{value}." + "".join(str(_VALUES[char]) for char in match["decimals"]))


def _scaled(match: re.Match[str], value: Decimal) -> Decimal:
    """Return the value with its scale, tail and half: 3万5, 29块8, 1米78, 两年半."""
    scale = (match["scale"] or "").strip().lower()
    power = _POWERS.get(scale) or sum(_POWERS[char] for char in scale)
    if tail := match["tail"]:
        value += Decimal("0." + "".join(str(_VALUES.get(char, char)) for char in tail))
    value = value.scaleb(power)
    return value + Decimal("0.5") if match["half"] else value


def _canonical(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (_PERCENT, _percent),
    *((pattern, _clock) for pattern in _CLOCKS),
    (_DIGITS, _digits),
    (_CHINESE, _chinese),
    (_ENGLISH, _english),
)
