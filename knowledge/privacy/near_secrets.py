# ruff: noqa: E501  a list of words is one line
"""Passwords and codes that words elsewhere in their sentence name, before or after them."""

from souffleur.knowledge.privacy.credential_words import (
    ALARM,
    CARD,
    CHECK_CODE,
    LOCK,
    LOCK_CODE,
    LOGIN,
    ONE_TIME,
    PASSWORD,
    PIN,
    SOCIAL,
    WIFI,
)
from souffleur.knowledge.privacy.surroundings import Row, near
from souffleur.knowledge.privacy.value_forms import (
    has_both,
    has_inner_sign,
    is_mixed,
    is_no_count,
    is_password_like,
    may_be_password,
)

_START = r"(?<![A-Za-z0-9_/@])(?<![0-9][.,:-])"
_END = r"(?![A-Za-z0-9_%]|[.,:/-][0-9A-Za-z])"
_NO_YEAR = r"(?!(?:19|20)[0-9]{2}(?![0-9A-Za-z*#]))"
_NUMBER = (
    rf"{_START}{_NO_YEAR}([0-9]{{4,8}}+|[0-9](?:[ -][0-9]){{3,7}}+"
    rf"|[0-9]{{2}}(?:[ -][0-9]{{2}}){{1,3}}+"
    rf"|[0-9]{{3}}[ -][0-9]{{3}}|[0-9]{{4}}[ -][0-9]{{4}}){_END}"
)
_LOCK_NUMBER = (
    rf"{_START}{_NO_YEAR}(\*?[0-9]{{3,8}}+[#*]?+|[0-9]{{1,2}}(?:[ -][0-9]{{1,2}}){{2,3}}+"
    rf"|[0-9]{{2}}[ -][0-9]{{2}}|[0-9]{{1,3}}[кkКK][0-9]{{4}}|[A-Z][0-9]{{3,6}}[A-Z]?+"
    rf"|[0-9]{{2,5}}[A-Z][0-9]{{0,4}}+){_END}"
)
_SIGN = r"[A-Za-z0-9\u00c0-\u024f\u0300-\u036f!#$%&*+=?@^_~|\\-]"
_SHORT_TOKEN = rf"(?<!{_SIGN})(?<![./\\])((?=[A-Za-z0-9!$%&*])(?>{_SIGN}|[./:](?=[A-Za-z0-9])){{6,64}}+)(?![(\[])"
_TOKEN = rf"(?<!{_SIGN})(?<![./\\])((?=[A-Za-z0-9!$%&*])(?>{_SIGN}|[./:](?=[A-Za-z0-9])){{7,64}}+)(?![(\[])"

NUMBER_WORDS = (
    "zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|twenty|thirty|forty"
    "|fifty|sixty|seventy|eighty|ninety|ten|eleven"
    "|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|null|eins|zwei|zwo"
    "|drei|vier|fünf|sechs|sieben|acht|neun"
    "|zéro|un|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize"
    "|vingt|trente|quarante|cinquante|soixante"
    "|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|um|dois|três|quatro|sete|meia|oito"
    "|nove|due|tre|quattro|cinque|sei|sette|otto"
    "|ноль|нуль|один|два|три|четыре|пять|шесть|семь|восемь|девять|nul|een|twee|drie|vijf|zes"
    "|zeven|negen"
    "|sıfır|bir|iki|üç|dört|beş|altı|yedi|sekiz|dokuz|jeden|dwa|trzy|cztery|pięć|sześć|siedem"
    "|osiem|dziewięć"
    "|शून्य|एक|दो|तीन|चार|पाँच|पांच|छह|सात|आठ|नौ|صفر|واحد|اثنين|اثنان|ثلاثة|أربعة|اربعة|خمسة|ستة"
    "|سبعة|ثمانية|تسعة"
)
_DIGIT_WORD = rf"(?>(?:{NUMBER_WORDS})(?![a-z\u00c0-\u024f\u0300-\u036f\u0430-\u0451\u0600-\u06ff\u0900-\u097f]))"
_DIGITS_TOLD = (
    rf"(?i:(?<![a-z\u00c0-\u024f])({_DIGIT_WORD}(?:[ ,-]{{1,2}}(?:{_DIGIT_WORD}"
    rf"|[0-9]{{1,4}}+(?![0-9]))){{3,23}}+))",
    r"(?<![〇零一二三四五六七八九十百千万两])([〇零一二三四五六七八九两]{4,10}+)(?![十百千万个個月年日号天点])",
    r"(?<![\uac00-\ud7a3])((?:[공영일이삼사오육칠팔구][ ,]{1,2}){3,7}[공영일이삼사오육칠팔구])(?![\uac00-\ud7a3])",
    r"((?:(?>ゼロ|れい|いち|に|さん|よん|ご|ろく|なな|しち|はち|きゅう|きゅー)[、, ]{0,2}){3,7}(?>ゼロ|れい|いち|に|さん|よん|ご|ろく|なな"
    r"|しち|はち|きゅう))",
    r"(?<![\uac00-\ud7a3])([공영일이삼사오육칠팔구]{4,8}(?: ?[공영일이삼사오육칠팔구]{4}){0,3})(?=이야|야|이래|래|인데|이고|이라"
    r"|이었|였|예요|이에요|입니다|로|으로|라고|[\s.,!?]|$)",
)
_TURNED = r"(?:left|right|clockwise|links|rechts|izquierda|derecha|gauche|droite|sinistra|destra|esquerda|direita|влево|вправо|左|右)"
_DIRECTIONS = rf"(?i:({_TURNED}[a-z ]{{0,16}}+[0-9]{{1,2}}+(?:(?:[ ,]|[a-z]){{1,24}}+[0-9]{{1,2}}+){{1,5}}+))(?![0-9])"
_TURNS = rf"(?i:([0-9]{{1,2}}+\s(?:[a-z]{{1,4}}+\s){{0,2}}{_TURNED}(?:[, ]{{1,2}}[0-9]{{1,2}}+\s(?:[a-z]{{1,4}}+\s){{0,2}}{_TURNED}){{1,5}}+))"
"""A number lock with a dial: "left to 31, right to 8", "31 left, 8 right"."""

_DIALLED = (
    r"(?:'s|(?<![a-zà-ÿа-яё])(?:is|was|it's|its|are|be|with|by|enter|type|press|punch|dial|use"
    r"|using|to|on|then|now|code|combo"
    r"|combination|mit|ist|lautet|war|auf|op|en|su|tipp[a-z]*|eingeben|drück[a-z]*|kombi"
    r"|kombination|con|es|era|marca[a-z]*|pon[a-z]*|clave"
    r"|avec|c'est|est|tape[a-z]*|fais|faire|com|é|coloca[a-z]*|digita[a-z]*|metti|mets|è|fa|на|с"
    r"|это|набер[а-я]*|набира[а-я]*"
    r"|код|c[oó]digo|codice|combinaci[oó]n|combinaison|combinazione|combinação|комбинаци[а-я]+)"
    r"|[:=\->]|番号|[はがを是按输輸码碼号]"
    r"|번호|[는은이가])[\s\"'(]{0,3}\n"
)
_FOR = (
    r"\n[\"')]{0,2}\s?(?:for|on|to|opens|at|pour|für|an|am|auf|para|per|na|da|do|del|de|от|для"
    r"|на|к)\s"
    r"(?:[a-zà-ÿа-яё']{1,12}\s){0,2}?(?:[ld]'|dell'|all')?"
)
_NO_LOCK_CODE = (
    r"(?<![a-z])(?:postal|zip|post|area|country|error|dress|promo|discount|coupon|voucher|source"
    r"|qr|bar|fehler|gutschein|booking"
    r"|flight|vuelo|vol|tracking|order|product|reserv[a-z]*|boarding|code ?review|pull request"
    r"|python|bus)(?![a-z])|航班|订单|予約|ошибк|почтов|индекс|промокод|邮编|邮政|郵便|우편"
)
_LOCKED = near(
    rf"{LOCK}[^\n]{{0,50}}?{_DIALLED}",
    rf"{_FOR}{LOCK}",
    r"(?:자물쇠|금고|도어 ?락|사물함|현관|密码锁|保险[箱柜]|南京錠|сейф|домофон)[^\n0-9]{0,12}\n",
    rf"\A(?s:(?=.*{LOCK})(?=.*{LOCK_CODE}))",
    weak=True,
    unless=_NO_LOCK_CODE,
)
_DIALS = (
    r"(?<![a-z])(?:lockers?|(?:pad ?|bike |combo )?locks?|the safe|tresor|zahlenschloss|schloss"
    r"|schließfach|spind|cadenas|coffre|casier"
    r"|candado|caja fuerte|taquilla|cadeado|cofre|armário|lucchetto|cassaforte"
    r"|armadietto)(?![a-zà-ÿ])|сейф|зам[ок]к|保险[箱柜]|密码锁"
    r"|金庫|ダイヤル|ロッカー|자물쇠|금고|사물함"
)
"""Locks with dials, whose code may look like a date."""
_ALARMED = near(
    rf"\A(?s:(?=.*{ALARM})(?=.*(?:{LOCK_CODE}|(?<![a-z])(?:(?:mit|con|with|avec|com)\s?\n"
    rf"|turns? off|turned off|disarm[a-z]*|deactivat[a-z]*|désactiv[a-z]*"
    r"|(?:aus|ab|ent)(?:schalt|schärf|stell)[a-z]*|disattiv[a-z]*|disinser[a-z]*"
    r"|(?:se )?(?:quita|apaga)|desactiv[a-z]*|desliga[a-z]*"
    r"|desativ[a-z]*)|отключ|снять|снима|解除|关掉|해제)))",
    weak=True,
    unless=_NO_LOCK_CODE,
)
_NAMED = (
    r"(?<![a-zа-яё])(?:user ?name|user|handle|nick(?:name)?|called|named?|ssid|model|version"
    r"|heißt|name ist|benutzername|usuario|usuário"
    r"|utente|se llama|s'appelle|pseudo|pronom|si chiama|apelido|логин|ник|никнейм|called|tag"
    r"|gamertag)"
    r"(?![a-zа-яё])|用户名|叫做|名字|ユーザー名|という名前|아이디|닉네임"
)
_CREDENTIAL = rf"{PASSWORD}|{PIN}"
_ABOUT = r"(?:\s(?:for|of|on|to|from|del?|da|do|du|di|per|para|pour|von|vom|zu[mr]?|für|от|для|к|на)(?:\s[^\s\n]{1,16}){1,2}?)?"
_BESIDE = near(
    rf"{PASSWORD}{_ABOUT}[\s:=\->\"'「『が는은をのにで，、,]{{1,4}}(?:(?:is|was|now|es|ist|é|è|est|c'est"
    rf"|это|теперь)[\s\"']{{1,2}})?\n",
    before=60,
    after=0,
)
"""The value follows its label, with no more than what it opens between."""
_CHOSEN = (
    r"(?<![a-zà-ÿа-яё])(?:pick(?:ed)?|chose|choose|set|typ(?:e|ed|ing)|enter(?:ed|ing)?"
    r"|punch(?:ed|ing)?|dial(?:led|ed)?|tap(?:ped)?|key(?:ed)?"
    r"|press(?:ed)?|went with|gewählt|nehme|eingegeben|eintippen|tippe?n?|gib|eleg[íi]|eliges"
    r"|puse|pon(?:er|go|ga|es|le)?|marc(?:o|ar|a|as|ado|ando)|tecle(?:o|ar|a)"
    r"|choisi|tap(?:e|er|é|ez|ant)|compos(?:e|er|é)|mis|mets|scelt[oa]|mess[oa]|metto|metti"
    r"|digit(?:o|are|a|i|ando|ar|ei|ado|ato|e)|escolhi|coloqu?(?:ei|o|ar)|bot(?:o|ei|ar)"
    r"|выбрал[аи]?|поставил[аи]?|набра(?:ть|л|ла)|набираю|набирать|набери|ввожу|ввести|введи"
    r"|ввел[аи]?|ввёл|жму|нажать)(?: (?:in|the|el|il|le|die))?\s?[\"']?\n"
)
"""A key pad is used: the value follows."""
_ALONE = (
    rf"(?:(?<=[.:,;!?。，、！？])|(?<=[.:,;!?…]\s))(?<![0-9][.,:-]){_NO_YEAR}([0-9]{{4,8}}+"
    rf"|[0-9]{{3}}[ -][0-9]{{3}}|[0-9]{{4}}[ -][0-9]{{4}}|[0-9]{{2}}(?:-[0-9]{{2}}){{2}}"
    r"|G-[0-9]{6})(?=\s{0,2}(?:[,;!。，、！]|\.(?![0-9])|\Z|だ|です|누르))"
)
"""A number that is a clause of its own."""
_NAMED_BEFORE = near(
    rf"(?:{PIN}|{PASSWORD}|{ONE_TIME}|{ALARM}|{_DIALS}|(?:backup|recovery) codes?|バックアップコード"
    rf"|(?:lock ?screen|key ?(?:box|pad)|code)(?![a-z])"
    r"|电子锁|密码锁|门锁|도어 ?락|인증|短信|短信|自転車の鍵|(?<![a-z])digicode)[^\n]{0,110}\n",
    r"\n[^\n]{0,24}(?:验证码|認証コード|인증번호)",
    weak=True,
    across=True,
    before=120,
    after=40,
    unless=rf"{_NO_LOCK_CODE}|(?<![a-z])(?:invoice|ticket|price|costs?|paid|year|model|room|since)(?![a-z])|价|円|원",
)
"""A code that the sentence before it names."""


WITH_DIGITS: tuple[Row, ...] = (
    (
        "a password",
        _TOKEN,
        is_password_like,
        near(_CREDENTIAL, LOGIN, WIFI, LOCK_CODE, before=150, after=100),
    ),
    (
        "a password",
        _TOKEN,
        may_be_password,
        near(_CREDENTIAL, WIFI, before=50, after=35, unless=_NAMED),
    ),
    (
        "a password",
        _TOKEN,
        may_be_password,
        near(
            rf"{PASSWORD}[^\n]{{0,150}}[\s,:，：][\"'(]{{0,2}}\n[\"')]{{0,2}}(?:[,.!?，。！]|\s?$)",
            before=170,
            after=4,
            unless=_NAMED,
        ),
    ),
    (
        "a password",
        _TOKEN,
        may_be_password,
        near(
            rf"[,:，：]\s?\n[^\n]{{0,100}}{PASSWORD}",
            rf"(?:{WIFI}|{LOGIN})[^\n]{{0,150}}:\s\n",
            before=150,
            after=100,
            unless=_NAMED,
        ),
    ),
    ("a password", _SHORT_TOKEN, is_mixed, _BESIDE),
    ("a password", _NUMBER, None, near(_CREDENTIAL, weak=True, before=50)),
    (
        "a password",
        rf"{_START}((?:19|20)[0-9]{{2}}){_END}",
        None,
        near(
            rf"{PIN}[^\n0-9]{{0,48}}(?:[\s,](?:is|was|now|es|è|é|est|c'est|ist|lautet|war|это"
            rf"|теперь|jetzt|agora|ahora|adesso)|[:=是为は]|は|는|은)\s?\n",
            weak=True,
        ),
    ),
    (
        "a password",
        _NUMBER,
        None,
        near(
            rf"\A(?s:(?=.*(?:{LOCK_CODE}|{PIN}|{CARD}|{ALARM}|{LOCK}))(?=.*{_CHOSEN}))",
            weak=True,
            across=True,
            unless=_NO_LOCK_CODE,
        ),
    ),
    ("a door or lock code", _DIRECTIONS, None, near(_DIALS, LOCK, LOCK_CODE)),
    (
        "a password",
        _TOKEN,
        may_be_password,
        near(
            r"(?<![a-z])(?:si entra|entr[aoi]|accedo|accede|logs? (?:me )?in|logge mich"
            r"|einloggen|einlogge|connecte|entrar|inicio sesión|unlocks?) "
            r"(?:con|with|using|mit|avec|com)\s\n",
            unless=_NAMED,
        ),
    ),
    (
        "a password",
        _NUMBER,
        None,
        near(
            rf"(?<![a-zà-ÿ])(?:chang[a-z]*|new|neue?|nuev[ao]|nuov[ao]|nouvelle|nova"
            rf"|reset)(?![a-zà-ÿ])[^\n]{{0,24}}{CARD}[^\n0-9]{{0,24}}(?:it's|è|es|c'est|é"
            rf"|ist)(?: (?:now|jetzt|ora|ahora|agora))?\s\n",
            weak=True,
        ),
    ),
    ("a door or lock code", _TURNS, None, near(_DIALS, LOCK, LOCK_CODE, before=150)),
    (
        "a code",
        _NUMBER,
        None,
        near(
            r"(?<![a-z])(?:press|dial|type|enter|punch(?: in)?|key in)\s\n,?\s(?:and"
            r"|then)(?: the)? (?:hash|pound|star|asterisk)(?![a-z])"
        ),
    ),
    ("a code", _ALONE, None, _NAMED_BEFORE),
    (
        "a door or lock code",
        rf"{_START}([A-Z](?: [0-9]){{3,8}}(?: [A-Z])?|[0-9](?: [0-9]){{3,8}} [A-Z]){_END}",
        None,
        near(LOCK, LOCK_CODE),
    ),
    (
        "a password",
        _TOKEN,
        is_password_like,
        near(
            _CHOSEN,
            r"(?<![a-z])(?:unlock(?:s|ed)?|entsperr[a-z]*|déverrouill[a-zé]*|desbloquea?r?"
            r"|sblocc[a-z]*)(?![a-z])",
            r"(?:chang(?:ed|e) it|set it|switched) to\s?\n|is now\s?\n|went with\s?\n"
            r"|(?:genommen|gewählt)",
        ),
    ),
    (
        "a code",
        rf"{_START}([0-9]{{3}}[ -][0-9]{{3}}){_END}",
        None,
        near(LOCK_CODE, weak=True, unless=_NO_LOCK_CODE),
    ),
    (
        "a code",
        rf"{_START}([0-9]{{4,8}}+|[0-9]{{2}}(?: [0-9]{{2}}){{2,3}}|[0-9]{{3}}[ -][0-9]{{3}}){_END}",
        None,
        near(
            r"(?<![a-z])(?:to confirm|confirm (?:it'?s|that it'?s|i'?m) (?:me|you|really))",
            weak=True,
        ),
    ),
    ("a door or lock code", _LOCK_NUMBER, None, _LOCKED),
    ("a door or lock code", rf"{_START}([0-9]{{3,8}}+[#*])", None, near(LOCK, LOCK_CODE)),
    (
        "a door or lock code",
        rf"{_START}([0-9]{{1,2}}(?:-[0-9]{{1,2}}){{2,3}}+){_END}",
        None,
        near(
            _DIALS,
            before=40,
            after=30,
            unless=r"(?<![a-z])(?:since|until|on|am|seit|vom|le|el|depuis|desde|dal|from)\s?\n",
        ),
    ),
    ("a door or lock code", _LOCK_NUMBER, None, _ALARMED),
    (
        "a code",
        _NUMBER,
        None,
        near(
            r"(?<![a-zà-ÿа-яё])(?:codes?|combos?|c[oó]digo|codice|кода?)(?:'s|,? ?(?:is|was|est"
            r"|c'est|lautet|ist|es|é|è|это|:))[\s\"']{0,2}\n|コードは\s?\n|코드[는:]?\s?\n",
            weak=True,
            unless=_NO_LOCK_CODE,
        ),
    ),
    (
        "a code",
        r"(?<![A-Za-z0-9])([A-Z0-9]{5,6})(?![A-Za-z0-9])",
        has_both,
        near("steam guard", before=30, after=20),
    ),
    (
        "a code",
        r"(?<![A-Za-z0-9])((?=[A-Z ]{0,40}?[2-7])[A-Z2-7]{4}(?: ?[A-Z2-7]{4}){3,15}+)(?![A-Za-z0-9])",
        None,
        near(
            r"(?<![a-z])(?:totp|[2g]?2fa|otp|authenticator|two[ -]factor|mfa|seed"
            r"|secret)(?![a-z])|認証アプリ|验证器|аутентификатор"
        ),
    ),
    (
        "a code",
        r"(?<![A-Za-z0-9])((?=[a-z ]{0,40}?[2-7])[a-z2-7]{4}(?: [a-z2-7]{4}){5,15}+)(?![A-Za-z0-9])",
        has_both,
        near(
            r"(?<![a-z])(?:totp|2fa|mfa|authenti[a-z]*|autenti[a-z]*)(?![a-z])|аутентификатор"
            r"|認証アプリ|验证器|인증 ?앱"
        ),
    ),
    (
        "a licence key",
        r"(?<![A-Za-z0-9-])([0-9]{6}(?:-[0-9]{6}){7})(?![A-Za-z0-9-])",
        None,
        None,
    ),
    (
        "a password",
        r"(?<![\u0400-\u04ffA-Za-z0-9])((?=[^\s\x00]{0,30}?[0-9])[\u0400-\u04ff][\u0400-\u04ffA-Za-z0-9!@#$%&*_.-]{5,40}+|[\uac00-\ud7a3]{1,8}[0-9]{2,8}+)",
        None,
        _BESIDE,
    ),
    (
        "a code",
        rf"(?<![A-Za-z0-9_/-])((?:G-)?[0-9]{{4,8}}+|[0-9]{{3}}[ -][0-9]{{3}}"
        rf"|[0-9]{{4}}[ -][0-9]{{4}}){_END}",
        None,
        near(ONE_TIME, weak=True, before=50, after=40),
    ),
    (
        "a code",
        rf"{_START}([0-9]{{3,4}}){_END}",
        None,
        near(CHECK_CODE, weak=True, across=True, before=60, after=25),
    ),
)
"""Passwords and codes that hold a digit."""

IN_WORDS: tuple[Row, ...] = (
    *(
        (
            "a password",
            told,
            is_no_count,
            near(_CREDENTIAL, CARD, LOCK_CODE, ALARM, SOCIAL, before=100, after=100),
        )
        for told in _DIGITS_TOLD
    ),
    (
        "a code",
        rf"(?i:(?<![a-z])({_DIGIT_WORD}(?:[ ,-]{{1,2}}{_DIGIT_WORD}){{2,3}}+))",
        is_no_count,
        near(CHECK_CODE, before=90),
    ),
    (
        "a payment card number",
        rf"(?i:(?<![a-z])({_DIGIT_WORD}(?:[ ,-]{{1,2}}(?:{_DIGIT_WORD}"
        rf"|[0-9]{{1,4}}+(?![0-9]))){{11,23}}+))",
        None,
        None,
    ),
)
"""Numbers that are told in words."""

SIGNED: tuple[Row, ...] = (("a password", _TOKEN, has_inner_sign, _BESIDE),)
"""Passwords that a sign joins."""
