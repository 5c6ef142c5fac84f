"""How jobs reach a cluster that Pulumi made: its stack's output ``connection`` says it."""

from __future__ import annotations

import json

from pydantic import ValidationError

from ...errors import EngineError
from ...spec.fleet import Connection
from ..engines import bounded_io as bounded
from ..engines import http as web
from ..engines.base import SubmissionUnknownError
from ..engines.bounded_io import ResponseLimits

__all__ = ["read_connection_from_stack"]

_LIMITS = ResponseLimits(2**20, 120)  # an output of a few words; state may lie in a bucket far away


def read_connection_from_stack(connection: Connection) -> Connection:
    """The connection with what its stack says of it; what stands beside the stack wins.

    Raises :class:`EngineError` where there is no ``pulumi``, no such stack, or nothing of use among its outputs.
    """
    if connection.stack is None:
        return connection
    asked = ["pulumi", "stack", "output", "connection", "--json", "--stack", connection.stack]
    try:
        answer = bounded.run_bounded(asked, None, _LIMITS, _LIMITS.timeout, asked[0])
    except (OSError, SubmissionUnknownError) as error:
        raise EngineError(f"stack {connection.stack}: {' '.join(asked)}: {error}; is Pulumi installed?") from None
    if answer.returncode:
        raise EngineError(
            f"stack {connection.stack}: {_decode(answer.stderr) or _decode(answer.stdout)}; "
            f"is it the whole name (organization/project/stack), and are you logged in?"
        )
    try:
        said = json.loads(answer.stdout)
        given = connection.model_dump(exclude_defaults=True, exclude={"stack"})
        found = Connection.model_validate({**said, **given})
    except (TypeError, ValueError, RecursionError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise EngineError(f"stack {connection.stack}: its output 'connection' is no connection: {problem}") from None
    is_service = (found.via or "").startswith("http")
    if found.via and is_service and not connection.via and web.is_plaintext(found.via):
        raise EngineError(
            f"stack {connection.stack}: its output 'connection' says {found.via}: plain http, over "
            "which no token is sent unless you ask for it; "
            f"take --via {found.via} in place of the stack, "
            "or let the stack say https"
        )
    return found


def _decode(output: bytes) -> str:
    return output.decode(errors="replace").strip()
