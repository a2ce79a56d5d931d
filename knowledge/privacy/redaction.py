"""Redaction of other programs' messages for logs and stored errors: no keys, no private talk."""

import html
import re
from collections.abc import Sequence
from urllib.parse import unquote

from souffleur.knowledge.language.plain_text import mend, single_line
from souffleur.knowledge.privacy.secrets import MASK, mask

QUOTATION_LENGTH = 12
"""Number of consecutive characters in common with private text that count as a quotation."""

_READ = 4000
"""Maximum characters of a message that are read; a longer one is a page."""
_DEPTH = 3
"""Maximum levels of nested escapes: JSON in JSON in JSON."""
_SHORTEST_SECRET = 4
"""Minimum characters of a secret; dummy keys for local servers ("x") would mask every word."""

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([bfnrt])|(.))", re.DOTALL)
_TAG = re.compile(r"<[^<>]*+>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CUTS = re.compile(r"…(?:\s?…)++")
_SHORTENED = (
    re.compile(r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9*_.…-]{4,}+"),
    re.compile(r"(?<![A-Za-z0-9])(?:gsk|hf|xai|nvapi|pplx|AIza)[-_]?[A-Za-z0-9*_-]{16,}+"),
    re.compile(r"(?<=(?i:bearer))(?:\s++token)?+[\s:=]++[^\s,;\"'<>]{4,}+"),
    re.compile(r"(?<=://)[^/\s@]*+@"),
    re.compile(r"(?<=[?&])[^?=&\s]*?(?:key|token|secret|password|sig)[^?=&\s]*+=[^&\s\"'<>]++"),
)
"""What endpoints tell of a key, cut or starred, and what may be a key in an address or header."""


def redact(words: str, private: Sequence[str] = (), secrets: Sequence[str] = ()) -> str:
    """Return the words on one line, with "…" for secrets, keys and quotations of private text.

    Escapes and tags are removed first, as quotations may be embedded in JSON or HTML. Secrets and
    document numbers are those that `secrets` finds, whatever the settings say about memories.

    >>> redact("policy: 'I hate my boss, Tom' (key sk-1234567)", ["Well, I hate my boss, Tom."])
    "policy: '…' (key …)"
    """
    words, known = _plain(words[:_READ]), "\n".join(map(_plain, private))
    for secret in secrets:
        words = words.replace(secret, "…") if len(secret) >= _SHORTEST_SECRET else words
    # A tag may be part of the private text, or be inside the quotation of it.
    words = _one_line(_TAG.sub(" ", _without_runs(words, known)))
    words = _without_runs(words, known)
    words = mask(words).replace(MASK, "…")
    for key in _SHORTENED:
        words = key.sub("…", words)
    return _CUTS.sub("…", words)


def _plain(text: str) -> str:
    """Return the text on one line, with escapes of JSON, HTML and URLs decoded."""
    for _ in range(_DEPTH):
        read = unquote(html.unescape(_ESCAPE.sub(_unescaped, text)))
        if read == text:
            break
        text = read
    return _one_line(mend(text))


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return " " if escape[2] else escape[3]


def _one_line(text: str) -> str:
    return single_line(_CONTROL.sub(" ", text))


def _without_runs(words: str, private: str) -> str:
    low, known = _lowered(words), _lowered(private)
    ours = {
        low[index : index + QUOTATION_LENGTH] for index in range(len(low) - QUOTATION_LENGTH + 1)
    }
    both = ours.intersection(
        known[at : at + QUOTATION_LENGTH] for at in range(len(known) - QUOTATION_LENGTH + 1)
    )
    kept: list[str] = []
    index = 0
    while index < len(words):
        if low[index : index + QUOTATION_LENGTH] not in both:
            kept.append(words[index])
            index += 1
            continue
        index += QUOTATION_LENGTH
        while index < len(words) and low[index + 1 - QUOTATION_LENGTH : index + 1] in both:
            index += 1
        kept.append("…")
    return "".join(kept)


def _lowered(text: str) -> str:
    """Return the text in lower case, with each character at its original index."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
