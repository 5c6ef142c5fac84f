"""Identity of the scheduler of a connection, independent of its notation."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .base import LocatedProblem

if TYPE_CHECKING:
    from .fleet import Connection, FleetMember

__all__ = ["find_shared_schedulers", "normalize_address", "find_unused_options"]

_DEFAULT_PORTS = {"ssh": 22, "http": 80, "https": 443}
_LOCALHOST = "localhost"
_ENGINE_OPTIONS = {"local": (), "slurm": ("via",), "kubernetes": ("context", "server")}
"""Options that an engine reads of a connection; an engine of another distribution may read any."""
ApiServer = Callable[[str | None], tuple[str, str, str]]
_COMPARED = {
    "via": "connections are compared by their host, port and path",
    "context": "contexts are compared by the server, proxy-url and tls-server-name of their cluster in the kubeconfig",
}
"""How two connections are compared, by option."""
_ENGINE_HINTS = {
    "local": "omit it: engine local simulates the cluster on this machine and connects to nothing; or omit the "
    "engine, so that the job is submitted to the cluster's own scheduler",
    "slurm": "set its login node, via ssh:HOST, or slurmrestd, via https://HOST:PORT",
    "kubernetes": "set a context of the kubeconfig: context: NAME (on the command line --via context:NAME)",
}


def find_shared_schedulers(
    members: Sequence[FleetMember], find_api_server: ApiServer = lambda context: (context or "", "", "")
) -> list[LocatedProblem]:
    """Members with the same scheduler, whose nodes would be allocated twice: each with the first of them.

    ``find_api_server`` returns the address, proxy and TLS name of a context of the kubeconfig (None: the current
    one). Without ``via`` Slurm uses the commands of this host. Outputs of stacks are not read here.
    """
    first: dict[tuple[str, ...], int] = {}
    problems = []
    for index, member in enumerate(members):
        if not member.connect or (key := _build_key(member.connect, find_api_server)) is None:
            continue
        before = first.setdefault(key, index)
        if before == index:
            continue
        option = "context" if key[0] == "kubernetes" else "via"
        this, that = (_format_option(members[at], option) for at in (index, before))
        problems.append(
            LocatedProblem(
                ("clusters", index, "connect"),
                ("clusters", before, "connect"),
                f"clusters[{index}] ({member.spec}), {this}, is the same scheduler as clusters[{before}] "
                f"({members[before].spec}), {that}",
                f"{_COMPARED[option]}: set a different connect.{option} for each, or remove one: its nodes would be "
                "allocated twice",
            )
        )
    return problems


def find_unused_options(connection: Connection) -> list[tuple[str, str, str]]:
    """Options of a connection that its engine does not read: each with its problem and fix."""
    if connection.engine not in _ENGINE_OPTIONS:
        return []
    wrong = [name for name in ("via", "context", "server") if name not in _ENGINE_OPTIONS[connection.engine]]
    options = [(name, getattr(connection, name)) for name in wrong] + [("stack", connection.stack)] * (
        connection.engine == "local"
    )
    return [
        (name, f"{name} {value!r} is not used by engine {connection.engine}", _ENGINE_HINTS[connection.engine])
        for name, value in options
        if value
    ]


def _build_key(connection: Connection, find_api_server: ApiServer) -> tuple[str, ...] | None:
    """The engine, and its scheduler; None if two members may have the same."""
    engine, via, context = connection.engine, connection.via, connection.context
    if engine not in ("slurm", "kubernetes") or (connection.stack and not (via or context)):
        return None
    if engine == "slurm":
        return engine, normalize_address(via)
    address, proxy, tls_name = find_api_server(context)
    return engine, normalize_address(address), proxy, tls_name


def normalize_address(address: str | None) -> str:
    """A normal form of an address; empty for this machine, and a name that is not an address is unchanged.

    Neither the case of the host, a dot at its end, the default port, a slash at the end, http or https at one port, nor
    the user name identify another scheduler.
    """
    scheme, _, rest = (address or "").partition(":")
    if scheme not in _DEFAULT_PORTS:
        return address or ""
    try:
        parts = urlsplit(address or "" if scheme != "ssh" else f"ssh://{rest}")
        host, port = _normalize_host(parts.hostname or ""), parts.port or _DEFAULT_PORTS[scheme]
    except ValueError:
        return address or ""
    if scheme == "ssh":
        return "" if (host, port) == (_LOCALHOST, _DEFAULT_PORTS["ssh"]) else f"ssh:{host}:{port}"
    return f"{host}:{port}{parts.path.rstrip('/')}"


def _normalize_host(name: str) -> str:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower().rstrip(".")
    return _LOCALHOST if address.is_loopback else str(address)


def _format_option(member: FleetMember, option: str) -> str:
    value = getattr(member.connect, option)
    usual = "the current context of the kubeconfig" if option == "context" else "the Slurm of this host"
    return f"{option} {value!r}" if value else usual
