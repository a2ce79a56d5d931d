"""Addresses of endpoints: the parts that may be shown, the base URL, the host."""

import re
from urllib.parse import urlsplit, urlunsplit

_METHOD = re.compile(
    r"(?<=[^/:])/++(?:(?:chat/)?completions|responses|embeddings)?/*+(?=[?#]|\Z)", re.IGNORECASE
)
"""The path of a method at the end of a URL, as in examples of requests."""


def bare_address(url: str) -> str:
    """Return the address without user name, password, query and fragment.

    >>> bare_address("https://me:secret@a.example:8080/v1?key=1"), bare_address("me:p/w@[host")
    ('https://a.example:8080/v1', '[host')
    """
    try:
        parts = urlsplit(url)
        if parts.netloc and parts.port != 0:  # reading the port reveals a password with a slash
            netloc = parts.netloc.rpartition("@")[2]
            return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    except ValueError:
        pass
    return re.split(r"[?#]", url.rpartition("@")[2])[0]


def api_base(url: str) -> str:
    """Return the base URL of an OpenAI-compatible interface, from the base or the URL of a method.

    >>> api_base("http://localhost:1234/v1/chat/completions/"), api_base("https://a.example/v1")
    ('http://localhost:1234/v1', 'https://a.example/v1')
    """
    return _METHOD.sub("", url)


def host_of(url: str) -> str:
    """Return the host of an address, in lower case; empty if it has none.

    >>> host_of("https://API.openai.com:443/v1"), host_of("qdrant")
    ('api.openai.com', '')
    """
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
