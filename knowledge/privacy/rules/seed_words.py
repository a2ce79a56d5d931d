"""Recovery phrases that nothing names: so many words of the lists that wallets take theirs from."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.seed_lists import are_seed_words

_NO_SEED = "(?!(?:the|and|for|was|are|has|from|not|but|his|her|she|words)(?![a-z]))"
"""The commonest words that no list has."""
_WORD = (
    rf"(?>{_NO_SEED}[a-zA-Z\u00c0-\u017f\u0300-\u036f]{{3,10}}+"
    r"|[\u3041-\u309f\uac00-\ud7a3]{2,8}+|[\u4e00-\u9fff])"
)
_NEXT = rf"(?>[ ,;\n\u3000]{{1,3}}(?:[0-9]{{1,2}}[.):]?\s{{1,2}})?){_WORD}"
_END = r"(?![\w'])"

SEED_WORDS = (
    Rule(
        "a recovery phrase",
        "pinned to the fridge: ⟦legal winner thank year wave sausage worth useful legal winner"
        " thank yellow⟧, who knows why",
        rf"(?<![\w'])(?=({_WORD}(?:{_NEXT}){{11}}{_END}))",
        check=are_seed_words,
    ),
)
"""Twelve words; each twelve of a longer phrase are found, which together are all of it."""
