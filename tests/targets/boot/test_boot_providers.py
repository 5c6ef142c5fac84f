"""Functions of the providers, run against command lines and metadata services that are scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from boot_machines import build_plan
from scaler_machine import Scaler

from supercloud.targets import render


class Provider:
    """The functions of one provider, with commands that say what a test lets them say."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.call_log = folder, folder / "said"
        bundle = render(build_plan(provider=name), "boot")
        (folder / "cloud.sh").write_text(bundle[f"clouds/{name}.sh"])

    def fake(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/bash\necho {name} "$@" >>"{self.call_log}"\n{script}\n')
        path.chmod(0o755)

    def run(self, call: str, bucket: str = "state", cluster: str = "trainer") -> tuple[int, str]:
        """Exit code and output of a call."""
        text = f"BUCKET={bucket} REGION=us-east-1 CLUSTER={cluster}; set -euo pipefail; source cloud.sh; {call}"
        done = subprocess.run(
            ["/bin/bash", "-c", text],
            cwd=self.folder,
            env={"PATH": f"{self.folder}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=30,
        )
        return done.returncode, done.stdout

    @property
    def calls(self) -> str:
        return self.call_log.read_text()


IMDS = """case "${@: -1}" in
*/api/token) echo TOKEN ;;
*/instance-id) echo i-1 ;; */instance-type) echo p5.48xlarge ;; */availability-zone) echo us-east-1a ;;
*/local-ipv4) echo 10.0.0.9 ;; *) exit 22 ;;
esac"""


@pytest.fixture
def aws(tmp_path: Path) -> Provider:
    found = Provider(tmp_path, "aws")
    found.fake("curl", IMDS)
    return found


def test_metadata_is_read_on_aws(aws: Provider) -> None:
    aws.fake("aws", "printf 'nn-1\\tnn-2\\tnn-3\\n'")
    assert aws.run("cloud_metadata") == (
        0,
        "id=i-1\ntype=p5.48xlarge\nzone=us-east-1a\naddress=10.0.0.9\nnetwork=nn-1 nn-2 nn-3\n",
    )
    assert "describe-instance-topology --region us-east-1 --instance-ids i-1" in aws.calls
    aws.fake("aws", "exit 254")  # not this type of instance, or not allowed: no reason to stay away
    code, output = aws.run("cloud_metadata")
    assert code == 0 and output.endswith("network=\n")
    aws.fake("curl", "exit 7")
    assert aws.run("cloud_metadata")[0] != 0


def test_secrets_are_read_on_aws(aws: Provider) -> None:
    aws.fake("aws", "echo value")
    assert aws.run("cloud_secret arn") == (0, "value\n")
    aws.fake(
        "aws",
        "echo 'An error occurred (ResourceNotFoundException) ... value for staging label: AWSCURRENT' >&2; exit 254",
    )
    assert aws.run("cloud_secret arn") == (3, "")
    aws.fake("aws", "echo 'AccessDeniedException' >&2; exit 254")
    assert aws.run("cloud_secret arn") == (1, "")
    aws.fake(
        "aws",
        'cat "${@: -1}" 2>/dev/null || for word; do [[ $word != file://* ]] || cat "${word#file://}"; done >stored',
    )
    assert aws.run("echo secret | cloud_fill arn")[0] == 0
    assert (aws.folder / "stored").read_text() == "secret\n"


def test_groups_are_resized_on_aws(aws: Provider) -> None:
    aws.fake("aws", "case $* in *set-desired*) exit 0 ;; *Capacity*) echo 3 ;; *GroupName*) echo asg-1 ;; esac")
    assert aws.run("cloud_size train-spot") == (0, "3\n")
    assert aws.run("cloud_resize train-spot 4") == (0, "")
    assert "set-desired-capacity --region us-east-1 --auto-scaling-group-name asg-1 --desired-capacity 4" in aws.calls
    assert "Name=tag:supercloud:cluster,Values=trainer Name=tag:supercloud:group,Values=train-spot" in aws.calls
    aws.fake("aws", "case $* in *set-desired*) echo VcpuLimitExceeded; exit 254 ;; *) echo asg-1 ;; esac")
    assert aws.run("cloud_resize train-spot 4") == (3, "VcpuLimitExceeded\n")
    aws.fake("aws", "printf 'i-1\\t10.0.0.1\\ni-2\\tNone\\n'")
    assert aws.run("cloud_instances train-spot") == (0, "i-1 10.0.0.1\ni-2 -\n")


# what the three command lines print for a machine with an address and one without, and for domains
LISTS = {
    "aws": ("i-1\\t10.0.0.1\\ni-2\\tNone\\n", "i-1\\tcb-7\\n", "cb-7"),
    "gcp": ("i-1\\t10.0.0.1\\ni-2\\t\\n", "i-1\\tsub-7\\n", "sub-7"),
    "azure": ("i-1\\t10.0.0.1\\ni-2\\t\\n", "", "g"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_instances_are_listed_in_the_format_of_the_scaler(tmp_path: Path, name: str) -> None:
    listed, domains, domain = LISTS[name]
    provider = Provider(tmp_path, name)
    script = f'case $* in *opology*) printf "{domains}" ;; *"vmss list"*) echo g ;; *) printf "{listed}" ;; esac'
    for tool in ("aws", "gcloud", "az"):
        provider.fake(tool, script)
    code, lines = provider.run("cloud_instances g")
    assert (code, lines) == (0, "i-1 10.0.0.1\ni-2 -\n")
    assert provider.run("cloud_domains g")[1].splitlines()[0] == f"i-1 {domain}"
    if name != "azure":  # its domains are its groups
        provider.fake("aws", "exit 254")
        provider.fake("gcloud", "exit 1")
        assert provider.run("cloud_domains g")[0] != 0, "a cloud that does not respond is not one without domains"
    (tmp_path / "scaler").mkdir()
    scaler = Scaler(tmp_path / "scaler")
    scaler.group("train-spot", 2, *lines.splitlines())
    scaler.nodes(train_0001="ALLOCATED+CLOUD+POWERING_UP")
    scaler.scale("pass")
    assert scaler.record("train-0001") == "train-spot i-1"
    scaler.nodes(train_0001="ALLOCATED+CLOUD+DYNAMIC_NORM")
    assert scaler.scale("pass") == [] or " ended" not in scaler.log
    assert scaler.record("train-0001") == "train-spot i-1"


def test_refusals_are_found_on_aws(aws: Provider) -> None:
    aws.fake(
        "aws",
        'case $* in *activities*) printf "2026-01-02T03:04:05+00:00\\tInsufficientInstanceCapacity: no p5\\n" ;;'
        " *) echo asg-1 ;; esac",
    )
    assert aws.run("cloud_refused g 0") == (0, "InsufficientInstanceCapacity: no p5\n")
    assert aws.run("cloud_refused g 4000000000")[0] != 0
    aws.fake(
        "aws",
        'case $* in *activities*) printf "2026-01-02T03:04:05+00:00\\tThe image id ami-0a does not exist\\n" ;;'
        " *) echo asg-1 ;; esac",
    )
    assert aws.run("cloud_refused g 0")[0] != 0, "other groups are not tried: they would not help"
    assert aws.run("cloud_failed g 0") == (0, "The image id ami-0a does not exist\n")
    assert aws.run("cloud_failed g 4000000000")[0] != 0


def test_one_instance_is_terminated_on_aws(aws: Provider) -> None:
    aws.fake("aws", "")
    assert aws.run("cloud_terminate g i-9")[0] == 0
    assert "--instance-id i-9 --should-decrement-desired-capacity" in aws.calls
    aws.fake("aws", "echo 'ValidationError: Instance Id not found' >&2; exit 254")
    assert aws.run("cloud_terminate g i-9")[0] == 0
    aws.fake("aws", "echo Throttling >&2; exit 254")
    assert aws.run("cloud_terminate g i-9")[0] == 1


def test_an_instance_of_a_group_of_minimum_size_is_replaced_on_aws(aws: Provider) -> None:
    least = "ValidationError: Terminating instance without replacement will violate group's min size constraint."
    aws.fake("aws", f'[[ $* != *" --should-dec"* ]] || {{ echo "{least}" >&2; exit 254; }}')
    assert aws.run("cloud_terminate g i-9")[0] == 0
    assert aws.calls.splitlines()[-1].endswith("--instance-id i-9 --no-should-decrement-desired-capacity")
    aws.fake("aws", f'echo "{least}" >&2; exit 254')
    assert aws.run("cloud_terminate g i-9")[0] == 1


def test_the_functions_for_gcp_call_its_tools(tmp_path: Path) -> None:
    gcp = Provider(tmp_path, "gcp")
    gcp.fake(
        "curl",
        "case ${@: -1} in */name) echo vm-1 ;; */machine-type) echo projects/1/machineTypes/a3 ;;"
        " */zone) echo projects/1/zones/us-central1-a ;; */ip) echo 10.0.0.9 ;; esac",
    )
    gcp.fake("gcloud", 'case $* in *describe*) printf "c\\tb\\ts\\n" ;; esac')
    assert gcp.run("cloud_metadata")[1] == ("id=vm-1\ntype=a3\nzone=us-central1-a\naddress=10.0.0.9\nnetwork=c b s\n")
    gcp.fake(
        "gcloud",
        'case $* in *"managed list "*) printf "mig-1\\tus-central1-a\\t\\n" ;;'
        " *) echo ZONE_RESOURCE_POOL_EXHAUSTED; exit 1 ;; esac",
    )
    assert gcp.run("cloud_resize g 2") == (3, "ZONE_RESOURCE_POOL_EXHAUSTED\n")
    assert "resize mig-1 --zone=us-central1-a --size 2" in gcp.calls
    gcp.fake("gcloud", 'printf "vm-1\\t10.0.0.1\\nvm-2\\t\\n"')
    assert gcp.run("cloud_instances g") == (0, "vm-1 10.0.0.1\nvm-2 -\n")


def test_the_functions_for_azure_call_its_tools(tmp_path: Path) -> None:
    azure = Provider(tmp_path, "azure")
    azure.fake(
        "curl",
        "case ${@: -1} in */name\\?*) echo vm-1 ;; */vmSize*) echo ND96 ;; */location*) echo westus3 ;;"
        " */zone*) echo 2 ;; */privateIp*) echo 10.0.0.9 ;; */placementGroupId*) echo pg-1 ;; esac",
    )
    assert azure.run("cloud_metadata") == (
        0,
        "id=vm-1\ntype=ND96\nzone=westus3-2\naddress=10.0.0.9\nnetwork=pg-1\n",
    )
    azure.fake("az", 'case $* in *"vmss list"*) echo set-1 ;; *"vmss scale"*) echo AllocationFailed; exit 1 ;; esac')
    assert azure.run("cloud_resize g 2") == (3, "AllocationFailed\n")
    azure.fake("az", 'case $* in *secret*) echo "(SecretNotFound) none" >&2; exit 3 ;; esac')
    assert azure.run("cloud_secret vault/auth") == (3, "")
