"""Codes and card numbers whose digits are told in words."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import near
from souffleur.knowledge.privacy.value_checks import is_no_count
from souffleur.knowledge.privacy.vocabulary import alternatives, words

_DIGIT = (
    rf"(?>(?:{alternatives('digit')})"
    r"(?![a-z\u00c0-\u024f\u0300-\u036f\u0430-\u0451\u0600-\u06ff\u0900-\u097f]))"
)
_NEXT = rf"[ ,-]{{1,2}}(?:{_DIGIT}|[0-9]{{1,4}}+(?![0-9]))"
_CHINESE = "(?>[〇零一二三四五六七八九两]|ゼロ|まる)"
_KOREAN = "[공영일이삼사오육칠팔구]"
_JAPANESE = "(?>ゼロ|れい|いち|に|さん|よん|ご|ろく|なな|しち|はち|きゅう|きゅー)"
_LAST_JAPANESE = _JAPANESE.replace("|きゅー", "")
_AFTER_KOREAN = (
    r"(?=이야|야|이래|래|인데|이고|이라|이었|였|예요|이에요|입니다|로|으로|라고|[\s.,!?]|$)"
)
_KINDS = (
    (
        "my card's pin is ⟦four seven one nine⟧",
        rf"(?i:(?<![a-z\u00c0-\u024f])({_DIGIT}(?:{_NEXT}){{3,23}}+))",
    ),
    (
        "我的银行卡密码是⟦四七一九⟧",
        rf"(?<![〇零一二三四五六七八九十百千万两])({_CHINESE}{{4,10}}+)(?![十百千万个個月年日号天点])",
    ),
    (
        "카드 비밀번호는 ⟦삼 팔 이 육⟧ 맞지",
        rf"(?<![\uac00-\ud7a3])((?:{_KOREAN}[ ,]{{1,2}}){{3,7}}{_KOREAN})(?![\uac00-\ud7a3])",
    ),
    (
        "カードの暗証番号は⟦いちななれいよん⟧です",
        rf"((?:{_JAPANESE}[、, ]{{0,2}}){{3,7}}{_LAST_JAPANESE})",
    ),
    (
        "체크카드 비밀번호가 ⟦구이공삼⟧인데 맞나",
        rf"(?<![\uac00-\ud7a3])({_KOREAN}{{4,8}}(?: ?{_KOREAN}{{4}}){{0,3}}){_AFTER_KOREAN}",
    ),
)

TOLD_NUMBERS = (
    *(
        Rule(
            "a password",
            example,
            value,
            near(
                words("password", "pin", "card", "code", "alarm", "social_security"),
                before=100,
                after=100,
            ),
            is_no_count,
        )
        for example, value in _KINDS
    ),
    Rule(
        "a code",
        "the cvv is ⟦four one seven⟧",
        rf"(?i:(?<![a-z])({_DIGIT}(?:[ ,-]{{1,2}}{_DIGIT}){{2,3}}+))",
        near(words("card_check_code"), before=90),
        is_no_count,
    ),
    Rule(
        "a payment card number",
        "it's ⟦four one one one, two two two two, 3333, nine nine nine nine⟧",
        rf"(?i:(?<![a-z])({_DIGIT}(?:{_NEXT}){{11,23}}+))",
    ),
)
"""Numbers that are told in words; digits may stand among them."""
