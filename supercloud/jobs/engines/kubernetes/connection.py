"""One request to an API server over the official client's connections: without redirects, with bounded size and
time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ....errors import EngineConfigurationError, EngineUnreachableError
from ...transport import bounded_io as bounded
from ...transport import http as web
from ...transport.bounded_io import RESPONSE_LIMITS, Deadline, ResponseLimits
from ..base import SubmissionUnknownError

__all__ = ["require_encryption", "send"]

_IDLE_TIMEOUT = 60.0  # seconds without data
_RETRY_DELAYS = (0.0, 0.4, 0.8, 1.6)  # seconds before each retry
_MAX_RETRY_DELAY = 30.0  # maximum of Retry-After in seconds; API servers send 1
_RETRYABLE_STATUSES = (429, 503)
# How errors of urllib3 begin: the connection object with its host and port, which the message already has.
_CONNECTION_OBJECT = re.compile(r"<?\w*Connection\(host=[^)]*\)(?: at 0x[0-9a-f]+>)?: ")


def require_encryption(host: str, proxy: str | None) -> None:
    """Raise :class:`EngineConfigurationError` if a token for this address would be sent in plain text."""
    if web.is_plaintext(host, proxy):
        what = "plain http" if "://" in host else "no https://, which makes it plain http"
        if "://" in host and not web.has_certain_host(host):
            what += " to an ambiguous host (an address is http://HOST:PORT, without user and backslash)"
        raise EngineConfigurationError(
            f"{host}: {what}{' through a proxy' if proxy else ''}: the token is not sent in plain text; "
            "set server: in the kubeconfig to the https address of the API server, or connect "
            "through a tunnel that ends at 127.0.0.1, without a proxy"
        )


def send(
    pool_manager: Any,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    limits: ResponseLimits = RESPONSE_LIMITS,
) -> tuple[int, bytes]:
    """HTTP status and body; :class:`EngineUnreachableError` if it was not sent, :class:`SubmissionUnknownError` if that
    is unknown.

    ``pool_manager`` is a pool manager of urllib3. Requests to busy servers and on broken connections are retried. A
    broken request may have created an object: a later refusal (except that the object exists) is then not conclusive.
    """
    checked = {
        name: web.require_header_value(value, f"the header {name} of the kubeconfig") for name, value in headers.items()
    }
    with Deadline(limits.timeout) as deadline:
        _watch_pool(pool_manager.connection_from_url(url), deadline)
        request = _Request(pool_manager, method, url, body, checked, limits.max_bytes, deadline)
        for delay in (*_RETRY_DELAYS, None):
            outcome = request.attempt(delay)
            if isinstance(outcome, tuple):
                return outcome
            deadline.wait(outcome)
            deadline.raise_if_passed(request.host)
    raise AssertionError


@dataclass
class _Request:
    """One request, and what its attempts have shown."""

    pool_manager: Any
    method: str
    url: str
    body: bytes | None
    headers: Mapping[str, str]
    max_bytes: int
    deadline: Deadline
    can_have_arrived: bool = False
    """Whether the server may have received an attempt without a complete answer."""

    @property
    def host(self) -> str:
        """The address of the server."""
        return "{0.scheme}://{0.netloc}".format(urlsplit(self.url))

    def attempt(self, retry_delay: float | None) -> tuple[int, bytes] | float:
        """HTTP status and body, or the seconds before the next attempt; without ``retry_delay`` it is the last."""
        from urllib3.exceptions import HTTPError

        _current_request.is_connected = False
        try:
            # closing abandons a partly read answer; one that was read completely has released its connection
            with closing(self._open()) as answer:
                if retry_delay is not None and answer.status in _RETRYABLE_STATUSES:
                    self.can_have_arrived = self.can_have_arrived or answer.status >= 500
                    return _parse_retry_after(answer.headers) or retry_delay
                return self._read_answer(answer)
        except HTTPError as error:
            # not clear from the error type: urllib3 raises ProxyError also for lost answers
            self.can_have_arrived = self.can_have_arrived or _current_request.is_connected
            if self.can_have_arrived:
                self.deadline.raise_if_passed(self.host)
            if retry_delay is None or self.deadline.has_passed:
                kind = SubmissionUnknownError if self.can_have_arrived else EngineUnreachableError
                raise kind(self._describe_unreachable(error)) from None
            return retry_delay

    def _open(self) -> Any:
        # the retries of urllib3 read an answer completely, follow redirects, and wait without limit
        return self.pool_manager.request(
            self.method,
            self.url,
            body=self.body,
            headers=self.headers,
            timeout=_IDLE_TIMEOUT,
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def _read_answer(self, answer: Any) -> tuple[int, bytes]:
        if self.can_have_arrived and self.method != "GET" and 300 <= answer.status <= 399:
            raise SubmissionUnknownError(f"{self.host} closed the connection, then answered with a redirect")
        data = self._read_body(answer)
        if self.can_have_arrived and self.method == "POST" and answer.status >= 400 and answer.status != 409:
            raise SubmissionUnknownError(
                f"{self.host} closed the connection, then answered HTTP {answer.status}: {data[:300]!r}"
            )
        return int(answer.status), data

    def _read_body(self, answer: Any) -> bytes:
        if 300 <= answer.status <= 399:
            elsewhere = str(answer.headers.get("Location", ""))[:200]
            raise EngineConfigurationError(
                f"{self.host} redirects {self.method} to {elsewhere}; nothing is sent there: set the address of "
                "the API server itself in the kubeconfig"
            )
        if not 200 <= answer.status <= 299:
            data = answer.read(bounded.MAX_ERROR_BYTES)
        else:
            data = bounded.read_bounded(answer.read, self.max_bytes, self.host)
        self.deadline.raise_if_passed(self.host)
        return bytes(data)

    def _describe_unreachable(self, error: Exception) -> str:
        proxy = getattr(self.pool_manager, "proxy", None)
        reason = _CONNECTION_OBJECT.sub("", web.describe_error(error))
        if self.deadline.has_passed:
            reason = f"no connection after {self.deadline.seconds:g} s"
        return (
            f"{self.host} is unreachable: {reason}{web.format_proxy_suffix(proxy and str(proxy))}; try: "
            f"kubectl cluster-info{_format_proxy_hint(self.pool_manager)}"
        )


def _format_proxy_hint(pools: Any) -> str:
    """The hint if the environment has a proxy, which is not used."""
    if getattr(pools, "proxy", None) or not {"http", "https", "all"} & getproxies().keys():
        return ""
    return f" (the proxy of the environment is not used; set proxy-url in the kubeconfig or {web.PROXY_VARIABLE})"


def _parse_retry_after(headers: Mapping[str, str]) -> float:
    """Retry-After of a busy server in seconds; 0 if it is not a number."""
    value = headers.get("Retry-After", "")
    return min(float(value), _MAX_RETRY_DELAY) if value.isascii() and value.isdigit() else 0.0


class _Asking(threading.local):
    """The state of a thread's request, for its connections."""

    deadline: Deadline
    is_connected = False
    """Whether this attempt had a connection, including TLS and the tunnel of a proxy: before that nothing is sent."""


_current_request = _Asking()


def _watch_pool(pool: Any, deadline: Deadline) -> None:
    """Shut down the connections of a pool at the deadline of the thread that reads from them."""
    _current_request.deadline = deadline
    if not hasattr(pool.ConnectionCls, "is_watched"):
        pool.ConnectionCls = _build_watched_class(pool.ConnectionCls)


@cache
def _build_watched_class(connection_class: Any) -> Any:
    class WatchedConnection(connection_class):  # type: ignore[misc]
        is_watched = True

        def _new_conn(self) -> Any:
            made = super()._new_conn()
            _current_request.deadline.watch(made)  # before TLS and the tunnel of a proxy, which may also hang
            return made

        def _tunnel(self) -> None:
            super()._tunnel()
            _current_request.deadline.check_connection()

        def connect(self) -> None:
            super().connect()
            _current_request.is_connected = True

        def request(self, *more: Any, **settings: Any) -> None:
            if self.sock is not None:  # without TLS it is connected later, unless it is reused
                _current_request.deadline.watch(self.sock)
                _current_request.is_connected = True
            super().request(*more, **settings)

    return WatchedConnection
