"""Time questions: the period a text speaks of, against a calendar worked by hand."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.memory import Category
from souffleur.knowledge.search.periods import BEGINNING, find_period, open_matter
from souffleur.knowledge.search.questions import asks_about_past
from tests.build import NOW, memory

SHANGHAI = ZoneInfo("Asia/Shanghai")
LOS_ANGELES = ZoneInfo("America/Los_Angeles")
FRIDAY = datetime(2025, 11, 21, 15, 30, tzinfo=UTC)
"""23:30 in Shanghai, 07:30 in Los Angeles."""

# The phrase stands in brackets; then the period as clocks show it in Shanghai and in Los Angeles,
# of 2025 where no year is written.
CHINESE = [
    ("你[刚才]说什么来着？", "11-21T21:30 11-21T23:30", "11-21T05:30 11-21T07:30"),
    ("我[今天]跟你讲过几件事？", "11-21 11-21T23:30", "11-21 11-21T07:30"),
    ("我[今天早上]做的梦你还记得吗", "11-21T05:00 11-21T12:00", "11-21T05:00 11-21T07:30"),
    ("[今早]我说了什么", "11-21T05:00 11-21T12:00", "11-21T05:00 11-21T07:30"),
    ("[昨天]说的那家店叫什么", "11-20 11-21", "11-20 11-21"),
    ("[昨天中午]我吃的什么", "11-20T11:00 11-20T14:00", "11-20T11:00 11-20T14:00"),
    ("[昨天下午]三点我在哪？", "11-20T12:00 11-20T18:00", "11-20T12:00 11-20T18:00"),
    ("[昨晚]我们聊到哪了", "11-20T18:00 11-21T05:00", "11-20T18:00 11-21T05:00"),
    ("[昨天晚上]你推荐的电影", "11-20T18:00 11-21T05:00", "11-20T18:00 11-21T05:00"),
    ("[昨天凌晨]我说睡不着", "11-20 11-20T06:00", "11-20 11-20T06:00"),
    ("[前天]我去了哪里？", "11-19 11-20", "11-19 11-20"),
    ("[大前天]呢？", "11-18 11-19", "11-18 11-19"),
    ("[三天前]你讲的故事", "11-18 11-19", "11-18 11-19"),
    ("[3 天前]你讲的故事", "11-18 11-19", "11-18 11-19"),
    ("[两周前]我们聊过什么", "11-03 11-10", "11-03 11-10"),
    ("[兩個禮拜前]聊過的電影", "11-03 11-10", "11-03 11-10"),
    ("[两个月前]我提过的工作", "09-01 10-01", "09-01 10-01"),
    ("[半年前]我在学什么？", "05-01 06-01", "05-01 06-01"),
    ("[一年前]我住在哪？", "2024-01-01 01-01", "2024-01-01 01-01"),
    ("[两小时前]我说的", "11-21T20:30 11-21T22:30", "11-21T04:30 11-21T06:30"),
    ("[半小时前]我说的", "11-21T22:30 11-21T23:30", "11-21T06:30 11-21T07:30"),
    ("[十分钟前]我说的", "11-21T23:19 11-21T23:21", "11-21T07:19 11-21T07:21"),
    ("我们[上周]聊了什么", "11-10 11-17", "11-10 11-17"),
    ("我们[上上周]聊了什么", "11-03 11-10", "11-03 11-10"),
    ("[上周三]我们聊了什么", "11-12 11-13", "11-12 11-13"),
    ("[上個星期三]我們聊了什麼", "11-12 11-13", "11-12 11-13"),
    ("[上周一下午]开会说了啥", "11-10T12:00 11-10T18:00", "11-10T12:00 11-10T18:00"),
    ("[上周]一直在下雨吗", "11-10 11-17", "11-10 11-17"),
    ("[周三]我跟你说的", "11-19 11-20", "11-19 11-20"),
    ("[星期五]我跟你说的", "11-14 11-15", "11-14 11-15"),
    ("[礼拜天晚上]聊的", "11-16T18:00 11-17T05:00", "11-16T18:00 11-17T05:00"),
    ("[这周]我说过几次累", "11-17 11-21T23:30", "11-17 11-21T07:30"),
    ("[这周二]我说过什么", "11-18 11-19", "11-18 11-19"),
    ("[周末]我们去了哪", "11-15 11-17", "11-15 11-17"),
    ("[上周末]我们去了哪", "11-15 11-17", "11-15 11-17"),
    ("[上个月]你推荐的书", "10-01 11-01", "10-01 11-01"),
    ("[上个月15号]你推荐的书", "10-15 10-16", "10-15 10-16"),
    ("[这个月]我花了多少", "11-01 11-21T23:30", "11-01 11-21T07:30"),
    ("[三月份]我说过什么", "03-01 04-01", "03-01 04-01"),
    ("[十二月]我说过什么", "2024-12-01 01-01", "2024-12-01 01-01"),
    ("[去年三月]我们聊过", "2024-03-01 2024-04-01", "2024-03-01 2024-04-01"),
    ("[2024年10月3日]我说了什么", "2024-10-03 2024-10-04", "2024-10-03 2024-10-04"),
    ("我[10月3号]跟你说的", "10-03 10-04", "10-03 10-04"),
    ("我[十月三号晚上]说的", "10-03T18:00 10-04T05:00", "10-03T18:00 10-04T05:00"),
    ("[3号]我们聊了什么", "11-03 11-04", "11-03 11-04"),
    ("[30号]我们聊了什么", "10-30 10-31", "10-30 10-31"),
    ("我们[2025-10-03]聊的", "10-03 10-04", "10-03 10-04"),
    ("我们[10/3]聊的", "10-03 10-04", "10-03 10-04"),
    ("[去年]我想学什么来着", "2024-01-01 01-01", "2024-01-01 01-01"),
    ("[前年]的事你还记得吗", "2023-01-01 2024-01-01", "2023-01-01 2024-01-01"),
    ("[去年夏天]我们去了哪", "2024-06-01 2024-09-01", "2024-06-01 2024-09-01"),
    ("[冬天]聊的那本书", "2024-12-01 03-01", "2024-12-01 03-01"),
    ("[最近三天]我说了什么", "11-18 11-21T23:30", "11-18 11-21T07:30"),
    ("[过去一周]我们聊过什么", "11-14 11-21T23:30", "11-14 11-21T07:30"),
    ("[这两天]我说了什么", "11-19 11-21T23:30", "11-19 11-21T07:30"),
    ("[前几天]你说的书", "11-14 11-21", "11-14 11-21"),
    ("[几天前]你说的书", "11-14 11-21", "11-14 11-21"),
    ("[三四天前]你说的书", "11-14 11-21", "11-14 11-21"),
    ("[前阵子]你说的书", "10-22 11-18", "10-22 11-18"),
    ("[不久前]你说的书", "10-22 11-18", "10-22 11-18"),
    ("下周三之前，把[昨天]说的书给我", "11-20 11-21", "11-20 11-21"),
]
ENGLISH = [
    ("What did I say [just now]?", "11-21T21:30 11-21T23:30", "11-21T05:30 11-21T07:30"),
    ("I told you [a moment ago]", "11-21T21:30 11-21T23:30", "11-21T05:30 11-21T07:30"),
    ("What did I eat [today]?", "11-21 11-21T23:30", "11-21 11-21T07:30"),
    ("What did I dream [this morning]?", "11-21T05:00 11-21T12:00", "11-21T05:00 11-21T07:30"),
    ("[Yesterday] you told me a story", "11-20 11-21", "11-20 11-21"),
    ("Who called [yesterday afternoon]?", "11-20T12:00 11-20T18:00", "11-20T12:00 11-20T18:00"),
    ("Who called [yesterday evening]?", "11-20T18:00 11-21", "11-20T18:00 11-21"),
    ("What were we saying [last night]?", "11-20T18:00 11-21T05:00", "11-20T18:00 11-21T05:00"),
    ("What about [the night before last]?", "11-19T18:00 11-20T05:00", "11-19T18:00 11-20T05:00"),
    ("I said so [the day before yesterday].", "11-19 11-20", "11-19 11-20"),
    ("The film you named [three days ago]", "11-18 11-19", "11-18 11-19"),
    ("I told you [a couple of days ago]", "11-14 11-21", "11-14 11-21"),
    ("I told you [a few days ago]", "11-14 11-21", "11-14 11-21"),
    ("I told you [the other day]", "11-14 11-21", "11-14 11-21"),
    ("I told you [a while ago]", "10-22 11-18", "10-22 11-18"),
    ("What did we discuss [two weeks ago]?", "11-03 11-10", "11-03 11-10"),
    ("What did we discuss [two months ago]?", "09-01 10-01", "09-01 10-01"),
    ("Where did I live [a year ago]?", "2024-01-01 01-01", "2024-01-01 01-01"),
    ("What did I say [an hour ago]?", "11-21T21:30 11-21T23:30", "11-21T05:30 11-21T07:30"),
    ("What did I say [20 minutes ago]?", "11-21T23:09 11-21T23:11", "11-21T07:09 11-21T07:11"),
    ("我们[last week]聊的那个", "11-10 11-17", "11-10 11-17"),
    ("Who did I meet [the week before last]?", "11-03 11-10", "11-03 11-10"),
    ("Who did I meet [this week]?", "11-17 11-21T23:30", "11-17 11-21T07:30"),
    ("What did I say [last Wednesday]?", "11-19 11-20", "11-19 11-20"),
    ("What did I say [on Wednesday]?", "11-19 11-20", "11-19 11-20"),
    ("What did I say [on Friday]?", "11-14 11-15", "11-14 11-15"),
    ("And [Monday night]?", "11-17T18:00 11-18T05:00", "11-17T18:00 11-18T05:00"),
    ("The shop from [Wednesday of last week]", "11-12 11-13", "11-12 11-13"),
    ("What did we do [last weekend]?", "11-15 11-17", "11-15 11-17"),
    ("What did we do [the weekend before last]?", "11-08 11-10", "11-08 11-10"),
    ("Which book was it [last month]?", "10-01 11-01", "10-01 11-01"),
    ("[In March] you told me about a book", "03-01 04-01", "03-01 04-01"),
    ("Where was I [in December]?", "2024-12-01 01-01", "2024-12-01 01-01"),
    ("Where was I [in March of last year]?", "2024-03-01 2024-04-01", "2024-03-01 2024-04-01"),
    ("We talked [in May 2025]", "05-01 06-01", "05-01 06-01"),
    ("What happened [on October 3rd]?", "10-03 10-04", "10-03 10-04"),
    ("What happened [on Dec. 25]?", "2024-12-25 2024-12-26", "2024-12-25 2024-12-26"),
    ("What happened [on May 3, 2024]?", "2024-05-03 2024-05-04", "2024-05-03 2024-05-04"),
    ("And [the 3rd of October last year]?", "2024-10-03 2024-10-04", "2024-10-03 2024-10-04"),
    ("And [on Oct. 3 at noon]?", "10-03T11:00 10-03T14:00", "10-03T11:00 10-03T14:00"),
    ("Where was I [on may 3]?", "05-03 05-04", "05-03 05-04"),
    ("Where was I [3 sept 2024]?", "2024-09-03 2024-09-04", "2024-09-03 2024-09-04"),
    ("Where was I [12/31]?", "2024-12-31 01-01", "2024-12-31 01-01"),
    ("Where was I [10/3/2024]?", "2024-10-03 2024-10-04", "2024-10-03 2024-10-04"),
    ("What did I say [on the 3rd]?", "11-03 11-04", "11-03 11-04"),
    ("Where was I [on February 29]?", "2024-02-29 2024-03-01", "2024-02-29 2024-03-01"),
    ("Where did we go [last summer]?", "06-01 09-01", "06-01 09-01"),
    ("Where did we go [in the fall]?", "09-01 11-21T23:30", "09-01 11-21T07:30"),
    ("Where did we go [in the winter of 2023]?", "2023-12-01 2024-03-01", "2023-12-01 2024-03-01"),
    ("Where did I work [last year]?", "2024-01-01 01-01", "2024-01-01 01-01"),
    ("Where did I work [in 2023]?", "2023-01-01 2024-01-01", "2023-01-01 2024-01-01"),
    ("What was new the [past three days]?", "11-18 11-21T23:30", "11-18 11-21T07:30"),
    ("What was new the [last two weeks]?", "11-07 11-21T23:30", "11-07 11-21T07:30"),
    ("What was new [over the last week]?", "11-14 11-21T23:30", "11-14 11-21T07:30"),
    ("By next March, do what we said [yesterday]", "11-20 11-21", "11-20 11-21"),
]


def moment(shown: str, zone: ZoneInfo) -> datetime:
    dated = shown if shown.startswith("20") else f"2025-{shown}"
    return datetime.fromisoformat(dated).replace(tzinfo=zone)


def span(shown: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    start, end = shown.split()
    return moment(start, zone), moment(end, zone)


def found(text: str, zone: ZoneInfo, now: datetime = FRIDAY) -> tuple[datetime, datetime] | None:
    period = find_period(text, now, zone)
    return None if period is None else (period.start, period.end)


@pytest.mark.parametrize(("marked", "shanghai", "los_angeles"), [*CHINESE, *ENGLISH])
def test_a_phrase_is_the_period_of_the_users_calendar(
    marked: str, shanghai: str, los_angeles: str
) -> None:
    """In each zone the period is the one worked by hand, and the phrase is known."""
    text = marked.replace("[", "").replace("]", "")
    for zone, shown in ((SHANGHAI, shanghai), (LOS_ANGELES, los_angeles)):
        period = find_period(text, FRIDAY, zone)
        assert period is not None
        assert (period.start, period.end) == span(shown, zone)
        assert period.phrase == marked[marked.index("[") + 1 : marked.index("]")]
        assert not period.last


@pytest.mark.parametrize(
    "text",
    ["上次你推荐的餐厅", "上一次聊的", "上回说到哪了", "last time you said so", "our last talk"],
)
def test_last_time_is_the_latest_talk(text: str) -> None:
    """上次 says which talk is meant, not when it was: the period is all that is before now."""
    period = find_period(text, FRIDAY, SHANGHAI)
    assert period is not None
    assert period.last
    assert (period.start, period.end) == (BEGINNING, FRIDAY)


@pytest.mark.parametrize(
    "text",
    [
        *("下周三见", "明天见", "明天下午", "后天", "下个月3号", "明年三月", "下次再聊"),
        "这周末去哪",
        *("tomorrow", "next March", "see you next Wednesday", "by Friday", "next time"),
        "next year",
        *("三天后", "in three days", "the day after tomorrow", "this weekend", "October 3, 2031"),
        *("每周三我去游泳", "一周三次", "周一到周五上班", "every weekend", "I love Fridays"),
        *("一点也不", "三明治", "周杰伦的歌", "我在上课", "我在上海", "汽车前天线坏了", "目前天气"),
        *("早上周围都是人", "五月天的歌", "我住3号楼", "坐3号线", "第3号", "过去年轻的时候"),
        "五年级",
        *("May I ask you something", "I may march on", "second thought", "this may be wrong"),
        "24/7",
        *("以前", "之前说过", "before", "once", "when was the last time I ate out?"),
        "half past three",
        *(
            "2月30号",
            "13月",
            "February 30",
            "2025-13-40",
            "2025-13-06",
            "2025.0.1",
            "3/4 of it",
            "9999 years ago",
            "",
        ),
    ],
)
def test_no_period_is_made_up(text: str) -> None:
    """The future, habits, days that no calendar has and words that only look alike give none."""
    assert found(text, SHANGHAI) is None
    assert found(text, LOS_ANGELES) is None


def test_what_has_not_begun_is_no_past() -> None:
    """今晚 is a period at 23:30 in Shanghai, and none yet at 07:30 in Los Angeles."""
    assert found("今晚聊的", SHANGHAI) == span("11-21T18:00 11-21T23:30", SHANGHAI)
    assert found("今晚聊的", LOS_ANGELES) is None


@pytest.mark.parametrize(
    ("text", "shanghai", "los_angeles"),
    [
        ("今天聊的", "11-22 11-22T00:30", "11-21 11-21T08:30"),
        ("what we said tonight", "11-21T18:00 11-22T00:30", None),
        ("昨天聊的", "11-21 11-22", "11-20 11-21"),
        ("周五聊的", "11-21 11-22", "11-14 11-15"),
        ("周末聊的", "11-22 11-22T00:30", "11-15 11-17"),
        ("这周末聊的", "11-22 11-22T00:30", None),
        ("上周六聊的", "11-15 11-16", "11-15 11-16"),
        ("21号聊的", "11-21 11-22", "11-21 11-21T08:30"),
        ("I said so on November 22", "11-22 11-22T00:30", "2024-11-22 2024-11-23"),
    ],
)
def test_after_midnight_it_is_the_next_day(
    text: str, shanghai: str, los_angeles: str | None
) -> None:
    """At 16:30 UTC it is Saturday in Shanghai and Friday still in Los Angeles."""
    now = FRIDAY + timedelta(hours=1)
    assert found(text, SHANGHAI, now) == span(shanghai, SHANGHAI)
    expected = los_angeles and span(los_angeles, LOS_ANGELES)
    assert found(text, LOS_ANGELES, now) == expected


@pytest.mark.parametrize(
    ("now", "text", "start", "end"),
    [
        ("11-03T20:00", "yesterday", "11-02T07:00", "11-03T08:00"),
        ("11-02T20:00", "yesterday", "11-01T07:00", "11-02T07:00"),
        ("11-02T20:00", "last night", "11-02T01:00", "11-02T13:00"),
        ("11-02T09:30", "an hour ago", "11-02T07:30", "11-02T09:30"),
        ("11-02T09:30", "the past 3 hours", "11-02T06:30", "11-02T09:30"),
        ("11-02T09:30", "today", "11-02T07:00", "11-02T09:30"),
        ("11-05T20:00", "last week", "10-27T07:00", "11-03T08:00"),
    ],
)
def test_the_day_the_clocks_go_back_has_25_hours(now: str, text: str, start: str, end: str) -> None:
    """Around 2025-11-02 in Los Angeles days follow the clock, and hours ago are real hours."""
    utc = ZoneInfo("UTC")
    assert found(text, LOS_ANGELES, moment(now, utc)) == (moment(start, utc), moment(end, utc))


def test_a_day_with_two_midnights_begins_at_the_first() -> None:
    """In Havana 2025-11-02 the clocks go back from 1 to 0: half past midnight comes twice."""
    havana, now = ZoneInfo("America/Havana"), datetime(2025, 11, 2, 5, 30, tzinfo=UTC)
    midnight = now - timedelta(minutes=90)
    assert found("today", havana, now) == (midnight, now)
    assert found("a few days ago", havana, now) == (midnight - timedelta(days=7), midnight)


@pytest.mark.parametrize(
    "text",
    [
        *("上周三我们聊了什么", "我们昨天聊的那个", "昨天我去了哪", "你上次推荐的餐厅"),
        "你还记得吗",
        *("那家店叫什么来着", "以前我跟你说过", "前天我告诉你的事", "我们聊过这个吗"),
        "上週我們說了什麼",
        *("what did we talk about last time?", "Where did I go yesterday"),
        "you told me about a book",
        *("Do you remember my name?", "the film you recommended", "Tell me about last summer"),
        *("Remind me what we planned", "who was it before?", "So what did I promise"),
        *("小野寺が言ってた宿", "名前なんだったっけ", "先週話した本、覚えてる？"),
        "この前の宿はどこ？",
        *("那笔钱最后哪天还的？", "他后来有啥喜事？", "How often have I been to Lyon?"),
    ],
)
def test_a_question_or_telling_asks_about_the_past(text: str) -> None:
    """A question about what was, or talk of earlier talk, asks."""
    assert asks_about_past(text)


@pytest.mark.parametrize(
    "text",
    [
        *("我昨天去了超市", "昨天加班到很晚。你今天怎么样？", "今天天气怎么样？"),
        *("周五有什么安排？", "车打不着火了，去哪儿修？"),
        *("我昨天看小说看到很晚", "昨天开会提前结束", "昨天听说他病了", "帮我推荐一部电影"),
        "记得带伞",
        *("I went to the shop yesterday", "What's the weather like today?", "Tell me a joke"),
        *("Yesterday was long. How are you?", "Remember to buy milk"),
        *("What shall we do on Friday?", "Who have I got to see?", "这片现在是多少毫克的？"),
        *("May I ask you something?", "How long will the battery last?", ""),
        *("昨日はラーメン食べた", "明日は何時に起きればいい？", "今日の予定は？"),
    ],
)
def test_a_statement_or_another_question_does_not(text: str) -> None:
    """What only tells, or asks about now and later, asks nothing of the past."""
    assert not asks_about_past(text)


def said(joint: str, *parts: str) -> st.SearchStrategy[str]:
    """A word of each part, in order; _ is a space, or nothing where it stands alone."""
    words = (st.sampled_from(part.split()) for part in parts)
    return st.tuples(*words).map(
        lambda chosen: joint.join(word.replace("_", " ") for word in chosen if word != "_")
    )


zones = st.sampled_from(
    [
        *("UTC", "Asia/Shanghai", "Asia/Kathmandu", "America/Los_Angeles", "America/Havana"),
        *("Australia/Lord_Howe", "Africa/Casablanca"),
    ]
).map(ZoneInfo)
moments = st.integers(1_740_000_000, 7_000_000_000).map(  # from 2025 to 2191
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)
past = st.one_of(
    said("", "一 两 3 十二 半 几", "天 周 个星期 个月 年 小时 分钟", "前 以前 之前", "_ 的晚上"),
    said("", "昨天 前天 大前天 10月3号 去年十月三号 上周三 星期天 2月29日", "_ 早上 下午 凌晨"),
    said("", "去年 前年 2024年 _", "三月 12月份 夏天 冬天的"),
    said("", "最近 过去 这", "两 几 10", "天 周 个月 年 小时"),
    said("", "上周 上上周 上个月 去年 刚才 前几天 前阵子 上次 昨晚 周末 3号我 31号"),
    said(" ", "a an one", "hour day week month year", "ago back"),
    said(
        " ",
        "two twelve a_couple_of 30 a_few several",
        "minutes hours days weeks months years",
        "ago",
    ),
    said(
        " ", "yesterday the_day_before_yesterday last_Friday on_Sunday", "_ morning at_noon night"
    ),
    said(" ", "in_March last_summer during_the_winter in_may May_3 Dec._31", "_ last_year 1999"),
    said(" ", "last past previous", "two few several 3", "hours days weeks months years"),
    said(" ", "last_week just_now the_other_day last_time last_night on_the_31st 10/3 1999-12-31"),
)
ahead = st.one_of(
    said("", "明 后 今 大后", "天 年 晚"),
    said("", "下 这 本 下下 每", "周 个月 个星期 周末", "_ 三 日 15号"),
    said(" ", "next this every by", "week month year Friday weekend March", "_ morning"),
    said(" ", "today tonight tomorrow", "_ afternoon"),
    said("", "2099年 明年", "_ 2月29号 13月 冬天"),
    st.from_regex(r"(19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}/\d{1,2}(/20\d\d)?", fullmatch=True),
)
joints = st.sampled_from(["", " ", "，", ". ", "的", "我们聊了", " we said ", "到", "?"])


@given(past, moments, zones)
def test_every_phrase_of_the_past_has_its_period(text: str, now: datetime, zone: ZoneInfo) -> None:
    """Whenever and wherever it is said, it is a period that has begun, and the phrase is of it."""
    period = find_period(text, now, zone)
    assert period is not None
    assert period.start < period.end <= now
    assert period.phrase in text


@given(st.lists(st.one_of(past, ahead, joints), max_size=6), st.datetimes(), zones)
def test_a_period_is_in_the_past_or_there_is_none(
    words: list[str], then: datetime, zone: ZoneInfo
) -> None:
    """No mix of phrases, at any time of the calendar, raises or gives what has not begun."""
    now, text = then.replace(tzinfo=UTC), "".join(words)
    period = find_period(text, now, zone)
    assert period is None or (period.start < period.end <= now and period.phrase in text)
    asks_about_past(text)


@given(
    st.one_of(
        st.text(), st.text("上下周星期三十一月日号年前天昨今明半个几 0123456789/-.ago", max_size=30)
    ),
    moments,
    zones,
)
def test_no_text_raises(text: str, now: datetime, zone: ZoneInfo) -> None:
    """Whatever is written, there is a period of the past or none."""
    period = find_period(text, now, zone)
    assert period is None or period.start < period.end <= now
    asks_about_past(text)


@pytest.mark.parametrize(
    ("matter", "days_later", "is_open"),
    [
        ("whether the lift works by tomorrow", 1, True),
        ("whether the lift works by tomorrow", 3, False),
        ("the exam on 12 January", 8, True),
        ("the exam on 12 January", 11, False),
        ("周末去不去", 20, False),
        ("which flat she will take", 99, True),
        ("why he left yesterday", 99, True),
    ],
)
def test_an_open_matter_is_over_when_its_day_is_past(
    matter: str, days_later: int, is_open: bool
) -> None:
    """What names no day to come stays open until it is answered."""
    told = memory("Talk.", category=Category.EPISODE, data={"unresolved": matter})
    assert bool(open_matter(told, NOW + timedelta(days=days_later))) is is_open
