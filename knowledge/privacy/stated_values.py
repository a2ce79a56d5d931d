"""Forms of what people state after the label of a password, and what is stated but none.

These are parts of patterns for text in plain ASCII signs and any case. Nearly all are atomic or
possessive, so that they never backtrack.
"""

from souffleur.knowledge.privacy.vocabulary import in_text

HIDDEN = "\0"
"""Placeholder for each character of a secret that is already masked; no pattern matches it."""

SIGN = r"[!#-&(-+\--_a-~]"
"""An ASCII character of a password, except quotes and the comma."""
SIGNS = rf"(?>{SIGN}|,(?={SIGN}))"
"""Such a character, or a comma within."""

MEASURE = (
    r"[0-9]{1,4}+(?:[-~][0-9]{1,4}+)?+[ -]?+(?:%|[位个個字桁年月日号號次回天秒种種人元円倍岁歳]"
    r"|分[钟間]|小?[时時]|文字|通り|자리?|번|년|개|월|일|회|(?:st|nd|rd|th|am|pm)(?![a-z0-9])"
    r"|(?:bit|byte|char|character|digit|letter|word|symbol|time|attempt|day|week|month|year|hour"
    r"|minute|min|second|sec|user|account|people|percent)s?(?![a-z0-9]))"
)
"""A length, a date or a count: "8 characters", "2024年"."""
_TECHNICAL = (
    r"(?:(?:sha|md|aes|rsa|base|utf|wpa|wep|tls|oauth|rfc|iso|bip|pbkdf|argon|hmac|cve|kb|office)"
    r"[-_ ]?+[0-9]{1,6}+(?![a-z0-9!@#$%^&*])|(?:[23]fa|1password|u2f|fido2)(?![a-z0-9]))"
)
_NAME = r"[a-z_][a-z0-9_]{0,64}+"
_TO_END = r"(?![^\"'\s;,)])"
CODE = (
    rf"(?:{_NAME}(?:\.[a-z0-9_]{{1,64}}+){{1,8}}+[\[(]|[a-z]{{1,32}}+(?:_[a-z]{{1,32}}+){{1,8}}+\("
    rf"|{_NAME}[\[(][\"']|(?:process\.env|os\.environ)(?![a-z0-9_])|</?[a-z]"
    rf"|\$?\{{{{1,2}}\s?[a-z0-9_.]{{1,64}}+\s?\}}{{1,2}}{_TO_END}|[a-z][a-z0-9+.-]{{1,15}}+://"
    rf"|\$[a-z_][a-z0-9_]{{2,40}}+{_TO_END}|[a-z0-9_-]{{1,16}}+\.{{3}}{_TO_END}"
    rf"|[a-z0-9_-]{{1,12}}+[._-]example{_TO_END}"
    rf"|(?:votre|tu|su|tua|sua|seu|dein|deine|ihr)_[a-z0-9_]{{2,32}}+{_TO_END}"
    rf"|(?:[a-z]{{1,12}}+[-_]){{1,4}}+(?:here|aqu[ií]|ici|hier){_TO_END}"
    rf"|(?:your|my)_(?:[a-z0-9]{{1,16}}+_){{0,3}}?(?:key|password|token|secret)(?:_here)?{_TO_END})"
)
"""Code that reads a password, an address that contains one, or a placeholder for one."""
NO_PASSWORD = rf"(?!{MEASURE}|{_TECHNICAL}|{CODE})"
NO_WORD = rf"(?!(?:{in_text('no_password')})(?![a-z\u00e0-\u00ff]))"
"""What is said about a password, or how a program declares one."""
LETTER = r"[a-z\u00c0-\u024f\u0300-\u036f\u0400-\u04ff]"

_NO_ADJECTIVE = rf"(?!(?:{in_text('no_quoted_password')})[\"'」』》])"
_QUOTED = (
    rf"(?:\"{NO_PASSWORD}{_NO_ADJECTIVE}([^\s\"{HIDDEN}]{{4,64}}+)\""
    rf"|'{NO_PASSWORD}{_NO_ADJECTIVE}([^\s'{HIDDEN}]{{4,64}}+)'"
    rf"|[「『《]{NO_PASSWORD}{_NO_ADJECTIVE}([^\s」』》{HIDDEN}]{{4,64}}+)[」』》])"
)
HAS_DIGIT = rf"(?={SIGNS}{{0,64}}?[0-9])"
HAS_LETTER = rf"(?={SIGNS}{{0,64}}?[a-z])"
_HAS_SIGN = rf"(?={SIGNS}{{0,64}}?[!@#$%^&+=~|\\?][a-z0-9])"
_HAS_BOTH = (
    rf"{HAS_LETTER}(?=(?:[!-/:-~]{{0,24}}+[0-9]){{3}}"
    rf"|(?={SIGNS}{{0,64}}?[0-9]){SIGNS}{{0,64}}?[!@#$%^&*?])"
)
VALUE = (
    rf"(?>{_QUOTED}|([\u3400-\u9fff]{{1,8}}+[0-9]{{6,20}}+)"
    rf"|[\"'「『《]?+(?![:=,;]){NO_PASSWORD}(?:{HAS_DIGIT}|{_HAS_SIGN})({SIGNS}{{4,}}+))"
)
"""A value that a word such as "is" links to its label."""
LONE_VALUE = (
    rf"[\"'「『《]?+(?=[a-z0-9!@#$%^&]){NO_PASSWORD}(?>([0-9]{{6,12}}+)(?![a-z0-9])"
    rf"(?!\s?(?:times|attempts|[次回个個种種位]))|{_HAS_BOTH}({SIGNS}{{6,}}+))"
)
"""A value directly after a label, which must look more like a password than a linked one."""
CAREFUL_VALUE = (
    rf"{NO_PASSWORD}(?!\$[0-9]){HAS_LETTER}"
    rf"(?>{_HAS_BOTH}({SIGNS}{{6,}}+)|{HAS_DIGIT}({SIGNS}{{8,}}+))"
)
"""A value after a label that also means something else."""
PIN = (
    rf"[\"']?+(?!{MEASURE}|(?:19|20)[0-9]{{2}}-[01][0-9]-[0-3][0-9])"
    r"([0-9](?:[ -]?+[0-9]){3,7}+)(?![a-z0-9]|[.,:][0-9])"
)
LOCK_CODE = rf"(?!{MEASURE})([#*]?[0-9](?:[ -]?+[0-9]){{3,11}}+[a-z#*]?+)"
"""What a key pad takes: "*4471#"."""
