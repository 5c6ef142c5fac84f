"""The component: one cluster of a spec as a child of the user's Pulumi program, whichever cloud it is on.

Spec -> plan -> findings (raised at once, before anything is registered) -> the cloud's builder -> outputs.
"""

# No `from __future__ import annotations`: Pulumi infers the schema for other languages from these annotations.

import re
from collections.abc import Mapping
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
from .declared import load_spec
from .work import BuildContext, ClusterOutputs, ExistingResources, format_identity

__all__ = ["OUTPUTS", "Cluster", "ClusterArgs"]

OUTPUTS = ("buckets", "commands", "connection", "handles", "hosts", "mounts", "network")
"""What a cluster gives."""

_PUBLISHED_TARGETS = ("boot", "kubernetes", "slurm")
"""Targets whose bundles machines of a cloud, and whoever installs what runs in it, read from its bucket."""


_LIST_TYPE = ("list", (list, tuple))
_ARGUMENT_TYPES: dict[str, tuple[str, Any]] = {
    "admins": ("mapping", Mapping),
    "notify": _LIST_TYPE,
    "protect": ("boolean", bool),
    "subnet_ids": _LIST_TYPE,
}
_MAIL_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")


class ClusterArgs(TypedDict):
    """What a cluster is made of. The spec is plain; only existing things may be outputs of other resources."""

    spec: Any
    """The path of a spec's file, a mapping of the same shape, or a ``ClusterSpec``."""
    network_id: NotRequired[pulumi.Input[str] | None]
    """An existing network, instead of the spec's ``network.id``."""
    subnet_ids: NotRequired[list[pulumi.Input[str]] | None]
    """Existing subnets, instead of the spec's ``network.subnets``."""
    ssh_key: NotRequired[pulumi.Input[str] | None]
    """An existing key pair for logins and controllers."""
    node_role: NotRequired[pulumi.Input[str] | None]
    """An existing role for nodes as the provider addresses it (an ARN), instead of one that may do what nodes need:
    under Slurm read the bucket ``state``, write logs, be reached by the session service, and take the role of users
    (``sts:AssumeRole`` and ``sts:TagSession``). It must not read the cluster's secrets: machines get the key of the
    daemons from the controller."""
    admins: NotRequired[dict[str, pulumi.Input[str]] | None]
    """Who may administer the Kubernetes cluster, by a name of yours, besides whoever creates it."""
    notify: NotRequired[list[str] | None]
    """Mail addresses for alarms and the budget."""
    protect: NotRequired[bool | None]
    """Whether state and storage are protected and retained; empty means yes."""


class Cluster(pulumi.ComponentResource):
    """A cluster on a cloud: its network, machines, storage, roles and alarms.

    Raises :class:`~supercloud.errors.InputError` with every finding, before any resource is registered, where the
    plan of the spec has errors or the spec is not for a cloud.
    """

    hosts: pulumi.Output[dict[str, str]]
    """Addresses of logins, controllers and databases by name."""
    buckets: pulumi.Output[dict[str, str]]
    """Buckets by the spec's names; ``state`` has the published configuration."""
    mounts: pulumi.Output[dict[str, str]]
    """Commands that mount each file system."""
    handles: pulumi.Output[dict[str, str]]
    """What ``storage/handles.yaml`` of the Kubernetes bundle is filled in with."""
    commands: pulumi.Output[dict[str, str]]
    """What to type to get in: ``login``, ``kubeconfig``."""
    connection: pulumi.Output[dict[str, str]]
    """How jobs reach the cluster: what stands under ``connect:`` in a fleet."""
    network: pulumi.Output[dict[str, str]]
    """The network's ``id``, and that of each subnet by key."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        given = _parse_arguments(args)
        plan = _resolve_plan(load_spec(args.get("spec"), given))
        cloud = plan.cloud
        if cloud is None:
            _log_warnings(plan)
            where = "stands at a site of its own" if plan.site.kind == "onprem" else f"is on {plan.site.kind}"
            raise InputError(
                f"{plan.name} {where}: there are no cloud resources to create for it; "
                f"supercloud render writes its configuration"
            )
        _require_valid_name(name, plan, cloud)
        build = load_builder(cloud.provider)
        super().__init__("supercloud:index:Cluster", name, {}, opts)
        _log_warnings(plan, self)
        bundles = {target: render(plan, target) for target in list_targets(plan) if target in _PUBLISHED_TARGETS}
        keep = args.get("protect")
        self._set_outputs(build(BuildContext(name, plan, cloud, self, given, keep is None or keep, bundles)))

    def _set_outputs(self, cluster_outputs: ClusterOutputs) -> None:
        outputs = {
            what: pulumi.Output.all(**dict(sorted(getattr(cluster_outputs, what).items()))).apply(_to_mapping)
            for what in OUTPUTS
        }
        for what, value in outputs.items():
            setattr(self, what, value)
        self.register_outputs(outputs)


def _log_warnings(plan: Plan, component: pulumi.Resource | None = None) -> None:
    """Findings that forbid nothing, to whoever runs the program."""
    for finding in plan.findings:
        if finding.level == "warning":
            pulumi.log.warn(str(finding), resource=component)


def _require_valid_name(name: str, plan: Plan, cloud: CloudPlan) -> None:
    """Everything is tagged with the component's name; raises where the provider takes no such tag."""
    rule = cloud.name_rules.get("tag-value")
    problem = rule.find_problem(format_identity(name)) if name and rule else ""
    if not name or problem:
        said = f"{cloud.provider} refuses the tag of everything that is made: {problem}" if problem else "it is empty"
        raise InputError(f"{plan.name} cannot be created under the name {name!r}: {said}; choose another")


def _to_mapping(values: Mapping[str, str] | list[str]) -> dict[str, str]:
    return dict(values) if isinstance(values, Mapping) else {}  # Pulumi gives [] for all() of nothing


def _parse_arguments(args: ClusterArgs) -> ExistingResources:
    """The existing things and people of the arguments; raises :class:`InputError` for what is none of them."""
    if not isinstance(args, Mapping):
        raise InputError(f"the arguments of a cluster are a {type(args).__name__}, not a mapping: {{'spec': …}}")
    known = sorted(ClusterArgs.__annotations__)
    for name in sorted(args.keys() - {*known}):
        raise InputError(f"a cluster has no argument {name!r}: {suggest_nearest(name, known)}")
    for name, (what, shape) in _ARGUMENT_TYPES.items():
        value = args.get(name)
        if value is not None and not isinstance(value, shape):
            raise InputError(f"{name!r} is a {type(value).__name__}, not a {what}")
    mails = [str(mail) for mail in args.get("notify") or ()]
    for mail in mails:
        if mails.count(mail) > 1 or not _MAIL_ADDRESS.fullmatch(mail):
            why = "is there twice" if mails.count(mail) > 1 else "is no mail address"
            raise InputError(f"'notify': {mail!r} {why}; name each address once")
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
