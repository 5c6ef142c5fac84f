"""Where a cluster stands: a machine room of one's own, or a region of a cloud."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import IntegerRange, Model, Name, Text

__all__ = ["AwsSite", "AzureSite", "GcpSite", "OnPremSite", "Site"]


class OnPremSite(Model):
    """A machine room of one's own; everything physical is declared under ``facility``."""

    kind: Literal["onprem"]
    """Always ``onprem``."""
    location: Text
    """The place by name, as the catalog's locations have it where carbon is to be known (``stockholm``)."""


class _CloudSite(Model):
    region: Text
    """Region of the provider, such as us-east-1."""
    zones: tuple[Text, ...] = ()
    """Availability zones to use, in order; empty means: those that capacity names, else the region's first."""
    images: dict[Name, Text] = {}
    """Images of one's own by key (``slurm-nvidia-x86``), instead of the ones the provider publishes."""


class AwsSite(_CloudSite):
    """A region of Amazon Web Services."""

    kind: Literal["aws"]
    """Always ``aws``."""
    metadata_hops: Annotated[int, IntegerRange(1, 64)] = 1
    """Hops that answers of the instance metadata service may take. Containers with a network of their own are one away:
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
