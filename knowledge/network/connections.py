"""Connections: proxies and certificates of our HTTP clients, from the environment.

A variable that was set for another program may not suit us: then the error names the variable.
"""

import os
import ssl
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.request import getproxies, proxy_bypass

from souffleur.errors import SettingsError
from souffleur.knowledge.privacy.addresses import bare_address, host_of

_SOCKS = ("socks5", "socks5h")


def connection(url: str) -> dict[str, Any]:
    """Return the arguments for an httpx2 or httpx client or transport that will call a URL.

    This machine is called without a proxy. Raises SettingsError for an invalid variable.
    """
    proxy = _proxy(url)
    plain = url.lower().startswith("http://")
    if proxy and proxy.lower().startswith("https://"):
        trusted()  # its certificate is checked as well
    return {"proxy": proxy, "verify": _nobody() if plain else trusted(), "trust_env": False}


@cache
def trusted() -> ssl.SSLContext:
    """Return the context of every TLS connection. Creating it takes about 20 ms.

    It trusts the certificates that SSL_CERT_FILE and SSL_CERT_DIR name at the first call. Raises
    SettingsError if there are no certificates.
    """
    import httpx2

    folders = os.environ.get("SSL_CERT_DIR", "")
    if os.environ.get("SSL_CERT_FILE"):
        folders = ""  # the variable is ignored then
    if folders and not any(map(os.path.isdir, folders.split(os.pathsep))):
        raise _untrusted("SSL_CERT_DIR", "there is no such folder")
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise _untrusted("SSL_CERT_FILE", str(error.strerror or error)) from None


@cache
def _nobody() -> ssl.SSLContext:
    """Return a context that trusts nobody, for connections without TLS: it reads no file."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _untrusted(variable: str, why: str) -> SettingsError:
    return SettingsError(
        f"{variable} is {os.environ.get(variable)!r}, where no certificates can be read ({why}):"
        " correct it, or unset it to trust whom the system trusts."
    )


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a URL; `None` for no proxy."""
    named = getproxies()
    kind = next((kind for kind in (url.partition(":")[0].lower(), "all") if named.get(kind)), "")
    if not kind or _is_exempt(host_of(url), named.get("no", "")):
        return None
    proxy = named[kind] if "://" in named[kind] else f"http://{named[kind]}"
    if fault := _fault(proxy):
        raise SettingsError(
            f"{_variable(kind)} is {bare_address(named[kind])!r}: {fault}. Correct it, unset it, or"
            f" name {host_of(url)} in NO_PROXY."
        )
    return proxy


def _is_exempt(host: str, exempt: str) -> bool:
    """Return whether a host needs no proxy: this machine, or a host in NO_PROXY.

    >>> [_is_exempt(host, "10.0.0.0/8") for host in ("10.1.2.3", "localhost", "a.example")]
    [True, True, False]
    """
    if is_here(host) or proxy_bypass(host):
        return True
    names = [name.strip() for name in exempt.split(",")]
    return "*" in names or any(_is_within(host, name) for name in names if "/" in name)


def _is_within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def is_here(host: str) -> bool:
    """Return whether a host is this machine, which a proxy cannot reach.

    >>> [is_here(host) for host in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "localhost.org")]
    [True, True, True, True, False]
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def is_private(host: str) -> bool:
    """Return whether a host is this machine or in a private network, as far as its name tells.

    >>> [is_private(host) for host in ("192.168.1.7", "ollama", "host.docker.internal")]
    [True, True, True]
    >>> [is_private(host) for host in ("api.openai.com", "8.8.8.8", "")]
    [False, False, False]
    """
    name = host.lower().rstrip(".")
    try:
        return ip_address(name).is_private
    except ValueError:
        within = name.endswith((".local", ".lan", ".home.arpa", ".internal", ".localhost"))
        return within or (bool(name) and "." not in name)  # such as a service of compose


def _fault(proxy: str) -> str:
    """Return why the address of a proxy cannot be used; empty if it can.

    >>> _fault("http://proxy.example:3128"), _fault("http://:3128")
    ('', 'that is no address of a proxy: write it like http://proxy.example:3128')
    """
    scheme = proxy.partition(":")[0].lower()
    if scheme in _SOCKS:
        if find_spec("socksio"):
            return ""
        return "for a SOCKS proxy, the package socksio is missing: run `pip install socksio`"
    if scheme.startswith("socks"):
        return (
            "no such SOCKS proxy can be used: write socks5:// (with the package socksio), or the"
            " http:// address of the same proxy if it has one"
        )
    if scheme not in ("http", "https") or not _is_address(proxy):
        return "that is no address of a proxy: write it like http://proxy.example:3128"
    return ""


def _is_address(url: str) -> bool:
    import httpx2

    try:
        return bool(httpx2.URL(url).host)
    except httpx2.InvalidURL:
        return False


def _variable(kind: str) -> str:
    """Return the variable that names the proxy for a kind of URL, spelt as in the environment."""
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    return next((name for name in names if os.environ.get(name)), "The system's proxy")
