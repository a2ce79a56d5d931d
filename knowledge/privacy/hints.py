"""Signs that every text with a secret of a kind has, found faster than the secret itself.

Most messages hold nothing secret, and no pattern is tried on them whose sign they lack. A hint
reads the text in plain ASCII signs and lower case; whether its result is true is what counts.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from souffleur.knowledge.privacy.near_secrets import NUMBER_WORDS

Hint = Callable[[str], object]


def any_of(*words: str) -> Hint:
    """Return the hint that one of these words is there, with composed or separate marks.

    >>> any_of("paß", "パス")("der pass"), any_of("pass")("der pass")
    (False, True)
    """
    spelt = tuple({form for word in words for form in (word, unicodedata.normalize("NFD", word))})

    def has_one(lowered: str) -> bool:
        return any(map(lowered.__contains__, spelt))

    return has_one


def tells_numbers(lowered: str) -> bool:
    """Return whether numbers are told in words, as "seven, two" or "seven 22".

    >>> tells_numbers("four, seven one nine"), tells_numbers("one of us has two cats")
    (True, False)
    """
    if _OTHER_SCRIPTS(lowered):
        return True
    told = sum([word in _numbers() for word in _WORDS(lowered)])
    return told > 0 and (told > 1 or has_digit(lowered) is not None) and _in_a_row(lowered)


@cache
def _numbers() -> frozenset[str]:
    words = NUMBER_WORDS.split("|")
    return frozenset(form for word in words for form in (word, unicodedata.normalize("NFD", word)))


def _in_a_row(lowered: str) -> bool:
    """Return whether two of the words, or one and digits, stand beside each other."""
    words = _WORDS_AND_DIGITS(lowered)
    return any(
        one in _numbers() and (other in _numbers() or other.isdecimal())
        for one, other in pairwise(words)
    )


_WORDS = re.compile(r"[^\s\d,.;:!?()\"'_-]+").findall
_WORDS_AND_DIGITS = re.compile(r"[^\s\d,.;:!?()\"'_-]+|[0-9]+").findall
_OTHER_SCRIPTS = re.compile(
    "[〇零一二三四五六七八九两]{4}|[공영일이삼사오육칠팔구](?:[ ,]{0,2}[공영일이삼사오육칠팔구]){3}"
    "|(?:(?:ゼロ|れい|いち|に|さん|よん|ご|ろく|なな|しち|はち|きゅう|きゅー)[、, ]{0,2}){4}"
).search

has_digit = re.compile("[0-9]").search
has_long_run = re.compile(r"[\w./+=:~-]{14}", re.ASCII).search
has_digits = re.compile(
    "[0-9][a-z ,-]{0,3}[0-9]{2}|[0-9]{2}[a-z ,-]{0,3}[0-9]|-[a-z]{0,9}[0-9]|[0-9][a-z]{0,9}-"
).search
has_many_digits = re.compile("[0-9](?:[a-z]?[ .,/()-]{0,2}[0-9]){5}").search
has_digits_of_document = re.compile(
    "(?:[0-9][a-z]{0,2}[ .,/()-]{0,2}[a-z]{0,2}){4}[0-9]|[cfghj-nprtv-z][cfghj-nprtv-z0-9]{8}"
).search
has_groups = re.compile("[0-9][a-z]{0,3}[ -]?[a-z0-9]{2}").search
has_inner_sign = re.compile("[a-z0-9][!#$%&*+=?^~@|]+[a-z0-9]").search
is_assigned = any_of("=", ":")
has_value_sign = any_of("=", "wifi:")
has_at = any_of("@")
has_user = any_of("@", "admin", "root")
has_command = any_of(
    "curl", "http", "wget", "mysql", "mariadb", "redis-cli", "sshpass", "psql", "ldapsearch"
)
names_password = any_of(
    *("pass", "api", "secret", "access", "auth", "refresh", "client", "pw", "p=", "p:"),
    *(
        "wi-fi",
        "wifi",
        "wlan",
        "unlock",
        "pin",
        "密",
        "秘",
        "口令",
        "令牌",
        "暗証",
        "パス",
        "アクセス",
    ),
    *(
        "kennwort",
        "mdp",
        "парол",
        "parola",
        "d'acc",
        "contra",
        "clave",
        "senha",
        "비",
        "패스",
        "암호",
    ),
)
labels_password = any_of(
    *("pass", "pw", "kennwort", "mdp", "contrase", "clave", "senha", "parola", "парол"),
    *("wachtwoord", "wifi-code", "hasło", "şifre", "パス", "暗証", "密", "口令", "비밀", "비번"),
    *("패스", "암호", "पासवर्ड", "كلمة"),
)
names_passphrase = any_of(
    *("phrase", "password", "frase", "passsatz", "passwort", "passe", "contrase", "senha"),
    *("фраз", "мастер"),
)
opens_something = any_of(
    *("unlock", "open", "start", "into", "crypt", "log", "master", "vault", "keepass", "manager"),
    *("bitwarden", "1password", "sperr", "geht", "verschl", "backup-platte", "tresor", "gestor"),
    *("desbloque", "bóveda", "cofre", "déverrouill", "coffre", "gestionnaire", "sbloccare"),
    *("hasł", "wachtwoord", "şifre", "разблокир", "зашифр", "расшифр"),
)
names_question = any_of(
    *("security", "secret", "seguridad", "segur", "sicur", "frage", "pregunt", "question"),
    *("pergunt", "domanda", "bank", "banc", "banque", "банк", "account", "maiden", "first"),
    *(
        "secrè",
        "segret",
        "nubile",
        "mädchenname",
        "jeune",
        "solter",
        "solteir",
        "девичь",
        "секретн",
        "haustier",
        "lehrer",
        "erstes auto",
        "mascota",
        "animal",
        "контрольн",
    ),
    *("geheime", "秘密の", "密保", "安全", "보안", "비밀", "질문", "힌트"),
)
names_seed = any_of(
    *("seed", "mnemonic", "phrase", "frase", "words", "助", "シード", "フレーズ", "ニーモニック"),
    *("니모닉", "시드"),
)
tells_seed = any_of(
    *("words", "palabras", "wörter", "mots", "palavras", "parole", "слов", "wallet", "metamask"),
    *("ledger", "trezor", "phantom", "exodus", "electrum", "cartera", "portefeuille", "carteira"),
    *("portafoglio", "cripto", "crypto", "krypto", "bitcoin", "btc", "seed", "mnemonic", "bip"),
    *(
        "кошел",
        "кошельк",
        "крипто",
        "钱包",
        "錢包",
        "助记",
        "ウォレット",
        "仮想通貨",
        "지갑",
        "시드",
    ),
    *("니모닉", "复苏词"),
)
