"""The users of a cluster: those of the spec, and those of the file that it names."""

from __future__ import annotations

from pydantic import ValidationError

from ...errors import SpecError
from ...primitives.files import FileReadError
from ...spec.document import read_document
from ...spec.problems import build_findings
from ...spec.user import User, UserList
from .inputs import BuildInputs

__all__ = ["build_users"]

_CHECK = "users-file"
_HINT = "specify a YAML file such as {users: [{name: ada, uid: 20001, keys: [ssh-ed25519 …]}]}, relative to the spec"


def build_users(inputs: BuildInputs) -> tuple[User, ...]:
    """The users in the order of the spec, then of the file. Problems of the file have its name and line."""
    spec, problems = inputs.spec, inputs.problems
    if spec.users_file is None:
        return spec.users
    try:
        document = read_document(inputs.folder / spec.users_file)
    except (FileReadError, SpecError) as error:
        problems.add_error(_CHECK, "users_file", f"{spec.users_file!r}: {error}", _HINT)
        return spec.users
    try:
        return (*spec.users, *UserList.model_validate(document.data).users)
    except ValidationError as error:
        for place, finding in build_findings(error, document.data, UserList, _CHECK, document.find_line):
            located = f"{spec.users_file}:{document.find_line(place)}: {finding.path}: {finding.problem}"
            problems.add_error(_CHECK, "users_file", located, finding.hint)
        return spec.users
