"""Passwords that programs take: in commands, in addresses, beside the name of a user."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.stated_values import CODE, HAS_DIGIT, HAS_LETTER, HIDDEN, SIGN

_KIND = "a password"
_SOON = rf"[^\n{HIDDEN}]{{0,60}}?"
_NO_SPACE = rf"[^\s{HIDDEN}\"']"

COMMANDS = (
    Rule(
        _KIND,
        "curl -u ann:⟦tea4two⟧ https://example.org",
        rf"(?:curl|https?|wget)\s{_SOON}(?>-u|--user)[\s=][\w.@-]{{1,40}}+:"
        r"(?!(?i:passw(?:or)?d|pass|passwort|mdp|motdepasse|senha|contrase(?:ñ|n)a|parola)(?!\S))"
        rf"({_NO_SPACE}{{4,64}}+)",
    ),
    Rule(
        _KIND,
        "mysql -u ann -p⟦tea4two⟧ tea",
        rf"(?:mysql|mysqldump|mariadb|mysqladmin)\s{_SOON}"
        rf"-p([^\s{HIDDEN}\"'-]{_NO_SPACE}{{3,63}}+)",
    ),
    Rule(
        _KIND,
        "redis-cli -a ⟦tea4two⟧",
        rf"(?:redis-cli|sshpass|psql|ldapsearch)\s{_SOON}-(?:a|p|w)\s?[\"']?"
        rf"([^\s{HIDDEN}\"'-]{_NO_SPACE}{{5,63}}+)",
    ),
)

_ADDRESS = r"(?<![a-z0-9._%+:/-])[a-z0-9._%+-]{1,64}+@(?:[a-z0-9-]{1,63}+\.){1,3}[a-z]{2,12}+"
_NO_DEVICE = (
    r"(?!(?:iphone|windows|android|office|ios)|[0-9]{1,3}[a-z]|[0-9:.]{1,8}[ap]m"
    r"|[a-z]{1,3}[0-9]{1,4}(?![a-z0-9])|v[0-9])"
)
PAIRS = (
    Rule(
        _KIND,
        "log in with admin / ⟦teapot-4471⟧",
        rf"(?i:(?:{_ADDRESS}|(?<![a-z0-9])(?:admin|root|administrator))"
        r"(?:\s?[/|,;]\s?|\s?:\s?(?=[a-z])|\s(?:(?>and|und|et|y|e|и|with|mit|con|avec|com|pass|pw)\s)?)"
        rf"(?!{CODE}|[a-z0-9._-]{{1,64}}@){HAS_DIGIT}{HAS_LETTER}{_NO_DEVICE}({SIGN}{{7,64}}+))",
    ),
)
"""A user name, and the password beside it."""
