"""Numbers of documents of identity that words elsewhere in their sentence name."""

from souffleur.knowledge.privacy.document_forms import (
    NO_DATE_OF_EIGHT,
    digits,
    exactly,
    named,
    unlike_others,
    valid,
    wide,
)
from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import near
from souffleur.knowledge.privacy.vocabulary import spell, words

_NATIONAL, _PASSPORT = "a national identity number", "a passport number"
_LICENCE = "a driving licence number"
_CONSONANTS = "CFGHJKLMNPRTVWXYZ"

NATIONAL = (
    Rule(
        _NATIONAL,
        "⟦x-2482300w⟧",
        exactly("(?i:[xyz])-?[0-9]{7}-?(?i:[a-z])"),
        None,
        valid("es.nie"),
    ),
    Rule(
        _NATIONAL,
        "mi dni es ⟦54362315-K⟧",
        exactly(r"[0-9]{2}\.?[0-9]{3}\.?[0-9]{3}[ -]?(?i:[a-z])"),
        wide("dni | nif | identidad | documento | carnet | carn[eé]"),
        valid("es.dni"),
    ),
    Rule(
        _NATIONAL,
        "mi dni es ⟦30.123.456⟧",
        digits(7, 8, "."),
        unlike_others(spell("dni | documento")),
    ),
    Rule(_NATIONAL, "⟦GOMC810215HDFRRL09⟧", exactly("[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[A-Z0-9][0-9]")),
    Rule(
        _NATIONAL,
        "⟦12.531.909-2⟧",
        exactly(r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9kK]"),
        None,
        valid("cl.rut"),
    ),
    Rule(
        _NATIONAL,
        "mi rut: ⟦76086428-5⟧",
        exactly("[0-9]{7,8}-?[0-9kK]"),
        wide("rut | run"),
        valid("cl.rut"),
    ),
    Rule(
        _NATIONAL,
        "mi cédula es ⟦79.123.456⟧",
        digits(6, 11, "."),
        unlike_others(spell("c[eé]dula( de ciudadan[ií]a)? | curp")),
    ),
    Rule(
        _NATIONAL,
        "meu rg é ⟦12.345.678-9⟧",
        exactly(r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}-[0-9xX]"),
        named("rg | identidade | registro geral"),
    ),
    Rule(
        _NATIONAL,
        "mijn bsn is ⟦111222333⟧",
        digits(9, 9),
        wide("bsn | burgerservice[a-z]* | sofi[a-z]*"),
        valid("nl.bsn"),
    ),
    Rule(
        _NATIONAL,
        "rijksregisternummer ⟦85.07.30-033 28⟧",
        digits(11, 11),
        wide("rijksregister[a-z]* | niss | registre national | national number | insz"),
        valid("be.nn"),
    ),
    Rule(
        _NATIONAL,
        "for kyc: ⟦2341 2341 2346⟧",
        digits(12, 12),
        wide("aadh?aa?r | uidai | adhaar | kyc | आधार"),
        valid("in_.aadhaar"),
    ),
    Rule(
        _NATIONAL,
        "⟦6214 9832 0257⟧が個人番号",
        digits(12, 12),
        wide("マイナンバー | 個人番号 | …my number…"),
        valid("jp.in_"),
    ),
    Rule(
        _NATIONAL,
        "mój pesel: ⟦44051401359⟧",
        digits(11, 11),
        wide("pesel[a-z]*"),
        valid("pl.pesel"),
    ),
    Rule(
        _NATIONAL,
        "my id number is ⟦7503305044089⟧",
        digits(13, 13),
        wide("cnp | id( number| no)? | identity | บัตรประชาชน"),
        valid("ro.cnp", "za.idnr", "th.pin"),
    ),
    Rule(
        _NATIONAL,
        "kimlik numaram ⟦17291716060⟧",
        digits(11, 11),
        wide(r"tc | t\.c\.? | tckn | kimlik[a-z]* | fødselsnummer | personnummer"),
        valid("tr.tckimlik", "no.fodselsnummer"),
    ),
    Rule(
        _NATIONAL,
        "mitt personnummer är ⟦880320-0016⟧",
        r"(?<![A-Za-z0-9])([0-9]{6,8}[-+]?[0-9]{4})(?![A-Za-z0-9]|[.,:-][0-9])",
        wide("personnummer | personnr | cpr[a-z-]* | skatteverket"),
        valid("se.personnummer", "dk.cpr"),
    ),
    Rule(
        _NATIONAL,
        "외국인등록번호 ⟦900101-5123456⟧",
        "(?<![A-Za-z0-9])([0-9]{6}-[5-8][0-9]{6})(?![A-Za-z0-9])",
        named("외국인"),
    ),
    Rule(
        _NATIONAL, "⟦131052-308T⟧", exactly("[0-9]{6}[-+A][0-9]{3}[0-9A-Y]"), None, valid("fi.hetu")
    ),
    Rule(
        _NATIONAL,
        "moje rodné číslo je ⟦710319/2745⟧",
        exactly("[0-9]{6}/[0-9]{3,4}"),
        wide("rodn[ée] č[ií]s[a-z]* | rč"),
        valid("cz.rc"),
    ),
    Rule(
        _NATIONAL,
        "my ppsn is ⟦6433435F⟧",
        exactly("[0-9]{7}[A-W][A-IW]?"),
        wide("ppsn? | public service"),
        valid("ie.pps"),
    ),
    Rule(
        _NATIONAL,
        "my ic is ⟦770305-02-1234⟧",
        exactly("[0-9]{6}-[0-9]{2}-[0-9]{4}"),
        wide("ic | nric | mykad"),
        valid("my.nric"),
    ),
    Rule(_NATIONAL, "nik saya ⟦3174051203900004⟧", digits(16, 16), named("nik | ktp")),
    Rule(_NATIONAL, "⟦S1234567D⟧", exactly("[STFGM][0-9]{7}[A-Z]")),
    Rule(_NATIONAL, "⟦A123456(7)⟧", exactly(r"[A-Z]{1,2}[0-9]{6}\([0-9A]\)")),
    Rule(
        _NATIONAL,
        "身分證 ⟦A123456789⟧",
        exactly("[A-Z][1289][0-9]{8}"),
        named("身[分份]證 | 居留證 | 身分証"),
    ),
    Rule(
        _NATIONAL, "在留カード ⟦AB12345678CD⟧", exactly("[A-Z]{2}[0-9]{8}[A-Z]{2}"), named("在留")
    ),
    Rule(
        _NATIONAL,
        "my teudat zehut: ⟦039337423⟧",
        digits(9, 9),
        wide(r"teudat zehut | israeli id | תעודת זהות | ת\.ז"),
        valid("il.idnr"),
    ),
    Rule(_NATIONAL, "⟦784-1987-1234567-1⟧", exactly("784-?[0-9]{4}-?[0-9]{7}-?[0-9]")),
)
"""National identity numbers, by country."""

PASSPORTS_AND_LICENCES = (
    Rule(
        _PASSPORT,
        "⟦C01X00T47⟧ is the number in my passport",
        exactly(
            rf"{NO_DATE_OF_EIGHT}(?:[A-Z]{{1,3}}-?[0-9]{{6,8}}[A-Z]?[0-9]?|[0-9]{{8,9}}"
            "|[0-9]{2}[A-Z]{2}[0-9]{5}|[A-Z]{2}[0-9]{5}[A-Z]{2}|[A-Z][0-9]{3}[A-Z][0-9]{4}"
            rf"|(?=[A-Z]{{0,7}}[0-9][A-Z]{{0,7}}[0-9])[{_CONSONANTS}][{_CONSONANTS}0-9]{{8}}[0-9]?"
            "|[0-9]{2} ?[0-9]{2} ?(?:№|No)? ?[0-9]{6}|[0-9]{2} [0-9]{7}|[A-Z][0-9]{6}[A-Z]{2})"
        ),
        unlike_others(words("passport")),
    ),
    Rule(_LICENCE, "⟦MORGA657054SM9IJ⟧", exactly("[A-Z9]{5}[0-9]{6}[A-Z9]{2}[0-9A-Z][A-Z]{2}")),
    Rule(
        _LICENCE,
        "at the dmv they read out ⟦D1234567⟧",
        exactly(
            rf"{NO_DATE_OF_EIGHT}(?:[A-Z]{{1,5}}[0-9]{{6,13}}[A-Z0-9]{{0,6}}|[0-9]{{7,13}}"
            "|[0-9]{2}[ -][0-9]{2}[ -][0-9]{6}(?:[ -][0-9]{2})?|[0-9]{4} ?[0-9]{6}"
            "|[A-Z0-9][0-9]{2}[A-Z0-9]{6,7}[0-9]|[A-Z][0-9]{3,4}(?:[ -][0-9]{1,5}){2,5}"
            "|[A-Z]{2}[0-9]{7}[A-Z]|[0-9]{2}[A-Z]{2}[0-9]{5}|U1[A-Z0-9]{7,8})"
        ),
        unlike_others(words("driving_licence")),
    ),
    Rule(
        _NATIONAL,
        "my green card number ⟦A098765432⟧",
        exactly("[A-Z]{1,3}-?[0-9]{6,10}[A-Z]?|[0-9]{8,12}"),
        unlike_others(words("residence_permit")),
    ),
    Rule(
        _LICENCE,
        "CA license is ⟦D6280417⟧, needed it for the rental",
        exactly("[A-Z][0-9]{7,8}|[A-Z]{2}[0-9]{6}|[A-Z][0-9]{12,13}"),
        near(
            spell("…licen[cs]e… | permit | learner'?s"),
            unless=rf"{words('other_number')}|(?<![a-z])plates?(?![a-z])",
        ),
    ),
)
