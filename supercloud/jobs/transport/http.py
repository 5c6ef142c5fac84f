"""HTTP with a credential: only to the specified address.

A redirect would carry the credential to another host, or from https to http; a proxy of the environment would receive
it.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import logging
import os
import re
import socket
import traceback
import urllib.error
import urllib.request
from functools import cache, partial
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from ...errors import EngineConfigurationError
from . import bounded_io as bounded
from .bounded_io import RESPONSE_LIMITS, Deadline, ResponseLimits

__all__ = [
    "NotConnectedError",
    "PROXY_VARIABLE",
    "format_proxy_suffix",
    "describe_error",
    "has_certain_host",
    "require_header_value",
    "is_plaintext",
    "find_proxy",
    "send",
    "warn_of_plaintext",
]

PROXY_VARIABLE = "SUPERCLOUD_PROXY"
"""Variable with the address of a proxy for requests beyond this machine; proxies of the environment are not used."""

_MAX_ERROR_LENGTH = 300  # characters; error texts of libraries on hosts and certificates are shorter

_CERTAIN = re.compile(r"https?://(?P<host>\[[0-9a-f:.]+\]|[0-9a-z_.-]+)(:[0-9]*)?(/|\Z)", re.IGNORECASE | re.ASCII)


class NotConnectedError(OSError):
    """No connection was established: nothing was sent."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        fp.close()
        raise EngineConfigurationError(
            f"{req.full_url} redirects to {newurl[:200]}; the token is not sent there: specify the "
            "address of the service itself, as --via or under connect:"
        )


def send(request: urllib.request.Request, idle_timeout: float, limits: ResponseLimits = RESPONSE_LIMITS) -> bytes:
    """Send a request and return the answer; raises as :func:`urllib.request.urlopen` does.

    An :class:`urllib.error.URLError` whose reason is :class:`NotConnectedError` means that nothing was sent.

    ``idle_timeout`` is the number of seconds without data. An answer beyond ``limits`` raises
    :class:`SubmissionUnknownError`, a redirect :class:`EngineError`. Of an error (:class:`urllib.error.HTTPError`) only
    the beginning can be read. A proxy is used only if ``SUPERCLOUD_PROXY`` is set, and never for an address of
    this machine.
    """
    proxy = find_proxy(request.full_url)
    handler = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
    with bounded.Deadline(limits.timeout) as deadline:
        opener = urllib.request.build_opener(
            handler, _NoRedirects, _HttpHandler(deadline, proxy), _HttpsHandler(deadline, proxy)
        )
        try:
            with opener.open(request, timeout=idle_timeout) as response:
                data = bounded.read_bounded(response.read, limits.max_bytes, request.full_url)
                if response.length:  # reading in chunks does not detect a truncated answer
                    raise http.client.IncompleteRead(b"", response.length)
        except urllib.error.HTTPError as error:
            with error:
                reason = _read_error_body(error)
            deadline.raise_if_passed(request.full_url)
            raise urllib.error.HTTPError(error.url, error.code, error.msg, error.hdrs, io.BytesIO(reason)) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            if not isinstance(getattr(error, "reason", None), NotConnectedError):
                deadline.raise_if_passed(request.full_url)
            raise
        deadline.raise_if_passed(request.full_url)
        return data


def _read_error_body(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(bounded.MAX_ERROR_BYTES)
    except (OSError, ValueError, http.client.HTTPException):
        return b""


class _HttpHandler(urllib.request.HTTPHandler):
    """Connections that end by a deadline."""

    def __init__(self, deadline: Deadline, proxy: str):
        super().__init__()
        self.deadline, self.proxy = deadline, proxy

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_build_connection, http.client.HTTPConnection, self.deadline, self.proxy), req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    """The same with TLS."""

    def __init__(self, deadline: Deadline, proxy: str):
        super().__init__()
        self.deadline, self.proxy = deadline, proxy

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_build_connection, http.client.HTTPSConnection, self.deadline, self.proxy), req)


def _build_connection(
    connection_class: type[http.client.HTTPConnection], deadline: Deadline, proxy: str, host: str, **settings: Any
) -> http.client.HTTPConnection:
    def watch_socket(*where: Any, **how: Any) -> socket.socket:
        made = socket.create_connection(*where, **how)
        deadline.watch(made)
        return made

    class WatchedConnection(connection_class):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(host, **settings)
            self._create_connection = watch_socket  # of http.client: the answer of a proxy ends by the deadline, too

        def _tunnel(self) -> None:
            super()._tunnel()
            deadline.check_connection()

        def connect(self) -> None:
            try:
                super().connect()  # TLS and the tunnel of a proxy are part of it
            except (OSError, ValueError, http.client.HTTPException) as error:
                # http.client of Python 3.11.2 does not close the file object for the answer of a proxy
                traceback.clear_frames(error.__traceback__)
                reason = (
                    f"no connection after {deadline.seconds:g} s" if deadline.has_passed else _describe_reason(error)
                )
                raise NotConnectedError(f"{reason}{format_proxy_suffix(proxy)}") from error

    connection: http.client.HTTPConnection = WatchedConnection()
    return connection


def _describe_reason(error: Exception) -> str:
    if isinstance(error, OSError | ValueError):
        return describe_error(error)
    return f"the answer to CONNECT is not HTTP: {describe_error(error)!r}"


def describe_error(error: object) -> str:
    """The error text of a library, truncated: it quotes the head of an answer, which may have 64 KiB."""
    text = str(error)
    return text if len(text) <= _MAX_ERROR_LENGTH else f"{text[:_MAX_ERROR_LENGTH]}…"


def require_header_value(text: str, label: str) -> str:
    """Return a text that is a valid header value. Raises :class:`EngineError` for anything but printable ASCII.

    The error has ``label`` and the position in the text, not the text itself: it may be a credential, and a library
    that receives such a value quotes it.
    """
    for place, character in enumerate(text, 1):
        if not " " <= character <= "~":
            raise EngineConfigurationError(
                f"{label} has a character that is not allowed in an HTTP header, at position {place} of "
                f"{len(text)}: write it again, as one line of printable ASCII"
            )
    return text


def is_plaintext(address: str, proxy: str | None = None) -> bool:
    """Whether a credential sent to an address, through a proxy or directly, can be read in the network.

    All but https can: a library adds its own scheme to an address without one. Only plain http to this machine does not
    leave it, unless through a proxy, or if a client could interpret another part as the host.
    """
    if address[:8].lower() == "https://":
        return False
    return bool(proxy) or address[:7].lower() != "http://" or not _is_loopback(_parse_host(address))


def find_proxy(address: str, speaks_tls: bool = False) -> str:
    """The proxy in ``SUPERCLOUD_PROXY``, for all addresses except those of this machine; empty if there is none.

    Raises :class:`EngineConfigurationError` if it is not the address of a proxy, or is an https proxy and the client of
    the caller does not support TLS to a proxy: http.client would send it the password in plain text. Without a scheme
    it is an http proxy.
    """
    setting = os.environ.get(PROXY_VARIABLE, "")
    if not setting or _is_loopback(_parse_host(address)):
        return ""
    proxy = setting if "://" in setting else f"http://{setting}"
    try:
        parts = urlsplit(proxy)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or not proxy.isprintable() or " " in proxy:
        raise EngineConfigurationError(
            f"{PROXY_VARIABLE} is {_strip_user(setting)!r:.100}, not the address of a proxy: set it to "
            "http://HOST:PORT, or unset it"
        )
    if parts.scheme == "https" and not speaks_tls:
        raise EngineConfigurationError(
            f"{PROXY_VARIABLE} is {_strip_user(proxy)!r:.100}, and {address} is reached by a client that "
            "does not support TLS to a proxy: it would send the user and password of the proxy in "
            "plain text; set it to http://HOST:PORT of a proxy without TLS, or unset it"
        )
    return proxy


def format_proxy_suffix(proxy: str | None) -> str:
    """The addition to an error if a proxy is used, without its user and password."""
    return f", through the proxy {_strip_user(proxy)} (check {PROXY_VARIABLE} and proxy-url)" if proxy else ""


def _strip_user(address: str) -> str:
    scheme, separator, rest = address.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def has_certain_host(address: str) -> bool:
    """Whether all clients parse the same host from an address: not with a user or a backslash in it."""
    return _CERTAIN.match(address) is not None


def _parse_host(address: str) -> str:
    """The host of an address, in lower case; empty if clients could connect to another one."""
    found = _CERTAIN.match(address)
    return found["host"].strip("[]").lower() if found else ""


@cache
def warn_of_plaintext(address: str) -> None:
    """Warn, once per address, that a credential is sent over a network in plain text."""
    if is_plaintext(address):
        logging.getLogger("supercloud").warning(
            "warning: %s: the token is sent over the network in plain text; use https, or an ssh tunnel to 127.0.0.1",
            address,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"  # subdomains may be resolved in the network
