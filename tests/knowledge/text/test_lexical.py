"""The sparse lexical encoder."""

import math

import pytest
from hypothesis import example, given, strategies as st

from souffleur.knowledge.search.words import encode_document, encode_query, stem, terms
from souffleur.knowledge.store.engine.collection import Sparse

WORDS = st.lists(
    st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8)
    | st.sampled_from(["cats", "don't", "Ann's", "GPT-4.1-mini", "1,200", "9:30", "绿茶", "서울에"])
)


def score(query: str, document: str) -> float:
    """What the engine would make of the pair, were all terms equally rare."""
    stored, asked = encode_document(document), encode_query(query)
    weights = dict(zip(stored.indices, stored.values, strict=True))
    pairs = zip(asked.indices, asked.values, strict=True)
    return sum(weight * weights.get(term, 0.0) for term, weight in pairs)


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("茶", "我喜欢绿茶"),
        ("绿茶", "我喜歡綠茶"),
        ("綠茶", "我喜欢绿茶"),
        ("緑茶", "我喜欢绿茶"),
        ("頭髮", "剪了头发"),
        ("头发", "剪了頭髮"),
        ("臺灣", "去了台湾"),
        ("東京", "私は東京に住んでいる"),
        ("서울", "나는 서울에 산다"),
        ("カフェ", "ｶﾌｪで働く"),
        ("ไทย", "ฉันรักเมืองไทย"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
        ("cat", "She has two CATS."),
        ("planning", "We planned it"),
        ("moved", "I want to move"),
        ("Ann", "Ann’s sister"),
        ("python 3.11", "runs on Python-3.11 only"),
        ("3.11", "我用Python3.11写 3.11"),
        ("well known", "a well-known name"),
        ("gpt-4.1-mini", "the model is GPT-4.1-mini."),
        ("node", "written for node.js"),
        ("12000", "it cost 12,000 yen"),
        ("１２", "12 eggs"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "a café"),
        ("5g", "没有5G网络"),
    ],
)
def test_a_word_is_found(query: str, document: str) -> None:
    """The query shares a term with the document."""
    assert score(query, document) > 0


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("3.1", "Python 3.11"),
        ("1", "version 1.5"),
        ("hat", "I hate it"),
        ("咖啡", "我喜欢绿茶"),
        ("what is the", "the cat is on the mat"),
        ("的吗", "我的"),
        ("か", "が"),
        ("机はどこ", "機会"),
    ],
)
def test_another_word_is_not(query: str, document: str) -> None:
    """Numbers are whole, stop words and particles find nothing, and Japanese is not Chinese."""
    assert score(query, document) == 0


def test_text_without_words_has_no_terms() -> None:
    """Nothing, white space, punctuation and half an emoji give the empty vector."""
    for text in ("", " \n", "?!…", "the", "\ud83d"):
        assert encode_document(text) == encode_query(text) == Sparse()


def test_pairs_outrank_scattered_characters() -> None:
    """Of two texts with the same characters, the one that has them together is nearer."""
    assert score("喝茶", "每天喝茶看书") > score("喝茶", "茶具每天喝水")


def test_repetition_saturates_and_length_tells() -> None:
    """A term's weight grows ever less with its count, and falls with the text's length."""
    once, twice, often = (encode_document("tea " * n).values[0] for n in (1, 2, 50))
    assert once < twice < often < 2.2
    assert twice - once < once
    assert score("tea", "tea") > score("tea", "tea and cake, bread, butter, jam, honey")


def test_a_single_character_asked_for_alone_counts_in_full() -> None:
    """A run of one character is a word; within a longer run it is less."""
    assert score("茶", "绿茶") > score("茶壶", "绿茶") > 0


@given(st.text())
@example("plumless buckeroo codding gnu")
def test_vectors_are_well_formed(text: str) -> None:
    """Distinct 32-bit ids and as many finite, positive weights."""
    for vector in (encode_document(text), encode_query(text)):
        assert len(set(vector.indices)) == len(vector.indices) == len(vector.values)
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(math.isfinite(value) and 0 < value <= 2.2 for value in vector.values)


def test_colliding_terms_are_merged() -> None:
    """Two words with the same CRC-32 give one index, with both counted."""
    merged = encode_document("plumless buckeroo")
    assert stem("plumless") == "plumless"
    assert len(merged.indices) == 1
    assert merged.values[0] > encode_document("plumless tea").values[0]
    assert len(encode_query("plumless buckeroo").indices) == 1


@given(WORDS, WORDS, WORDS)
def test_all_terms_of_some_of_the_words_are_the_documents(
    before: list[str], words: list[str], after: list[str]
) -> None:
    """Whole words of a text have no term that the text lacks, and all of them find it."""
    document = " ".join(before + words + after)
    assert set(terms(" ".join(words))) <= set(terms(document))
    found = set(encode_query(" ".join(words)).indices) & set(encode_document(document).indices)
    assert found >= set(encode_document(" ".join(words)).indices)


@pytest.mark.parametrize(("one", "two"), [("我喜歡綠茶", "我喜欢绿茶"), ("頭髮後面", "头发后面")])
def test_traditional_and_simplified_are_the_same_terms(one: str, two: str) -> None:
    """Texts are compared in one spelling; what is stored keeps its own, as older stores have it."""
    assert terms(one) == terms(two)
    assert encode_document(one) != encode_document(two)
    assert encode_query(one) == encode_query(two)


@pytest.mark.parametrize(
    "family",
    [
        "like likes liked liking",
        "city cities",
        "dance dances danced dancing",
        "cookie cookies",
        "box boxes",
        "try tries tried trying",
        "agree agreed agreeing",
        "create created creating",
        "use used using",
        "horse horses",
        "run running",
    ],
)
def test_forms_of_a_word_have_one_stem(family: str) -> None:
    """Plural, -ed, -ing and a final e make no difference."""
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["hat hate", "plan plane", "wine win", "bus bu", "sing s", "red r", "need ne"]
)
def test_other_words_keep_apart(pair: str) -> None:
    """Words that merely look like forms of each other have stems of their own."""
    one, other = pair.split()
    assert stem(one) != stem(other)
