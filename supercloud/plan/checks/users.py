"""Checks of users: names and numbers that are used twice or belong to services, and users who cannot submit jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...catalog import Catalog
from ...catalog.system_accounts import SystemAccounts
from ...errors import Finding
from ...spec.user import User
from ..model.plan import Plan

__all__ = ["CHECKS"]

_MAX_NAMES = 5
"""Names that a finding lists."""


def _has_accounts(plan: Plan) -> bool:
    """Whether the machines of the cluster get accounts from the plan."""
    return plan.cloud is not None and plan.scheduler.kind == "slurm"


def _find_user_path(plan: Plan, index: int, field: str) -> str:
    return f"users[{index}].{field}" if index < len(plan.spec.users) else "users_file"


def _group_by_source(plan: Plan, users: Sequence[User]) -> Iterator[tuple[str, str]]:
    """Yield the path of the list that declares them, and their names."""
    declared = {user.name for user in plan.spec.users}
    for path, names in (
        ("users", [user.name for user in users if user.name in declared]),
        ("users_file", [user.name for user in users if user.name not in declared]),
    ):
        if names:
            yield path, _format_names(names)


def _format_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _choose_verb(names: str, singular: str, plural: str) -> str:
    return plural if " " in names else singular


def user_duplicate(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two users with one name or one number: files of one would belong to the other."""
    for field in ("name", "uid"):
        found: dict[object, list[int]] = defaultdict(list)
        for index, user in enumerate(plan.users):
            found[getattr(user, field)].append(index)
        for value, indexes in found.items():
            if len(indexes) > 1:
                names = ", ".join(dict.fromkeys(plan.users[index].name for index in indexes))
                yield Finding(
                    "user-duplicate",
                    "error",
                    _find_user_path(plan, indexes[-1], field),
                    f"{field} {value} is declared {len(indexes)} times ({names})",
                    f"set a different {field}, or remove all but one",
                )


def user_reserved(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Names and numbers that belong to the system or to a service."""
    accounts = list(catalog.iter_entries(SystemAccounts))
    for index, user in enumerate(plan.users):
        for item in accounts:
            if user.name in item.names:
                yield Finding(
                    "user-reserved",
                    "error",
                    _find_user_path(plan, index, "name"),
                    f"the name {user.name} belongs to: {item.title}",
                    "set another name",
                )
        uses = [
            f"{numbers.use} ({item.title})"
            for item in accounts
            for numbers in item.numbers
            if numbers.first <= user.uid <= numbers.last
        ]
        if user.uid == plan.scheduler.slurm_user:
            uses.append("the user slurm")
        if uses:
            yield Finding(
                "user-reserved",
                "error",
                _find_user_path(plan, index, "uid"),
                f"the number {user.uid} of {user.name} is reserved: {uses[-1]}",
                "set another number, such as one from 2000 to 59999",
            )


def user_account(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users of tenants without an account: they cannot log in."""
    if not _has_accounts(plan):
        return
    known = {user.name for user in plan.users}
    for index, tenant in enumerate(plan.tenants):
        missing = _format_names([name for name in tenant.users if name not in known])
        if missing and plan.users:
            yield Finding(
                "user-account",
                "warning",
                f"tenants[{index}].users",
                f"{missing} of {tenant.name} {_choose_verb(missing, 'has', 'have')} no account on the machines",
                "declare them in users: {name, uid, keys}, unless the image has them",
            )
    if not plan.users:
        yield Finding(
            "user-account",
            "note",
            "users",
            "no user has an account: only administrators of the cloud account can log in",
            "declare users: [{name: …, uid: …, keys: [ssh-ed25519 …]}], unless the image has them",
        )


def user_tenant(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users without a tenant, whose jobs Slurm rejects."""
    members = {name for tenant in plan.tenants for name in tenant.users}
    if not plan.tenants or not _has_accounts(plan):
        return
    for path, names in _group_by_source(plan, [user for user in plan.users if user.name not in members]):
        yield Finding(
            "user-tenant",
            "warning",
            path,
            f"{names} {_choose_verb(names, 'belongs', 'belong')} to no tenant: Slurm rejects their jobs",
            "add the names to the users of a tenant",
        )


def user_keys(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users without a key, who cannot log in by SSH."""
    if not _has_accounts(plan):
        return
    for path, names in _group_by_source(plan, [user for user in plan.users if not user.keys]):
        yield Finding(
            "user-keys",
            "note",
            path,
            f"{names} {_choose_verb(names, 'has', 'have')} no public key and cannot log in by SSH",
            "set keys to the lines of their .pub files",
        )


def user_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Users where the machines get no accounts from the plan."""
    if plan.users and not _has_accounts(plan):
        where = "on-prem" if plan.cloud is None else "under Kubernetes"
        yield Finding(
            "user-unused",
            "warning",
            "users" if plan.spec.users else "users_file",
            f"users have no effect {where}",
            "omit them: accounts come from the site's directory" if plan.cloud is None else "omit them",
        )


CHECKS = (user_account, user_duplicate, user_keys, user_reserved, user_tenant, user_unused)
