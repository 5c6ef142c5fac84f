"""People who log in to machines of a cluster: their accounts and public keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Discriminator, Field, Tag, ValidationError

from ..errors import SpecError
from ..primitives.counts import format_count
from .base import MAX_USERS, Flag, IntegerRange, Model, Text
from .document import Document, read_document
from .hints import LOGIN_PROBLEM, register_pattern, suggest_name
from .problems import build_findings

__all__ = ["User", "Users", "load_users"]

_MAX_ID = 2**32 - 2
"""Linux: the last number of 32 bits means "no user"."""
_LOGIN_PATTERN = register_pattern(r"^[a-z_][a-z0-9_.-]*$", LOGIN_PROBLEM, suggest_name)
LoginName = Annotated[str, Field(pattern=_LOGIN_PATTERN, max_length=32)]
UserId = Annotated[int, IntegerRange(0, _MAX_ID)]


class User(Model):
    """A person with an account on the machines of a cluster."""

    name: LoginName
    """Login name, as in the lists of tenants. Example: ``ada``."""
    uid: UserId
    """Number of the account, the same on every machine and file system: never give it to another person. Example:
    ``2001``."""
    keys: Annotated[tuple[Text, ...], Field(max_length=64)] = ()
    """Public SSH keys, as the lines of ``~/.ssh/*.pub``; empty means that no key of the spec permits a login. Example:
    ``[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINLv2qQ0WZSoYIorpBHZQPO7u21azCY8MB7JbH2NuEVn ada@laptop]``."""
    gid: UserId | None = None
    """Number of the primary group, which users may share; empty means a group of the user's own with the number
    ``uid``. Example: ``3000``."""
    shell: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/+-]+$", max_length=256)] = "/bin/bash"
    """Login shell; a machine that does not have it uses /bin/bash. Example: ``/bin/zsh``."""
    administrator: Flag = False
    """Whether the user may become root on every machine, and log in to nodes without a job."""


UserList = Annotated[tuple[User, ...], Field(max_length=MAX_USERS)]
Users = Annotated[
    Annotated[Text, Tag("file")] | Annotated[UserList, Tag("list")],
    Discriminator(lambda value: "file" if isinstance(value, str) else "list"),
]
"""A list of users, or the name of a file that has one."""


class _UserList(Model):
    users: UserList


def load_users(path: Path) -> tuple[tuple[User, ...], Document]:
    """Read a YAML or JSON file with a list of users, and its lines; raises :class:`SpecError` with all problems."""
    document = read_document(path)
    if not _is_meant(document.data):  # another file: what is in it is not shown
        raise SpecError(f"{path} is not a list of users, such as [{{name: ada, uid: 2001, keys: [ssh-ed25519 …]}}]")
    return _validate_list(document), document


def _is_meant(data: object) -> bool:
    """Whether it is a list of mappings, each with a field of a user."""
    if not isinstance(data, list):
        return False
    return all(isinstance(item, dict) and not User.model_fields.keys().isdisjoint(item) for item in data)


def _validate_list(document: Document) -> tuple[User, ...]:
    data = {"users": document.data}
    problems = list(document.duplicates)
    try:
        found = _UserList.model_validate(data)
    except ValidationError as error:
        problems += [
            finding.with_location(document.file, document.find_line(place[1:]))
            for place, finding in build_findings(
                error, data, _UserList, "users-file", find_line=lambda place: document.find_line(place[1:])
            )
        ]
    if problems:
        raise SpecError(f"{document.file}: {format_count(len(problems), 'problem')} in a list of users", problems)
    return found.users
