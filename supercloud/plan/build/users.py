"""Accounts of users, from the spec or from the file that it names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...errors import SpecError
from ...spec.document import Document, DocumentPath, format_path
from ...spec.user import User, load_users
from ..model.users import UserPlan
from .inputs import BuildInputs

__all__ = ["build_users"]


def build_users(inputs: BuildInputs) -> tuple[UserPlan, ...]:
    """The accounts in the order of their declaration; none if the file that the spec names has problems."""
    declared = inputs.spec.users
    if not isinstance(declared, str):
        return tuple(map(_build_user, declared))
    try:
        users, document = load_users(inputs.folder / declared)
    except SpecError as error:
        _report_problems(error, inputs, declared)
        return ()
    return tuple(_locate_user(_build_user(user), index, document) for index, user in enumerate(users))


def _build_user(user: User) -> UserPlan:
    gid = user.uid if user.gid is None else user.gid
    group = user.name if gid == user.uid else f"group-{gid}"
    return UserPlan(user.name, user.uid, gid, group, user.keys, user.shell, user.administrator)


def _locate_user(user: UserPlan, index: int, document: Document) -> UserPlan:
    lines = {_format_below(path): line for path, line in document.lines.items() if path[:1] == (index,)}
    return replace(user, file=document.file, lines=lines)


def _format_below(path: DocumentPath) -> str:
    return format_path(path[1:])


def _report_problems(error: SpecError, inputs: BuildInputs, name: str) -> None:
    """The problems of the file with its lines, or the reason why it cannot be read."""
    hint = "specify a YAML file with a list of users, with a path relative to the spec"
    if not error.findings:
        problem = str(error.args[0]).removeprefix(str(inputs.folder / name)).lstrip(": ")
        inputs.problems.add_error("users-file", "users", f"{Path(name).name!r}: {problem}", hint)
    inputs.problems.findings += [replace(finding, check="users-file", level="error") for finding in error.findings]
