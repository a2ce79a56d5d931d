"""Passphrases of several words, as people tell them."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.vocabulary import LETTERS, alternatives, in_text, own_in_text

_KIND = "a passphrase"
_L, _R = rf"(?<![{LETTERS}])", rf"(?![{LETTERS}])"
COMMON_WORD = own_in_text("common_word")
_SAID = own_in_text("said_of_password")
_WORD = rf"(?!{COMMON_WORD})[{LETTERS}'-]{{2,14}}+"
_IS = rf"(?>{_L}{own_in_text('passphrase_is')}(?=\s)|[:=])"

PASSPHRASES = (
    Rule(
        _KIND,
        "the master phrase i went with is ⟦purple tractor eats Sunday gravel⟧ and now to bed",
        rf"(?i:{_L}(?>{in_text('passphrase')})[^\n.:;\x00]{{0,40}}?{_IS}[\s\"']{{1,3}}+"
        rf"({_WORD}(?:\s{_WORD}){{3,8}}+))",
    ),
    Rule(
        _KIND,
        "my vault passphrase is ⟦gravel never sleeps on mondays⟧, ok",
        rf"(?i:{_L}(?>{in_text('passphrase')}){_R}(?:\s(?!{_IS})[^\s.:;\x00]{{1,14}}+){{0,5}}(?:\s(?:{_IS})|:)\s[\"']?(?!{_SAID})"
        rf"({_WORD}(?:\s[{LETTERS}0-9'-]{{1,14}}+){{3,8}}+)[\"']?(?=\s{{0,2}}(?:[.,;!?(\n]|\Z)))",
    ),
    Rule(
        _KIND,
        "gpg passphrase ⟦Kein-Bier-vor-Vier!⟧",
        rf"(?i:{_L}(?>{in_text('passphrase')}){_R})(?:(?:\s(?!{_IS})[^\s.:;\x00]{{1,14}}+){{0,5}}\s(?i:{own_in_text('passphrase_is')})|\s?[:?])?"
        rf"\s[\"']?((?=[^\s\x00]{{0,60}}?[A-Z\u00c0-\u00de\u0410-\u042f])"
        rf"[{LETTERS}]{{2,14}}+(?:[-_.][{LETTERS}]{{2,14}}+){{2,7}}+[!?*#]?)",
    ),
    Rule(
        _KIND,
        'the passphrase 4 my diary app is "⟦purple kettles never apologise⟧"',
        rf"(?i:(?>{_L}(?:{own_in_text('passphrase')}|{own_in_text('password_label')})|{alternatives('passphrase_spelt')})"
        rf"[^\n.\"“「『\x00]{{0,32}}?(?:{_IS}|[,(はをに是为]|が)\s{{0,2}}+[\"'「『“«](?!(?:{in_text('no_quoted_password')})[\s\"'])"
        rf"((?:[^\s\"'”」』»\x00]{{1,16}}+\s){{2,8}}+[^\s\"'”」』»\x00]{{1,16}}+|[\u3040-\u9fff\uac00-\ud7a3、]{{6,40}}+)[\"'”」』»])",
    ),
)
"""Words after the label of a passphrase; talk about one begins with words like "too" and "not"."""

_OPENS = rf"{_L}(?>{in_text('opening')})"
_BY_WORDS = rf"{_L}(?>(?:{in_text('by_words')})\s)[\"']?"
_FIRST_WORD = rf"(?!{COMMON_WORD}|(?:{in_text('no_first_word')})\b)[{LETTERS}'-]{{2,14}}+"
_NEXT_WORD = rf"(?!{own_in_text('no_next_word')})[{LETTERS}'-]{{1,14}}+"

OPENING_WORDS = (
    Rule(
        _KIND,
        "to unlock the laptop type ⟦seven lazy otters juggle⟧",
        rf"(?i:{_OPENS}[^\n.;\x00]{{0,50}}?{_BY_WORDS}"
        rf"({_FIRST_WORD}\s{_FIRST_WORD}(?:\s{_NEXT_WORD}){{2,6}}+))",
    ),
    Rule(
        _KIND,
        'the old vault opens with "⟦grumpy walrus sells cold pancakes⟧" and nothing else',
        rf"(?i:{_OPENS}[^\n.;\x00]{{0,40}}?(?<![a-z]){own_in_text('with_quoted')}\s)"
        rf"[\"']((?i:{_FIRST_WORD}(?:\s{_NEXT_WORD}){{3,9}}+))[\"']",
    ),
)
"""Words that open something, after what says that they are typed, or in quotation marks."""
