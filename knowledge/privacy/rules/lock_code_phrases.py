"""How people state the code of a door, a lock or an alarm, right after its label."""

from souffleur.knowledge.privacy.labels import ABOUT, LINK, LINKED, MEANWHILE, SOME_WORDS
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.stated_values import HIDDEN, LOCK_CODE, MEASURE
from souffleur.knowledge.privacy.vocabulary import in_text

_KIND = "a door or lock code"
_THING = rf"(?>{in_text('thing_with_code')})"
_LINKS = rf"(?:{MEANWHILE}|{LINK})"

LOCK_CODES = (
    Rule(
        _KIND,
        "the garage door code is ⟦4471#⟧",
        rf"(?i:(?<![a-z0-9]){_THING}(?:'s)?+[ -]{{1,3}}+{SOME_WORDS}(?>code|combination)s?+{ABOUT}"
        rf"(?:[\s,;(]{{0,3}}+{_LINKS}){{0,6}}+[\s,:;(]{{0,3}}+{LOCK_CODE})",
    ),
    Rule(
        _KIND,
        "the code for the gate is now ⟦4471⟧",
        rf"(?i:(?<![a-z0-9])(?>code|combination)\s(?>for|to|of|on)\s{SOME_WORDS}{_THING}"
        rf"(?:\s{{0,3}}+{_LINKS}){{1,5}}+\s{{0,3}}+{LOCK_CODE})",
    ),
    Rule(
        _KIND,
        "保险箱的密码是⟦447182⟧",
        r"(?>保险[箱柜]|(?<![部专專热熱入澳厦廈])[门門]|玄関|ドア|金庫|オートロック)"
        rf"[^0-9\s{HIDDEN}]{{0,6}}?(?>密[码碼]|代[码碼]|[码碼]|番号|コード)[^0-9\n{HIDDEN}]{{0,8}}?"
        rf"(?i:{LOCK_CODE})",
    ),
    Rule(
        _KIND,
        "le code de la porte est ⟦47B18⟧",
        rf"(?i:(?<![a-z])(?>{in_text('stated_lock_code')}){LINKED}(?!{MEASURE})"
        r"([#*]?(?=[0-9a-z]{0,7}?[0-9]{2})[0-9a-z]{4,8}+[#*]?)(?![a-z0-9]))",
    ),
    Rule(
        _KIND,
        "현관 비밀번호 ⟦4471*⟧",
        r"(?>현관|도어 ?락|출입문|대문|금고)\s?(?>비밀 ?번호|비번|코드)"
        rf"[^0-9\n{HIDDEN}]{{0,6}}?(?i:{LOCK_CODE})",
    ),
)
