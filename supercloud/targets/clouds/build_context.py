"""Input of every cloud's builder (the plan, and names and options of resources) and its outputs."""

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
"""Tag on every resource: its stack and component. Roles are scoped by it, costs are allocated by it."""


@dataclass(frozen=True)
class ExistingResources:
    """Existing resources and administrators that the user passes; values may be Outputs, their number is plain."""

    network: pulumi.Input[str] | None = None
    subnets: tuple[pulumi.Input[str], ...] = ()
    ssh_key: pulumi.Input[str] | None = None
    node_role: pulumi.Input[str] | None = None
    admins: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Administrators of the cluster by a key, in addition to its creator."""
    notify: tuple[str, ...] = ()
    """Mail addresses for alarms and the budget."""


@dataclass(frozen=True)
class ClusterOutputs:
    """Outputs of a created cluster; all values by a name of the spec."""

    hosts: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Addresses of controllers, login hosts and databases."""
    buckets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    mounts: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Commands that mount each file system."""
    handles: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Values of Kubernetes volumes for each storage: ``<name>.<field>``."""
    commands: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """Commands: ``login``, ``kubeconfig``."""
    connection: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """The connection for jobs, in the format of a fleet's ``connect:``."""
    network: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """``id`` of the network, and of each subnet by its key."""


def format_identity(name: str) -> str:
    """Return the identity of a cluster within an account: project, stack and the component's name."""
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
    """Whether state and storage are protected, and retained when they are removed from the program."""
    bundles: Mapping[str, Bundle]
    """Rendered files by target, which machines read when they start."""
    provider: pulumi.ProviderResource | None = None
    """None if children inherit the component's provider."""
    image_files: Bundle | None = None
    """The bundle ``images``, if the provider builds images."""
    built_images: Mapping[str, pulumi.Output[str]] = field(default_factory=dict)
    """Image key -> identifier of the built image."""

    def with_provider(self, provider: pulumi.ProviderResource | None) -> BuildContext:
        """Return a copy with a provider for all children."""
        return replace(self, provider=provider)

    def with_built_images(self, images: Mapping[str, pulumi.Output[str]]) -> BuildContext:
        """Return a copy whose machines start from built images."""
        return replace(self, built_images=images)

    def name_child(self, key: str, kind: str = "") -> str:
        """Return the logical name of a child; short enough for a physical name of its kind."""
        return format_logical_name(self.name, key, self.cloud.name_rules.get(kind))

    def build_alias(self, key: str, kind: str = "") -> pulumi.Alias:
        """Build the alias of a child that had another key before: an update then keeps the deployed resource."""
        return pulumi.Alias(name=self.name_child(key, kind))

    def build_options(
        self, *, has_data: bool = False, is_critical: bool = False, **extra_options: Any
    ) -> pulumi.ResourceOptions:
        """Build options of a child; ``has_data``: it holds state or data, ``is_critical``: others depend on it."""
        kept = True if has_data and self.is_protected else None  # None inherits the component's options
        return pulumi.ResourceOptions(
            parent=self.component,
            provider=self.provider,
            protect=True if is_critical and self.is_protected else kept,
            retain_on_delete=kept,
            **extra_options,
        )

    @property
    def key_pair(self) -> pulumi.Input[str] | None:
        """The existing key pair of machines: that of the program, else that of the spec."""
        declared = self.cloud.options.get("key_pair")
        return self.existing.ssh_key if self.existing.ssh_key is not None or declared is None else str(declared)

    @property
    def identity(self) -> str:
        """Value of :data:`CLUSTER_TAG`, unique within an account."""
        return format_identity(self.name)

    def build_tags(self, key: str = "") -> dict[str, str]:
        """Build the user's tags, the cluster's, and a display name."""
        named = {"Name": f"{self.name}-{key}"} if key else {}
        return {**self.cloud.tags, **named, CLUSTER_TAG: self.identity}
