"""What every cloud's builder is given (the plan and how its resources are named, parented and kept) and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pulumi

from ...plan.model.cloud import CloudPlan
from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle
from .naming import format_logical_name

__all__ = ["CLUSTER_TAG", "ClusterOutputs", "ExistingResources", "BuildContext", "format_identity"]

CLUSTER_TAG = "supercloud:cluster"
"""Tag on every resource: which stack and component it belongs to. Roles are scoped by it, costs are counted by it."""


@dataclass(frozen=True)
class ExistingResources:
    """Existing things and people the user passes in; values may be Outputs, numbers of them are plain."""

    network: pulumi.Input[str] | None = None
    subnets: tuple[pulumi.Input[str], ...] = ()
    ssh_key: pulumi.Input[str] | None = None
    node_role: pulumi.Input[str] | None = None
    admins: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Who may administer the cluster, by a name of ours, besides whoever creates it."""
    notify: tuple[str, ...] = ()
    """Mail addresses for alarms and the budget."""


@dataclass(frozen=True)
class ClusterOutputs:
    """What a user needs of a cluster that exists; everything by a name of the spec."""

    hosts: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Addresses of controllers, logins and databases."""
    buckets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    mounts: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Commands that mount each file system."""
    handles: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """What volumes of Kubernetes are told of each storage: ``<name>.<field>``."""
    commands: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """What to type: ``login``, ``kubeconfig``."""
    connection: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """How jobs reach it, as a fleet's ``connect:`` has it."""
    network: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """``id`` of the network, and of each subnet by its key."""


def format_identity(name: str) -> str:
    """Which cluster of an account this is: project, stack and the component's name."""
    return f"{pulumi.get_project()}/{pulumi.get_stack()}/{name}"


@dataclass(frozen=True)
class BuildContext:
    """One component being built."""

    name: str
    """Of the component."""
    plan: Plan
    cloud: CloudPlan
    component: pulumi.ComponentResource
    existing: ExistingResources
    is_protected: bool
    """Whether state and storage are protected, and retained when they leave the program."""
    bundles: Mapping[str, Bundle]
    """Rendered files by target: what machines read when they start."""
    provider: pulumi.ProviderResource | None = None
    """None where children inherit the component's."""

    def with_provider(self, provider: pulumi.ProviderResource | None) -> BuildContext:
        """The same with a provider for all children."""
        return replace(self, provider=provider)

    def name_child(self, key: str, kind: str = "") -> str:
        """Name of a child in the graph; short enough that the provider can make a name of that kind from it."""
        return format_logical_name(self.name, key, self.cloud.name_rules.get(kind))

    def build_options(
        self, *, has_data: bool = False, is_critical: bool = False, **extra_options: Any
    ) -> pulumi.ResourceOptions:
        """Options of a child; ``has_data``: it holds state or data, ``is_critical``: others would be lost with it."""
        kept = True if has_data and self.is_protected else None  # None leaves it to the component's own options
        return pulumi.ResourceOptions(
            parent=self.component,
            provider=self.provider,
            protect=True if is_critical and self.is_protected else kept,
            retain_on_delete=kept,
            **extra_options,
        )

    @property
    def identity(self) -> str:
        """Value of :data:`CLUSTER_TAG`: no other cluster of an account has it."""
        return format_identity(self.name)

    def build_tags(self, key: str = "") -> dict[str, str]:
        """The user's tags, the cluster's, and a display name."""
        named = {"Name": f"{self.name}-{key}"} if key else {}
        return {**self.cloud.tags, **named, CLUSTER_TAG: self.identity}
