"""The connection to a cluster created by Pulumi, read from the output ``connection`` of its stack."""

from __future__ import annotations

from pydantic import ValidationError

from ...errors import EngineError, SubmissionUnknownError
from ...primitives.responses import parse_json
from ...spec.fleet import Connection
from ..transport import bounded_io as bounded
from ..transport import http as web
from ..transport.bounded_io import ResponseLimits

__all__ = ["read_connection_from_stack"]

_LIMITS = ResponseLimits(2**20, 120)  # the output is short; the state may be in a remote bucket


def read_connection_from_stack(connection: Connection) -> Connection:
    """The connection completed from the outputs of its stack; fields set in the connection itself take precedence.

    Raises :class:`EngineError` if ``pulumi`` or the stack is not found, or its outputs have no usable connection.
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
            f"check that the name is complete (organization/project/stack) and that you are logged in"
        )
    try:
        output = parse_json(answer.stdout)
        given = connection.model_dump(exclude_defaults=True, exclude={"stack"})
        found = Connection.model_validate({**output, **given})
    except (TypeError, ValueError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise EngineError(f"stack {connection.stack}: its output 'connection' is not valid: {problem}") from None
    is_service = (found.via or "").startswith("http")
    if found.via and is_service and not connection.via and web.is_plaintext(found.via):
        raise EngineError(
            f"stack {connection.stack}: its output 'connection' is {found.via}, plain http; a "
            "token is sent over it only on request; "
            f"use --via {found.via} instead of the stack, "
            "or change the output to https"
        )
    return found


def _decode(output: bytes) -> str:
    return output.decode(errors="replace").strip()
