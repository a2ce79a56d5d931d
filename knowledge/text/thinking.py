"""Thinking: text that a model writes for itself, before or between the words of its answer.

Most models mark it with their own tags. Servers that know the model remove the thinking; other
servers pass it on. The names are from the reasoning parsers of vLLM, SGLang and Open WebUI.
"""

import re

_NAME = (
    r"(?:think(?:ing)?(?:_fast(?:er)?)?|thoughts?|reason(?:ing)?|reflection|scratch_?pad|analysis"
    r"|monologue|cot|思考(?:过程|過程)?|思维链|思維鏈)"
)
_BEFORE = r"(?:\w{1,20}[:_|]|ant)?"  # <seed:think>, <longcat_think>, <ifm|think>, <antThinking>
_OPEN, _CLOSE = r"(?:<|&lt;|◁)[|｜]?\s?", r"(?:[|｜]?(?:>|&gt;)|▷)"
_HARMONY = r"<\|channel\|>\s*"
_TABLE = {
    "end": (
        rf"{_OPEN}[/\\]\s?{_BEFORE}{_NAME}\s?{_CLOSE}",  # </think>, ◁/think▷
        rf"{_OPEN}end_(?:of_)?{_NAME}{_CLOSE}",  # Cohere, OpenThinker
        rf"{_OPEN}{_NAME}[:_]end{_CLOSE}",  # Solar
        r"\[/THINK\]",  # Magistral
        r"<channel\|>",  # Gemma 4
        r"(?:<\|end\|>\s*)?(?:<\|start\|>assistant)?" + _HARMONY + r"final[^<]{0,80}<\|message\|>",
        "assistantfinal",  # gpt-oss, if the server leaves out the words in <| |>
        r"<\|inner_suffix\|>",  # Apertus
        r"<unused95>",  # MedGemma
        r"\[unused17\]",  # Pangu
        r"\[BEGIN FINAL RESPONSE\]",  # Apriel
    ),
    "begin": (
        rf"{_OPEN}{_BEFORE}{_NAME}(?:[:_]start)?(?:\s[^<>]{{0,200}}(?<!/))?{_CLOSE}",
        r"\[THINK\]",
        r"<\|channel>\s*\w{1,20}",
        r"<\|inner_prefix\|>",
        r"<unused94>(?:thought)?",
        r"\[unused16\]",
    ),
    "block": (
        _HARMONY + r"(?:analysis|commentary)[^<]{0,80}(?:<\|constrain\|>\w{1,20}\s*)?<\|message\|>"
        r".*?(?:<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)|\Z)",
        r"<details\s[^<>]{0,80}type=\"reasoning\".*?(?:</details>|\Z)",  # Open WebUI
        rf"{_OPEN}{_BEFORE}{_NAME}\s?/{_CLOSE}",  # <think/>
    ),
    "frame": (
        r"</?(?:answer|response|output)>",  # Hunyuan, ERNIE
        r"<\|(?:start|end)_(?:response|text)\|>",
        r"<\|(?:begin|end)_of_solution\|>",
        r"<\|start\|>assistant|<\|(?:end|return)\|>|\[END FINAL RESPONSE\]",
    ),
}
"""Marks by their effect. An end may stand alone if the prompt has the beginning. A block is
thinking as a whole. Frames surround the answer, and are removed only if there is thinking."""
_MARK = re.compile(
    r"(?=[<&◁\[a])(?:"  # all marks begin so; otherwise each is tried at each character
    + "|".join(rf"(?P<{kind}>(?:{'|'.join(marks)})\s*)" for kind, marks in _TABLE.items())
    + ")",
    re.IGNORECASE | re.DOTALL,
)


def without_thinking(text: str) -> str:
    r"""Return the answer in a model's text; the whole text if there is no thinking in it.

    The text after a beginning or before an end is thinking, in any case and spelling of the marks.
    A mark between backticks is only a mention.

    >>> without_thinking("<think>She is sad.</think>Hi! [THINK]Ask her.[/THINK] Tea?")
    'Hi! Tea?'
    >>> without_thinking("She is sad.</think>\n\nHi!"), without_thinking("Hi! <thinking>She is")
    ('Hi!', 'Hi!')
    >>> without_thinking("<|channel|>analysis<|message|>Sad.<|end|><|channel|>final<|message|>Hi!")
    'Hi!'
    >>> without_thinking("Models write `<think>` first. ")
    'Models write `<think>` first. '
    """
    marks = [mark for mark in _MARK.finditer(text) if not _is_spoken_of(mark)]
    if all(mark.lastgroup == "frame" for mark in marks):
        return text
    said: list[str] = []
    start, thinks = 0, False
    for mark in marks:
        if thinks and mark.lastgroup in ("block", "frame"):
            continue
        if not thinks and mark.lastgroup != "end":
            said.append(text[start : mark.start()])
        start, thinks = mark.end(), mark.lastgroup == "begin"
    if not thinks:
        said.append(text[start:])
    return "".join(said).strip()


def _is_spoken_of(mark: re.Match[str]) -> bool:
    text, (start, end) = mark.string, mark.span()
    return text[max(start - 1, 0) : start] == text[end : end + 1] == "`"
