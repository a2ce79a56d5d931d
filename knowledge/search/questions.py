"""Questions: whether a text asks, and whether it asks about the past, found without a model."""

import re
from functools import cache

from souffleur.knowledge.search.period_words import to_table_spelling

TELLING = "|".join(
    [
        "(?<![小听据])[说聊讲谈提](?:[过到起及]|了(?!算)|的(?![对是没也好]|有道理)|什么|啥|谁|哪|没|来着)",
        "(?:昨|前天|前几天|上[周次回个]|上星期|上礼拜|刚才|刚刚|以前|之前|曾|那[天次时]|[天周月年]前|[月号日])"
        "[^，。！？,.!?]{0,8}(?:(?<![小听])说(?![明服不话])|聊|讲(?![座究课台])|谈(?!恋)|提(?![前高醒供交升示])"
        "|告诉|推荐|介绍|答应|约)",
        "[我你您][^，。！？,.!?]{0,3}告诉[我你您](?![个一，,啊吧])|告诉过|推荐[过了的]|[你您]推荐(?![一几个点些])",
        "答应[过了我你]|问[过了]|约好|来着|记不记得|想不?起|[还你我]记得|记得(?![要带提帮把给叫])",
        "(?<![a-z])(?:talked|spoken?|said|told|mentioned|recommended|suggested|discussed|chatted"
        r"|promised|brought\s+up|(?:remember|recall)(?:ed)?(?!\s+to(?![a-z]))"
        r"|remind\s+me\s+(?:what|who|which|where|when|how|of|about))(?![a-z])",
        "(?:[言云]っ|話し|教え|勧め|薦め|約束し|相談し|聞い)て(?:い)?(?:た|くれた|もらった)|覚えて(?:る|い[るま])",
    ]
)
"""Mentions of earlier talk: a verb of speaking in the past tense, or with a past time."""
QUESTION = "|".join(
    [
        "[?？吗呢]|っけ|什么|啥|哪|谁|怎么|多少|几[个点时号岁次]|是不是|有没有|为何|如何",
        r"^\W*(?:(?:so|and|but|hey|ok|okay|well|also|then|please)\W+)*(?:what|which|who|whose|where|when"
        r"|why|how|did|was|were|do\s+you|(?:can\s+you\s+)?tell\s+me)(?![a-z])",
        r"(?<![a-z])(?:what|which|who|where|when|how|why)\s+(?:[a-z]+\s+){0,2}did(?![a-z])",
    ]
)
"""Marks and words that make a sentence a question."""
PAST = "|".join(
    [
        "昨|(?<!目)前天|前[几两些]天|上[周次回个]|上星期|上礼拜|[去前]年|以前|之前|曾|刚才|刚刚|当时|那[天次]",
        "后来|到现在|以来|从头到尾|这一年|经过|发生|(?:什么|谁|哪|啥|怎么|几)[^，。,?]{0,8}的(?=\\W*$)",
        "[天周月年]前|了(?=[^，,]*$)|(?<![不通超经难])过(?![年来去几会节程期敏分得])|的是?(?:什么|谁|哪|啥)|来着",
        r"(?<![a-z])(?:did(?:n't)?|happened|became|went|was|wasn't|were|weren't|had|ago|yesterday|earlier|previous(?:ly)?"
        r"|(?:last|past)(?=\s+[a-z0-9])|used\s+to|the\s+other\s+(?:day|night|time)"
        r"|before(?=\s*(?:[?.!,]|$))|(?:have|has)\s+(?:i|we|he|she|they)(?!\s+(?:got|to)(?![a-z])))"
        "(?![a-z])",
        "っけ|[先去昨](?:週|周|月|年|日)|この(?:前|間)|さっき|(?<!以)前に",
    ]
)
"""Words that show that a question is about the past."""
ANSWERED = "|".join(
    [
        "(?<![跟和对给向问])(?<!告诉)[你您][^，。,?我]{0,6}(?:说|讲|提|推荐|介绍|答应|告诉|建议|教)|(?:我们|咱们?)[^，。,?]{0,8}(?:说|聊|谈|讲|约)",
        r"(?<![a-z])(?:you|we)\s+(?:(?!i\s)[a-z']+\s+){0,2}(?:say|said|tell|told|talk(?:ed)?|mention(?:ed)?"
        r"|recommend(?:ed)?|suggest(?:ed)?|discuss(?:ed)?|promised?|advised?|agreed?|decided?)(?![a-z])",
        "てくれた|教えて|(?:話|約束|相談)し",
    ]
)
"""Words that ask what the other one said, or what both said."""
_SENTENCE_END = re.compile(r"(?<=[。！？!?\n；;])|(?<=\.)\s")


def asks_about_past(text: str) -> bool:
    """Return whether a sentence of the text asks about earlier talk or past events.

    >>> asks_about_past("我们昨天聊的那个"), asks_about_past("Where did I go in March?")
    (True, True)
    >>> asks_about_past("What happened to the kite?"), asks_about_past("事情的经过是怎样的？")
    (True, True)
    >>> asks_about_past("我昨天去了超市"), asks_about_past("What shall we do on Friday?")
    (False, False)
    """
    return any(
        _has(TELLING, one) or (_has(QUESTION, one) and _has(PAST, one)) for one in _sentences(text)
    )


def asks_for_reply(text: str) -> bool:
    """Return whether a question is about what the other one said, not only about the user's words.

    >>> asks_for_reply("Which book did you recommend?"), asks_for_reply("你推荐的那本书叫什么？")
    (True, True)
    >>> asks_for_reply("What did I tell you about Tom?"), asks_for_reply("我都跟你说过啥？")
    (False, False)
    """
    return any(_has(ANSWERED, one) for one in _sentences(text))


def is_question(text: str) -> bool:
    """Return whether a sentence of the text is a question, in any tense.

    >>> is_question("When do I have to be back?"), is_question("名前なんだったっけ")
    (True, True)
    """
    return any(_has(QUESTION, one) for one in _sentences(text))


def _sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(to_table_spelling(text))


def _has(words: str, sentence: str) -> bool:
    return _compiled(words).search(sentence) is not None


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE | re.ASCII)
