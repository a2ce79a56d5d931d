"""The subject of a removal: what tells of it, however many names and memories it has."""

from hypothesis import given, strategies as st

from souffleur.knowledge.forgetting.likeness import Likeness, SoughtMemory, stands_in
from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder
from souffleur.knowledge.search.words import terms

WORDS = ("Ann", "tea", "green", "Tom's", "cats", "Oslo", "likes", "走る", "绿茶", "金 哲洙", "J")
texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


def tells(subject: Subject, text: str) -> bool:
    """Whether a text tells of a subject, asked of each name and each memory in turn."""
    said = set(terms(text))
    topic = set(terms(subject.topic))
    return bool(text) and (
        stands_in(text, (*subject.names, subject.topic))
        or bool(topic and topic <= said)
        or any(SoughtMemory(one).in_text(text) is Likeness.SURE for one in subject.contents)
    )


@given(
    st.sampled_from(("", "tea", "Tom", "green tea")),
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.lists(texts, max_size=8),
    st.lists(texts, min_size=1, max_size=8),
)
def test_what_tells_of_a_subject_is_found(
    topic: str, names: list[str], contents: list[str], said: list[str]
) -> None:
    """Looking only at memories with a rare term in common leaves none out, asked once or again."""
    subject = Subject(topic=topic, names=tuple(names), contents=tuple(contents))
    reader = SubjectFinder(subject)
    for text in [*said, *contents, *said]:
        assert reader.finds(text) is tells(subject, text)
