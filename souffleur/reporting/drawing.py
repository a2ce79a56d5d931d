"""How the parts of a report are drawn: bars, columns and tables, as HTML and inline SVG."""

import re
from collections.abc import Sequence
from html import escape

from souffleur.knowledge.upkeep.tally import Counts


def page(title: str, style: str, body: str) -> str:
    """A whole page that loads nothing."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def section(heading: str, sentence: str, *parts: str) -> str:
    """A part of the page: its heading, what it shows, and that."""
    body = "\n".join(parts)
    return f"<section><h2>{heading}</h2><p>{sentence}</p>\n{body}\n</section>"


def bars(heading: str, counts: Counts) -> str:
    """Names, bars as long as the counts are high, and the counts."""
    if not counts:
        return f"<h3>{heading}</h3><p>None.</p>"
    most = max(counts.values())
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td class="bar"><svg aria-hidden="true">'
        f'<rect width="{100 * many / most:.1f}%" height="100%" rx="2"/></svg></td>'
        f'<td class="number">{many:,}</td></tr>'
        for name, many in counts.items()
    )
    return f'<h3>{heading}</h3><table class="bars">{rows}</table>'


def columns(
    heading: str, counts: Sequence[int], labels: Sequence[str], spans: Sequence[str]
) -> str:
    """A column for each count; `spans` say what each is of, on demand."""
    if not any(counts):
        return f"<h3>{heading}</h3><p>None.</p>"
    most, step = max(counts), 100 / len(counts)
    drawn = []
    for place, (many, label, span) in enumerate(zip(counts, labels, spans, strict=True)):
        height = max(2.0, _HEIGHT * many / most) if many else 0.0
        top, middle = _HEIGHT + 16 - height, (place + 0.5) * step
        crowded = len(counts) > 13 and place != counts.index(most)
        number = "" if crowded or not many else _words(middle, top - 4, f"{many:,}")
        drawn.append(
            f"<g><title>{escape(span)}: {many:,}</title>"
            f'<rect x="{(place + 0.1) * step:.2f}%" width="{0.8 * step:.2f}%" y="{top:.1f}" '
            f'height="{height:.1f}"/>{number}{_words(middle, _HEIGHT + 32, label)}</g>'
        )
    told = [f"{escape(span)}: {many:,}" for span, many in zip(spans, counts, strict=True) if many]
    listed = "".join(f"<li>{one}</li>" for one in told)
    line = f'<line x1="0" x2="100%" y1="{_HEIGHT + 16.5}" y2="{_HEIGHT + 16.5}"/>'
    return (
        f'<h3>{heading}</h3><svg class="columns" role="img" aria-label="{heading}" '
        f'height="{_HEIGHT + 40}">{line}{"".join(drawn)}</svg>'
        f"<details><summary>In numbers</summary><ul>{listed}</ul></details>"
    )


def _words(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.2f}%" y="{y:.1f}">{escape(words)}</text>' if words else ""


def table(heading: str, total: int, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells that are HTML already."""
    if not rows:
        return f"<h3>{heading}: 0</h3>"
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    short = {name: _SHORT if name in _UNBROKEN else "" for name in head}
    begins = [f'<td data-name="{name}"{short[name]}>' for name in head]
    cells = ("".join(map("{}{}</td>".format, begins, row)) for row in rows)
    lines = "".join(f"<tr>{line}</tr>" for line in cells)
    more = f"<p>and {total - len(rows):,} more</p>" if total > len(rows) else ""
    return (
        f'<h3>{heading}: {total:,}</h3><table class="rows"><thead><tr>{names}</tr></thead>'
        f"<tbody>{lines}</tbody></table>{more}"
    )


def text(words: object) -> str:
    """Somebody's words, escaped, and kept from turning the direction of what follows.

    >>> text("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{escape(str(words))}</bdi>"


def advice(finding: str) -> str:
    """A finding, with its commands set off."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text(finding))


def short_id(name: str) -> str:
    """As much of an id as a command needs."""
    return f"<code>{escape(name[:8])}</code>"


_HEIGHT = 140
"""Of the highest column, in pixels."""

_UNBROKEN = frozenset({"cosine", "worth", "learnt", "when", "tries", "began", "took", "cost"})
"""Columns of short cells, which stay on one line."""
_SHORT = ' class="short"'

PALETTE = """
:root { --ground: #fbfaf8; --card: #fff; --ink: #23211e; --soft: #6b665e; --line: #dcd7ce;
  --bar: #3b6ea5; --good: #2f7d4f; --warn: #a86400; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #191817; --card: #232120; --ink: #ece8e1; --soft: #a59f95; --line: #3f3b37;
    --bar: #7fb0e6; --good: #6fc48f; --warn: #e8ad4a; --bad: #f2897f; }
}
"""
"""Colours by light and by dark."""

STYLE = (
    PALETTE
    + """\
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 0; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .3rem 0; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem; margin-top: 1rem; }
.ok, .warning, .broken { border-left: .4rem solid var(--good); }
.warning { border-left-color: var(--warn); }
.broken { border-left-color: var(--bad); }
ul { margin: .4rem 0; padding-left: 1.2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .6rem;
  margin-top: .8rem; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .5rem .8rem; color: var(--soft); }
.tiles b { display: block; font-size: 1.4rem; color: var(--ink); }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
td, li { overflow-wrap: anywhere; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; }
thead th, tbody td { border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; }
.rows td { min-width: 5.5rem; }
.rows .short { min-width: 0; white-space: nowrap; }
.rows code { white-space: nowrap; }
.bars th { width: 9rem; font-weight: 400; }
.bars td { border: 0; }
.bars .number { width: 5rem; text-align: right; font-variant-numeric: tabular-nums; }
.bar svg { display: block; width: 100%; height: .8rem; margin-top: .3rem; }
.columns { display: block; width: 100%; }
rect { fill: var(--bar); }
line { stroke: var(--line); }
text { fill: var(--soft); font-size: 11px; text-anchor: middle; }
code { color: var(--soft); font-size: .8rem; }
li code { color: inherit; font-size: .9rem; }
details { font-size: .9rem; }
summary { color: var(--soft); cursor: pointer; }
@media (max-width: 40rem) {
  .rows, .rows tbody, .rows tr, .rows td { display: block; }
  .rows thead, .rows td:empty { display: none; }
  .rows tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  .rows td { border: 0; padding: .1rem 0; }
  .rows td::before { content: attr(data-name) ": "; color: var(--soft); }
  .bars th { width: 6.5rem; }
  .bars .number { width: 3.5rem; padding-right: 0; }
}
"""
)
