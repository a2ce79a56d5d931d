"""Excerpts: of what was said at length, the sentences that bear on the present message. Pure."""

import re
from collections.abc import Callable

from souffleur.knowledge.language.lexical import terms
from souffleur.knowledge.language.plain_text import single_line
from souffleur.knowledge.language.sentences import sentences

GAP = "…"
"""What stands for sentences that are left out."""

_SHORT = 80
"""Characters up to which what somebody quotes is part of what they say."""
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)"
    r"|(?:^>[^\n]*(?:\n|\Z))+"
    rf"|「[^「」]{{{_SHORT},}}」|『[^『』]{{{_SHORT},}}』|“[^“”]{{{_SHORT},}}”|\"[^\"\n]{{{_SHORT},}}\""
    rf"|(?:(?<=[:：])[ \t]*\n|^-{{3,}}[ \t]*\n).{{{_SHORT},}}|(?<=[:：])[【\[].{{{_SHORT},}}",
    re.DOTALL | re.MULTILINE,
)
"""What is quoted or pasted: between marks, as code, behind ">", or on the lines after a colon."""


def excerpt(text: str, about: str, fits: Callable[[str], bool], *, strict: bool = False) -> str:
    """Return a text on one line if it fits, else its sentences that bear most on `about`.

    Each is taken for the words of `about` that those taken before do not have; of equals the first.
    They stay in their order, and gaps are marked. A sentence that has no word in common with
    `about` is left out, if `strict` even where nothing else is left.

    >>> tea = "I like tea. It rained. Ann moved to Lyon. Then it was late."
    >>> excerpt(tea, "Where did Ann move?", lambda part: len(part) <= 20)
    '…Ann moved to Lyon.…'
    """
    whole = single_line(text)
    if fits(whole) and not strict:
        return whole
    sought = set(terms(about))
    parts = sentences("\n".join(filter(None, map(single_line, text.splitlines()))))
    shared = [sought & set(terms(part)) for part in parts]
    bearing = [index for index in range(len(parts)) if shared[index]]
    left = bearing or ([] if strict else list(range(len(parts))))
    chosen: set[int] = set()
    while left:
        index = max(left, key=lambda at: (len(shared[at] & sought), len(shared[at]), -at))
        left.remove(index)
        if fits(_join(parts, chosen | {index})):
            chosen.add(index)
            sought = sought - shared[index]
    return _join(parts, chosen) if chosen else ""


def split_quotations(text: str) -> list[tuple[str, bool]]:
    """Return the parts of a text in their order, each with whether it is quoted or pasted.

    >>> split_quotations("Look:\\n" + "Buy now! " * 10)[1][1], split_quotations('He said "no".')
    (True, [('He said "no".', False)])
    """
    parts, at = [], 0
    for match in _QUOTED.finditer(text):
        parts += [(text[at : match.start()], False), (match[0], True)]
        at = match.end()
    parts.append((text[at:], False))
    return [(part, quoted) for part, quoted in parts if part.strip()]


def _join(parts: list[str], chosen: set[int]) -> str:
    kept = sorted(chosen)
    joint = ""
    for before, index in zip([-1, *kept], kept, strict=False):
        joint += ("" if index == before + 1 else GAP) + parts[index]
    return single_line(joint) + (GAP if kept and kept[-1] < len(parts) - 1 else "")


def leading(text: str, fits: Callable[[str], bool], mark: str = "") -> str:
    """Return the text if it fits, else as many first sentences as do with `mark`, else nothing.

    >>> leading("Tea. Milk. Sugar.", lambda text: len(text) <= 12, "…")
    'Tea. Milk.…'
    >>> leading("Tea and milk and sugar.", lambda text: len(text) <= 12, "…")
    ''
    """
    if fits(text):
        return text
    kept, front = "", ""
    for sentence in sentences(text):
        front += sentence
        if not fits(front.rstrip() + mark):
            break
        kept = front.rstrip() + mark
    return kept
