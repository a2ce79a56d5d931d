"""Words that name passwords, codes and the things that they open, in ten languages.

They are parts of patterns, in lower case and composed letters. Chinese, Japanese and Korean words
may stand beside anything; the others are words of their own.
"""

_LETTER = "a-zà-ÿа-яё"


def _own(*words: str) -> str:
    """Return the pattern of words that no letter precedes or follows."""
    return rf"(?<![{_LETTER}])(?:{'|'.join(words)})(?![{_LETTER}])"


def _any(*parts: str) -> str:
    return f"(?:{'|'.join(parts)})"


_OF_CARD = (
    r"(?:code|clave|c[oó]digo|codice|senha|contraseña|n[uú]mero)s? (?:secret[oa]?|segreto"
    r"|confidentiel"
    r"|(?:d[eaou]l?a?s?|du|pour) (?:[a-z]{2,5} )?(?:carte?|cart[aã]o|cb|sim|tarjeta|cajero"
    r"|multibanco|m[oó]vil|celular"
    r"|t[eé]l[eé]phone|tel|iphone|bancomat|telefono|banco|banca))"
)
PIN = _any(
    _own(
        r"pins?(?:[ -]?(?:codes?|numbers?|nummer|number))?(?! (?:badge|collection|board|up|down"
        r"|head))",
        r"pass ?codes?|(?:puk|wps)s?(?:[ -]?codes?)?|geheim(?:zahl|nummer|code)|(?:entsperr"
        r"|sperr)[a-zäöü]{0,12}",
        r"(?:unlock|screen|card|lock ?screen) ?(?:code|number)|(?:un)?locks? (?:my|the|his|her"
        r"|your) [a-z]{2,8}",
        _OF_CARD,
        r"code (?:de )?(?:déverrouillage|carte bleue)|c[oó]digo de (?:desbloque(?:o|io))"
        r"|codice (?:di )?sblocco",
        r"(?:number|code|nummer|code|numer(?:o|ino)|n[uú]mero|c[oó]digo|codice|numéro) (?:of|for"
        r"|from|der|von|de|della|do|da|du) (?:[a-z]{2,4} )?sim",
        r"sim[ -]?(?:number|code|pin|nummer|lock)|pin ?kodu|kart[a-zı]{0,6} şifre[a-z]{0,3}"
        r"|kod pin|pincode|toegangscode",
        r"пин(?:[ -]?код[а-я]*)?|пук(?:[ -]?код[а-я]*)?|код[а-я]* (?:от|для|к) (?:карт|телефон"
        r"|сим|экран)[а-я]*",
    ),
    r"暗証番号|パスコード|(?:ロック|画面).{0,4}解除|ピン(?:コード|番号)|解[锁鎖].{0,3}[码碼]|取款.{0,3}[码碼数]"
    r"|锁屏|支付密[码碼]|पिन|الرقم السري|رمز|핀 ?(?:번호|코드)|잠금",
)
"""What a number of four to eight digits opens: a card, a telephone, a SIM."""

PASSWORD = _any(
    _own(
        r"pass ?words?|passwd|pass ?phrases?|pwd?s?|passw(?:ort|örter)[a-zä]*|kenn(?:wort"
        r"|wörter)[a-z]*",
        r"mots? de passe|mdp|contrase(?:ñ|n)as?|(?:la|mi|tu|su|nueva|esta) contra|claves?|senhas?",
        r"palavras?[ -]passe|parol[ae] (?:d'ordine|d'accesso|chiave)|пар[оа]л[а-я]{1,4}"
        r"|пасс?в[оа]рд[а-я]*",
        r"wachtwoord(?:en)?|şifre[a-zıi]{0,4}|parola(?:m|n|s[ıi])?|hasł[oaeu]m?",
    ),
    r"कूट|पासवर्ड|كلمة (?:ال)?(?:سر|مرور)|كلمة السر|كلمة المرور|密[码碼]"
    r"|口令|パス(?:ワ|フレ|[がは:はを])"
    r"|비밀 ?번호|비번|패스워드|암호",
)
LOGIN = _any(
    _own(
        r"log(?:in|s)?(?:[ -](?:in|on|into|to))?|credentials?|(?:ein|an)log(?:gen|gt|g)"
        r"|zugangsdaten|identifiants?",
        r"g[eo]ts? (?:(?:me|you|us|him|her) )?in(?:to)?|wordpress|admin|root|ssh|ftp|dashboard"
        r"|account|konto|cuenta|compte|conta|log(?:uear|ar)me|accesso|acceder|entrar en|accedere"
        r"|credenziali|вход[а-я]*|зайти|логин[а-я]*",
    ),
    r"ログイン|登[录錄陆]|账号|帳號|로그인|계정",
)
"""What is also said where only a user name is told."""
WIFI = _any(
    _own(
        r"wi-?fi|wlan|router|fritz!?box|hot ?spot|wpa2?|(?:home |guest )?network|netzwerk|internet",
        r"réseau|box|red|rede|rete|modem|вай-?фа[а-я]{1,2}|роутер[а-я]*|сет[иь]ю?",
    ),
    r"无线|网络|網路|网路|路由器?|ワイファイ|ルーター|回線|와이파이|공유기|네트워크",
)

_DETERMINED = r"(?:the|my|our|his|her|their|a|small|little|big|old|new|hotel|gun|wall|room|floor)"
LOCK = _any(
    _own(
        rf"keypads?|pad ?locks?|(?:bike|u|door|smart|combo|combination|cable|suitcase|luggage"
        rf"|gym|chain|d)[ -]?locks?"
        rf"|{_DETERMINED} (?:locks?|safe)|lockers?|lock ?box(?:es)?|key ?(?:box(?:es)?|safe)"
        rf"|vault|front door|gate|garage|shed"
        r"|(?:building|main|side|back) (?:door|entrance)|door|entrance|entry|suitcase|luggage"
        r"|mailbox|buzzer|intercom",
        r"tresor[a-z]{0,6}|(?:zahlen|fahrrad|vorhänge|tür|rad|bügel|koffer)?schlos[sß]e?s?"
        r"|haustür|eingang[a-z]{0,3}"
        r"|garagentor|garage|schließfach|spind|schlüsselbox|schlüsseltresor|tor|koffer"
        r"|briefkasten|hintertür",
        r"cadenas|coffre(?:-fort)?|antivol|portail|immeuble|interphone|casier|valise|hall|porte"
        r"|digicode|boîte à clés",
        r"caja fuerte|candado|portal|taquilla|maleta|garaje|puerta|portero|cerradura|cochera",
        r"portão|cadeado|cofre|armário|mala|garagem|porta|portaria|interfone|fechadura|prédio",
        r"cijferslot|fietsslot|slot|kluis(?:je)?|voordeur|kilit|kasa(?:nın)?|kapı(?:nın)?"
        r"|kłódk[aąi]|sejf[a-z]{0,2}|drzwi|bram[ay]|domofon[a-z]{0,2}",
        r"lucchetto|cassaforte|armadietto|valigia|portone|citofono|cancello|serratura|box",
        r"сейф[а-я]*|домофон[а-я]*|замок|замка|замк[а-я]+|подъезд[а-я]*|шкафчик[а-я]*"
        r"|ворот[а-я]*|чемодан[а-я]*"
        r"|двер[а-я]+|калитк[а-я]*|велозамок",
    ),
    r"保[险險][箱柜櫃]|门[锁鎖禁]|門[锁鎖禁]|密[码碼][锁鎖]|单元门|大门|车库|行李箱|储物柜|挂锁|车锁"
    r"|金庫|南京錠|ダイヤル|オートロック|宅配ボックス|ロッカー|玄関|鍵|スーツケース|キーボックス|ドア"
    r"|자물쇠|금고|도어 ?락|현관|사물함|출입문|캐리어|대문|차고",
)
"""Things that a number opens."""
ALARM = _any(
    _own(
        r"(?:burglar |house |home )?alarms?|alarm(?:anlage|e|a)|allarme|antifurto|сигнализаци[а-я]+"
    ),
    r"警报|警報|防盗|アラーム|경보|보안 ?시스템",
)
LOCK_CODE = _any(
    _own(
        r"codes?|combos?|combinations?|(?:zahlen)?kombination|kombi|zahlencode|combinaison"
        r"|combinaci[oó]n"
        r"|combina(?:ção|cao)|combinazione|c[oó]digo|codice|код[а-я]{0,2}|комбинаци[а-я]+"
        r"|шифр[а-я]*",
    ),
    r"[密门門代暗][码碼]|番号|コード|번호|비번|코드",
)

SOCIAL = _own("social", "ssn", "social security(?: number)?", "social insurance")
CARD = _any(
    _own(
        r"(?:debit|bank|credit|atm|payment)[ -]?cards?|(?:my|the|a|his|her|this"
        r"|that) (?:new )?card|cash ?(?:machine|point)|atm|visa|master ?card|amex"
        r"|(?:ec-?|bank|giro|kredit)[ -]?karten?|geldautomat|carte (?:bleue|bancaire|de crédit)"
        r"|tarjetas?|cajero"
        r"|cart[aã]o|caixa eletr[oô]nico|bancomat|carta (?:di credito)?|postepay|карт[аыуео]й?"
        r"|банкомат[а-я]*",
    ),
    r"取款|银行卡|信用卡|储蓄卡|キャッシュカード|クレカ|クレジットカード|カード|체크카드|신용카드|카드",
)

ONE_TIME = _any(
    _own(
        r"(?:log-?in|sign-?in|verification|security|confirmation|auth(?:entication)?|access|sms"
        r"|text|one[ -]time|2fa|mfa"
        r"|6[ -]digit|six[ -]digit|activation|bank|whatsapp|telegram|google|facebook|instagram"
        r"|insta|paypal|apple|uber|discord|snapchat|tiktok|backup|recovery|reset) ?(?:pass)?code"
        r"|otps?|one[ -]time (?:password|pin)|2fa|verify",
        r"(?:einmal|bestätigungs|sicherheits|verifizierungs|sms|login|freischalt)-?(?:code"
        r"|passwort|pin|tan)s?|tan",
        r"(?:code|c[oó]digo|codice|clave|senha) (?:d[ei]l? )?(?:[a-z]{2,3} )?(?:vérification"
        r"|verifica(?:ci[oó]n|ção|cao)|verifica"
        r"|confirmation|confirma(?:ci[oó]n|ção|cao)|conferma|sécurité|seguridad|segurança"
        r"|sicurezza|validation|sms|acceso"
        r"|acesso|accesso|usage unique|un solo uso|uso único|(?:um )?uso|bizum|whatsapp"
        r"|instagram|recuperaci[oó]n|recuperação|recupero|récupération|secours|autenticaci[oó]n"
        r"|autenticação|activación)",
        r"codice (?:otp|sms)|код[а-я]{0,2} (?:подтверждени|из смс|из sms|из сообщени|вход"
        r"|проверк|авторизаци)[а-я]*|смс-?код[а-я]*",
        r"одноразов[а-я]+ (?:код|пароль)[а-я]*",
    ),
    r"[验驗校][证證验驗][码碼]|动态[码碼]|确认[码碼]|短信[码碼]|認証(?:コード|番号)|確認(?:コード|番号)|ワンタイム"
    r"|인증 ?(?:번호|코드)|일회용 ?(?:비밀번호|번호)|otp",
)
CHECK_CODE = _any(
    _own(
        r"c[vs]v2?|cvc2?|(?:three|3|last three|last 3)(?: digits?| numbers?"
        r"| ones)? (?:[a-z']{2,6} ){0,2}?(?:on|at|off|from) (?:the|its) back",
        r"security (?:code|number)|kartenprüf(?:nummer|ziffer)|prüf(?:nummer|ziffer)"
        r"|sicherheits(?:code|nummer)",
        r"(?:trois|3) (?:chiffres|derniers)[a-z ]{0,10} (?:au dos|derrière)|cryptogramme"
        r"|code de sécurité",
        r"c[oó]digo de (?:seguridad|segurança|verificación)|(?:tres|três|3) (?:n[uú]meros"
        r"|d[ií]gitos) (?:de )?(?:detrás|atr[aá]s|del? (?:reverso|verso))",
        r"codice di sicurezza|(?:tre|3) (?:cifre|numeri) (?:sul|dietro|sul retro)"
        r"|код (?:на обороте|безопасности)"
        r"|(?:три|3) цифры (?:на обороте|сзади|с обратной)|[cс]vv?-?код",
    ),
    r"安全[码碼]|(?:背面|后面|背后).{0,4}[三3][位个個]?|裏.{0,4}[三3]桁"
    r"|セキュリティー?コード|뒷면 ?(?:세|3) ?자리|보안 ?코드",
)
KEY = _any(
    _own(
        r"[a-z_-]{0,24}(?:key|token|secret)s?"
        r"|auth|cred(?:ential)?s|aws|bearer|api|metamask|(?:crypto )?wallet|clés?|claves?"
        r"|llaves?|secreta?s?|schlüssel|geheimnis"
        r"|chiav[ei]|segret[oae]|chaves?|segredo|jeton|ключ[а-я]{0,2}|секрет[а-я]{0,4}"
        r"|токен[а-я]{0,2}",
    ),
    r"密[钥鑰]|秘[钥鑰]|令牌|私[钥鑰]|キー|鍵|トークン|シークレット|비밀 ?키|개인 ?키|토큰|키",
)
HASH = (
    r"(?<![a-z])(?:commits?|hash(?:es)?|sha-?(?:1|256|512)?|md5|checksum|digest|tx|transaction"
    r"|block|etag"
    r"|revision|rev|git log|uuid|integrity|torrent|magnet|fingerprint)(?![a-z])"
    r"|哈希|校验|ハッシュ|해시"
)
"""What says that letters and digits are no key."""
