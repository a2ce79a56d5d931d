"""The files of the page, served from the package: no build, no other hosts, no inline scripts."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from souffleur import report

FOLDER = "/page"
"""The path of the files; the page itself is at / and /me."""
HOME = "index.html"
LOOK = "look.css"
"""The colours and fonts, which reports have as well."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The rights of the page. There is no policy for trusted types, so text cannot become HTML."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file of the page."""

    body: bytes
    packed: bytes
    """The body, compressed with gzip."""
    kind: str
    """The media type."""
    tag: str
    """The ETag, a digest of the body."""


@cache
def assets() -> Mapping[str, Asset]:
    """Return all files by path, for example `js/app.js`."""
    root = files(__package__).joinpath("static")
    look = files(report).joinpath("templates", LOOK)
    return {**dict(_walk(root, "")), LOOK: _read(look)}


def _walk(folder: Traversable, path: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for one in folder.iterdir():
        here = path + one.name
        found += _walk(one, f"{here}/") if one.is_dir() else [(here, _read(one))]
    return found


def _read(file: Traversable) -> Asset:
    body = file.read_bytes()
    kind = TYPES[file.name.rpartition(".")[2]]
    tag = f'"{sha256(body).hexdigest()[:16]}"'
    return Asset(body, gzip.compress(body, 9, mtime=0), kind, tag)


def respond(name: str, headers: Headers) -> Response:
    """Return the answer to a request for a file; 404 for an unknown file."""
    found = assets().get(name)
    if found is None:
        return Response("there is no such file", 404, {**HEADERS}, "text/plain")
    told = {**HEADERS, "ETag": found.tag}
    if headers.get("if-none-match") == found.tag:
        return Response(None, 304, told)
    if "gzip" in headers.get("accept-encoding", ""):
        return Response(found.packed, 200, {**told, "Content-Encoding": "gzip"}, found.kind)
    return Response(found.body, 200, told, found.kind)


async def serve_file(request: Request) -> Response:
    """Answer a request for a file."""
    return respond(request.path_params["name"], request.headers)


async def serve_home(request: Request) -> Response:
    """Answer a request for the page itself."""
    return respond(HOME, request.headers)


ROUTES = (
    Route("/", serve_home),
    Route("/me", serve_home),
    Route(f"{FOLDER}/{{name:path}}", serve_file),
)
"""The routes of the page; /openapi.json does not describe them."""
