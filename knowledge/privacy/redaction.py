"""Redaction of other programs' messages for logs and stored errors: no keys, no private talk.

A program that refuses a text may quote it: whole or in part, in other spacing, case or width, in
JSON or HTML. So a word of its message is left out if it shares letters with the sent text, unless
it is one of the `KNOWN` words of errors.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from souffleur.knowledge.privacy.secrets import MASK, mask
from souffleur.knowledge.text.plain import mend, single_line

_GRAMMAR = """
a an the this that these those it its is are was were be been being has have had do does did not no
none nor dont doesnt isnt arent wasnt cant couldnt or and but if as at by for from in into of on
only out over per than then to too up via with without yet you your we our can cannot could may must
should will would please try again use used using set see check make sure more most less least any
all both each other another same first last one two after before during while when where which what
why how
"""
_ERRORS = """
accept accepted access allow allowed alternate api argument arguments array assistant auth
authenticate authentication authorised authorization authorized available backend bad batch bearer
big billing blocked body boolean broken busy byte bytes cache call certificate character characters
chat choice client code completion completions connect connection content context credentials cut
denied deployment deprecated developer device dimension dimensions disabled dns embedding embeddings
empty enable enabled endpoint enter error errors exceed exceeded exceeds exist exists expected
expired fail failed failure feature field fields filter filtered forbidden format found function
gateway given got grammar guided handle header headers high host http https id incorrect input
inputs install instead instruction instructions insufficient integer internal invalid issue json key
keys large length limit limits list load loaded loading long malformed many max maximum memory
mentioned message messages method min minimum missing mode model models moved must name network null
number object occurred order organization output overloaded parameter parameters parse permission
permitted policy prefix prompt property protocol provide provided provider queue quota raise rate
reached read reading reasoning reduce refused reject rejected removed request requested requests
required reset resource response retry return returned role roles route schema second seconds server
service size specified ssl status stop stream strict string structured support supported supports
system temperature text thinking time timed timeout token tokens tool tools type unable unauthorized
unavailable unexpected unknown unprocessable unrecognized unsupported url user valid value values
version violates window wrong
"""
_UNSPACED = """
模型 参数 參數 请求 請求 错误 錯誤 无效 無效 不存在 不支持 失败 失敗 超时 超時 超过 超過 限制 额度
額度 余额 餘額 不足 密钥 密鑰 权限 權限 服务 服務 接口 内容 內容 敏感 违规 違規 安全 审核 審核
长度 長度 モデル パラメータ リクエスト エラー 無効 失敗 制限 認証 権限 サーバー コンテンツ
ポリシー 違反 入力 出力
"""

KNOWN = frozenset((*_GRAMMAR.split(), *_ERRORS.split(), *_UNSPACED.split()))
"""Usual words of error messages, in lower case: they reveal nothing about a talk."""

_READ = 4000
"""Maximum characters of a message that are read; longer messages are web pages."""
_DEPTH = 3
"""Maximum levels of nested escapes: JSON in JSON in JSON."""
_SHORTEST_SECRET = 4
"""Minimum characters of a secret; dummy keys for local servers ("x") would mask every word."""

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([bfnrt])|(.))", re.DOTALL)
_BYTES = re.compile(r"(?:\\x[0-9a-fA-F]{2})++")
_TAG = re.compile(r"<[^<>]*+>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CUTS = re.compile(r"…(?:[^\w…]*+…)++")
_LATIN = r"[a-zA-Z0-9\u00c0-\u024f\u0300-\u036f\uff10-\uff19\uff21-\uff5a]++"
_TOKEN = re.compile(
    rf"{_LATIN}(?:['’]{_LATIN})*+"
    rf"|{'|'.join(sorted(_UNSPACED.split(), key=len, reverse=True))}"
    r"|[^\W_]|[\u2600-\u27bf\U0001f000-\U0001faff]"
)
"""A Latin word, a known word, or another letter: other scripts are compared letter by letter."""
_MARKS = dict.fromkeys((*range(0x300, 0x370), *map(ord, "'’")))
"""Marks of letters, and apostrophes, which are removed before a comparison."""
_SHARED = 4
"""Number of characters in a row (or a whole shorter word) that make a shared word private."""
_IN_A_ROW = 3
"""Number of words in a row that are private if the sent text has them, even if each is known."""
_VALUE = re.compile(
    r"\(was .*?(?:\)|…|$)|(?<![^\W_])(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")|\n.*", re.DOTALL
)
"""The part of our own message that quotes an answer."""
_SHORTENED = (
    re.compile(r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9*_.…-]{4,}+"),
    re.compile(r"(?<![A-Za-z0-9])(?:gsk|hf|xai|nvapi|pplx|AIza)[-_]?[A-Za-z0-9*_-]{16,}+"),
    re.compile(r"(?<=(?i:bearer))(?:\s++token)?+[\s:=]++[^\s,;\"'<>]{4,}+"),
    re.compile(r"(?<=://)[^/\s@]*+@"),
    re.compile(r"(?<=[?&])[^?=&\s]*?(?:key|token|secret|password|sig)[^?=&\s]*+=[^&\s\"'<>]++"),
)
"""Shortened or starred keys in messages of endpoints, and keys in addresses or headers."""


def redact(words: str, private: Sequence[str] = (), secrets: Sequence[str] = ()) -> str:
    """Return another program's message on one line, with "…" for keys and for words it was sent.

    Escapes and tags are removed first, as quotations may be inside JSON or HTML. Secrets and
    document numbers are those that `secrets` finds, with any settings for memories.

    >>> redact("policy: 'I hate my boss, Tom' (key sk-1234567)", ["Well, I hate my boss, Tom."])
    "policy: '…' (key …)"
    >>> redact("敏感内容：我丈夫打了我 (code 1301)", ["昨晚我丈夫打了我。"])
    '敏感内容：… (code 1301)'
    """
    words = _plain(words[:_READ])
    for secret in secrets:
        words = words.replace(secret, "…") if len(secret) >= _SHORTEST_SECRET else words
    words = _one_line(_TAG.sub(" ", words))
    # Possible keys in addresses and headers are cut first, as later cuts would hide their form.
    words = _without_keys(words)
    return _without_keys(_without(words, _letters("\n".join(map(_plain, private)))))


def redact_own(words: str, private: Sequence[str]) -> str:
    """Return our own message about an answer, without quotations of the answer or the talk.

    >>> redact_own("ops.0.kind: must be one of fact, todo (was 'psoriasis')", [])
    'ops.0.kind: must be one of fact, todo …'
    """
    words = _one_line(_VALUE.sub(" … ", words))
    return _without_keys(_without(words, _letters("\n".join(private)), single=False))


def _without_keys(words: str) -> str:
    words = mask(words).replace(MASK, "…")
    for key in _SHORTENED:
        words = key.sub("…", words)
    return _CUTS.sub("…", words)


@dataclass
class _Token:
    """A word of a message, in the letters that are compared."""

    start: int
    end: int
    letters: str
    cut: bool = False


def _without(words: str, sent: str, *, single: bool = True) -> str:
    """Return a message without rows of words of the sent text; with `single`, also single words."""
    tokens = [_Token(*one.span(), _letters(one[0])) for one in _TOKEN.finditer(words)]
    for token in tokens:
        token.cut = single and token.letters not in KNOWN and _shares(token.letters, sent)
    for row in zip(*(tokens[place:] for place in range(_IN_A_ROW)), strict=False):
        if "".join(token.letters for token in row) in sent:
            for token in row:
                token.cut = True
    return _CUTS.sub("…", "".join(_kept(words, tokens)))


def _kept(words: str, tokens: Sequence[_Token]) -> Iterator[str]:
    end = 0
    for token in tokens:
        if token.cut:
            yield from (words[end : token.start], "…")
            end = token.end
    yield words[end:]


def _shares(letters: str, sent: str) -> bool:
    """Return whether the sent text has a part of a word.

    >>> _shares("psoriasis", "mypsoriasisisback"), _shares("psoriasis", "mysoreback")
    (True, False)
    """
    last = max(len(letters) - _SHARED, 0)
    return any(letters[at : at + _SHARED] in sent for at in range(last + 1))


def _letters(text: str) -> str:
    """Return the letters, digits and emoji of a text, in one case and width, without marks.

    >>> _letters("Ｍy Café, 我们 🍵")
    'mycafe我们🍵'
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(_TOKEN.findall(folded)).translate(_MARKS)


def _plain(text: str) -> str:
    """Return the text on one line, with escapes of JSON, HTML and URLs decoded."""
    for _ in range(_DEPTH):
        read = _ESCAPE.sub(_unescaped, _BYTES.sub(_decoded, text))
        read = unquote(html.unescape(read))
        if read == text:
            break
        text = read
    return _one_line(mend(text))


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return " " if escape[2] else escape[3]


def _decoded(escaped: re.Match[str]) -> str:
    return bytes.fromhex(escaped[0].replace("\\x", "")).decode(errors="replace")


def _one_line(text: str) -> str:
    return single_line(_CONTROL.sub(" ", text))
