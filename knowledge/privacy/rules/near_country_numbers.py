"""Numbers of persons that a country gives out under a name of its own, near that name."""

from souffleur.knowledge.privacy.document_forms import digits, exactly, valid, wide
from souffleur.knowledge.privacy.rule import Rule

_NATIONAL, _TAX = "a national identity number", "a tax number"
_HEALTH = "a health insurance number"


def _digits(example: str, names: str, length: int, *modules: str, kind: str = _NATIONAL) -> Rule:
    """Return the rule of a number of so many digits that a module of stdnum accepts."""
    return Rule(kind, example, digits(length, length, " ./-"), wide(names), valid(*modules))


def _shaped(example: str, names: str, form: str, *modules: str, kind: str = _NATIONAL) -> Rule:
    """Return the rule of a number with a form of its own, checked if its digits are."""
    check = valid(*modules) if modules else None
    return Rule(kind, example, exactly(form), wide(names), check)


COUNTRY_NUMBERS = (
    _digits("моето егн е ⟦8909109514⟧", "егн | egn", 10, "bg.egn"),
    _digits("moj oib je ⟦44762168275⟧", "oib", 11, "hr.oib"),
    _digits(
        "minu isikukood on ⟦38201174888⟧",
        "isikukood[a-z]* | asmens kod[a-z]*",
        11,
        "ee.ik",
        "lt.asmens",
    ),
    _shaped(
        "mans personas kods ⟦161175-19997⟧",
        "personas kod[a-z]*",
        "[0-3][0-9][01][0-9]{3}-?[0-9]{5}",
        "lv.pvn",
    ),
    _digits("ο αμκα μου ⟦11038615263⟧", "αμκα | amka", 11, "gr.amka"),
    _digits("το αφμ μου ⟦419953174⟧", "αφμ | afm", 9, "gr.vat", kind=_TAX),
    _digits("kennitalan mín ⟦120174-0459⟧", "kennital[a-z]*", 10, "is_.kennitala"),
    _digits("moj emšo ⟦0101006500880⟧", "em[šs]o | jmbg | јмбг", 13, "si.emso"),
    _digits("мій іпн ⟦6505304596⟧", "…іпн | рнокпп | ипн | rnokpp", 10, "ua.rntrc", kind=_TAX),
    _digits("idnp-ul meu ⟦6673954623216⟧", "idnp[a-z-]*", 13, "md.idno"),
    _digits("cnp-ul meu ⟦1680101024864⟧", "cnp[a-z-]*", 13, "ro.cnp"),
    _digits("mi cédula ecuatoriana ⟦1766359283⟧", "c[eé]dula[a-z]*", 10, "ec.ci"),
    _digits("mi cédula dominicana ⟦477-7036772-1⟧", "c[eé]dula[a-z]*", 11, "do.cedula"),
    _digits("mi nit ⟦818.816.631-8⟧", "nit", 10, "co.nit", kind=_TAX),
    _digits("mi ruc es ⟦10579020305⟧", "ruc", 11, "pe.ruc", kind=_TAX),
    _shaped("mi rif es ⟦V-70704979-7⟧", "rif", "[VEJG]-?[0-9]{8}-?[0-9]", "ve.rif", kind=_TAX),
    _digits("carné de identidad ⟦91020540046⟧", "(n[uú]mero|carn[eé]) de identidad", 11, "cu.ni"),
    _digits("my cnic is ⟦22819-3070036-5⟧", "cnic | nadra", 13, "pk.cnic"),
    _digits(
        "เลขบัตรประชาชน ⟦5 6512 69486 21 2⟧",
        "บัตรประชาชน | เลขประจำตัว | thai (national )?id",
        13,
        "th.pin",
    ),
    _shaped("số cccd của tôi ⟦079203001234⟧", "cccd | căn cước[a-z ]* | cmnd", "0[0-9]{11}"),
    _shaped("my voter id is ⟦HBD8455453⟧", "voter (id|card) | epic", "[A-Z]{3}[0-9]{7}"),
    _digits("vergi numaram ⟦8216156426⟧", "vergi[a-z ]* | vkn", 10, "tr.vkn", kind=_TAX),
    _shaped("my kra pin is ⟦A182902879J⟧", "kra( pin)?", "[AP][0-9]{9}[A-Z]", kind=_TAX),
    _shaped(
        "cartão de cidadão ⟦749427260ZZ1⟧",
        "cart[aã]o (de|do) cidad[aã]o | cc | bilhete de identidade",
        "[0-9]{8}[ -]?[0-9] ?[A-Z0-9]{2}[0-9]",
    ),
    _digits(
        "bc phn ⟦9835 897 526⟧",
        "phn | msp | bc (health|services)[a-z ]*",
        10,
        "ca.bc_phn",
        kind=_HEALTH,
    ),
    _digits(
        "numéro fiscal ⟦00 49 379 420 468⟧",
        "num[ée]ro fiscal | spi | impots?\\.gouv",
        13,
        "fr.nif",
        kind=_TAX,
    ),
    _digits("mój nip ⟦255-707-24-92⟧", "nip", 10, "pl.nip", kind=_TAX),
    _digits("adószámom ⟦14646131⟧", "adószám[a-z]*", 8, "hu.anum", kind=_TAX),
    _shaped(
        "adóazonosító jel ⟦8412345678⟧", "adóazonosító[a-z ]* | taj( szám[a-z]*)?", "[0-9]{9,10}"
    ),
    _shaped("rodné číslo ⟦7103197244⟧", "rodn[ée] č[ií]s[a-z]*", "[0-9]{9,10}", "cz.rc", "sk.rc"),
    _digits(
        "steuernummer at ⟦52 750-9277⟧", "…steuernummer… | abgabenkonto…", 9, "at.tin", kind=_TAX
    ),
    _shaped(
        "my ein is ⟦83-5973651⟧",
        "ein | employer id[a-z ]*",
        "[0-9]{2}-[0-9]{7}",
        "us.ein",
        kind=_TAX,
    ),
    _shaped("mon matricule ⟦1980010112345⟧", "matricule", "(?:19|20)[0-9]{11}"),
    _shaped("my hkid ⟦A123456(7)⟧", "hkid", r"[A-Z]{1,2}[0-9]{6}\(?[0-9A]\)?"),
    _shaped("eid mubarak, my emirates id ⟦784198712345671⟧", "emirates id | هوية", "784[0-9]{12}"),
    _shaped("my iqama is ⟦2123456789⟧", "iqama | إقامة | الهوية الوطنية | هويتي", "[12][0-9]{9}"),
    _shaped("my nin is ⟦12345678901⟧", "nin | bvn", "[0-9]{11}"),
    _shaped("my ghana card ⟦GHA-123456789-0⟧", "ghana card", "GHA-?[0-9]{9}-?[0-9]"),
    _shaped(
        "philsys ⟦1234-5678-9012-3456⟧",
        "philsys | umid | philhealth | sss( number| no)?",
        "[0-9]{2}-?[0-9]{7,9}-?[0-9]|[0-9]{4}-?[0-9]{4}-?[0-9]{4}-?[0-9]{4}",
    ),
)
"""Each has the country's own name of the number, and its check digits if those are published."""
