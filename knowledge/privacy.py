"""What is kept out of memory by pattern: secrets. What needs judgement is the judge's."""

import re

_CODE = (
    r"(?!\w+(?:\.\w+)+[\[(]|[a-z]+(?:_[a-z]+)+\(|[A-Za-z_]\w*[\[(][\"']"
    r"|(?:process\.env|os\.environ)\b|\$?\{[\w.]+\}|</?[a-z]"
    r"|(?:your|my)_(?:\w*_)?(?:key|password|token|secret)(?:_here)?(?![^\"'\s;,)]))"
)
"""Not where a program reads a password, or an example stands for one."""

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")),
    ("an API key", re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}")),
    ("an AWS key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("an access token", re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_)\w{10,}")),
    ("a Google API key", re.compile(r"\bAIza[\w-]{30,}")),
    ("a JSON web token", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}")),
    (
        "a password",
        re.compile(
            r"(?:pass(?:word|code|phrase|wd)|\bpin(?: code| number)?\b|secret key|api[ _-]?key"
            r"|access[ _-]?token|密码|口令|暗証番号|パスワード)"
            r"(?:\s*(?:[:=：＝]|\bis\b|是|为|改成|は|設?定?为))+\s*[\"'“「`]?"
            + _CODE
            + r"(?=[^\s\"'”」`]*\d|[^\s\"'”」`]*[^\w\s\u3000-\u9fff])[^\s\"'”」`。，,]{4,}",
            re.IGNORECASE,
        ),
    ),
    (
        "a door or lock code",
        re.compile(
            r"(?:door|gate|lock|entry|alarm|safe)\W{0,3}(?:\w+\W+){0,3}?(?:code|combination)\D{0,20}\d{4,}"
            r"|(?:门禁|门锁|开门|大门|保险箱|门)\D{0,6}(?:密码|代码|码)\D{0,8}\d{4,}",
            re.IGNORECASE,
        ),
    ),
)
_DIGITS = re.compile(r"(?<![\w.])(?:\d[ -]?){12,18}[\dXx](?!\w)")


def find_secret(text: str) -> str | None:
    """What kind of secret the text holds, in words; None: none that a pattern knows.

    >>> find_secret("my key is sk-live-9f8e7d6c5b4a3210")
    'an API key'
    >>> find_secret("我的密码是 hunter2024!")
    'a password'
    >>> find_secret("pay with 4111 1111 1111 1111 please")
    'a payment card number'
    >>> find_secret("password = request.form['password']") is None
    True
    >>> find_secret("He forgot his password and his 3 keys, 忘了密码") is None
    True
    """
    for name, pattern in _PATTERNS:
        if pattern.search(text):
            return name
    for match in _DIGITS.finditer(text):
        digits = re.sub(r"[ -]", "", match.group()).upper()
        if len(digits) == 18 and _is_resident_id(digits):
            return "an identity card number"
        if digits.isdigit() and 13 <= len(digits) <= 19 and _is_luhn(digits):
            return "a payment card number"
    return None


def _is_luhn(digits: str) -> bool:
    """The check digit of payment cards, ISO/IEC 7812-1 annex B."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_resident_id(digits: str) -> bool:
    """The check character of Chinese resident identity cards, GB 11643-1999 (ISO 7064 11-2)."""
    if not digits[:17].isdigit():
        return False
    weights = (pow(2, 17 - place, 11) for place in range(17))
    total = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))
    return "10X98765432"[total % 11] == digits[17]
