"""An emulated region whose instances are machines that boot: what the API of AWS starts appears on a network, and runs.

Instances boot Debian with cloud-init, which gets the instance's address by DHCP and its user data from the metadata
service. Names of endpoints and of private zones are resolved by dnsmasq; endpoints answer with TLS.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from emulator import Emulator
from image import bake
from real.machines.machines import Machine, Machines, get_cache_folder
from real.polling import PATIENCE, wait_for

HERE = Path(__file__).resolve().parent
METADATA = "169.254.169.254"
METADATA_PORT, API_PORT = 8169, 443
WORKERS = 4


def get_network(slot: int) -> str:
    """The network of a group of machines: a /16 outside 10.77, which other groups have."""
    return f"10.{slot + 1 + (slot >= 76)}.0.0/16"


def build_host_name(address: str) -> str:
    """The host name that EC2 gives an instance."""
    return f"ip-{address.replace('.', '-')}"


class EmulatedRegion:
    """A region of the emulator with real machines; a context manager. Needs root.

    ``has_shared_homes``: all instances have one folder at /home, as a file system that is mounted there.
    """

    def __init__(self, emulator: Emulator, folder: Path, name: str = "us-east-1", *, has_shared_homes: bool = False):
        self.emulator, self.folder, self.name = emulator, folder, name
        self.machines = Machines(get_network, resolver="{gateway}")
        self.booting: dict[str, Future[Machine]] = {}
        self._shown: list[str] = [f"{folder}/homes:/home"] if has_shared_homes else []
        self._stack = ExitStack()
        self._stop = threading.Event()
        self._records: dict[str, str] = {}
        self._disks: dict[str, str] = {}
        self._attached: set[str] = set()
        self._test_port = 0
        self.errors: list[BaseException] = []

    @property
    def cidr(self) -> str:
        """The network that a spec declares as the VPC."""
        return str(self.machines.network)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            subprocess.run(
                [HERE.parent / "packages.sh", "dnsmasq-base", "openssl", "openssh-client", "iptables"], check=True
            )
            certificates = get_cache_folder().parent / "aws" / "certificates"
            subprocess.run([HERE / "certificates.sh", certificates, self.name], check=True)
            self.image = bake(certificates / "ca.crt")
            stack.enter_context(self.machines)
            self.machines.plug()
            self._redirect_metadata(stack)
            self._start_services(stack, certificates)
            self._start_names(stack)
            self._pool = stack.enter_context(ThreadPoolExecutor(WORKERS))
            loop = threading.Thread(target=self._run, daemon=True)
            loop.start()
            stack.callback(loop.join)
            stack.callback(self._stop.set)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for device in self._disks.values():
            subprocess.run(["losetup", "--detach", device], check=False)

    def _redirect_metadata(self, stack: ExitStack) -> None:
        """The address of the metadata service is the same for all regions of this host: it depends on the bridge."""
        to = ["-j", "DNAT", "--to-destination", f"{self.machines.gateway}:{METADATA_PORT}"]
        rule = ["PREROUTING", "-i", self.machines.bridge, "-d", METADATA, "-p", "tcp", "--dport", "80", *to]
        subprocess.run(["iptables", "-w", "-t", "nat", "-A", *rule], check=True)
        stack.callback(subprocess.run, ["iptables", "-w", "-t", "nat", "-D", *rule], check=False)

    def _start_services(self, stack: ExitStack, certificates: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._test_port = found.getsockname()[1]
        words = [self.emulator.python, HERE / "services.py", self.machines.gateway, METADATA_PORT, API_PORT]
        words += [self._test_port, self.emulator.endpoint, self.name]
        words += [certificates / f"{self.name}.crt", certificates / f"{self.name}.key"]
        log = stack.enter_context((self.folder / "services.log").open("w"))
        server = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        stack.callback(server.wait)
        stack.callback(server.kill)
        assert server.stdout is not None and server.stdin is not None
        stack.callback(server.stdout.close)
        stack.callback(server.stdin.close)
        assert server.stdout.readline() == "ready\n", (self.folder / "services.log").read_text()

    def _start_names(self, stack: ExitStack) -> None:
        self._hosts, self._leases = self.folder / "hosts", self.folder / "addresses"
        self._hosts.write_text("")
        self._leases.write_text("")
        gateway = self.machines.gateway
        words = ["dnsmasq", "--keep-in-foreground", f"--listen-address={gateway}", "--bind-interfaces", "--no-hosts"]
        words += [f"--addn-hosts={self._hosts}", f"--address=/amazonaws.com/{gateway}", "--pid-file=", "--user=root"]
        words += ["--local=/internal/", "--conf-file=/dev/null", "--no-daemon"]
        words += [f"--interface={self.machines.bridge}", f"--dhcp-range={self.machines.network.network_address},static"]
        words += [f"--dhcp-hostsfile={self._leases}", f"--dhcp-leasefile={self.folder / 'leases'}", "--no-ping"]
        log = stack.enter_context((self.folder / "dnsmasq.log").open("w"))
        self._names = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(self._names.wait)
        stack.callback(self._names.kill)

    # what the API says becomes true

    def _run(self) -> None:
        while not self._stop.wait(1):
            try:
                self._follow()
            except Exception as error:
                self.errors.append(error)

    def _follow(self) -> None:
        found = {item["InstanceId"]: item for item in self.list_instances()}
        for identifier, booted in list(self.booting.items()):
            if identifier not in found and booted.done():
                del self.booting[identifier]
                if not booted.exception():
                    self.machines.stop(booted.result())
        self._lease_addresses(item["PrivateIpAddress"] for item in found.values())
        for identifier, item in found.items():
            if identifier not in self.booting:
                self.booting[identifier] = self._pool.submit(self._boot, item["PrivateIpAddress"])
        self._attach_disks()
        self._update_names()

    def _lease_addresses(self, addresses: Iterable[str]) -> None:
        """An instance is known to the DHCP server by its host name."""
        text = "".join(f"{build_host_name(address)},{address},infinite\n" for address in addresses)
        if text != self._leases.read_text():
            self._leases.write_text(text)
            self._names.send_signal(signal.SIGHUP)

    def _boot(self, address: str) -> Machine:
        (self.folder / "homes").mkdir(exist_ok=True)
        name = build_host_name(address)
        return self.machines.boot(name, address, show=self._shown, image=self.image, is_started=True)

    def _attach_disks(self) -> None:
        for volume in self.call("ec2.describe_volumes")["Volumes"]:
            for place in volume["Attachments"]:
                identifier, booted = place["InstanceId"], self.booting.get(place["InstanceId"])
                key = f"{volume['VolumeId']} {identifier}"
                is_root = place["Device"] in ("/dev/sda1", "/dev/xvda")
                if is_root or key in self._attached or booted is None or not booted.done():
                    continue
                device = self._make_disk(volume["VolumeId"])
                number = Path(device).stat().st_rdev
                booted.result().run(f"rm -f {place['Device']}; mknod {place['Device']} b {number >> 8} {number & 255}")
                self._attached.add(key)

    def _make_disk(self, volume: str) -> str:
        if volume not in self._disks:
            file = self.folder / volume
            with file.open("wb") as disk:
                disk.truncate(2 << 30)
            made = subprocess.run(["losetup", "--find", "--show", file], check=True, capture_output=True, text=True)
            self._disks[volume] = made.stdout.strip()
        return self._disks[volume]

    def _update_names(self) -> None:
        found = {}
        for zone in self.call("route53.list_hosted_zones")["HostedZones"]:
            for record in self.call("route53.list_resource_record_sets", HostedZoneId=zone["Id"])["ResourceRecordSets"]:
                if record["Type"] == "A":
                    found[record["Name"].rstrip(".")] = record["ResourceRecords"][0]["Value"]
        if found != self._records:
            self._records = found
            self._hosts.write_text("".join(f"{address} {name}\n" for name, address in found.items()))
            self._names.send_signal(signal.SIGHUP)

    # what tests ask

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Call ``SERVICE.OPERATION`` as the owner of the account."""
        url = f"http://127.0.0.1:{self._test_port}/{operation.replace('.', '/')}"
        request = urllib.request.Request(url, json.dumps(parameters).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def list_instances(self) -> list[dict[str, Any]]:
        """Instances that exist."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._test_port}/instances", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def count_calls(self) -> Mapping[str, int]:
        """Requests of machines to the API, by ``ADDRESS SERVICE OPERATION``."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._test_port}/calls", timeout=60) as answer:
            found: Mapping[str, int] = json.load(answer)
        return found

    @staticmethod
    def is_in_group(instance: Mapping[str, Any], group: str) -> bool:
        """Whether an instance belongs to a node group or a host of the plan."""
        return {"Key": "supercloud:group", "Value": group} in (instance["Tags"] or [])

    def find(self, group: str) -> list[Machine]:
        """Booted machines with a value of the tag ``supercloud:group``, in the order of their addresses."""
        wanted = [
            item["InstanceId"]
            for item in sorted(self.list_instances(), key=lambda item: str(item["PrivateIpAddress"]))
            if self.is_in_group(item, group)
        ]
        return [self.booting[name].result() for name in wanted if name in self.booting and self.booting[name].done()]

    def wait_for_machine(self, group: str, *, seconds: float = PATIENCE) -> Machine:
        """The first machine of a group."""
        found: list[Machine] = wait_for(f"a machine of {group}", lambda: self.find(group), seconds=seconds)
        return found[0]


def wait_until_ready(machine: Machine, *, seconds: float = 900) -> float:
    """Wait until boot.sh has finished; the seconds that were waited. A failed boot raises with its log."""
    began = time.monotonic()
    log = "cat /var/log/supercloud/boot.log 2>/dev/null || tail -n 30 /var/log/cloud-init.log"

    def is_ready() -> bool:
        text = machine.run(log, check=False).stdout
        assert " FAILED " not in text, text
        return "end: this machine is ready" in text

    wait_for(
        "this machine is ready", is_ready, seconds=seconds, interval=1, show=lambda: machine.run(log).stdout[-3000:]
    )
    return time.monotonic() - began
