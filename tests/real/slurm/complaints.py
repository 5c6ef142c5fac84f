"""Errors and warnings in the logs of daemons, except those that the lab itself causes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lab import Lab

# Pattern -> why the lab causes it, not the bundle.
OF_THE_LAB: Mapping[str, str] = {
    r"Could not open (node|job|reservation|trigger) state file": "a cluster that starts for the first time",
    r"NOTE: Trying backup state save file": "the same",
    r"No fed_mgr state file": "the same",
    r"_shutdown_bu_thread:send/recv \S+: Connection refused": "the lab runs no backup controller",
    r"Database settings not recommended values: innodb_buffer_pool_size": "the lab's MariaDB has little memory",
    r"forward_thread.* to \S+ \(\S+\): Connection refused": "slurmds start one by one, and get requests meanwhile",
    r"_fwd_tree_thread: Abandon tree forward": "the same, on a busy machine",
    r"job \d+ allocated no CPUs": "this machine has fewer cores than the node declares; the job got only missing ones",
    r"cgroup/v1 plugin is deprecated": "the kernel of the machine has only cgroup v1",
    r"stepd_connect to \S+ failed: No such file": "steps of some milliseconds end while slurmd asks for them",
    r"High latency for 1000 calls to gettimeofday": "the machine is busy",
    r"/etc/slurm/plugstack.conf|Slurm does not support glob parsing": "a file of Debian's package",
    r"slurmstepd startup took \d+ sec": "a hundred daemons start steps on two cores at once",
    r"error: Nodes \S+ not responding$": "the same, for some seconds: list_complaints waits until each node responds",
    # test_lab_smoke.py causes these
    r"slurm_receive_msg \[\S+\]: Zero Bytes were transmitted or received": "a command ended and closed its connection",
    r"slurm_msg_sendto: \S+ msg_type=8001: Unexpected missing socket error": "the same, before it was answered",
    r"_conn_readable: persistent connection for fd \d+ experienced error\[104\]: Connection reset": "the same",
    r"nvidia-caps-imex-channels major device not found": "no NVIDIA driver is loaded",
}


def list_complaints(lab: Lab, *allowed: str) -> list[str]:
    """Lines with an error or warning of a Slurm daemon, except those of the lab and those that a test causes."""
    lab.wait_for("every node responds", lambda: lab.run("sinfo --dead --noheader --format=%N").stdout.strip() == "")
    found = lab.run("cd /lab/log && grep -iE 'error|warning|fatal' -- $(ls | grep -v mariadb)", check=False).stdout
    known = re.compile("|".join([*OF_THE_LAB, *allowed]))
    return [line for line in found.splitlines() if not known.search(line)]
