"""How people, programs and files state a password: its label, the link, its form."""

from souffleur.knowledge.privacy.labels import (
    ABOUT,
    ADJOINED,
    ANY_WORD,
    CHANGED,
    LABEL,
    LINKED,
    SOME_WORDS,
)
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.stated_values import (
    CAREFUL_VALUE,
    HAS_DIGIT,
    HIDDEN,
    LETTER,
    LONE_VALUE,
    NO_PASSWORD,
    NO_WORD,
    PIN,
    SIGN,
    VALUE,
)
from souffleur.knowledge.privacy.vocabulary import in_text

_KIND = "a password"
_NO_LABEL = (
    r"(?!\s?(?>manager|generator|app|policy|field|hash|vault|format|rule)|[a-z0-9]|管理|マネ|生成)"
)
_AFTER_LETTERS = (
    r"(?=\s{0,2}(?:\n|\Z|[,;!)]|\.(?:\s|\Z))|\s(?>pour|for|für|para|per|для|по|de|en|on)\s)"
)

PASSWORDS = (
    Rule(
        _KIND,
        "mot de passe : ⟦soleil⟧",
        rf"(?i:(?<![a-z_.$])(?>{in_text('stated_before_colon')}){ABOUT}\s?:\s{NO_WORD}"
        rf"({LETTER}{{5,32}}+){_AFTER_LETTERS})",
    ),
    Rule(
        _KIND,
        "the wifi is ⟦sonnenblume⟧, all in lower case",
        rf"(?i:(?>{LABEL}|wi-?fi|wlan)[^\n.:;{HIDDEN}]{{0,32}}?(?>is|was|ist|est|es|é|è|:)\s"
        rf"({LETTER}{{5,40}}+),?\s\(?(?>{in_text('spelt')})\s(?:in\s|en\s|em\s|one\s)?"
        rf"(?>{in_text('spelling')}))",
    ),
    Rule(
        _KIND,
        "DB_PASSWORD=⟦letmein!⟧",
        r"(?<![A-Za-z0-9])[A-Z][A-Z0-9_]{0,16}?(?>PASSWORD|PASSWD|PASS|PWD)\s?=\s?[\"']?"
        rf"(?i:{NO_WORD}{NO_PASSWORD})(?![$<{{\[%*])([!#-&(-:<-~]{{6,64}}+)",
    ),
    Rule(
        _KIND,
        "⟦sunny_77x⟧ is the new password",
        rf"(?i:(?<!{SIGN}){NO_PASSWORD}(?={SIGN}{{0,64}}?[a-z]){HAS_DIGIT}({SIGN}{{6,64}}+)"
        r"(?:\s(?>is|was|as)\s(?>the|my|our|your|his|her|their|its)(?![a-z0-9])\s"
        r"(?:[a-z-]{1,16}+\s){0,3}?|\s?(?>就?[是为為]|作为|は|が)[a-z\u3040-\u9fff]{0,8}?)"
        rf"{LABEL}{_NO_LABEL})",
    ),
    Rule(
        _KIND,
        "my password for the bank has been changed to ⟦tea4two!2024⟧",
        rf"(?i:{LABEL}(?:(?:{CHANGED}|{LINKED}){VALUE}|{ADJOINED}{LONE_VALUE}))",
    ),
    Rule(
        _KIND,
        "das passwort auf ⟦Milch!2024⟧ geändert",
        rf"(?i:{LABEL}\s(?>(?:{in_text('to_new')})\s){LONE_VALUE})",
    ),
    Rule(
        _KIND,
        "the password we agreed on was ⟦tea4two⟧",
        rf"(?i:{LABEL}\s(?>i|we|you|he|she|they|it)\s(?:{ANY_WORD}\s){{1,4}}?(?>is|was)\s{{1,2}}+"
        rf"(?:\"((?:{ANY_WORD}\s){{2,7}}+{ANY_WORD})\"|{VALUE}))",
    ),
    Rule(
        _KIND,
        "the wifi is ⟦teapot4471⟧",
        rf"(?i:(?<![a-z])(?>pass|clave|wi-?fi|wlan|(?>la|mi|tu|su)\scontra)"
        rf"{LINKED}{CAREFUL_VALUE})",
    ),
    Rule(
        _KIND,
        "to unlock it type ⟦660381⟧",
        rf"(?i:(?<![a-z])unlock(?![a-z])\s{SOME_WORDS}(?>type|enter|press|dial|tap|use|is|with"
        r"|it's)\s(?:in\s)?([0-9]{4,10}+)(?![a-z0-9]|[.,:][0-9]))",
    ),
    Rule(
        _KIND,
        "密码⟦hunter2024⟧",
        rf"(?i:密[码碼]{NO_PASSWORD}(?=[a-z]{{4,24}}+[0-9]{{2}})([a-z]{{4,24}}+[0-9]{{2,12}}+)"
        r"(?![a-z0-9]))",
    ),
    Rule(
        _KIND,
        "I changed my wifi password to ⟦tea4two⟧",
        rf"(?i:(?>chang|set|reset|updat|switch)[a-z]{{0,4}}+\s{SOME_WORDS}{LABEL}{ABOUT}"
        rf"\sto\s(?:now\s)?+{VALUE})",
    ),
    Rule(
        _KIND,
        "my pin is ⟦7350⟧",
        r"(?i:(?<![a-z0-9])pin(?:[ -]?(?:code|number|[码碼]|番号|コード))?+(?![a-z0-9])"
        rf"(?:{LINKED}|\s{{1,2}}+(?!(?:19|20)[0-9]{{2}}(?![0-9]))){PIN})",
    ),
    Rule(_KIND, "暗証番号⟦7350⟧", rf"(?i:暗証番号{PIN})"),
)
