"""What the parts of the broker share: the store, the fleet, clocks, the reporter and the requests to engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ...spec.fleet import Connection
from ..api import open_engine
from ..engines.base import Engine
from ..fleet.connections import pin_connection
from ..fleet.state import Cluster, Fleet
from ..store.store import Store
from ..transport.bounded_io import POLL_TIMEOUT
from .parallel_requests import ParallelRequests

__all__ = [
    "BrokerContext",
    "BrokerReporter",
    "BrokerSettings",
    "pin_connections",
    "require_connection",
    "serialize_connection",
]


@dataclass(frozen=True)
class BrokerSettings:
    """Settings of the broker, in seconds."""

    move_after: float = 60.0
    """How long a job waits on a cluster before it may move to another."""
    lost_after: float | None = None
    """How long a cluster does not respond before its jobs are restarted elsewhere; None: never."""
    timeout: float = POLL_TIMEOUT
    """How long a cycle waits for one connection."""


class BrokerReporter(Protocol):
    """Where the broker reports events and warnings."""

    def report(self, message: str) -> None:
        """Report an event, or a warning if it starts with ``warning:``."""

    def warn(self, message: str, subject: str, is_inconclusive: bool = False) -> None:
        """Warn of a lasting problem of a subject, such as a connection."""

    def renew(self, subject: str) -> None:
        """The problem of a subject is assumed to continue."""


@dataclass
class BrokerContext:
    """Created once for a broker. Dates are stored; durations are measured with a clock that a change of the date does
    not affect.
    """

    store: Store
    fleet: Fleet
    """The clusters of the fleet that have a connection."""
    settings: BrokerSettings
    clock: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    """Seconds since any time."""
    reporter: BrokerReporter
    requests: ParallelRequests

    def get_cluster(self, name: str) -> Cluster:
        """The cluster with this name."""
        return next(cluster for cluster in self.fleet.clusters if cluster.plan.name == name)

    def open_engine(self, cluster: Cluster) -> Engine:
        """The engine of a cluster."""
        return open_engine(require_connection(cluster), self.store.folder)

    def open_recorded_engine(self, connection: str) -> Engine:
        """The engine of a connection as the store has it, possibly of a cluster that has left the fleet."""
        return open_engine(Connection.model_validate_json(connection), self.store.folder)

    def warn(self, message: str, subject: str, is_inconclusive: bool = False) -> None:
        """Warn of a lasting problem: see :meth:`.Reporter.warn`."""
        self.reporter.warn(f"warning: {message}", subject, is_inconclusive)


def pin_connections(fleet: Fleet) -> Fleet:
    """The clusters of a fleet that have a connection, each with the connection that is recorded with its jobs."""
    connected = [
        replace(cluster, member=cluster.member.model_copy(update={"connect": pin_connection(cluster.member.connect)}))
        for cluster in fleet.clusters
        if cluster.member.connect
    ]
    return replace(fleet, clusters=tuple(connected))


def require_connection(cluster: Cluster) -> Connection:
    """The connection of a cluster; all clusters of a context have one."""
    assert cluster.member.connect is not None
    return cluster.member.connect


def serialize_connection(cluster: Cluster) -> str:
    """The connection of a cluster in the format of the store."""
    return cluster.member.connect.model_dump_json(exclude_defaults=True) if cluster.member.connect else ""
