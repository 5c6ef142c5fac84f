"""What happens to a cluster after its first day: instances are lost, the controller is replaced, a pool grows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from booted import build_spec, write_catalog
from people import Person
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]
GROUP = "cpu-on-demand"

pytestmark = pytest.mark.extended


def find_urn(engine: Engine, name: str, kind: str) -> str:
    (found,) = (urn for urn in engine.list_resources() if urn.endswith(f"{kind}::{name}"))
    return found


def hide_object(region: EmulatedRegion, key: str) -> Callable[[], object]:
    """Hide an object of the cluster's bucket behind a delete marker, which the returned function deletes."""
    (bucket,) = (item["Name"] for item in region.call("s3.list_buckets")["Buckets"] if "state" in item["Name"])
    marker = region.call("s3.delete_object", Bucket=bucket, Key=key)["VersionId"]
    return lambda: region.call("s3.delete_object", Bucket=bucket, Key=key, VersionId=marker)


def test_a_cluster_survives_losses_and_changes(region: EmulatedRegion, start: Start, tmp_path: Path) -> None:
    people = {"llm": [Person.create("ada", 2001, tmp_path / "ada")]}
    engine = start(build_spec(region, people), write_catalog)
    engine.up()
    controller = region.wait_for_machine("ctl1")
    wait_until_ready(controller)

    # an instance is lost while its job runs: the job runs again elsewhere
    job = controller.run("sbatch --parsable --requeue --wrap 'sleep 30'").stdout.strip()
    controller.wait(f"squeue -h -j {job} -o %T | grep -qx RUNNING", timeout=300)
    (lost,) = (item["InstanceId"] for item in region.list_instances() if region.is_in_group(item, GROUP))
    region.call("ec2.terminate_instances", InstanceIds=[lost])
    controller.wait(f"sacct -n -X -D -j {job} -o state | grep -q NODE_FAIL", timeout=300)
    controller.wait(f"sacct -n -X -j {job} -o state | grep -q COMPLETED", timeout=600)

    # the controller is replaced and gets the state disk; its boot is repeated until a file is there
    before = controller
    restore = hide_object(region, "slurm/slurm.tar.gz")
    engine.run("up", "--yes", "--skip-preview", "--replace", find_urn(engine, "lab-ctl1", "aws:ec2/instance:Instance"))
    controller = wait_for(
        "another controller", lambda: [new for new in region.find("ctl1") if new is not before], seconds=300
    )[0]
    controller.wait(
        "grep -q 'FAILED bundle: slurm/slurm.tar.gz cannot be fetched' /var/log/supercloud/boot.log", timeout=300
    )
    restore()
    controller.wait("grep -q 'end: this machine is ready' /var/log/supercloud/boot.log", timeout=900)
    assert job in controller.run("sacct -n -X -o jobid").stdout.split()

    # the pool grows: nodes of the new plan are known to Slurm, and start
    (engine.project / "cluster.yaml").write_text(build_spec(region, people, nodes=3))
    engine.up()
    controller.run("systemctl start supercloud-update", timeout=300)
    job = controller.run("sbatch --parsable -N 3 --wrap 'srun hostname'").stdout.strip()
    controller.wait(f"sacct -n -X -j {job} -o state | grep -q COMPLETED", timeout=900)

    # nothing is left but what is retained
    engine.configure({"supercloud:protect": "false"})
    engine.up()
    engine.run("destroy", "--yes", "--skip-preview")
    wait_for("no machine runs", lambda: not region.list_instances() and not region.booting, seconds=120)
    assert not region.errors
