"""The component: one cluster of a spec as a component resource of a Pulumi program, on any supported cloud.

Spec -> plan -> findings (all raised together, before resources are registered) -> the cloud's builder -> outputs.
"""

# No `from __future__ import annotations`: Pulumi infers the schema for other languages from these annotations.

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import pulumi

from ...errors import InputError, suggest_nearest
from ...plan.model.cloud import CloudPlan
from ...plan.model.plan import Plan
from ...plan.resolve import resolve
from ...spec import ClusterSpec
from ...spec.loader import LoadedSpec
from .. import list_targets, render
from . import load_builder
from .build_context import BuildContext, ClusterOutputs, ExistingResources, format_identity
from .declared import load_spec

__all__ = ["OUTPUTS", "Cluster", "ClusterArgs"]

OUTPUTS = ("buckets", "commands", "connection", "handles", "hosts", "mounts", "network")
"""Output properties of a cluster."""

_PUBLISHED_TARGETS = ("boot", "kubernetes", "settings", "slurm", "users")
"""Targets whose bundles are published in the cluster's bucket, for its machines and for its administrators."""


_LIST_TYPE = ("list", (list, tuple))
_ARGUMENT_TYPES: dict[str, tuple[str, Any]] = {
    "admins": ("mapping", Mapping),
    "notify": _LIST_TYPE,
    "protect": ("boolean", bool),
    "subnet_ids": _LIST_TYPE,
}
_MAIL_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")


class ClusterArgs(TypedDict):
    """Arguments of a cluster. The spec is plain data; only existing resources may be outputs of other resources."""

    spec: Any
    """The path of a spec file, a mapping with the same fields, or a ``ClusterSpec``."""
    network_id: NotRequired[pulumi.Input[str] | None]
    """An existing network, instead of the spec's ``network.id``."""
    subnet_ids: NotRequired[list[pulumi.Input[str]] | None]
    """Existing subnets, instead of the spec's ``network.subnets``."""
    ssh_key: NotRequired[pulumi.Input[str] | None]
    """An existing key pair for logins and controllers."""
    node_role: NotRequired[pulumi.Input[str] | None]
    """An existing role for nodes in the provider's notation (an ARN), instead of a new one. Permissions that nodes need
    under Slurm: read the bucket ``state``, write logs, use the session service, and assume the users' role
    (``sts:AssumeRole`` and ``sts:TagSession``). It must not read the cluster's secrets: machines get the daemons'
    key from the controller."""
    admins: NotRequired[dict[str, pulumi.Input[str]] | None]
    """Administrators of the Kubernetes cluster by a name of your choice, in addition to its creator."""
    notify: NotRequired[list[str] | None]
    """Mail addresses for alarms and the budget."""
    protect: NotRequired[bool | None]
    """Whether state and storage are protected and retained; default: yes."""


class Cluster(pulumi.ComponentResource):
    """A cluster on a cloud: its network, machines, storage, roles and alarms.

    Raises :class:`~supercloud.errors.InputError` with all findings, before any resource is registered, if the
    plan of the spec has errors or the spec is not for a cloud.
    """

    hosts: pulumi.Output[dict[str, str]]
    """Addresses of login hosts, controllers and databases by name."""
    buckets: pulumi.Output[dict[str, str]]
    """Buckets by the spec's names; ``state`` has the published configuration."""
    mounts: pulumi.Output[dict[str, str]]
    """Commands that mount each file system."""
    handles: pulumi.Output[dict[str, str]]
    """Values for ``storage/handles.yaml`` of the Kubernetes bundle."""
    commands: pulumi.Output[dict[str, str]]
    """Commands for access: ``login``, ``kubeconfig``."""
    connection: pulumi.Output[dict[str, str]]
    """The connection for jobs: the value of ``connect:`` in a fleet."""
    network: pulumi.Output[dict[str, str]]
    """The ``id`` of the network, and the identifiers of its subnets by key."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = _parse_arguments(args)
        plan = _resolve_plan(load_spec(args.get("spec"), arguments))
        cloud = plan.cloud
        if cloud is None:
            _log_warnings(plan)
            where = "is on-prem" if plan.site.kind == "onprem" else f"is on {plan.site.kind}"
            raise InputError(
                f"{plan.name} {where} and has no cloud resources to create; supercloud render writes its configuration"
            )
        _require_valid_name(name, plan, cloud)
        build = load_builder(cloud.provider)
        super().__init__("supercloud:index:Cluster", name, {}, opts)
        _log_warnings(plan, self)
        bundles = {target: render(plan, target) for target in list_targets(plan) if target in _PUBLISHED_TARGETS}
        keep = args.get("protect")
        context = BuildContext(name, plan, cloud, self, arguments, keep is None or keep, bundles)
        if cloud.image_builds:
            context = replace(context, image_files=render(plan, "images"))
        self._set_outputs(build(context))

    def _set_outputs(self, cluster_outputs: ClusterOutputs) -> None:
        outputs = {
            what: pulumi.Output.all(**dict(sorted(getattr(cluster_outputs, what).items()))).apply(_to_mapping)
            for what in OUTPUTS
        }
        for what, value in outputs.items():
            setattr(self, what, value)
        self.register_outputs(outputs)


def _log_warnings(plan: Plan, component: pulumi.Resource | None = None) -> None:
    """Log warnings for the user of the program."""
    for finding in plan.findings:
        if finding.level == "warning":
            pulumi.log.warn(str(finding), resource=component)


def _require_valid_name(name: str, plan: Plan, cloud: CloudPlan) -> None:
    """Check the component's name, which is a tag of all resources; raises if the provider rejects it as a tag."""
    rule = cloud.name_rules.get("tag-value")
    problem = rule.find_problem(format_identity(name)) if name and rule else ""
    if not name or problem:
        reason = f"{cloud.provider} rejects it as a tag of resources: {problem}" if problem else "it is empty"
        raise InputError(f"{plan.name} cannot be created under the name {name!r}: {reason}; choose another")


def _to_mapping(values: Mapping[str, str] | list[str]) -> dict[str, str]:
    return dict(values) if isinstance(values, Mapping) else {}  # Pulumi returns [] for all() without arguments


def _parse_arguments(args: ClusterArgs) -> ExistingResources:
    """Parse the existing resources and administrators of the arguments; raises :class:`InputError` for invalid ones."""
    if not isinstance(args, Mapping):
        raise InputError(f"the arguments of a cluster are a {type(args).__name__}, not a mapping: {{'spec': …}}")
    known = sorted(ClusterArgs.__annotations__)
    for name in sorted(args.keys() - {*known}):
        raise InputError(f"unknown argument {name!r} of a cluster: {suggest_nearest(name, known)}")
    for name, (what, shape) in _ARGUMENT_TYPES.items():
        value = args.get(name)
        if value is not None and not isinstance(value, shape):
            raise InputError(f"{name!r} is a {type(value).__name__}, not a {what}")
    mails = [str(mail) for mail in args.get("notify") or ()]
    for mail in mails:
        if mails.count(mail) > 1 or not _MAIL_ADDRESS.fullmatch(mail):
            why = "is a duplicate" if mails.count(mail) > 1 else "is not a mail address"
            raise InputError(f"'notify': {mail!r} {why}; list each address once")
    return ExistingResources(
        network=args.get("network_id"),
        subnets=tuple(args.get("subnet_ids") or ()),
        ssh_key=args.get("ssh_key"),
        node_role=args.get("node_role"),
        admins=dict(args.get("admins") or {}),
        notify=tuple(args.get("notify") or ()),
    )


def _resolve_plan(spec: ClusterSpec | LoadedSpec[ClusterSpec]) -> Plan:
    plan = resolve(spec)
    if plan.errors:
        _log_warnings(plan)
        raise InputError(f"{plan.name} cannot be created: the plan has errors", plan.errors)
    return plan
