"""The lists of words that wallets make recovery phrases of (BIP39)."""

import re
import unicodedata
from functools import cache

_BETWEEN = re.compile(r"[\s,;.):0-9]+")
"""What stands between words, which may be numbered."""


def are_seed_words(found: str) -> bool:
    """Return whether all words are of one list. Their order need not be that of a real wallet.

    https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki

    >>> are_seed_words("legal winner thank year"), are_seed_words("we like the old mill")
    (True, False)
    >>> are_seed_words("relevo duro fértil inmune"), are_seed_words("爆 颗 仰 崇")
    (True, True)
    """
    words = set(_BETWEEN.split(_spelt(found)))
    return any(words <= listed for listed in _lists())


@cache
def _lists() -> tuple[frozenset[str], ...]:
    from mnemonic import Mnemonic

    languages = Mnemonic.list_languages()
    return tuple(frozenset(map(_spelt, Mnemonic(one).wordlist)) for one in languages)


def _spelt(text: str) -> str:
    return unicodedata.normalize("NFKD", text).lower()
