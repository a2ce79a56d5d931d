"""Codes of locks and alarms, one-time codes and check codes that words elsewhere name."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import VALUE, near
from souffleur.knowledge.privacy.value_checks import has_both, has_four_signs
from souffleur.knowledge.privacy.value_patterns import (
    END,
    FOURS,
    LOCK_NUMBER,
    NO_YEAR,
    NUMBER,
    START,
    THREES,
)
from souffleur.knowledge.privacy.vocabulary import alternatives, words

_LOCK, _CODE = "a door or lock code", "a code"
_L, _R = "(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"
_NO_CODE = words("other_code", "price_or_year")
_NO_CODE_OR_NUMBER = words("other_code", "price_or_year", "other_number")
_SIDE = alternatives("turned")
_TURNED_TO = (
    rf"(?i:((?:{_SIDE})[a-z ]{{0,16}}+[0-9]{{1,2}}+"
    "(?:(?:[ ,]|[a-z]){1,24}+[0-9]{1,2}+){1,5}+))(?![0-9])"
)
"""A lock with a dial: "left to 31, right to 8"."""
_TURN = rf"[0-9]{{1,2}}+\s(?:[a-z]{{1,4}}+\s){{0,2}}(?:{_SIDE})"
_TURNS = rf"(?i:({_TURN}(?:[, ]{{1,2}}{_TURN}){{1,5}}+))"
"""The number before the side: "31 left, 8 right"."""

_DIALLED = rf"(?:{words('dialled')}|[:=\->])[\s\"'(]{{0,3}}{VALUE}"
_FOR = (
    rf"{VALUE}[\"')]{{0,2}}\s?(?:{alternatives('for_a_lock')})\s"
    r"(?:[a-zà-ÿа-яё']{1,12}\s){0,2}?(?:[ld]'|dell'|all')?"
)
_OF_LOCK = near(
    rf"{words('lock')}[^\n]{{0,50}}?{_DIALLED}",
    rf"{_FOR}{words('lock')}",
    rf"{words('lock_before_code')}[^\n0-9]{{0,12}}{VALUE}",
    rf"\A(?s:(?=.*{words('lock')})(?=.*{words('code')}))",
    weak=True,
    unless=words("other_code"),
)
_OF_ALARM = near(
    rf"\A(?s:(?=.*{words('alarm')})"
    rf"(?=.*(?:{words('code', 'switching_off')}|{words('with')}\s?{VALUE})))",
    weak=True,
    unless=words("other_code"),
)

_NOT_OF_LOCK = (
    rf"{_NO_CODE}|{words('no_code_follows')}[\s.]{{0,2}}{VALUE}"
    rf"|{VALUE}\s?[番号號寝]"
)
_SOON_AFTER_LOCK = near(
    rf"{words('lock')}['\s,:][^\n0-9]{{2,40}}{VALUE}",
    rf"{words('lock', 'pin', 'password')}[^\n]{{0,24}}{VALUE}\s?(?:{alternatives('set_after')})",
    weak=True,
    unless=_NOT_OF_LOCK,
)
"""A few words between the lock and its code, of which none tells where or how much."""

LOCK_CODES = (
    Rule(
        _LOCK,
        "the street door keypad wants ⟦4471⟧ then the hash key",
        LOCK_NUMBER,
        _SOON_AFTER_LOCK,
        has_four_signs,
    ),
    Rule(
        _LOCK,
        "the safe: ⟦left to 31, right to 8⟧",
        _TURNED_TO,
        near(words("dial_lock", "lock", "code")),
    ),
    Rule(
        _LOCK,
        "my locker is ⟦31 left, 8 right⟧",
        _TURNS,
        near(words("dial_lock", "lock", "code"), before=150),
    ),
    Rule(
        _LOCK,
        "⟦C 1 7 9 0 X⟧ opens the gate",
        rf"{START}([A-Z](?: [0-9]){{3,8}}(?: [A-Z])?|[0-9](?: [0-9]){{3,8}} [A-Z]){END}",
        near(words("lock", "code")),
    ),
    Rule(_LOCK, "the gate opens with ⟦4471⟧", LOCK_NUMBER, _OF_LOCK),
    Rule(
        _LOCK,
        "⟦4471#⟧ at the front door",
        rf"{START}([0-9]{{3,8}}+[#*])",
        near(words("lock", "code")),
    ),
    Rule(
        _LOCK,
        "bike lock ⟦12-31-07⟧",
        rf"{START}([0-9]{{1,2}}(?:-[0-9]{{1,2}}){{2,3}}+){END}",
        near(words("dial_lock"), before=40, after=30, unless=rf"{words('since')}\s?{VALUE}"),
    ),
    Rule(_LOCK, "the alarm goes off with ⟦4471⟧", LOCK_NUMBER, _OF_ALARM),
    Rule(
        _LOCK,
        "l'alarme de la maison, ⟦4406⟧ puis étoile",
        rf"{START}{NO_YEAR}(?!(?:[01][0-9]|2[0-3])[0-5][0-9](?![0-9]))"
        rf"(\*?[0-9]{{4,8}}+[#*]?+){END}",
        near(
            rf"{words('alarm')}(?:[,:]\s|\s[^\n0-9]{{0,30}}"
            rf"(?:{words('telling', 'dialled')}|[,:])\s){VALUE}",
            weak=True,
            unless=_NOT_OF_LOCK,
        ),
    ),
    Rule(
        _LOCK,
        "金庫は右に⟦32、左に15、右に7⟧",
        r"[左右][转轉にへ到]{0,2}\s?"
        r"([0-9]{1,2}(?:[、，, ]{1,2}[左右][转轉にへ到]{0,2}\s?[0-9]{1,2}){1,5}+)",
        near(words("dial_lock", "lock", "code"), before=80),
    ),
)
"""Codes of locks and alarms, which hold digits."""

_CLAUSE = (
    rf"(?:(?<=[.:,;!?。，、！？])|(?<=[.:,;!?…]\s))(?<![0-9][.,:-]){NO_YEAR}"
    rf"([0-9]{{4,8}}+|{THREES}|{FOURS}|[0-9]{{2}}(?:-[0-9]{{2}}){{2}}|G-[0-9]{{6}})"
    r"(?=\s{0,2}(?:[,;!。，、！]|\.(?![0-9])|\Z|だ|です|누르))"
)
"""A number that is a clause of its own."""
_NAMED_BEFORE = words("pin", "password", "one_time_code", "alarm", "dial_lock", "named_before_code")
_LABELLED = (
    r"(?<![a-zà-ÿа-яё])(?:codes?|combos?|c[oó]digo|codice|кода?)"
    rf"(?:'s|,? ?(?:{alternatives('is')}|:))[\s\"']{{0,2}}{VALUE}|(?:コードは|코드[는:]?)\s?{VALUE}"
)

CODES = (
    Rule(
        _CODE,
        "on the landline just press ⟦6140⟧ and hash to hear the messages",
        NUMBER,
        near(
            rf"(?<![a-z])(?:press|dial|type|enter|punch(?: in)?|key in)\s{VALUE}"
            r",?\s(?:and|then)(?: the)? (?:hash|pound|star|asterisk)(?![a-z])"
        ),
    ),
    Rule(
        _CODE,
        "My sister can never get past the lock screen. Write it down: ⟦660381⟧, and then swipe",
        _CLAUSE,
        near(
            rf"{_NAMED_BEFORE}[^\n]{{0,110}}{VALUE}",
            rf"{VALUE}[^\n]{{0,24}}(?:验证码|認証コード|인증번호)",
            weak=True,
            across=True,
            before=120,
            after=40,
            unless=_NO_CODE,
        ),
    ),
    Rule(
        _CODE,
        "my kid keeps changing my phone passcode lol. it's ⟦740926⟧ at the moment",
        rf"{START}{NO_YEAR}([0-9]{{4,8}}+|{THREES}|[0-9]{{2}}(?:[ -][0-9]{{2}}){{2}}){END}",
        near(
            rf"{_NAMED_BEFORE}[^\n]{{0,110}}(?:[.,;:!?\u2026。、，！？]\s?|\s(?:lol|haha|lmao|jaja|mdr|kkk|rs)\s)"
            rf"(?:{alternatives('it_is')})[\s:]{{0,2}}{VALUE}",
            weak=True,
            across=True,
            before=140,
            after=30,
            unless=_NO_CODE,
        ),
    ),
    Rule(
        _CODE,
        "they texted me ⟦604 817⟧ to log in, it's for the bank",
        rf"{START}((?:G-)?[0-9]{{6}}|{THREES}){END}",
        near(
            rf"\A(?s:(?=.*{words('texted')})(?=.*{words('login_with_code')}))",
            weak=True,
            unless=_NO_CODE_OR_NUMBER,
        ),
    ),
    Rule(
        _CODE,
        "the code, ⟦449 120⟧",
        rf"{START}({THREES}){END}",
        near(words("code"), weak=True, unless=words("other_code")),
    ),
    Rule(
        _CODE,
        "please enter ⟦449120⟧ to confirm it's me",
        rf"{START}([0-9]{{4,8}}+|[0-9]{{2}}(?: [0-9]{{2}}){{2,3}}|{THREES}){END}",
        near(
            r"(?<![a-z])(?:to confirm|confirm (?:it'?s|that it'?s|i'?m) (?:me|you|really))",
            weak=True,
        ),
    ),
    Rule(
        _CODE,
        "our building code changed again, it's ⟦C2271⟧ now",
        LOCK_NUMBER,
        near(
            rf"{words('code')}[^\n0-9]{{0,40}}(?:{alternatives('it_is')}|[:=])\s{VALUE}",
            weak=True,
            unless=_NO_CODE,
        ),
        has_four_signs,
    ),
    Rule(
        _CODE,
        "two-factor code from Microsoft ⟦8391 0274⟧, twice",
        rf"{START}((?:G-)?[0-9]{{6,8}}|{THREES}|{FOURS}){END}",
        near(
            rf"{words('code', 'one_time_code')}[^\n0-9.!?]{{0,32}}{VALUE}",
            weak=True,
            unless=_NO_CODE_OR_NUMBER,
        ),
    ),
    Rule(
        _CODE,
        "freischaltcode kam per post: ⟦7H3K9P⟧",
        rf"{_L}(?=[A-Z-]{{0,12}}?[0-9][0-9-]{{0,8}}[A-Z])([A-Z0-9]{{2,8}}(?:-[A-Z0-9]{{2,6}}){{0,3}}+)"
        r"(?![A-Za-z0-9-])",
        near(
            rf"{words('access_code')}[^\n0-9.!?]{{0,40}}(?:{words('telling')}|[:=]|\s)\s?{VALUE}",
            unless=words("other_number"),
        ),
        has_four_signs,
    ),
    Rule(
        _CODE,
        "the building's code is ⟦C4471⟧",
        LOCK_NUMBER,
        near(
            rf"{words('lock')}[^\n.!?]{{0,24}}{_LABELLED}",
            rf"{words('house')}[^\n.!?]{{0,12}}{_LABELLED}",
            weak=True,
            unless=_NO_CODE,
        ),
        has_four_signs,
    ),
    Rule(
        _CODE,
        "the code is ⟦4471⟧",
        NUMBER,
        near(_LABELLED, weak=True, unless=words("other_code")),
    ),
    Rule(
        _CODE,
        "steam guard says ⟦K4V7P⟧",
        rf"{_L}([A-Z0-9]{{5,6}}){_R}",
        near("steam guard", before=30, after=20),
        has_both,
    ),
    Rule(
        _CODE,
        "totp ⟦JBSW Y3DP EHPK 3PXP⟧",
        rf"{_L}((?=[A-Z ]{{0,40}}?[2-7])[A-Z2-7]{{4}}(?: ?[A-Z2-7]{{4}}){{3,15}}+){_R}",
        near(words("authenticator", "authenticating"), before=110),
    ),
    Rule(
        _CODE,
        "the authenticator wants ⟦jbsw y3dp ehpk 3pxp jbsw y3dp⟧",
        rf"{_L}((?=[a-z ]{{0,40}}?[2-7])[a-z2-7]{{4}}(?: [a-z2-7]{{4}}){{5,15}}+){_R}",
        near(words("authenticating"), before=110),
        has_both,
    ),
    Rule(
        _CODE,
        "la clave manual del autenticador es ⟦op2xozwwixekygao⟧",
        rf"{_L}((?=[a-z]{{0,40}}?[2-7])[a-z2-7]{{16}}(?:[a-z2-7]{{8,16}}){{0,2}}){_R}",
        near(words("authenticating"), before=90),
        has_both,
    ),
    Rule(
        _CODE,
        "the google code: ⟦G-449120⟧",
        rf"(?<![A-Za-z0-9_/-])((?:G-)?[0-9]{{4,8}}+|{THREES}|{FOURS}){END}",
        near(words("one_time_code"), weak=True, before=50, after=40),
    ),
    Rule(
        _CODE,
        "the three digits on the back are ⟦417⟧",
        rf"{START}([0-9]{{3,4}}){END}",
        near(words("card_check_code"), weak=True, across=True, before=60, after=25),
    ),
)
"""One-time codes, check codes of cards, and others that are called codes."""
