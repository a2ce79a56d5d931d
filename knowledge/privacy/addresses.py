"""Addresses: their parts that may be shown, and their hosts."""

import re
from urllib.parse import urlsplit, urlunsplit


def bare_address(url: str) -> str:
    """Return the address without user name, password, query and fragment.

    >>> bare_address("https://me:secret@a.example:8080/v1?key=1"), bare_address("me:p/w@[host")
    ('https://a.example:8080/v1', '[host')
    """
    try:
        parts = urlsplit(url)
        if parts.netloc and parts.port != 0:  # reading the port tells a password with a slash
            netloc = parts.netloc.rpartition("@")[2]
            return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    except ValueError:
        pass
    return re.split(r"[?#]", url.rpartition("@")[2])[0]


def host_of(url: str) -> str:
    """Return the host of an address, in lower case; empty if it has none.

    >>> host_of("https://API.openai.com:443/v1"), host_of("qdrant")
    ('api.openai.com', '')
    """
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
