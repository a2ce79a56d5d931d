"""Keys, tokens and recovery codes that words elsewhere in their sentence name."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.surroundings import VALUE, near
from souffleur.knowledge.privacy.value_checks import has_many_sorts, is_prefixed_key, is_random
from souffleur.knowledge.privacy.vocabulary import words

_L, _R = "(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"
_NO_PATH = r"(?<![A-Za-z0-9_+/.-])"
_NO_DASH, _NO_DASH_AFTER = "(?<![A-Za-z0-9-])", "(?![A-Za-z0-9-])"

_NO_KEY = (
    r"(?!AAAA[BCE][0-9]Nza|eyJ|iVBOR|(?:[13][1-9A-HJ-NP-Za-km-z]{25,33}|Qm[1-9A-HJ-NP-Za-km-z]{44})"
    r"(?![A-Za-z0-9])|0x[0-9A-Fa-f]{40}(?![0-9A-Fa-f])|(?>(?:[a-z0-9-]{1,32}+\.){1,3}?(?:com|org|net|io|dev|app|be|co|me|ai|gl|so)/)"
    r"|(?:pi|re|ch|cus|in|sub|evt|seti|pm|txn|po|acct|price|prod|cs_(?:live|test)|src)_[A-Za-z0-9]{14,64}"
    r"(?![A-Za-z0-9_])|(?:AC|CA|CF|MG|MM|PN|RE|SM|US|ZS)[0-9a-f]{32}(?![0-9a-f]))"
)
"""Public keys, headers of tokens, pictures, public addresses of coins, files and pages, and the
numbers of payments and messages."""

LONG = (
    Rule(
        "an access token",
        "the token is ⟦cfxV7V40RY7AQbPENDZ1vMYF⟧",
        rf"{_NO_PATH}(?<![?&][a-z]=)(?<![?&]id=){_NO_KEY}((?=[A-Za-z0-9])(?>[A-Za-z0-9_+/~-]"
        r"|=(?![A-Za-z0-9])|\.(?=[A-Za-z0-9])){20,256}+)(?!\$)",
        near(words("key", "password"), unless=words("hash", "named_public")),
        is_random,
    ),
    Rule(
        "an access token",
        "this one for the bot: ⟦cfxV7V40RY7AQbPENDZ1vMYF9xQ2⟧",
        rf"{_NO_PATH}(?<![?&][a-z]=)(?<![?&]id=){_NO_KEY}"
        r"((?=[A-Za-z0-9])(?>[A-Za-z0-9_+/~-]|=(?![A-Za-z0-9+/])|\.(?=[A-Za-z0-9])){24,256}+)(?![$@(\[])",
        near("", before=40, after=30, unless=words("hash", "named_public", "public_key")),
        is_random,
    ),
    Rule(
        "an access token",
        "the new one is ⟦tgp_v1_8f3k2m9q7x1z8f3k2m9q7x1z⟧",
        rf"{_NO_PATH}((?=[A-Za-z])[A-Za-z0-9_.~-]{{24,256}}+)(?![$@(\[/])",
        near("", before=40, after=30, unless=words("hash", "named_public", "public_key")),
        is_prefixed_key,
    ),
    Rule(
        "an access token",
        "secret ⟦9f3c2ab81d049f3c2ab81d049f3c2ab8⟧",
        rf"{_NO_PATH}((?!0x[0-9a-f]{{40}}(?![0-9a-f]))(?:0x)?(?=[a-f]{{0,31}}?[0-9])"
        rf"[0-9a-f]{{32,128}}+){_R}",
        near(words("key", "password"), before=50, after=35, unless=words("hash")),
    ),
    Rule(
        "an access token",
        "the steam web api key: ⟦FC4D83CEE9B9BCCA0FCE9594DC72AA7A⟧",
        rf"{_NO_PATH}((?=[A-F]{{0,31}}?[0-9])[0-9A-F]{{32}}){_R}",
        near(words("key"), before=50, after=35, unless=words("hash")),
    ),
    Rule(
        "an access token",
        "heroku api key ⟦f846d345-3032-5fed-10a4-7b851832b6ec⟧",
        rf"{_NO_PATH}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}){_R}",
        near(
            rf"(?:{words('password')}|(?<![a-z])(?:keys?|secrets?|tokens?|bearer|密[钥鑰]|令牌|キー|トークン|토큰|키))"
            rf"[^\n0-9]{{0,24}}{VALUE}",
            before=50,
            after=4,
            unless=words("hash"),
        ),
    ),
    Rule(
        "a wallet key",
        "Он завёл кошелёк: ⟦0x4f1c9be0a27d35c8e6f20b917ad4835ce9017bb2d6f3c40a58e1729d0cb6f35a⟧",
        rf"{_NO_PATH}((?:0x)?[0-9a-f]{{64}}){_R}",
        near(words("chain"), before=150, after=80, unless=words("hash")),
    ),
    Rule(
        "a licence key",
        "⟦K7QPX-2MWVT-9RJDC-4HBNF-8GYLS⟧",
        rf"{_NO_DASH}(?=[A-Z-]{{0,28}}?[0-9])(?=[0-9-]{{0,28}}?[A-Z])"
        rf"([A-Z0-9]{{5}}(?:-[A-Z0-9]{{5}}){{4}}){_NO_DASH_AFTER}",
    ),
    Rule(
        "a licence key",
        "the product key: ⟦K7QP-2MWV-9RJD⟧",
        rf"{_NO_DASH}(?=[A-Z-]{{0,12}}?[0-9])(?=[0-9-]{{0,12}}?[A-Z])"
        rf"([A-Z0-9]{{4,8}}(?:-[A-Z0-9]{{4,8}}){{2,7}}+){_NO_DASH_AFTER}",
        near(words("licence_key"), unless=words("no_licence")),
    ),
    Rule(
        "a licence key",
        "⟦471920-118304-559217-603381-220946-715038-330129-904417⟧",
        rf"{_NO_DASH}([0-9]{{6}}(?:-[0-9]{{6}}){{7}}){_NO_DASH_AFTER}",
    ),
)
"""Long keys, tokens and licence keys."""

ASSIGNED = (
    Rule(
        "a password",
        "DB_PASSWORD_PROD = '⟦BkBIDac43a+MEz⟧'",
        r"(?i:(?<![a-z0-9?&])[a-z0-9_]{0,30}?(?>secret|token|passw(?:or)?d|passwd|pass|pwd"
        r"|api_?key|psk|wpa_passphrase|private_?key|access_?key|signing_?key|encryption_?key|credentials?)"
        r"(?>_[a-z0-9_]{1,20}+)?[\"']?\s?[=:]\s?[\"']?)(?![$<{\[])"
        r"([A-Za-z0-9!#$%&*+=?@^_~./|\\-]{8,256}+)(?![(\[])",
        check=has_many_sorts,
    ),
    Rule(
        "an access token",
        "Cookie: JSESSIONID=⟦9f3c2ab81d049f3c2ab81d04⟧",
        r"(?i:(?<![a-z0-9])(?:(?:php)?sess(?:ion)?[_-]?id|jsessionid|connect\.sid|sid"
        r"|asp\.net_sessionid|auth[_-]?token|remember_token|(?:csrf|xsrf)[_-]?token"
        r"|[a-z]{1,12}_session|session|cf_clearance))[\"']?\s?[=:]\s?[\"']?"
        r"(?=[^\s;\"']{0,40}?[0-9])([A-Za-z0-9%._~+/-]{16,}+)",
    ),
)
"""Values that are assigned to a name which says what they are."""

_PAIR = "[0-9]{4}[ -]?[0-9]{4}"
GROUPED = (
    Rule(
        "a code",
        "my backup codes: ⟦4f7a-91bc, 77de-02af⟧",
        rf"{_NO_DASH}((?i:(?=[a-z]{{0,9}}?[0-9]|[a-z0-9]{{3,10}}-[a-z]{{0,9}}?[0-9])"
        r"[a-z0-9]{2,10}(?:-[a-z0-9]{4,10}){1,7}+"
        rf"(?:[\s,;/]{{1,3}}[a-z0-9]{{4,10}}(?:-[a-z0-9]{{4,10}}){{1,3}}+){{0,15}}+))"
        rf"{_NO_DASH_AFTER}",
        near(words("recovery_code"), before=150, after=80),
    ),
    Rule(
        "a code",
        "codes de secours imprimés: ⟦5520 1846 / 9037 2261 / 4418 7305⟧ , rangés",
        rf"{_NO_DASH}({_PAIR}(?:(?:, | and | y | und | et | e | и |[ ;/]){{1,3}}{_PAIR}){{0,15}}+)"
        rf"{_NO_DASH_AFTER}",
        near(words("recovery"), weak=True),
    ),
)
"""Recovery codes, which hold digits."""

_NO_SEED = (
    "(?!(?:the|and|for|with|was|are|who|has|have|from|not|but|his|her|she|they|that|this|then|when"
    "|words?|because)(?![a-z]))"
)
_SEED_WORD = rf"{_NO_SEED}[a-z\u00e0-\u00ff]{{3,9}}+(?![A-Za-z\u00c0-\u00ff])"
_BETWEEN = "[ ,;]{1,3}(?:[0-9]{1,2}[.)]? ?)?"
SEEDS = (
    Rule(
        "a recovery phrase",
        "trezor gave me ⟦tornado lamp velvet ocean frost ladder pigeon crane olive tunnel"
        " walnut mirror⟧",
        rf"(?<![A-Za-z])({_SEED_WORD}(?:{_BETWEEN}{_SEED_WORD}){{11,23}}+)",
        near(
            words("so_many_words", "wallet"),
            before=120,
            after=60,
            unless=words("seeds_that_grow"),
        ),
    ),
)
"""Seed phrases."""
