"""Names of RDMA devices: those of the kernel (mlx5_0), and the persistent names of rdma-core (ibp24s0).

rdma-core's rule 60-rdma-persistent-naming.rules renames devices to a prefix for the link and a policy: ``p`` for the
PCI location (after ``P`` and the domain, if it is not 0), ``s`` for the slot, ``o`` for the index of an onboard device,
``x`` for the GUID. Source: kernel-boot/rdma_rename.c and Documentation/udev.md in github.com/linux-rdma/rdma-core.
"""

from __future__ import annotations

import re

__all__ = ["is_kernel_name"]

_PERSISTENT = re.compile(r"(ib|roce|iw|opa|usnic|rdma)(P\d+)?(p\d+s\d|s\d|o\d|x[0-9a-f]{12,16}$)")


def is_kernel_name(device: str) -> bool:
    """Whether the kernel gave the device its name, and not rdma-core's rule for persistent names."""
    return not _PERSISTENT.match(device)
