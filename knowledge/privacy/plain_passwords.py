"""Passwords of plain letters, right after what says that a password follows.

"The password is letmein" differs from "the password is wrong" by the word alone. So each language
has its links, the words that say something about a password, and the endings of such words; and
what goes on as prose, as "is letting me down", tells no password.
"""

from collections.abc import Iterator

_LETTER = r"A-Za-z\u00c0-\u024f\u0300-\u036f\u0400-\u04ff"
_L, _R = rf"(?<![{_LETTER}_.$])", rf"(?![{_LETTER}])"
_LABEL = (
    rf"{_L}(?>passwort|pass(?:word|code|phrase|wd)?|pw|pwd|kennwort|mots?\sde\spasse|mdp"
    r"|contrase(?:ñ|n)a|clave\s(?:de\sacceso|del?\s(?:la\s)?(?:wi-?fi|red|router|correo|internet))"
    r"|senha|palavra-passe|пароль|wachtwoord|hasło|şifre(?:si|miz|m)?)"
    rf"{_R}"
)
_ABOUT = (
    r"(?:\s(?>for|of|on|to|at|in|from|del?|da|do|du|di|per|para|pour|von|vom|zu[mr]?|für|fürs|voor|van|do|od"
    r"|от|для|к|на)(?:\s[^\s:=.,;!?\x00]{1,16}+){1,4}?)?"
)
_NOW = (
    r"(?:\s(?>now|still|just|always|currently|actually|literally|also|simply|jetzt|immer|noch|übrigens|ahora"
    r"|siempre|todavía|maintenant|toujours|agora|sempre|ainda|adesso|ancora|теперь|сейчас|nu|nog|teraz))?+"
)
_END = (
    r"(?=[\"']?(?:[!,;)]|\.(?![\w.])|\s{0,2}(?:\Z|[\n\u2600-\u27bf\U0001f000-\U0001faff])|\s[(-]|\s(?>and|but|so|lol|lmao|haha"
    r"|btw|ok|okay|please|pls|thanks|thx|if|cause|because|all|no|in\scase|don't|dont|right|remember|und|aber|falls|bitte"
    r"|alles|merk|y|pero|por\ssi|todo|et|mais|tout|si|au\scas|e|mas|tudo|caso|ma|tutto|così|и|но|а|если|только|en|maar|i|ale"
    rf"|for\s(?:the|my|our|when)|on\s(?:the|my|our)|with\s(?:a|an|no|two|the)){_R}))"
)

_WORDS = {
    # of programs, in every language
    "": (
        "string str text null none true false undefined optional required todo password passwort"
        " value input getpass secret secrets hash token example admin user username login"
    ),
    "en": (
        "wrong weak strong same right correct incorrect invalid valid unknown known unique complex"
        " simple common hard easy obvious stupid dumb silly terrible awful horrible random yours"
        " mine ours theirs below above here there inside outside everything nothing something"
        " anything someone anyone whatever gone lost forgotten stolen broken shown given taken"
        " written hidden chosen driven known safe secure insecure unsafe different similar"
        " identical important essential crucial vital pathetic garbage trash rubbish toast crap"
        " still again already enough short longer shorter stronger weaker better worse safer"
        " harder easier temporary permanent personal private public numeric alphanumeric lowercase"
        " uppercase online offline mandatory necessary sensitive confidential default blank empty"
        " plain plaintext visible ready great today tomorrow yesterday where wherever what which"
        " when that this these those because everywhere somewhere nowhere perfect gibberish"
        " nonsense history chaos weird crazy funny basic trash clear clean short fresh extra super"
        " really pretty quite rather totally always never maybe probably until after before about"
        " between under always almost likely kaput human static dynamic alive annoying missing"
        " valid legal english german french spanish good nice cool long okay fine generic local"
        " global useless pointless up-to-date unclear unsure sorted ancient tricky messy lame"
        " strict short awkward memorable meaningless their there's what's that's behind family"
        " birthday sacred mandatory trivial solid robust decent short sent set reset kept made"
        " used saved stored shared changed expired locked disabled leaked protected"
    ),
    "nl": (
        "fout verkeerd goed juist zwak sterk hetzelfde anders lang kort veilig onveilig verlopen"
        " vergeten moeilijk makkelijk simpel geheim nodig verplicht veranderd gewijzigd weg kwijt"
        " nieuw oud leeg niet geen onjuist ongeldig"
    ),
    "de": (
        "falsch richtig schwach stark sicher unsicher gleich anders lang kurz länger kürzer weg"
        " geheim neu wichtig nötig schlecht einfach schwer leicht komplex korrekt inkorrekt leer"
        " zufällig besser vergessen verloren abgelaufen geändert gesperrt gestohlen okay kaputt"
        " notwendig erforderlich schwierig sensibel dasselbe derselbe identisch privat streng"
        " immer nicht leider wieder hier unten unbekannt ungültig gültig optional pflicht mist"
        " müll quatsch blöd doof dumm super prima egal niemals"
    ),
    "es": (
        "incorrecta correcta débil fuerte segura insegura larga corta fácil difícil misma igual"
        " nueva vieja distinta diferente secreta importante única simple compleja mala buena"
        " inválida válida errónea privada pública personal necesaria obligatoria opcional nuestra"
        " vuestra suya tuya demasiado siempre nunca mejor peor basura terrible horrible temporal"
        " sencilla complicada débiles vieja falsa otra esta"
    ),
    "fr": (
        "faux fausse incorrect correct faible fort forte long longue court courte facile difficile"
        " pareil différent nouveau ancien secret important unique simple complexe mauvais invalide"
        " valide privé personnel nécessaire obligatoire optionnel toujours jamais bien meilleur"
        " nulle naze moche perdu oublié expiré changé parti juste inconnu celui encore solide"
        " robuste vraiment assez plutôt aussi trop très"
    ),
    "pt": (
        "errada certa fraca forte segura insegura longa curta fácil difícil mesma igual nova velha"
        " diferente secreta importante única simples complexa inválida válida privada pública"
        " pessoal necessária obrigatória opcional minha nossa melhor pior horrível sempre nunca"
        " antiga incorreta correta péssima ótima temporária outra aquela essa esta"
    ),
    "it": (
        "sbagliata giusta debole forte sicura insicura lunga corta facile difficile stessa uguale"
        " nuova vecchia diversa segreta importante unica semplice complessa valida privata"
        " pubblica personale necessaria obbligatoria facoltativa migliore peggiore sempre mai"
        " errata corretta questa quella banale robusta vostra nostra troppo molto identica"
    ),
    "ru": (
        "неверный верный слабый сильный надёжный надежный тот такой"
        " простой сложный длинный короткий"
        " новый старый прежний одинаковый другой забыт утерян важен нужен здесь тоже просто слишком"
        " очень всегда никогда секрет тайна важно плохо хорошо ерунда отстой фигня"
    ),
    "pl": (
        "złe dobre słabe silne mocne takie samo inne nowe stare długie krótkie trudne łatwe proste"
        " tajne błędne poprawne ważne bardzo zawsze nigdy podstawa tajemnica sekret zły"
    ),
    "tr": (
        "yanlış doğru zayıf güçlü aynı farklı uzun kısa kolay eski yeni gerekli lazım değişti"
        " hatalı"
    ),
}
"""What is said about passwords."""

_ENDINGS = {
    "en": (
        "ed|ing|ly|able|ible|ful|less|ous|ive|ient|ant|ent|tion|ness|ment|ized|ised|ic|ical|worthy"
        "|proof"
    ),
    "nl": "lijk|baar|loos|ig|end|eerd",
    "de": "lich|ig|isch|bar|los|haft|sam|end|iert|tet|fach|lang|voll",
    "es": "[ai]d[oa]|able|ible|mente|[eia]nte|os[oa]",
    "fr": "(?:é|è)e?|able|ible|ment|[ae]nt|eux|euse|if|ive",
    "pt": "[ai]d[oa]|(?:á|a)vel|(?:í|i)vel|mente|[eia]nte|os[oa]",
    "it": "[aiu]t[oa]|abile|ibile|mente|[eia]nte|os[oa]|ile",
    "ru": "(?:ы|и|о|а|я)й|(?:а|о|ы|и)(?:е|я|й)|(?:е|ё|а)н[аоы]?|ся|сь|ть|[ая]л[аои]?",
    "pl": "[yae]ne|[yi]|any|one|ie",
    "tr": "(?:l|s|m)(?:ı|i|u|ü)(?:z|ş)?",
}
"""How such words end."""

_LINKS = {
    "en": r"(?:is|was|used\sto\sbe|will\sbe)",
    "nl": "(?:is|was|wordt)",
    "de": "(?:ist|lautet|war|heißt)",
    "es": "(?:es|era)",
    "fr": "(?:est|c'est|était)",
    "pt": "(?:é|era|ficou)",
    "it": "(?:è|era)",
    "ru": "(?:это|-|был|стал)",
    "pl": "(?:to|brzmi)",
    "tr": "(?:artık|olarak)",
}
_LABELS = {
    "en": rf"{_L}(?>pass(?:word|code|phrase|wd)?|pw|pwd){_R}",
    "nl": rf"{_L}(?>wachtwoord|wifi-code){_R}",
}


def _value(language: str, least: int = 5) -> str:
    """Return the pattern of a word that says nothing about a password in this language."""
    words = "|".join(sorted({*_WORDS[""].split(), *_WORDS[language].split()}))
    return (
        rf"(?!(?>{words}){_R})(?![{_LETTER}]{{1,24}}?(?:{_ENDINGS[language]}){_R})"
        rf"([{_LETTER}]{{{least},32}}+)"
    )


def _said() -> Iterator[str]:
    for language, link in _LINKS.items():
        label = _LABELS.get(language, _LABEL)
        yield rf"(?i:{label}{_ABOUT}{_NOW}\s{link}{_NOW}[\s:]{{1,2}}[\"']?{_value(language)}{_END})"


_CHANGED = (
    rf"(?i:{_L}(?>chang|set|reset|updat|switch)[a-z]{{0,4}}+\s(?:[a-z0-9'-]{{1,16}}+\s){{0,4}}?"
    rf"{_LABELS['en']}{_ABOUT}{_NOW}\sto\s[\"']?{_value('en')}{_END})"
)
_USED = (
    rf"(?i:{_L}(?>i|we)\s(?:just\s|always\s|still\s)?(?>use|used|set|chose|picked|put|took)\s[\"']?"
    rf"{_value('en')}[\"']?\s(?>as|for)\s(?>the|my|our)\s(?:[a-z-]{{1,16}}+\s){{0,2}}?{_LABELS['en']})"
)
_ASSIGNED = rf"(?i:{_L}passw(?:or)?d=[\"']?{_value('en')}(?=[\"']?(?:\s|\Z)))"

_TOOL = (
    r"(?!(?i:wi-?fi|wlan|netflix|google|gmail|chrome|windows|bitwarden|notion|keepass|icloud|apple|iphone|android"
    r"|email|mail|line|twitter|instagram|facebook|amazon|youtube|admin|root|null|none|true|false|login|excel|word"
    r"|lastpass|onepassword|github|wechat|alipay|hash|token|string|test|ssid|linux|slack|zoom|discord|steam)(?![a-z]))"
)
_LATIN = rf"{_TOOL}([A-Za-z]{{4,32}}+)"
_NO_KOREAN = (
    r"(?!(?>[\uac00-\ud7a3]{0,6}?(?:자리|글자|필수|비밀|중요|생일|번호|이름|그대로|동일|영문|숫자|특수|문자|조합|기본|초기"
    r"|임시|최소|최대|변경|만료|오류|안전|공통|공용|이거|그거|무엇|뭐)))"
)
_KOREAN = "(?>비밀 ?번호|비번|패스워드|암호)"
_AMONG_OTHERS = (
    rf"(?>パス(?:ワード|コード)|暗証)(?:は|、|:)\s?[「『]?{_LATIN}"
    r"(?=[」』]?\s?(?:です|だ|って|に(?:し|変|設定|な)|。|、|[!\n]|\Z|よ|ね))",
    rf"(?>密[码碼]|口令)(?:就|现在|還|还|应该)?(?:是|为|為|改成|:)\s?[「“\"']?{_LATIN}"
    r"(?=[」”\"']?\s?(?:[。,;!！\n]|\Z|[啊哦呢吧了哈呀喔]))",
    rf"{_KOREAN}(?:는|은|가|이|:)?\s{_LATIN}"
    r"(?=\s?(?:[.,!\n]|\Z|야|이야|예요|이에요|입니다|임|로|으로))",
    rf"{_KOREAN}(?:는|은|가|이|:)\s{_NO_KOREAN}"
    r"((?>[\uac00-\ud7a3]{2,8}?(?=이야|야|예요|이에요|입니다|임(?![\uac00-\ud7a3]))))",
    rf"(?i:пароль{_ABOUT}\s(?:-\s|это\s|теперь\s)){_LATIN}(?=\s?(?:[.,;!)\n]|\Z))",
    rf"पासवर्ड\s(?:अब\s)?{_LATIN}\s(?=है|रखा|था)",
    r"كلمة (?:ال)?(?:سر|مرور|السر|المرور)[^\nA-Za-z0-9\x00]{0,24}?\s(?:هي|صارت|:)\s"
    rf"{_LATIN}(?=\s?(?:[.,!\n،]|\Z))",
)
"""Latin letters in a sentence of another script."""

PLAIN_PASSWORDS = (*_said(), _CHANGED, _USED, _ASSIGNED, *_AMONG_OTHERS)
