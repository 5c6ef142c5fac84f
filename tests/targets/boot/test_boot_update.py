"""A configuration that is published again reaches running machines, and one that cannot be applied does not stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from boot_machines import SYSTEMCTL, BootMachine, build_plan

from supercloud.primitives.bundle import Bundle, render_sums

CONTROL = """case $* in
ping) echo "Slurmctld(primary) at ctl1 is UP" ;;
*) echo "NodeName=x State=IDLE" ;;
esac"""

pytestmark = pytest.mark.slow


@pytest.fixture
def controller(tmp_path: Path) -> BootMachine:
    machine = BootMachine(tmp_path, "ctl1", build_plan())
    (machine.cloud / "disk").touch()
    machine.fake("scontrol", CONTROL)
    assert machine.begin().returncode == 0
    machine.call_log.write_text("")
    return machine


def publish(machine: BootMachine, **changed: str) -> None:
    """Publish the Slurm bundle with changed files; ``_`` stands for the dot of a name."""
    files = {**dict(machine.slurm), **{name.replace("_", "."): text for name, text in changed.items()}}
    files.pop("SHA256SUMS")
    machine.slurm = Bundle({**files, "SHA256SUMS": render_sums(files)})
    machine.publish()


def update(machine: BootMachine) -> tuple[int, str]:
    done = machine.run(machine.root / "opt/supercloud/boot/update.sh")
    return done.returncode, done.stdout + done.stderr


def test_an_unchanged_configuration_is_not_applied_again(controller: BootMachine) -> None:
    assert update(controller) == (0, "")
    assert controller.call_log.read_text() == ""


def test_a_changed_configuration_is_applied_once(controller: BootMachine) -> None:
    conf = controller.slurm["slurm.conf"] + "# changed\n"
    publish(controller, slurm_conf=conf)
    code, text = update(controller)
    assert code == 0 and "update: the published configuration is applied" in text
    assert (controller.root / "etc/slurm/slurm.conf").read_text() == conf
    calls = controller.call_log.read_text()
    assert "systemctl restart slurmctld" in calls and "scontrol reconfigure" in calls
    assert update(controller) == (0, "")


def test_changed_tables_do_not_restart_the_controller(controller: BootMachine) -> None:
    scale = controller.settings["scale.json"].replace('"max_instances": 8', '"max_instances": 9')
    files = {**dict(controller.settings), "scale.json": scale}
    files.pop("SHA256SUMS")
    controller.settings = Bundle({**files, "SHA256SUMS": render_sums(files)})
    controller.publish()
    assert update(controller)[0] == 0
    assert (controller.root / "opt/supercloud/settings/scale.json").read_text() == scale
    assert "restart slurmctld" not in controller.call_log.read_text()


def publish_what_slurm_rejects(machine: BootMachine, conf: str) -> None:
    publish(machine, slurm_conf=conf + "NoSuchKey=1\n", new_conf="# new\n")
    machine.fake(
        "systemctl",
        '[[ $* != "restart slurmctld" ]] || ! grep -q NoSuchKey "$BOOT_ROOT/etc/slurm/slurm.conf" || exit 1\n'
        + SYSTEMCTL,
    )


def test_the_previous_configuration_is_restored_where_slurm_does_not_start(controller: BootMachine) -> None:
    before = (controller.root / "etc/slurm/slurm.conf").read_text()
    publish_what_slurm_rejects(controller, before)
    code, text = update(controller)
    assert code == 1 and "FAILED control: slurmctld failed to start" in text
    assert "update: FAILED: the published configuration cannot be applied" in text
    assert (controller.root / "etc/slurm/slurm.conf").read_text() == before
    assert not (controller.root / "etc/slurm/new.conf").exists()
    controller.call_log.write_text("")
    assert update(controller) == (0, ""), "it is not tried again at once"

    publish(controller, slurm_conf=before + "# repaired\n")
    assert update(controller)[0] == 0
    assert (controller.root / "etc/slurm/slurm.conf").read_text() == before + "# repaired\n"


def test_an_interrupted_restore_leaves_no_empty_folder(controller: BootMachine) -> None:
    conf = controller.root / "etc/slurm/slurm.conf"
    publish_what_slurm_rejects(controller, conf.read_text())
    # as if the machine lost its power while the files are restored
    controller.fake("cp", 'case $* in */before/etc/slurm/.*) kill -KILL $PPID; exit 1 ;; esac\nexec /bin/cp "$@"')
    assert update(controller)[0] != 0
    assert conf.exists() and (controller.root / "opt/supercloud/settings/scale.json").exists()


def test_a_node_gets_changed_programs_and_its_daemon_goes_on(tmp_path: Path) -> None:
    compute = BootMachine(tmp_path, "train-spot", build_plan())
    compute.fake("scontrol", 'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE+CLOUD+DYNAMIC_NORM Extra=1"')
    (compute.root / "dev").mkdir()
    for number in range(8):
        (compute.root / f"dev/nvidia{number}").touch()
    assert compute.begin().returncode == 0
    compute.call_log.write_text("")
    prolog = compute.slurm["prolog.sh"] + "# changed\n"
    publish(compute, prolog_sh=prolog, slurm_conf=compute.slurm["slurm.conf"] + "# changed\n")
    assert update(compute)[0] == 0
    assert (compute.root / "etc/slurm/prolog.sh").read_text() == prolog
    assert not (compute.root / "etc/slurm/slurm.conf").exists()
    assert "restart slurmd" not in compute.call_log.read_text()


def test_an_unreachable_bucket_changes_nothing(controller: BootMachine) -> None:
    (controller.cloud / "bucket/settings/settings.tar.gz").unlink()
    code, text = update(controller)
    assert code == 1 and "settings/settings.tar.gz cannot be fetched" in text
    assert (controller.root / "opt/supercloud/settings/scale.json").exists()


def test_a_changed_password_of_a_managed_database_is_read_again(tmp_path: Path) -> None:
    machine = BootMachine(tmp_path, "ctl1", build_plan(managed_database=True))
    (machine.cloud / "disk").touch()
    machine.fake("scontrol", CONTROL)
    assert machine.begin().returncode == 0
    assert update(machine) == (0, "")

    machine.call_log.write_text("")
    (machine.cloud / "secrets/database").write_text('{"username": "slurm", "password": "changed#1"}')
    code, text = update(machine)
    assert code == 0 and "database: finished" in text
    assert "StoragePass=changed\\#1\n" in (machine.root / "etc/slurm/slurmdbd.conf").read_text()
    assert "systemctl restart slurmdbd" in machine.call_log.read_text()
    assert "restart slurmctld" not in machine.call_log.read_text()
    assert update(machine) == (0, "")
