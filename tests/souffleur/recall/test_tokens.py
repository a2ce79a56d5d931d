"""How long a text is to a model: the estimate against real tokenizers' counts."""

import pytest
from hypothesis import given, strategies as st

from souffleur.recall.rendering import estimate_tokens

COUNTED = {
    "主人喜欢在周末的下午去河边散步，回家路上总要买一袋糖炒栗子。": (21, 30),
    "昨天加班到十一点，回家的地铁都没了，打车花了八十多块，心疼死我了。": (21, 32),
    "主人喜歡在週末的下午騎腳踏車去淡水，順便買一杯無糖的烏龍茶回來。": (26, 33),
    "ご主人は週末の午後に川沿いを散歩するのが好きで、帰りに焼き栗を買います。": (23, 30),
    "昨日は残業で終電を逃しちゃって、タクシー代が八千円もかかったんだよね…つらい。": (29, 34),
    "Ann has a ginger cat called Biscuit, who is three and afraid of the vacuum cleaner.": (18, 20),
    "omg you still remember that?? lol I haven't touched the guitar since last March": (16, 18),
    "周五下午三点和 Kevin 开 Zoom meeting，讨论 Q3 的 OKR，记得带上 PPT。": (21, 27),
}
"""The fewest and the most tokens by o200k, Llama 3, Qwen 3, Gemma 3 and DeepSeek."""
ODD = "aBzQX 19_'.@\n\t-é茶橘龘，のㅠ★🎉"
texts = st.text(alphabet=ODD, max_size=40) | st.text(max_size=20)


@pytest.mark.parametrize("text", COUNTED)
def test_the_estimate_is_on_the_safe_side(text: str) -> None:
    """It is no less than any model of today makes of the text, and not twice as much."""
    fewest, most = COUNTED[text]
    assert most <= estimate_tokens(text) <= 2.2 * fewest


@given(texts, texts)
def test_two_texts_together_are_no_longer_than_both(one: str, other: str) -> None:
    """Joined they are no longer than apart, nor shorter than either."""
    apart = estimate_tokens(one), estimate_tokens(other)
    assert max(apart) <= estimate_tokens(one + other) <= sum(apart)


def test_nothing_is_no_token() -> None:
    """An empty text has no length, and half a surrogate pair is no error."""
    assert estimate_tokens("") == 0
    assert estimate_tokens("\ud800") > 0
