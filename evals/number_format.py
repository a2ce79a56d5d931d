"""Numbers of results, formatted for the terminal and the page."""

from souffleur.evals.result import Measured


def number(value: float | None, *, counted: bool = False) -> str:
    """Return a number in its shortest useful form; `counted` numbers have no decimals.

    >>> number(0.95), number(12.0), number(1234.5), number(None), number(0.0, counted=True)
    ('0.950', '12', '1,234', '–', '0')
    """
    if value is None:
        return "–"
    if value == int(value) and (counted or abs(value) > 1):
        return f"{int(value):,}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def interval(one: Measured, *, counted: bool = False) -> str:
    """Return a value with its interval.

    >>> interval(Measured(value=0.9, low=0.8, high=1.0))
    '0.900 (0.800 to 1.000)'
    """
    if one.low is None or one.high is None:
        return number(one.value, counted=counted)
    low, high = number(one.low, counted=counted), number(one.high, counted=counted)
    return f"{number(one.value, counted=counted)} ({low} to {high})"
