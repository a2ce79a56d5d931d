"""Numbers with their nouns, sums and durations, as a person would say them."""

from datetime import timedelta

MEMORIES = ("memory", "memories")
"""The noun of `count`, whose plural is irregular."""


def count(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> count(1, "turn"), count(1200, "turn"), count(2, "memory", "memories")
    ('1 turn', '1,200 turns', '2 memories')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def size(length: int) -> str:
    """Return a number of bytes in words.

    >>> size(34_200), size(2_560_000)
    ('35 kB', '2.6 MB')
    """
    return f"{length / 1e6:,.1f} MB" if length >= 1e6 else f"{-(-length // 1000)} kB"


def dollars(amount: float) -> str:
    """Return a sum of dollars in words.

    >>> dollars(0.0037), dollars(0.4), dollars(1234.5)
    ('under $0.01', '$0.40', '$1,234.50')
    """
    return f"${amount:,.2f}" if amount >= 0.01 else "under $0.01"


def duration(length: timedelta) -> str:
    """Return a duration in words.

    >>> [duration(timedelta(seconds=seconds)) for seconds in (0.04, 3.26, 125, 7205, 6e5)]
    ['under 0.1 s', '3.3 s', '2 min 5 s', '2 h 0 min', '6 days']
    """
    seconds = length.total_seconds()
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.1 else "under 0.1 s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else count(hours // 24, "day")
