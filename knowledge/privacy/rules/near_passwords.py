"""Passwords and PINs that words elsewhere in their sentence name, before or after them."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import VALUE, near
from souffleur.knowledge.privacy.value_checks import (
    has_inner_digit,
    has_inner_sign,
    has_letters_and_digits,
    is_announced,
    is_compound,
    is_login_word,
    is_mixed,
    is_password_like,
    is_surely_password,
    is_word_with_digits,
    may_be_password,
)
from souffleur.knowledge.privacy.value_patterns import DIGIT_TOKEN, NUMBER, SHORT_TOKEN, TOKEN, YEAR
from souffleur.knowledge.privacy.vocabulary import alternatives, listed, spell, words

_KIND = "a password"
_ABOUT = rf"(?:\s(?:{alternatives('about')}|to|from)(?:\s[^\s\n]{{1,16}}){{1,2}}?)?"
"""What it opens: "for the tablet"."""
_IS = f"(?:{alternatives('is')})"
_BESIDE = near(
    rf"{words('password')}{_ABOUT}[\s:=\->\"'「『が는은をのにでは，、,]{{1,4}}(?:{_IS}[\s\"']{{1,2}})?{VALUE}",
    before=60,
    after=0,
)
"""The value follows its label, with no more than what it opens between."""
_IT_IS = listed("it_is")
_LAST_OR_ALONE = r"[\"')]{0,2}(?:[,.!?，。！]|\s?$)"
_TYPED = rf"{words('typed')}(?: (?:in|the|el|il|le|die))?\s?[\"']?{VALUE}"
"""A key pad is used: the value follows."""
_NEW_CARD = rf"{words('renewed')}[^\n]{{0,24}}{words('card')}[^\n0-9]{{0,24}}"

TOKENS = (
    Rule(
        _KIND,
        "⟦Pelican&Lamp77⟧ is what gets you into the streaming thing, the password never changes",
        DIGIT_TOKEN,
        near(words("password", "pin", "login", "wifi", "code", "service"), before=150, after=100),
        is_password_like,
    ),
    Rule(
        _KIND,
        "ponle ⟦girasol_9981⟧ cuando te pida la contraseña",
        DIGIT_TOKEN,
        near(words("password", "pin", "wifi"), before=50, after=35, unless=words("user_name")),
        may_be_password,
    ),
    Rule(
        _KIND,
        "the school wants a new password every term, she looked out of the window, thought about"
        " it for quite a while and typed ⟦hedgehog_58rain⟧.",
        DIGIT_TOKEN,
        near(
            rf"{words('password')}[^\n]{{0,150}}[\s,:，：][\"'(]{{0,2}}{VALUE}{_LAST_OR_ALONE}",
            before=170,
            after=4,
            unless=words("user_name"),
        ),
        is_announced,
    ),
    Rule(
        _KIND,
        "the cottage has wifi and it's on a card on the fridge: ⟦gorse-heron-5518⟧",
        DIGIT_TOKEN,
        near(
            rf"[,:，：]\s?{VALUE}[^\n]{{0,100}}{words('password')}",
            rf"{words('wifi', 'login')}[^\n]{{0,150}}:\s{VALUE}",
            before=150,
            after=100,
            unless=words("user_name"),
        ),
        may_be_password,
    ),
    Rule(
        _KIND,
        "hold on to this: ⟦Bluebell7Sparrow⟧, it's for my work email login",
        DIGIT_TOKEN,
        near(
            words("password", "pin", "login", "wifi"),
            before=80,
            after=60,
            unless=words("user_name"),
        ),
        is_compound,
    ),
    Rule(
        _KIND,
        "Netflix password got changed to ⟦Tangerine-Fox-88⟧",
        DIGIT_TOKEN,
        near(
            rf"{words('password', 'pin')}[^\n.!?]{{0,40}}"
            rf"(?:{words('telling')}|{spell(*_IT_IS)}|[:=])[\s\"']{{1,2}}{VALUE}",
            before=80,
            after=4,
        ),
        is_word_with_digits,
    ),
    Rule(
        _KIND,
        "Reminder for me: Hulu is ⟦sunsetRider44⟧. Now let's talk about dinner",
        DIGIT_TOKEN,
        near(
            rf"{words('service', 'login', 'wifi')}[^\n.!?]{{0,40}}"
            rf"(?:{words('telling')}|{spell(*_IT_IS)}|[:=,])[\s\"']{{1,2}}{VALUE}",
            before=80,
            after=30,
            unless=words("user_name", "no_login"),
        ),
        is_login_word,
    ),
    Rule(
        _KIND,
        "пароль вайфая ⟦zimaleto22⟧",
        DIGIT_TOKEN,
        near(
            rf"{words('password')}(?:\s[^\s.,;:!?0-9]{{1,12}}){{1,2}}\s{VALUE}{_LAST_OR_ALONE}",
            before=60,
            after=4,
            unless=words("user_name"),
        ),
        is_word_with_digits,
    ),
    Rule(
        _KIND,
        "omg the wifi here is ⟦soggybiscuit4tea⟧ all lowercase",
        DIGIT_TOKEN,
        near(
            rf"{words('wifi', 'login', 'password', 'key')}[^\n.!?]{{0,40}}"
            rf"(?:{words('telling')}|[:=])[\s\"']{{1,2}}{VALUE}",
            before=80,
            after=4,
            unless=words("user_name"),
        ),
        has_inner_digit,
    ),
    Rule(
        _KIND,
        "The cottage wifi is called Heron_Guest and the key's ⟦plumcrumble2209⟧",
        DIGIT_TOKEN,
        near(
            rf"{words('wifi', 'login')}[^\n]{{0,130}}{words('short_label')}(?:'s)?"
            rf"(?: (?:{alternatives('is')}))?[\s:=]{{1,2}}[\"']?{VALUE}",
            before=150,
            after=4,
        ),
        has_letters_and_digits,
    ),
    Rule(
        _KIND,
        "netflix: usuario lola, contraseña ⟦palomitas88⟧",
        SHORT_TOKEN,
        _BESIDE,
        is_word_with_digits,
    ),
    Rule(_KIND, "dein passwort: ⟦Teddy-Nebel-64⟧", SHORT_TOKEN, _BESIDE, is_mixed),
    Rule(
        _KIND,
        "da ieri si entra con ⟦rosmarino_zio88⟧, quello di prima non va",
        DIGIT_TOKEN,
        near(rf"{words('entering')} {words('with')}\s{VALUE}", unless=words("user_name")),
        may_be_password,
    ),
    Rule(
        _KIND,
        "VPN at work: user rdiaz, ⟦Thursday$Lasagne9⟧, it locks after 3 tries",
        DIGIT_TOKEN,
        near(
            rf"(?<![a-z])(?:user(?: ?name)?|usuario|utente|benutzer|login)[\s:=]{{1,2}}"
            rf"[^\s,]{{2,24}}[,;/]\s(?:pass\s)?{VALUE}",
            rf"(?<![a-z])pass[\s:=]{{1,2}}{VALUE}",
            before=50,
            after=4,
        ),
        has_letters_and_digits,
    ),
    Rule(
        _KIND,
        "for the library computer I type ⟦bluewhale62⟧, all lowercase, and that password works",
        DIGIT_TOKEN,
        near(
            rf"{words('typed')}\s[\"']?{VALUE}[^\n]{{0,50}}{words('password')}",
            before=16,
            unless=words("user_name"),
        ),
        is_word_with_digits,
    ),
    Rule(
        _KIND,
        "if I get hit by a bus, the till tablet unlocks using ⟦Marzipan?1974⟧, tell Joan",
        DIGIT_TOKEN,
        near(
            _TYPED,
            words("unlocking"),
            rf"(?:(?:chang(?:ed|e) it|set it|switched) to|is now|went with)\s?{VALUE}"
            r"|(?:genommen|gewählt)",
        ),
        is_password_like,
    ),
)
"""Passwords that hold a digit beside a letter or a sign."""

PASSWORDS = (
    Rule(
        _KIND,
        "das wlan heißt Krause und der schlüssel ist ⟦1234567890123456⟧",
        r"(?<![A-Za-z0-9])([0-9]{8,20}+|[0-9]{4}(?:[ -][0-9]{4}){1,4})(?![A-Za-z0-9])",
        near(
            rf"{words('wifi')}[^\n]{{0,100}}{words('short_label', 'password')}(?:'s)?"
            rf"(?: (?:{alternatives('is')}))?[\s:=]{{1,2}}{VALUE}",
            before=130,
            after=4,
        ),
    ),
    Rule(
        _KIND,
        "wer sich so was merkt: das passwort ist ⟦пирожок77⟧",
        r"(?<![\u0400-\u04ffA-Za-z0-9])((?=[^\s\x00]{0,30}?[0-9])[\u0400-\u04ff]"
        r"[\u0400-\u04ffA-Za-z0-9!@#$%&*_.-]{5,40}+|[\uac00-\ud7a3]{1,8}[0-9]{2,8}+[!?*~]{0,3}+"
        r"|[A-Za-z]{2,20}+[\u3040-\u9fff\uac00-\ud7a3]{1,8}[A-Za-z]{0,8}[0-9!@#$%^&*]{2,12}+)",
        _BESIDE,
    ),
    Rule(
        _KIND,
        "⟦7350⟧ is, by the way, the pin of my card",
        NUMBER,
        near(
            words("password", "pin"),
            weak=True,
            before=50,
            unless=rf"{words('price_or_year', 'postal')}[^\n]{{0,12}}{VALUE}"
            rf"|[>\w.]:{VALUE}/|_[a-z]{{2,16}}:\s{VALUE}",
        ),
    ),
    Rule(
        _KIND,
        "the pin is ⟦1994⟧, like his birthday",
        YEAR,
        near(
            rf"{words('pin', 'code')}[^\n0-9]{{0,48}}"
            rf"(?:[\s,]{_IS}|[,.]\s{spell(*_IT_IS)}|[:=是为は]|は|는|은)\s?{VALUE}",
            unless=words("other_code"),
            weak=True,
        ),
    ),
    Rule(
        _KIND,
        "For the debit card she has typed ⟦6184⟧. It worked.",
        NUMBER,
        near(
            rf"\A(?s:(?=.*{words('code', 'pin', 'card', 'alarm', 'lock')})(?=.*{_TYPED}))",
            weak=True,
            across=True,
            unless=words("other_code"),
        ),
    ),
    Rule(
        _KIND,
        "pour déverrouiller le vieux Samsung c'est ⟦0614⟧, la date de la fête de Maman",
        NUMBER,
        near(
            rf"{words('unlocking')}[^\n0-9.!?]{{0,48}}(?:{_IS}|{words('with', 'typed')})\s{VALUE}",
            weak=True,
        ),
    ),
    Rule(
        _KIND,
        "they sent me a new debit card on Monday, it's ⟦6184⟧ now",
        NUMBER,
        near(
            rf"{_NEW_CARD}(?:it's|è|es|c'est|é|ist)(?: (?:now|jetzt|ora|ahora|agora))?\s{VALUE}",
            weak=True,
        ),
    ),
)
"""PINs, and passwords in other scripts that hold a digit."""

SIGNED = (
    Rule(_KIND, "password: ⟦milk%Bari⟧", TOKEN, _BESIDE, has_inner_sign),
    Rule(_KIND, "netflix is ⟦Marmalade!Otter88⟧ now", DIGIT_TOKEN, None, is_surely_password),
)
"""Passwords that a sign joins."""

JOINED = (
    Rule(
        "a passphrase",
        "my diceware: ⟦mural-outpost-tricky-gauze-limes⟧ for the backup drive",
        r"(?<![A-Za-z0-9_/.-])([a-z]{3,12}(?:-[a-z]{3,12}){3,9}+)(?![A-Za-z0-9_/-])",
        near(
            rf"(?:{words('password')}|diceware)[^\n]{{0,50}}(?:{words('telling')}|[:=,])\s[\"']?{VALUE}",
            before=70,
            after=4,
        ),
    ),
)
"""Words that are joined to a passphrase."""
