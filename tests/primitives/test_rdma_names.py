"""Names of RDMA devices, as the kernel's drivers and rdma-core's rule give them."""

from __future__ import annotations

import pytest

from supercloud.primitives.rdma_names import is_kernel_name


@pytest.mark.parametrize(
    "device", ["mlx5_0", "mlx5_11", "mlx4_0", "bnxt_re0", "irdma0", "ionic_3", "efa_0", "rxe0", "ib0"]
)
def test_names_of_the_kernel(device: str) -> None:
    assert is_kernel_name(device)


@pytest.mark.parametrize(
    "device", ["ibp24s0", "ibP2p3s0", "rocep193s0f0", "roceP6p3s0", "ibo3", "ibs5", "rocex525400c0fe123455", "rdmap0s6"]
)
def test_persistent_names_of_rdma_core(device: str) -> None:
    assert not is_kernel_name(device)
