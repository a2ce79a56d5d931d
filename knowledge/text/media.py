"""Media embedded in a text, such as an image as a data URL: they are named, as nobody said them."""

import re

_NAMES = {"image": "image", "audio": "audio", "video": "video"}
"""Names of media by the type of their data; anything else is a file."""

_SIGN = r"[A-Za-z0-9+/=_-]"
_BASE64 = rf"(?:{_SIGN}|%(?:2[BF]|3D)|\s{{1,4}}+(?={_SIGN}{{40}})){{16,}}+"
"""Data in base64, which may be broken into lines."""
_MARKS = ("data:", "base64,", "<svg")
_SVG = r"<svg\b(?:(?!</?svg).)*+</svg\s?>"
_MARKED = re.compile(
    r"(?<![a-z0-9])data:(?P<type>[a-z]{1,20})\\?/[a-z0-9.+-]{1,80}+[^,\s\"'<>()]{0,200}+,"
    rf"(?:\s?{_SVG}|(?<=base64,)\s?{_BASE64}|[!#-&*-;=?-Z^_a-z{{-~]*+)"
    rf"|(?<![a-z0-9])base64,\s?(?P<data>{_BASE64})|(?P<svg>{_SVG})",
    re.IGNORECASE | re.DOTALL,
)
_MIXED = r"(?=[^A-Z]{0,60}[A-Z])(?=[^a-z]{0,60}[a-z])(?=[^0-9]{0,60}[0-9])"
_BARE = re.compile(
    rf"(?<!{_SIGN})(?={_SIGN}{{60}}){_MIXED}"
    rf"(?:{_SIGN}{{500,}}+|{_SIGN}{{60,80}}+(?:\r?\n{_SIGN}{{20,80}}+){{5,}}+)"
)
"""Data in base64 that nothing announces: very long, or broken into many lines."""
_BEGINS = {
    "image": ("iVBORw0KG", "/9j/", "R0lGOD", "UklGR", "PHN2Zy", "Qk0"),
    "audio": ("SUQz", "T2dnUw", "//uQ"),
}
"""How images (PNG, JPEG, GIF, WebP, SVG, BMP) and sound (MP3, Ogg) begin in base64."""


def name_media(text: str) -> str:
    """Return the text with a name such as `[image]` for each that is embedded as data.

    >>> name_media("![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA) This is Mia.")
    '![]([image]) This is Mia.'
    >>> name_media("my data: 1, 2"), name_media("<svg width='9'><path d='M1'/></svg>")
    ('my data: 1, 2', '[image]')
    """
    lowered = text.lower()
    if any(mark in lowered for mark in _MARKS):
        text = _MARKED.sub(_by_mark, text)
    return _BARE.sub(lambda bare: _by_beginning(bare[0]), text)


def _by_mark(found: re.Match[str]) -> str:
    if found["data"]:
        return _by_beginning(found["data"])
    type_ = "image" if found["svg"] else found["type"].lower()
    return f"[{_NAMES.get(type_, 'file')}]"


def _by_beginning(data: str) -> str:
    return next((f"[{name}]" for name, how in _BEGINS.items() if data.startswith(how)), "[file]")
