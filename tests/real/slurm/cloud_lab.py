"""A cloud in a lab: a folder is bucket and secret store; groups start and stop "instances" that boot.

Controller and nodes are configured by the boot script of the bundle; only the functions of the provider
(``inside/cloud-lab.sh``) and systemctl, as there is no systemd, belong to the lab.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from lab import Lab
from rendered import Rendered

from supercloud.catalog.machine import Cpu, InstalledAccelerators
from supercloud.plan.model.plan import Group, Level, Locality, Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.primitives.nodes import HostRange, HostSet
from supercloud.primitives.quantity import Size
from supercloud.spec import ClusterSpec
from supercloud.targets import render
from supercloud.targets.boot import render_boot_bundle

HERE = Path(__file__).resolve().parent
CONTROLLER = "10.200.0.11"

# Short times, and config_overrides for a machine with two processors. PrologFlags and the rest stay as rendered.
OPTIONS = {
    "SlurmdParameters": "config_overrides",
    "SuspendTime": "15",
    "SuspendTimeout": "4",
    "ResumeTimeout": "60",
    "SlurmdTimeout": "20",
}


def build_lab_plan(
    version: str, domain: int = 1, auth: str = "munge", storage: Sequence[Mapping[str, str]] = ()
) -> Plan:
    """Four machines with two processors and two accelerators each, in two capacity groups, in domains of ``domain``."""
    declared = ClusterSpec.model_validate(
        {
            "name": "cloudy",
            "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
            "scheduler": {
                "kind": "slurm",
                "version": version,
                "auth": auth,
                "health_check_interval": "0 s",
                "options": OPTIONS,
            },
            "storage": storage,
            "tenants": [{"name": "research", "share": 1, "users": ["lab"]}],
            "pools": [
                {
                    "name": "train",
                    "machine": "p5.48xlarge",
                    "nodes": 4,
                    "initial": 0,
                    "capacity": [{"kind": "spot"}, {"kind": "on-demand"}],
                }
            ],
        }
    )
    plan = resolve(declared)
    assert not plan.errors and plan.cloud is not None, plan.errors
    pool = plan.pools[0]
    small: dict[str, Any] = {
        "cpu": Cpu(arch="x86_64", sockets=1, cores_per_socket=2, threads_per_core=1),
        "memory": Size("4 GiB"),
        "accelerators": InstalledAccelerators(type="h100-sxm", count=2),
    }
    machine = pool.machine.model_copy(update=small)
    hosts = tuple(replace(host, state_disk=None) for host in plan.cloud.hosts)
    groups = tuple(replace(group, domain_nodes=domain) for group in plan.cloud.groups)
    cloud = replace(plan.cloud, provider="lab", hosts=hosts, groups=groups)
    found = replace(plan, pools=(replace(pool, machine=machine),), cloud=cloud)
    return replace(found, localities=(_build_domains(pool.hosts, domain), *plan.localities)) if domain > 1 else found


def _build_domains(hosts: HostRange, size: int) -> Locality:
    """Scale-up domains of ``size`` nodes."""
    parts = [hosts.slice(start, start + size) for start in range(0, len(hosts), size)]
    groups = tuple(Group(f"train-d{number}", HostSet((part,))) for number, part in enumerate(parts, start=1))
    return Locality("scale-up", "block", (Level("scale-up", groups),), block_nodes=size)


class CloudLab(Lab):
    """A lab whose machines boot."""

    def __init__(self, plan: Plan, folder: Path, rootfs: Path) -> None:
        assert plan.cloud is not None
        self.plan, self.groups = plan, [group.key for group in plan.cloud.groups]
        self.slurm = render(plan, "slurm")
        self.boot = render_boot_bundle(plan, (HERE / "inside" / "cloud-lab.sh").read_text())
        self.slurm.write(folder)
        super().__init__(folder, rootfs)
        self.rendered = CloudRendered(folder)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._start_cloud()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _install(self) -> None:
        super()._install()
        # boot.sh installs the rendered bundle
        self.run("rm -rf /etc/slurm/*; pkill munged; rm -f /run/munge/*", check=False)

    def _start_cloud(self) -> None:
        name = self.plan.scheduler.controllers[0]
        self.run(f"echo {CONTROLLER} {name.address} >>/etc/hosts")
        self.run("mkdir -p /lab/cloud/secrets /lab/cloud/metadata /lab/machine")
        self.run("cd /lab/cloud/secrets && : >auth-key && : >password")
        for key in self.groups:
            self.run(f"mkdir -p /lab/cloud/groups/{key}/instances; echo 0 >/lab/cloud/groups/{key}/size")
        self.put(f"/lab/cloud/metadata/{CONTROLLER}", f"id=i-ctl\ntype=lab\nzone=lab-1a\naddress={CONTROLLER}\n")
        self.publish("boot", self.boot)
        self.publish("slurm", self.slurm)
        self.publish("settings", render(self.plan, "settings"))
        self.publish("users", render(self.plan, "users"))
        values = {
            "bucket": "lab",
            "region": "lab",
            "cluster": "cloudy",
            "secret_auth": "auth-key",
            "role_users": "",
            "secret_database": "password",
            **{f"source_{item.name}": f"server:/{item.name}" for item in self.plan.storage},
        }
        for path, text in self.boot.with_prefix("bucket").items():
            if "/user-data/" in path:
                self.put(f"/lab/cloud/{path}", fill(text, values), 0o755)
        self.run("cp /lab/bin/cloud-systemctl.sh /lab/machine/systemctl")
        self.run("chown -R slurm: /lab/cloud; chmod -R a+rwX /lab/cloud")
        self.put("/lab/machine/hostnamectl", '#!/bin/sh\nhostname "$2"\n', 0o755)
        self.spawn("cloud", ["/lab/bin/cloud-daemon.sh"])

    def publish(self, name: str, bundle: Bundle) -> None:
        """Put a bundle into the bucket as an archive."""
        self.put(f"/lab/cloud/bucket/{name}/{name}.tar.gz", archive(bundle))

    def boot_controller(self, **environment: str) -> None:
        """Boot the controller with its user-data."""
        key = self.plan.scheduler.controllers[0].name
        more = {
            "PATH": "/lab/machine:/usr/sbin:/usr/bin:/sbin:/bin",
            "BOOT_PAUSE": "1",
            "BOOT_TRIES": "3",
            "SCALE_EVERY": "1",
            **environment,
        }
        self.run(["/bin/bash", f"/lab/cloud/bucket/user-data/{key}.sh"], env=more, timeout=120)
        self._watched["slurmctld"] = (self.controllers[0], "slurmctld")

    def read_scaler_log(self) -> str:
        """The log of the scaler."""
        return self.run("cat /var/log/slurm/scale.log", check=False).stdout

    def list_instances(self, group: str) -> list[str]:
        """Instances of a group."""
        return self.run(f"ls /lab/cloud/groups/{group}/instances").stdout.split()

    def get_size(self, group: str) -> int:
        """The desired number of instances of a group."""
        return int(self.run(f"cat /lab/cloud/groups/{group}/size").stdout)


class CloudRendered(Rendered):
    """A bundle whose controller has a private DNS name, which is one address in the lab."""

    @property
    def controllers(self) -> dict[str, str]:
        return dict.fromkeys(super().controllers, CONTROLLER)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of user-data; an unknown one is an error."""
    return re.sub(r"@\{([^}]*)\}", lambda hole: values[hole[1]], text)


def archive(bundle: Bundle) -> bytes:
    """Pack the files into a gzipped tar."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for path, file in bundle.files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(file.text.encode()), file.mode
            tar.addfile(member, io.BytesIO(file.text.encode()))
    return raw.getvalue()
