"""How a node of EKS starts: which kind of image it has, and what is told to the node's own set-up program."""

from __future__ import annotations

import base64
import json
import re

import pulumi
from pulumi_aws import eks

__all__ = ["ami_type", "node_config"]

_PARAMETER = re.compile(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2023/(x86_64|arm64)/([a-z]+)/")
_ARCH = {"x86_64": "x86_64", "arm64": "ARM_64"}
_MIME = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

{config}
--//--
"""


def ami_type(reference: str) -> str | None:
    """What EKS calls an image that it publishes under this parameter; None for an image of the user's.

    >>> ami_type("/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id")
    'AL2023_x86_64_NVIDIA'
    """
    match = _PARAMETER.match(reference)
    return f"AL2023_{_ARCH[match[1]]}_{match[2].upper()}" if match else None


def node_config(join: eks.Cluster | None, local_disks: bool) -> pulumi.Input[str] | None:
    """User data in base64: local disks as one RAID 0, and the cluster to join where EKS does not say it.

    The configuration is JSON, which is YAML too (awslabs.github.io/amazon-eks-ami/nodeadm).
    """
    instance = {"instance": {"localStorage": {"strategy": "RAID0"}}} if local_disks else {}
    if join is None:
        return _encoded(_document(instance)) if instance else None
    cluster = {
        "name": join.name,
        "apiServerEndpoint": join.endpoint,
        "certificateAuthority": join.certificate_authority.data,
        "cidr": join.kubernetes_network_config.service_ipv4_cidr,
    }
    return pulumi.Output.json_dumps({**_head(), "spec": {"cluster": cluster, **instance}}).apply(_encoded)


def _head() -> dict[str, str]:
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}


def _document(spec: dict[str, dict[str, dict[str, str]]]) -> str:
    return json.dumps({**_head(), "spec": spec})


def _encoded(config: str) -> str:
    return base64.b64encode(_MIME.format(config=config).encode()).decode()
