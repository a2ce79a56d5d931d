# ruff: noqa: E501  a list of words is one line
"""Keys, tokens and recovery codes that words elsewhere in their sentence name."""

from souffleur.knowledge.privacy.credential_words import HASH, KEY, PASSWORD
from souffleur.knowledge.privacy.surroundings import Row, near
from souffleur.knowledge.privacy.value_forms import has_many_sorts, is_random

_SEED_WORD = (
    r"(?!(?:the|and|for|with|was|are|who|has|have|from|not|but|his|her|she|they|that|this|then"
    r"|when|words?|because)(?![a-z]))"
    r"[a-z]{3,8}+(?![A-Za-z])"
)

LONG: tuple[Row, ...] = (
    (
        "an access token",
        r"(?<![A-Za-z0-9_+/.-])(?<![?&][a-z]=)(?<![?&]id=)((?=[A-Za-z0-9])(?>[A-Za-z0-9_+/~-]"
        r"|=(?![A-Za-z0-9])|\.(?=[A-Za-z0-9])){20,256}+)(?!\$)",
        is_random,
        near(KEY, PASSWORD, unless=HASH),
    ),
    (
        "an access token",
        r"(?<![A-Za-z0-9_+/.-])((?!0x[0-9a-f]{40}(?![0-9a-f]))(?:0x)?(?=[a-f]{0,31}?[0-9])[0-9a-f]{32,128}+)(?![A-Za-z0-9])",
        None,
        near(KEY, PASSWORD, before=50, after=35, unless=HASH),
    ),
    (
        "a wallet key",
        r"(?<![A-Za-z0-9_+/.-])((?:0x)?[0-9a-f]{64})(?![A-Za-z0-9])",
        None,
        near(
            r"ether(?:eum)?(?![a-z])|(?<![a-z])(?:eth|crypto|coins?)(?![a-z])|hardhat|foundry"
            r"|truffle|ganache|deployer|signer|accounts?[\"']?:|web3|ethers|mainnet|private"
            r"|кошел|эфир|крипт|钱包|以太|ウォレット|지갑|wallet|cartera|billetera|portefeuille|carteira"
            r"|portafoglio",
            before=150,
            after=80,
            unless=HASH,
        ),
    ),
    (
        "a licence key",
        r"(?<![A-Za-z0-9-])(?=[A-Z-]{0,28}?[0-9])(?=[0-9-]{0,28}?[A-Z])([A-Z0-9]{5}(?:-[A-Z0-9]{5}){4})(?![A-Za-z0-9-])",
        None,
        None,
    ),
    (
        "a licence key",
        r"(?<![A-Za-z0-9-])(?=[A-Z-]{0,12}?[0-9])(?=[0-9-]{0,12}?[A-Z])([A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,7}+)(?![A-Za-z0-9-])",
        None,
        near(
            r"(?<![a-z])(?:licen[cs]es?|product|activation|cd|steam|windows|office|retail|serial"
            r"|software|app|game)[ -]?(?:keys?|codes?)",
            r"licen[cs]e|licence|lizenz|produktschlüssel|licencia|licenza|licença"
            r"|clé (?:de licence|d'activation|produit)|лиценз|активаци|ключ",
            r"激活[码碼]|序列号|注册码|プロダクトキー|ライセンス|シリアル|제품 ?키|시리얼|라이선스|정품",
            unless=r"(?<![a-z])(?:order|tracking|booking|plate)(?![a-z])",
        ),
    ),
)
"""Long keys, tokens and licence keys."""

ASSIGNED: tuple[Row, ...] = (
    (
        "a password",
        r"(?i:(?<![a-z0-9?&])[a-z0-9_]{0,30}?(?>secret|token|passw(?:or)?d|passwd|pass|pwd"
        r"|api_?key|private_?key|access_?key|signing_?key|encryption_?key|credentials?)"
        r"(?>_[a-z0-9_]{1,20}+)?[\"']?\s?[=:]\s?[\"']?)(?![$<{\[])([A-Za-z0-9!#$%&*+=?@^_~./"
        r"|\\-]{8,256}+)(?![(\[])",
        has_many_sorts,
        None,
    ),
    (
        "an access token",
        r"(?i:(?<![a-z0-9])(?:(?:php)?sess(?:ion)?[_-]?id|jsessionid|connect\.sid|sid"
        r"|asp\.net_sessionid|auth[_-]?token|remember_token"
        r"|(?:csrf|xsrf)[_-]?token|[a-z]{1,12}_session|session"
        r"|cf_clearance))[\"']?\s?[=:]\s?[\"']?(?=[^\s;\"']{0,40}?[0-9])"
        r"([A-Za-z0-9%._~+/-]{16,}+)",
        None,
        None,
    ),
)
"""Values that are assigned to a name which says what they are."""

GROUPED: tuple[Row, ...] = (
    (
        "a code",
        r"(?<![A-Za-z0-9-])((?i:(?=[a-z]{0,9}?[0-9]"
        r"|[a-z0-9]{3,10}-[a-z]{0,9}?[0-9])[a-z0-9]{2,10}(?:-[a-z0-9]{4,10}){1,5}+"
        r"(?:[\s,;/]{1,3}[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,3}+){0,15}+))(?![A-Za-z0-9-])",
        None,
        near(
            r"(?<![a-z])(?:(?:backup|recovery|rescue|emergency|wiederherstellungs|notfall"
            r"|ersatz)[ -]?(?:codes?|keys?|schlüssel)|(?:2fa|mfa|apple id) (?:backup|recovery))",
            r"codes? de (?:secours|récupération)|c[oó]digos? de (?:recuperaci[oó]n|respaldo"
            r"|recuperação|backup)|codic[ei] di (?:recupero|backup|riserva)",
            r"(?:резервн|аварийн)[а-я]* код|код[а-я]* восстановлени|恢[复復][码碼]|备用[码碼]|备份[码碼]"
            r"|リカバリー|バックアップコード|復旧コード|복구 ?코드|백업 ?코드",
        ),
    ),
    (
        "a code",
        r"(?<![A-Za-z0-9-])([0-9]{4}[ -]?[0-9]{4}(?:(?:, | and | y | und | et | e | и "
        r"|[ ;/]){1,3}[0-9]{4}[ -]?[0-9]{4}){0,15}+)(?![A-Za-z0-9-])",
        None,
        near(
            r"(?<![a-z])(?:backup|recovery|rescue|emergency)[ -]?(?:codes?|keys?)"
            r"|codes? de (?:secours|récupération)|c[oó]digos? de (?:recupera|respaldo)"
            r"|codic[ei] di (?:recupero|backup|riserva)"
            r"|резервн|восстановлени|备用|恢复|リカバリー|バックアップ|복구|백업",
            weak=True,
        ),
    ),
)
"""Recovery codes, which hold digits."""

SEEDS: tuple[Row, ...] = (
    (
        "a recovery phrase",
        rf"(?<![A-Za-z])({_SEED_WORD}(?:[ ,;]{{1,3}}(?:[0-9]{{1,2}}[.)]? ?)?{_SEED_WORD}){{11,23}}+)",
        None,
        near(
            r"(?<![a-z])(?:12|24|twelve|twenty[ -]four|doce|zwölf|douze|doze|dodici|двенадцать"
            r"|veinticuatro|vierundzwanzig|24) "
            r"(?:secret |seed |recovery |magic |wallet )?(?:words?|palabras|wörter|mots|palavras"
            r"|parole|слов)",
            r"(?<![a-z])(?:wallet|metamask|ledger|trezor|phantom|exodus|electrum|cartera"
            r"|portefeuille|carteira|portafoglio"
            r"|cripto|crypto|krypto|bitcoin|btc|seed|mnemonic|bip-?39)(?![a-z])|кошел|кошельк"
            r"|крипто",
            r"钱包|錢包|助记|ウォレット|仮想通貨|지갑|시드|니모닉|复苏词",
            before=120,
            after=60,
            unless=r"(?<![a-z])(?:packets?|seeds? (?:shop|box|mix|list|catalogue)|gardens?|plant(?:s|ed|ing)?|sow(?:ing|n)?|vegetables?|flowers?|bird|describe|poem|haiku)(?![a-z])",
        ),
    ),
)
"""Seed phrases."""
