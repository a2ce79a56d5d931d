"""The length of a text in tokens: by the model's own tokenizer if possible, else an estimate."""

import os
import tempfile
from collections.abc import Callable
from hashlib import sha1, sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from souffleur.errors import SettingsError

if TYPE_CHECKING:
    from tiktoken import Encoding

Count = Callable[[str], int]
"""Returns the length of a text in tokens."""

_ASCII = 26
"""Hundredths of a token that a character of ASCII costs; rather too many, as `_OTHER`."""
_OTHER = 35
"""Hundredths that a byte of any other character costs; Chinese and kana take three bytes each."""

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_DIGESTS = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""SHA-256 of the tables that tiktoken reads; it would replace any other by a download."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for an unknown tokenizer: rather too many than too few.

    >>> estimate_tokens("主人喜欢拉面"), estimate_tokens("The user likes ramen.")
    (7, 6)
    """
    plain = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "replace")) - plain
    return -(-(_ASCII * plain + _OTHER * other) // 100)


def counter_for(model: str, file: Path | None = None) -> Count:
    """Return a function that counts tokens as the model does, as nearly as is possible here.

    `file` is the model's tokenizer.json; SettingsError if it cannot be read. Without it, tiktoken
    counts if it knows the model and its table is in its cache; nothing is ever fetched.
    """
    if file is not None:
        return _read(file)
    encoding = _find_encoding(model.lower().rpartition("/")[2])
    if encoding is None:
        return estimate_tokens
    return lambda text: len(encoding.encode_ordinary(text))


def _find_encoding(model: str) -> "Encoding | None":
    from tiktoken import get_encoding
    from tiktoken.model import encoding_name_for_model
    from tiktoken.registry import ENCODINGS

    try:
        name = encoding_name_for_model(model).replace("harmony", "base")  # one table for both
    except KeyError:
        return None
    return get_encoding(name) if name in ENCODINGS or _is_cached(name) else None


def _is_cached(encoding: str) -> bool:
    """Return whether tiktoken has the table on this machine; tiktoken/load.py says where."""
    default = f"{tempfile.gettempdir()}/data-gym-cache"
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))
    table = Path(folder, sha1(_ADDRESS.format(encoding).encode()).hexdigest())
    try:
        return bool(folder) and sha256(table.read_bytes()).hexdigest() == _DIGESTS.get(encoding)
    except OSError:
        return False


def _read(file: Path) -> Count:
    try:
        tokenizers = import_module("tokenizers")
    except ImportError as error:
        raise SettingsError(
            f"The tokenizer file {file} needs a package that is not installed: run "
            "`pip install tokenizers`."
        ) from error
    try:
        tokenizer: Any = tokenizers.Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # tokenizers raises nothing narrower
        raise SettingsError(
            f"The tokenizer file {file} cannot be read ({error}): give the path of a model's "
            "tokenizer.json."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        whole = text.encode("utf-8", "replace").decode()  # it refuses half a surrogate pair
        return len(tokenizer.encode(whole, add_special_tokens=False).ids)

    return count
