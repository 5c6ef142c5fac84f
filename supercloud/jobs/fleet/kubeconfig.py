"""The API server of a context of the kubeconfig, read without the client and without running its plugins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...errors import InputError
from ...spec.document import read_yaml

__all__ = ["find_api_server", "find_context"]


def find_api_server(context: str | None) -> tuple[str, str, str]:
    """What identifies the API server of a context: its address, ``proxy-url`` and ``tls-server-name``.

    None is the current context. If the address is unknown, it is the context's name, or empty for the current
    context. One address may lead to several clusters: through several proxies, or through one proxy that selects by the
    name in the TLS handshake, which is the host of the address unless ``tls-server-name`` specifies another. Files are
    merged as kubectl does: of entries with the same name the first counts.
    """
    if not context and (inside := _find_server_of_pod()):
        return inside, "", ""
    name, cluster = _find_cluster(context)
    if not cluster.get("server"):
        return name, "", ""
    server = str(cluster["server"])
    proxy, tls_name = (str(cluster.get(field) or "") for field in ("proxy-url", "tls-server-name"))
    return server, proxy.rstrip("/"), "" if tls_name.lower() == _parse_host(server) else tls_name.lower()


def find_context(context: str | None) -> tuple[str, str]:
    """The name of a context (None: the current one), and the URL of its API server; empty if unknown.

    A pod without a kubeconfig uses the cluster that it runs in, which has no context.
    """
    if not context and (inside := _find_server_of_pod()):
        return "", inside
    name, cluster = _find_cluster(context)
    return name, str(cluster.get("server") or "")


def _find_server_of_pod() -> str:
    """The API server of the cluster that this process runs in; empty if it is not in a pod, or has a kubeconfig."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not host or os.environ.get("KUBECONFIG"):
        return ""
    return f"https://{f'[{host}]' if ':' in host else host}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}"


def _find_cluster(context: str | None) -> tuple[str, Mapping[str, Any]]:
    """The name of a context (None: the current one), and its cluster in the kubeconfig."""
    contexts: dict[str, Any] = {}
    clusters: dict[str, Any] = {}
    current = ""
    for path in _list_files():
        try:
            found = read_yaml(path).data
        except InputError:  # reported by the client that uses it
            continue
        if isinstance(found, Mapping):
            current = current or str(found.get("current-context") or "")
            contexts = _index_by_name(found, "contexts", "context") | contexts
            clusters = _index_by_name(found, "clusters", "cluster") | clusters
    name = context or current
    return name, clusters.get(str(contexts.get(name, {}).get("cluster")), {})


def _parse_host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _list_files() -> list[Path]:
    value = os.environ.get("KUBECONFIG")
    if value:
        return [Path(os.path.expanduser(name)) for name in value.split(os.pathsep) if name]
    try:
        return [Path.home() / ".kube" / "config"]
    except RuntimeError:
        return []


def _index_by_name(document: Mapping[str, Any], field: str, inner: str) -> dict[str, Any]:
    """The entries of a list by name; of duplicates the first."""
    listed = document.get(field)
    items = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    return {str(item.get("name")): item[inner] for item in reversed(items) if isinstance(item.get(inner), Mapping)}
