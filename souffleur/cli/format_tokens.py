"""Tokens in the terminal: a new one once, the others without their secrets."""

import sys
from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from souffleur.cli.console import console, print_json, to_plain
from souffleur.cli.tables import print_table
from souffleur.server.tokens import Token

SHOWN = 8
"""Characters of a hash that are shown as the id of its token."""


def print_secret(secret: str, *, as_json: bool) -> None:
    """Print a new token, alone on standard output."""
    if as_json:
        print_json({"token": secret})
        return
    print(secret)
    print("it is stored nowhere and not shown again", file=sys.stderr)


def print_tokens(tokens: Sequence[Token], *, as_json: bool, gone: bool = False) -> None:
    """Print a table of tokens; `gone` says that they are revoked now."""
    if as_json:
        print_json([to_plain(one) for one in tokens])
        return
    if not tokens:
        console.print("[dim]there is no token: make one with --user, --agent or --admin[/dim]")
        return
    title = "revoked" if gone else None
    table = Table("id", "for", "made", "label", title=title, box=box.SIMPLE_HEAD)
    for one in tokens:
        owner = f"{one.role} {one.who}".strip()
        made = f"{one.made_at:%Y-%m-%d %H:%M} UTC"
        table.add_row(one.digest[:SHOWN], escape(owner), made, escape(one.label))
    print_table(table)
