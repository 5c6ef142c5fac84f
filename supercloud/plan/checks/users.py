"""Checks of users: accounts that every machine can create, keys that sshd accepts, and who can submit jobs."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...catalog.system_accounts import SystemAccounts
from ...errors import Finding, Level
from ...primitives.ssh_keys import find_key_problem
from ..model.plan import Plan
from ..model.users import UserPlan

__all__ = ["CHECKS"]

_FIRST_FREE = 2001
"""Suggested if no user has a number: beyond those that images and their administrators use."""


def user_support(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users of a cluster whose machines do not create accounts."""
    if plan.spec.users and not _has_accounts(plan):
        where = "on-prem" if plan.cloud is None else f"under {plan.scheduler.kind.capitalize()}"
        yield Finding(
            "user-support",
            "warning",
            "users",
            f"users has no effect {where}: accounts are created on machines of clouds under Slurm",
            "omit it; create accounts with the directory of the site, and list their names in tenants",
        )


def user_duplicate(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two users with one name or one UID, or a user's own group with the number of another one."""
    names: dict[str, int] = {}
    numbers: dict[int, UserPlan] = {}
    for index, user in enumerate(plan.users):
        if user.name in names:
            problem = f"duplicate user {user.name!r}, first in users[{names[user.name]}]"
            yield _build_finding(user, index, "name", "user-duplicate", problem, "remove one of them")
        elif user.uid in numbers:
            other = numbers[user.uid].name
            yield _build_finding(
                user,
                index,
                "uid",
                "user-duplicate",
                f"{user.name} and {other} have the UID {user.uid}: each could read and change all files of the other",
                f"choose another one, such as {_suggest_uid(plan)}",
            )
        names.setdefault(user.name, index)
        numbers.setdefault(user.uid, user)


def user_name(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Names of accounts and groups that machines have before users are created."""
    owners = {name: item.title for item in catalog.iter_entries(SystemAccounts) for name in item.names}
    for index, user in enumerate(plan.users):
        if owner := owners.get(user.name):
            problem = f"{user.name!r} is an account or a group of machines ({owner})"
            yield _build_finding(user, index, "name", "user-name", problem, "choose another name")


def user_number(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """UIDs and GIDs that the system of machines or Slurm has."""
    for index, user in enumerate(plan.users):
        if reason := _find_owner(user.uid, plan, catalog):
            problem = f"the UID {user.uid} belongs to {reason}"
            yield _build_finding(
                user, index, "uid", "user-number", problem, f"choose another one, such as {_suggest_uid(plan)}"
            )
        if user.gid != user.uid and (reason := _find_owner(user.gid, plan, catalog)):
            problem = f"the GID {user.gid} belongs to {reason}"
            hint = "choose another one, or omit it: then the user has a group of the same number as the UID"
            yield _build_finding(user, index, "gid", "user-number", problem, hint)


def user_key(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Keys that sshd does not accept, private keys (which are not shown), one key of two users, and no key at all."""
    owners: dict[str, str] = {}
    for index, user in enumerate(plan.users):
        for position, key in enumerate(user.keys):
            field = f"keys[{position}]"
            if found := find_key_problem(key):
                yield _build_finding(user, index, field, "user-key", found.problem, found.hint)
                continue
            data = key.split()[1]
            if owners.setdefault(data, user.name) != user.name:
                problem = f"{user.name} and {owners[data]} have the same key: each can log in as the other"
                yield _build_finding(user, index, field, "user-key", problem, "give each person a key", "warning")
        if not user.keys:
            problem = f"{user.name} has no key and cannot log in by SSH"
            yield _build_finding(
                user, index, "", "user-key", problem, "add the line of the user's ~/.ssh/*.pub", "warning"
            )


def user_account(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users of tenants that have no account; without any user, who can log in."""
    if not _has_accounts(plan):
        return
    if not plan.spec.users:
        yield Finding(
            "user-account",
            "note",
            "users",
            "no user has an account on the machines: only administrators can log in, with the key pair of the program "
            "or the session service of the provider",
            "declare users with UID and public key, unless your images or a directory provide accounts",
        )
        return
    known = {user.name for user in plan.users}
    for index, tenant in enumerate(plan.tenants):
        for position, name in enumerate(tenant.users):
            if known and name not in known:
                yield Finding(
                    "user-account",
                    "warning",
                    f"tenants[{index}].users[{position}]",
                    f"{name} has no account on the machines: {name} cannot log in or submit jobs",
                    f"add it to users: {{name: {name}, uid: {_suggest_uid(plan)}, keys: [ssh-ed25519 …]}}",
                )


def user_tenant(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users that are in no tenant, although jobs need one."""
    if not _has_accounts(plan) or not plan.tenants:
        return
    members = {name for tenant in plan.tenants for name in tenant.users}
    for index, user in enumerate(plan.users):
        if user.name not in members and not user.is_administrator:
            problem = f"{user.name} is in no tenant and cannot submit jobs"
            hint = f"add the name to the users of a tenant: {', '.join(tenant.name for tenant in plan.tenants[:6])}"
            yield _build_finding(user, index, "name", "user-tenant", problem, hint, "warning")


def _has_accounts(plan: Plan) -> bool:
    """Whether the cluster's machines create accounts of users."""
    return plan.cloud is not None and plan.scheduler.kind == "slurm"


def _find_owner(number: int, plan: Plan, catalog: Catalog) -> str:
    """What has a UID or GID; empty if it is free."""
    if number == plan.scheduler.slurm_user:
        return "the user slurm of every machine"
    for item in catalog.iter_entries(SystemAccounts):
        for part in item.ranges:
            if part.first <= number <= part.last:
                return f"{part.purpose} ({part.first}-{part.last}, {item.title})"
    return ""


def _suggest_uid(plan: Plan) -> int:
    return max([_FIRST_FREE - 1, *(user.uid for user in plan.users if user.uid < 2 * _FIRST_FREE)]) + 1


def _build_finding(
    user: UserPlan, index: int, field: str, check: str, problem: str, hint: str, level: Level = "error"
) -> Finding:
    """A finding at a field of a user, with its line if the list is in a file of its own."""
    path = f"users[{index}]" + (f".{field}" if field else "")
    finding = Finding(check, level, path, problem, hint)
    line = user.lines.get(field) or user.lines.get("", 0)
    return finding.with_location(user.file, line) if user.file else finding


CHECKS = (
    user_account,
    user_duplicate,
    user_key,
    user_name,
    user_number,
    user_support,
    user_tenant,
)
