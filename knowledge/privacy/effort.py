"""How much the rules may read of a text before it is masked without them.

The rules are hundreds of patterns, and dozens of them read what stands around each number. A talk
costs little. A pasted table of numbers would cost a second for some ten thousand characters, and
nobody else is answered meanwhile.
"""

MAX_STEPS = 4_000_000
"""Steps for one text: characters that patterns read. They take about 0.15 s of processor time."""
SURROUNDINGS = 1_000
"""Steps to read what stands around a value: it takes as long as to read so many characters."""


class TooMuchError(Exception):
    """The text is longer, or holds more values, than the rules may read."""


class Effort:
    """Counts the steps for one text."""

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        """Count these steps before they are taken. Raises TooMuchError if they are too many."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchError
