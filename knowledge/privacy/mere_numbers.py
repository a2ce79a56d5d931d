"""What stands beside a number that counts, measures or costs something, and opens nothing."""

import re

from souffleur.knowledge.privacy.stated_values import MEASURE
from souffleur.knowledge.privacy.vocabulary import alternatives, words

_UNIT_SIGNS = "%€$£¥₽₩°元円원块塊万만歩步명개號室層层点點時时시호楼번세회度斤米公斗倍"
_COUNTED = re.compile(MEASURE)
_UNIT = re.compile(
    rf"\s?(?:[{_UNIT_SIGNS}]|[km](?![a-z])|(?:{alternatives('unit')})(?![a-zà-ÿа-яё]))"
)
_END_OR_OTHER_SCRIPT = r"[^\w\s]|$|[^\x00-\u024f\u0400-\u04ff]"
_NO_UNIT = re.compile(
    rf"(?![{_UNIT_SIGNS}])(?!\s?(?:%|€|₽|₩|km|kg|元|円|万))(?:{_END_OR_OTHER_SCRIPT}"
    rf"|\s+(?:{_END_OR_OTHER_SCRIPT}|\d|(?:{alternatives('no_unit')})(?!\w)))"
)
_TOLD = re.compile(
    rf"(?:{words('telling', 'typed', 'dialled_in_story', 'told_aloud')}"
    rf"|{words('pin', 'password')}[^\n0-9.!?]{{0,20}}|[:=是为はが는은])"
    r"[\s\"']{0,2}$"
)
_NUMBERED = re.compile(
    rf"(?:{words('numbered')}(?:\s(?:no|nr|number|nummer|número|numéro|numero|номер))?"
    r"[\s.:#]{0,3}|[$€£¥₽₩#@]\s?)$"
)
_AT = re.compile(rf"{words('at_an_hour')}\s$")
_HOUR = re.compile("[01][0-9][0-5][0-9]|2[0-3][0-5][0-9]")


def is_mere_number(before: str, value: str, after: str) -> bool:
    """Return whether it is a count, a price, an hour, or the number of something else.

    `before` and `after` are what stands around it, in lower case.

    >>> is_mere_number("it cost ", "4500", " in all"), is_mere_number("walked ", "4500", " steps")
    (True, True)
    >>> is_mere_number("my pin is ", "4500", " by the way"), is_mere_number("at ", "1730", ", ok?")
    (False, True)
    """
    if _COUNTED.match(value + after) or _UNIT.match(after) or _NUMBERED.search(before):
        return True
    if not _NO_UNIT.match(after) and not _TOLD.search(before):
        return True
    return _HOUR.fullmatch(value) is not None and _AT.search(before) is not None
