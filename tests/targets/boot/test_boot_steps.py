"""The boot script, run: what each step does, that a second run changes nothing, and how it fails."""

from __future__ import annotations

import base64
import fcntl
import os
import re
from pathlib import Path

import pytest
from boot_machines import SYSTEMCTL, BootMachine, build_plan

from supercloud.primitives.bundle import Bundle


@pytest.fixture
def controller(tmp_path: Path) -> BootMachine:
    machine = BootMachine(tmp_path, "ctl1", build_plan())
    machine.fake(
        "scontrol",
        'case $* in ping) echo "Slurmctld(primary) at ctl1 is UP" ;; *) echo "NodeName=x State=IDLE" ;; esac',
    )
    return machine


@pytest.fixture
def compute(tmp_path: Path) -> BootMachine:
    machine = BootMachine(tmp_path, "train-spot", build_plan())
    machine.fake(
        "scontrol",
        '[[ $* == *"show node "* ]] || echo "NodeName=train-0001 NodeAddr=x State=IDLE+POWERED_DOWN Z=1"\n'
        'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE+CLOUD+DYNAMIC_NORM Extra=1"',
    )
    (machine.root / "dev").mkdir()
    for number in range(8):
        (machine.root / f"dev/nvidia{number}").touch()
    return machine


@pytest.mark.slow
def test_a_compute_node_joins(compute: BootMachine) -> None:
    done = compute.begin()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "this machine is ready" in done.stdout and "join: this is node train-0003" in done.stdout
    etc = compute.root / "etc"
    assert sorted(path.name for path in (etc / "slurm").iterdir()) == [
        "accounts.sh",
        "epilog.sh",
        "health-check.sh",
        "node-facts.txt",
        "pool",
        "prolog.sh",
        "task-prolog.sh",
    ]
    assert (etc / "munge/munge.key").read_bytes() == bytes(64)
    assert os.stat(etc / "munge/munge.key").st_mode & 0o777 == 0o400
    assert compute.plan.cloud is not None
    rules = {item.name: item.mount_rule for item in compute.plan.cloud.storage if item.mount_rule is not None}
    assert compute.calls("mount") == [
        f"-t {rules['scratch'].type} -o {rules['scratch'].options} fs-1@tcp:/abcd {compute.root}/fsx",
        f"-t {rules['home'].type} -o {rules['home'].options} fs-2:/fsx {compute.root}/home",
    ]
    update = [line for line in compute.calls("scontrol") if line.startswith("update")]
    # no features: a change of one node's would cost it its place
    assert update == ["update NodeName=train-0003 Topology=network:root:nn-1:nn-2-3"]


@pytest.mark.slow
@pytest.mark.parametrize("metadata, place", [("zone=us-east-1a", "zone-us-east-1a"), ("", "unknown")])
def test_a_node_with_an_unknown_network_position_has_its_zone(compute: BootMachine, metadata: str, place: str) -> None:
    """The zone is all there is; the block of a scale-up domain stays."""
    (compute.cloud / "metadata").write_text(f"id=i-1\naddress=10.0.0.9\nnetwork=\n{metadata}\n")
    compute.fake(
        "scontrol", 'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE Topology=network:root:off,scale-up:d2"'
    )
    compute.steps("identity", "bundle")
    done = compute.steps("identity", "join", "place")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"update NodeName=train-0003 Topology=network:root:{place},scale-up:d2" in compute.calls("scontrol")


@pytest.mark.slow
def test_the_network_position_is_requested_again(compute: BootMachine) -> None:
    """A cloud does not know the position of a new instance immediately."""
    (compute.cloud / "metadata").write_text("id=i-1\naddress=10.0.0.9\nzone=us-east-1a\nnetwork=\n")
    compute.fake("systemctl", f'echo network=nn-9 >>"$CLOUD/metadata"\n{SYSTEMCTL}')
    compute.steps("identity", "bundle")
    assert compute.steps("identity", "join", "place").returncode == 0
    assert "update NodeName=train-0003 Topology=network:root:nn-9" in compute.calls("scontrol")


def test_errors_of_the_shell_itself_are_logged(compute: BootMachine) -> None:
    """An unset variable is not a failing command."""
    compute.steps("identity")
    (compute.root / "etc/supercloud/node").write_text("LINE='Features=train'\n")
    done = compute.steps("identity", "place")
    assert done.returncode == 1 and "FAILED place: exited with 1, see the line above" in done.stderr


@pytest.mark.slow
def test_the_unit_of_slurmd_runs_its_script(compute: BootMachine) -> None:
    assert compute.begin().returncode == 0
    unit = (compute.root / "etc/systemd/system/slurmd.service.d/supercloud.conf").read_text()
    program = compute.root / "opt/supercloud/boot/slurmd.sh"
    # Debian's unit is skipped without a slurm.conf, which such a node does not have
    assert unit == f"[Unit]\nConditionPathExists=\n[Service]\nExecStart=\nExecStart={program}\n"
    compute.fake("slurmd", 'printf "%s|" "$@"')
    rest = (
        "|-b|-Z|-N|train-0003|--conf-server|ctl1.trainer.internal|--conf|"
        "Gres=gpu:h100:8 Features=train,h100,p5.48xlarge|"
    )
    assert compute.run(program).stdout == f"-D{rest}"
    # a unit of Type=notify: systemd ends a slurmd that does not report
    assert compute.run(program, NOTIFY_SOCKET="/run/systemd/notify").stdout == f"--systemd{rest}"


def test_the_slurm_user_has_one_id_on_every_machine(compute: BootMachine) -> None:
    """Daemons refuse what comes from a SlurmUser of another number; a new user gets the number before any package."""
    compute.fake("getent", '[ -e "$CLOUD/made" ] && echo slurm:x:64030:64030::/nonexistent:/usr/sbin/nologin')
    compute.fake("useradd", 'touch "$CLOUD/made"')
    assert compute.steps("slurm_user").returncode == 0
    assert compute.calls("groupadd") == ["--system --gid 64030 slurm"]
    assert compute.calls("useradd")[0].startswith("--system --uid 64030 --gid 64030 ")
    compute.fake("getent", "echo slurm:x:997:64030::/nonexistent:/usr/sbin/nologin")
    done = compute.steps("slurm_user")
    assert done.returncode == 1 and "FAILED slurm_user" in done.stderr
    assert "UID:GID of slurm is 997:64030" in done.stderr and "usermod -u 64030" in done.stderr
    order = (compute.root / "opt/supercloud/boot/boot.sh").read_text()
    roles = re.findall(r"^(?:compute|controller|database|login)\) +steps=\((.*)\)", order, re.M)
    assert len(roles) == 4
    for steps in map(str.split, roles):
        assert steps.index("slurm_user") < min(steps.index(name) for name in ("state", "release") if name in steps)


@pytest.mark.slow
def test_hosts_without_slurmd_and_slurmctld_have_the_release(compute: BootMachine) -> None:
    """The real slurmdbd and commands do not say their release before they are configured, which is a later step."""
    compute.steps("identity")
    env = compute.root / "etc/supercloud/env"
    for role in ("login", "database"):
        env.write_text(re.sub("ROLE='.*'", f"ROLE='{role}'", env.read_text()))
        done = compute.steps("release")
        assert done.returncode == 0, done.stdout + done.stderr
    compute.fake("sacctmgr", "echo slurm-wlm 22.05.8")
    done = compute.steps("release")
    assert "FAILED release: slurmdbd is 22.05, the cluster has 25.11" in done.stderr


@pytest.mark.slow
def test_users_log_in_to_nodes_only_where_their_jobs_run(compute: BootMachine) -> None:
    """Before the node joins: pam_slurm_adopt, or no users at all in an image that has no such module."""
    compute.fake("sshd", 'echo "usepam yes"; cat "$BOOT_ROOT"/etc/ssh/sshd_config.d/*.conf 2>/dev/null || true')
    compute.fake("pam-auth-update")
    for folder in ("etc/pam.d", "usr/lib/x86_64-linux-gnu/security"):
        (compute.root / folder).mkdir(parents=True)
    pam, closed = compute.root / "etc/pam.d/sshd", compute.root / "etc/ssh/sshd_config.d/00-supercloud.conf"
    pam.write_text("@include common-account\n@include common-session\n")
    done = compute.steps("ssh")
    assert done.returncode == 0 and closed.read_text() == "AllowGroups root sudo wheel\n", done.stderr
    assert "supercloud" not in pam.read_text()
    (compute.root / "usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so").touch()
    for _ in range(2):
        assert compute.steps("ssh").returncode == 0 and not closed.exists()
        *_, last = rules = pam.read_text().splitlines()
        # the module admits everyone by default if it does not find the node, and dynamic nodes are not in slurm.conf
        assert (
            last == "account required pam_slurm_adopt.so action_generic_failure=deny # supercloud" and len(rules) == 5
        )
    compute.steps("identity", "bundle")
    assert compute.steps("identity", "join").returncode == 0
    assert pam.read_text().splitlines()[-1].endswith(" action_generic_failure=deny nodename=train-0003 # supercloud")
    assert "--package --remove systemd" in compute.calls("pam-auth-update")
    # a service that does not read the folder is reported, and the node does not join
    (compute.root / "usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so").unlink()
    compute.fake("sshd", 'echo "usepam yes"')
    done = compute.steps("ssh")
    assert done.returncode == 1 and "FAILED ssh: sshd does not read" in done.stderr
    steps = (compute.root / "opt/supercloud/boot/boot.sh").read_text()
    assert " ssh after join " in steps


def test_long_output_of_sshd_is_read_completely(compute: BootMachine) -> None:
    """More than a pipe holds: a reader that ends at its first line would end sshd by SIGPIPE, and count as a no."""
    compute.fake("sshd", 'echo "UsePAM yes"; for _ in {1..9999}; do echo "acceptenv LC_ALL"; done')
    compute.fake("pam-auth-update")
    for folder in ("etc/pam.d", "usr/lib/x86_64-linux-gnu/security"):
        (compute.root / folder).mkdir(parents=True)
    pam = compute.root / "etc/pam.d/sshd"
    pam.write_text("@include common-account\n")
    (compute.root / "usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so").touch()
    done = compute.steps("ssh")
    assert done.returncode == 0 and "pam_slurm_adopt" in pam.read_text(), done.stdout + done.stderr


@pytest.mark.slow
def test_sackd_runs_until_slurmd_runs(tmp_path: Path) -> None:
    """With auth/slurm a node asks for its name before its slurmd runs; sackd ends before slurmd takes its socket."""
    machine = BootMachine(tmp_path, "train-spot", build_plan("25.11", auth="slurm"))
    machine.fake("scontrol", 'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE+CLOUD Extra=1"')
    done = machine.steps("identity", "bundle", "sackd", "join")
    assert done.returncode == 0, done.stdout + done.stderr
    units = [line for line in machine.calls("systemctl") if line in ("restart sackd", "stop sackd", "restart slurmd")]
    assert units == ["restart sackd", "stop sackd", "restart slurmd"]
    options = machine.root / "etc/supercloud/sackd"
    assert options.read_text() == "SACKD_OPTIONS='--conf-server ctl1.trainer.internal'\n"
    unit = machine.root / "etc/systemd/system/sackd.service.d/supercloud.conf"
    assert unit.read_text() == f"[Unit]\nConditionPathExists=\n[Service]\nEnvironmentFile={options}\n"
    (machine.bin / "sackd").unlink()
    (machine.cloud / "active-slurmd").unlink()
    done = machine.steps("identity", "sackd")
    assert done.returncode == 1 and "FAILED sackd: sackd is missing" in done.stderr


def test_a_unit_that_systemd_skips_is_a_failure(compute: BootMachine) -> None:
    """A restart succeeds although a condition of the unit is not met."""
    compute.fake("systemctl", '[ "$1" != is-active ]')
    compute.fake("journalctl", "echo slurmd.service was skipped because of an unmet condition check")
    done = compute.begin()
    assert done.returncode == 1
    assert (
        "failed to start: slurmd.service was skipped because of an unmet condition check" in done.stdout + done.stderr
    )


@pytest.mark.slow
def test_a_second_start_changes_nothing(compute: BootMachine) -> None:
    assert compute.begin().returncode == 0
    compute.fake("mountpoint")
    compute.call_log.unlink()
    (compute.cloud / "bucket/boot/boot.tar.gz").unlink()  # this very version is here already
    again = compute.run(compute.root / "opt/supercloud/start.sh")
    assert again.returncode == 0, again.stdout
    assert not compute.calls("mount") and not [line for line in compute.calls("systemctl") if "restart" in line]


@pytest.mark.slow
def test_older_releases_get_only_features(tmp_path: Path) -> None:
    machine = BootMachine(tmp_path, "train-spot", build_plan("22.05"))
    machine.fake("scontrol", 'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE+CLOUD Extra=1"')
    machine.steps("identity", "bundle")
    done = machine.steps("identity", "join", "place")
    assert done.returncode == 0, done.stdout + done.stderr
    features = "train,h100,p5.48xlarge,net-nn-1,net-nn-2-3,zone-us-east-1a"
    assert [line for line in machine.calls("scontrol") if line.startswith("update")] == [
        f"update NodeName=train-0003 AvailableFeatures={features} ActiveFeatures={features}"
    ]


@pytest.mark.slow
def test_a_controller_starts(controller: BootMachine) -> None:
    (controller.cloud / "disk").touch()
    (controller.root / "etc").mkdir()
    done = controller.begin()
    assert done.returncode == 0, done.stdout + done.stderr
    dbd = controller.root / "etc/slurm/slurmdbd.conf"
    assert f"StoragePass={'a' * 24}\n" in dbd.read_text() and os.stat(dbd).st_mode & 0o777 == 0o600
    assert "StoragePass" not in controller.slurm["slurmdbd.conf"]
    assert "a" * 24 not in done.stdout + done.stderr + "\n".join(controller.asked)
    restarted = [line.split()[-1] for line in controller.calls("systemctl") if line.startswith("restart")]
    assert restarted == ["munge", "supercloud-keys", "mariadb", "slurmdbd", "slurmctld", "supercloud-scaler"]


def test_an_empty_secret_is_filled_by_the_first_controller(controller: BootMachine) -> None:
    (controller.cloud / "secrets/auth").write_text("")
    assert controller.steps("auth").returncode == 0
    assert len(base64.b64decode((controller.cloud / "secrets/auth").read_text())) == 1024


def test_an_empty_secret_is_not_filled_by_nodes(compute: BootMachine) -> None:
    (compute.cloud / "secrets/auth").write_text("")
    done = compute.steps("auth")
    assert done.returncode == 1 and "FAILED auth: the key is shorter than 32 bytes" in done.stderr
    assert (compute.cloud / "secrets/auth").read_text() == ""


@pytest.mark.slow
def test_a_managed_database_is_configured(tmp_path: Path) -> None:
    machine = BootMachine(tmp_path, "ctl1", build_plan(managed_database=True))
    (machine.cloud / "secrets/database").write_text('{"username": "admin", "password": "x#y"}')
    machine.steps("bundle")
    assert machine.steps("database").returncode == 0
    text = (machine.root / "etc/slurm/slurmdbd.conf").read_text()
    assert "StorageHost=db.internal\nStorageUser=admin\nStoragePass=x\\#y\n" in text
    assert "StorageHost=localhost" not in text and not machine.calls("mariadb")


def test_the_state_disk_is_formatted_only_if_blank(controller: BootMachine) -> None:
    (controller.cloud / "disk").touch()
    assert controller.steps("state").returncode == 0
    assert controller.calls("mkfs.ext4") == ["-q -L sc-ctl1 /dev/sdf"]
    assert f"/dev/sdf {controller.root}/srv/supercloud" in controller.calls("mount")


def test_a_state_disk_with_data_is_not_formatted(controller: BootMachine) -> None:
    (controller.cloud / "disk").touch()
    controller.fake("wipefs", "echo 0x438 ext4")
    done = controller.steps("state")
    assert done.returncode == 1 and "is not blank: 0x438 ext4" in done.stderr
    controller.fake("wipefs", "exit 1")
    done = controller.steps("state")
    assert done.returncode == 1 and "cannot read" in done.stderr
    assert not controller.calls("mkfs.ext4")


def test_the_state_disk_is_found_by_label(controller: BootMachine) -> None:
    controller.fake("blkid", "echo /dev/nvme7n1")
    assert controller.steps("state").returncode == 0
    assert f"/dev/nvme7n1 {controller.root}/srv/supercloud" in controller.calls("mount")
    assert not controller.calls("mkfs.ext4")


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil, why",
    [
        ("rm $CLOUD/bucket/boot/boot.tar.gz", "FAILED start: boot/boot.tar.gz cannot be fetched"),
        ("echo x >$CLOUD/bucket/boot/boot.tar.gz", "FAILED start: boot/boot.tar.gz is damaged"),
        ("rm $CLOUD/bucket/slurm/slurm.tar.gz", "FAILED bundle: slurm/slurm.tar.gz cannot be fetched"),
        ("rm $CLOUD/secrets/auth", "FAILED auth: the controller did not send the key: it has none\n (503)"),
        ("echo QUJD >$CLOUD/secrets/auth", "FAILED auth: the key is shorter than 32 bytes"),
        ("touch $CLOUD/given", "FAILED auth: the controller did not send the key: i-1 has it; if the disk of this"),
        ("echo 'exit 1' >$BIN/nft", "FAILED start: users can reach the metadata service of the cloud"),
        ("rm $BOOT_ROOT/dev/nvidia5", "FAILED devices: missing devices of 8 accelerators: /dev/nvidia5"),
        ("echo 'echo slurm 19.05.1' >$BIN/slurmd", "FAILED release: slurmd is 19.05, the cluster has 25.11"),
        ("echo 'exit 1' >$BIN/scontrol", "FAILED join: the controller assigned no node name"),
    ],
)
def test_failures_are_logged_with_their_reason(compute: BootMachine, spoil: str, why: str) -> None:
    compute.fake("apt-get", "exit 1")
    compute.run("-c", spoil, BIN=str(compute.bin))
    done = compute.begin()
    assert done.returncode == 1
    assert why in done.stdout + done.stderr
    log = compute.root / "var/log/supercloud/boot.log"
    assert why in log.read_text() and log.stat().st_mode & 0o077 == 0


def test_one_run_at_a_time(compute: BootMachine) -> None:
    """Timers run steps too. A daemon that a step starts does not keep the lock."""
    compute.fake("hostnamectl", "sleep 10 >/dev/null 2>&1 &")
    assert compute.begin().returncode == 0 and "set-hostname train-0003" in compute.calls("hostnamectl")
    with (compute.root / "run/supercloud-boot.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        program = compute.root / "opt/supercloud/boot/boot.sh"
        assert compute.run("-c", f"timeout 1 {program} identity").returncode == 124
    assert compute.steps("identity").returncode == 0


def test_a_start_that_fails_is_repeated(compute: BootMachine) -> None:
    """By the unit of later starts, which is enabled before steps that can fail."""
    compute.fake("slurmd", "echo slurm 19.05.1")
    assert compute.begin().returncode == 1
    unit = (compute.root / "etc/systemd/system/supercloud-boot.service").read_text()
    assert "Restart=on-failure" in unit and "Environment=BOOT_UNIT=yes" in unit
    assert compute.calls("systemctl")[-1] == "start --no-block supercloud-boot"
    compute.call_log.write_text("")
    assert compute.begin(BOOT_UNIT="yes").returncode == 1
    assert "start --no-block supercloud-boot" not in compute.calls("systemctl"), "systemd repeats it"


def test_a_changed_script_is_not_run(compute: BootMachine) -> None:
    compute.boot = Bundle({**compute.boot.files, "boot.sh": "#!/bin/bash\necho evil\n"})
    compute.publish()
    done = compute.begin()
    assert done.returncode == 1 and "evil" not in done.stdout and "is not the version with the checksum" in done.stdout
