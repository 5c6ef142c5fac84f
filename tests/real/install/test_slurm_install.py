"""INSTALL.md of the Slurm bundle, run unchanged on bare Debian 12 machines.

Two controllers, a database host, a login host and eight nodes.

The test creates what INSTALL.md requires (addresses, SSH for root, shared file systems, users); everything else is done
by its commands, block by block, on their hosts. Then a user's job runs over SSH, and slurmrestd answers over HTTPS.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from document import list_blocks, list_hosts
from real.machines.machines import Machine, MachineError, Machines
from samples import ROOT

import supercloud as sc
from supercloud.plan.model.plan import Plan

NODES = 8
USER = 2000
# A machine of this test: processors and memory of the test machine, and two accelerators that are device files.
MACHINE = """\
name: bare-debian
title: A booted Debian of this test
source: ["lscpu and /proc/meminfo of the machine that runs the test"]
vendor: Debian
provider: onprem
cpu: {{arch: x86_64, model: any, sockets: {sockets}, cores_per_socket: {cores}, threads_per_core: {threads}}}
memory: {memory} MiB
accelerators: {{type: h100-sxm, count: 2}}
"""
SPEC = """\
name: installed
site: {kind: onprem, location: stockholm}
catalog: catalog
scheduler:
  kind: slurm
  version: "22.05"
  controllers: [{name: ctl1}, {name: ctl2}]
  database: {name: db1}
pools: [{name: train, machine: bare-debian, nodes: 8}]
tenants: [{name: llm, users: [ada]}]
"""
JOB = """\
name: hello
command: [sh, -c, 'echo "$SUPERCLOUD_JOB_NAME on $SUPERCLOUD_CLUSTER sees $CUDA_VISIBLE_DEVICES"']
accelerators: {type: ">=h100", count: 16}
time_limit: 5 min
tenant: llm
"""


# a request to slurmrestd of each controller, with the token of a user
ASK = """
import subprocess, sys, urllib.request
token = subprocess.run(["scontrol", "token", "lifespan=600"], capture_output=True, text=True, check=True).stdout
headers = {"X-SLURM-USER-NAME": "ada", "X-SLURM-USER-TOKEN": token.strip().partition("=")[2]}
request = urllib.request.Request(f"https://{sys.argv[1]}:6820/slurm/v0.0.38/ping", headers=headers)
print(urllib.request.urlopen(request, timeout=60).read().decode())
"""


@dataclass
class Cluster:
    plan: Plan
    folder: Path
    machines: dict[str, Machine]

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]


def describe_machine() -> str:
    """Processors and memory of this machine as an entry of the catalog."""
    shown = subprocess.run(
        ["lscpu"], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}
    ).stdout
    words = {"sockets": r"Socket\(s\)", "cores": r"Core\(s\) per socket", "threads": r"Thread\(s\) per core"}
    counts = {}
    for name, pattern in words.items():
        match = re.search(rf"{pattern}:\s+(\d+)", shown)
        counts[name] = int(match[1]) if match else 1
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    assert memory
    return MACHINE.format(memory=int(memory[1]) // 1024, **counts)


def declare(folder: Path) -> Plan:
    """Write the spec and its catalog, and render it."""
    (folder / "catalog" / "machines").mkdir(parents=True)
    (folder / "catalog" / "machines" / "bare-debian.yaml").write_text(describe_machine())
    (folder / "cluster.yaml").write_text(SPEC)
    (folder / "job.yaml").write_text(JOB)
    plan = sc.resolve(sc.load(folder / "cluster.yaml"))
    assert not plan.errors, plan.errors
    sc.render(plan, "slurm").write(folder / "slurm")
    return plan


def list_addresses(plan: Plan) -> dict[str, str]:
    """Host name -> address of the plan; the login host is not in the plan."""
    assert plan.scheduler.database
    hosts = {host.name: str(host.address) for host in (*plan.scheduler.controllers, plan.scheduler.database)}
    first = list(hosts.values())[0].rsplit(".", 1)[0]
    hosts["login1"] = f"{first}.250"
    pool = plan.pools[0]
    return hosts | dict(zip(pool.hosts, map(str, pool.addresses), strict=True))


def prepare(machine: Machine, address: str, key: str) -> None:
    """Set up what INSTALL.md requires of a host: its address, SSH for root, the users of the cluster."""
    machine.run(f"ip addr add {address}/15 dev host0 && ip link set lo up")
    machine.run(
        "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "
        f"openssh-server && useradd --uid {USER} --shell /bin/bash ada && usermod -p '*' ada"
    )
    machine.run("mkdir -p -m 700 .ssh && cat >.ssh/authorized_keys && cp .ssh/authorized_keys /etc/ssh/", input=key)


def make_accelerators(machine: Machine) -> None:
    """Create device files without a driver: Slurm only checks that they exist."""
    machine.run("for n in 0 1; do mknod -m 666 /dev/nvidia$n c 195 $n; done")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("installed")
    folder.chmod(0o755)
    plan = declare(folder)
    hosts = list_addresses(plan)
    home, state = folder / "home", folder / "state"
    (home / "ada" / ".ssh").mkdir(parents=True)
    state.mkdir()
    shown: list[Path | str] = [ROOT, folder, f"{home}:/home", f"{state}:/var/spool/slurmctld"]
    with Machines() as machines:
        booted = machines.boot_all({name: 10 + number for number, name in enumerate(hosts)}, show=shown)
        cluster = Cluster(plan, folder, {machine.name: machine for machine in booted})
        ctl = cluster["ctl1"]
        for owner, place in ((0, folder / "root-key"), (USER, home / "ada" / ".ssh" / "id_ed25519")):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place], check=True)
            os.chown(place, owner, owner)
        key = Path(f"{folder}/root-key.pub").read_text()
        machines.run_each(lambda machine: prepare(machine, hosts[machine.name], key), booted)
        machines.run_each(make_accelerators, [cluster[name] for name in plan.pools[0].hosts])
        (home / "ada" / ".ssh" / "authorized_keys").write_text((home / "ada" / ".ssh" / "id_ed25519.pub").read_text())
        (home / "ada" / ".ssh" / "config").write_text("StrictHostKeyChecking no\nBatchMode yes\nConnectTimeout 60\n")
        for path in (home / "ada", *(home / "ada").rglob("*")):
            os.chown(path, USER, USER)
            path.chmod(0o700 if path.is_dir() else 0o600)
        ctl.copy_in(folder / "root-key", "/root/.ssh/id_ed25519")
        ctl.run("echo StrictHostKeyChecking no >/root/.ssh/config")
        ctl.copy_in(folder / "slurm", "/root/slurm")
        ctl.run(f"chown -R {USER}:{USER} /root/slurm")  # the user who rendered it
        ctl.run(f"echo '{hosts['login1']} login1' >/root/login-hosts")
        cluster["login1"].run(
            "DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends python3-venv && "
            f"python3 -m venv /opt/supercloud && /opt/supercloud/bin/pip install -q {ROOT}"
        )
        follow(cluster)
        yield cluster


def follow(cluster: Cluster) -> None:
    """Run every block of INSTALL.md, in order, each on all of its hosts before the next."""
    nodes = list(cluster.plan.pools[0].hosts)
    pools = {f"node of {pool.name}": list(pool.hosts) for pool in cluster.plan.pools}
    groups = {**pools, "node": nodes, "login host": ["login1"], "host": list(cluster.machines)}
    for block in list_blocks((cluster.folder / "slurm" / "INSTALL.md").read_text()):

        def run(name: str, block=block) -> None:  # type: ignore[no-untyped-def]
            try:
                cluster[name].run(["bash", "-e", "-c", block.commands], timeout=400)
            except MachineError as error:
                logs = (
                    cluster[name]
                    .run("tail -n 20 /var/log/slurm/*.log; journalctl -n 30 --no-pager", check=False)
                    .stdout
                )
                raise AssertionError(f"INSTALL.md:{block.line} on {name}: {error}\n{logs[-6000:]}") from None

        started = time.monotonic()
        Machines.run_each(run, list_hosts(block, groups), workers=3)
        print(f"INSTALL.md:{block.line} on {', '.join(block.hosts)}: {time.monotonic() - started:.0f} s")


def run_as_ada(cluster: Cluster, *words: str, token: str = "") -> str:
    """Run supercloud as a user on the login host."""
    environment = {"SUPERCLOUD_STATE": "/home/ada/state", "SLURM_JWT": token}
    command = ["/opt/supercloud/bin/supercloud", *words]
    return cluster["login1"].run(command, user="ada", env=environment, timeout=300).stdout


@pytest.mark.parametrize("via", ["ssh:ctl1", "https://ctl1:6820"])
def test_the_demo_job_completes(cluster: Cluster, via: str) -> None:
    folder, token = cluster.folder, ""
    if via.startswith("https"):
        token = cluster["login1"].run("scontrol token lifespan=600", user="ada").stdout.strip()
    words = ["submit", f"{folder}/job.yaml", "--on", f"{folder}/cluster.yaml", "--engine", "slurm", "--via", via]
    number = run_as_ada(cluster, *words, token=token).strip()
    assert "COMPLETED" in run_as_ada(cluster, "wait", number, token=token)
    assert run_as_ada(cluster, "logs", number, token=token).splitlines() == ["hello on installed sees 0,1"] * NODES


def test_configuration_and_keys_belong_to_root(cluster: Cluster) -> None:
    def look(machine: Machine) -> dict[str, str]:
        output = machine.run("stat -c '%n %U:%G %a' /etc/slurm $(find /etc/slurm -type f) /etc/munge/munge.key").stdout
        return dict(line.split(" ", 1) for line in output.splitlines())

    seen = {name: look(machine) for name, machine in cluster.machines.items()}
    secrets = {
        "/etc/slurm/jwt_hs256.key": "slurm:slurm 600",
        "/etc/slurm/slurmdbd.conf": "slurm:slurm 600",
        "/etc/munge/munge.key": "munge:munge 400",
    }
    for name, files in seen.items():
        for path, mode in files.items():
            plain = "root:root 755" if path.endswith(".sh") or path == "/etc/slurm" else "root:root 644"
            assert mode == secrets.get(path, plain), f"{name}: {path} is {mode}"
    assert {name for name, files in seen.items() if "/etc/slurm/jwt_hs256.key" in files} == {"ctl1", "ctl2", "db1"}
    keys = (
        cluster["ctl1"].run("stat -c '%U %a' /root/slurm-keys /root/slurm-keys/*.key /etc/nginx/slurmrestd.key").stdout
    )
    assert set(keys.splitlines()) == {"root 700", "root 600"}


def test_slurmrestd_runs_as_a_separate_user_behind_tls(cluster: Cluster) -> None:
    login = cluster["login1"]
    for name in ("ctl1", "ctl2"):
        assert cluster[name].run("systemctl show -p User slurmrestd").stdout == "User=slurmrestd\n"
        cluster[name].wait("systemctl is-active slurmrestd nginx")
        assert '"meta"' in login.run(["python3", "-c", ASK, name], user="ada").stdout
    plain = login.run(["python3", "-c", ASK.replace("https://", "http://"), "ctl1"], user="ada", check=False)
    assert "HTTP Error 400" in plain.stderr, plain.stderr  # the answer of nginx to an HTTP request on an HTTPS port


def test_an_ordinary_user_can_log_in_to_a_node_only_while_a_job_runs_there(cluster: Cluster) -> None:
    login = cluster["login1"]
    refused = login.run("ssh train-0002 true", user="ada", check=False)
    assert refused.returncode == 255 and "no active jobs" in refused.stderr, refused.stderr
    job = login.run("sbatch --parsable -w train-0002 -t 5 --wrap 'sleep 300'", user="ada").stdout.strip()
    login.wait(f"squeue -h -o %T -j {job} | grep RUNNING", user="ada")
    seen = login.run("ssh train-0002 cat /proc/self/cgroup", user="ada").stdout
    assert f"job_{job}/step_extern" in seen
    login.run(f"scancel {job}", user="ada")


def test_jobs_without_accelerators_leave_memory_for_others(cluster: Cluster) -> None:
    login = cluster["login1"]
    shown = login.run("srun -t 1 sh -c 'scontrol -o show job $SLURM_JOB_ID'", user="ada").stdout
    memory = re.search(r" TRES=\S*mem=(\d+)M", shown)
    whole = re.search(r"RealMemory=(\d+)", login.run("scontrol -o show node train-0001").stdout)
    assert memory and whole and int(memory[1]) * 2 <= int(whole[1]), shown


def test_the_second_controller_takes_over_with_the_jobs(cluster: Cluster) -> None:
    login, ctl1, ctl2 = (cluster[name] for name in ("login1", "ctl1", "ctl2"))
    job = login.run("sbatch --parsable -H -t 5 --wrap true", user="ada").stdout.strip()
    ctl1.run("systemctl stop slurmctld")
    ctl2.run("scontrol takeover")
    login.wait(f"squeue -h -o %i -j {job} | grep -x {job}", user="ada")
    ctl1.run("systemctl start slurmctld")
    login.wait("scontrol ping | grep 'at ctl1 is UP'")
    login.wait(f"scancel {job}", user="ada")
