"""How people and messages state a code, a recovery phrase or the number of a document.

These are parts of patterns for text in plain ASCII signs and any case; see `secret_patterns`. A
letter with a mark, and all of Hangul, may stand only outside of brackets: see `_apart` there.
"""

from souffleur.knowledge.privacy.password_phrases import HIDDEN, MEASURE

_LINK = (
    r"(?:[\s:=#(,\"'“是为為はを]|が|은|는|이|(?:is|was|are|est|es|ist|lautet|now|this|no|nr|n|le|la|el|der|die)"
    r"(?![a-z0-9])|[.º°](?=\s)){0,8}+"
)
_END = r"(?![A-Za-z0-9]|[.:,][0-9])"
_L = r"(?<![A-Za-z0-9])"
_SOON = rf"[^\n0-9{HIDDEN}]{{0,24}}?{_L}(?<![0-9][.,])"
"""A few words between a label and its number."""

_CHECK_CODE = (
    r"(?>(?<![a-z0-9])(?:c[vs]v2?|cvc2?)(?:\s(?:code|number))?(?![a-z0-9])"
    r"|card\s(?:security|verification)"
    r"\s(?:code|value)|安全[码碼]|セキュリティー?コード|보안 ?코드|cryptogramme)"
)
_ONE_TIME = (
    r"(?>(?<![a-z])(?:(?:verification|security|log-?in|sign-?in|authentication|auth|confirmation"
    r"|one-time|access|two-factor|[23]fa|mfa|sms|otp)[\s-](?:pass)?code|otp(?![a-z])"
    r"|one-time\spass(?:word|code))"
    r"|(?:验证|驗證|校验|校驗|动态|動態|确认|確認)[码碼]|(?:認証|確認)コード"
    r"|ワンタイムパスワード|인증 ?(?:번호|코드)"
    r"|code\sde\s(?:vérification|confirmation|sécurité|validation)"
    r"|código\sde\s(?:verificación|seguridad|confirmación)"
    r"|(?:Bestätigungs|Verifizierungs|Sicherheits)code)"
)
_SHORT_CODE = rf"(?!{MEASURE})([0-9]{{4,8}}+|[0-9]{{3}}[ -][0-9]{{3}})(?![A-Za-z0-9]|[.:][0-9])"
_RECOVERY = (
    r"(?>(?<![a-z])(?:backup|recovery|rescue)\scodes?(?![a-z])|恢[复復][码碼]|[备備]用[码碼]"
    r"|(?:リカバリー|バックアップ)コード|복구 ?코드)"
)
_GROUPED = r"(?>[a-z0-9]{3,10}(?:-[a-z0-9]{3,10}){1,5}+|[0-9]{6,10}+)"

CODES = (
    rf"(?i:{_CHECK_CODE}{_LINK}(?!{MEASURE})([0-9]{{3,4}}+){_END})",
    rf"(?i:{_ONE_TIME}{_LINK}{_SHORT_CODE})",
    rf"(?<![A-Za-z])(?:m|sms-?|SMS-?)?TAN(?![A-Za-z])(?i:{_LINK}{_SHORT_CODE})",
    rf"(?i:{_L}(?>([0-9]{{4,8}}+)|([0-9]{{3}}[ -][0-9]{{3}}))\s(?:is|as)\s(?:your|my|the|our)\s"
    rf"(?:[a-z0-9.-]{{1,16}}+\s){{0,3}}?{_ONE_TIME})",
    rf"(?i:{_RECOVERY}{_LINK}((?=[a-z0-9-]{{0,24}}?[0-9]){_GROUPED}"
    rf"(?:[\s,;]{{1,3}}+{_GROUPED}){{0,15}}+))",
)
"""Card check codes, one-time codes, codes for recovery."""

_COMMON = r"(?!(?:the|and|for|with|was|are|who|has|from|not|but|his|her|she|words?)(?![a-z]))"
"""English words that no list of seed words has."""
_SEED_WORD = rf"{_COMMON}[a-z]{{3,8}}+"
SEED_PHRASE = (
    r"(?i:(?>(?:seed|recovery|mnemonic|wallet|backup)\s(?:phrase|words|seed)|mnemonic"
    r"|助[记記][词詞]"
    r"|(?:シード|リカバリー)フレーズ|ニーモニック|니모닉|시드 ?(?:구문|문구)"
    r"|frase\s(?:semilla|de\srecuperación)"
    rf"|phrase\sde\srécupération))[^\n{HIDDEN}]{{0,24}}?(?<![a-z])"
    rf"((?i:(?:{_SEED_WORD}[\s,.;:0-9-]{{1,6}}+){{11,23}}+{_SEED_WORD}))"
)
"""Twelve to twenty-four words after their label."""

PASSPORT = (
    r"(?i:(?>passport|护照|護照|パスポート|旅券|passeport|pasaporte|reisepass|personalausweis|여권))"
    rf"{_SOON}(?!(?:19|20)[0-9]{{2}}[01][0-9][0-3][0-9]{_END})"
    rf"((?i:[A-Z]{{0,2}})[0-9]{{6,9}}(?i:[A-Z]{{0,2}})"
    rf"|(?=[A-Z]{{0,6}}[0-9](?:[A-Z]{{0,6}}[0-9]){{2}})[CFGHJKLMNPRTVWXYZ][CFGHJKLMNPRTVWXYZ0-9]{{8}}[0-9]?){_END}"
)
LICENCE = (
    r"(?i:(?>driv(?:er'?s?'?|ing)\slicen[cs]e|驾照|驾驶证|駕照|運転免許|permis\sde\sconduire"
    rf"|führerschein|운전 ?면허)){_SOON}([A-Z]{{0,5}}+[0-9]{{6,12}}+[A-Z0-9]{{0,6}}+){_END}"
)
TAX = (
    r"(?i:(?>tax(?:payer)?\s(?:id(?:entification)?|number|no)(?![a-z])|(?<![a-z])(?:i?tin|ein)(?![a-z])"
    rf"|纳税人识别号|税号|numéro\sfiscal|steuernummer)){_SOON}"
    rf"([0-9](?:[ /-]?+[0-9]){{7,16}}+){_END}"
)
ACCOUNT = (
    r"(?i:(?>account\s(?:number|no(?![a-z])|#)|bank\saccount"
    r"|(?:银行)?(?:账|帐)[号户]|口座番号|계좌 ?번호"
    rf"|numéro\sde\scompte|kontonummer|número\sde\scuenta)){_SOON}"
    rf"([0-9](?:[ -]?+[0-9]){{5,17}}+){_END}"
)


def labelled(label: str, number: str) -> str:
    """Return the pattern of a number soon after its label."""
    return rf"(?i:{_L}(?>{label}){_SOON}({number})){_END}"
