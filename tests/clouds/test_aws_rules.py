"""The rules of security groups are counted before they are made: the plan's number is that of the graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml
from offline.recorder import record
from programs import SPECS, build_program, build_small_spec, record_spec

import supercloud as sc
from supercloud.plan.checks.cloud.rules import count_security_rules

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ISOLATED = {
    "network": {"cidr": "10.0.0.0/16", "isolated": True},
    "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
    "scheduler": {"kind": "slurm", "version": "25.11", "managed_database": True},
    "storage": [
        {"name": "fsx", "kind": "lustre", "capacity": "1200 GiB", "mount": "/fsx"},
        {"name": "home", "kind": "nfs", "capacity": "1 TiB", "throughput": {"read": "320 MB/s"}, "mount": "/home"},
        {"name": "soft", "kind": "nfs", "product": "efs", "mount": "/soft"},
    ],
}


def check(spec: Any, found: Any) -> None:
    made: Counter[str] = Counter()
    for token in (INGRESS, EGRESS):
        sides = Counter(entry.inputs["securityGroupId"] for entry in found.of_type(token))
        made |= sides  # the fuller direction
    plan = sc.resolve(spec)
    counted = {what: count for what, count, _ in count_security_rules(plan)}
    assert counted["machines of the cluster"] == made["prod-cluster-sg-id"]
    assert counted.get("hosts that users log in to", 0) == made["prod-access-sg-id"]
    for what, count in counted.items():
        if what.startswith("the file system"):
            assert count == made[f"prod-storage-{what.rpartition(' ')[2]}-sg-id"], what


@pytest.mark.parametrize("name", SPECS)
def test_rules_match_the_count_in_the_examples(name: str) -> None:
    check(sc.load(SPECS[name]), record_spec(name))


@pytest.mark.slow
def test_rules_match_the_count_in_an_isolated_network_with_all_kinds_of_storage() -> None:
    spec = sc.ClusterSpec.model_validate(yaml.safe_load(yaml.safe_dump(build_small_spec(**ISOLATED))))
    check(spec, record(build_program(spec=spec)))
