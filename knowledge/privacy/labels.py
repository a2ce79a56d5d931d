"""How a label is linked to its value: "is", "is now", "for the wifi is", "has been changed to"."""

from souffleur.knowledge.privacy.stated_values import HIDDEN, SIGNS
from souffleur.knowledge.privacy.vocabulary import in_text

ANY_WORD = r"[a-z0-9'.@&\u00c0-\u024f\u0300-\u036f\u0400-\u04ff-]{1,24}+"
LABEL = rf"(?>{in_text('stated_password')})(?>[ _-]?[0-9](?![0-9]))?+"
"""Of a password, a key or a token; a digit may number it."""
CLOSED = r"[\"'*_\])]{0,3}+"
"""Quotes and brackets after a label."""
ABOUT = (
    rf"(?:\s?\([^()\n{HIDDEN}]{{1,30}}+\))?+"
    rf"(?:\s{{1,2}}+(?>(?:{in_text('about')})\s)(?:{ANY_WORD}\s){{0,4}}?{ANY_WORD})?"
)
"""What the password opens: "(at home)", "for the wifi"."""
MEANWHILE = (
    rf"(?>(?:{in_text('meanwhile')})(?![a-z0-9])"
    r"|(?:改|换|換|变|變|更新|重置|修改|更改)(?=了)"
    r"|[,了我也已经經现現在目前还還就又被都呢啊吧今新的话話])"
)
BECOMES = r"(?:改|换|換|变|變|设|設|设置|設置|設定|设定|更新|重置|修改|更改)[成为為到]"
LINK = (
    rf"(?>(?:{in_text('has_become')})(?![a-z0-9])|[:=]{{1,3}}>?|[-=]>|→|(?<=\s)-(?=\s)"
    rf"|叫做?|[是为為用はをに]|が|은|는|이|가|을|를|{BECOMES})"
)
LINKED = (
    rf"(?>'s(?![a-z0-9])(?:\s{{1,3}}+{MEANWHILE}){{0,3}}+\s{{1,3}}+"
    rf"|{CLOSED}{ABOUT}(?:\s{{0,3}}+{MEANWHILE}){{0,5}}+\s{{0,3}}+{LINK}"
    rf"(?:\s{{0,3}}+(?:{MEANWHILE}|{LINK})){{0,4}}+[\s*_]{{0,4}}+)"
)
CHANGED = (
    rf"\s{{0,3}}+(?>从|由|を|from\s)\s{{0,2}}+(?:({SIGNS}{{4,64}}+)|[^\n{HIDDEN}]{{1,24}}?)"
    rf"\s{{0,2}}+(?>{BECOMES}|から|to\s)了?+\s{{0,3}}+"
)
"""A change from a former password, which is also secret, to a new one."""
ADJOINED = rf"(?>{CLOSED}\s{{1,3}}+|(?<=[\u3040-\u9fff]))"
SOME_WORDS = r"(?:[a-z0-9'-]{1,20}+\s){0,4}?"
