"""Accounts of persons on the machines of a cloud cluster."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from ..primitives.ssh_keys import check_public_key
from .base import Flag, IntegerRange, Model

__all__ = ["User", "UserList", "UserName"]

UserName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_.-]*\$?$", max_length=32)]
AccountName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]*$", max_length=32)]
"""Names that useradd of Debian and Red Hat accept without an option."""
PublicKey = Annotated[str, AfterValidator(check_public_key)]
UserNumber = Annotated[int, IntegerRange(1000, 2**31 - 1)]
"""Numbers below 1000 belong to services (login.defs of Debian and Red Hat: UID_MIN)."""


class User(Model):
    """A person with an account on every machine of the cluster."""

    name: AccountName
    """Login name, the same as in ``tenants``. Example: ``ada``."""
    uid: UserNumber
    """Number of the user and of the group with the same name, on every machine; files belong to it. Example:
    ``20001``."""
    keys: tuple[PublicKey, ...] = ()
    """Public SSH keys; empty means that the user cannot log in by SSH. Example: ``["ssh-ed25519
    AAAAC3NzaC1lZDI1NTE5AAAAIGPKSBrxxvtIjhB4H6Bwc8sKQ3TBXr2OZCeTWJbuI0l1 ada@laptop"]``."""
    administrator: Flag = False
    """Whether the user may become root by ``sudo`` on every machine, and log in to every node."""
    shell: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._-]+)+$", max_length=128)] = "/bin/bash"
    """Login shell."""


class UserList(Model):
    """A file of users."""

    users: tuple[User, ...] = ()
    """The users. Example: ``[{name: ada, uid: 20001}]``."""
