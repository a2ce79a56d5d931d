"""Drawing: the parts of the page of results, as HTML and SVG that need no script and no file."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from souffleur.evals.suite.result import Measured
from souffleur.reporting.drawing import PALETTE


def section(heading: str, sentence: str, *parts: str) -> str:
    """A card with a sentence that says what it shows."""
    body = "\n".join(parts)
    return f"<section><h2>{escape(heading)}</h2><p>{escape(sentence)}</p>\n{body}\n</section>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells that are HTML already."""
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    scrolled = f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="wide">{scrolled}</div>'


def tiles(numbers: Mapping[str, str]) -> str:
    """Numbers that are seen first."""
    shown = "".join(
        f"<div><b>{escape(number)}</b>{escape(name)}</div>" for name, number in numbers.items()
    )
    return f'<div class="tiles">{shown}</div>'


def folded(heading: str, body: str, *, is_open: bool = False, name: str = "") -> str:
    """What opens on a click; both are HTML already."""
    anchor = f' id="{escape(name)}"' if name else ""
    return (
        f"<details{anchor}{' open' if is_open else ''}><summary>{heading}</summary>{body}</details>"
    )


def whiskers(one: Measured, most: float) -> str:
    """A value as a dot, its interval as a line, from 0 to `most`."""
    if one.value is None:
        return ""
    whole = most or 1.0
    dot = _place(one.value, whole)
    line = ""
    if one.low is not None and one.high is not None:
        low, high = _place(one.low, whole), _place(one.high, whole)
        line = f'<line x1="{low:.2f}%" x2="{high:.2f}%" y1="8" y2="8"/>'
    title = f"<title>{escape(interval(one))}</title>"
    circle = f'<circle cx="{dot:.2f}%" cy="8" r="4"/>'
    return f'<svg class="whiskers" role="img" height="16">{title}{line}{circle}</svg>'


def bars(counts: Mapping[str, float]) -> str:
    """Names, bars as long as the counts are high, and the counts."""
    if not counts:
        return "<p>None.</p>"
    most = max(counts.values()) or 1
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="bar"><svg aria-hidden="true">'
        f'<rect width="{100 * many / most:.1f}%" height="100%" rx="2"/></svg></td>'
        f'<td class="number">{many:g}</td></tr>'
        for name, many in counts.items()
    )
    return f'<table class="bars">{rows}</table>'


def number(value: float | None, *, counted: bool = False) -> str:
    """As short as it can be said; what was counted has no places.

    >>> number(0.95), number(12.0), number(1234.5), number(None), number(0.0, counted=True)
    ('0.950', '12', '1,234', '–', '0')
    """
    if value is None:
        return "–"
    if value == int(value) and (counted or abs(value) > 1):
        return f"{int(value):,}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def interval(one: Measured, *, counted: bool = False) -> str:
    """A value and its interval.

    >>> interval(Measured(value=0.9, low=0.8, high=1.0))
    '0.900 (0.800 to 1.000)'
    """
    if one.low is None or one.high is None:
        return number(one.value, counted=counted)
    low, high = number(one.low, counted=counted), number(one.high, counted=counted)
    return f"{number(one.value, counted=counted)} ({low} to {high})"


def _place(value: float, whole: float) -> float:
    """In percent of the width, with room for the dot at both ends."""
    return 3 + 94 * max(0.0, min(value / whole, 1.0))


STYLE = (
    PALETTE
    + """\
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 64rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 0; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .3rem 0; color: var(--soft); }
a { color: var(--bar); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem; margin-top: 1rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .6rem;
  margin-top: .8rem; }
.tiles div { border: 1px solid var(--line); border-radius: .6rem; padding: .5rem .8rem;
  color: var(--soft); }
.tiles b { display: block; font-size: 1.4rem; color: var(--ink); }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; }
thead th, tbody td { border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; }
.bars th { width: 14rem; font-weight: 400; }
.bars td { border: 0; }
.bars .number { width: 4rem; text-align: right; font-variant-numeric: tabular-nums; }
.bar svg { display: block; width: 100%; height: .8rem; margin-top: .3rem; }
.whiskers { display: block; width: 100%; min-width: 6rem; margin-top: .25rem; }
rect, circle { fill: var(--bar); }
line { stroke: var(--bar); stroke-width: 2; opacity: .5; }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
details details { border: 0; padding: .1rem 0 .1rem 1rem; font-size: .9rem; }
summary { cursor: pointer; }
pre { white-space: pre-wrap; font-size: .8rem; border: 1px solid var(--line); border-radius: .4rem;
  padding: .6rem; margin: .3rem 0; max-height: 30rem; overflow-y: auto; }
.step { border-left: .2rem solid var(--line); padding: .1rem 0 .3rem .8rem; margin: .6rem 0; }
.step.off { border-left-color: var(--bad); }
.step time, .dim { color: var(--soft); font-size: .85rem; }
.op { margin: .15rem 0; }
.tag { font-size: .75rem; font-weight: 600; border: 1px solid; border-radius: .3rem;
  padding: 0 .3rem; margin-right: .3rem; }
.right { color: var(--good); } .fine, .refused { color: var(--soft); } .wrong { color: var(--bad); }
"""
)
