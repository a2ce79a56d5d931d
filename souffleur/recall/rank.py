"""Ranking: which memories get a place, boundaries that hide them, excerpts. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
    Set as AbstractSet,
)

from souffleur.knowledge.boundary_pairs import is_judged
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.search.words import is_spaced, terms, words_of
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.text.sentences import sentences

GAP = "…"
"""The mark for sentences that are left out."""

_SHORT = 80
"""Maximum characters of a quotation that counts as the speaker's own words."""
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)"
    r"|(?:^>[^\n]*(?:\n|\Z))+"
    rf"|「[^「」]{{{_SHORT},}}」|『[^『』]{{{_SHORT},}}』|“[^“”]{{{_SHORT},}}”|\"[^\"\n]{{{_SHORT},}}\""
    rf"|(?:(?<=[:：])[ \t]*\n|^-{{3,}}[ \t]*\n).{{{_SHORT},}}|(?<=[:：])[【\[].{{{_SHORT},}}",
    re.DOTALL | re.MULTILINE,
)
"""A quoted or pasted text: in quotation marks, as code, after ">", or on lines after a colon."""


def excerpt(text: str, about: str, fits: Callable[[str], bool]) -> str:
    """Return a text on one line if it fits, else its sentences that bear most on `about`.

    Sentences are chosen one by one, by the number of words of `about` that are not covered yet; of
    equal sentences, the first. They stay in their order, and gaps are marked. Sentences without a
    word of `about` are left out, if there are others.

    >>> tea = "I like tea. It rained. Ann moved to Lyon. Then it was late."
    >>> excerpt(tea, "Where did Ann move?", lambda part: len(part) <= 20)
    '…Ann moved to Lyon.…'
    """
    whole = single_line(text)
    if fits(whole):
        return whole
    sought = set(terms(about))
    parts = sentences("\n".join(filter(None, map(single_line, text.splitlines()))))
    shared = [sought & set(terms(part)) for part in parts]
    bearing = [index for index in range(len(parts)) if shared[index]]
    left = bearing or list(range(len(parts)))
    chosen: set[int] = set()
    while left:
        index = max(left, key=lambda at: (len(shared[at] & sought), len(shared[at]), -at))
        left.remove(index)
        if fits(_join(parts, chosen | {index})):
            chosen.add(index)
            sought = sought - shared[index]
    return _join(parts, chosen) if chosen else ""


def split_quotations(text: str) -> list[tuple[str, bool]]:
    """Return the parts of a text in order, each with `True` if it is quoted or pasted.

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
    """Return the text if it fits, else the first sentences that fit with `mark`, else "".

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


LIKELY_WEIGHT = 0.3
"""Added to the relevance of a memory that the judge of the earlier turns expects to be needed."""
_CALLED = re.compile("([\u30a1-\u30fc\u4e00-\u9fff]{1,4})(?:さん|ちゃん|くん|君|様)")
"""A Japanese name with its title; a name may be a single character."""
_PUT_IN = re.compile(
    r"\b(?:never|unless|until|again|always|without|first|mention|bring|brought|raise|speak|spoken"
    r"|start|begin|begun|allow|heard|remind|question|subject|topic|people|anyone|anybody|nobody"
    r"|herself|himself|themselves|oneself)(?:s|d|ed|ing|ning)?\b"
    "|除非|主[动動]|自己|提起|提及|提到|再提|别提|不[许許准準愿願爱愛喜]|喜[欢歡]|[讨討][厌厭]|[问問]起|[谈談]起"
    "|[话話][题題]|[别別]人|任何|自分",
    re.IGNORECASE,
)
"""Words that boundaries are phrased with; they say nothing about the subject."""
_HIRAGANA = re.compile("[\u3041-\u309f]")
_OF_TALK = re.compile(
    r"\b(?:mention|bring|brought|raise|talk|speak|spoke|word|discuss|comment|joke|tease|hear|remind"
    r"|question|subject|topic|come up|comes up|coming up|be asked|being asked|ask (?:\w+ )?about)"
    "|提|谈|談|聊|说|說|讲|講|问|問|话|話|言|口|触れ|触る|聞|笑",
    re.IGNORECASE,
)
"""Words of talk: a boundary without one is about an act, a manner or a time."""
Guards = dict[str, list[str]]
"""For the id of each memory that a boundary speaks of: the boundaries that the message raises. The
list is empty if the message raises no boundary of this memory."""
MIN_TELLING_LENGTH = 5
"""Minimum letters of a word that can name a subject."""
MAX_SHARING = 5
"""A word or name can name a subject if no more memories than this share it."""


def rank(
    memories: Iterable[Memory],
    hits: Iterable[Found],
    values: Mapping[str, float],
    *,
    likely: Collection[str] = (),
) -> list[Memory]:
    """Return memories in the order in which they get a place where not all fit.

    Boundaries come first, as they hold for any message, then what is most relevant to it. Of about
    the same relevance, plans ahead and circumstances with an end come first; then topics take
    turns, and within a topic the value decides. `likely` are ids that the judge expects to be
    needed.
    """
    nearness = {hit.item.id: hit.relevance for hit in hits}
    for id in likely:
        nearness[id] = nearness.get(id, 0.0) + LIKELY_WEIGHT
    each = {one.id: one for one in memories}.values()
    by_value = sorted(each, key=lambda one: (-values.get(one.id, 0.0), one.created_at, one.id))
    turns = Counter[tuple[float, str]]()

    def place(memory: Memory) -> tuple[bool, float, bool, int]:
        near = round(nearness.get(memory.id, 0.0), 1)
        mine = near, memory.topics[0] if memory.topics else memory.id
        turns[mine] += 1
        lasts = memory.expires_at is None
        return memory.kind is not Kind.BOUNDARY, -near, lasts, turns[mine]

    return sorted(by_value, key=place)


def is_held_back(memory: Memory, guards: Guards) -> bool:
    """Return whether a boundary speaks of a memory that the message does not raise."""
    return guards.get(memory.id) == []


def find_guards(memories: Sequence[Memory], text: str, called: Iterable[str] = ()) -> Guards:
    """Return, by memory, the boundaries that speak of the memory and of the message `text`.

    A boundary speaks of the memories that it is linked with. Until a link is judged, a boundary
    about talk also speaks of a memory that shares a name or a rare word with it; names of user and
    persona, `called`, do not count. It speaks of the message if the message has this name or word.
    For a linked memory, a rare word or name of the boundary is enough, or any word of the boundary
    or name of the memory, if no unlinked memory has it.
    The list is empty if boundaries speak of the memory, but not of the message.
    """
    each = {memory.id: memory for memory in memories}
    boundaries = {id: one for id, one in each.items() if one.kind is Kind.BOUNDARY}
    if not boundaries:
        return {}
    own = {term for name in called for term in terms(name)}
    labels = {id: _labels(memory) - own for id, memory in each.items()}
    having = _grouped((label, id) for id, mine in labels.items() for label in mine)
    heirs = _grouped((old, id) for id, one in each.items() for old in (id, *one.supersedes))
    raised = {*terms(text), *(found[1] for found in _CALLED.finditer(text))}
    guards: Guards = {}

    def note(boundary: Memory, id: str, words: AbstractSet[str]) -> None:
        guards.setdefault(id, []).extend([boundary.id] if words & raised else [])

    for boundary in boundaries.values():
        mine = labels[boundary.id]
        rare = {label for label in mine if len(having[label]) <= MAX_SHARING}
        linked = set().union(*(heirs[id] for id in boundary.guarded)) - boundaries.keys()
        near = linked | boundaries.keys()
        for id in linked:
            named = mine | (_names(each[id]) - own)
            note(boundary, id, rare | {label for label in named if having[label] <= near})
        if _OF_TALK.search(boundary.content):
            for id in set().union(*(having[label] for label in rare)) - near:
                if not is_judged(boundary, each[id]):
                    note(boundary, id, rare & labels[id])
    return guards


def _grouped(pairs: Iterable[tuple[str, str]]) -> defaultdict[str, set[str]]:
    """Return the second parts of pairs by their first parts."""
    groups = defaultdict[str, set[str]](set)
    for key, one in pairs:
        groups[key].add(one)
    return groups


def _labels(memory: Memory) -> set[str]:
    said = words_of(_PUT_IN.sub(" ", memory.content))
    return {*filter(_is_telling, said), *_names(memory)}


def _names(memory: Memory) -> set[str]:
    named = (term for name in memory.entities for term in words_of(name))
    return {*named, *(found[1] for found in _CALLED.finditer(memory.content))}


def _is_telling(term: str) -> bool:
    """Return whether a term can name a subject: it is not a number, particle or ending."""
    if is_spaced(term):
        return len(term) >= MIN_TELLING_LENGTH and term.isalpha()
    return len(term) > 1 and not _HIRAGANA.search(term)
