"""How people and messages state a code or a recovery phrase, right after its label.

The patterns are for text in plain ASCII signs and any case. A letter with a mark, and all of
Hangul, may stand only outside of brackets: see `rule`.
"""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.stated_values import HIDDEN, MEASURE
from souffleur.knowledge.privacy.vocabulary import in_text

_KIND = "a code"
_L = "(?<![A-Za-z0-9])"
_LINK = (
    r"(?:[\s:=#(,\"'“是为為はを]|が|은|는|이|(?:is|was|are|est|es|ist|lautet|now|this|no|nr|n|le|la|el"
    r"|der|die)(?![a-z0-9])|[.º°](?=\s)){0,8}+"
)
_ONE_TIME = rf"(?>{in_text('stated_one_time_code')})"
_SHORT_CODE = rf"(?!{MEASURE})([0-9]{{4,8}}+|[0-9]{{3}}[ -][0-9]{{3}})(?![A-Za-z0-9]|[.:][0-9])"
_GROUPED = r"(?>[a-z0-9]{3,10}(?:-[a-z0-9]{3,10}){1,5}+|[0-9]{6,10}+)"

CODES = (
    Rule(
        _KIND,
        "cvv: ⟦417⟧",
        rf"(?i:(?>{in_text('stated_check_code')}){_LINK}(?!{MEASURE})([0-9]{{3,4}}+)"
        r"(?![A-Za-z0-9]|[.:,][0-9]))",
    ),
    Rule(_KIND, "your verification code is ⟦449120⟧", rf"(?i:{_ONE_TIME}{_LINK}{_SHORT_CODE})"),
    Rule(
        _KIND,
        "Ihre TAN lautet ⟦449120⟧",
        rf"(?<![A-Za-z])(?:m|sms-?|SMS-?)?TAN(?![A-Za-z])(?i:{_LINK}{_SHORT_CODE})",
    ),
    Rule(
        _KIND,
        "⟦449120⟧ is your Example login code",
        rf"(?i:{_L}(?>([0-9]{{4,8}}+)|([0-9]{{3}}[ -][0-9]{{3}}))\s(?:is|as)\s(?:your|my|the|our)\s"
        rf"(?:[a-z0-9.-]{{1,16}}+\s){{0,3}}?{_ONE_TIME})",
    ),
    Rule(
        _KIND,
        "backup codes: ⟦4f7a-91bc, 77de-02af⟧",
        rf"(?i:(?>{in_text('stated_recovery_code')})(?:\s?\([^)\n]{{1,40}}+\))?+{_LINK}((?=[a-z0-9-]{{0,24}}?[0-9]){_GROUPED}"
        rf"(?:[\s,;]{{1,3}}+{_GROUPED}){{0,15}}+))",
    ),
)
"""Card check codes, one-time codes, codes for recovery."""

_SEED_WORD = (
    "(?!(?:the|and|for|with|was|are|who|has|from|not|but|his|her|she|words?)(?![a-z]))"
    r"[a-z\u00c0-\u024f]{3,8}+"
)
"""A word of a list of seed words, which has none of the commonest English words."""
SEED_PHRASES = (
    Rule(
        "a recovery phrase",
        "seed phrase: ⟦tornado lamp velvet ocean frost ladder pigeon crane olive tunnel walnut"
        " mirror⟧",
        rf"(?i:(?>{in_text('stated_seed')}))[^\n{HIDDEN}]{{0,24}}?(?<![a-z])"
        rf"((?i:(?:{_SEED_WORD}[\s,.;:0-9-]{{1,6}}+){{11,23}}+{_SEED_WORD}))",
    ),
    Rule(
        "a recovery phrase",
        "助记词是 ⟦爆 颗 仰 崇 荣 动 凭 沿 泵 县 霞 弯⟧",
        rf"(?>{in_text('stated_seed')})[是为為：:\s]{{0,4}}+"
        r"((?:[\u4e00-\u9fff][ \u3000]){11,23}+[\u4e00-\u9fff])",
    ),
    Rule(
        "a recovery phrase",
        "復元フレーズは「⟦あてな よけい ぐうたら たおす つもる おんがく うつる こころ"
        " たれんと せんぱい そうき あいだ⟧」",
        r"((?:[\u3041-\u309f]{2,8}+[ \u3000]){11,23}+[\u3041-\u309f]{2,8}+)",
    ),
)
"""Twelve to twenty-four words after their label."""
