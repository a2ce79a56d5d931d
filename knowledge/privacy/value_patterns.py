"""Patterns of values that are found by their form: numbers and the signs of passwords."""

START = r"(?<![A-Za-z0-9_/@])(?<![0-9][.,:-])"
"""Before a number: no part of a word, an address or a longer number."""
END = r"(?![A-Za-z0-9_%]|[.,:/-][0-9A-Za-z])"
NO_YEAR = r"(?!(?:19|20)[0-9]{2}(?![0-9A-Za-z*#]))"

THREES = "[0-9]{3}[ -][0-9]{3}"
FOURS = "[0-9]{4}[ -][0-9]{4}"
YEAR = rf"{START}((?:19|20)[0-9]{{2}}){END}"
NUMBER = (
    rf"{START}{NO_YEAR}([0-9]{{4,8}}+|[0-9](?:[ -][0-9]){{3,7}}+"
    rf"|[0-9]{{2}}(?:[ -][0-9]{{2}}){{1,3}}+|{THREES}|{FOURS}){END}"
)
"""Four to eight digits, together or in groups."""
LOCK_NUMBER = (
    rf"{START}{NO_YEAR}(\*?[0-9]{{3,8}}+[#*]?+|[0-9]{{1,2}}(?:[ -][0-9]{{1,2}}){{2,3}}+"
    rf"|[0-9]{{2}}[ -][0-9]{{2}}|[0-9]{{1,3}}[кkКK][0-9]{{4}}|[A-Z][0-9]{{3,6}}[A-Z]?+"
    rf"|[0-9]{{2,5}}[A-Z][0-9]{{0,4}}+){END}"
)
"""What key pads take: "*4471#", "12-34-7", "47к1298", "C1790X"."""

_SIGN = r"[A-Za-z0-9\u00c0-\u024f\u0300-\u036f!#$%&*+=?@^_~|\\-]"


def _token(least: int, has: str = "") -> str:
    return (
        rf"(?<!{_SIGN})(?<![./\\])((?=[A-Za-z0-9!$%&*]){has}"
        rf"(?>{_SIGN}|[./:](?=[A-Za-z0-9])){{{least},64}}+)(?![(\[]|{_SIGN})"
    )


TOKEN = _token(7)
"""Signs in a row, as of a password: at least seven."""
_DIGIT_WITHIN = rf"(?=(?:(?![0-9]){_SIGN}|[./:](?=[A-Za-z0-9])){{0,63}}+[0-9])"
DIGIT_TOKEN = _token(7, _DIGIT_WITHIN)
"""Such signs with a digit among them."""
SHORT_TOKEN = _token(6, _DIGIT_WITHIN)
