"""Checks that the connections of a fleet reach different schedulers, including addresses from stacks and the
kubeconfig; and the connection of a job, which does not change with the kubeconfig.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import Finding, InputError, SpecError
from ...primitives.counts import format_count
from ...spec.base import LocatedProblem
from ...spec.document import Document, format_path
from ...spec.fleet import Connection, FleetMember
from ...spec.schedulers import find_shared_schedulers, find_unused_options
from .kubeconfig import find_api_server, find_context

__all__ = ["pin_connection", "require_used_options", "require_distinct_schedulers"]


def require_distinct_schedulers(members: Sequence[FleetMember], document: Document) -> None:
    """Raise :class:`SpecError` for members that reach one scheduler, or that specify options which their engine does
    not use.
    """
    problems = [
        LocatedProblem(("clusters", index, "connect"), None, problem, hint)
        for index, member in enumerate(members)
        if member.connect
        for _, problem, hint in find_unused_options(member.connect)
    ]
    if problems := problems + find_shared_schedulers(members, find_api_server):
        found = [
            Finding(
                "spec", "error", format_path(item.path), item.describe(document.find_line), item.hint
            ).with_location(document.file, document.find_line(item.path))
            for item in problems
        ]
        raise SpecError(f"{document.file}: {format_count(len(found), 'problem')} in a fleet", found)


def require_used_options(connection: Connection) -> Connection:
    """The same connection; raises :class:`InputError` if it specifies options that its engine does not use."""
    for _, problem, hint in find_unused_options(connection):
        raise InputError(f"{problem}: {hint}")
    return connection


def pin_connection(connection: Connection) -> Connection:
    """The connection to record with a job: for Kubernetes with the context and its API server, which are those of the
    kubeconfig now. Another current context later is another cluster, where the job is missing and yet runs.

    Unchanged if the kubeconfig cannot be read, which its engine reports.
    """
    if connection.engine != "kubernetes":
        return connection
    name, server = find_context(connection.context)
    return connection.model_copy(update={"context": name or None, "server": connection.server or server or None})
