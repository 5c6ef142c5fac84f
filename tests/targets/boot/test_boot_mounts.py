"""File systems that cannot be mounted: clients are installed, starts continue, nodes take no jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from boot_machines import BootMachine, build_plan

from supercloud.catalog.storage_service import FabricClient
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render

UBUNTU = 'ID=ubuntu\nVERSION_ID="22.04"\n'
APT = '[[ $* != "install "* ]] || touch "$CLOUD/installed"'
CLIENT = '[ -e "$CLOUD/installed" ]'


def start_machine(folder: Path, key: str, system: str = UBUNTU) -> BootMachine:
    machine = BootMachine(folder, key, build_plan())
    (machine.root / "etc").mkdir()
    (machine.root / "etc/os-release").write_text(system)
    machine.fake("apt-get", APT)
    machine.fake(
        "scontrol",
        'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE+CLOUD+DYNAMIC_NORM"\n'
        'cat "$CLOUD/reason" 2>/dev/null || true',
    )
    return machine


@pytest.fixture
def compute(tmp_path: Path) -> BootMachine:
    return start_machine(tmp_path, "train-spot")


def read_places(machine: BootMachine) -> str:
    return (machine.root / "etc/supercloud/mount-state-mounts").read_text()


def test_a_missing_client_is_installed_from_the_repository_of_its_kernel(compute: BootMachine) -> None:
    compute.fake("modprobe", CLIENT)
    compute.fake("uname", "echo 6.8.0-1021-aws")
    compute.fake("curl")
    done = compute.steps("mounts")
    assert done.returncode == 0 and "FAILED" not in done.stderr, done.stderr
    assert compute.calls("apt-get")[0] == "update -q"
    assert compute.calls("apt-get")[1].endswith(" lustre-client-modules-6.8.0-1021-aws")
    source = (compute.root / "etc/apt/sources.list.d/supercloud-lustre.list").read_text()
    key = compute.root / "usr/share/keyrings/supercloud-lustre.asc"
    assert source == f"deb [signed-by={key}] https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu jammy main\n"
    assert f"--output {key} https://" in compute.calls("curl")[0]
    assert read_places(compute) == "/fsx\n/home\n"


def test_a_client_that_is_present_is_not_installed(compute: BootMachine) -> None:
    assert compute.steps("mounts").returncode == 0
    assert not compute.calls("apt-get") and len(compute.calls("mount")) == 2


@pytest.mark.parametrize(
    "system, spoil, why",
    [
        (UBUNTU, "modprobe", "lustre-client-modules-{kernel} is installed, but has no client for the kernel {kernel}"),
        (UBUNTU, "apt-get", "lustre-client-modules-{kernel} cannot be installed: no network"),
        (
            "ID=debian\nVERSION_ID=12\n",
            "modprobe",
            "this image has no client for lustre and debian 12 is not known to have",
        ),
    ],
)
def test_a_client_that_cannot_be_installed_is_a_reason(tmp_path: Path, system: str, spoil: str, why: str) -> None:
    machine = start_machine(tmp_path, "ctl1", system)
    machine.fake("uname", "echo 6.8.0-1021-aws")
    machine.fake("curl")
    machine.fake("modprobe", "exit 1")
    if spoil == "apt-get":
        machine.fake("apt-get", "echo no network; exit 1")
    done = machine.steps("mounts")
    assert done.returncode == 0
    assert f"FAILED mounts: /fsx: {why.format(kernel='6.8.0-1021-aws')}" in done.stderr
    # the source would also fail the installation of other packages
    assert not (machine.root / "etc/apt/sources.list.d/supercloud-lustre.list").exists()
    # the other file system is mounted
    assert [line.split()[-1] for line in machine.calls("mount")] == [f"{machine.root}/home"]


@pytest.mark.slow
def test_a_controller_starts_without_a_file_system_and_tries_again(tmp_path: Path) -> None:
    machine = start_machine(tmp_path, "ctl1")
    (machine.cloud / "disk").touch()
    machine.fake(
        "scontrol",
        'case $* in ping) echo "Slurmctld(primary) at ctl1 is UP" ;; *) echo "NodeName=x State=IDLE" ;; esac',
    )
    machine.fake("mount", '[[ $* != *" lustre "* ]] || { echo "no route"; echo "to \'host\'" >&2; exit 5; }')
    done = machine.begin()
    why = "fs-1@tcp:/abcd cannot be mounted: no route to  host"
    assert done.returncode == 0, done.stdout + done.stderr
    log = (machine.root / "var/log/supercloud/boot.log").read_text()
    assert f"FAILED mounts: /fsx: {why}" in log and f"this machine is ready, but mount /fsx: {why}" in log
    assert "enable -q --now supercloud-mounts.timer" in machine.calls("systemctl")
    unit = (machine.root / "etc/systemd/system/supercloud-mounts.service").read_text()
    assert f"ExecStart={machine.root}/opt/supercloud/boot/boot.sh disks mounts homes\n" in unit
    # the timer logs only changes
    again = machine.steps("disks", "mounts", BOOT_REPEATED="yes")
    assert again.returncode == 0 and again.stdout + again.stderr == ""
    machine.fake("mount")
    after = machine.steps("disks", "mounts", BOOT_REPEATED="yes")
    assert after.stdout.endswith(" /fsx is mounted now\n") and after.stdout.count("\n") == 1
    assert machine.calls("systemctl")[-1] == "disable -q --now supercloud-mounts.timer"


@pytest.mark.slow
@pytest.mark.parametrize(
    "program, does, why",
    [
        ("apt-get", '[ "$1" != install ] || { echo "E: no package"; exit 100; }', "cannot be installed: E: no package"),
        ("apt-get", 'echo "E: no archive" >&2; exit 100', "cannot be installed: E: no archive"),
        ("mkdir", 'case $* in */fsx) exit 1 ;; *) exec /bin/mkdir "$@" ;; esac', ""),
    ],
)
def test_nothing_of_a_mount_ends_the_start_of_a_controller(tmp_path: Path, program: str, does: str, why: str) -> None:
    machine = start_machine(tmp_path, "ctl1")
    (machine.cloud / "disk").touch()
    machine.fake(
        "scontrol",
        'case $* in ping) echo "Slurmctld(primary) at ctl1 is UP" ;; *) echo "NodeName=x State=IDLE" ;; esac',
    )
    machine.fake("curl")
    machine.fake("modprobe", "exit 1")  # there is no client of Lustre
    machine.fake(program, does)
    done = machine.begin()
    assert done.returncode == 0, done.stdout + done.stderr
    log = (machine.root / "var/log/supercloud/boot.log").read_text()
    assert "FAILED mounts: /fsx: " in log and why in log and "this machine is ready, but mount /fsx: " in log
    assert "FAILED" not in log.replace("FAILED mounts: /fsx: ", "")


def test_a_node_without_a_file_system_is_drained_before_slurmd_starts(compute: BootMachine) -> None:
    compute.fake("mount", "echo no route; exit 32")
    compute.steps("identity", "bundle")
    done = compute.steps("identity", "disks", "mounts", "join")
    assert done.returncode == 0, done.stdout + done.stderr
    reason = (
        "mount /fsx: fs-1@tcp:/abcd cannot be mounted: no route, mount /home: fs-2:/fsx cannot be mounted: no route"
    )
    drain = f"scontrol update NodeName=train-0003 State=DRAIN Reason={reason}"
    assert drain in compute.asked and compute.asked.index(drain) < compute.asked.index("systemctl restart slurmd")


@pytest.mark.parametrize(
    "reason, resumed",
    [
        ("mount /fsx: no route [root@2026-01-01]", True),
        ("health-check: mount /fsx: no route [root@2026-01-01]", True),
        ("health-check: mount /fsx: no route;7 of 8 accelerators [root@2026-01-01]", False),
        ("broken fan [ada@2026-01-01]", False),
    ],
)
def test_only_a_node_that_was_drained_for_its_mounts_is_resumed(
    compute: BootMachine, reason: str, resumed: bool
) -> None:
    compute.steps("identity", "bundle", "join")
    (compute.cloud / "reason").write_text(f"   Reason={reason}\n")
    done = compute.steps("disks", "mounts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("update NodeName=train-0003 State=RESUME" in compute.calls("scontrol")) == resumed


def start_fabric_node(folder: Path, adapters: int) -> BootMachine:
    plan = build_plan()
    assert plan.cloud is not None
    client = FabricClient(network="efa", adapters={"p5.48xlarge": 8}, several=2, credits=32)
    storage = tuple(replace(one, fabric_client=client) if one.name == "scratch" else one for one in plan.cloud.storage)
    pools = tuple(replace(pool, fabrics=("compute",)) for pool in plan.pools)
    machine = BootMachine(folder, "train-spot", replace(plan, pools=pools, cloud=replace(plan.cloud, storage=storage)))
    drivers = machine.root / "drivers"
    for name in ("efa", "mlx5_core"):
        (drivers / name).mkdir(parents=True)
    devices = {f"rdmap{number:02}": "efa" for number in range(adapters)} | {"mlx5_0": "mlx5_core"}
    for name, driver in devices.items():
        device = machine.root / "sys/class/infiniband" / name / "device"
        device.mkdir(parents=True)
        (device / "driver").symlink_to(drivers / driver)
    machine.fake("ip", 'echo "default via 10.0.0.1 dev enp71s0 proto dhcp src 10.0.0.9 metric 512"')
    machine.fake("lnetctl", '[[ $* != "net show"* ]] || cat "$CLOUD/nets" 2>/dev/null')
    return machine


def test_lustre_is_mounted_over_the_fabric(tmp_path: Path) -> None:
    """Adapters are spread over the network cards; LNet is set up before Lustre is loaded, and once."""
    machine = start_fabric_node(tmp_path, 32)
    done = machine.steps("mounts")
    assert done.returncode == 0 and not done.stderr, done.stderr
    added = [line for line in machine.calls("lnetctl") if line.startswith("net add")]
    assert added == [
        "net add --net tcp --if enp71s0",
        *(f"net add --net efa --if rdmap{number:02} --peer-credits 32" for number in range(0, 32, 4)),
    ]
    asked = [
        line
        for line in machine.asked
        if line.startswith(("modprobe ", "lnetctl set", "lnetctl udsp", "mount -t lustre"))
    ]
    assert [line.partition(" -o")[0] for line in asked] == [
        "modprobe --dry-run lustre",
        "modprobe lnet",
        "modprobe kefalnd ipif_name=enp71s0",
        "modprobe ksocklnd",
        "lnetctl set discovery 1",
        "lnetctl udsp add --src efa --priority 0",
        "modprobe lustre",
        "mount -t lustre",
    ]
    (machine.cloud / "nets").write_text("- nid: 1.2.3.4@efa\n")
    assert machine.steps("mounts").returncode == 0
    assert [line for line in machine.calls("lnetctl") if line.startswith("net add")] == added


@pytest.mark.parametrize(
    "adapters, spoil, why",
    [(0, "", "this machine has no efa adapter"), (1, "modprobe", "modprobe kefalnd ipif_name=enp71s0: no such module")],
)
def test_lustre_without_the_fabric_is_mounted_over_tcp_and_reported(
    tmp_path: Path, adapters: int, spoil: str, why: str
) -> None:
    machine = start_fabric_node(tmp_path, adapters)
    if spoil:
        machine.fake(spoil, '[ "$1" != kefalnd ] || { echo no such module; exit 1; }')
    done = machine.steps("mounts")
    assert done.returncode == 0
    assert f"FAILED mounts: /fsx: not over the fabric, but over tcp: {why}" in done.stderr
    assert machine.calls("mount")[0].startswith("-t lustre ") and read_places(machine) == "/fsx\n/home\n"


def test_the_table_of_fabrics_follows_the_plan() -> None:
    """Only file systems with the option, only pools with the fabric, and only machines that can use it."""
    declared = {
        "name": "trainer",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "fabrics": [{"name": "compute", "kind": "efa"}],
        "pools": [
            {"name": "train", "machine": "p5.48xlarge", "nodes": 2, "fabrics": ["compute"]},
            {"name": "plain", "machine": "p5.48xlarge", "nodes": 2},
        ],
        "storage": [
            {"name": "scratch", "kind": "lustre", "capacity": "38400 GiB", "mount": "/fsx", "options": {"efa": True}},
            {"name": "old", "kind": "lustre", "capacity": "38400 GiB", "mount": "/old", "options": {"efa": False}},
        ],
    }
    found = resolve(ClusterSpec.model_validate(declared))
    assert not found.errors, found.errors
    assert render(found, "settings")["fabrics.txt"].splitlines()[2:] == ["scratch train efa 8 32"]
