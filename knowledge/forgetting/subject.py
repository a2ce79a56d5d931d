"""The subject of a removal, and how texts about it are found and cut. Pure functions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from souffleur.knowledge.forgetting.likeness import (
    HEAD,
    Likeness,
    SoughtMemory,
    forms_of,
    padded_words,
    telling,
    weigh,
)
from souffleur.knowledge.memory import Frozen, Memory
from souffleur.knowledge.search.words import terms
from souffleur.knowledge.text.sentences import sentences


class Subject(Frozen):
    """The topic, names and memories that a removal is about."""

    topic: str = ""
    """The topic as the person named it; a text with all its terms tells of the subject."""
    names: tuple[str, ...] = ()
    """Names that no other memory mentions; a text with one of these names tells of the subject."""
    contents: tuple[str, ...] = ()
    """Contents of removed memories; a text with most rare words of a content tells of it."""
    called: tuple[str, ...] = ()
    """Names of the user and the persona, which are never compared."""


class SubjectFinder:
    """Finds a subject in many texts."""

    def __init__(self, subject: Subject) -> None:
        self._topic = frozenset(terms(subject.topic))
        self._forms = [form for name in (*subject.names, subject.topic) for form in forms_of(name)]
        self._called = subject.called
        self._every = [SoughtMemory(one, called=subject.called) for one in subject.contents]
        self._by_key: dict[str, list[SoughtMemory]] = defaultdict(list)
        for sought in self._every:
            for key in sought.weights:
                self._by_key[key].append(sought)
        self._found: dict[str, bool] = {}

    def finds(self, text: str) -> bool:
        """Return whether a text tells of the subject.

        >>> subject = Subject(topic="the cat", names=["Tom"], contents=["Ann fears dogs."])
        >>> finder = SubjectFinder(subject)
        >>> [finder.finds(text) for text in ("Cats sleep.", "Is that Tom's?", "Ann, dogs, fears")]
        [True, True, True]
        >>> finder.finds("Ann has a dog."), SubjectFinder(Subject(topic="周雯")).finds("周雯来了")
        (False, True)
        """
        if not text:
            return False
        if text not in self._found:  # many records of a user have the same words
            self._found[text] = self._looks_for(text)
        return self._found[text]

    def _looks_for(self, text: str) -> bool:
        if self._has_name(text):
            return True
        return self._has_topic(set(terms(text))) or self._told(text) is Likeness.SURE

    def _told(self, text: str) -> Likeness:
        near = {id(one): one for key in weigh(text) for one in self._by_key.get(key, ())}
        return max((one.in_text(text) for one in near.values()), default=Likeness.NONE)

    def finds_or_may_find(self, text: str) -> bool:
        """Return whether a text tells of the subject, or shares rare words with it."""
        return self.finds(text) or self.may_find(text)

    def may_find(self, text: str) -> bool:
        """Return whether a text only shares rare words with the subject.

        >>> finder = SubjectFinder(Subject(contents=["Ann is allergic to peanuts."]))
        >>> [finder.may_find(text) for text in ("Peanut butter?", "I'm home")]
        [True, False]
        """
        return not self.finds(text) and self._told(text) is Likeness.POSSIBLE

    def _has_name(self, text: str) -> bool:
        words = padded_words(text)
        return any(form in words for form in self._forms)

    def _has_topic(self, said: set[str]) -> bool:
        return bool(self._topic) and self._topic <= said

    def only_resembles(self, text: str) -> bool:
        """Return whether a text tells something else in nearly the same words as the subject.

        >>> boats = Subject(contents=["Ann paints green wooden boats."], called=["Ann"])
        >>> finder = SubjectFinder(boats)
        >>> texts = "Ann paints green wooden chairs.", "Ann's wooden boats: she paints them green."
        >>> [finder.only_resembles(text) for text in texts]
        [True, False]
        """
        if not self.finds(text) or self._has_name(text):
            return False
        said = telling(weigh(text, self._called))
        every = [telling(one.weights) for one in self._every]
        whole = any(one <= said or said <= one for one in every)
        return not (self._has_topic(set(terms(text))) or whole)

    def finds_any(self, value: Any) -> bool:
        """Return whether any text within a value tells of the subject."""
        return any(self.finds(text) for text in texts_in(value))

    def cut(self, text: str) -> str:
        r"""Return the text without the sentences that tell of the subject.

        >>> tom = SubjectFinder(Subject(topic="Tom"))
        >>> tom.cut("[3 May] Tom called. He is well.\n\nShe sang. Tom!")
        '[3 May] He is well.\n\nShe sang.'
        """
        if not self.finds(text):
            return text
        head, body = _headed(text)
        kept = [break_after(one) if self.finds(one) else one for one in sentences(body)]
        left = "".join(kept).strip()
        return "" if self.finds(left) or not any(map(str.isalnum, left)) else head + left

    def lines(self, text: str) -> tuple[str, ...]:
        """Return the sentences that tell of the subject; the whole text if no single sentence does.

        >>> SubjectFinder(Subject(topic="Tom")).lines("Ann is well. Tom called.")
        ('Tom called.',)
        """
        found = tuple(one.strip() for one in sentences(_headed(text)[1]) if self.finds(one))
        return found or ((text.strip(),) if self.finds(text) else ())

    def cut_any(self, value: Any) -> Any:
        """Return a value without the sentences and list items that tell of the subject.

        >>> tom = SubjectFinder(Subject(topic="Tom"))
        >>> tom.cut_any({"facts": ["Tom left.", "It rained."], "n": 1})
        {'facts': ['It rained.'], 'n': 1}
        """
        if isinstance(value, str):
            return self.cut(value)
        if isinstance(value, dict):
            return {key: self.cut_any(one) for key, one in value.items() if not self.finds(key)}
        if isinstance(value, list | tuple):
            left = [one for one in value if not (isinstance(one, str) and self.finds(one))]
            return type(value)(self.cut_any(one) for one in left)
        return value

    def cut_memory(self, memory: Memory) -> Memory:
        """Return a memory without its words about the subject; its content may become empty."""
        kept = {
            "content": self.cut(memory.content),
            "evidence": tuple(one for one in memory.evidence if not self.finds(one.quote)),
            **{name: self.cut_any(getattr(memory, name)) for name in _FIELDS},
        }
        return memory.model_copy(update=kept)


_FIELDS = ("entities", "topics", "cues", "data")


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts within a value, with the keys of its objects.

    >>> list(texts_in({"a": ["b", 1], "c": {"d": None}}))
    ['a', 'b', 'c', 'd']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield str(key)
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)


def texts_of(memory: Memory) -> Iterable[str]:
    """Return all texts of a memory.

    >>> from types import SimpleNamespace as Noted
    >>> bare = dict(entities=(), topics=("tea",), cues=(), data={}, evidence=[Noted(quote="I did")])
    >>> list(texts_of(Noted(content="Ann sang.", **bare)))
    ['Ann sang.', 'I did', 'tea']
    """
    yield memory.content
    yield from (one.quote for one in memory.evidence)
    for name in _FIELDS:
        yield from texts_in(getattr(memory, name))


def _headed(text: str) -> tuple[str, str]:
    """Return the date at the head of an episode, and the rest.

    >>> _headed("[2026-01-03 18:00] Tea."), _headed("Tea [green].")
    (('[2026-01-03 18:00] ', 'Tea.'), ('', 'Tea [green].'))
    """
    found = HEAD.match(text)
    return (found[0], text[found.end() :]) if found else ("", text)


def break_after(sentence: str) -> str:
    """Return the paragraph break at the end of a sentence that is cut, if there is one."""
    return "\n\n" if "\n" in sentence[len(sentence.rstrip()) :] else ""
