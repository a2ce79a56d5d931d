"""Numbers of accounts and documents of identity, right after their label or known by their form.

A number whose form and check digits say little counts only soon after a word that names it.
"""

from souffleur.knowledge.privacy.document_forms import valid
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.stated_values import HIDDEN
from souffleur.knowledge.privacy.vocabulary import in_text

_L, _R = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9]|[.:,][0-9])"
_SOON = rf"[^\n0-9{HIDDEN}]{{0,24}}?{_L}(?<![0-9][.,])"
"""A few words between a label and its number."""
_ELEVEN = r"[0-9](?:[ .-]?+[0-9]){10}+"
_TWELVE = r"[0-9](?:[ .-]?+[0-9]){11}+"


def _labelled(label: str, number: str) -> str:
    """Return the pattern of a number soon after its label."""
    return rf"(?i:{_L}(?>{label}){_SOON}({number})){_END}"


def _close_to(label: str, number: str, most: int = 12) -> str:
    """Return the pattern of a number with so many signs between it and its label, at most."""
    return rf"(?i:{label})[^\n0-9\x00]{{0,{most}}}?({number}){_R}"


_ACCOUNT, _SOCIAL = "a bank account number", "a social security number"
_NATIONAL, _TAX = "a national identity number", "a tax number"

CHECKED = (
    Rule(
        _ACCOUNT,
        "⟦DE89 3704 0044 0532 0130 00⟧",
        rf"{_L}([A-Z]{{2}}[0-9]{{2}}(?:[ -][A-Z0-9]{{4}}){{2,7}}(?:[ -][A-Z0-9]{{1,3}})?){_R}",
        check=valid("iban"),
    ),
    Rule(
        _ACCOUNT,
        "⟦de89370400440532013000⟧",
        rf"{_L}((?i:[A-Z]{{2}}[0-9]{{2}}[A-Z0-9]{{11,30}})){_R}",
        check=valid("iban"),
    ),
    Rule(
        _SOCIAL,
        "my ssn is ⟦536-90-4399⟧",
        _labelled(r"ssn|social\s(?:security|is|number|no)", r"[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}"),
        check=valid("us.ssn"),
    ),
    Rule(
        _NATIONAL,
        "mi dni: ⟦54362315K⟧",
        _labelled("dni|nie|nif", "(?:[xyz][0-9]{7}|[0-9]{8})[ -]?[a-z]"),
        check=valid("es.dni", "es.nie"),
    ),
    Rule(
        _SOCIAL,
        "mon numéro de sécu : ⟦2 95 10 99 126 111 93⟧",
        _labelled(r"nir|sécu|sécurité\ssociale", "[12](?:[ .-]?+[0-9AB]){14}+"),
        check=valid("fr.nir"),
    ),
    Rule(
        _SOCIAL,
        "DELMAS;⟦295109912611193⟧",
        rf"{_L}([12][0-9]{{2}}(?:0[1-9]|1[0-2])[0-9]{{10}}){_R}",
        check=valid("fr.nir"),
    ),
    Rule(
        _TAX,
        "Steuer-ID ⟦36 574 261 809⟧",
        _labelled(r"steuer-?id|(?:steuer|steuerliche\s)identifikationsnummer|idnr", _ELEVEN),
        check=valid("de.idnr"),
    ),
    Rule(
        _TAX,
        "⟦390.533.447-05⟧",
        rf"{_L}(?<![0-9]\.)([0-9]{{3}}\.[0-9]{{3}}\.[0-9]{{3}}-[0-9]{{2}}){_R}",
        check=valid("br.cpf"),
    ),
    Rule(_TAX, "cpf ⟦39053344705⟧", _labelled("cpf", _ELEVEN), check=valid("br.cpf")),
    Rule(
        _NATIONAL,
        "⟦971013-1019901⟧",
        rf"{_L}(?<![0-9]-)([0-9]{{6}}-[1-8][0-9]{{6}}){_R}(?!-[0-9])",
        check=valid("kr.rrn"),
    ),
    # Since October 2020 the digits after the dash are given by chance.
    Rule(
        _NATIONAL,
        "주민등록번호 ⟦971013-1019902⟧",
        _close_to(
            r"주민(?:등록)? ?번호|resident\sregistration\snumber", "[0-9]{6}[ -]?[1-8][0-9]{6}"
        ),
    ),
    Rule(
        _NATIONAL,
        "マイナンバーは⟦6214 9832 0257⟧",
        _close_to(r"マイナンバー|個人番号|my\snumber(?:\scard)?(?![a-z])", _TWELVE),
        check=valid("jp.in_"),
    ),
    Rule(
        _NATIONAL,
        "aadhaar ⟦2341 2341 2346⟧",
        _close_to("aadhaa?r|आधार", _TWELVE, most=16),
        check=valid("in_.aadhaar"),
    ),
    Rule(_NATIONAL, "pesel: ⟦44051401359⟧", _labelled("pesel", _ELEVEN), check=valid("pl.pesel")),
    Rule(
        _NATIONAL,
        "bsn ⟦111222333⟧",
        _labelled("bsn|burgerservicenummer", "[0-9](?:[ .]?[0-9]){8}"),
        check=valid("nl.bsn"),
    ),
    Rule(
        _NATIONAL,
        "⟦RCCMNL83S18D969H⟧",
        rf"{_L}((?i:[A-Z]{{6}}[0-9LMNPQRSTUV]{{2}}[ABCDEHLMPRST][0-9LMNPQRSTUV]{{2}}"
        rf"[A-Z][0-9LMNPQRSTUV]{{3}}[A-Z])){_R}",
        check=valid("it.codicefiscale"),
    ),
    Rule(
        _SOCIAL,
        "national insurance: ⟦AB 12 34 56 C⟧",
        _labelled(
            r"national\sinsurance|nino|ni\s(?:number|no)",
            "[a-ceghj-prtw-z][a-ceghj-nprtw-z](?: ?[0-9]{2}){3} ?[a-d]",
        ),
    ),
    Rule(
        _SOCIAL,
        "social insurance ⟦123-456-782⟧",
        _labelled(r"social\sinsurance|sin", "[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}"),
        check=valid("luhn"),
    ),
    Rule(
        _NATIONAL,
        "my nric is ⟦S1234567D⟧",
        _labelled(
            r"nric|fin\snumber|hkid|身分證|身份證", r"[a-z]{1,2}+[0-9]{6,9}+(?:[a-z]|\([0-9a]\))?"
        ),
    ),
)
"""What its form tells, or a label right before it, mostly with check digits."""

_EIGHT_OF_DATE = rf"(?:19|20)[0-9]{{2}}[01][0-9][0-3][0-9]{_END}"
_SHAPED = "[CFGHJKLMNPRTVWXYZ]"
STATED = (
    Rule(
        "a passport number",
        "my passport number is ⟦C01X00T47⟧",
        rf"(?i:(?>{in_text('stated_passport')})){_SOON}(?!{_EIGHT_OF_DATE})"
        rf"((?i:[A-Z]{{0,2}})[0-9]{{6,9}}(?i:[A-Z]{{0,2}})|(?=[A-Z]{{0,6}}[0-9]"
        rf"(?:[A-Z]{{0,6}}[0-9]){{2}}){_SHAPED}[CFGHJKLMNPRTVWXYZ0-9]{{8}}[0-9]?){_END}",
    ),
    Rule(
        "a driving licence number",
        "driving licence: ⟦MORGA657054SM9IJ⟧",
        rf"(?i:(?>{in_text('stated_licence')})){_SOON}"
        rf"([A-Z]{{0,5}}+[0-9]{{6,12}}+[A-Z0-9]{{0,6}}+){_END}",
    ),
    Rule(
        _TAX,
        "tax id ⟦12-3456789⟧",
        rf"(?i:(?>{in_text('stated_tax_number')})){_SOON}([0-9](?:[ /-]?+[0-9]){{7,16}}+){_END}",
    ),
    Rule(
        _ACCOUNT,
        "my account number is ⟦000123456789⟧",
        rf"(?i:(?>{in_text('stated_account')})){_SOON}([0-9](?:[ -]?+[0-9]){{5,17}}+){_END}",
    ),
)
"""What only its label tells."""
