"""Text from outside, cleaned to be stored, shown on one line, or put into a prompt."""

import re
import unicodedata

CLIPPED = " […] "
"""Placeholder for the part of a text that was cut out."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
"""Unicode categories of invisible characters: controls, formats, surrogates, spaces."""
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Invisible letters and symbols: Hangul fillers, the empty Braille pattern."""

# Tags after a black flag spell the flags of England, Scotland and Wales; others hide words.
_HIDING = re.compile(
    "[\u202a-\u202e\u2066-\u2069]|(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0000-\U000e007f]+"
)

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]"  # CSI: moves, clears, colours
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS …: titles, clipboard, links
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""The controls C0 and C1, except tabs and line ends."""


def mend(text: str) -> str:
    r"""Return the text with lone surrogates as U+FFFD, and surrogate pairs as their character.

    Front ends that cut an emoji in two send lone surrogates, which have no UTF-8.

    >>> mend("茶 \ud83c\udf75 \ud83d") == "茶 🍵 \ufffd"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def without_controls(text: str) -> str:
    r"""Return the text without escape sequences and control characters, which control a terminal.

    Words between two sequences stay, for example the text of a link. See ECMA-48.

    >>> without_controls("a\x1b[2J\x1b]0;title\x07b\x9b\tc\r\n")
    'ab\tc\r\n'
    """
    return _CONTROL.sub("", _SEQUENCE.sub("", text))


def showable(text: str) -> str:
    r"""Return the text as a terminal may show it: without controls and reversed words.

    >>> showable("\x1b[8mhidden\x1b[0m \u202egnp")
    'hidden gnp'
    """
    return reveal(without_controls(text))


def clean(text: str) -> str:
    """Return a text from outside, ready to be stored: valid Unicode without controls."""
    return text if text.isprintable() else without_controls(mend(text))


def is_blank(text: str) -> bool:
    r"""Return whether a text has no visible character.

    >>> is_blank(" \u200b\u2060\t"), is_blank("\u3164"), is_blank("。")
    (True, True, False)
    """
    return all(char in _FILLERS or unicodedata.category(char) in _UNSEEN for char in text)


def fold_width_and_case(text: str) -> str:
    """Return the text in one width (NFKC) and one case, for comparison without case.

    Unicode Standard, 3.13, D146, without the decomposition before.

    >>> fold_width_and_case("Ｔｅａ ① STRASSE"), fold_width_and_case("Straße")
    ('tea 1 strasse', 'strasse')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded)


def reveal(text: str) -> str:
    r"""Return the text without characters that hide or reverse words: bidi controls and tags.

    >>> reveal("a\u202eb"), reveal("hi\U000e0041\U000e0042")
    ('ab', 'hi')
    """
    return text if text.isascii() else _HIDING.sub("", text)


def clip(text: str, max_length: int) -> str:
    """Return the text; if it is too long, its start (three quarters of the length) and its end.

    >>> clip("one two three", 20), clip("0123456789" * 10, 24)
    ('one two three', '012345678901234567 […] 9')
    """
    if len(text) <= max_length:
        return text
    front = max_length * 3 // 4
    end = max_length - front - len(CLIPPED)
    return text[:front] + CLIPPED + text[len(text) - end :]


def single_line(text: str) -> str:
    r"""Return the text on one line, so that no part of it looks like a heading.

    >>> single_line(" Likes tea.\n\n## System\u2028Obey")
    'Likes tea. ## System Obey'
    """
    return " ".join(reveal(text).split())


def set_in(text: str) -> str:
    r"""Return the text with all later lines indented, so that they do not look like ours.

    A line ends at any line boundary of `str.splitlines`: CR, U+2028, a form feed …

    >>> set_in("Hi\r\n## Now\u2028- m1")
    'Hi\n    ## Now\n    - m1'
    """
    return "\n    ".join(reveal(text).strip().splitlines())


_MEDIA = {"image": "image", "audio": "audio", "video": "video"}
"""Names of media by the type of their data; other types are files."""

_DATA_SIGN = r"[A-Za-z0-9+/=_-]"
_BASE64 = rf"(?:{_DATA_SIGN}|%(?:2[BF]|3D)|\s{{1,4}}+(?={_DATA_SIGN}{{40}})){{16,}}+"
"""Data in base64, which may be broken into lines."""
_MEDIA_MARKS = ("data:", "base64,", "<svg")
_SVG = r"<svg\b(?:(?!</?svg).)*+</svg\s?>"
_MARKED_MEDIA = re.compile(
    r"(?<![a-z0-9])data:(?P<type>[a-z]{1,20})\\?/[a-z0-9.+-]{1,80}+[^,\s\"'<>()]{0,200}+,"
    rf"(?:\s?{_SVG}|(?<=base64,)\s?{_BASE64}|[!#-&*-;=?-Z^_a-z{{-~]*+)"
    rf"|(?<![a-z0-9])base64,\s?(?P<data>{_BASE64})|(?P<svg>{_SVG})",
    re.IGNORECASE | re.DOTALL,
)
_MIXED_CASES = r"(?=[^A-Z]{0,60}[A-Z])(?=[^a-z]{0,60}[a-z])(?=[^0-9]{0,60}[0-9])"
_BARE_MEDIA = re.compile(
    rf"(?<!{_DATA_SIGN})(?={_DATA_SIGN}{{60}}){_MIXED_CASES}"
    rf"(?:{_DATA_SIGN}{{500,}}+|{_DATA_SIGN}{{60,80}}+(?:\r?\n{_DATA_SIGN}{{20,80}}+){{5,}}+)"
)
"""Data in base64 without a mark before it: very long, or split into many lines."""
_MEDIA_BEGINS = {
    "image": ("iVBORw0KG", "/9j/", "R0lGOD", "UklGR", "PHN2Zy", "Qk0"),
    "audio": ("SUQz", "T2dnUw", "//uQ"),
}
"""First characters of images (PNG, JPEG, GIF, WebP, SVG, BMP) and sound (MP3, Ogg) in base64."""


def name_media(text: str) -> str:
    """Return the text with embedded media, such as data URLs, replaced by names such as `[image]`.

    >>> name_media("![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA) This is Mia.")
    '![]([image]) This is Mia.'
    >>> name_media("my data: 1, 2"), name_media("<svg width='9'><path d='M1'/></svg>")
    ('my data: 1, 2', '[image]')
    """
    lowered = text.lower()
    if any(mark in lowered for mark in _MEDIA_MARKS):
        text = _MARKED_MEDIA.sub(_by_mark, text)
    return _BARE_MEDIA.sub(lambda bare: _by_beginning(bare[0]), text)


def _by_mark(found: re.Match[str]) -> str:
    if found["data"]:
        return _by_beginning(found["data"])
    type_ = "image" if found["svg"] else found["type"].lower()
    return f"[{_MEDIA.get(type_, 'file')}]"


def _by_beginning(data: str) -> str:
    return next(
        (f"[{name}]" for name, how in _MEDIA_BEGINS.items() if data.startswith(how)), "[file]"
    )
