"""Numbers of taxpayers, insured and bank customers that words elsewhere in their sentence name."""

from souffleur.knowledge.privacy.document_forms import (
    digits,
    exactly,
    named,
    unlike_others,
    valid,
    wide,
)
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import VALUE, near
from souffleur.knowledge.privacy.vocabulary import spell, words

_SOCIAL, _TAX = "a social security number", "a tax number"
_HEALTH, _BANK = "a health insurance number", "a bank account number"

_KOREAN_BANK = spell("신한 | 국민 | 우리 | 하나 | 농협 | 카카오(뱅크)? | 토스 | 기업 | 새마을")

SOCIAL_SECURITY = (
    Rule(
        _SOCIAL,
        "they want the social for the scholarship too, dad's is ⟦418-58-4417⟧",
        exactly("[0-9]{3}[ -][0-9]{2}[ -][0-9]{4}"),
        wide("social | ssn | soc( sec)? | itin | seguro social | tax(payer)? id"),
        valid("us.ssn", "us.itin", "us.atin"),
    ),
    Rule(
        _SOCIAL,
        "social for the W-4 is ⟦418584417⟧",
        digits(9, 9),
        near(
            rf"{words('social_security')}(?:\s(?:for|on)\s[^\n.!?]{{1,20}})?"
            rf"(?:'s|\s(?:is|was|number)|\s?[:#=是])[\s:]{{0,2}}{VALUE}",
            before=50,
        ),
        valid("us.ssn"),
    ),
    Rule(
        _SOCIAL,
        "my sin is ⟦123-456-782⟧",
        digits(9, 9),
        wide("sin | social insurance | nas | assurance sociale"),
        valid("ca.sin"),
    ),
    Rule(
        _SOCIAL,
        "⟦AB 12 34 56 C⟧",
        exactly("[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] [0-9]{2} [0-9]{2} [0-9]{2} [A-D]"),
    ),
    Rule(
        _SOCIAL,
        "on my payslip: ⟦ab123456c⟧",
        exactly("(?i:[a-ceghj-pr-tw-z][a-ceghj-npr-tw-z])(?: ?[0-9]{2}){3} ?(?i:[a-d])"),
        named("ni | nino | national insurance | hmrc | payslip"),
    ),
    Rule(
        _SOCIAL,
        "ma carte vitale: ⟦2 95 10 99 126 111 93⟧",
        exactly("[12](?:[ .-]?[0-9AB]){12,14}+"),
        near(
            spell("s[ée]cu | s[ée]curit[ée] sociale | nir | carte vitale | ameli | cpam"),
            before=150,
        ),
    ),
    Rule(
        _SOCIAL,
        "sv-nummer ⟦65 170839 J 008⟧",
        exactly("[0-9]{2} ?[0-9]{6} ?[A-Z] ?[0-9]{3}"),
        named("…(sozial|renten)versicherung… | (sv|rv)-?n(umme)?r…"),
    ),
    Rule(
        _SOCIAL,
        "auf der e-card steht ⟦1237 010180⟧",
        digits(10, 10),
        wide("…sozialversicherung… | …svnr… | …e-card… | …sv-nummer…"),
        valid("at.vnr"),
    ),
    Rule(
        _SOCIAL,
        "⟦756.9217.0769.85⟧",
        exactly("756[. ]?[0-9]{4}[. ]?[0-9]{4}[. ]?[0-9]{2}"),
        None,
        valid("ch.ssn"),
    ),
    Rule(
        _SOCIAL,
        "mi nuss es ⟦28/12345678/40⟧",
        digits(11, 12, " /-"),
        named("seguridad social | nuss | pis | nis | inss"),
    ),
    Rule(
        _SOCIAL,
        "снилс ⟦112-233-445 95⟧",
        exactly("[0-9]{3}-[0-9]{3}-[0-9]{3}[ -][0-9]{2}|[0-9]{11}"),
        named("…снилс… | snils… | …пенсионн…"),
    ),
)

TAX = (
    Rule(
        _TAX,
        "elster will ⟦36 574 261 809⟧",
        digits(11, 11),
        wide("…steuer… | idnr… | …identifikationsnummer… | …finanzamt… | …elster…"),
        valid("de.idnr"),
    ),
    Rule(
        _TAX,
        "o meu nif é ⟦501 964 843⟧",
        digits(9, 9),
        wide("nif | contribuinte | finanças | fatura | fiscal"),
        valid("pt.nif"),
    ),
    Rule(
        _TAX, "инн ⟦123456789047⟧", digits(12, 12), wide("инн | inn | …налогов…"), valid("ru.inn")
    ),
    Rule(
        _TAX,
        "meu cpf: ⟦390.533.447-05⟧",
        digits(11, 11),
        wide("cpf | receita | imposto"),
        valid("br.cpf"),
    ),
    Rule(
        _TAX,
        "my pan is ⟦AAPPV8261K⟧",
        exactly("[A-Z]{3}[PCHFATBLJG][A-Z][0-9]{4}[A-Z]"),
        named("pan | income tax | tax"),
    ),
    Rule(
        _TAX,
        "para la factura: ⟦GODE561231GR8⟧",
        exactly("[A-Z&Ñ]{3,4}[0-9]{6}[A-Z0-9]{3}"),
        named("rfc | sat | factura[a-z]*"),
    ),
    Rule(
        _TAX,
        "mi cuit es ⟦20-05536168-2⟧",
        exactly("(?:2[034567]|3[034])-?[0-9]{8}-?[0-9]"),
        wide("cui[tl] | afip | arca"),
        valid("ar.cuit"),
    ),
    Rule(_TAX, "my tfn is ⟦123 456 782⟧", digits(9, 9), wide("tfn | tax file"), valid("au.tfn")),
    Rule(_TAX, "my ird is ⟦49-098-576⟧", digits(8, 9), wide("ird"), valid("nz.ird")),
    Rule(_TAX, "my utr is ⟦1234567890⟧", digits(10, 10), named("utr")),
    Rule(_TAX, "steuernummer ⟦21/815/08150⟧", digits(9, 17, " ./-"), near(words("tax_number"))),
)

HEALTH = (
    Rule(_HEALTH, "my nhs number: ⟦943 476 5870⟧", digits(10, 10), wide("nhs"), valid("gb.nhs")),
    Rule(
        _HEALTH,
        "⟦1EG4-TE5-MK73⟧",
        exactly("[1-9][A-Z][A-Z0-9][0-9]-?[A-Z][A-Z0-9][0-9]-?[A-Z]{2}[0-9]{2}"),
    ),
    Rule(_HEALTH, "medicare ⟦2123 45670 1⟧", digits(10, 11), named("medicare")),
    Rule(
        _HEALTH,
        "auf der karte der krankenkasse steht ⟦A123456780⟧",
        exactly("(?:[A-Z]{1,4}[ -]?)?[0-9](?:[ -]?[0-9]){5,19}+[A-Z]{0,2}"),
        unlike_others(words("health_insurance")),
    ),
)

BANK = (
    Rule(
        _BANK,
        "for direct deposit use ⟦000123456789⟧",
        exactly("[0-9](?:[ -]?[0-9]){6,19}+"),
        unlike_others(words("bank_account")),
    ),
    Rule(
        _BANK,
        "on the voided check: ⟦111000025⟧",
        digits(9, 9, " "),
        wide("routing | aba | rtn | direct deposit | (old|voided|blank|my) checks?"),
        valid("us.rtn"),
    ),
    Rule(
        _BANK,
        "sort code ⟦30-91-47⟧",
        exactly("[0-9]{2}[ -][0-9]{2}[ -][0-9]{2}"),
        named("sort([ -]?code)?"),
    ),
    Rule(
        _BANK,
        "send the rent to ⟦30-91-47 61820357⟧, it is the new account",
        exactly("[0-9]{2}-[0-9]{2}-[0-9]{2}[ ,/]{1,3}[0-9]{8}"),
        named("accounts? | acc | bank | sort[ -]?code | pay | transfer | rent"),
    ),
    Rule(
        _BANK,
        "sort code 30-91-47, account ⟦61820357⟧",
        exactly("[0-9]{6,12}"),
        near(
            rf"{spell('accounts? | acc | acct | a/c')}[^\n0-9]{{0,16}}{VALUE}",
            before=40,
            unless=words("other_number"),
        ),
    ),
    Rule(
        _BANK,
        "Itaú, agência 0428, conta ⟦85068-9⟧",
        exactly("[0-9]{3,12}-?[0-9xX]"),
        near(
            rf"{spell('ag[êe]ncia | ag')}[\s.:]{{1,3}}[0-9]{{3,5}}[^\n0-9]{{1,16}}{VALUE}",
            before=40,
        ),
    ),
    Rule(
        _BANK,
        "회비는 신한 ⟦110-680-328318⟧ 여기로 보내줘",
        exactly("[0-9]{2,6}(?:-[0-9]{2,8}){1,3}"),
        near(rf"{_KOREAN_BANK}(?:은행)?\s?{VALUE}", before=16),
    ),
    Rule(_BANK, "the bsb is ⟦062-000⟧", exactly("[0-9]{3}-[0-9]{3}"), named("bsb")),
    Rule(_BANK, "⟦1234 1234 16 1234567890⟧", digits(20, 20, " -"), None, valid("es.ccc")),
)

NEAR_ACCOUNTS = (*SOCIAL_SECURITY, *TAX, *HEALTH, *BANK)
