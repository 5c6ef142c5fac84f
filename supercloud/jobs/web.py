"""HTTP with a credential: to the address that was given, and nowhere else.

A redirect would carry the credential to another host, or from https to http; a proxy of the environment would see it.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import urllib.request
from functools import cache
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from ..errors import EngineError

__all__ = ["PROXY", "send", "warn_of_plain"]

PROXY = "SUPERCLOUD_PROXY"
"""The address of a proxy that requests go through; the proxies of the environment are not used."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage,
                         newurl: str) -> None:  # fmt: skip
        fp.close()
        raise EngineError(f"{req.full_url} redirects to {newurl[:200]}; the token is not sent there: give the address "
                          "of the service itself, as --via or under connect:")  # fmt: skip


def send(request: urllib.request.Request, patience: float) -> Any:
    """Send a request and return the response; raises as :func:`urllib.request.urlopen` does.

    Redirects raise :class:`EngineError`. A proxy is used only where ``SUPERCLOUD_PROXY`` names one.
    """
    proxy = os.environ.get(PROXY, "")
    handler = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
    return urllib.request.build_opener(handler, _NoRedirects).open(request, timeout=patience)


@cache
def warn_of_plain(address: str) -> None:
    """Say, once for an address, that a credential goes over a network in plain text."""
    parts = urlsplit(address)
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        logging.getLogger("supercloud").warning(
            "warning: %s: the token goes over the network in plain text; use https, or an ssh tunnel to 127.0.0.1",
            address,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
