"""Tables of items, and texts wrapped to a width.

A table is a grid in a wide terminal, stacked in a narrow terminal, and a line per row in a file.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from souffleur.cli.console import console

T = TypeVar("T")

Columns = Sequence[tuple[str, Callable[[T], object]]]
"""A header for each column, and a function that returns an item's cell."""

NARROW = 80
"""Columns of the terminal below which rows are stacked."""
OPENING = frozenset("（「『《〈【“‘([")
"""Characters that must not end a line."""
CLOSING = frozenset("，。！？；：、）」』》〉】”’…—,.!?;:)]%")
"""Characters that must not begin a line."""


def show(items: Sequence[T], columns: Columns[T], *, empty: str = "", title: str = "") -> None:
    """Print a row for each item; without items, print the sentence `empty`.

    A `str` in a cell is shown unchanged, an `int` with separators and at the right, and a `Text`
    with its styles.
    """
    if items:
        print_table(to_table(items, columns, title))
    elif empty:
        console.print(f"[dim]{escape(empty)}[/dim]")


def to_table(items: Sequence[T], columns: Columns[T], title: str = "") -> Table:
    """Return a table with a row for each item, see `show`."""
    rows = [[cell_of(one) for _, cell_of in columns] for one in items]
    numbers = [all(isinstance(row[place], int) for row in rows) for place in range(len(columns))]
    heads = [
        Column(name, justify="right" if is_number else "left", overflow="fold")
        for (name, _), is_number in zip(columns, numbers, strict=True)
    ]
    for head in heads[:-1]:
        head.overflow = "ellipsis"
    table = Table(*heads, title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(_shown, row))
    return table


def marked(*lines: str) -> Text:
    """Return lines of markup as one cell of a table."""
    return Text.from_markup("\n".join(lines))


def _shown(cell: object) -> str | Text:
    if isinstance(cell, Text):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else escape(str(cell))


def print_table(table: Table, to: Console = console) -> None:
    """Print a table in the form that suits the output."""
    if not to.is_terminal:
        for line in to_lines(table):
            to.print(Text(line), soft_wrap=True)
    elif to.width < NARROW and table.show_header and len(table.columns) > 2:
        _print_stacked(table, to)
    else:
        to.print(table)


def to_lines(table: Table) -> list[str]:
    """Return the table as text, with a line for its title, its header and each row; cuts nothing.

    >>> table = Table("id", "memory", title="two")
    >>> table.add_row("1", "[dim]Ann likes[/] tea.")
    >>> to_lines(table)
    ['two', 'id  memory', '1   Ann likes tea.']
    """
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    if table.show_header:
        rows = [[_plain(column.header) for column in table.columns], *rows]
    widths = [max(map(cell_len, cells), default=0) for cells in zip(*rows, strict=True)]
    lines = ["  ".join(map(_padded, row, widths)).rstrip() for row in rows]
    return [_plain(table.title), *lines] if table.title else lines


def _plain(cell: object) -> str:
    text = cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _print_stacked(table: Table, to: Console) -> None:
    if table.title:
        to.print(table.title, style="italic")
    cells = [list(column.cells) for column in table.columns]
    for row in zip(*cells, strict=True):
        stacked = Table(Column(style="dim"), Column(overflow="fold"), show_header=False, box=None)
        for column, cell in zip(table.columns, row, strict=True):
            if cell:
                stacked.add_row(column.header, cell)
        to.print(stacked)
        to.print()


def wrap(text: Text, width: int, hang: int = 0) -> list[Text]:
    """Return the lines of a one-paragraph text, each at most `width` cells, with its styles.

    All lines except the first are indented by `hang` cells. Rich reads a run of Chinese as a single
    word, and would move all of it to the next line.

    >>> [line.plain for line in wrap(Text("一灯拉面，豚骨加 Tonkotsu"), 10)]
    ['一灯拉面，', '豚骨加', 'Tonkotsu']
    """
    first, *others = text.divide(_ends(text.plain, width, hang))
    lines = [first, *(Text(" " * hang).append_text(line) for line in others)]
    for line in lines:
        line.rstrip()
    return lines


def clip(text: str, width: int) -> str:
    """Return the text, or the beginning that fits into `width` cells, with an ellipsis.

    >>> clip("Nora lives in Bray.", 14), clip("主人住在成都", 8), clip("tea", 8)
    ('Nora lives in…', '主人住…', 'tea')
    """
    if cell_len(text) <= width:
        return text
    return wrap(Text(text), width - 1)[0].plain + "…"


def _ends(text: str, width: int, hang: int) -> Iterator[int]:
    """Yield the places where a new line begins."""
    start = used = chance = 0
    for place, character in enumerate(text):
        if place > start and _may_break(text[place - 1], character):
            chance = place
        used += cell_len(character)
        if used > width and not character.isspace():
            start = chance if chance > start else max(place, start + 1)
            yield start
            used = hang + cell_len(text[start : place + 1])


def _may_break(before: str, after: str) -> bool:
    if after.isspace() or before.isspace():
        return before.isspace() and not after.isspace()
    if before.isdigit() and cell_len(after) == 2:  # 14 and 日 stay together
        return False
    wide = cell_len(before) == 2 or cell_len(after) == 2
    return wide and before not in OPENING and after not in CLOSING
