"""The site of a cluster: a data centre of its own, or a region of a cloud."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import IntegerRange, Model, Name, Text

__all__ = ["AwsSite", "AzureSite", "GcpSite", "OnPremSite", "Site"]


class OnPremSite(Model):
    """An on-prem site; its physical equipment is declared in ``facility``."""

    kind: Literal["onprem"]
    """Always ``onprem``."""
    location: Text
    """Location by name, one of the catalog's locations if carbon is to be computed (``stockholm``)."""


class _CloudSite(Model):
    region: Text
    """Region of the provider, such as us-east-1."""
    zones: tuple[Text, ...] = ()
    """Availability zones to use, in order; empty means those of the declared capacity, otherwise the region's first."""
    images: dict[Name, Text] = {}
    """Custom images by key (``slurm-nvidia-x86``), instead of the ones the provider publishes."""


class AwsSite(_CloudSite):
    """A region of Amazon Web Services."""

    kind: Literal["aws"]
    """Always ``aws``."""
    metadata_hops: Annotated[int, IntegerRange(1, 64)] = 1
    """Hop limit of the instance metadata service. Containers with a separate network are one hop away:
    with more than 1 they get the credentials of the instance's role."""


class GcpSite(_CloudSite):
    """A region of Google Cloud."""

    kind: Literal["gcp"]
    """Always ``gcp``."""


class AzureSite(_CloudSite):
    """A region of Microsoft Azure."""

    kind: Literal["azure"]
    """Always ``azure``."""


Site = Annotated[OnPremSite | AwsSite | GcpSite | AzureSite, Field(discriminator="kind")]
