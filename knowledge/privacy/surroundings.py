# ruff: noqa: E501  a list of words is one line
"""What stands around a value: the words of its sentence that say whether it is a secret.

People name a secret before or after its value, and often not beside it: "7350 is, by the way, the
PIN of my card". So the value is found by its form, and the words around it decide.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from souffleur.knowledge.privacy.password_phrases import HIDDEN, MEASURE

_LETTER = re.compile(r"[^\W\d_]")
_LINE_END = re.compile(rf"[\n{HIDDEN}]")
_CLAUSE_END = re.compile(rf"[\n{HIDDEN}。]|[.!?…]+(?=\s|$|[^\x00-\x7f])|[0-9]{{3}}")
"""The end of a sentence, or another number, which the words beyond it may belong to."""

_COUNTED = re.compile(MEASURE)
_OF_NO_UNIT = re.compile(
    r"(?![%€$£¥₽₩°元円원块塊万만歩步명개號室層层点點時时시호楼번세회度斤米公斗倍])(?!\s?(?:%|€|₽|₩|km|kg|元|円|원|万))"
    r"(?:[^\w\s]|$|[^\x00-\u024f\u0400-\u04ff]|\s+(?:[^\w\s]|$|\d|[^\x00-\u024f\u0400-\u04ff]|(?:"
    r"and|n|now|so|is|are|was|for|on|at|to|in|if|but|because|bc|cause|lol|lmao|haha|btw|just|i"
    r"|im|you|u|we|he|she|they|it|its"
    r"|the|that|thats|this|my|then|when|as|or|not|no|please|pls|off|from|by|with|again|too|right"
    r"|though|tho|anyway|until|before"
    r"|after|since|like|don't|dont|do|does|did|can|ok|okay|got|works?|worked|opens?|still|goes"
    r"|only|also|says?|should|will|where|what|who|how|why|ever|forever|here|there|all|while"
    r"|unless|instead|every"
    r"|ist|und|aber|für|auf|falls|damit|ein|drin|also|oder|wenn|weil|war|übrigens|bei|vom|von|zu"
    r"|zum|am|an|im|nicht|als|jetzt|hat|bitte|wird|der|die|das|dann|ich|du|er|wir|sie|es|nur|mit"
    r"|gemerkt|merk|eingeben|eintippen|halt|ja|geht|mal|wieder|auch|danach"
    r"|y|pero|para|por|que|q|es|si|en|de|del|a|al|como|o|porque|ya|la|el|lo|mi|tu|te|me|se"
    r"|jaja[ja]*|con|pa|era|cuando|luego|entonces|creo|xq|también|hasta|las|los|después"
    r"|et|mais|pour|est|que|qui|sur|dans|du|des|à|au|pourtant|je|on|le|les|mon|ma|ne|ou|donc|mdr"
    r"|puis|avec|comme|c|car|parce|quand|sinon|j|ça|ensuite"
    r"|e|mas|pra|pro|é|em|na|da|eu|vc|pq|anota|não|só|foi|kkk+|mais|senão|depois|daí|agora|até"
    r"|às|tá|né|quando"
    r"|ma|per|che|è|nel|di|io|non|poi|il|anche|così|ed|perché|se|ahah[ah]*|sul|dal|della|dopo"
    r"|quindi|almeno"
    r"|и|а|но|для|на|от|в|к|это|если|что|запомни|только|не|по|с|я|ты|у|чтобы|или|теперь|уже"
    r"|потом|как|же|кстати|вдруг|он|она|там|тут|вот|ага|ну|блин"
    r")(?![\w])))",
)
"""What may follow a number that counts nothing: an end, or a word that is no unit, in eight languages."""
_UNIT = re.compile(
    r"\s?(?:[%€$£¥₽₩°元円원块塊万만歩步명개號室層층层点點時时시호楼번세회度斤米公斗倍]|[km](?![a-z])|(?:eur|euros?|usd|dollars?"
    r"|bucks|pounds?|quid|won|yen"
    r"|yuan|rmb|reais|rupees|rs|inr|pesos?|lire|francs?|руб[а-я]*|km|[cmk]m|kg|gr?|[mgt]b|ml|l"
    r"|k?cal[a-z]*|kalorien|steps|pasos|pas|schritte|passi|passos|шаг[а-я]*"
    r"|persons?|pieces|points|puntos|punkte|punti|pontos|pts|followers|seguidores|likes|views"
    r"|subs[a-z]*|photos|fotos|pics|songs|words|wörter|palabras|mots|parole|palavras"
    r"|слов[а-я]?|лет|jahre|años|anos|ans|anni|met[a-z]{2,3}s?|miles|watts?|hz|v|x|times|veces"
    r"|mal|fois|volte|vezes|раз|uhr|h|p|rpm|bpm|человек|people|personas|personnes|leute|pessoas"
    r"|persone"
    r"|ppl|kids|students|books|hours|minut[a-z]*|минут[а-я]?|sec[a-z]*|sek[a-z]*|seg[a-z]*"
    r"|секунд[а-я]?|days|días|dias|tage|jours|giorni|дней|weeks|months|years|mails?|sq|square"
    r"|street|st|road|rd|avenue|ave)"
    r"(?![a-zà-ÿа-яё]))"
)
_TOLD = re.compile(
    r"(?:(?<![a-zà-ÿа-яё])(?:is|was|it's|its|be|typ(?:e|ed|ing)|enter(?:ed|ing)?"
    r"|punch(?:ed)?(?: in)?|dial(?:led)?|press(?:ed)?|picked|chose|es|era|é|è|ist|lautet|war|est"
    r"|c'est"
    r"|это|digit[a-z]*|marc[a-z]*|tap[a-zé]*|tipp[a-z]*|eintippen|eingeben|набра[а-я]*"
    r"|набир[а-я]*|вв[её][а-я]*|теперь|mit|con|with|avec|com|now|ahora|jetzt|agora|adesso|ora|op"
    r"|mine is|with)|[:=是为はが는은])[\s\"']{0,2}$"
)
"""What tells a value, so that whatever follows is no unit unless it is known as one."""
_OWNED = re.compile(
    r"(?:(?<![a-zà-ÿа-яё])(?:orders?|tickets?|tracking|booking|reservation|invoice|reference|ref"
    r"|case"
    r"|flight|train|bus|gate|room|rm|apartment|apt|suite|unit|floor|seat|row|platform|pages?"
    r"|chapter"
    r"|line|level|lvl|episode|version|model|serial|sku|part|item|isbn|ext|extension|zip|postcode"
    r"|route|highway|since|around|about|over|under|nearly|almost|roughly|than|costs?|paid|spent"
    r"|bestellung|zimmer|linie|zug|gleis|seite|kapitel|plz|postleitzahl|für nur|habitación|vuelo"
    r"|página|pedido|vol|chambre|commande|quarto|voo|volo|ordine|stanza|treno|pagina|cap|año|anno"
    r"|jahr|ano|рейс|заказ[а-я]*|поезд|комнат[а-я]*|страниц[а-я]*|стр|артикул|индекс|год[а-я]*)"
    r"(?:\s(?:no|nr|number|nummer|número|numéro|numero|номер))?[\s.:#]{0,3}"
    r"|[$€£¥₽₩#@]\s?|订单号?|快递单?号?|房间|航班|邮编|注文番号|便名|주문 ?(?:번호)?|버스)$"
)
_AT = re.compile(r"(?<![a-z])(?:at|um|à|às|alle|a las|by|until|from|в|до|для)\s$")
_HOUR = re.compile("[01][0-9][0-5][0-9]|2[0-3][0-5][0-9]")


@dataclass(frozen=True)
class Surroundings:
    """The words that must stand around a value, in lower case."""

    words: re.Pattern[str]
    """What names it, searched before and after; a line end stands for the value."""
    before: int = 60
    """So many characters are read before it."""
    after: int = 50
    """So many characters are read after it."""
    weak: bool = False
    """Whether the value is a mere number: then a count, a price and the like are none, and the
    words must be in its sentence, without another number between."""
    across: bool = False
    """Whether the words of a weak value may also be in a neighbouring sentence."""
    unless: re.Pattern[str] | None = None
    """What says that it is something else."""

    def may_hold(self, lowered: str) -> bool:
        """Return whether a text in lower case has the words anywhere, so that a value may."""
        return r"\n" in self.words.pattern or self.words.search(lowered) is not None

    def hold(self, plain: str, start: int, end: int) -> bool:
        """Return whether the words around the value at these places of the text name it."""
        before, after = self._around(plain, start, end)
        if not (_LETTER.search(before) or _LETTER.search(after)):
            return False
        if self.weak and _counts(before, plain[start:end], after):
            return False
        around = f"{before}\n{after}"
        if self.unless is not None and _holds(self.unless, around):
            return False
        return _holds(self.words, around)

    def _around(self, plain: str, start: int, end: int) -> tuple[str, str]:
        ends = _CLAUSE_END if self.weak and not self.across else _LINE_END
        before = ends.split(plain[max(0, start - self.before) : start])[-1]
        after = ends.split(plain[end : end + self.after], maxsplit=1)[0]
        return _read(before), _read(after)


@lru_cache(maxsize=4096)
def _holds(words: re.Pattern[str], around: str) -> bool:
    """Return whether one of the words is there; long tables repeat the same surroundings."""
    return words.search(around) is not None


def drop_read() -> None:
    """Drop what is kept of the texts read: it may be private."""
    _holds.cache_clear()


Row = tuple[str, str, Callable[[str], bool] | None, Surroundings | None]
"""Name, pattern, check and surroundings of one kind; the group of the pattern is the value."""


def near(
    *words: str,
    before: int = 60,
    after: int = 50,
    weak: bool = False,
    across: bool = False,
    unless: str | None = None,
) -> Surroundings:
    """Return the surroundings that hold one of these words, given as patterns."""
    other = None if unless is None else re.compile(unless)
    return Surroundings(re.compile("|".join(words)), before, after, weak, across, other)


def _read(window: str) -> str:
    return unicodedata.normalize("NFC", window).lower()


def _counts(before: str, value: str, after: str) -> bool:
    """Return whether the number is a count, a price, an hour, or a number of something else."""
    if _COUNTED.match(value + after) or _UNIT.match(after) or _OWNED.search(before):
        return True
    if not _OF_NO_UNIT.match(after) and not _TOLD.search(before):
        return True
    return _HOUR.fullmatch(value) is not None and _AT.search(before) is not None
