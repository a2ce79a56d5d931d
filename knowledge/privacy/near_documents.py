# ruff: noqa: E501  a list of words is one line
"""Numbers of documents and accounts that words elsewhere in their sentence name."""

import re
from dataclasses import replace
from importlib import import_module

from souffleur.knowledge.privacy.document_numbers import Check
from souffleur.knowledge.privacy.surroundings import Row, near

_SEPARATOR = re.compile("[ ./-]")
_NO_DATE = r"(?!(?:19|20)[0-9]{2}[-./ ]?(?:0[1-9]|1[0-2])[-./ ]?[0-3][0-9](?![0-9]))"
_S, _E = rf"(?<![A-Za-z0-9])(?<![0-9][.,-]){_NO_DATE}", r"(?![A-Za-z0-9]|[.,:-][0-9])"


def _valid(*names: str) -> Check:
    """Return the check by these modules of stdnum: one of them must accept the number."""
    modules = [import_module(f"stdnum.{name}") for name in names]
    return lambda found: any(
        one.is_valid(number) for one in modules for number in (found, _SEPARATOR.sub("", found))
    )


def _digits(least: int, most: int, between: str = " .-") -> str:
    """Return the pattern of so many digits, in groups or not."""
    return rf"{_S}([0-9](?:[{between}]?[0-9]){{{least - 1},{most - 1}}}+){_E}"


def _word(*words: str) -> str:
    return rf"(?<![a-zà-ÿа-яё])(?:{'|'.join(words)})(?![a-zà-ÿа-яё])"


_TAX, _SOCIAL, _NATIONAL = "a tax number", "a social security number", "a national identity number"
_HEALTH, _PASSPORT = "a health insurance number", "a passport number"
_LICENCE, _BANK = "a driving licence number", "a bank account number"
_OTHER = (
    r"(?:(?<![a-z])(?:order|tracking|phone|telephone|tel|call|whatsapp|booking|flight|isbn|imei"
    r"|bestellung|pedido|commande|ordine"
    r"|заказ[а-я]*|телефон[а-я]*|трек)(?![a-z])|订单|电话|手机|快递|注文|電話|追跡|주문|전화|운송장|송장)[^\n]{0,12}\n"
)

_ROWS: tuple[Row, ...] = (
    (
        _SOCIAL,
        rf"{_S}([0-9]{{3}}[ -][0-9]{{2}}[ -][0-9]{{4}}){_E}",
        _valid("us.ssn", "us.itin", "us.atin"),
        near(_word("social", "ssn", "soc(?: sec)?", "itin", "seguro social", "tax(?:payer)? id")),
    ),
    (
        _SOCIAL,
        _digits(9, 9),
        _valid("ca.sin"),
        near(_word("sin", "social insurance", "nas", "assurance sociale")),
    ),
    (
        _SOCIAL,
        rf"{_S}([A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] [0-9]{{2}} [0-9]{{2}} [0-9]{{2}} [A-D]){_E}",
        None,
        None,
    ),
    (
        _SOCIAL,
        rf"{_S}((?i:[a-ceghj-pr-tw-z][a-ceghj-npr-tw-z])(?: ?[0-9]{{2}}){{3}} ?(?i:[a-d])){_E}",
        None,
        near(_word("ni", "nino", "national insurance", "hmrc", "payslip")),
    ),
    (
        _SOCIAL,
        rf"{_S}([12](?:[ .-]?[0-9AB]){{12,14}}+){_E}",
        None,
        near(
            _word(r"s[ée]cu", r"s[ée]curit[ée] sociale", "nir", "carte vitale", "ameli", "cpam"),
            before=150,
        ),
    ),
    (
        _SOCIAL,
        rf"{_S}([0-9]{{2}} ?[0-9]{{6}} ?[A-Z] ?[0-9]{{3}}){_E}",
        None,
        near(r"(?:sozial|renten)versicherung|(?<![a-z])(?:sv|rv)-?n(?:umme)?r"),
    ),
    (_SOCIAL, _digits(10, 10), _valid("at.vnr"), near("sozialversicherung|svnr|e-card|sv-nummer")),
    (
        _SOCIAL,
        rf"{_S}(756[. ]?[0-9]{{4}}[. ]?[0-9]{{4}}[. ]?[0-9]{{2}}){_E}",
        _valid("ch.ssn"),
        None,
    ),
    (
        _SOCIAL,
        _digits(11, 12, " /-"),
        None,
        near(_word("seguridad social", "nuss", "pis", "nis", "inss")),
    ),
    (
        _SOCIAL,
        rf"{_S}([0-9]{{3}}-[0-9]{{3}}-[0-9]{{3}}[ -][0-9]{{2}}|[0-9]{{11}}){_E}",
        None,
        near(r"снилс|(?<![a-z])snils|пенсионн"),
    ),
    (
        _TAX,
        _digits(11, 11),
        _valid("de.idnr"),
        near(r"steuer|(?<![a-z])idnr|identifikationsnummer|finanzamt|elster"),
    ),
    (
        _TAX,
        _digits(9, 9),
        _valid("pt.nif"),
        near(_word("nif", "contribuinte", "finanças", "fatura", "fiscal")),
    ),
    (
        _TAX,
        _digits(10, 12),
        _valid("ru.inn"),
        near(r"(?<![а-я])инн(?![а-я])|(?<![a-z])inn(?![a-z])|налогов"),
    ),
    (_TAX, _digits(11, 11), _valid("br.cpf"), near(_word("cpf", "receita", "imposto"))),
    (
        _TAX,
        rf"{_S}([A-Z]{{3}}[PCHFATBLJG][A-Z][0-9]{{4}}[A-Z]){_E}",
        None,
        near(_word("pan", "income tax", "tax")),
    ),
    (
        _TAX,
        rf"{_S}([A-Z&Ñ]{{3,4}}[0-9]{{6}}[A-Z0-9]{{3}}){_E}",
        None,
        near(_word("rfc", "sat", "factura[a-z]*")),
    ),
    (
        _TAX,
        rf"{_S}((?:2[034567]|3[034])-?[0-9]{{8}}-?[0-9]){_E}",
        _valid("ar.cuit"),
        near(_word("cui[tl]", "afip", "arca")),
    ),
    (_TAX, _digits(9, 9), _valid("au.tfn"), near(_word("tfn", "tax file"))),
    (_TAX, _digits(8, 9), _valid("nz.ird"), near(_word("ird"))),
    (_TAX, _digits(10, 10), None, near(_word("utr"))),
    (
        _TAX,
        _digits(9, 17, " ./-"),
        None,
        near(
            _word(
                "tax(?:payer)? (?:id|number|no)",
                "steuernummer",
                r"num[ée]ro fiscal",
                "codice fiscale",
            ),
            "税号|税務番号|세금 ?번호|纳税人",
        ),
    ),
    (
        _NATIONAL,
        rf"{_S}((?i:[xyz])-?[0-9]{{7}}-?(?i:[a-z])){_E}",
        _valid("es.nie"),
        None,
    ),
    (
        _NATIONAL,
        rf"{_S}([0-9]{{2}}\.?[0-9]{{3}}\.?[0-9]{{3}}[ -]?(?i:[a-z])){_E}",
        _valid("es.dni"),
        near(_word("dni", "nif", "identidad", "documento", "carnet", "carn[eé]")),
    ),
    (_NATIONAL, _digits(7, 8, "."), None, near(_word("dni", "documento"), unless=_OTHER)),
    (_NATIONAL, rf"{_S}([A-Z]{{4}}[0-9]{{6}}[HMX][A-Z]{{5}}[A-Z0-9][0-9]){_E}", None, None),
    (_NATIONAL, rf"{_S}([0-9]{{1,2}}\.[0-9]{{3}}\.[0-9]{{3}}-[0-9kK]){_E}", _valid("cl.rut"), None),
    (_NATIONAL, rf"{_S}([0-9]{{7,8}}-?[0-9kK]){_E}", _valid("cl.rut"), near(_word("rut", "run"))),
    (
        _NATIONAL,
        _digits(6, 11, "."),
        None,
        near(_word(r"c[eé]dula(?: de ciudadan[ií]a)?", "curp"), unless=_OTHER),
    ),
    (
        _NATIONAL,
        rf"{_S}([0-9]{{2}}\.[0-9]{{3}}\.[0-9]{{3}}-[0-9xX]){_E}",
        None,
        near(_word("rg", "identidade", "registro geral")),
    ),
    (
        _NATIONAL,
        _digits(9, 9),
        _valid("nl.bsn"),
        near(_word("bsn", "burgerservice[a-z]*", "sofi[a-z]*")),
    ),
    (
        _NATIONAL,
        _digits(11, 11),
        _valid("be.nn"),
        near(_word("rijksregister[a-z]*", "niss", "registre national", "national number", "insz")),
    ),
    (
        _NATIONAL,
        _digits(12, 12),
        _valid("in_.aadhaar"),
        near(_word("aadh?aa?r", "uidai", "adhaar", "kyc"), "आधार|आधार"),
    ),
    (_NATIONAL, _digits(12, 12), _valid("jp.in_"), near("マイナンバー|個人番号|my number")),
    (_NATIONAL, _digits(11, 11), _valid("pl.pesel"), near(_word("pesel[a-z]*"))),
    (
        _NATIONAL,
        _digits(13, 13),
        _valid("ro.cnp", "za.idnr", "th.pin"),
        near(_word("cnp", "id(?: number| no)?", "identity"), "บัตรประชาชน"),
    ),
    (
        _NATIONAL,
        _digits(11, 11),
        _valid("tr.tckimlik", "no.fodselsnummer"),
        near(_word("tc", "t\\.c\\.?", "tckn", "kimlik[a-z]*", "fødselsnummer", "personnummer")),
    ),
    (
        _NATIONAL,
        rf"(?<![A-Za-z0-9])([0-9]{{6,8}}[-+]?[0-9]{{4}}){_E}",
        _valid("se.personnummer", "dk.cpr"),
        near(_word("personnummer", "personnr", "cpr[a-z-]*", "skatteverket")),
    ),
    (_NATIONAL, r"(?<![A-Za-z0-9])([0-9]{6}-[5-8][0-9]{6})(?![A-Za-z0-9])", None, near("외국인")),
    (_NATIONAL, rf"{_S}([0-9]{{6}}[-+A][0-9]{{3}}[0-9A-Y]){_E}", _valid("fi.hetu"), None),
    (
        _NATIONAL,
        rf"{_S}([0-9]{{6}}/[0-9]{{3,4}}){_E}",
        _valid("cz.rc"),
        near(_word(r"rodn[ée] č[ií]s[a-z]*", "rč")),
    ),
    (
        _NATIONAL,
        rf"{_S}([0-9]{{7}}[A-W][A-IW]?){_E}",
        _valid("ie.pps"),
        near(_word("ppsn?", "public service")),
    ),
    (
        _NATIONAL,
        rf"{_S}([0-9]{{6}}-[0-9]{{2}}-[0-9]{{4}}){_E}",
        _valid("my.nric"),
        near(_word("ic", "nric", "mykad")),
    ),
    (_NATIONAL, _digits(16, 16), None, near(_word("nik", "ktp"))),
    (_NATIONAL, rf"{_S}([STFGM][0-9]{{7}}[A-Z]){_E}", None, None),
    (_NATIONAL, rf"{_S}([A-Z]{{1,2}}[0-9]{{6}}\([0-9A]\)){_E}", None, None),
    (_NATIONAL, rf"{_S}([A-Z][1289][0-9]{{8}}){_E}", None, near("身[分份]證|居留證|身分証")),
    (_NATIONAL, rf"{_S}([A-Z]{{2}}[0-9]{{8}}[A-Z]{{2}}){_E}", None, near("在留")),
    (
        _NATIONAL,
        _digits(9, 9),
        _valid("il.idnr"),
        near(_word("teudat zehut", "israeli id"), "תעודת זהות|ת\\.ז"),
    ),
    (_HEALTH, _digits(10, 10), _valid("gb.nhs"), near(_word("nhs"))),
    (
        _HEALTH,
        rf"{_S}([1-9][A-Z][A-Z0-9][0-9]-?[A-Z][A-Z0-9][0-9]-?[A-Z]{{2}}[0-9]{{2}}){_E}",
        None,
        None,
    ),
    (_HEALTH, _digits(10, 11), None, near(_word("medicare"))),
    (
        _HEALTH,
        rf"{_S}((?:[A-Z]{{1,4}}[ -]?)?[0-9](?:[ -]?[0-9]){{5,19}}+[A-Z]{{0,2}}){_E}",
        None,
        near(
            r"(?:kranken|gesundheits)(?:kasse|versicher|karte)|versicherten|(?<![a-z])kvnr|ohip"
            r"|health (?:card|insurance)|member (?:id|number)",
            r"insurance (?:id|number|card|policy)|policy (?:number|no)|tarjeta sanitaria|mutua"
            r"|mutuelle|cart[aã]o (?:do )?sus|(?<![a-z])cns(?![a-z])|tessera sanitaria"
            r"|plano de saúde|convênio",
            r"(?<![а-я])полис|(?<![а-я])омс(?![а-я])|(?:保険証|保険者|被保険者)|医保|社保卡|건강보험|보험증",
            unless=_OTHER,
        ),
    ),
    (
        _PASSPORT,
        rf"{_S}(?!(?:19|20)[0-9]{{6}}(?![0-9]))([A-Z]{{1,3}}-?[0-9]{{6,8}}[A-Z]?[0-9]?"
        rf"|[0-9]{{8,9}}|[0-9]{{2}}[A-Z]{{2}}[0-9]{{5}}|[A-Z]{{2}}[0-9]{{5}}[A-Z]{{2}}"
        rf"|(?=[A-Z]{{0,7}}[0-9][A-Z]{{0,7}}[0-9])[CFGHJKLMNPRTVWXYZ][CFGHJKLMNPRTVWXYZ0-9]{{8}}[0-9]?|[0-9]{{2}} ?[0-9]{{2}} ?(?:№|No)? ?[0-9]{{6}}){_E}",
        None,
        near(
            r"passport|reisepass|(?:personal)?ausweis|passnummer|passeport|carte d'identité"
            r"|pasaporte|passaporte|passaporto|паспорт|загран|сери[яюи]",
            r"护照|護照|パスポート|旅券|여권|carta d'identità|(?<![a-z])perso(?![a-z])|身份证|identity card"
            r"|id card",
            unless=_OTHER,
        ),
    ),
    (_LICENCE, rf"{_S}([A-Z9]{{5}}[0-9]{{6}}[A-Z9]{{2}}[0-9A-Z][A-Z]{{2}}){_E}", None, None),
    (
        _LICENCE,
        rf"{_S}(?!(?:19|20)[0-9]{{6}}(?![0-9]))([A-Z]{{1,5}}[0-9]{{6,13}}[A-Z0-9]{{0,6}}"
        rf"|[0-9]{{7,13}}|[0-9]{{2}}[ -][0-9]{{2}}[ -][0-9]{{6}}(?:[ -][0-9]{{2}})?"
        rf"|[0-9]{{4}} ?[0-9]{{6}}|[A-Z0-9][0-9]{{2}}[A-Z0-9]{{6,7}}[0-9]"
        rf"|[A-Z][0-9]{{3}}(?:-[0-9]{{3,4}}){{2,3}}(?:-[0-9]{{1,3}})?|[A-Z]{{2}}[0-9]{{7}}[A-Z]"
        rf"|[0-9]{{2}}[A-Z]{{2}}[0-9]{{5}}){_E}",
        None,
        near(
            r"driv(?:er'?s?'?|ing|ers)? ?licen[cs]e|licen[cs]e (?:number|no|#)"
            r"|(?<![a-z])(?:d\.l\.?|dl|dmv|dvla)(?![a-z])|führerschein|fahrerlaubnis",
            r"permis de conduire|numéro de permis|carn[eé] de conducir|licencia de conducir"
            r"|permiso de conducir|carta de conduç|carteira de motorista|(?<![a-z])(?:cnh"
            r"|habilitação)(?![a-z])|patente",
            r"водительск|(?<![а-я])права(?![а-я])|驾照|驾驶证|駕照|免許|면허",
            unless=_OTHER,
        ),
    ),
    (
        _BANK,
        rf"{_S}([0-9](?:[ -]?[0-9]){{6,19}}+){_E}",
        None,
        near(
            r"(?<![a-z])(?:bank|direct deposit|credit union|savings|checking|payroll|routing"
            r"|acct|account (?:number|no|ends)|clabe|cbu|iban|zelle)(?![a-z])",
            r"(?<![a-z])(?:kontonummer|konto|blz|überweis[a-z]*|cuenta|compte|conta|conto"
            r"|agência|agencia)(?![a-z])|расч[её]тн|(?:номер|на) сч[её]т|сч[её]т[а-я]? ",
            r"银行|账[号户]|帐[号户]|卡号|開户|口座|振込|銀行|支店|계좌|은행|통장|입금",
            unless=_OTHER,
        ),
    ),
    (
        _BANK,
        _digits(9, 9, " "),
        _valid("us.rtn"),
        near(_word("routing", "aba", "rtn", "direct deposit", "(?:old|voided|blank|my) checks?")),
    ),
    (
        _BANK,
        rf"{_S}([0-9]{{2}}[ -][0-9]{{2}}[ -][0-9]{{2}}){_E}",
        None,
        near(_word("sort[ -]?code")),
    ),
    (
        _BANK,
        rf"{_S}([0-9]{{2}}-[0-9]{{2}}-[0-9]{{2}}[ ,/]{{1,3}}[0-9]{{8}}){_E}",
        None,
        near(_word("accounts?", "acc", "bank", "sort[ -]?code", "pay", "transfer", "rent")),
    ),
    (_BANK, rf"{_S}([0-9]{{3}}-[0-9]{{3}}){_E}", None, near(_word("bsb"))),
    (_NATIONAL, rf"{_S}(784-?[0-9]{{4}}-?[0-9]{{7}}-?[0-9]){_E}", None, None),
    (_BANK, _digits(20, 20, " -"), _valid("es.ccc"), None),
)


def _wide(row: Row) -> Row:
    """Return the row with a number that its digits or its form prove sought in wider surroundings."""
    name, pattern, check, around = row
    if check is None or around is None:
        return row
    return name, pattern, check, replace(around, before=150, after=80)


NEAR_DOCUMENTS = tuple(_wide(row) for row in _ROWS)
"""Name, pattern, check and surroundings of each kind; the group matches the number."""
