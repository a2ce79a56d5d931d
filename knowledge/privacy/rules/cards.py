"""Numbers of payment cards and of Chinese identity cards, wherever they stand."""

from souffleur.knowledge.privacy.document_forms import is_card_number, is_resident_id
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import VALUE, near

_CARD = "a payment card number"
_L, _R = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_FOURS = "[0-9]{4}(?:[ .-][0-9]{4}){3}"

CARDS = (
    Rule(
        "an identity card number",
        "⟦11010519491231002X⟧",
        r"(?<![A-Za-z0-9])(?<![0-9]\.)(?=([1-9][0-9]{5}[ .-]?[0-9]{4}[ .-]?[0-9]{2}[ .-]?"
        rf"[0-9]{{2}}[ .-]?[0-9]{{3}}[ .-]?[0-9Xx]){_R})",
        check=is_resident_id,
    ),
    Rule(
        _CARD,
        "⟦4111 1111 1111 1111⟧",
        rf"{_L}(?<![0-9][ .-])(?=([0-9](?:[ .-]?[0-9]){{12,18}}+){_R}(?![ .-][0-9]))",
        check=is_card_number,
    ),
    Rule(
        _CARD,
        "⟦4111111111111111⟧ 12/27",
        rf"{_L}(?<![0-9][.])(?=([0-9]{{13,19}}+){_R})",
        check=is_card_number,
    ),
    Rule(
        _CARD,
        "12 ⟦4111-1111-1111-1111⟧ 12",
        rf"{_L}(?=({_FOURS}){_R})",
        check=is_card_number,
    ),
    Rule(
        _CARD,
        "⟦6212-3456-7890-0000-003⟧",
        rf"{_L}(?=({_FOURS}[ .-][0-9]{{3}}){_R})",
        check=is_card_number,
    ),
    Rule(
        _CARD,
        "1 ⟦3782 822463 10005⟧ 1",
        rf"{_L}(?=([0-9]{{4}}[ .-][0-9]{{6}}[ .-][0-9]{{4,5}}){_R})",
        check=is_card_number,
    ),
)
"""What a check digit proves, wherever it stands."""

_EXPIRY = r"(?:[^\n0-9]{0,30}+(?:0[1-9]|1[0-2])\s?/\s?(?:20)?[0-9]{2}(?![0-9]))?"

CHECK_CODES = (
    Rule(
        "a code",
        "I'm typing 4111 1111 1111 1111 and then ⟦439⟧ from the back",
        rf"{_L}(?<![0-9][ .-])(?:{_FOURS}|[0-9]{{15,16}}|[0-9]{{4}}[ .-][0-9]{{6}}[ .-][0-9]{{5}})"
        rf"{_R}{_EXPIRY}[^\n0-9]{{1,40}}+{_L}(?<![#$€£¥])([0-9]{{3}}){_R}(?![.,:/-][0-9])",
        near(VALUE, weak=True),
    ),
)
"""Three digits soon after the number of a card."""
