"""Servers of a file system install their software once, and clients mount it with the rule of the catalog."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from boot_machines import BootMachine

from supercloud.catalog.storage_service import MountRule
from supercloud.errors import InputError
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render

TOKEN = "t0k&en*/'x"
S3 = (("install", "s3://software/weka/install.sh"), ("install-token", "weka-token"))
HTTPS_SOURCE = ("install", "https://example.com/in'st.sh")

PROGRAM = """#!/bin/bash
echo "ran $#" >>"$SAID"
env | grep ^SUPERCLOUD_ | sort >"$CLOUD/environment"
tr '\\0' ' ' </proc/$$/cmdline >"$CLOUD/arguments"
echo "unpacking with $SUPERCLOUD_TOKEN!"
printf 'no newline'
"""


HTTPS = (
    ("install", "https://example.com/in'st.sh"),
    ("install-sha256", hashlib.sha256(PROGRAM.encode()).hexdigest()),
)


@cache
def build_weka_plan(options: tuple[tuple[str, str], ...] = S3, suppressed: bool = False) -> Plan:
    """A cluster with WEKA on separate servers."""
    storage: dict[str, Any] = {"name": "scratch", "kind": "weka", "capacity": "200 TB", "mount": "/scratch"}
    found = resolve(
        ClusterSpec.model_validate(
            {
                "name": "trainer",
                "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
                "scheduler": {"kind": "slurm", "version": "25.11"},
                "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 2}],
                "storage": [storage | {"options": dict(options)}],
                "suppress": [{"check": "cloud-storage-install", "reason": "the image has it"}] if suppressed else [],
            }
        )
    )
    assert not found.errors and found.cloud is not None, found.errors
    return found


def start_server(folder: Path, plan: Plan) -> BootMachine:
    """A server, with the program in a bucket of the user's and a token."""
    machine = BootMachine(folder, "scratch-servers", plan)
    # buckets of others are in the same folder
    text = machine.start.read_text()
    own = 'cloud_fetch() { cp "$CLOUD/bucket/$1" "$2"; }'
    both = 'cloud_fetch() { [ "$BUCKET" = state ] || set -- "../$BUCKET/$1" "$2"; cp "$CLOUD/bucket/$1" "$2"; }'
    assert own in text
    machine.start.write_text(text.replace(own, both))
    (machine.cloud / "software/weka").mkdir(parents=True)
    (machine.cloud / "software/weka/install.sh").write_text(PROGRAM)
    (machine.cloud / "secrets/weka-token").write_text(TOKEN)
    return machine


@pytest.fixture
def server(tmp_path: Path) -> BootMachine:
    return start_server(tmp_path, build_weka_plan())


HTTPS = (HTTPS_SOURCE, ("install-sha256", hashlib.sha256(PROGRAM.encode()).hexdigest()))


def read_boot_log(machine: BootMachine) -> str:
    return (machine.root / "var/log/supercloud/boot.log").read_text()


@pytest.mark.slow
def test_the_install_program_gets_its_variables(server: BootMachine) -> None:
    done = server.begin()
    assert done.returncode == 0, done.stdout + done.stderr
    assert server.calls("ran") == ["0"]
    assert server.plan.cloud is not None
    (host,) = server.plan.cloud.list_hosts("storage")
    assert (server.cloud / "environment").read_text().splitlines() == [
        "SUPERCLOUD_CLUSTER=trainer",
        f"SUPERCLOUD_COUNT={host.count}",
        "SUPERCLOUD_FILE_SYSTEM=default",
        "SUPERCLOUD_REGION=us-east-1",
        "SUPERCLOUD_STORAGE=scratch",
        "SUPERCLOUD_TAG=supercloud:storage=scratch",
        f"SUPERCLOUD_TOKEN={TOKEN}",
    ]
    log = read_boot_log(server)
    assert "install: fetching s3://software/weka/install.sh" in log and "reading the secret weka-token" in log
    assert "install: unpacking with ***!" in log and "install: no newline" in log and "this machine is ready" in log
    assert not server.calls("hostnamectl")  # many servers, no name of one


def test_the_token_is_not_visible_to_users(server: BootMachine) -> None:
    done = server.begin()
    assert done.returncode == 0
    reported = done.stdout + done.stderr + read_boot_log(server) + "\n".join(server.asked)
    assert TOKEN not in reported + (server.cloud / "arguments").read_text()
    kept = [path for path in server.root.rglob("*") if path.is_file() and TOKEN in path.read_text()]
    assert kept == []


@pytest.mark.slow
def test_all_lines_of_a_token_are_hidden(server: BootMachine) -> None:
    (server.cloud / "secrets/weka-token").write_text('{"key": "first"}\nsecond-half\n')
    assert server.begin().returncode == 0
    assert "first" not in read_boot_log(server) and "second-half" not in read_boot_log(server)


@pytest.mark.slow
def test_the_install_program_runs_once(server: BootMachine) -> None:
    assert server.begin().returncode == 0
    (server.cloud / "software/weka/install.sh").unlink()
    again = server.run(server.root / "opt/supercloud/start.sh")
    assert again.returncode == 0 and "already installed from s3://software/weka/install.sh" in again.stdout
    assert server.calls("ran") == ["0"]


@pytest.mark.slow
def test_another_source_runs_the_install_program_again(server: BootMachine) -> None:
    assert server.begin().returncode == 0
    (server.root / "etc/supercloud/installed").write_text("s3://software/weka/older.sh\n")
    assert server.run(server.root / "opt/supercloud/start.sh").returncode == 0
    assert server.calls("ran") == ["0", "0"]


@pytest.mark.slow
def test_a_failed_install_program_runs_again_at_the_next_start(server: BootMachine) -> None:
    program = server.cloud / "software/weka/install.sh"
    program.write_text(PROGRAM + 'echo; echo "no license for $SUPERCLOUD_TOKEN"; exit 7\n')
    done = server.begin()
    assert done.returncode == 1
    assert (
        "FAILED install: the program of s3://software/weka/install.sh exited with 7: no license for ***"
        in read_boot_log(server)
    )
    assert "enable -q supercloud-boot" in server.calls("systemctl")
    program.write_text(PROGRAM)
    assert server.run(server.root / "opt/supercloud/start.sh").returncode == 0
    assert server.calls("ran") == ["0", "0"]


@pytest.mark.slow
def test_daemons_of_the_install_program_do_not_delay_the_boot(server: BootMachine) -> None:
    fifo = server.cloud / "held"
    os.mkfifo(fifo)
    (server.cloud / "software/weka/install.sh").write_text(f"#!/bin/bash\ncat '{fifo}' &\n")
    keeper = os.open(fifo, os.O_RDWR)  # the daemon lives until this is closed
    try:
        done = server.begin()
    finally:
        os.close(keeper)
    assert done.returncode == 0 and (server.root / "etc/supercloud/installed").exists()


@pytest.mark.parametrize(
    "spoil, why",
    [
        ("rm $CLOUD/software/weka/install.sh", "s3://software/weka/install.sh cannot be fetched: cp: cannot stat"),
        (": >$CLOUD/software/weka/install.sh", "s3://software/weka/install.sh is empty"),
        (": >$CLOUD/secrets/weka-token", "the secret weka-token cannot be read: it has no value"),
        (
            "rm $CLOUD/secrets/weka-token; mkdir $CLOUD/secrets/weka-token",
            "the secret weka-token cannot be read: cat: ",
        ),
        ("echo '#!/none' >$CLOUD/software/weka/install.sh", "install.sh exited with 12"),
    ],
)
def test_a_failed_installation_is_logged_with_the_reason(server: BootMachine, spoil: str, why: str) -> None:
    server.run("-c", spoil)
    done = server.begin()
    assert done.returncode == 1
    (message,) = [line for line in read_boot_log(server).splitlines() if "FAILED install: " in line]
    assert why in message
    assert not (server.root / "etc/supercloud/installed").exists() and not server.calls("ran")


@pytest.mark.slow
def test_a_source_at_a_url_needs_no_token(tmp_path: Path) -> None:
    machine = start_server(tmp_path, build_weka_plan(HTTPS))
    machine.fake("curl", f"""while [ "$1" != --output ]; do shift; done; cat >"$2" <<'END'\n{PROGRAM}END""")
    done = machine.begin()
    assert done.returncode == 0, done.stdout
    (called,) = machine.calls("curl")
    assert "--fail" in called and "--proto =https" in called and called.endswith(" https://example.com/in'st.sh")
    assert "SUPERCLOUD_TOKEN" not in (machine.cloud / "environment").read_text()
    assert "unpacking with !" in read_boot_log(machine)
    machine.fake("curl", """while [ "$1" != --output ]; do shift; done; echo 'echo changed' >"$2\"""")
    (machine.root / "etc/supercloud/installed").unlink()
    changed = machine.run(machine.root / "opt/supercloud/start.sh")
    assert changed.returncode == 1 and f"in the spec it is {dict(HTTPS)['install-sha256']}" in changed.stdout
    machine.fake("curl", "echo 'curl: (22) The requested URL returned error: 403' >&2; exit 22")
    refused = machine.run(machine.root / "opt/supercloud/start.sh")
    assert refused.returncode == 1
    assert "FAILED install: https://example.com/in'st.sh cannot be fetched: curl: (22)" in refused.stdout
    assert refused.stdout.count("trying again") == 1


@pytest.mark.parametrize("source", [HTTPS_SOURCE, S3[0]])
def test_a_program_with_another_digest_is_not_run(tmp_path: Path, source: tuple[str, str]) -> None:
    machine = start_server(tmp_path, build_weka_plan((source, ("install-sha256", "0" * 64))))
    machine.fake("curl", f"""while [ "$1" != --output ]; do shift; done; cat >"$2" <<'END'\n{PROGRAM}END""")
    done = machine.begin()
    assert done.returncode == 1 and not machine.calls("ran")
    digest = hashlib.sha256(PROGRAM.encode()).hexdigest()
    why = f"FAILED install: {source[1]} was not run: its SHA-256 digest is {digest}, in the spec it is {'0' * 64}"
    assert why in read_boot_log(machine)
    assert not (machine.root / "opt/supercloud/install").exists()
    assert not (machine.root / "etc/supercloud/installed").exists()


@pytest.mark.slow
def test_an_image_with_the_software_installs_nothing(tmp_path: Path) -> None:
    machine = start_server(tmp_path, build_weka_plan((), suppressed=True))
    done = machine.begin()
    assert done.returncode == 0 and "nothing to install: the software is in the image" in done.stdout


def start_client(folder: Path, plan: Plan, key: str = "ctl1") -> BootMachine:
    machine = BootMachine(folder, key, plan)
    text = machine.start.read_text().replace("fs-1@tcp:/abcd", "scratch-1.trainer.internal/default")
    machine.start.write_text(text)
    machine.fake("curl", 'while [ "$1" != -o ]; do shift; done; echo "echo client >>$SAID; cat" >"$2"')
    return machine


def test_clients_mount_with_the_rule_of_the_catalog(tmp_path: Path) -> None:
    plan = build_weka_plan()
    assert plan.cloud is not None
    rule = MountRule(type="wekafs", options="net=ens7,num_cores=2", path="default", port=15000)
    storage = tuple(replace(item, mount_rule=rule) if item.name == "scratch" else item for item in plan.cloud.storage)
    machine = start_client(tmp_path, replace(plan, cloud=replace(plan.cloud, storage=storage)))
    done = machine.steps("mounts")
    assert done.returncode == 0, done.stdout + done.stderr
    (called,) = machine.calls("curl")
    assert "http://scratch-1.trainer.internal:15000/dist/v1/install" in called and "client" in machine.asked
    assert machine.calls("mount") == [
        f"-t wekafs -o net=ens7,num_cores=2 scratch-1.trainer.internal/default {machine.root}/scratch"
    ]


@pytest.mark.slow
def test_clients_wait_for_servers_that_still_install(tmp_path: Path) -> None:
    machine = start_client(tmp_path, build_weka_plan(), "train-on-demand")
    machine.fake("weka")
    machine.fake("mount", '[ -e "$CLOUD/made" ] || { touch "$CLOUD/made"; echo no cluster yet >&2; exit 32; }')
    done = machine.steps("mounts")
    assert done.returncode == 0 and "mounts: no cluster yet; trying again" in done.stdout
    assert not machine.calls("curl")
    machine.fake("mount", "echo no route >&2; exit 32")
    done = machine.steps("mounts")
    assert done.returncode == 0
    assert "FAILED mounts: /scratch: scratch-1.trainer.internal/default cannot be mounted: no route" in done.stderr


def test_storage_without_a_mount_rule_is_rejected() -> None:
    plan = build_weka_plan()
    assert plan.cloud is not None
    storage = tuple(replace(item, mount_rule=None) for item in plan.cloud.storage)
    with pytest.raises(InputError, match="storage scratch: the catalog does not specify how weka-on-ec2 is mounted"):
        render(replace(plan, cloud=replace(plan.cloud, storage=storage)), "boot")
