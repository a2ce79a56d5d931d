"""Tables: as such in a wide terminal, stacked in a narrow one, one line a row in a file."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from souffleur.cli.console import console

NARROW = 80
"""Columns of the terminal below which rows are stacked."""


def print_table(table: Table, to: Console = console) -> None:
    """Print a table so that it can be read where it goes."""
    if not to.is_terminal:
        for line in to_lines(table):
            to.print(Text(line), soft_wrap=True)
    elif to.width < NARROW and table.show_header and len(table.columns) > 2:
        _print_stacked(table, to)
    else:
        to.print(table)


def to_lines(table: Table) -> list[str]:
    """Return the table as text, one line for its title, its header and each row; nothing is cut.

    >>> table = Table("id", "memory", title="two")
    >>> table.add_row("1", "[dim]Ann likes[/] tea.")
    >>> to_lines(table)
    ['two', 'id  memory', '1   Ann likes tea.']
    """
    rows = _rows(table)
    if table.show_header:
        rows = [[_plain(column.header) for column in table.columns], *rows]
    widths = [max(map(cell_len, cells), default=0) for cells in zip(*rows, strict=True)]
    lines = ["  ".join(map(_padded, row, widths)).rstrip() for row in rows]
    return [_plain(table.title), *lines] if table.title else lines


def _rows(table: Table) -> list[list[str]]:
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _plain(cell: object) -> str:
    text = cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _print_stacked(table: Table, to: Console) -> None:
    if table.title:
        to.print(table.title, style="italic")
    cells: Sequence[Sequence[object]] = [list(column.cells) for column in table.columns]
    for row in zip(*cells, strict=True):
        stacked = Table(Column(style="dim"), Column(overflow="fold"), show_header=False, box=None)
        for column, cell in zip(table.columns, row, strict=True):
            if cell:
                stacked.add_row(column.header, cell)
        to.print(stacked)
        to.print()
