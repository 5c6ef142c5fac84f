"""Each check of a cloud site finds what it is for, with the value in the problem and a next step in the hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plan.clouds import BLOCK, FABRICS, KUBERNETES, RESERVED, less, lustre, on_aws, pool, slurm

from supercloud.plan.checks import CHECKS, check_name

OHIO = {"kind": "aws", "region": "us-east-2", "zones": ["us-east-2a"]}
TWO = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
NFS = {"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home", "throughput": {"read": "160 MB/s"}}
EFS = {"name": "home", "kind": "nfs", "product": "efs", "mount": "/home"}
WEKA = {"name": "scratch", "kind": "weka", "capacity": "200 TB", "mount": "/scratch"}

# check -> every (level, path, word of the problem, changes) it must come out with
CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("cloud-machine-region", "error", "pools[0].machine", "P6-B300",
     {"site": OHIO, "pools": [pool(machine="p6-b300.48xlarge")]}),
    ("cloud-machine-region", "note", "pools[0].machine", "not known",
     {"pools": [pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK])]}),
    ("cloud-zone", "error", "site.zones[0]", "us-west-2a",
     {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-west-2a"]}}),
    ("cloud-zone", "warning", "site.zones[0]", "us-east-1-dfw-2a",
     {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1-dfw-2a"]}}),
    ("cloud-zone", "error", "site.zones", "twice",
     {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1a"]}}),
    ("cloud-fields", "warning", "pools[0].placement", "placement",
     {"site": {"kind": "onprem", "location": "stockholm"},
      "pools": [pool(machine="dgx-h100", fabrics=[], placement="cluster")], "fabrics": []}),
    ("cloud-capacity-kind", "error", "pools[0].capacity[0].kind", "flex-start",
     {"pools": [pool(capacity=[{"kind": "flex-start"}])]}),
    ("cloud-capacity-kind", "error", "pools[0].capacity[0].kind", "spot",
     {"pools": [pool(machine="trn2u.48xlarge", capacity=[{"kind": "spot"}])]}),
    ("cloud-capacity-kind", "error", "pools[0].capacity", "on demand",
     {"pools": [pool(machine="trn2u.48xlarge")]}),
    ("cloud-capacity-id", "error", "pools[0].capacity[0].id", "my-reservation",
     {"pools": [pool(capacity=[RESERVED | {"id": "my-reservation"}])]}),
    ("cloud-capacity-id", "error", "pools[0].capacity[1].id", "twice",
     {"pools": [pool(capacity=[RESERVED, RESERVED])]}),
    ("cloud-capacity-zone", "error", "pools[0].capacity[0].zone", "us-east-1c",
     {"pools": [pool(capacity=[RESERVED | {"zone": "us-east-1c"}])]}),
    ("cloud-capacity-zone", "warning", "pools[0].capacity", "us-east-1b",
     {"site": TWO,
      "pools": [pool(capacity=[RESERVED, RESERVED | {"id": "cr-1123456789abcdef0", "zone": "us-east-1b"}])]}),
    ("cloud-domain", "error", "pools[0].nodes", "20 nodes",
     {"pools": [pool(machine="p6e-gb200.36xlarge", nodes=20, capacity=[BLOCK])]}),
    ("cloud-domain", "error", "pools[0].domain", "not of 12",
     {"pools": [pool(machine="p6e-gb200.36xlarge", nodes=24, domain=12, capacity=[BLOCK])]}),
    ("cloud-domain", "error", "pools[0].initial", "4 nodes",
     {"pools": [pool(machine="p6e-gb200.36xlarge", nodes=18, initial=4, capacity=[BLOCK])]}),
    ("cloud-fabric-kind", "error", "fabrics[0].kind", "EC2 has no InfiniBand",
     {"fabrics": [{"name": "compute", "kind": "infiniband"}]}),
    ("cloud-fabric-zones", "error", "pools[0].zones", "2 zones", {"pools": [pool(zones=["us-east-1a", "us-east-1b"])]}),
    ("cloud-fabric-unused", "warning", "pools[0].fabrics", "32", {"pools": [pool(fabrics=[])], "fabrics": []}),
    ("cloud-placement", "error", "pools[0].placement", "UltraCluster",
     {"pools": [pool(capacity=[BLOCK], placement="cluster")]}),
    ("cloud-placement", "error", "pools[0].placement", "p6e-gb200",
     {"pools": [pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK], placement="cluster")]}),
    ("cloud-placement", "error", "pools[0].placement", "one zone",
     {"site": TWO, "pools": [pool(machine="m6i.8xlarge", fabrics=[], placement="cluster")], "fabrics": []}),
    ("cloud-placement-missing", "warning", "pools[0].placement", "on-demand", {"pools": [pool(placement="none")]}),
    ("cloud-image", "error", "site.images.slurm-intel-x86", "slurm-intel-x86",
     {"pools": [pool(machine="dl1.24xlarge", fabrics=[])], "fabrics": []}),
    ("cloud-image", "warning", "site.images.slurm-nvidia-arm", "no machine",
     {"site": TWO | {"images": {"slurm-nvidia-arm": "ami-0"}}}),
    ("cloud-arch", "error", "scheduler.machine", "aarch64", {"scheduler": slurm(machine="m7g.2xlarge")}),
    ("cloud-arch", "warning", "pools", "aarch64",
     {"pools": [pool(), {"name": "arm", "machine": "m7g.16xlarge", "nodes": 1}]}),
    ("cloud-controller-memory", "error", "scheduler.machine", "8 GiB",
     {"scheduler": slurm(machine="m6i.large"), "pools": [pool(nodes=300)]}),
    ("cloud-controller-state", "error", "scheduler.controllers", "2 controllers",
     {"scheduler": slurm(controllers=[{"name": "ctl1"}, {"name": "ctl2"}])}),
    ("cloud-slurm-options", "error", "scheduler.options.ResumeProgram", "ResumeProgram",
     {"scheduler": slurm(options={"ResumeProgram": "/bin/true"})}),
    ("cloud-tags", "error", "tags.aws:x", "aws:", {"tags": {"aws:x": "1"}}),
    ("cloud-tags", "error", "tags.k", "256", {"tags": {"k": "v" * 300}}),
    ("cloud-tags", "error", "tags", "50", {"tags": {f"k{number}": "v" for number in range(47)}}),
    ("cloud-tags", "error", "tags.Name", "by us", {"tags": {"Name": "mine"}}),
    ("cloud-tags", "error", "tags.supercloud:pool", "by us", {"tags": {"supercloud:pool": "mine"}}),
    ("cloud-budget", "warning", "budget", "161,277 USD", {"budget": "1000 USD"}),
    ("cloud-spot-price", "note", "pools[0].capacity[0].max_price", "55.04",
     {"pools": [pool(capacity=[{"kind": "spot", "max_price": "60 USD/h"}])]}),
    ("cloud-network-private", "error", "network.cidr", "192.169.0.0/16", {"network": {"cidr": "192.169.0.0/16"}}),
    ("cloud-network-size", "error", "network.cidr", "/12", {"network": {"cidr": "10.0.0.0/12"}}),
    ("cloud-network-size", "error", "network.blocks.private[0]", "/29",
     {"network": {"blocks": {"private": ["10.0.0.0/29"]}}}),
    ("cloud-network-overlap", "error", "network.cidrs[0]", "10.0.128.0/17",
     {"network": {"cidr": "10.0.0.0/16", "cidrs": ["10.0.128.0/17"]}}),
    ("cloud-network-overlap", "error", "network.blocks.private[0]", "10.9.0.0/16",
     {"network": {"blocks": {"private": ["10.9.0.0/16"]}}}),
    ("cloud-network-overlap", "error", "network.blocks.public[0]", "private-us-east-1a",
     {"network": {"blocks": {"public": ["10.0.0.0/16"]}}}),
    ("cloud-network-size", "error", "network", "10.0.0.0/27", {"network": {"cidr": "10.0.0.0/27"}}),
    ("cloud-network-blocks", "error", "network.blocks.private", "1 ranges for 2",
     {"site": TWO, "network": {"blocks": {"private": ["10.0.0.0/20"]}}}),
    ("cloud-network-blocks", "error", "network.blocks.control", "1 ranges for 2",
     {"site": TWO, "scheduler": KUBERNETES, "network": {"blocks": {"control": ["10.0.0.0/28"]}}}),
    ("cloud-network-blocks", "error", "network.blocks.public", "closed",
     {"network": {"closed": True, "blocks": {"public": ["10.0.0.0/20"]}}}),
    ("cloud-network-range", "error", "network.cidr", "10.0.0.0/99", {"network": {"cidr": "10.0.0.0/99"}}),
    ("cloud-subnet-room", "error", "network", "6528",
     {"site": TWO, "scheduler": KUBERNETES, "pools": [pool(nodes=64, zones=["us-east-1a"])],
      "network": {"cidr": "10.0.0.0/20", "cidrs": ["10.1.0.0/20"]}}),
    ("cloud-subnet-room", "error", "network", "251",
     {"pools": [pool(nodes=300)], "network": {"blocks": {"private": ["10.0.0.0/24"]}}}),
    ("cloud-network-ranges", "warning", "network.cidrs", "6",
     {"network": {"cidrs": [f"10.{number}.0.0/16" for number in range(1, 6)]}}),
    ("cloud-network-given", "error", "network.id", "without subnets", {"network": {"id": "vpc-1"}}),
    ("cloud-network-given", "error", "network.subnets", "without their network",
     {"network": {"subnets": ["subnet-1"]}}),
    ("cloud-network-given", "error", "network.cidr", "ranges already",
     {"network": {"id": "vpc-1", "cidr": "10.0.0.0/16", "subnets": ["subnet-1"]}}),
    ("cloud-network-given", "error", "network.subnets", "none of the subnets is private",
     {"network": {"id": "vpc-1", "subnets": [{"id": "subnet-1", "public": True}]}}),
    ("cloud-network-given", "warning", "network.subnets", "2 subnets",
     {"network": {"id": "vpc-1", "subnets": ["subnet-1", "subnet-2"]}}),
    ("cloud-network-given", "error", "network.subnets", "2 zones",
     {"scheduler": KUBERNETES, "network": {"id": "vpc-1", "subnets": [{"id": "subnet-1", "zone": "us-east-1a"}]}}),
    ("cloud-access", "error", "network.access[0]", "198.51", {"network": {"access": ["198.51.100.0/99"]}}),
    ("cloud-access", "warning", "network.access[0]", "whole internet",
     {"scheduler": slurm(login={"public": True}), "network": {"access": ["0.0.0.0/0"]}}),
    ("cloud-access", "warning", "network.access", "no machine", {"network": {"access": ["198.51.100.0/24"]}}),
    ("cloud-access", "error", "scheduler", "closed",
     {"scheduler": slurm(login={"public": True}), "network": {"closed": True}}),
    ("cloud-access", "note", "network.access", "API", {"site": TWO, "scheduler": KUBERNETES}),
    ("cloud-access", "note", "network.access", "login", {"scheduler": slurm(login={"public": True})}),
    ("cloud-security-rules", "error", "network.access", "61 rules",
     {"scheduler": slurm(login={"public": True}),
      "network": {"access": [f"198.51.100.{number}/32" for number in range(61)]}}),
    ("cloud-security-rules", "error", "storage", "61 rules for machines",
     {"storage": [lustre(name=f"s{number}", mount=f"/fs{number}") for number in range(20)]}),
    ("cloud-limits", "error", "network.access", "41",
     {"site": TWO, "scheduler": KUBERNETES, "network": {"access": [f"198.51.100.{n}/32" for n in range(41)]}}),
    ("cloud-limits", "warning", "pools[0].nodes", "450",
     {"site": TWO, "scheduler": KUBERNETES, "pools": [pool(nodes=500)]}),
    ("cloud-storage-deployment", "error", "storage[0].deployment", "PERSISTENT_9",
     {"storage": [lustre(deployment="PERSISTENT_9")]}),
    ("cloud-storage-size", "warning", "storage[0].capacity", "50400 GiB", {"storage": [lustre(capacity="48 TiB")]}),
    ("cloud-storage-size", "error", "storage[0]", "none is said",
     {"storage": [{"name": "s", "kind": "lustre", "mount": "/fsx"}]}),
    ("cloud-storage-size", "error", "storage[0].capacity", "more than", {"storage": [NFS | {"capacity": "1 PiB"}]}),
    ("cloud-storage-size", "warning", "storage[0].capacity", "6000 GiB",
     {"storage": [lustre(capacity="1 TiB", deployment="PERSISTENT_1_HDD", throughput_per_tib="12 MB/s",
                         options={"version": "2.12"})]}),
    ("cloud-storage-throughput", "error", "storage[0].throughput_per_tib", "300 MB/s",
     {"storage": [lustre(throughput_per_tib="300 MB/s")]}),
    ("cloud-storage-throughput", "error", "storage[0].throughput", "20 GB/s",
     {"storage": [NFS | {"throughput": {"read": "20 GB/s"}}]}),
    ("cloud-storage-throughput", "note", "storage[0].throughput", "320 MB/s",
     {"storage": [NFS | {"throughput": {"read": "200 MB/s"}}]}),
    ("cloud-storage-option", "error", "storage[0].options.compresion", "compresion",
     {"storage": [lustre(options={"compresion": "LZ4"})]}),
    ("cloud-storage-option", "error", "storage[0].options.compression", "GZIP",
     {"storage": [lustre(options={"compression": "GZIP"})]}),
    ("cloud-storage-option", "error", "storage[0].options.version", "2.10",
     {"storage": [lustre(options={"version": "2.10"})]}),
    ("cloud-storage-rule", "error", "storage[0].options.metadata-iops", "is not said",
     {"storage": [lustre(options={"metadata": "USER_PROVISIONED"})]}),
    ("cloud-storage-rule", "error", "storage[0].options.metadata-iops", "takes no metadata-iops",
     {"storage": [lustre(options={"metadata-iops": 6000})]}),
    ("cloud-storage-rule", "error", "storage[0].options.version", "2.12",
     {"storage": [lustre(options={"version": "2.12", "efa": True})]}),
    ("cloud-storage-rule", "error", "storage[0].options.metadata", "only PERSISTENT_2",
     {"storage": [{"name": "s", "kind": "lustre", "capacity": "2400 GiB", "deployment": "SCRATCH_2", "mount": "/fsx",
                   "options": {"metadata": "AUTOMATIC"}}]}),
    ("cloud-storage-rule", "error", "storage[0].options.performance", "ONE_ZONE",
     {"storage": [EFS | {"deployment": "ONE_ZONE", "options": {"performance": "maxIO", "throughput": "bursting"}}]}),
    ("cloud-storage-rule", "error", "storage[0].options.provisioned-mibps", "is '9'",
     {"storage": [EFS | {"options": {"throughput": "provisioned", "provisioned-mibps": "9"}}]}),
    ("cloud-storage-fabric", "error", "storage[0].options.efa", "19200 GiB",
     {"storage": [lustre(capacity="4800 GiB", options={"efa": True})]}),
    ("cloud-storage-fabric", "error", "storage[0].options.efa", "SCRATCH_2",
     {"storage": [{"name": "s", "kind": "lustre", "capacity": "2400 GiB", "deployment": "SCRATCH_2", "mount": "/fsx",
                   "options": {"efa": True}}]}),
    ("cloud-storage-fabric", "error", "storage[0].options.efa", "multiples of 9600 GiB",
     {"storage": [lustre(capacity="12000 GiB", throughput_per_tib="500 MB/s", options={"efa": True})]}),
    ("cloud-storage-fabric", "note", "storage[0].capacity", "multiples of 19200 GiB",
     {"storage": [lustre(capacity="21600 GiB")]}),
    ("cloud-storage-kind", "error", "storage[0].kind", "Storage Scale",
     {"storage": [{"name": "s", "kind": "storage-scale", "mount": "/gpfs"}]}),
    ("cloud-storage-kind", "error", "storage[0].product", "efs",
     {"storage": [lustre(product="efs")]}),
    ("cloud-mount-reserved", "error", "storage[0].mount", "/opt/slurm", {"storage": [lustre(mount="/opt/slurm/")]}),
    ("cloud-mount-nested", "error", "storage[1].mount", "/fsx",
     {"storage": [lustre(), NFS | {"mount": "/fsx/home"}]}),
    ("cloud-mount-local", "error", "pools[0].local", "storage[0]",
     {"storage": [lustre()], "pools": [pool(local="/fsx/local")]}),
    ("cloud-mount-local", "warning", "pools[0].local", "m6i.8xlarge",
     {"pools": [pool(machine="m6i.8xlarge", fabrics=[], local="/scratch")], "fabrics": []}),
    ("cloud-bucket-name", "error", "storage[0].options.bucket", "My_Bucket",
     {"storage": [{"name": "data", "kind": "object", "options": {"bucket": "My_Bucket"}}]}),
    ("cloud-bucket-name", "error", "storage[0].import_from", "10.0.0.1",
     {"storage": [lustre(import_from="s3://10.0.0.1/x")]}),
    ("cloud-bucket-name", "error", "storage[0].import_from", "corpus", {"storage": [lustre(import_from="corpus")]}),
    ("cloud-bucket-name", "error", "storage[0].import_from", "fsx-openzfs",
     {"storage": [NFS | {"import_from": "s3://corpus"}]}),
    ("cloud-storage-zone", "warning", "storage[0]", "us-east-1b",
     {"site": TWO, "storage": [lustre()], "pools": [pool(), {"name": "cpu", "machine": "m6i.large", "nodes": 1}]}),
    ("cloud-storage-shared", "warning", "storage[0]", "200 nodes", {"storage": [NFS], "pools": [pool(nodes=200)]}),
    ("cloud-provider", "warning", "site.kind", "not built yet", {"site": {"kind": "gcp", "region": "us-central1"}}),
    ("cloud-closed", "error", "network.closed", "cn-north-1",
     {"site": {"kind": "aws", "region": "cn-north-1", "zones": ["cn-north-1a"]}, "network": {"closed": True}}),
    ("cloud-local-disks", "error", "pools[0].local", "nodeadm",
     {"scheduler": KUBERNETES, "site": TWO, "pools": [pool(local="/scratch")]}),
    ("cloud-spot-limit", "error", "pools[0].capacity[0].max_price", "would not be kept",
     {"scheduler": KUBERNETES, "site": TWO, "pools": [pool(capacity=[{"kind": "spot", "max_price": "40 USD/h"}])]}),
    ("cloud-ways-unused", "note", "pools[0].capacity", "train-on-demand stays empty",
     {"scheduler": KUBERNETES, "site": TWO, "pools": [pool(capacity=[RESERVED, {"kind": "on-demand"}])]}),
    ("cloud-storage-install", "error", "storage[0].options.install", "nothing installs", {"storage": [WEKA]}),
    ("cloud-storage-install", "error", "storage[0].options.install", "no place of a program",
     {"storage": [WEKA | {"options": {"install": "weka.sh"}}]}),
    ("cloud-storage-install", "error", "storage[0]", "a Kubernetes cluster has none",
     {"scheduler": KUBERNETES, "site": TWO, "storage": [WEKA]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("check", "level", "path", "word", "changes"), CASES, ids=[f"{row[0]}-{i}" for i, row in enumerate(CASES)]
)
def test_found_once(check: str, level: str, path: str, word: str, changes: dict[str, Any]) -> None:
    findings = [item for item in on_aws(**changes).findings if item.check == check and item.path == path]
    assert [item.level for item in findings] == [level], [str(item) for item in on_aws(**changes).findings]
    assert word in findings[0].problem
    assert findings[0].hint


def test_every_check_of_clouds_has_a_case() -> None:
    ours = {check_name(check) for check in CHECKS if check.__name__.startswith("cloud_")}
    assert ours <= {row[0] for row in CASES}


def test_a_clean_spec_has_no_findings() -> None:
    plan = on_aws(pools=[pool(capacity=[RESERVED, {"kind": "on-demand"}])], scheduler=slurm(login={"count": 1}))
    assert [item.check for item in plan.findings] == ["slurm-cloud-image"]  # nobody can know from here


def test_all_of_it_is_said_at_once() -> None:
    plan = on_aws(
        pools=[pool(capacity=[BLOCK | {"zone": "us-east-1c"}], placement="cluster")],
        storage=[lustre(capacity="48 TiB", throughput_per_tib="300 MB/s", mount="/opt")],
        network={"cidr": "192.169.0.0/16"},
        tags={"aws:x": "1"},
    )
    assert {
        "cloud-capacity-zone", "cloud-placement", "cloud-storage-throughput", "cloud-storage-size",
        "cloud-mount-reserved", "cloud-network-private", "cloud-tags",
    } <= {finding.check for finding in plan.findings}  # fmt: skip


def test_as_many_ranges_as_a_security_group_has_room_for() -> None:
    access = [f"198.51.100.{number}/32" for number in range(60)]
    plan = on_aws(scheduler=slurm(login={"public": True}), network={"access": access})
    assert plan.errors == ()


def test_accepted_with_a_reason() -> None:
    plan = on_aws(
        pools=[pool(placement="none")], suppress=[{"check": "cloud-placement-missing", "reason": "two racks"}]
    )
    assert [item.check for item in plan.findings] == ["slurm-cloud-image"] and len(plan.suppressed) == 1


def test_unknown_region_offers_the_nearest() -> None:
    plan = on_aws(site={"kind": "aws", "region": "us-east1"})
    (finding,) = [item for item in plan.errors if item.path == "site.region"]
    assert "us-east-1" in finding.hint and plan.cloud is None


def test_machines_of_nowhere() -> None:
    plan = on_aws(scheduler=slurm(machine="dgx-h100"))
    assert [(item.check, item.path) for item in plan.errors] == [("machine-site", "scheduler.machine")]
    plan = on_aws(scheduler=slurm(machine="m6i.2xlarg"))
    (finding,) = plan.errors
    assert finding.check == "unknown-name" and "m6i.2xlarge" in finding.hint


def test_a_region_whose_zones_nobody_sourced_must_be_told_them(tmp_path: Path) -> None:
    catalog = less(tmp_path, "regions", "il-central-1", "zones: null\n")
    site = {"kind": "aws", "region": "il-central-1"}
    g5 = [pool(machine="g5.xlarge", fabrics=[])]
    plan = on_aws(catalog, site=site, pools=g5, fabrics=[])
    assert [item.check for item in plan.errors] == ["cloud-zones"]
    plan = on_aws(catalog, site=site | {"zones": ["il-central-1a"]}, pools=g5, fabrics=[])
    assert plan.errors == () and plan.cloud is not None


def test_sizes_with_the_fabric_that_nobody_sourced(tmp_path: Path) -> None:
    catalog = less(tmp_path, "storage-services", "fsx-lustre", "fabric: {steps: {500 MB/s: null}}\n")
    storage = lustre(throughput_per_tib="500 MB/s", options={"efa": True})
    (finding,) = [item for item in on_aws(catalog, storage=[storage]).findings if "fabric" in item.check]
    assert finding.level == "warning" and "250 MB/s" in finding.hint


def test_checks_of_clouds_leave_other_sites_alone() -> None:
    plan = on_aws(
        site={"kind": "onprem", "location": "stockholm"}, pools=[pool(machine="dgx-h100")],
        fabrics=[FABRICS[0] | {"kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
    )  # fmt: skip
    assert plan.cloud is None and not [item for item in plan.findings if item.check.startswith("cloud-")]


def test_what_a_managed_service_can_do_has_no_finding() -> None:
    plan = on_aws(
        scheduler=KUBERNETES,
        site=TWO,
        pools=[pool(local="/mnt/k8s-disks/0", capacity=[{"kind": "spot"}])],
        network={"access": ["192.0.2.0/24"]},
    )
    assert plan.errors == ()
    under_slurm = on_aws(pools=[pool(local="/scratch", capacity=[{"kind": "spot", "max_price": "40 USD/h"}])])
    assert under_slurm.errors == ()


def test_servers_with_a_source_of_their_software() -> None:
    plan = on_aws(storage=[WEKA | {"options": {"install": "https://example.com/weka.sh", "install-token": "weka/get"}}])
    assert plan.errors == () and plan.cloud is not None
    install = plan.cloud.storage_named("scratch").install
    assert install is not None and (install.source, install.token) == ("https://example.com/weka.sh", "weka/get")
    accepted = on_aws(storage=[WEKA], suppress=[{"check": "cloud-storage-install", "reason": "the image has it"}])
    assert accepted.errors == () and accepted.cloud is not None
    assert accepted.cloud.storage_named("scratch").install is None
