"""Storage services of clouds: sizes and steps, throughput, deployments, and compatible options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Flag, Natural, OptionValue, Text
from ..spec.site import CloudKind
from ..spec.storage import StorageKind
from .fact import CatalogEntry, CatalogModel, EntryName, RegularExpression

__all__ = ["Deployment", "FabricClient", "FabricRule", "SoftwareSource", "MountRule", "OptionRule", "StorageService"]


class Deployment(CatalogModel):
    """One deployment type of the service, with its available sizes."""

    name: Text
    sizes: tuple[Size, ...] = ()
    """Single sizes before the steps."""
    step: Size | None = None
    """Multiples of this size are available above ``sizes``; ``steps`` overrides it by throughput."""
    steps: dict[Text, Size] = {}
    """Step by throughput per TiB (``250 MB/s``)."""
    min: Size | None = None
    max: Size | None = None
    per_tib: tuple[Rate, ...] = ()
    """Available throughputs per TiB."""
    throughput: tuple[Rate, ...] = ()
    """Available total throughputs."""
    zones: Count = 1
    """Number of zones that it uses."""
    everywhere: Flag = False
    """Whether clients need an address of the service in their own zone; it then has one in each zone in use."""
    existing: Text | None = None
    """What is not configured for it in an existing network."""
    versions: tuple[Text, ...] = ()
    linked: Flag = True
    """Whether it can be linked to an object store."""


class FabricClient(CatalogModel):
    """How clients are set up for access over the fabric: adapters that LNet uses besides tcp."""

    network: EntryName
    """Network of LNet, driver and kind of the adapters."""
    adapters: dict[Text, Count]
    """Number by machine."""
    several: Count
    """Number of other machines with several network cards; one with a single card uses one."""
    credits: Count
    """Peer credits of an adapter."""
    without: tuple[Text, ...] = ()
    """Families of machines, or systems of theirs, that have the fabric but cannot reach file systems over it."""


class FabricRule(CatalogModel):
    """Conditions for access over the fabric of the machines."""

    kind: Text
    deployments: tuple[Text, ...]
    steps: dict[Text, Size] = {}
    """Size step by throughput per TiB (``250 MB/s``)."""
    option: Text
    """The option that enables it."""
    client: FabricClient | None = None
    """Absent if clients need no setup."""


class OptionRule(CatalogModel):
    """What options with these values require; without ``needs`` and ``without`` they cannot be combined."""

    when: dict[Text, OptionValue]
    """Option -> value, the deployment among them, and ``linked`` if it is linked to an object store."""
    needs: Text | None = None
    """An option that is also required."""
    without: Text | None = None
    """An option that cannot be combined with them: its default is omitted."""
    why: Text

    def is_met(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether the options have all of these values."""
        return all(name in options and options[name] == value for name, value in self.when.items())


class MountRule(CatalogModel):
    """How clients mount it."""

    type: Annotated[str, Field(pattern=r"^[a-z0-9._-]{1,32}$")]
    """File system type for ``mount -t``."""
    options: Annotated[str, Field(pattern=r"^[A-Za-z0-9_=,.:/%+@-]+$", max_length=1024)]
    """Mount options for ``mount -o``."""
    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]*$", max_length=255)] = ""
    """Exported path, appended to the server's name."""
    port: Count | None = None
    """Port for mounts of clients, if the cluster runs the servers."""


class SoftwareSource(CatalogModel):
    """Source of software that only its vendor provides: three options of the spec."""

    source: Text
    """Option with the program that installs it: an ``https://`` address or an ``s3://bucket/key``."""
    digest: Text
    """Option with the SHA-256 digest of this program, without which machines do not run it."""
    token: Text
    """Option with the name of a secret that is passed to this program; it is stored in the provider's secret store."""
    what: Text
    """Description of the required values."""


class ExistingRule(CatalogModel):
    """How clients reach a file system that exists already."""

    id: RegularExpression
    """Identifiers of the product's file systems."""
    example: Text
    server: Text
    """DNS name of its servers, with ``{id}``, ``{region}`` and ``{suffix}`` (that of the partition)."""
    option: Text | None = None
    """Option with what clients mount from them; absent if it is the path of ``mount``."""


class StorageService(CatalogEntry):
    """A storage product of a provider."""

    provider: CloudKind
    kinds: tuple[StorageKind, ...]
    """Kinds of storage in the spec that it can provide."""
    lowers_to: Literal["parallel", "nfs", "bucket", "servers"]
    deployments: tuple[Deployment, ...] = ()
    """Deployments; the first is the default unless another one is requested or required."""
    options: dict[Text, OptionValue] = {}
    """Default options."""
    option_values: dict[Text, tuple[OptionValue, ...]] = {}
    """Allowed values of options; options neither here nor in ``option_ranges`` accept any value."""
    option_ranges: dict[Text, tuple[Natural, Natural]] = {}
    """Minimum and maximum of numeric options."""
    option_rules: tuple[OptionRule, ...] = ()
    name_option: Text | None = None
    """The option with a user-defined name, if the service has a visible name."""
    fabric: FabricRule | None = None
    links: Natural = 0
    """Maximum number of links to object stores."""
    link_scheme: Text | None = None
    """URL scheme of such a store: ``s3``."""
    cannot: dict[Text, Text] = {}
    """Deployments of the provider that are not supported here -> reason."""
    mount: MountRule | None = None
    """How clients mount it; absent for object stores."""
    existing: ExistingRule | None = None
    """Absent if file systems of the product that exist already cannot be used."""
    install: SoftwareSource | None = None
    """Source of the software of servers that the cluster runs; absent if the image contains it."""
    tcp_ports: tuple[Text, ...] = ()
    udp_ports: tuple[Text, ...] = ()
    product: Text | None = None
    """Storage product of the catalog, if the cluster runs the servers."""
    min_servers: Count | None = None
    local_disks: Flag = False
    """Whether servers that the cluster runs store data on local disks."""

    def find_deployment(self, name: str) -> Deployment | None:
        """A deployment by name."""
        return next((item for item in self.deployments if item.name == name), None)
