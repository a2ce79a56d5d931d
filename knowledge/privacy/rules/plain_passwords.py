"""Passwords of plain letters, right after what says that a password follows.

"The password is letmein" differs from "the password is wrong" by the word alone. So each language
has its links, the words that say something about a password, and the endings of such words; and
what goes on as prose, as "is letting me down", tells no password.
"""

from collections.abc import Iterator

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.vocabulary import LETTERS, alternatives, in_text, own_in_text

_KIND = "a password"
_L, _R = rf"(?<![{LETTERS}_.$])", rf"(?![{LETTERS}])"
_ABOUT = rf"(?:\s(?>{own_in_text('about')}|to|from)(?:\s[^\s:=.,;!?\x00]{{1,16}}+){{1,4}}?)?"
_STILL = rf"(?:\s{own_in_text('still')})?+"
_END = (
    r"(?=[\"']?(?:[!,;)]|\.(?![\w.])|\s{0,2}(?:\Z|[\n\u2600-\u27bf\U0001f000-\U0001faff])|\s[(-]"
    rf"|\s{own_in_text('after_password')}))"
)
"""An end of the sentence, a picture, or prose that goes on after a password."""
_ENGLISH_LABEL = _L + own_in_text("password_label", "en")


def _value(language: str) -> str:
    """Return the pattern of a word that says nothing about a password in this language."""
    said = own_in_text("said_of_password", "programs", language)
    endings = alternatives("ending_of_said", language)
    return rf"(?!{said})(?![{LETTERS}]{{1,24}}?(?:{endings}){_R})([{LETTERS}]{{5,32}}+)"


_EXAMPLES = {
    "en": "my wifi password is ⟦bluebird⟧",
    "nl": "het wachtwoord is ⟦zonnebloem⟧",
    "de": "das wlan passwort lautet ⟦Gartenzwerg⟧",
    "es": "la contraseña del wifi es ⟦girasol⟧, todo junto",
    "fr": "le mot de passe c'est ⟦soleil⟧, je crois",
    "pt": "a senha do wifi é ⟦girassol⟧",
    "it": "la password del wifi è ⟦girasole⟧",
    "ru": "пароль от вайфая это ⟦котик⟧",
    "pl": "hasło to ⟦sloneczko⟧",
    "tr": "şifremiz artık ⟦papatya⟧",
}


def _said() -> Iterator[Rule]:
    for language, example in _EXAMPLES.items():
        of_language = (language,) if language in ("en", "nl") else ()
        label = _L + own_in_text("password_label", *of_language)
        link = f"(?:{in_text('password_is', language)})"
        value = _value(language)
        pattern = rf"(?i:{label}{_ABOUT}{_STILL}\s{link}{_STILL}[\s:]{{1,2}}[\"']?{value}{_END})"
        yield Rule(_KIND, example, pattern)


_IN_ENGLISH = (
    Rule(
        _KIND,
        "I changed my password to ⟦sunshine⟧.",
        rf"(?i:{_L}(?>chang|set|reset|updat|switch)[a-z]{{0,4}}+\s(?:[a-z0-9'-]{{1,16}}+\s){{0,4}}?"
        rf"{_ENGLISH_LABEL}{_ABOUT}{_STILL}\sto\s[\"']?{_value('en')}{_END})",
    ),
    Rule(
        _KIND,
        "we use ⟦buttercup⟧ as the wifi password",
        rf"(?i:{_L}(?>i|we)\s(?:just\s|always\s|still\s)?(?>use|used|set|chose|picked|put|took)\s"
        rf"[\"']?{_value('en')}[\"']?\s(?>as|for)\s(?>the|my|our)\s(?:[a-z-]{{1,16}}+\s){{0,2}}?"
        rf"{_ENGLISH_LABEL})",
    ),
    Rule(
        _KIND,
        "password=⟦letmein⟧",
        rf"(?i:{_L}passw(?:or)?d=[\"']?{_value('en')}(?=[\"']?(?:\s|\Z)))",
    ),
)

_LATIN = rf"(?!(?i:{alternatives('name_of_program')})(?![A-Za-z]))([A-Za-z]{{4,32}}+)"
_KOREAN = "(?>비밀 ?번호|비번|패스워드|암호)"
_NO_KOREAN = (
    r"(?!(?>[\uac00-\ud7a3]{0,6}?(?:자리|글자|필수|비밀|중요|생일|번호|이름|그대로|동일|영문|숫자|특수"
    r"|문자|조합|기본|초기|임시|최소|최대|변경|만료|오류|안전|공통|공용|이거|그거|무엇|뭐)))"
)
"""What is said about a password."""
_AMONG_OTHERS = (
    Rule(
        _KIND,
        "パスワードは⟦himitsu⟧です",
        rf"(?>パス(?:ワード|コード)|暗証)(?:は|、|:)\s?[「『]?{_LATIN}"
        r"(?=[」』]?\s?(?:です|だ|って|に(?:し|変|設定|な)|。|、|[!\n]|\Z|よ|ね))",
    ),
    Rule(
        _KIND,
        "密码是 ⟦xiangrikui⟧",
        rf"(?>密[码碼]|口令)(?:就|现在|還|还|应该)?(?:是|为|為|改成|:)\s?[「“\"']?{_LATIN}"
        r"(?=[」”\"']?\s?(?:[。,;!！\n]|\Z|[啊哦呢吧了哈呀喔]))",
    ),
    Rule(
        _KIND,
        "비번은 ⟦haebaragi⟧",
        rf"{_KOREAN}(?:는|은|가|이|:)?\s{_LATIN}"
        r"(?=\s?(?:[.,!\n]|\Z|야|이야|예요|이에요|입니다|임|로|으로))",
    ),
    Rule(
        _KIND,
        "비밀번호는 ⟦해바라기⟧야",
        rf"{_KOREAN}(?:는|은|가|이|:)\s{_NO_KOREAN}"
        r"((?>[\uac00-\ud7a3]{2,8}?(?=이야|야|예요|이에요|입니다|임(?![\uac00-\ud7a3]))))",
    ),
    Rule(
        _KIND,
        "пароль теперь ⟦kotik⟧",
        rf"(?i:пароль{_ABOUT}\s(?:-\s|это\s|теперь\s)){_LATIN}(?=\s?(?:[.,;!)\n]|\Z))",
    ),
    Rule(_KIND, "पासवर्ड ⟦sooraj⟧ है", rf"पासवर्ड\s(?:अब\s)?{_LATIN}\s(?=है|रखा|था)"),
    Rule(
        _KIND,
        "كلمة السر هي ⟦yasmin⟧",
        r"كلمة (?:ال)?(?:سر|مرور|السر|المرور)[^\nA-Za-z0-9\x00]{0,24}?\s(?:هي|صارت|:)\s"
        rf"{_LATIN}(?=\s?(?:[.,!\n،]|\Z))",
    ),
)
"""Latin letters in a sentence of another script, and Hangul."""

PLAIN_PASSWORDS = (*_said(), *_IN_ENGLISH, *_AMONG_OTHERS)
