"""Keys and tokens that are known by their form, or by the program that takes them.

Most have no example here, as those who scan commits for keys would take it for a real one.
"""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.rules.key_formats import IN_ADDRESS, PREFIXED, TELEGRAM, WALLET
from souffleur.knowledge.privacy.stated_values import HIDDEN
from souffleur.knowledge.privacy.value_checks import has_both

_L, _R = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_EXAMPLE = (
    r"(?!(?:your|my|some|the|insert|example)[_-]|x{4}|\*{3}|\$|\{|<|\[|%[sd({]"
    r"|(?:[a-z]{1,12}?[_-]?+)??(?:token|key)s?(?![a-z0-9_.~+/=-]))"
)
"""Excludes what only shows where a key belongs."""
_WORD_FOR_ONE = "(?!(?i:passw(?:or)?d|pass|pwd|secret)@)"
"""Excludes the word that stands for a password in the form of an address."""
_KEY_BODY = r"(?:[^-]|-(?!----))"
_KEY_END = r"-----END (?:[A-Z0-9]{2,10}+ ){0,2}?PRIVATE KEY(?: BLOCK)?+-----"
_WORDS = r"(?!(?!proj-|ant-|live|test)[a-z]{1,15}+(?:[-_][a-z]{1,15}+){1,8}+(?![A-Za-z0-9_-]))"
"""Excludes joined words, such as names of packages and columns: sk-learn-contrib, pk_user_id."""
_AWS_SECRET = r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
_TOKEN = "an access token"

PRIVATE_KEYS = (
    Rule(
        "a private key",
        "",
        r"-----BEGIN (?:[A-Z0-9]{2,10}+ ){0,2}?PRIVATE KEY(?: BLOCK)?+(?:-----)?+"
        rf"(?>{_KEY_BODY}{{0,16384}}+{_KEY_END}|(?:(?:\s|\\n){{0,4}}+[\w+/=]{{20,400}}+){{0,60}}+)",
    ),
)
KEYS = (
    Rule(
        "an API key",
        "",
        rf"{_L}(?:sk|pk|rk)[-_]{_WORDS}(?=[A-Za-z0-9_-]{{0,48}}?[A-Za-z0-9]{{12}})[A-Za-z0-9_-]{{12,}}+",
    ),
    Rule("an AWS key", "", rf"{_L}(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_R}"),
    Rule(
        "an AWS key",
        "",
        rf"(?i:aws[^\n{HIDDEN}]{{0,16}}?(?:secret|key|密[钥鑰]|シークレット|キー)"
        r"|secret[ _-]?(?:access[ _-]?)?key|シークレットアクセスキー)[a-z_]{0,12}+"
        rf"(?>[^A-Za-z0-9/+\n{HIDDEN}]|(?<![A-Za-z])(?:is|was|now)(?![A-Za-z])){{0,12}}+"
        rf"(?![0-9a-f]{{40}}{_R})(?=[A-Za-z0-9/+]{{0,39}}?[A-Z]){_AWS_SECRET}",
    ),
    Rule(
        "an AWS key",
        "",
        rf"{_L}A[KS]IA[A-Z0-9]{{16}}[^A-Za-z0-9/+{HIDDEN}]{{1,6}}+"
        rf"(?:(?:and|with|und|mit|y|con|et|avec|e|com|и|с)\s)?{_AWS_SECRET}",
    ),
    Rule(
        _TOKEN,
        "",
        rf"{_L}(?:gh[pousr]_[A-Za-z0-9]{{10,}}+|(?:github_pat_|glpat-)[\w-]{{10,}}+"
        r"|hf_[A-Za-z0-9]{16,}+|(?:npm_|gsk_|xai-)[A-Za-z0-9]{20,}+|do[opr]_v1_[a-f0-9]{32,}+"
        r"|ya29\.[\w-]{20,}+|SG\.[\w-]{16,64}+\.[\w-]{16,}+"
        r"|xox[abeprs]-(?=[A-Za-z0-9-]{0,20}[0-9])[A-Za-z0-9-]{10,}+)",
    ),
)
BEARERS = (
    Rule(
        _TOKEN,
        "Authorization: Basic ⟦YW5uOnRlYTR0d28=⟧",
        r"(?i:authorization[\"']{0,2}+\s{0,3}+[:=]\s{0,3}+[\"']?+(?:bearer|basic|token)\s{1,3}+"
        rf"{_EXAMPLE})([\w.~+/=-]{{8,}}+)",
    ),
    Rule(
        _TOKEN,
        "bearer token: ⟦tea4two-tea4two-tea4two⟧",
        rf"{_L}(?i:bearer(?:\stoken)?+\s{{0,2}}+[:=]?+\s{{0,2}}+[\"']?+{_EXAMPLE})"
        r"(?=[\w.~+/=-]{0,64}?[0-9])([\w.~+/=-]{16,}+)",
    ),
)
OF_PROVIDERS = (
    Rule(_TOKEN, "", rf"{_L}(?:{'|'.join(PREFIXED)})"),
    Rule(_TOKEN, "", rf"{_L}[a-z2-7]{{52}}{_R}", check=has_both),  # Azure DevOps
    Rule(_TOKEN, "", rf"(?<=/bot){TELEGRAM}"),
    Rule("a Google API key", "", rf"{_L}AIza[\w-]{{30,}}+"),
)
ADDRESSED = tuple(Rule("a secret in an address", "", one) for one in IN_ADDRESS)
WALLETS = tuple(Rule("a wallet key", "", one) for one in WALLET)
WEB_TOKENS = (
    Rule("a JSON web token", "", rf"{_L}eyJ[\w-]{{8,1024}}+\.[\w-]{{8,8192}}+\.[\w-]{{4,}}+"),
)
IN_USER_INFO = (
    Rule(
        "a password in an address",
        "postgres://ann:⟦tea4two⟧@db.example.org/tea",
        rf"(?<=[a-z0-9])://[^\s:/@\"'<>{HIDDEN}]{{0,64}}+:(?i:{_EXAMPLE}){_WORD_FOR_ONE}"
        rf"([^\s/\"'<>{HIDDEN}]{{1,128}})@(?=[A-Za-z0-9\[])",
    ),
)
