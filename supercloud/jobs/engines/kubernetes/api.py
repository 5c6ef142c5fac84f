"""The API server, with JSON requests and answers. The official client finds the cluster, its certificates and
credentials; requests use the connections of that client, but not its models, which do not include custom resources.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from ....errors import EngineConfigurationError, EngineError, EngineUnreachableError
from ....primitives.locked_property import LockedProperty
from ....primitives.responses import Shape, parse_json, parse_response, replace_surrogates
from ...transport import http as web
from ..base import SubmissionUnknownError
from . import connection, plugins, shapes

__all__ = ["ApiClient", "ClusterTransport", "ApiStatusError", "Transport"]

Json = dict[str, Any]

_PAGE_SIZE = 500  # objects per page, as in kubectl
_MAX_PAGES = 2000
"""Pages of one list, at most a million objects: Kubernetes supports 150,000 pods per cluster and fewer of the others,
https://kubernetes.io/docs/setup/best-practices/cluster-large/. Servers fill pages up to the limit.
"""
_MAX_CONNECTIONS = 16
# Error texts of an API server if a webhook, or its own parsing of an applied object, prevented the object from being
# stored, whatever the HTTP status: pkg/admission/plugin/webhook/errors, pkg/util/webhook and
# pkg/endpoints/handlers/fieldmanager of https://github.com/kubernetes/apiserver
_BEFORE_STORED = ('failed calling webhook "', 'admission webhook "', "failed to create typed patch object")


class ApiStatusError(EngineError):
    """The API server refused; ``code`` is the HTTP status, ``reason`` its reason (NotFound, Forbidden …)."""

    def __init__(self, code: int, reason: str, message: str):
        super().__init__(message)
        self.code, self.reason = code, reason


class AccessDeniedError(ApiStatusError, EngineConfigurationError):
    """The user is not authenticated or not authorized."""


class Transport(Protocol):
    """Sends one request; replaced by recordings in tests."""

    def send(self, method: str, path: str, body: bytes | None, content_type: str) -> tuple[int, bytes]:
        """HTTP status and body; :class:`EngineError` if it was not sent, :class:`SubmissionUnknownError` if that is
        unknown.
        """


class ClusterTransport:
    """The cluster of a context of the kubeconfig, or the one this process runs in."""

    def __init__(self, context: str | None = None, config_file: Path | None = None):
        self.context, self.config_file = context, config_file
        self._lock = threading.Lock()

    def load_client(self) -> None:
        """Find its address and credentials; raises :class:`EngineConfigurationError` with a fix if there are none."""
        with self._lock:
            _ = self._client

    @property
    def host(self) -> str:
        """The URL of the API server."""
        with self._lock:
            return str(self._client.configuration.host)

    def send(self, method: str, path: str, body: bytes | None, content_type: str) -> tuple[int, bytes]:
        """Every request may be repeated (object names are fixed), so a broken connection is retried.

        It is sent only to the server of the kubeconfig: a redirect is an error, as the body is a whole job. A
        proxy is used only if ``proxy-url`` of the kubeconfig or ``SUPERCLOUD_PROXY`` specifies one.

        Raises :class:`EngineUnreachableError` if there are no credentials or it was not sent, and
        :class:`SubmissionUnknownError` if that is unknown.
        """
        client = self._client
        headers = {"Accept": "application/json, */*", "User-Agent": "supercloud"}
        if body is not None:
            headers["Content-Type"] = content_type
        with self._lock:  # this may run a plugin that fetches a new token
            try:
                credentials = {item["key"]: item["value"] for item in client.configuration.auth_settings().values()}
            except Exception as error:  # of the plugin, or of a token service that does not respond
                raise EngineUnreachableError(
                    f"no credentials for {client.configuration.host}: {type(error).__name__}: "
                    f"{_shorten(error)}; try: kubectl auth whoami"
                ) from error
        if any(credentials.values()):
            connection.require_encryption(client.configuration.host, client.configuration.proxy)
        headers |= credentials
        url = f"{client.configuration.host}{path}"
        return connection.send(client.rest_client.pool_manager, method, url, body, headers)

    @LockedProperty
    def _client(self) -> Any:
        client, kubeconfig = _import_kubernetes()
        # the client itself reads the variable only once
        file = str(self.config_file) if self.config_file else os.environ.get("KUBECONFIG")
        try:
            settings = self._load_settings(client, kubeconfig, file)
            found = client.ApiClient(settings)
            found.rest_client.pool_manager.connection_from_url(
                settings.host
            )  # does not connect, but parses the address
        except kubeconfig.ConfigException as error:
            raise EngineConfigurationError(
                f"no cluster: {str(error).rstrip('.')}; set KUBECONFIG, or specify the connection: --via context:NAME "
                "(in a fleet file connect: {engine: kubernetes, context: …}) with a context that kubectl config "
                "get-contexts lists; to simulate the cluster on this machine use --engine local"
            ) from None
        except EngineError:
            raise
        except Exception as error:  # wrong types in a kubeconfig, missing certificates, a proxy without address
            where = file or ("~/.kube/config" if self.context else "the kubeconfig or the pod's service account")
            raise EngineConfigurationError(
                f"no cluster: the Kubernetes client cannot use {where}: {type(error).__name__}: {_shorten(error)}; "
                "correct it until kubectl cluster-info succeeds"
            ) from error
        if settings.api_key:  # reported before a job is recorded
            connection.require_encryption(settings.host, settings.proxy)
        return found

    def _load_settings(self, client: Any, kubeconfig: Any, file: str | None) -> Any:
        """Address and credentials: of the context, or of the service account of the pod that this process runs in."""
        settings = client.Configuration()  # which reads the environment
        settings.connection_pool_maxsize = _MAX_CONNECTIONS
        settings.proxy, settings.no_proxy = None, None
        if not (file or self.context) and "KUBERNETES_SERVICE_HOST" in os.environ:
            kubeconfig.load_incluster_config(client_configuration=settings)
        else:
            plugins.load_kubeconfig(file, self.context, settings)
        # a proxy-url takes precedence
        settings.proxy = settings.proxy or web.find_proxy(settings.host, speaks_tls=True) or None
        return settings


def _import_kubernetes() -> tuple[Any, Any]:
    """The official client and its reader of kubeconfigs, which have no types."""
    try:
        from kubernetes import client, config
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "kubernetes":
            raise EngineConfigurationError(
                "the Kubernetes client is not installed: pip install 'supercloud[kubernetes]'"
            ) from None
        raise _build_client_error(error) from error
    except Exception as error:  # it or one of its dependencies does not support this Python
        raise _build_client_error(error) from error
    return client, config


class ApiClient:
    """Requests to one API server."""

    def __init__(self, transport: Transport):
        self._transport = transport

    def get(self, path: str, **query: str | int) -> Json:
        """Any answer that is JSON.

        Raises :class:`ApiStatusError` if the server refuses, and :class:`EngineError` if there is no valid answer, as
        all requests do.
        """
        return self._request_json("GET", path, query)

    def find_object(self, path: str) -> Json | None:
        """The object at a path; None if the server answers that it does not exist, which no other answer means."""
        try:
            return self._request_json("GET", path, {}, shape=shapes.OBJECT)
        except ApiStatusError as refusal:
            if refusal.code != 404:
                raise
            return None

    def post(self, path: str, body: Json, **query: str | int) -> Json:
        """Create an object; an unknown field is rejected by the server, not dropped.

        Raises :class:`SubmissionUnknownError` if the answer is not the object: it may exist nevertheless.
        """
        return self._request_json("POST", path, {"fieldValidation": "Strict"} | query, body, shape=shapes.OBJECT)

    def review(self, path: str, body: Json) -> Json:
        """The answer to an object that the server does not store, such as a SubjectAccessReview."""
        return self._request_json("POST", path, {}, body)

    def patch(
        self, path: str, body: Json, content_type: str = "application/merge-patch+json", **query: str | int
    ) -> Json:
        """Change an object.

        Raises :class:`SubmissionUnknownError` if it is unknown whether it was changed.
        """
        return self._request_json("PATCH", path, query, body, content_type)

    def delete(self, path: str, body: Json | None = None) -> Json:
        """Delete an object.

        Raises :class:`SubmissionUnknownError` if it is unknown whether it was deleted.
        """
        return self._request_json("DELETE", path, {}, body or {"propagationPolicy": "Background"})

    def iter_items(self, path: str, **query: str | int) -> Iterator[Json]:
        """All objects of a list, page by page; a list that expired while it was read is read again.

        So an object may occur twice, but none is missing. Raises :class:`EngineError` if the list does not end.
        """
        again, start, seen = 3, "", set[str]()
        for _ in range(_MAX_PAGES):
            try:
                page = self._get_page(path, {"limit": _PAGE_SIZE, **query, **({"continue": start} if start else {})})
            except ApiStatusError as refusal:
                again -= 1
                if refusal.code != 410 or not again:
                    raise
                start, seen = "", set()
                continue
            yield from page["items"]
            start = (page.get("metadata") or {}).get("continue") or ""
            if not start:
                return
            if start in seen:
                raise EngineError(
                    f"invalid response of GET {path}: it sends the same continue token again: {start:.40}"
                )
            seen.add(start)
        raise EngineError(
            f"invalid response of GET {path}: the list has more than {_MAX_PAGES:,} pages; "
            "is this the expected service?"
        )

    def _get_page(self, path: str, query: Mapping[str, str | int]) -> Json:
        """One page of a list. Raises :class:`EngineError` if the answer is not a list of this resource: objects that it
        lacks may exist.
        """
        page = self._request_json("GET", path, query, shape=shapes.LIST)
        resource = path.rpartition("/")[2]
        if page["kind"].lower() != f"{resource.removesuffix('s')}list":
            raise EngineError(
                f"invalid response of GET {path}: its kind is {page['kind'][:80]!r}, not a list of {resource}; "
                "is this the expected service, in a supported release?"
            )
        return page

    def get_raw(self, path: str, **query: str | int) -> bytes:
        """An answer that is not an object: a log."""
        return self._request("GET", path, query, None, "")

    def _request_json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Json | None = None,
        content_type: str = "application/json",
        shape: Shape = shapes.RESPONSE,
    ) -> Json:
        data = self._request(method, path, query, None if body is None else json.dumps(body).encode(), content_type)
        try:
            found: Json = parse_response(data, shape, f"{method} {path}")
        except EngineError as error:  # the request may have been executed
            raise (SubmissionUnknownError(str(error)) if method != "GET" else error) from None
        return found

    def _request(
        self, method: str, path: str, query: Mapping[str, str | int], body: bytes | None, content_type: str
    ) -> bytes:
        target = f"{path}?{urlencode(query)}" if query else path
        status, data = self._transport.send(method, target, body, content_type)
        if not 200 <= status <= 299:
            refusal = _build_status_error(status, data)
            if method != "GET" and status >= 500 and not any(words in str(refusal) for words in _BEFORE_STORED):
                raise SubmissionUnknownError(
                    f"{method} {path}: HTTP {status} ({refusal}): it is unknown whether it was executed"
                )
            raise refusal
        return data


def _build_client_error(error: Exception) -> EngineConfigurationError:
    return EngineConfigurationError(
        f"the Kubernetes client cannot be loaded: {type(error).__name__}: {_shorten(error)}; reinstall "
        "it: pip install --upgrade 'supercloud[kubernetes]'"
    )


def _shorten(error: Exception) -> str:
    return replace_surrogates(str(error))[:300]


def _build_status_error(status: int, data: bytes) -> ApiStatusError:
    try:
        answer = parse_json(data)
        reason, message = str(answer.get("reason", "")), str(answer.get("message", ""))
    except (ValueError, AttributeError):
        reason, message = "", data.decode(errors="replace").strip()
    if status == 401:
        message = f"not authenticated: {message}; try: kubectl auth whoami"
    kind = AccessDeniedError if status in (401, 403) else ApiStatusError
    return kind(status, reason, message[:2000] or f"HTTP status {status}")
