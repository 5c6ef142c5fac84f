"""Existing resources that the spec and the arguments name: each is looked up before anything is created.

What exists only at AWS (the root device of an image, the region of a bucket) is compared with the plan at ``pulumi
preview`` already. A lookup that AWS denies is a warning: it may be allowed to create a cluster and not to describe
images.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pulumi
from pulumi_aws import ec2, s3, secretsmanager, ssm

from ....errors import Finding, InputError
from ....plan.model.cloud import CloudReference
from ..build_context import BuildContext

__all__ = ["require_existing"]

_ARCHITECTURES = {"arm64": "aarch64"}
"""Architecture of an image -> its name in the plan, if it differs."""
_DENIED = re.compile(r"AccessDenied|UnauthorizedOperation|not authorized|Forbidden|StatusCode: 403", re.IGNORECASE)
_ABSENT = re.compile(
    r"no results|NotFound|not found|no matching|empty result|couldn't find|does(n't| not) exist|StatusCode: 404",
    re.IGNORECASE,
)


def require_existing(context: BuildContext) -> None:
    """Look up every existing resource of the plan and the key pair.

    Args:
        context: The component; its provider is asked.

    Raises:
        InputError: With a finding for each that does not exist or is not usable in this cluster.
    """
    lookups = _Lookups(context)
    for reference in context.cloud.references:
        lookups.check(reference)
    if isinstance(context.existing.ssh_key, str):  # an output is of a resource of this program
        lookups.check_key_pair(context.existing.ssh_key)
    if lookups.findings:
        raise InputError(f"{context.plan.name} cannot be created: it uses what AWS does not have", lookups.findings)


class _Lookups:
    """Lookups with the provider of a component, and what was found wrong."""

    def __init__(self, context: BuildContext) -> None:
        self.context, self.region = context, context.cloud.region
        self.findings: list[Finding] = []

    def _get_options(self) -> pulumi.InvokeOptions:
        if self.context.provider is not None:
            return pulumi.InvokeOptions(provider=self.context.provider)
        return pulumi.InvokeOptions(parent=self.context.component)

    def check(self, reference: CloudReference) -> None:
        """Look up a reference of the plan."""
        checks: Mapping[str, Callable[[CloudReference], None]] = {
            "image": self._check_image,
            "bucket": self._check_bucket,
            "secret": self._check_secret,
        }
        self._run(reference.kind, reference.path, reference.identifier, lambda: checks[reference.kind](reference))

    def check_key_pair(self, name: str) -> None:
        """Look up the key pair with which administrators log in."""
        self._run("key pair", "ssh_key", name, lambda: ec2.get_key_pair(key_name=name, opts=self._get_options()))

    def _run(self, kind: str, path: str, identifier: str, lookup: Callable[[], object]) -> None:
        """Run a lookup, and report what AWS answers if it fails."""
        try:
            lookup()
        except (AssertionError, AttributeError, TypeError):
            return  # no answer: the provider itself depends on a resource that this preview does not know
        except Exception as error:  # Pulumi has no class for errors of its functions
            reason = " ".join(str(error).split())
            if _DENIED.search(reason):
                problem = f"{path}: the {kind} {identifier} cannot be checked: {reason}"
                pulumi.log.warn(problem, resource=self.context.component)
                return
            if _ABSENT.search(reason):
                problem = f"the {kind} {identifier} does not exist in {self.region}, or this account cannot use it"
                hint = f"create it there, or name {_HINTS[kind]}"
            else:
                problem, hint = f"the {kind} {identifier} cannot be looked up: {reason}", "fix the reason, and repeat"
            self._add("cloud-reference", path, problem, hint)

    def _add(self, check: str, path: str, problem: str, hint: str) -> None:
        self.findings.append(Finding(check, "error", path, problem, hint))

    def _check_image(self, reference: CloudReference) -> None:
        identifier = reference.identifier
        if identifier.startswith("/"):
            identifier = ssm.get_parameter(name=identifier, opts=self._get_options()).value
        image = ec2.get_ami(
            filters=[ec2.GetAmiFilterArgs(name="image-id", values=[identifier])],
            include_deprecated=True,
            opts=self._get_options(),
        )
        arch = _ARCHITECTURES.get(image.architecture, image.architecture)
        if reference.arch and arch != reference.arch:
            self._add(
                "cloud-image-arch",
                reference.path,
                f"{reference.identifier} is an image for {arch}; machines that use it are {reference.arch} and cannot "
                "start it",
                f"set an image for {reference.arch}",
            )
        if reference.root and image.root_device_name != reference.root:
            self._add(
                "cloud-image-root",
                f"{reference.path}.root",
                f"the root device of {reference.identifier} is {image.root_device_name}, not {reference.root}: nodes "
                "would have a root disk of the size of the image and a second, empty disk",
                f"set {{id: {reference.identifier}, root: {image.root_device_name}}}",
            )

    def _check_bucket(self, reference: CloudReference) -> None:
        region = s3.get_bucket(bucket=reference.identifier, opts=self._get_options()).bucket_region
        if reference.is_regional and region != self.region:
            self._add(
                "cloud-identifier-region",
                reference.path,
                f"the bucket {reference.identifier} is in {region}, the cluster in {self.region}: a file system "
                "imports from buckets of its region only",
                f"use a bucket of {self.region}, or copy the data there",
            )

    def _check_secret(self, reference: CloudReference) -> None:
        name = reference.identifier
        if name.startswith("arn:"):
            secretsmanager.get_secret(arn=name, opts=self._get_options())
        else:
            secretsmanager.get_secret(name=name, opts=self._get_options())


_HINTS = {
    "image": "one that exists: aws ec2 describe-images --owners self",
    "bucket": "one that exists: aws s3 ls",
    "secret": "one that exists: aws secretsmanager list-secrets",
    "key pair": "one that exists: aws ec2 describe-key-pairs",
}
"""Kind of resource -> end of the hint."""
