"""HTTP with a credential: to the address that was given, and nowhere else.

A redirect would carry the credential to another host, or from https to http; a proxy of the environment would see it.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import logging
import os
import urllib.error
import urllib.request
from functools import cache, partial
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from ..errors import UnusableEngine
from . import bounded
from .bounded import ANSWER, Deadline, Limits

__all__ = ["PROXY", "header_value", "is_plain", "send", "warn_of_plain"]

PROXY = "SUPERCLOUD_PROXY"
"""The address of a proxy that requests go through; the proxies of the environment are not used."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage,
                         newurl: str) -> None:  # fmt: skip
        fp.close()
        raise UnusableEngine(f"{req.full_url} redirects to {newurl[:200]}; the token is not sent there: give the "
                             "address of the service itself, as --via or under connect:")  # fmt: skip


def send(request: urllib.request.Request, patience: float, limits: Limits = ANSWER) -> bytes:
    """Send a request and return the answer; raises as :func:`urllib.request.urlopen` does.

    ``patience`` is for how many seconds nothing may come. An answer beyond ``limits`` raises :class:`Unsure`, a
    redirect :class:`EngineError`. Of an error (:class:`urllib.error.HTTPError`) only the beginning can be read. A
    proxy is used only where ``SUPERCLOUD_PROXY`` names one.
    """
    proxy = os.environ.get(PROXY, "")
    handler = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
    with bounded.Deadline(limits.seconds) as deadline:
        opener = urllib.request.build_opener(handler, _NoRedirects, _Http(deadline), _Https(deadline))
        try:
            with opener.open(request, timeout=patience) as response:
                data = bounded.read(response.read, limits.size, request.full_url)
                if response.length:  # reading in pieces does not look for what is missing at the end
                    raise http.client.IncompleteRead(b"", response.length)
        except urllib.error.HTTPError as error:
            with error:
                reason = _beginning(error)
            deadline.check(request.full_url)
            raise urllib.error.HTTPError(error.url, error.code, error.msg, error.hdrs, io.BytesIO(reason)) from None
        except (OSError, ValueError, http.client.HTTPException):
            deadline.check(request.full_url)
            raise
        deadline.check(request.full_url)
        return data


def _beginning(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(bounded.REASON)
    except (OSError, ValueError, http.client.HTTPException):
        return b""


class _Http(urllib.request.HTTPHandler):
    """Connections that end by a deadline."""

    def __init__(self, deadline: Deadline):
        super().__init__()
        self.deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_connection, http.client.HTTPConnection, self.deadline), req)


class _Https(urllib.request.HTTPSHandler):
    """The same with TLS."""

    def __init__(self, deadline: Deadline):
        super().__init__()
        self.deadline = deadline

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_connection, http.client.HTTPSConnection, self.deadline), req)


def _connection(kind: type[http.client.HTTPConnection], deadline: Deadline, host: str,
                **settings: Any) -> http.client.HTTPConnection:  # fmt: skip
    class Watched(kind):  # type: ignore[misc, valid-type]
        def connect(self) -> None:
            super().connect()
            deadline.watch(self.sock)

    made: http.client.HTTPConnection = Watched(host, **settings)
    return made


def header_value(text: str, what: str) -> str:
    """A text that can be the value of a header. Raises :class:`EngineError` for anything but printable ASCII.

    The error names ``what`` it is and the place in it, not the text: it may be a credential, and a library that is
    given such a value quotes it.
    """
    for place, character in enumerate(text, 1):
        if not " " <= character <= "~":
            raise UnusableEngine(f"{what} has a character that no HTTP header may have, at place {place} of "
                                 f"{len(text)}: write it anew, as one line of printable ASCII")  # fmt: skip
    return text


def is_plain(address: str) -> bool:
    """Whether what is sent to an address goes over a network in plain text."""
    parts = urlsplit(address)
    return parts.scheme == "http" and not _is_loopback(parts.hostname or "")


@cache
def warn_of_plain(address: str) -> None:
    """Say, once for an address, that a credential goes over a network in plain text."""
    if is_plain(address):
        logging.getLogger("supercloud").warning(
            "warning: %s: the token goes over the network in plain text; use https, or an ssh tunnel to 127.0.0.1",
            address,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"  # names below it may be looked up in the network
