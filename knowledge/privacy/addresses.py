"""Addresses: what of them may be shown, and whether two are of one host."""

from urllib.parse import urlsplit, urlunsplit


def bare(url: str) -> str:
    """Return an address without user name, password, query and fragment.

    >>> bare("https://me:secret@qdrant.example:6333/v1?key=abc#x")
    'https://qdrant.example:6333/v1'
    >>> bare("no address")
    'no address'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "…"
    netloc = parts.netloc.rpartition("@")[2]
    path = parts.path.rpartition("@")[2] if not parts.netloc else parts.path
    return urlunsplit((parts.scheme, netloc, path, "", ""))


def host_of(url: str) -> str:
    """Return the host of an address, in lower case; empty if it has none.

    >>> host_of("https://API.openai.com:443/v1"), host_of("qdrant")
    ('api.openai.com', '')
    """
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
