"""The parts of a rendered Slurm bundle that a lab needs: hosts, addresses, folders, keys and devices.

They are read from the text without code of the project: the lab must not repeat errors of the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SETTING = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S+)')


def expand(hostlist: str) -> list[str]:
    """The names of a Slurm host list, in its own order: ``a[1-2]-[07,09]`` is a1-07 a1-09 a2-07 a2-09."""
    return [name for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", hostlist) for name in _expand_one(part)]


def _expand_one(text: str) -> Iterator[str]:
    match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", text)
    if not match:
        yield text
        return
    head, ranges, tail = match.groups()
    for item in ranges.split(","):
        low, _, high = item.partition("-")
        for number in range(int(low), int(high or low) + 1):
            for rest in _expand_one(tail):
                yield f"{head}{number:0{len(low)}d}{rest}"


def list_lines(text: str) -> list[str]:
    """The lines of a Slurm configuration file without comments and blank lines, continuations joined."""
    joined = re.sub(r"\\\n", " ", text)
    bare = (re.sub(r"(?<!\\)#.*", "", line).strip() for line in joined.splitlines())
    return [line for line in bare if line]


class Conf:
    """One configuration file; keys are case-insensitive."""

    def __init__(self, path: Path) -> None:
        self.lines = list_lines(path.read_text()) if path.exists() else []

    def list_values(self, key: str) -> list[str]:
        """The values of every line that begins with this key."""
        values = []
        for line in self.lines:
            first = SETTING.match(line)
            if first and first[1].lower() == key.lower():
                values.append(line.split("=", 1)[1].strip())
        return values

    def get(self, key: str, default: str = "") -> str:
        """The effective value: the last one."""
        return (self.list_values(key) or [default])[-1]

    def iter_records(self, key: str) -> Iterator[dict[str, str]]:
        """Lines of several ``Key=value`` pairs that contain this key, keys in lower case."""
        for line in self.lines:
            pairs = {name.lower(): value.strip('"') for name, value in SETTING.findall(line)}
            if key.lower() in pairs:
                yield pairs


class Rendered:
    """A folder with a rendered bundle."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.slurm = Conf(folder / "slurm.conf")
        self.dbd = Conf(folder / "slurmdbd.conf")
        self.gres = Conf(folder / "gres.conf")

    @property
    def controllers(self) -> dict[str, str]:
        """Host name -> address, the primary first."""
        hosts = {}
        for value in self.slurm.list_values("SlurmctldHost"):
            match = re.fullmatch(r"([^(]+)\(([^)]+)\)", value)
            if not match:
                raise ValueError(f"SlurmctldHost={value} has no address: the lab needs name(address)")
            hosts[match[1]] = match[2]
        if not hosts:
            raise ValueError(f"{self.folder}/slurm.conf names no SlurmctldHost")
        return hosts

    @property
    def nodes(self) -> dict[str, str]:
        """Node name -> address, for the nodes with an address."""
        nodes: dict[str, str] = {}
        for record in self.slurm.iter_records("NodeName"):
            if "nodeaddr" in record:
                names, addresses = expand(record["nodename"]), expand(record["nodeaddr"])
                nodes.update(zip(names, addresses, strict=True))
        return nodes

    @property
    def accounting(self) -> bool:
        return self.slurm.get("AccountingStorageType") == "accounting_storage/slurmdbd"

    @property
    def database_hosts(self) -> list[str]:
        """Host names in the accounting files; in the lab all of them are the controller."""
        dbd = self.dbd
        named = {self.slurm.get("AccountingStorageHost"), dbd.get("DbdHost"), dbd.get("StorageHost")}
        return sorted(named - {"", "localhost", *self.controllers})

    @property
    def devices(self) -> list[str]:
        """The GPU device files in gres.conf."""
        found = {}
        for record in self.gres.iter_records("Name"):
            for key in ("file", "multiplefiles"):
                found.update(dict.fromkeys(expand(record.get(key, ""))))
        return [device for device in found if device.startswith("/dev/")]

    @property
    def mounts(self) -> list[str]:
        """The mount points that the health check looks for: the last column of node-facts.txt."""
        rows = [line.split() for line in (self.folder / "node-facts.txt").read_text().splitlines() if line[:1] != "#"]
        return sorted({mount for row in rows for mount in row[-1].split(",") if mount != "-"})

    @property
    def keys(self) -> list[str]:
        """Files of shared secrets that the controller reads; they are not part of a bundle."""
        secrets = ["/etc/slurm/slurm.key"] if self.slurm.get("AuthType") == "auth/slurm" else []
        return secrets + re.findall(r"jwt_key=([^,\s]+)", self.slurm.get("AuthAltParameters"))

    def build_settings(self) -> dict[str, str | list[str]]:
        """The variables for the shell scripts of the lab."""
        slurm, dbd = self.slurm, self.dbd
        (primary, address), *backups = self.controllers.items()
        spool = slurm.get("SlurmdSpoolDir", "/var/spool/slurmd")
        logs = _list_folders(slurm.get("SlurmctldLogFile"), slurm.get("SlurmdLogFile"))
        reboot = slurm.get("RebootProgram")
        return {
            "CONTROLLER": primary,
            "CONTROLLER_ADDRESS": address,
            "BACKUPS": [name for name, _ in backups],
            "SLURM_USER": slurm.get("SlurmUser", "root"),
            "SLURM_FOLDERS": [
                slurm.get("StateSaveLocation", "/var/spool"),
                *logs,
                *_list_folders(dbd.get("LogFile")),
            ],
            "HOST_FOLDERS": [spool, *logs],
            "AUTH": slurm.get("AuthType", "auth/munge"),
            "KEYS": self.keys,
            "DEVICES": self.devices,
            "MOUNTS": self.mounts,
            "REBOOT_PROGRAMS": [reboot] if reboot and not reboot.startswith("/etc/slurm/") else [],
            "DBD_HOST": dbd.get("DbdHost", "localhost").replace("localhost", primary),
            "STORAGE_LOC": dbd.get("StorageLoc", "slurm_acct_db"),
            "STORAGE_USER": dbd.get("StorageUser", "slurm"),
            "STORAGE_PASS": dbd.get("StoragePass"),
        }


def _list_folders(*files: str) -> list[str]:
    """The folders of these files without duplicates; empty names are skipped."""
    return list(dict.fromkeys(str(Path(file).parent) for file in files if file))
