"""Codes told in the middle of a story: what asks for them stands sentences before.

"The keypad at the gate wanted something, so I held up my phone for light and punched in 4471#."
So far from it a number counts only if somebody types or says it, or if it is a clause of its own.
"""

from souffleur.knowledge.privacy.document_forms import exactly
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import VALUE, Surroundings, near
from souffleur.knowledge.privacy.value_checks import has_four_signs, is_announced
from souffleur.knowledge.privacy.value_patterns import DIGIT_TOKEN, END, LOCK_NUMBER, START, THREES
from souffleur.knowledge.privacy.vocabulary import alternatives, words

_BEFORE, _AFTER = 320, 60
"""Characters of a story that are read before a value and after it."""
_TOLD = words("typed", "dialled_in_story", "told_aloud")
_UTTERED = (
    rf"{_TOLD}(?:\s(?:in|me|him|her|us|at me|out|it))?[\s:,\"'(¡]{{0,3}}{VALUE}"
    rf"|{VALUE}[\"')]{{0,2}}[,\s]{{0,2}}{words('told_after')}"
    rf"|[.,;:!?\u2026] (?:{alternatives('it_is')})[\s:]{{1,2}}{VALUE}"
)
"""Somebody types or says the value."""
_ALONE = (
    rf"(?:[.,;:!?\u2026\u3002\uff0c\u3001\uff1a\uff01\uff1f\u300c\u300e-]|[.,;:!?\u2026]\s|\s-\s)[\"'\u00a1]{{0,2}}{VALUE}"
    r"[\"')]{0,2}(?:[,.;!?\u3002\uff0c\u3001\uff01\uff1f\u300d\u300f]|よ|だ|です|\s-\s|$)"
)
"""The value is a clause of its own."""


def _after(*concepts: str, unless: str | None = None, weak: bool = True) -> Surroundings:
    """Return the surroundings of a value that is told after words for what asks for it."""
    asked = words(*concepts)
    return near(
        rf"{asked}[^\x00]*(?:{_UTTERED})",
        rf"{asked}[^\x00]*(?:{_ALONE})",
        before=_BEFORE,
        after=_AFTER,
        weak=weak,
        across=weak,
        unless=unless,
    )


_LOCKED = ("dial_lock", "alarm", "pin", "lock_before_code", "asks_for_code")
_NO_CODE = rf"{words('other_code', 'price_or_year')}[^\n]{{0,24}}{VALUE}"

STORIES = (
    Rule(
        "a door or lock code",
        "The keypad at the gate wanted something. I held up my phone for light and punched in"
        " ⟦4471#⟧ like the owner had told us.",
        LOCK_NUMBER,
        _after(*_LOCKED, unless=_NO_CODE),
        has_four_signs,
    ),
    Rule(
        "a door or lock code",
        "That safe was locked for years. She turned the dial herself, ⟦14-09-71⟧, and it opened.",
        rf"{START}([0-9]{{1,2}}(?:-[0-9]{{1,2}}){{2,3}}+|[0-9](?:[ -][0-9]){{3,5}}+){END}",
        _after(*_LOCKED),
    ),
    Rule(
        "a code",
        "The page wanted the three little digits from the back. I had to scratch off a sticker to"
        " see them, ⟦407⟧, and by then it was gone.",
        rf"{START}([0-9]{{3}}){END}",
        _after("card_check_code"),
    ),
    Rule(
        "a code",
        "The bank wants me to prove that it's me. Right, here it comes, they've texted ⟦482907⟧ and"
        " it says five minutes.",
        rf"{START}((?:G-)?[0-9]{{6,8}}|{THREES}){END}",
        _after("one_time_code", "asks_for_proof", unless=_NO_CODE),
    ),
    Rule(
        "a password",
        "I was fighting with the login screen for an hour, until it came to me in the bath."
        " ⟦marmalade_neko88⟧, like the cat.",
        DIGIT_TOKEN,
        _after("password", "login", "wifi", "pin", unless=words("user_name"), weak=False),
        is_announced,
    ),
)
"""Codes and passwords that somebody types or says, sentences after what asks for them."""


def _since(document: str) -> Surroundings:
    """Return the surroundings of a document's number, which is not told as that of an order."""
    other = rf"{words('other_number')}[^\n]{{0,24}}{VALUE}"
    return near(words(document), before=_BEFORE, after=120, unless=other)


DOCUMENTS = (
    Rule(
        "a social security number",
        "The accountant needed our socials, and I still know his by heart. I said ⟦432-70-9378⟧ at"
        " once, and he stared at me.",
        exactly("[0-9]{3}[ -][0-9]{2}[ -][0-9]{4}"),
        _since("social_security"),
    ),
    Rule(
        "a driving licence number",
        "Meine Führerscheinnummer konnte er nicht lesen, weil die Karte so abgegriffen ist. Da hab"
        " ich sie ihm buchstabiert, ⟦B069E866U52⟧, mit Berta.",
        exactly("[A-Z][0-9]{7,8}|(?=(?:[A-Z]{0,9}[0-9]){4})[A-Z][A-Z0-9]{10}"),
        _since("driving_licence"),
    ),
    Rule(
        "a passport number",
        "The airline wants all of the passport, and mine was at the bottom of the suitcase. I"
        " unpacked the lot. ⟦A04837770⟧, and then I sat on it again.",
        exactly("[A-Z]{1,2}[0-9]{6,8}"),
        _since("passport"),
    ),
)
"""Numbers of documents that are unlike others, sentences after the document."""
