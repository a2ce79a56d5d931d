"""Certificates: whom a connection trusts, read from the disk once for all of them."""

import ssl
from functools import cache


@cache
def trusted() -> ssl.SSLContext:
    """Return the context of every TLS connection. Reading it takes about 20 ms of a processor.

    `SSL_CERT_FILE` and `SSL_CERT_DIR` say whom to trust, as they are when it is first asked for.
    """
    import httpx2

    return httpx2.create_ssl_context()
