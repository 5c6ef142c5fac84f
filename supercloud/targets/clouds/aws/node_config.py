"""The start of EKS nodes: the image type, and the configuration for nodeadm."""

from __future__ import annotations

import base64
import json
import re

import pulumi
from pulumi_aws import eks

__all__ = ["find_ami_type", "build_node_config"]

_IMAGE_PARAMETER = re.compile(r"/aws/service/eks/optimized-ami/[^/]+/amazon-linux-2023/(x86_64|arm64)/([a-z]+)/")
_ARCH_NAMES = {"x86_64": "x86_64", "arm64": "ARM_64"}
_MIME_TEMPLATE = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

{config}
--//--
"""


def find_ami_type(reference: str) -> str | None:
    """Return the AMI type of an image that EKS publishes with this parameter; None for a user's image.

    >>> find_ami_type("/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id")
    'AL2023_x86_64_NVIDIA'
    """
    match = _IMAGE_PARAMETER.match(reference)
    return f"AL2023_{_ARCH_NAMES[match[1]]}_{match[2].upper()}" if match else None


def build_node_config(join_cluster: eks.Cluster | None, local_disks: bool) -> pulumi.Input[str] | None:
    """Build user data in base64: local disks as one RAID 0, and the cluster to join if EKS does not add it.

    The configuration is JSON, which is valid YAML (awslabs.github.io/amazon-eks-ami/nodeadm).
    """
    instance = {"instance": {"localStorage": {"strategy": "RAID0"}}} if local_disks else {}
    if join_cluster is None:
        return _encode_user_data(_render_document(instance)) if instance else None
    cluster = {
        "name": join_cluster.name,
        "apiServerEndpoint": join_cluster.endpoint,
        "certificateAuthority": join_cluster.certificate_authority.data,
        "cidr": join_cluster.kubernetes_network_config.service_ipv4_cidr,
    }
    return pulumi.Output.json_dumps({**_build_header(), "spec": {"cluster": cluster, **instance}}).apply(
        _encode_user_data
    )


def _build_header() -> dict[str, str]:
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}


def _render_document(spec: dict[str, dict[str, dict[str, str]]]) -> str:
    return json.dumps({**_build_header(), "spec": spec})


def _encode_user_data(config: str) -> str:
    return base64.b64encode(_MIME_TEMPLATE.format(config=config).encode()).decode()
