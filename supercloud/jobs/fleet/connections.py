"""Whether the connections of a fleet reach different schedulers, with what stacks and the kubeconfig say."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import Finding, InputError, SpecError
from ...spec.base import PlacedProblem
from ...spec.document import Document, place_text
from ...spec.fleet import Connection, Member
from ...spec.schedulers import same_schedulers, unused_options
from ..engines.kubernetes.kubeconfig import api_server

__all__ = ["check_options", "check_reached"]


def check_reached(members: Sequence[Member], document: Document) -> None:
    """Raise :class:`SpecError` for members that reach one scheduler, or that say what their engine does not use."""
    problems = [PlacedProblem(("clusters", index, "connect"), None, problem, hint)
                for index, member in enumerate(members) if member.connect
                for _, problem, hint in unused_options(member.connect)]  # fmt: skip
    if problems := problems + same_schedulers(members, api_server):
        found = [Finding("spec", "error", place_text(item.place), item.described(document.line), item.hint)
                 .at(document.file, document.line(item.place)) for item in problems]  # fmt: skip
        raise SpecError(f"{document.file}: {len(found)} problem(s) in a fleet", found)


def check_options(connection: Connection) -> Connection:
    """The same connection; raises :class:`InputError` where it says what its engine does not use."""
    for _, problem, hint in unused_options(connection):
        raise InputError(f"{problem}: {hint}")
    return connection
