"""nccl.conf in Slurm's bundle: the devices and the P_Key index of the plan, and a finding where devices are unknown."""

from __future__ import annotations

from pathlib import Path

import supercloud as sc
from supercloud.plan.build.network.nccl import build_nccl_settings
from supercloud.spec.loader import loads
from supercloud.targets import render

EXAMPLES = Path(__file__).parents[3] / "examples"
SPEC = """
name: nccl
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "24.11"}
pools:
  - {name: train, machine: MACHINE, nodes: 8, fabrics: [FABRICS]}
fabrics:
  - {name: compute, kind: KIND, shape: rail-optimized, switch: SWITCH}
  - {name: storage, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
"""


def build_plan(machine: str = "dgx-h100", kind: str = "infiniband", fabrics: str = "compute") -> sc.Plan:
    switch = "nvidia-qm9700" if kind == "infiniband" else "nvidia-sn5600"
    text = SPEC.replace("MACHINE", machine).replace("KIND", kind).replace("SWITCH", switch)
    return sc.resolve(loads(text.replace("FABRICS", fabrics)))


def list_findings(plan: sc.Plan) -> list[tuple[str, str]]:
    return [(item.level, item.problem) for item in plan.findings if item.check == "nccl-devices"]


def test_nodes_on_infiniband_get_the_devices_in_rail_order_and_the_index_of_their_key() -> None:
    files = render(build_plan(), "slurm")
    settings = [line for line in str(files["nccl-train.conf"]).splitlines() if not line.startswith("#")]
    assert settings == [
        "NCCL_IB_HCA==mlx5_11,mlx5_6,mlx5_10,mlx5_9,mlx5_4,mlx5_3,mlx5_5,mlx5_0",
        "NCCL_IB_PKEY=0",
    ]
    (block,) = str(files["INSTALL.md"]).split("On **every node of train**:\n\n```sh\n")[1:]
    assert "install -o root -g root -m 644 /root/slurm/nccl-train.conf /etc/nccl.conf\n" in block.split("```")[0]


def test_each_pool_has_a_file_of_its_own() -> None:
    text = (EXAMPLES / "03-nvl72" / "cluster.yaml").read_text()
    plan = sc.resolve(loads(text))
    found = {name for name in render(plan, "slurm") if name.startswith("nccl-")}
    assert found == {"nccl-train.conf"}, "torus is RoCE: its settings come with the target roce"
    assert "NCCL_MNNVL_ENABLE" not in build_nccl_settings(plan, plan.get_pool("train")), (
        "forced it fails where IMEX does not run"
    )


def test_unknown_devices_are_a_finding_and_no_line() -> None:
    """mlx5_0 to mlx5_7 would be a guess; with storage on InfiniBand NCCL would take its ports as well."""
    plan = build_plan("mi300x-8gpu")
    files = render(plan, "slurm")
    assert "NCCL_IB_HCA" not in str(files["rccl-train.conf"]) and "nccl-train.conf" not in files
    assert "install -o root -g root -m 644 /root/slurm/rccl-train.conf /etc/rccl.conf" in str(files["INSTALL.md"])
    ((level, problem),) = list_findings(plan)
    assert level == "note" and "the RDMA devices of mi300x-8gpu on compute are unknown" in problem
    h100 = build_plan()
    assert not list_findings(h100)


def test_roce_and_clouds_have_no_nccl_conf_in_slurm() -> None:
    assert "nccl-train.conf" not in render(build_plan(kind="roce"), "slurm")
    cloud = sc.resolve(sc.load(EXAMPLES / "09-aws-slurm" / "cluster.yaml"))
    assert not [name for name in render(cloud, "slurm") if name.startswith("nccl-")]


def test_accelerators_without_nccl_have_no_settings() -> None:
    plan = build_plan("gaudi3-8", "roce")
    assert plan.pools[0].accelerator and build_nccl_settings(plan, plan.pools[0]) == {} and not list_findings(plan)
