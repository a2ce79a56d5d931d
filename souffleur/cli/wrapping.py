"""Wrapping by words where there are spaces, and by characters in Chinese and Japanese.

Rich takes a run of Chinese for one word and moves all of it to the next line.
"""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

OPENING = frozenset("（「『《〈【“‘([")
"""Characters after which no line ends."""
CLOSING = frozenset("，。！？；：、）」』》〉】”’…—,.!?;:)]%")
"""Characters with which no line begins."""


def wrap(text: Text, width: int, hang: int = 0) -> list[Text]:
    """Return the lines of a text of one paragraph, each at most `width` cells, styles kept.

    All lines but the first are indented by `hang` cells.

    >>> [line.plain for line in wrap(Text("一灯拉面，豚骨加 Tonkotsu"), 10)]
    ['一灯拉面，', '豚骨加', 'Tonkotsu']
    """
    first, *others = text.divide(_ends(text.plain, width, hang))
    lines = [first, *(Text(" " * hang).append_text(line) for line in others)]
    for line in lines:
        line.rstrip()
    return lines


def clip(text: str, width: int) -> str:
    """Return the text, or as much of it as fits into `width` cells, with an ellipsis.

    >>> clip("Nora lives in Bray.", 14), clip("主人住在成都", 8), clip("tea", 8)
    ('Nora lives in…', '主人住…', 'tea')
    """
    if cell_len(text) <= width:
        return text
    return wrap(Text(text), width - 1)[0].plain + "…"


def _ends(plain: str, width: int, hang: int) -> Iterator[int]:
    """Yield the places at which a new line begins."""
    start = used = chance = 0
    for place, character in enumerate(plain):
        if place > start and _may_break(plain[place - 1], character):
            chance = place
        used += cell_len(character)
        if used > width and not character.isspace():
            start = chance if chance > start else max(place, start + 1)
            yield start
            used = hang + cell_len(plain[start : place + 1])


def _may_break(before: str, after: str) -> bool:
    if after.isspace() or before.isspace():
        return before.isspace() and not after.isspace()
    if before.isdigit() and cell_len(after) == 2:  # 14 and 日 stay together
        return False
    wide = cell_len(before) == 2 or cell_len(after) == 2
    return wide and before not in OPENING and after not in CLOSING
