"""Hosts: the names of this machine in requests, and the web pages that may call."""

import ipaddress
import re
from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from souffleur.settings import Settings

CONTAINER_HOSTS = frozenset(
    {"host.docker.internal", "gateway.docker.internal", "host.containers.internal"}
)
"""The names of the host machine in containers of Docker and Podman."""
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::\d*)?")


def is_local(host: str) -> bool:
    """Return whether a host name or address means this machine.

    >>> is_local("localhost"), is_local("127.0.0.1"), is_local("[::1]"), is_local("0.0.0.0")
    (True, True, True, False)
    """
    name = host.strip("[]").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def means_this_machine(name: str) -> bool:
    """Return whether a name in a request means this machine; no website can have that name.

    >>> [means_this_machine(one) for one in ("[::1]", "host.docker.internal", "ours.example", "")]
    [True, True, False, False]
    """
    return is_local(name) or name.lower() in CONTAINER_HOSTS


def named_host(header: str) -> str:
    """Return the host name in a Host header, without the port; empty for an invalid header.

    A web page whose domain name resolves to this machine still sends its own domain name.

    >>> named_host("localhost:80"), named_host("[::1]:80"), named_host("[::1"), named_host("")
    ('localhost', '[::1]', '', '')
    """
    found = _HOST.fullmatch(header)
    return found[1] if found else ""


def origins_of(settings: Settings) -> list[str]:
    """Return the origins of the web pages that may call; `*` means all pages."""
    return [one.strip() for one in (settings.serve.cors_origins or "").split(",") if one.strip()]


def with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return an app with CORS headers, so that browsers let these web pages call it.

    Preflight requests have no token. They are answered here and do not reach the app.
    """
    if not origins:
        return app
    return CORSMiddleware(app, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
