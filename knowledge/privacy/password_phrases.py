"""How people, programs and files state a password or a code: its label, the link, its form.

These are parts of patterns for text in plain ASCII signs and any case; see `secret_patterns`.
Nearly all are atomic or possessive, so that they never backtrack.
"""

HIDDEN = "\0"
"""Placeholder for each character of a secret that is already masked; no pattern matches it."""

_SIGN = r"[!#-&(-+\--_a-~]"
"""An ASCII character of a password, except quotes and the comma."""
_TOKEN = rf"(?>{_SIGN}|,(?={_SIGN}))"
_TO_END = r"(?![^\"'\s;,)])"

MEASURE = (
    r"[0-9]{1,4}+(?:[-~][0-9]{1,4}+)?+[ -]?+(?:%|[位个個字桁年月日号號次回天秒种種人元円倍岁歳]"
    r"|分[钟間]|小?[时時]|文字|通り|자리?|번|년|개|월|일|회|(?:st|nd|rd|th|am|pm)(?![a-z0-9])"
    r"|(?:bit|byte|char|character|digit|letter|word|symbol|time|attempt|day|week|month|year|hour"
    r"|minute|min|second|sec|user|account|people|percent)s?(?![a-z0-9]))"
)
"""A length, a date or a count: "8 characters", "2024年"."""
_TECHNICAL = (
    r"(?:(?:sha|md|aes|rsa|base|utf|wpa|wep|tls|oauth|rfc|iso|bip|pbkdf|argon|hmac|cve|kb|office)"
    r"[-_ ]?+[0-9]{1,6}+(?![a-z0-9!@#$%^&*])|(?:[23]fa|1password|u2f|fido2)(?![a-z0-9]))"
)
_NAME = r"[a-z_][a-z0-9_]{0,64}+"
_CODE = (
    rf"(?:{_NAME}(?:\.[a-z0-9_]{{1,64}}+){{1,8}}+[\[(]|[a-z]{{1,32}}+(?:_[a-z]{{1,32}}+){{1,8}}+\("
    rf"|{_NAME}[\[(][\"']|(?:process\.env|os\.environ)(?![a-z0-9_])|</?[a-z]"
    rf"|\$?\{{{{1,2}}\s?[a-z0-9_.]{{1,64}}+\s?\}}{{1,2}}{_TO_END}|[a-z][a-z0-9+.-]{{1,15}}+://"
    rf"|(?:your|my)_(?:[a-z0-9]{{1,16}}+_){{0,3}}?(?:key|password|token|secret)(?:_here)?{_TO_END})"
)
"""Code that reads a password, an address that contains one, or a placeholder for one."""
_NO_PASSWORD = rf"(?!{MEASURE}|{_TECHNICAL}|{_CODE})"
_NO_ADJECTIVE = (
    r"(?!(?:wrong|incorrect|invalid|weak|strong|required|optional|expired|missing|null|none|string"
    r"|text|true|false|undefined|important|secure|hidden|错误|不正确|正确)[\"'」』》])"
)

_LABEL = (
    r"(?>pass(?:word|code|phrase|wd)s?"
    r"|(?:api|secret|access|auth|refresh|client)[ _-]?(?:access[ _-]?)?(?:key|token|secret)"
    r"|密[码碼钥鑰]|秘[钥鑰]|口令|令牌|暗証番号|パス(?:ワード|コード|フレーズ)|APIキー"
    r"|アクセストークン|秘密鍵|passwort|passwörter|kennwort|mots?\sde\spasse|mdp(?![a-z])"
    r"|[Пп]арол(?:ь|я|ем|и)(?![а-я])|palavra-passe|parola\s(?:d'ordine|chiave)"
    r"|codes?\sd'acc(?:è|e)s|contrase(?:ñ|n)as?|clave\sde\sacceso|senha(?![a-z])"
    r"|(?<![a-z0-9])(?:[a-z0-9]{1,16}_)?p(?:ass|wd?)(?=[:=])|(?<![a-z0-9])pwd?(?![a-z0-9])"
    r"|비밀 ?번호|비번|패스워드|암호)"
    r"(?>[ _-]?[0-9](?![0-9]))?+"
)
_CLOSED = r"[\"'*_\])]{0,3}+"
_ANY_WORD = r"[a-z0-9'.@&\u00c0-\u024f\u0300-\u036f\u0400-\u04ff-]{1,24}+"
_ABOUT = (
    rf"(?:\s?\([^()\n{HIDDEN}]{{1,30}}+\))?+"
    r"(?:\s{1,2}+(?>for|of|on|at|in|du|del?|da|do|pour|para|zu[mr]|vo[mn]|(?:für|fuer)s?)\s"
    rf"(?:{_ANY_WORD}\s){{0,4}}?{_ANY_WORD})?"
)
"""What the password opens: "(at home)", "for the wifi"."""
_FILLER = (
    r"(?>(?:now|still|just|currently|actually|always|probably|again|also|has|been|will|would|it's|it"
    r"|changed(?!\sto)|maintenant|toujours|ahora|jetzt|immer)(?![a-z0-9])"
    r"|(?:改|换|換|变|變|更新|重置|修改|更改)(?=了)|[,了我也已经經现現在目前还還就又被都呢啊吧今新的话話])"
)
_BECOMES = r"(?:改|换|換|变|變|设|設|设置|設置|設定|设定|更新|重置|修改|更改)[成为為到]"
_LINK = (
    r"(?>(?:is|was|are|be|est|c'est|es|era|é|è|это|ficou|ist|lautet|(?:changed|(?:re-?)?set|updated|switched)\sto)(?![a-z0-9])|[:=]{1,3}>?"
    rf"|[-=]>|→|(?<=\s)-(?=\s)|叫做?|[是为為用はをに]|が|은|는|이|가|을|를|{_BECOMES})"
)
_LINKED = (
    rf"(?>'s(?![a-z0-9])(?:\s{{1,3}}+{_FILLER}){{0,3}}+\s{{1,3}}+"
    rf"|{_CLOSED}{_ABOUT}(?:\s{{0,3}}+{_FILLER}){{0,5}}+\s{{0,3}}+{_LINK}"
    rf"(?:\s{{0,3}}+(?:{_FILLER}|{_LINK})){{0,4}}+[\s*_]{{0,4}}+)"
)
_CHANGED = (
    rf"\s{{0,3}}+(?>从|由|を|from\s)\s{{0,2}}+(?:({_TOKEN}{{4,64}}+)|[^\n{HIDDEN}]{{1,24}}?)"
    rf"\s{{0,2}}+(?>{_BECOMES}|から|to\s)了?+\s{{0,3}}+"
)
"""A change from a former password, which is also secret, to a new one."""
_ADJOINED = rf"(?>{_CLOSED}\s{{1,3}}+|(?<=[\u3040-\u9fff]))"

_QUOTED = (
    rf"(?:\"{_NO_PASSWORD}{_NO_ADJECTIVE}([^\s\"{HIDDEN}]{{4,64}}+)\""
    rf"|'{_NO_PASSWORD}{_NO_ADJECTIVE}([^\s'{HIDDEN}]{{4,64}}+)'"
    rf"|[「『《]{_NO_PASSWORD}{_NO_ADJECTIVE}([^\s」』》{HIDDEN}]{{4,64}}+)[」』》])"
)
_HAS_DIGIT = rf"(?={_TOKEN}{{0,64}}?[0-9])"
_HAS_SIGN = rf"(?={_TOKEN}{{0,64}}?[!@#$%^&+=~|\\?][a-z0-9])"
_HAS_BOTH = (
    rf"(?={_TOKEN}{{0,64}}?[a-z])(?=(?:[!-/:-~]{{0,24}}+[0-9]){{3}}"
    rf"|(?={_TOKEN}{{0,64}}?[0-9]){_TOKEN}{{0,64}}?[!@#$%^&*?])"
)
_VALUE = (
    rf"(?>{_QUOTED}|([\u3400-\u9fff]{{1,8}}+[0-9]{{6,20}}+)"
    rf"|[\"'「『《]?+(?![:=,;]){_NO_PASSWORD}(?:{_HAS_DIGIT}|{_HAS_SIGN})({_TOKEN}{{4,}}+))"
)
_LONE_VALUE = (
    rf"[\"'「『《]?+(?=[a-z0-9!@#$%^&]){_NO_PASSWORD}(?>([0-9]{{6,12}}+)(?![a-z0-9])"
    rf"(?!\s?(?:times|attempts|[次回个個种種位]))|{_HAS_BOTH}({_TOKEN}{{6,}}+))"
)
"""A value directly after a label, which must look more like a password than a linked one."""

_PIN_VALUE = (
    rf"[\"']?+(?!{MEASURE}|(?:19|20)[0-9]{{2}}-[01][0-9]-[0-3][0-9])"
    r"([0-9](?:[ -]?+[0-9]){3,7}+)(?![a-z0-9]|[.,:][0-9])"
)
_PLACE = r"(?>door|gate|locker|lock|entry|alarm|safe|vault|garage|keypad)"
_LOCK_VALUE = rf"(?!{MEASURE})([#*]?[0-9](?:[ -]?+[0-9]){{3,11}}+[a-z#*]?+)"
_WORDS = r"(?:[a-z0-9'-]{1,20}+\s){0,4}?"

_FIRST = (
    rf"(?<!{_SIGN}){_NO_PASSWORD}(?={_SIGN}{{0,64}}?[a-z]){_HAS_DIGIT}({_SIGN}{{6,64}}+)"
    r"(?:\s(?>is|was|as)\s(?>the|my|our|your|his|her|their|its)(?![a-z0-9])\s"
    r"(?:[a-z-]{1,16}+\s){0,3}?|\s?(?>就?[是为為]|作为|は|が)[a-z\u3040-\u9fff]{0,8}?)"
    rf"{_LABEL}"
    r"(?!\s?(?>manager|generator|app|policy|field|hash|vault|format|rule)|[a-z0-9]|管理|マネ|生成)"
)
"""A value named before its label: "sunny_77x is the new password"."""

_CLAUSE = rf"\s(?>i|we|you|he|she|they|it)\s(?:{_ANY_WORD}\s){{1,4}}?(?>is|was)\s{{1,2}}+"
"""What is told of a password before it: "I use is", "we agreed on was"."""
_PHRASE = rf"\"((?:{_ANY_WORD}\s){{2,7}}+{_ANY_WORD})\""
_CAREFUL = (
    rf"{_NO_PASSWORD}(?!\$[0-9])(?={_TOKEN}{{0,64}}?[a-z])"
    rf"(?>{_HAS_BOTH}({_TOKEN}{{6,}}+)|{_HAS_DIGIT}({_TOKEN}{{8,}}+))"
)
"""A value after a label that also means something else."""
_TYPED = (
    rf"(?<![a-z])unlock(?![a-z])\s{_WORDS}(?>type|enter|press|dial|tap|use|is|with|it's)\s"
    r"(?:in\s)?([0-9]{4,10}+)(?![a-z0-9]|[.,:][0-9])"
)

_TURNED = r"\s(?>en|à|auf|a|zu|in|por|to)\s"
"""A change to a new password, in languages that say it with a preposition."""

_NO_WORD = (
    r"(?!(?:string|str|text|required|optional|none|null|true|false|yes|no|wrong|incorrect|invalid|missing|unknown|hidden|forgot|forgotten|expired"
    r"|weak|strong|changed|reset|same|none|secret|todo|password|passwort|vergessen|falsch|oubliée?|olvidada|esquecida|dimenticata|забыл[аи]?|bytes|int|varchar|char"
    r"|changeme|example|whatever|something|nope|never|still|ugh)(?![a-z\u00e0-\u00ff]))"
)
_LETTERS = r"[a-z\u00c0-\u024f\u0300-\u036f\u0400-\u04ff]"
_COLON = (
    rf"(?<![a-z_.$])(?>pass(?:word|code|phrase|wd)|passwort|kennwort|mdp|mots?\sde\spasse|contrase(?:ñ|n)a|senha|parola\sd'ordine|[Пп]ароль|pw)"
    rf"{_ABOUT}\s?:\s{_NO_WORD}({_LETTERS}{{5,32}}+)(?=\s{{0,2}}(?:\n|\Z|[,;!)]|\.(?:\s|\Z))|\s(?>pour|for|für|para|per|для|по|de|en|on)\s)"
)
"""A value of letters alone after a colon, with nothing more to say."""
_SPELT = (
    rf"(?>{_LABEL}|wi-?fi|wlan)[^\n.:;{HIDDEN}]{{0,32}}?(?>is|was|ist|est|es|é|è|:)\s({_LETTERS}{{5,40}}+),?\s\(?(?>all|in|no|alles|tout|todo|tudo|tutto|всё|с)\s"
    r"(?:in\s|en\s|em\s|one\s)?(?>lower|upper|small|caps|capital|word|spaces|klein|groß|minuscule|majuscule|min[uú]scul|may[uú]scul|mai[uú]scul|attaché|junto|attaccato|маленьк|больш)"
)
"""A value of letters alone, and how it is spelt."""
COMMANDS = (
    rf"(?:curl|https?|wget)\s[^\n{HIDDEN}]{{0,60}}?(?>-u|--user)[\s=][\w.@-]{{1,40}}+:([^\s{HIDDEN}\"']{{4,64}}+)",
    rf"(?:mysql|mysqldump|mariadb|mysqladmin)\s[^\n{HIDDEN}]{{0,60}}?-p([^\s{HIDDEN}\"'-][^\s{HIDDEN}\"']{{3,63}}+)",
    rf"(?:redis-cli|sshpass|psql|ldapsearch)\s[^\n{HIDDEN}]{{0,60}}?-(?:a|p|w)\s?[\"']?([^\s{HIDDEN}\"'-][^\s{HIDDEN}\"']{{5,63}}+)",
)
PAIR = (
    rf"(?i:(?:(?<![a-z0-9._%+:/-])[a-z0-9._%+-]{{1,64}}+@(?:[a-z0-9-]{{1,63}}+\.){{1,3}}[a-z]{{2,12}}+|(?<![a-z0-9])(?:admin|root|administrator))(?:\s?[/|,;]\s?|\s?:\s?(?=[a-z])|\s)"
    rf"(?!{_CODE}|[a-z0-9._-]{{1,64}}@){_HAS_DIGIT}(?={_TOKEN}{{0,64}}?[a-z])(?!(?:iphone|windows|android|office|ios)|[0-9]{{1,3}}[a-z]|[0-9:.]{{1,8}}[ap]m|[a-z]{{1,3}}[0-9]{{1,4}}(?![a-z0-9])|v[0-9])({_SIGN}{{7,64}}+))"
)
"""A user name, and the password beside it."""

PASSWORDS = (
    rf"(?i:{_COLON})",
    rf"(?i:{_SPELT})",
    rf"(?<![A-Za-z0-9])[A-Z][A-Z0-9_]{{0,16}}?(?>PASSWORD|PASSWD|PASS|PWD)\s?=\s?[\"']?(?i:{_NO_WORD}{_NO_PASSWORD})(?![$<{{\[%*])([!#-&(-:<-~]{{6,64}}+)",
    rf"(?i:{_FIRST})",
    rf"(?i:{_LABEL}(?:{_CHANGED}{_VALUE}|{_LINKED}{_VALUE}|{_ADJOINED}{_LONE_VALUE}))",
    rf"(?i:{_LABEL}{_TURNED}{_LONE_VALUE})",
    rf"(?i:{_LABEL}{_CLAUSE}(?:{_PHRASE}|{_VALUE}))",
    rf"(?i:(?<![a-z])(?>pass|clave|wi-?fi|wlan|(?>la|mi|tu|su)\scontra){_LINKED}{_CAREFUL})",
    rf"(?i:{_TYPED})",
    rf"(?i:密[码碼]{_NO_PASSWORD}(?=[a-z]{{4,24}}+[0-9]{{2}})([a-z]{{4,24}}+[0-9]{{2,12}}+)(?![a-z0-9]))",
    rf"(?i:(?>chang|set|reset|updat|switch)[a-z]{{0,4}}+\s{_WORDS}{_LABEL}{_ABOUT}"
    rf"\sto\s(?:now\s)?+{_VALUE})",
    r"(?i:(?<![a-z0-9])pin(?:[ -]?(?:code|number|[码碼]|番号|コード))?+(?![a-z0-9])"
    rf"(?:{_LINKED}|\s{{1,2}}+(?!(?:19|20)[0-9]{{2}}(?![0-9]))){_PIN_VALUE})",
    rf"(?i:暗証番号{_PIN_VALUE})",
)
LOCK_CODES = (
    rf"(?i:(?<![a-z0-9]){_PLACE}(?:'s)?+[ -]{{1,3}}+{_WORDS}(?>code|combination)s?+{_ABOUT}"
    rf"(?:[\s,;(]{{0,3}}+(?:{_FILLER}|{_LINK})){{0,6}}+[\s,:;(]{{0,3}}+{_LOCK_VALUE})",
    rf"(?i:(?<![a-z0-9])(?>code|combination)\s(?>for|to|of|on)\s{_WORDS}{_PLACE}"
    rf"(?:\s{{0,3}}+(?:{_FILLER}|{_LINK})){{1,5}}+\s{{0,3}}+{_LOCK_VALUE})",
    r"(?>保险[箱柜]|(?<![部专專热熱入澳厦廈])[门門]|玄関|ドア|金庫|オートロック)"
    rf"[^0-9\s{HIDDEN}]{{0,6}}?(?>密[码碼]|代[码碼]|[码碼]|番号|コード)[^0-9\n{HIDDEN}]{{0,8}}?"
    rf"(?i:{_LOCK_VALUE})",
    r"(?i:(?<![a-z])(?>digicode|code\s(?:de\sla\s|du\s|de\s?l'|d')(?:porte|portail|immeuble|alarme"
    r"|garage|coffre)|(?:tür|haustür|tor|alarm|garagen)-?code|código\sde(?:l|\sla)?\s(?:puerta"
    rf"|portal|alarma|garaje|caja\sfuerte)){_LINKED}(?!{MEASURE})"
    r"([#*]?(?=[0-9a-z]{0,7}?[0-9]{2})[0-9a-z]{4,8}+[#*]?)(?![a-z0-9]))",
    r"(?>현관|도어 ?락|출입문|대문|금고)\s?(?>비밀 ?번호|비번|코드)"
    rf"[^0-9\n{HIDDEN}]{{0,6}}?(?i:{_LOCK_VALUE})",
)
