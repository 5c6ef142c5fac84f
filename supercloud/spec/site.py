"""The site of a cluster: a data center of its own, or a region of a cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from .base import MAX_CHOICES, MAX_LISTED, MAX_ZONES, IntegerRange, Model, Name, OptionValue, Text

__all__ = [
    "SITE_KINDS",
    "AwsSite",
    "AzureSite",
    "BootScript",
    "CloudKind",
    "CloudSite",
    "GcpSite",
    "OnPremSite",
    "OwnImage",
    "Site",
    "SiteKind",
]


ImageInputName = Literal[
    "CONTAINER_PACKAGES",
    "CUDA_HOME",
    "DRIVER_PACKAGES",
    "FABRIC_INSTALLER",
    "FABRIC_INSTALLER_SHA256",
    "MONITORING_PACKAGES",
    "SLURM_PACKAGES",
    "TESTS_SHA256",
    "TESTS_SOURCE",
]
ImageInput = Annotated[Text, Field(pattern=r"^[A-Za-z0-9 ._:/@=+~-]{1,400}$")]


class OnPremSite(Model):
    """An on-prem site; its physical equipment is declared in ``facility``."""

    kind: Literal["onprem"]
    """Always ``onprem``."""
    location: Text
    """Location by name, one of the catalog's locations if carbon is to be computed (``stockholm``). Example:
    ``stockholm``."""


class OwnImage(Model):
    """A custom image."""

    id: Text
    """Identifier of the image at the cloud. Example: ``ami-0a1b2c3d4e5f60718``."""
    root: Annotated[Text, Field(pattern=r"^(/dev/)?[a-z0-9]{1,32}$")] | None = None
    """Device of its root disk, as the cloud names it; empty means that of the image that it replaces. Example:
    ``/dev/xvda``."""
    user: Annotated[Text, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] | None = None
    """Administrator that the image creates, for the printed command that logs in; empty means that the command names
    none. Example: ``admin``."""


class BootScript(Model):
    """A program that machines run as root when they start, before or after the steps of the cluster."""

    source: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*://[^\s/]+/\S+$", max_length=1024)]
    """Location of the program: an ``https://`` address or an object in a bucket. Example:
    ``s3://example-software/agents/install.sh``."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 digest of the program, as ``sha256sum`` prints it; a program with another digest is not run. Example:
    ``9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08``."""
    when: Literal["before", "after"] = "after"
    """Whether it runs before software of the cluster is installed, or after all other steps, before the machine takes
    jobs or logins."""
    machines: Annotated[tuple[Literal["controller", "login", "node"], ...], Field(max_length=3)] = ()
    """Kinds of machines that run it; empty means all. Example: ``[node]``."""


class CloudSite(Model):
    """Fields of a region of any cloud."""

    region: Text
    """Region of the provider, such as us-east-1. Example: ``us-east-1``."""
    zones: Annotated[tuple[Text, ...], Field(max_length=MAX_ZONES)] = ()
    """Availability zones to use, in order; empty means those of the declared capacity, otherwise the region's first.
    Example: ``[us-east-1a]``."""
    images: Literal["build"] | Annotated[dict[Name, Text | OwnImage], Field(max_length=MAX_LISTED)] = {}
    """Custom images by key (``slurm-nvidia-x86``), instead of the ones the provider publishes: the identifier, or also
    the root device; ``build``: the provider builds them with the software of the cluster before machines start; empty
    means those that the provider publishes. Example: ``{slurm-nvidia-x86: {id: ami-0a1b2c3d4e5f60718, root: /dev/xvda,
    user: admin}}``."""
    image_inputs: Annotated[dict[ImageInputName, ImageInput], Field(max_length=MAX_LISTED)] = {}
    """Inputs of the installation of images that are built, by their variables in ``install.sh`` of ``supercloud render
    --target images``; empty means that published images contain all that no other source has. Example:
    ``{SLURM_PACKAGES: s3://my-software/packages.tar.gz}``."""

    @property
    def builds_images(self) -> bool:
        """Whether the provider builds the images."""
        return self.images == "build"

    scripts: Annotated[tuple[BootScript, ...], Field(max_length=MAX_CHOICES)] = ()
    """Slurm only: programs that machines run when they start, each once for each digest, in this order; empty means
    none. Example: ``[{source: "s3://example-software/agents/install.sh", sha256:
    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, when: after, machines: [node]}]``."""

    @property
    def own_images(self) -> dict[str, OwnImage]:
        """Custom images, with what is known of them; none if they are built."""
        if self.images == "build":
            return {}
        return {key: OwnImage(id=item) if isinstance(item, str) else item for key, item in self.images.items()}

    @property
    def own_options(self) -> dict[str, OptionValue]:
        """Values of the fields that only this provider has; a list is its items with spaces between them."""
        common = {*CloudSite.model_fields, "kind"}
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in common}
        set_values = {name: value for name, value in own.items() if value not in (None, ())}
        return {name: " ".join(value) if isinstance(value, tuple) else value for name, value in set_values.items()}


class AwsSite(CloudSite):
    """A region of Amazon Web Services."""

    kind: Literal["aws"]
    """Always ``aws``."""
    metadata_hops: Annotated[int, IntegerRange(1, 64)] = 1
    """Hop limit of the instance metadata service. Containers with a separate network are one hop away: with more than 1
    they get the credentials of the instance's role. Example: ``2``."""
    key_pair: Text | None = None
    """Existing key pair of EC2 for the administrator of the images, on all machines; ``ssh_key`` of a program replaces
    it. Empty means none. Example: ``admins``."""
    kms_key: Text | None = None
    """Existing key that encrypts disks, file systems, buckets, secrets and the database, by its ARN; empty means the
    keys that AWS manages. Example: ``arn:aws:kms:us-east-1:111122223333:key/0a1b2c3d-1111-2222-3333-444455556666``."""
    permissions_boundary: Text | None = None
    """Existing policy that limits every role that is created, by its ARN; empty means none. Example:
    ``arn:aws:iam::111122223333:policy/boundary``."""
    policies: Annotated[tuple[Text, ...], Field(max_length=MAX_CHOICES)] = ()
    """Existing policies that the roles of nodes and login hosts also have, by their ARNs; empty means none. Example:
    ``[arn:aws:iam::111122223333:policy/licenses]``."""


class GcpSite(CloudSite):
    """A region of Google Cloud."""

    kind: Literal["gcp"]
    """Always ``gcp``."""


class AzureSite(CloudSite):
    """A region of Microsoft Azure."""

    kind: Literal["azure"]
    """Always ``azure``."""


Site = Annotated[OnPremSite | AwsSite | GcpSite | AzureSite, Field(discriminator="kind")]

_MODELS: tuple[type[Model], ...] = get_args(get_args(Site)[0])
SITE_KINDS: tuple[str, ...] = tuple(get_args(model.model_fields["kind"].annotation)[0] for model in _MODELS)
"""Kinds of sites: on-prem, and the clouds."""

if TYPE_CHECKING:
    SiteKind: TypeAlias = str
    CloudKind: TypeAlias = str
else:  # of the models above, so that a new cloud is named once
    SiteKind = Literal[SITE_KINDS]
    CloudKind = Literal[tuple(kind for kind in SITE_KINDS if kind != "onprem")]
