"""Users of a cluster as an archive of their own: adding one changes nothing else, and replaces no machine.

``users.txt`` has a line for each account, ``groups.txt`` one for each group, ``keys/NAME`` the public keys of a user.
The boot script (``templates/boot/steps/users.sh.j2``) applies them when a machine starts, and a timer every few
minutes.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..plan.model.plan import Plan
from ..plan.model.users import UserPlan
from ..primitives.bundle import Bundle, render_sums
from ..primitives.ssh_keys import normalize_key
from .header import format_header

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render accounts, groups and keys, and the sums by which machines verify them."""
    head = format_header(plan.name)
    files = {
        "users.txt": _format_table(head, "name, UID, GID, shell, administrator", map(_format_user, plan.users)),
        "groups.txt": _format_table(head, "GID, name if a machine has none with this number", _list_groups(plan)),
        **{f"keys/{user.name}": "".join(f"{normalize_key(key)}\n" for key in user.keys) for user in plan.users},
    }
    return Bundle({**files, "SHA256SUMS": render_sums(files)})


def _format_table(head: str, columns: str, rows: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (head, f"# {columns}", *rows))


def _format_user(user: UserPlan) -> str:
    return f"{user.name} {user.uid} {user.gid} {user.shell} {'yes' if user.is_administrator else 'no'}"


def _list_groups(plan: Plan) -> list[str]:
    """Groups of one user first: others may share them."""
    found: dict[int, str] = {}
    for user in sorted(plan.users, key=lambda user: not user.has_own_group):
        found.setdefault(user.gid, user.group)
    return [f"{gid} {name}" for gid, name in found.items()]
