"""Thinking in a model's text: what is said comes through, what it thinks does not."""

import time

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.text.thinking import without_thinking

PAIRS = [
    ("<think>", "</think>"),
    ("<THINK>\n", "\n</Think>\n\n"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<analysis>", "</analysis>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<antThinking>", "</antThinking>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<ifm|think_fast>", "</ifm|think_fast>"),
    ('<think duration="3s">', "</think>"),
    ("< think >", "</ think >"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("<思考>", "</思考>"),
    ("<思考过程>", "</思考过程>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|think|>", "<|/think|>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("[unused16]", "[unused17]"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]
ENDS = [*(end for _, end in PAIRS), "assistantfinal", "[BEGIN FINAL RESPONSE]\n"]


@pytest.mark.parametrize(("begin", "end"), PAIRS)
def test_only_what_is_said_is_left(begin: str, end: str) -> None:
    """Whole, several, unended and empty thinking goes, with its marks; the words around it stay."""
    thought = f"{begin}She is sad.\nI must not tell.{end}"
    assert without_thinking(f"{thought}Hi!") == "Hi!"
    assert without_thinking(f"{begin}{end}Hi!") == "Hi!"
    assert without_thinking(f"{thought}{thought}Hi!") == "Hi!"
    assert without_thinking(f"{begin}She is sad.") == ""
    assert without_thinking(f"  {thought}  Hi!\n") == "Hi!"


@pytest.mark.parametrize(("begin", "end"), PAIRS[:-1])
def test_words_before_thinking_stay(begin: str, end: str) -> None:
    """What was said before the thinking began is kept, whether the thinking ends or not."""
    assert without_thinking(f"Hi! {begin}She is sad.{end} Tea?") == "Hi! Tea?"
    assert without_thinking(f"Hi! {begin}She is sad.") == "Hi!"


@pytest.mark.parametrize("end", ENDS)
def test_an_end_alone_will_do(end: str) -> None:
    """All that stands before an end without its beginning is thinking."""
    assert without_thinking(f"She is sad.\nI must not tell.{end}Hi!") == "Hi!"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>a<think>b</think>c</think>Hi!", "Hi!"),
        ("<think>I use no <reasoning> here.</think>Hi!", "Hi!"),
        ("<think>a</think>Hi.<think>b</think>Tea?", "Hi.Tea?"),
        ("<think/>Hi!", "Hi!"),
        ("<think>a</think><answer>Hi!</answer>", "Hi!"),
        ("<think>then <answer>no</answer>, or</think><answer>Hi!</answer>", "Hi!"),
        ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Hi!<|END_RESPONSE|>", "Hi!"),
        ("<|channel|>final<|message|>Hi!<|return|>", "Hi!"),
        (
            "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
            "<|start|>assistant<|channel|>final<|message|>Hi!<|return|>",
            "Hi!",
        ),
        ("analysisShe is sad.assistantfinalHi!", "Hi!"),
        (
            '<details type="reasoning" done="true">\n<summary>Thought</summary>\na</details>\nHi!',
            "Hi!",
        ),
    ],
)
def test_marks_among_one_another(text: str, said: str) -> None:
    """Nested, doubled, framed and odd marks leave what is said."""
    assert without_thinking(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "Hi!\n",
        "I use `<think>` and `</think>`.",
        "<answer>42</answer>",
        "[thinking] Hm, what reasoning? 3 < 4 and 5 > 4.",
        "<details><summary>Recipe</summary>Tea.</details>",
        "<b>Think</b> of <i>thought</i>!",
    ],
)
def test_text_without_thinking_stays_as_it_is(text: str) -> None:
    """A text that only speaks of marks, or has other tags, is returned unchanged."""
    assert without_thinking(text) is text


@given(st.sampled_from(PAIRS), st.text(st.characters(exclude_characters="`")), st.text("Hi! 茶\n"))
def test_no_thought_is_said(pair: tuple[str, str], thought: str, said: str) -> None:
    """Whatever a model thinks between two marks, only the words behind them are left."""
    begin, end = pair
    assert without_thinking(f"{begin}{thought}{end}{said}") == said.strip()


@pytest.mark.parametrize(
    "part",
    ["<", "<think", "<think>", "</think>", "<|channel|>analysis<|message|>", " ", "`", "<details "],
)
def test_a_long_text_is_read_in_linear_time(part: str) -> None:
    """A long text of marks or of their beginnings is read in a moment."""
    text = part * (200_000 // len(part))
    begun = time.process_time()
    without_thinking(text)
    assert time.process_time() - begun < 1
