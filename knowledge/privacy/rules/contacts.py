"""Contact data: telephone numbers and e-mail addresses, in plain ASCII signs."""

from souffleur.knowledge.privacy.rule import Rule

_PHONE = "a telephone number"
_L, _R = r"(?<![A-Za-z0-9.])(?<![0-9]-)", "(?![A-Za-z0-9]|[.][0-9])"

PHONES = (
    Rule(
        _PHONE,
        "⟦+44 20 7946 0018⟧",
        r"(?<![A-Za-z0-9+])(\+[1-9](?:[ .()-]{0,2}+[0-9]){7,14}+)(?![0-9])",
    ),
    Rule(
        _PHONE, "我的号码⟦138 0013 8000⟧", rf"{_L}(1[3-9][0-9][ -]?[0-9]{{4}}[ -]?[0-9]{{4}}){_R}"
    ),
    Rule(
        _PHONE,
        "⟦03-1234-5678⟧",
        rf"{_L}(0[0-9]{{1,3}}-[0-9]{{2,4}}-[0-9]{{4}})(?![A-Za-z0-9]|-[0-9])",
    ),
    Rule(
        _PHONE,
        "⟦(555) 013-4471⟧",
        r"(?<![A-Za-z0-9.])(\([0-9]{3}\) ?[0-9]{3}[-. ][0-9]{4})(?![A-Za-z0-9])",
    ),
    Rule(
        _PHONE,
        "⟦555-013-4471⟧",
        rf"{_L}([2-9][0-9]{{2}}[-.][0-9]{{3}}[-.][0-9]{{4}})(?![A-Za-z0-9]|[-.][0-9])",
    ),
    Rule(
        _PHONE,
        "whatsapp me: ⟦5550134471⟧",
        r"(?i:(?>(?<![a-z])(?:phone|tel|mobile|cell|whatsapp)|手机|手機|电话|電話|携帯|전화|휴대폰))"
        r"[^\n0-9\x00]{0,16}?([0-9](?:[ ()-]{0,2}+[0-9]){6,13}+)(?![A-Za-z0-9]|[.,][0-9])",
    ),
)
EMAILS = (
    Rule(
        "an e-mail address",
        "write to ⟦ann@example.org⟧",
        r"(?<![A-Za-z0-9._%+-])([A-Za-z0-9._%+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}+\.){1,4}"
        r"[A-Za-z]{2,24}+)(?![A-Za-z0-9:/])",
    ),
)
