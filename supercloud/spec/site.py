"""The site of a cluster: a data center of its own, or a region of a cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from .base import MAX_LISTED, MAX_ZONES, IntegerRange, Model, Name, OptionValue, Text

__all__ = [
    "SITE_KINDS",
    "AwsSite",
    "AzureSite",
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

    @property
    def own_images(self) -> dict[str, OwnImage]:
        """Custom images, with what is known of them; none if they are built."""
        if self.images == "build":
            return {}
        return {key: OwnImage(id=item) if isinstance(item, str) else item for key, item in self.images.items()}

    @property
    def own_options(self) -> dict[str, OptionValue]:
        """Values of the fields that only this provider has."""
        common = {*CloudSite.model_fields, "kind"}
        return {name: getattr(self, name) for name in type(self).model_fields if name not in common}


class AwsSite(CloudSite):
    """A region of Amazon Web Services."""

    kind: Literal["aws"]
    """Always ``aws``."""
    metadata_hops: Annotated[int, IntegerRange(1, 64)] = 1
    """Hop limit of the instance metadata service. Containers with a separate network are one hop away: with more than 1
    they get the credentials of the instance's role. Example: ``2``."""


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
