"""Storage as clouds sell it: sizes and steps, throughput, deployments, and what goes with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Flag, Natural, OptionValue, Text
from ..spec.storage import StorageKind
from .fact import CatalogEntry, CatalogModel

__all__ = ["Deployment", "FabricRule", "SoftwareSource", "MountRule", "OptionRule", "StorageService"]


class Deployment(CatalogModel):
    """One way the service is set up, with the sizes it comes in."""

    name: Text
    sizes: tuple[Size, ...] = ()
    """Single sizes before the steps."""
    step: Size | None = None
    """Then any multiple of it; with ``per_tib`` keys in ``steps`` these win."""
    steps: dict[Text, Size] = {}
    """Step by throughput per TiB (``250 MB/s``)."""
    min: Size | None = None
    max: Size | None = None
    per_tib: tuple[Rate, ...] = ()
    """Throughput for each TiB it can be bought with."""
    throughput: tuple[Rate, ...] = ()
    """Throughput of all of it that it can be bought with."""
    zones: Count = 1
    """Zones it stands in."""
    everywhere: Flag = False
    """Whether clients of each zone need an address of it in that zone; it then has one in every zone that is used."""
    given: Text | None = None
    """What is not done for it in a network of the user's."""
    versions: tuple[Text, ...] = ()
    linked: Flag = True
    """Whether it can be filled from an object store."""


class FabricRule(CatalogModel):
    """When clients may reach it over the fabric of the machines."""

    kind: Text
    deployments: tuple[Text, ...]
    steps: dict[Text, Size] = {}
    """What its sizes are multiples of, by throughput per TiB (``250 MB/s``)."""
    option: Text
    """The option that says so."""


class OptionRule(CatalogModel):
    """What options of these values ask of other options; without ``needs`` and ``without`` they do not go together."""

    when: dict[Text, OptionValue]
    """Option -> value, the deployment among them, and ``linked`` where it is filled from an object store."""
    needs: Text | None = None
    """An option that has to be said too."""
    without: Text | None = None
    """An option that does not go with them: its default is left out."""
    why: Text

    def is_met(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether the options have all of these values."""
        return all(name in options and options[name] == value for name, value in self.when.items())


class MountRule(CatalogModel):
    """How clients mount it."""

    type: Annotated[str, Field(pattern=r"^[a-z0-9._-]{1,32}$")]
    """What ``mount -t`` takes."""
    options: Annotated[str, Field(pattern=r"^[A-Za-z0-9_=,.:/%+@-]+$", max_length=1024)]
    """What ``mount -o`` takes."""
    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]*$", max_length=255)] = ""
    """What is mounted of it, as it follows the server's name."""
    port: Count | None = None
    """Where servers of our own answer clients that mount."""


class SoftwareSource(CatalogModel):
    """Where servers get software that only its vendor provides: two options of the spec."""

    source: Text
    """Option with the program that installs it: an ``https://`` address or an ``s3://bucket/key``."""
    token: Text
    """Option with the name of a secret that this program is given; the user keeps it in the provider's store."""
    what: Text
    """What to give."""


class StorageService(CatalogEntry):
    """A storage product of a provider."""

    provider: Literal["aws", "gcp", "azure"]
    kinds: tuple[StorageKind, ...]
    """Kinds of the spec it can stand for."""
    lowers_to: Literal["parallel", "nfs", "bucket", "servers"]
    deployments: tuple[Deployment, ...] = ()
    """The first is taken unless another one is named or needed."""
    options: dict[Text, OptionValue] = {}
    """What is decided unless the spec says otherwise."""
    option_values: dict[Text, tuple[OptionValue, ...]] = {}
    """Values an option can have; an option that is in neither this nor ``option_ranges`` takes any."""
    option_ranges: dict[Text, tuple[Natural, Natural]] = {}
    """Smallest and largest number an option can be."""
    option_rules: tuple[OptionRule, ...] = ()
    name_option: Text | None = None
    """The option with a name of the user's for it, where it has one that others see."""
    fabric: FabricRule | None = None
    links: Natural = 0
    """Most links to object stores."""
    link_scheme: Text | None = None
    """What the address of such a store begins with: ``s3``."""
    cannot: dict[Text, Text] = {}
    """Deployments that the provider sells and that are not built here -> why."""
    mount: MountRule | None = None
    """Absent for object stores."""
    install: SoftwareSource | None = None
    """Servers of our own: absent where the image has the software."""
    tcp_ports: tuple[Text, ...] = ()
    udp_ports: tuple[Text, ...] = ()
    product: Text | None = None
    """Servers of our own: the product in the catalog's storage."""
    min_servers: Count | None = None
    local_disks: Flag = False
    """Servers of our own: their data is on the disks inside."""

    def find_deployment(self, name: str) -> Deployment | None:
        """A deployment by name."""
        return next((item for item in self.deployments if item.name == name), None)
