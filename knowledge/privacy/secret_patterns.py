"""Patterns of sensitive data, for text that `secrets` has converted to plain ASCII signs.

A pattern may be tried at every position of a text of any length, so each repetition has an upper
bound, except for a possessive run of single characters at the very end of a pattern.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from souffleur.knowledge.privacy import hints
from souffleur.knowledge.privacy.code_phrases import (
    ACCOUNT,
    CODES,
    LICENCE,
    PASSPORT,
    SEED_PHRASE,
    TAX,
)
from souffleur.knowledge.privacy.contact_patterns import EMAILS, PHONES
from souffleur.knowledge.privacy.document_numbers import CHECKED, is_card_number, is_resident_id
from souffleur.knowledge.privacy.handling import Group
from souffleur.knowledge.privacy.hints import Hint
from souffleur.knowledge.privacy.key_formats import IN_ADDRESS, PREFIXED, WALLET
from souffleur.knowledge.privacy.near_accounts import NEAR_ACCOUNTS
from souffleur.knowledge.privacy.near_codes import (
    CODES as NEAR_CODES,
    LOCK_CODES as NEAR_LOCK_CODES,
)
from souffleur.knowledge.privacy.near_documents import NATIONAL, PASSPORTS_AND_LICENCES
from souffleur.knowledge.privacy.near_keys import ASSIGNED, GROUPED, LONG, SEEDS
from souffleur.knowledge.privacy.near_passwords import PASSWORDS as NEAR_PASSWORDS, SIGNED
from souffleur.knowledge.privacy.password_phrases import (
    COMMANDS,
    HIDDEN,
    LOCK_CODES,
    PAIR,
    PASSWORDS,
)
from souffleur.knowledge.privacy.plain_passwords import PLAIN_PASSWORDS
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import SearchedText, Surroundings
from souffleur.knowledge.privacy.told_numbers import TOLD_NUMBERS
from souffleur.knowledge.privacy.told_phrases import (
    ANSWERS,
    OPENING_WORDS,
    PASSPHRASES,
    QUOTED_WORDS,
)


@dataclass(frozen=True)
class Secret:
    """A kind of sensitive data, and how it is found."""

    name: str
    """The name of the kind, in words."""
    pattern: re.Pattern[str]
    """The pattern; its groups match the secret, or the whole match if there are no groups."""
    check: Callable[[str], bool] | None = None
    """A function that checks what was found; `None` if the pattern is sufficient."""
    group: Group = Group.SECRET
    """What it is, which decides what is done about it."""
    hint: Hint | None = None
    """What every text that holds one has, in lower case; `None` if there is no such sign."""
    near: Surroundings | None = None
    """What stands around it; `None` if the pattern itself says that."""
    example: str = ""
    """A message that tells one; what is masked of this kind stands between ⟦ and ⟧."""

    def holds(self, text: SearchedText, start: int, end: int) -> bool:
        """Return whether what the pattern found at these places of the text is one."""
        if self.check is not None and not self.check(text.plain[start:end]):
            return False
        return self.near is None or self.near.hold(text, start, end)


_L = r"(?<![A-Za-z0-9])"
_R = r"(?![A-Za-z0-9])"
_EXAMPLE = (
    r"(?!(?:your|my|some|the|insert|example)[_-]|x{4}|\*{3}|\$|\{|<|\[|%[sd({]"
    r"|(?:[a-z]{1,12}?[_-]?+)??(?:token|key)s?(?![a-z0-9_.~+/=-]))"
)
_KEY_BODY = r"(?:[^-]|-(?!----))"
_KEY_END = r"-----END (?:[A-Z0-9]{2,10}+ ){0,2}?PRIVATE KEY(?: BLOCK)?+-----"
_WORDS = r"(?!(?!proj-|ant-|live|test)[a-z]{1,15}+(?:[-_][a-z]{1,15}+){1,8}+(?![A-Za-z0-9_-]))"
"""Excludes joined words, such as names of packages and columns: sk-learn-contrib, pk_user_id."""


def _secret(
    name: str,
    *sources: str,
    check: Callable[[str], bool] | None = None,
    hint: Hint | None = None,
    group: Group = Group.SECRET,
) -> list[Secret]:
    patterns = [re.compile(_apart(one), re.ASCII) for one in sources]
    return [Secret(name, pattern, check, group, hint) for pattern in patterns]


def _apart(source: str) -> str:
    """Return the pattern so that it also matches kana with separate sound marks."""
    parts = ((char, unicodedata.normalize("NFD", char)) for char in source)
    return "".join(char if char == apart else f"(?:{char}|{apart})" for char, apart in parts)


def _rules(
    rules: Iterable[Rule], hint: Hint | None, group: Group = Group.SECRET
) -> Iterator[Secret]:
    for rule in rules:
        pattern = re.compile(_apart(rule.value), re.ASCII)
        yield Secret(rule.kind, pattern, rule.check, group, hint, rule.near, rule.example)


SECRETS = (
    *_secret(
        "a private key",
        r"-----BEGIN (?:[A-Z0-9]{2,10}+ ){0,2}?PRIVATE KEY(?: BLOCK)?+(?:-----)?+"
        rf"(?>{_KEY_BODY}{{0,16384}}+{_KEY_END}|(?:(?:\s|\\n){{0,4}}+[\w+/=]{{20,400}}+){{0,60}}+)",
    ),
    *_secret(
        "an API key", rf"{_L}(?:sk|pk|rk)[-_]{_WORDS}[A-Za-z0-9_-]{{12,}}+", hint=hints.has_long_run
    ),
    *_secret(
        "an AWS key",
        rf"{_L}(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_R}",
        rf"(?i:aws[^\n{HIDDEN}]{{0,16}}?(?:secret|key|密[钥鑰]|シークレット|キー)"
        r"|secret[ _-]?(?:access[ _-]?)?key|シークレットアクセスキー)[a-z_]{0,12}+"
        rf"(?>[^A-Za-z0-9/+\n{HIDDEN}]|(?<![A-Za-z])(?:is|was|now)(?![A-Za-z])){{0,12}}+"
        rf"(?![0-9a-f]{{40}}{_R})(?=[A-Za-z0-9/+]{{0,39}}?[A-Z])"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        rf"{_L}A[KS]IA[A-Z0-9]{{16}}[^A-Za-z0-9/+{HIDDEN}]{{1,6}}+(?:(?:and|with|und|mit|y|con|et|avec|e|com|и|с)\s)?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        hint=hints.has_long_run,
    ),
    *_secret(
        "an access token",
        rf"{_L}(?:gh[pousr]_[A-Za-z0-9]{{10,}}+|(?:github_pat_|glpat-)[\w-]{{10,}}+"
        r"|hf_[A-Za-z0-9]{16,}+|(?:npm_|gsk_|xai-)[A-Za-z0-9]{20,}+|do[opr]_v1_[a-f0-9]{32,}+"
        r"|ya29\.[\w-]{20,}+|SG\.[\w-]{16,64}+\.[\w-]{16,}+"
        r"|xox[abeprs]-(?=[A-Za-z0-9-]{0,20}[0-9])[A-Za-z0-9-]{10,}+)",
        hint=hints.has_long_run,
    ),
    *_secret(
        "an access token",
        r"(?i:authorization[\"']{0,2}+\s{0,3}+[:=]\s{0,3}+[\"']?+(?:bearer|basic|token)\s{1,3}+"
        rf"{_EXAMPLE})([\w.~+/=-]{{8,}}+)",
        rf"{_L}(?i:bearer(?:\stoken)?+\s{{0,2}}+[:=]?+\s{{0,2}}+[\"']?+{_EXAMPLE})"
        r"(?=[\w.~+/=-]{0,64}?[0-9])([\w.~+/=-]{16,}+)",
        hint=hints.any_of("bearer", "authorization"),
    ),
    *_secret("an access token", rf"{_L}(?:{'|'.join(PREFIXED)})", hint=hints.has_long_run),
    *_secret("a Google API key", rf"{_L}AIza[\w-]{{30,}}+", hint=hints.has_long_run),
    *_secret("a secret in an address", *IN_ADDRESS, hint=hints.has_value_sign),
    *_secret("a wallet key", *WALLET, hint=hints.has_long_run),
    *_secret(
        "a JSON web token",
        rf"{_L}eyJ[\w-]{{8,1024}}+\.[\w-]{{8,8192}}+\.[\w-]{{4,}}+",
        hint=hints.has_long_run,
    ),
    *_secret(
        "a password in an address",
        rf"(?<=[a-z0-9])://[^\s:/@\"'<>{HIDDEN}]{{0,64}}+:(?i:{_EXAMPLE})"
        rf"([^\s/\"'<>{HIDDEN}]{{1,128}})@(?=[A-Za-z0-9\[])",
        hint=hints.any_of("://"),
    ),
    *_secret("a password", *COMMANDS, hint=hints.has_command),
    *_secret("a password", PAIR, hint=hints.has_user),
    *_secret("a password", *PASSWORDS, hint=hints.names_password),
    *_rules(PLAIN_PASSWORDS, hints.labels_password),
    *_secret("a door or lock code", *LOCK_CODES, hint=hints.has_digit),
    *_secret("a recovery phrase", SEED_PHRASE, hint=hints.names_seed),
    *_secret("a passphrase", *PASSPHRASES, hint=hints.names_passphrase),
    *_secret("a passphrase", *OPENING_WORDS, *QUOTED_WORDS, hint=hints.opens_something),
    *_secret("an answer to a security question", *ANSWERS, hint=hints.names_question),
    *_secret("a code", *CODES, hint=hints.has_digits),
    *_secret(
        "an identity card number",
        r"(?<![A-Za-z0-9])(?<![0-9]\.)(?=([1-9][0-9]{5}[ .-]?[0-9]{4}[ .-]?[0-9]{2}[ .-]?"
        rf"[0-9]{{2}}[ .-]?[0-9]{{3}}[ .-]?[0-9Xx]){_R})",
        check=is_resident_id,
        group=Group.DOCUMENT,
        hint=hints.has_many_digits,
    ),
    *_secret(
        "a payment card number",
        rf"(?<![A-Za-z0-9])(?<![0-9][ .-])(?=([0-9](?:[ .-]?[0-9]){{12,18}}+){_R}(?![ .-][0-9]))",
        rf"(?<![A-Za-z0-9])(?<![0-9][.])(?=([0-9]{{13,19}}+){_R})",
        rf"(?<![A-Za-z0-9])(?=([0-9]{{4}}(?:[ .-][0-9]{{4}}){{3}}){_R})",
        rf"(?<![A-Za-z0-9])(?=([0-9]{{4}}(?:[ .-][0-9]{{4}}){{3}}[ .-][0-9]{{3}}){_R})",
        rf"(?<![A-Za-z0-9])(?=([0-9]{{4}}[ .-][0-9]{{6}}[ .-][0-9]{{4,5}}){_R})",
        check=is_card_number,
        group=Group.DOCUMENT,
        hint=hints.has_many_digits,
    ),
    *(
        found
        for name, source, check in CHECKED
        for found in _secret(
            name, source, check=check, group=Group.DOCUMENT, hint=hints.has_many_digits
        )
    ),
    *_secret("a passport number", PASSPORT, group=Group.DOCUMENT, hint=hints.has_many_digits),
    *_secret("a driving licence number", LICENCE, group=Group.DOCUMENT, hint=hints.has_many_digits),
    *_secret("a tax number", TAX, group=Group.DOCUMENT, hint=hints.has_many_digits),
    *_secret("a bank account number", ACCOUNT, group=Group.DOCUMENT, hint=hints.has_many_digits),
    *_rules(NEAR_PASSWORDS, hints.has_digit),
    *_rules(NEAR_LOCK_CODES, hints.has_digit),
    *_rules(NEAR_CODES, hints.has_digit),
    *_rules(TOLD_NUMBERS, hints.tells_numbers),
    *_rules(SIGNED, hints.has_inner_sign),
    *_rules(LONG, hints.has_long_run),
    *_rules(ASSIGNED, hints.is_assigned),
    *_rules(GROUPED, hints.has_groups),
    *_rules(SEEDS, hints.tells_seed),
    *_rules(NEAR_ACCOUNTS, hints.has_digits_of_document, Group.DOCUMENT),
    *_rules(NATIONAL, hints.has_digits_of_document, Group.DOCUMENT),
    *_rules(PASSPORTS_AND_LICENCES, hints.has_digits_of_document, Group.DOCUMENT),
)
"""What is never kept unless the settings say so."""

CONTACTS = (
    *_secret("a telephone number", *PHONES, group=Group.CONTACT, hint=hints.has_many_digits),
    *_secret("an e-mail address", *EMAILS, group=Group.CONTACT, hint=hints.has_at),
)
"""Contact data, which is kept unless the settings say otherwise."""
