"""Secrets, what only looks like one, and what is left when they are masked."""

import base64
import gc
import random
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from souffleur.knowledge.privacy.groups import EVERYTHING
from souffleur.knowledge.privacy.long_texts import MAX_STEPS, SURROUNDINGS
from souffleur.knowledge.privacy.rule import Rule, rules
from souffleur.knowledge.privacy.secrets import MASK, find_secret, mask
from tests.knowledge.privacy.texts import SIGNS, bare, cases

AWS_ID, JWT, KEY, LONG = (SIGNS[name] for name in ("AWS_ID", "JWT", "KEY", "LONG"))
CASES = cases()
FARTHEST = 500_000
"""Upper bound of the steps that a pattern may need at one place, however long the text is."""
ENDLESS = FARTHEST**9

BARE = {
    "a private key": "-----BEGIN PRIVATE KEY-----",
    "an API key": f"sk-proj-{KEY}",
    "an AWS key": AWS_ID,
    "an access token": f"ghp_{LONG}",
    "a Google API key": f"AIzaSy{LONG}",
    "a JSON web token": JWT,
    "a password in an address": "postgres://ann:tea4two@db",
    "a password": "password: tea4two!",
    "a door or lock code": "door code: 4471",
    "an identity card number": "11010519491231002X",
    "a payment card number": "4111111111111111",
}
"""One secret of each kind that nothing around it gives away."""

secrets = [(kind.name, text) for kind in CASES for text in kind.texts]
lookalikes = [text for kind in CASES for text in kind.lookalikes]
pieces = st.sampled_from(
    [
        *(text for _, text in secrets),
        *lookalikes,
        *BARE.values(),
        *("密码", "password", "pin", "door code", "secret key", "bearer", "://ann:", "@db"),
        *("是", "从", "改成", " is ", " to ", ": ", "=", "'s ", " ", "\n", "'", '"', "「", "」"),
        *("4111", "1111 1111 1111", "-", ".", ",", "x", "です", "0", "\0", MASK, MASK[:4], "："),
    ]
) | st.text(max_size=6)
mixtures = st.lists(pieces, max_size=8).map(lambda parts: re.sub("[⟦⟧]", "", "".join(parts)))


@pytest.mark.parametrize(("kind", "text"), secrets)
def test_a_secret_is_found_and_masked(kind: str, text: str) -> None:
    """Its kind is named, and exactly the secret is masked: the words around it stay."""
    told = bare(text)
    assert find_secret(told) == kind
    assert mask(told) == re.sub("⟦.*?⟧", MASK, text, flags=re.DOTALL)


@pytest.mark.parametrize("text", lookalikes)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    """Prose about passwords, code that reads one, examples, dates and other numbers stay."""
    assert find_secret(text) is None
    assert mask(text) == text


def test_each_kind_has_a_dozen_of_both() -> None:
    """No kind that was found first is without its table; the others have tests of their own."""
    assert {kind.name for kind in CASES} == set(BARE) <= {rule.kind for rule in rules()}
    for kind in CASES:
        assert min(len(set(kind.texts)), len(set(kind.lookalikes))) >= 12


@pytest.mark.parametrize("kind", BARE)
@pytest.mark.parametrize(
    "beside", ["我的是", "キーは", "カﾞ", "열쇠는", "，", "ー", "é", "key_", "🔑"]
)
@pytest.mark.parametrize("gap", ["", " ", "\u3000"])
def test_no_letter_of_another_script_hides_a_secret(kind: str, beside: str, gap: str) -> None:
    """Before and after it: only letters and digits of ASCII belong to the same word."""
    secret = BARE[kind]
    assert find_secret(f"{beside}{gap}{secret}") == kind
    after = beside.removesuffix("key_")
    assert find_secret(f"{beside}{gap}{secret}{gap}{after}") == kind


@given(mixtures)
@example(f"password is {MASK}hunter2024!")
@example("AKIAIOSFODNN7EXAMPLE" * 3)
@example("password is sk-live-9f8e7d6c5b4a3210!x9")
def test_what_is_masked_holds_no_secret(text: str) -> None:
    """Whatever stands beside what; and masking twice is masking once."""
    masked = mask(text)
    assert find_secret(masked) is None
    assert mask(masked) == masked


@given(mixtures)
def test_masking_changes_nothing_but_secrets(text: str) -> None:
    """A text without a secret stays as it is; of one with a secret, the rest stays in its order."""
    masked = mask(text)
    assert (masked == text) == (find_secret(text) is None)
    at = 0
    for part in masked.split(MASK):
        at = text.index(part, at) + len(part)


def test_overlapping_secrets_are_one_mask() -> None:
    """A password that is also a key is masked once, and whole."""
    assert mask("password is sk-live-9f8e7d6c5b4a3210!x9 now") == f"password is {MASK} now"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.kind)
def test_no_pattern_looks_far(rule: Rule) -> None:
    """At each place of a text the steps are bounded, so that all of them grow as the text does."""
    tree = import_module("re._parser").parse(rule.pattern.pattern, rule.pattern.flags)
    assert _bound(tree, last=True)[1] < FARTHEST


def test_no_hint_looks_far() -> None:
    """The patterns that are searched first are bounded, too."""
    found = [search.__self__ for search in _searches() if isinstance(search.__self__, re.Pattern)]
    assert len(found) > 5
    for pattern in found:
        tree = import_module("re._parser").parse(pattern.pattern, pattern.flags)
        assert _bound(tree, last=True)[1] < 10 * FARTHEST, pattern.pattern


def _searches() -> Iterator[Any]:
    """Return the methods that hints are, or call."""
    for hint in {rule.hint for rule in rules() if rule.hint}:
        cells = [cell.cell_contents for cell in getattr(hint, "__closure__", None) or ()]
        yield from (one for one in (hint, *cells) if hasattr(one, "__self__"))


@pytest.mark.parametrize(
    "source", ["(?:a+)+b", "(?:a?)*b", "a+b", "a*+b", "(?:(?:a{0,99}){0,99}){2}"]
)
def test_what_backtracks_far_is_noticed(source: str) -> None:
    """The bound is no formality: what is slow on some text is over it."""
    tree = import_module("re._parser").parse(source)
    assert _bound(tree, last=True)[1] >= FARTHEST


HOSTILE = (
    *("密码是", "password is ", "密码从a", "password ", "密码，了我也已", "password='a"),
    *("sk-a_", "eyJaaaaaaaaa-", "eyJaaaaaaaa.", "SG.aaaaaaaaaaaaaaaa.", "AKIAIOSFODNN7EXAMPLE"),
    *("4111 ", "4111111111111111 ", "1", "12-34 5", "-----BEGIN PRIVATE KEY-----", "-----BEGIN "),
    *("://a:", ":p@", "authorization: bearer ", "aws key ", "门码", "door a b code ", MASK, "\0"),
    *("changed my password to ", "tea4two! password: ", "pin is 1", f"sk-{KEY} "),
    *("seed phrase ", "seed phrase tea ", "otp 1 ", "1234 is your ", "passport ", "tax id 1 "),
    *("account no 1-", "?token=a1", "Pwd=a1b2c3;", "WIFI:S:a;", "DE12 ABCD ", "cpf 1.1", "a1-"),
)
"""Repeated, what makes a careless pattern try again and again."""
IN_EACH_RUN = ("password is ", "4111 ", "seed phrase tea ")
"""The others are tried by `make soak`."""


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=() if shape in IN_EACH_RUN else pytest.mark.soak)
        for shape in HOSTILE
    ],
)
def test_the_work_on_a_hostile_text_grows_with_its_length(shape: str) -> None:
    """3,000 characters, which the rules read, cost no more than twice the calls of half as many."""
    half, whole = ((shape * (size // len(shape) + 1)) for size in (1_500, 3_000))
    mask(half)  # what it takes to compile a pattern is not counted
    assert _calls(whole) <= 2.1 * _calls(half) + 100


PASTED = (
    *("1 ", "pin 1234 ", "card 4111 1111 1111 1112 cvv 123 ", "卡号 6222 0202 0000 1234 567 "),
    *("my number is 0123 456 789 driver licence D1234567 ", "DE89 3704 0044 0532 0130 00 "),
    *("we had tea at the old mill ", "我们昨天去喝茶了。", "a@b.c ", "k=v1;"),
    *("a", "7", "\n", "\0", MASK),
    base64.b64encode(random.Random(7).randbytes(60_000)).decode(),
)
"""What may be pasted, to be repeated: tables, logs, files."""


@pytest.mark.parametrize("shape", PASTED, ids=range(len(PASTED)))
def test_the_work_on_a_pasted_text_does_not_grow_a_character(shape: str) -> None:
    """The rules read of any text only so much, and what is longer is masked in one reading."""
    short, long = ((shape * (size // len(shape) + 1))[:size] for size in (2_000, 200_000))
    mask(short)  # what it takes to compile a pattern is not counted
    calls = _calls(long)
    assert calls / len(long) <= _calls(short) / len(short)
    assert calls < 50 * MAX_STEPS / SURROUNDINGS


@pytest.mark.parametrize("filler", ["we had tea at the old mill\n", "pin 1234 ", "1 ", "茶 12 34 "])
@pytest.mark.parametrize(
    ("told", "secret"),
    [
        ("my password is tea4two!", "tea4two!"),
        ("卡号 6222 0202 0000 1234 567", "1234 567"),
        ("DE89 3704 0044 0532 0130 00", "3704 0044"),
        ("the key sk-live-9f8e7d6c5b4a3210", "9f8e7d6c5b4a3210"),
        ("call ann@example.org", "ann@example.org"),
    ],
)
def test_what_looks_like_a_number_or_key_is_masked_in_a_long_text(
    filler: str, told: str, secret: str
) -> None:
    """Wherever it is in a text that is too long for the rules, and it is found as well."""
    half = filler * 3_000
    masked = mask(f"{half}{told} {half}", EVERYTHING)
    assert secret not in masked
    assert MASK in masked
    assert find_secret(f"{half}{told} {half}", EVERYTHING) is not None


def test_a_long_text_without_values_stays_as_it_is() -> None:
    """Words, years and small numbers are no secret; nor is a long text of them."""
    told = "In 2019 we had 3 cats, 12 cups and a PS5; 在 2019 年我们喝茶。\n-------\n" * 2_000
    assert mask(told) == told
    assert find_secret(told) is None


def _calls(text: str) -> int:
    """Return how many functions are called to mask the text.

    Nothing is collected meanwhile: what others have registered with the collector is called too.
    """
    count = 0

    def note(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(note)
    try:
        mask(text)
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def _bound(tree: Any, *, last: bool) -> tuple[int, int]:
    """Return bounds of the ways in which a pattern can match at one place, and of the steps.

    `last` says that nothing follows it, so that nothing makes it try again.
    """
    ways, steps = 1, 0
    for index, (op, argument) in enumerate(tree):
        end = last and index == len(tree) - 1
        more_ways, more_steps = _bound_of(str(op), argument, last=end)
        steps += ways * more_steps
        ways *= more_ways
    return ways, steps


def _bound_of(op: str, argument: Any, *, last: bool) -> tuple[int, int]:
    if op == "SUBPATTERN":
        return _bound(argument[-1], last=last)
    if op == "BRANCH":
        each = [_bound(branch, last=last) for branch in argument[1]]
        return sum(ways for ways, _ in each), sum(steps for _, steps in each)
    if op == "ATOMIC_GROUP":
        return 1, _bound(argument, last=last)[1]
    if op in ("ASSERT", "ASSERT_NOT"):
        return 1, _bound(argument[1], last=False)[1]
    if op.endswith("_REPEAT"):
        return _bound_of_repeat(op, *argument, last=last)
    return 1, 1


def _bound_of_repeat(op: str, fewest: int, most: int, body: Any, *, last: bool) -> tuple[int, int]:
    ways, steps = _bound(body, last=False)
    possessive = op == "POSSESSIVE_REPEAT"
    if most == import_module("re._constants").MAXREPEAT:
        taken_once = possessive and last and ways == 1 and body.getwidth() == (1, 1)
        return (1, steps) if taken_once else (ENDLESS, ENDLESS)
    if possessive:
        return 1, most * steps
    return sum(ways**n for n in range(fewest, most + 1)), steps * sum(ways**n for n in range(most))
