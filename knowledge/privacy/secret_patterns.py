"""All kinds of sensitive data, for text that `secrets` has converted to plain ASCII signs.

A pattern may be tried at every position of a text of any length, so each repetition has an upper
bound, except for a possessive run of single characters at the very end of a pattern.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from souffleur.knowledge.privacy import hints
from souffleur.knowledge.privacy.handling import Group
from souffleur.knowledge.privacy.hints import Hint
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.rules import (
    cards,
    code_phrases,
    contacts,
    document_numbers,
    keys,
    lock_code_phrases,
    near_accounts,
    near_codes,
    near_country_numbers,
    near_documents,
    near_keys,
    near_passwords,
    passphrases,
    password_phrases,
    plain_passwords,
    security_answers,
    seed_words,
    stories,
    told_numbers,
    typed_passwords,
)
from souffleur.knowledge.privacy.surroundings import SearchedText

_CROSSED = re.compile(r"(?i:x{8}|\*{6})")
"""What stands in the place of a value that was taken out, or is to be put in."""


@dataclass(frozen=True)
class Secret:
    """A kind of sensitive data, and how it is found."""

    name: str
    """The name of the kind, in words."""
    rule: Rule
    """The rule that it is found by."""
    group: Group = Group.SECRET
    """What it is, which decides what is done about it."""
    hint: Hint | None = None
    """What every text that holds one has, in lower case; `None` if there is no such sign."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern; its groups match the secret, or the whole match if there are no groups.

        There are hundreds, which take half a second to compile, and most are never tried.
        """
        return _compiled(self.rule.value)

    def may_be_in(self, text: SearchedText) -> bool:
        """Return whether the text has the words that must stand around one."""
        return self.rule.near is None or self.rule.near.may_hold(text)

    def holds(self, text: SearchedText, start: int, end: int) -> bool:
        """Return whether what the pattern found at these places of the text is one."""
        check, near = self.rule.check, self.rule.near
        if _CROSSED.search(text.plain, start, end):
            return False
        if check is not None and not check(text.plain[start:end]):
            return False
        return near is None or near.hold(text, start, end)


@cache
def _compiled(value: str) -> re.Pattern[str]:
    """Return the pattern of a value, one object for all rules that share it."""
    return re.compile(_apart(value), re.ASCII)


def _apart(source: str) -> str:
    """Return the pattern so that it also matches letters and kana with separate marks."""
    return re.sub(r"[^\x00-\x7f]", _composed_or_apart, source)


def _composed_or_apart(found: re.Match[str]) -> str:
    char, apart = found[0], unicodedata.normalize("NFD", found[0])
    return char if char == apart else f"(?:{char}|{apart})"


def _found_by(rules: Iterable[Rule], hint: Hint | None, group: Group) -> Iterator[Secret]:
    return (Secret(rule.kind, rule, group, hint) for rule in rules)


_SECRETS: tuple[tuple[tuple[Rule, ...], Hint | None], ...] = (
    (keys.PRIVATE_KEYS, None),
    (keys.KEYS, hints.has_long_run),
    (keys.BEARERS, hints.any_of("bearer", "authorization")),
    (keys.OF_PROVIDERS, hints.has_long_run),
    (keys.ADDRESSED, hints.has_value_sign),
    (keys.WALLETS, hints.has_long_run),
    (seed_words.SEED_WORDS, hints.has_many_words),
    (keys.WEB_TOKENS, hints.has_long_run),
    (keys.IN_USER_INFO, hints.any_of("://")),
    (typed_passwords.COMMANDS, hints.has_command),
    (typed_passwords.PAIRS, hints.has_user),
    (password_phrases.PASSWORDS, hints.names_password),
    (plain_passwords.PLAIN_PASSWORDS, hints.labels_password),
    (lock_code_phrases.LOCK_CODES, hints.has_digit),
    (code_phrases.SEED_PHRASES, hints.names_seed),
    (passphrases.PASSPHRASES, hints.names_passphrase),
    (passphrases.OPENING_WORDS, hints.opens_something),
    (security_answers.ANSWERS, hints.names_question),
    (code_phrases.CODES, hints.has_digits),
)
_DOCUMENTS = (
    (cards.CARDS, hints.has_many_digits),
    (cards.CHECK_CODES, hints.has_many_digits),
    (document_numbers.CHECKED, hints.has_many_digits),
    (document_numbers.STATED, hints.has_many_digits),
)
_SECRETS_NEAR = (
    (near_passwords.TOKENS, hints.has_mixed_token),
    (near_passwords.PASSWORDS, hints.has_digit),
    (near_codes.LOCK_CODES, hints.has_digit),
    (near_codes.CODES, hints.has_digit),
    (stories.STORIES, hints.has_digit),
    (told_numbers.TOLD_NUMBERS, hints.tells_numbers),
    (near_passwords.SIGNED, hints.has_inner_sign),
    (near_passwords.JOINED, hints.names_passphrase),
    (near_keys.LONG, hints.has_long_run),
    (near_keys.ASSIGNED, hints.is_assigned),
    (near_keys.GROUPED, hints.has_groups),
    (near_keys.SEEDS, hints.tells_seed),
)
_DOCUMENTS_NEAR = (
    (near_accounts.NEAR_ACCOUNTS, hints.has_digits_of_document),
    (near_documents.NATIONAL, hints.has_digits_of_document),
    (near_country_numbers.COUNTRY_NUMBERS, hints.names_country_number),
    (near_documents.PASSPORTS_AND_LICENCES, hints.has_digits_of_document),
    (stories.DOCUMENTS, hints.has_digits_of_document),
)
_CONTACTS = (
    (contacts.PHONES, hints.has_many_digits),
    (contacts.EMAILS, hints.has_at),
)

SECRETS = tuple(
    secret
    for table, group in (
        (_SECRETS, Group.SECRET),
        (_DOCUMENTS, Group.DOCUMENT),
        (_SECRETS_NEAR, Group.SECRET),
        (_DOCUMENTS_NEAR, Group.DOCUMENT),
    )
    for rules, hint in table
    for secret in _found_by(rules, hint, group)
)
"""What is never kept unless the settings say so. The first that is found names the kind."""

CONTACTS = tuple(
    secret for rules, hint in _CONTACTS for secret in _found_by(rules, hint, Group.CONTACT)
)
"""Contact data, which is kept unless the settings say otherwise."""
